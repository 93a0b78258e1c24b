"""The output formats of ``ask`` (cli.md, «Formats»): ``text``, ``json`` and ``stream-json``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_tui.inert import inert
from agent_tui.state.steps import StepState
from agent_tui.state.told_text import ToldText
from tui import output
from tui.formats import Ending, FormatName, end_data, frame_data


@dataclass(frozen=True, slots=True)
class AskRecord:
    """What the server has on record at the end, as it answered it; ``None`` where it offers nothing."""

    conversation: object = None
    messages: Sequence[object] | None = None


class AskFormat(Protocol):
    """One way to write an answer to stdout. Every method may raise ``BrokenPipeError``."""

    def frame(self, frame_id: str, name: str, data: str) -> None:
        """Take one event as it was received."""

    def told(self, turn_id: str, steps: Sequence[StepState]) -> None:
        """Take the steps of an answer that the last event changed, in their order."""

    def aside(self) -> None:
        """Something is about to be said on stderr."""

    def end(self, ending: Ending, text: str, record: AskRecord) -> None:
        """Write what belongs at the end; ``text`` is the whole answer."""


class AskText:
    """The answer alone, flushed as it streams: no thinking, no tools; its texts apart by a blank line."""

    def __init__(self) -> None:
        # (turn, step) → its revision, how much of it is written
        self._written: dict[tuple[str, str], tuple[int, int]] = {}
        self._live: tuple[str, str] | None = None  # what was written to last
        self._line_open = False
        self._is_aside = False  # a terminal that shows both streams stands on a line of its own

    def frame(self, frame_id: str, name: str, data: str) -> None:
        """The text format writes words only."""

    def aside(self) -> None:
        if self._line_open and not self._is_aside and sys.stdout.isatty() and sys.stderr.isatty():
            sys.stderr.write("\n")
            self._is_aside = True

    def told(self, turn_id: str, steps: Sequence[StepState]) -> None:
        for step in steps:
            if step.type == "text":
                self._add((turn_id, step.id), step.content)

    def _add(self, key: tuple[str, str], content: ToldText) -> None:
        revision, count = self._written.get(key, (content.revision, 0))
        is_other = key != self._live
        if revision != content.revision:  # the words were other ones: said again, from the start
            revision, count, is_other = content.revision, 0, True
        fresh = content.since(count)
        self._written[key] = (revision, content.length)
        if fresh:
            self._write(fresh, apart=is_other and self._live is not None)
            self._live = key

    def end(self, ending: Ending, text: str, record: AskRecord) -> None:
        if self._line_open and not self._is_aside:
            output.write("\n")

    def _write(self, fresh: str, *, apart: bool) -> None:
        gap = "\n" if self._is_aside else "\n\n"
        self._is_aside = False
        harmless = inert(f"{gap}{fresh}" if apart else fresh)
        if harmless:
            output.write(harmless)
            self._line_open = not harmless.endswith("\n")


class AskJson:
    """One object at the end."""

    def frame(self, frame_id: str, name: str, data: str) -> None:
        """The json format writes at the end only."""

    def told(self, turn_id: str, steps: Sequence[StepState]) -> None:
        """The json format writes at the end only."""

    def aside(self) -> None:
        """Its lines are whole."""

    def end(self, ending: Ending, text: str, record: AskRecord) -> None:
        messages = list(record.messages or ())
        fields = end_data(ending, text)
        output.write_json({**fields, "conversation": record.conversation, "messages": messages})


class AskStream:
    """One object for each event, and a last one named ``end``."""

    def frame(self, frame_id: str, name: str, data: str) -> None:
        output.write_json({"id": frame_id or None, "event": name, "data": frame_data(data)})

    def told(self, turn_id: str, steps: Sequence[StepState]) -> None:
        """The events themselves have said it."""

    def aside(self) -> None:
        """Its lines are whole."""

    def end(self, ending: Ending, text: str, record: AskRecord) -> None:
        output.write_json({"id": None, "event": "end", "data": end_data(ending, text)})


def ask_format(name: FormatName) -> AskFormat:
    """Return the format that ``--output`` names."""
    match name:
        case "text":
            return AskText()
        case "json":
            return AskJson()
        case "stream-json":
            return AskStream()
