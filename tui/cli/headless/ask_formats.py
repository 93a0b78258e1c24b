"""The output formats of ``ask`` (cli.md, «Formats»): ``text``, ``json`` and ``stream-json``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from agent_tui.model import events as ev
from agent_tui.model.growing_text import GrowingText
from agent_tui.model.inert import inert
from agent_tui.state.steps import StepState
from agent_tui.wire.chat_encode import TERMINAL
from agent_tui.wire.steps_encode import step_fields
from tui.cli import output
from tui.cli.headless.formats import Ending, FormatName, end_data, frame_data

OUR_ANSWER: Final = "answer_started"  # only our own backend says so
BEFORE_AN_ANSWER: Final = ("message", "conversation")
GROWN_PARTS: Final = 64  # a text is written again when it grew by one of so many


@dataclass(frozen=True, slots=True)
class AskRecord:
    """What the server has on record at the end, as it answered it; ``None`` where it offers nothing."""

    conversation: object = None
    messages: Sequence[object] | None = None


class AskFormat(Protocol):
    """One way to write an answer to stdout. Every method may raise ``BrokenPipeError``."""

    def frame(self, frame_id: str, name: str, data: str | Mapping[str, object]) -> None:
        """Take one event as it was received: its data as text, or read."""

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
        self._is_aside = False  # where both streams go to one place, a notice stands on its own line

    def frame(self, frame_id: str, name: str, data: str | Mapping[str, object]) -> None:
        """The text format writes words only."""

    def aside(self) -> None:
        if self._line_open and not self._is_aside and _share_a_place():
            sys.stderr.write("\n")
            self._is_aside = True

    def told(self, turn_id: str, steps: Sequence[StepState]) -> None:
        for step in steps:
            if step.type == "text":
                self._add((turn_id, step.id), step.content)

    def _add(self, key: tuple[str, str], content: GrowingText) -> None:
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


def _share_a_place() -> bool:
    """Whether stdout and stderr go to the same terminal, pipe or file."""
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):
        return False


class AskJson:
    """One object at the end."""

    def frame(self, frame_id: str, name: str, data: str | Mapping[str, object]) -> None:
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
    """One object for each event, and a last one named ``end``.

    Events are written as they came. Only our own backend tells us more than protocols.md §2 has names for:
    its answers are written in the plain form of §2, as it would send them to everybody else.
    """

    def __init__(self, is_plain: bool | None = None) -> None:
        """``is_plain``: no server of ours answers, ``None`` where that is to be found out."""
        self._held: list[dict[str, object]] = []  # until it is known whose they are
        self._is_plain = is_plain
        self._id: str | None = None  # of the newest event
        self._growing: StepState | None = None
        self._written = 0, 0  # of what grows: its revision, and how many characters of it
        self._done: set[tuple[str, str]] = set()  # (turn, step) of calls and results that are written

    def frame(self, frame_id: str, name: str, data: str | Mapping[str, object]) -> None:
        self._id = frame_id or None
        sent = frame_data(data) if isinstance(data, str) else dict(data)
        line: dict[str, object] = {"id": self._id, "event": name, "data": sent}
        if self._is_plain is None and name in BEFORE_AN_ANSWER:
            self._held.append(line)
            return
        if self._is_plain is None:
            self._is_plain = name != OUR_ANSWER
            self._release()
        if not self._is_plain:
            if name not in TERMINAL:
                return
            self._write_grown()
        output.write_json(line)

    def told(self, turn_id: str, steps: Sequence[StepState]) -> None:
        if self._is_plain is not False:
            return
        for step in steps:
            if step.type in ("text", "thinking"):
                self._grow(step)
            elif (turn_id, step.id) not in self._done and (step.type != "tool_call" or step.status):
                self._done.add((turn_id, step.id))
                self._write_grown()
                self._write(step)

    def aside(self) -> None:
        """Its lines are whole."""

    def end(self, ending: Ending, text: str, record: AskRecord) -> None:
        self._release()
        self._write_grown()
        output.write_json({"id": None, "event": "end", "data": end_data(ending, text)})

    def _release(self) -> None:
        for line in self._held if self._is_plain is not False else ():
            output.write_json(line)
        self._held.clear()

    def _grow(self, step: StepState) -> None:
        """Write a text as it is now, unless that would be much more than what is new of it."""
        if step is not self._growing:
            self._write_grown()
            self._growing, self._written = step, (0, 0)
        revision, length = self._written
        if step.content.revision != revision or step.content.length * GROWN_PARTS >= length * (
            GROWN_PARTS + 1
        ):
            self._write_grown()

    def _write_grown(self) -> None:
        step = self._growing
        if step is not None and self._written != (now := (step.content.revision, step.content.length)):
            self._written = now
            self._write(step)

    def _write(self, step: StepState) -> None:
        output.write_json(
            {"id": self._id, "event": "process_step", "data": {"step": step_fields(as_told(step))}}
        )


def as_told(step: StepState) -> ev.Step:
    """Return a step as a server would tell it."""
    texts = step.content.text, step.name, step.arguments.text
    return ev.Step(step.id, step.place, step.type, *texts, step.id_ref, step.success)


def ask_format(name: FormatName, *, is_plain: bool | None = None) -> AskFormat:
    """Return the format that ``--output`` names; ``is_plain`` as ``AskStream`` has it."""
    match name:
        case "text":
            return AskText()
        case "json":
            return AskJson()
        case "stream-json":
            return AskStream(is_plain)
