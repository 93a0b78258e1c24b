"""The output formats of a run: ``text``, ``json`` and ``stream-json`` (cli.md, «Formats»)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agent_tui.clients.conversations import Conversations
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, ConnectFailed, Refused
from agent_tui.model.inert import inert, inert_line
from agent_tui.state.conversation import INTERRUPTED
from agent_tui.state.steps import StepState
from agent_tui.state.turn import Turn
from agent_tui.wire.chat_encode import TERMINAL
from agent_tui.wire.steps_encode import step_fields
from tui.cli import output
from tui.cli.exits import REASONS, UNREACHABLE, USAGE, exit_code, reason
from tui.live.texts import why_cut
from tui.screens.words import say

FormatName = Literal["text", "json", "stream-json"]
NAMELESS: Final = "agent"


def speaker_line(who: str) -> str:
    """Return the line above what somebody says."""
    return f"{who}{say('between.detail').rstrip()}"


OUR_ANSWER: Final = "answer_started"  # only our own backend sends it
BEFORE_AN_ANSWER: Final = ("message", "conversation")
GROWN_PARTS: Final = 64  # a text is written again when it grew by this part


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run ended, with a line for a person; ``gave_up``: the server was not reached (again),
    ``was_refused``: it did not begin.
    """

    reason: str
    detail: str | None = None
    gave_up: bool = False
    was_refused: bool = False

    @classmethod
    def of(cls, error: AgentTuiError, *, has_begun: bool = False) -> Ending:
        """Return how a run ends after ``error``; raises it if it is wrong usage. What a server refuses of a
        run that ``has_begun`` is not.
        """
        if exit_code(error) == USAGE and not (has_begun and isinstance(error, Refused)):
            raise error
        gave_up, was_refused = isinstance(error, ConnectFailed), isinstance(error, Refused)
        return cls(reason(error), str(error), gave_up=gave_up, was_refused=was_refused)

    @property
    def told(self) -> str:
        """The line for a person; ``detail`` may have the protocol's word for why an answer was cut."""
        detail = self.detail or ""
        return why_cut(detail.removeprefix(INTERRUPTED)) if detail.startswith(INTERRUPTED) else detail

    @property
    def code(self) -> int:
        """The exit code: the reason's, except for a server that cannot be reached."""
        return UNREACHABLE if self.gave_up else REASONS[self.reason]


@dataclass(frozen=True, slots=True)
class Record:
    """A room or chat as the server answered it at the end; ``messages`` ``None`` if it has none."""

    about: Mapping[str, object] = field(default_factory=dict)
    messages: Sequence[object] | None = None

    @classmethod
    async def of(
        cls,
        client: Conversations[Any],
        name: str,
        id_: str,
        ending: Ending,
        messages: Sequence[object] | None = None,
    ) -> Record:
        """Return the server's answer, as far as it has one, else the ``messages`` that came here."""
        about: object = {"id": id_}
        if not ending.gave_up:
            with suppress(AgentTuiError):
                about = await client.show_raw(id_)
                messages = await client.messages_raw(id_)
        return cls({name: about}, messages)


Frame = tuple[str, str, str | Mapping[str, object]]  # an event as it was received: its id, name and data


class Format:
    """One way to write a run to stdout; every method may raise ``BrokenPipeError``."""

    def frame(self, frame_id: str, name: str, data: str | Mapping[str, object]) -> None:
        """Take one event as it was received: its data as text, or parsed."""

    def said(self, turn: Turn, steps: Sequence[StepState]) -> None:
        """Take what an agent says: its turn, and the steps that the last event changed, in their order."""

    def aside(self) -> None:
        """Prepare for a line on stderr."""

    def end(self, ending: Ending, text: str, record: Record) -> None:
        """Write the end; ``text`` is everything that was answered."""


class TextFormat(Format):
    """``text``: only what is said, flushed as it streams, a blank line between two texts.

    With ``has_names`` the agents' names stand before their words. Words of several agents are never mixed:
    the first speaker is written live, and what the others say meanwhile follows when it has ended.
    """

    def __init__(self, *, has_names: bool = False) -> None:
        self._has_names = has_names
        self._waiting: list[Turn] = []
        self._live: Turn | None = None
        self._is_over = False
        # (turn, step) → its revision, and how much of it is written
        self._written: dict[tuple[str, str], tuple[int, int]] = {}
        self._last: tuple[str, str] | None = None  # the text that was written to last
        self._line_open = False
        self._is_aside = False  # if both streams go to one place, a notice has its own line

    def aside(self) -> None:
        if self._line_open and not self._is_aside and (output.is_lines() or _share_a_place()):
            (output.write if output.is_lines() else sys.stderr.write)("\n")
            self._is_aside = True

    def said(self, turn: Turn, steps: Sequence[StepState]) -> None:
        if turn is not self._live and turn not in self._waiting and any(self._news(turn)):
            self._waiting.append(turn)
        self._write_all()

    def end(self, ending: Ending, text: str, record: Record) -> None:
        self._is_over = True
        self._write_all()
        self._end_line()

    def _write_all(self) -> None:
        while True:
            if (turn := self._live) is not None:
                for step in self._news(turn):
                    self._add(turn, step)
                if turn.status == "speaking" and not self._is_over:
                    return
            if self._has_names:
                self._end_line()
            over = (candidate for candidate in self._waiting if candidate.status != "speaking")
            self._live = next(over, self._waiting[0]) if self._waiting else None
            if self._live is None:
                return
            self._waiting.remove(self._live)
            if self._has_names:
                gap = "\n" if self._last is not None else ""
                self._write(f"{gap}{speaker_line(inert_line(self._live.sender_name) or NAMELESS)}\n")
                self._last = None

    def _news(self, turn: Turn) -> list[StepState]:
        """Return the texts of a turn that have changed."""
        texts = turn.steps.texts
        return [text for text in texts if self._written.get((turn.id, text.id)) != _version(text)]

    def _add(self, turn: Turn, step: StepState) -> None:
        key, content = (turn.id, step.id), step.content
        revision, count = self._written.get(key, (content.revision, 0))
        is_apart = self._last is not None and key != self._last
        if revision != content.revision:  # the words were replaced: they are written again, from the start
            count, is_apart = 0, self._last is not None
        fresh = content.since(count)
        self._written[key] = _version(step)
        if fresh:
            gap = "\n" if self._is_aside else "\n\n"
            self._write(inert(f"{gap}{fresh}" if is_apart else fresh))
            self._last = key

    def _write(self, text: str) -> None:
        self._is_aside = False
        if text:
            output.write(text)
            self._line_open = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._line_open and not self._is_aside:
            self._write("\n")


def _version(step: StepState) -> tuple[int, int]:
    return step.content.revision, step.content.length


def _share_a_place() -> bool:
    """Whether stdout and stderr go to the same terminal, pipe or file."""
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):
        return False


class JsonFormat(Format):
    """One object at the end."""

    def __init__(self) -> None:
        self._messages: list[object] = []  # for servers that do not show what they stored

    def frame(self, frame_id: str, name: str, data: str | Mapping[str, object]) -> None:
        if name == "message":
            self._messages.append(event_data(data))

    def end(self, ending: Ending, text: str, record: Record) -> None:
        messages = self._messages if record.messages is None else list(record.messages)
        output.write_json({**end_data(ending, text), **record.about, "messages": messages})


class StreamFormat(Format):
    """One object for each event, and a last one named ``end``.

    Events are written as they came. Only our own backend sends more about a chat than protocols.md §2 has
    names for: its answers are written in the plain form of §2, as it would send them to other clients.
    """

    def __init__(self, is_plain: bool | None = True) -> None:
        """``is_plain``: the frames have that form; ``None``: that is not known yet."""
        self._held: list[dict[str, object]] = []  # until their owner is known
        self._is_plain = is_plain
        self._id: str | None = None  # of the newest event
        self._growing: StepState | None = None
        self._written = 0, 0  # of the growing text: its revision, and how many characters of it
        self._done: set[tuple[str, str]] = set()  # (turn, step) of calls and results that are written

    def frame(self, frame_id: str, name: str, data: str | Mapping[str, object]) -> None:
        self._id = frame_id or None
        sent = event_data(data)
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

    def said(self, turn: Turn, steps: Sequence[StepState]) -> None:
        if self._is_plain is not False:
            return
        for step in steps:
            if step.type in ("text", "thinking"):
                self._grow(step)
            elif (turn.id, step.id) not in self._done and (step.type != "tool_call" or step.status):
                self._done.add((turn.id, step.id))
                self._write_grown()
                self._write(step)

    def end(self, ending: Ending, text: str, record: Record) -> None:
        self._release()
        self._write_grown()
        output.write_json({"id": None, "event": "end", "data": end_data(ending, text)})

    def _release(self) -> None:
        for line in self._held if self._is_plain is not False else ():
            output.write_json(line)
        self._held.clear()

    def _grow(self, step: StepState) -> None:
        """Write a text as it is now, unless that would be much more than what is new in it."""
        if step is not self._growing:
            self._write_grown()
            self._growing, self._written = step, (0, 0)
        revision, length = self._written
        has_grown = step.content.length * GROWN_PARTS >= length * (GROWN_PARTS + 1)
        if step.content.revision != revision or has_grown:
            self._write_grown()

    def _write_grown(self) -> None:
        step = self._growing
        if step is not None and self._written != (now := _version(step)):
            self._written = now
            self._write(step)

    def _write(self, step: StepState) -> None:
        data = {"step": step_fields(as_told(step))}
        output.write_json({"id": self._id, "event": "process_step", "data": data})


def as_told(step: StepState) -> ev.Step:
    """Return a step as a server would send it."""
    texts = step.content.text, step.name, step.arguments.text
    return ev.Step(step.id, step.place, step.type, *texts, step.call_id or step.id_ref, step.success)


def format_named(name: FormatName, *, has_names: bool = False, is_plain: bool | None = True) -> Format:
    """Return the format for ``--output``; the others are explained at ``TextFormat`` and ``StreamFormat``."""
    if name == "text":
        return TextFormat(has_names=has_names)
    return JsonFormat() if name == "json" else StreamFormat(is_plain)


def end_data(ending: Ending, text: str) -> dict[str, object]:
    """Return the data of the ``end`` line; ``text`` is everything that was answered."""
    return {"reason": ending.reason, "text": text, "detail": ending.detail}


def event_data(data: str | Mapping[str, object]) -> dict[str, object]:
    """Return an event's data as received, without ``accumulated``; anything but a JSON object as ``raw``."""
    if not isinstance(data, str):
        return dict(data)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {"raw": data}
    if not isinstance(value, dict):
        return {"raw": value}
    value.pop("accumulated", None)
    return value
