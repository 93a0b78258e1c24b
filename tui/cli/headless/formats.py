"""The output formats of a run: ``text``, ``json`` and ``stream-json`` (cli.md, «Formats»)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_tui.model.errors import AgentTuiError, ConnectFailed
from agent_tui.model.inert import inert, inert_line
from agent_tui.state.turn import Turn
from tui.cli import output
from tui.cli.exits import REASONS, UNREACHABLE, USAGE, exit_code, reason
from tui.cli.headless.answer import Answer

FormatName = Literal["text", "json", "stream-json"]
NAMELESS = "agent"


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run ended; ``detail`` is one line for a person, ``gave_up`` says that the server was not
    reached (again).
    """

    reason: str
    detail: str | None = None
    gave_up: bool = False

    @classmethod
    def of(cls, error: AgentTuiError) -> Ending:
        """Return how a run ends that fails with ``error``; raises it where it is wrong usage."""
        if exit_code(error) == USAGE:
            raise error
        return cls(reason(error), str(error), gave_up=isinstance(error, ConnectFailed))

    @property
    def code(self) -> int:
        """The exit code: the reason's, but for a server that cannot be reached."""
        return UNREACHABLE if self.gave_up else REASONS[self.reason]


@dataclass(frozen=True, slots=True)
class Record:
    """What the server has on record at the end, as it answered it; ``None`` where it offers nothing."""

    room: object = None
    messages: Sequence[object] | None = None


class Format(Protocol):
    """One way to write a run to stdout. Every method may raise ``BrokenPipeError``."""

    def frame(self, frame_id: str, name: str, data: str) -> None:
        """Take one event as it was received."""

    def said(self, turns: Sequence[Turn]) -> None:
        """Take the turns that the last event changed."""

    def end(self, ending: Ending, answer: Answer, record: Record) -> None:
        """Write what belongs at the end."""


class TextFormat:
    """The agents' names before their words, flushed as they stream.

    Words of several agents are never mixed: the first who speaks is written live, and what the others
    say meanwhile follows when it has ended.
    """

    def __init__(self) -> None:
        self._waiting: list[Turn] = []
        self._seen: set[str] = set()
        self._live: Turn | None = None
        self._written = 0  # how many of the live turn's characters are
        self._revision = 0
        self._line_open = False
        self._separator = ""  # what stands before the next name

    def frame(self, frame_id: str, name: str, data: str) -> None:
        """The text format writes words only."""

    def said(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            if turn.id not in self._seen and turn.role != "user":
                self._seen.add(turn.id)
                self._waiting.append(turn)
        while self._write_live() and (following := self._next()) is not None:
            self._begin(following)

    def end(self, ending: Ending, answer: Answer, record: Record) -> None:
        self.said([*answer.close(), *answer.turns.values()])

    def _next(self) -> Turn | None:
        """Return whose words come next: a turn that is over, else the first one that has begun."""
        self._waiting = [turn for turn in self._waiting if turn.length or turn.status == "speaking"]
        over = [turn for turn in self._waiting if turn.status != "speaking"]
        begun = [turn for turn in self._waiting if turn.length]
        following = next(iter(over or begun), None)
        if following is not None:
            self._waiting.remove(following)
        return following

    def _begin(self, turn: Turn) -> None:
        self._live, self._written, self._revision = turn, 0, turn.revision
        self._write(f"{self._separator}{inert_line(turn.sender_name) or NAMELESS}:\n")
        self._separator = "\n"

    def _write_live(self) -> bool:
        """Write what is new of the live turn; return whether the place is free for the next one."""
        turn = self._live
        if turn is None:
            return True
        if turn.revision != self._revision:  # the words were other ones: said again, from the start
            self._written, self._revision = 0, turn.revision
            self._write("\n\n")
        fresh = turn.since(self._written)
        self._written = turn.length
        self._write(inert(fresh))
        if turn.status == "speaking":
            return False
        if self._line_open:
            self._write("\n")
        self._live = None
        return True

    def _write(self, text: str) -> None:
        if text:
            output.write(text)
            self._line_open = not text.endswith("\n")


class JsonFormat:
    """One object at the end."""

    def __init__(self) -> None:
        self._messages: list[object] = []  # for servers that do not say what they have stored

    def frame(self, frame_id: str, name: str, data: str) -> None:
        if name == "message":
            self._messages.append(frame_data(data))

    def said(self, turns: Sequence[Turn]) -> None:
        """The json format writes at the end only."""

    def end(self, ending: Ending, answer: Answer, record: Record) -> None:
        fields = end_data(ending, answer.text)
        messages = self._messages if record.messages is None else list(record.messages)
        output.write_json({**fields, "room": record.room, "messages": messages})


class StreamJsonFormat:
    """One object for each event, and a last one named ``end``."""

    def frame(self, frame_id: str, name: str, data: str) -> None:
        output.write_json({"id": frame_id or None, "event": name, "data": frame_data(data)})

    def said(self, turns: Sequence[Turn]) -> None:
        """The events themselves have said it."""

    def end(self, ending: Ending, answer: Answer, record: Record) -> None:
        output.write_json({"id": None, "event": "end", "data": end_data(ending, answer.text)})


def format_named(name: FormatName) -> Format:
    """Return the format that ``--output`` names."""
    match name:
        case "text":
            return TextFormat()
        case "json":
            return JsonFormat()
        case "stream-json":
            return StreamJsonFormat()


def end_data(ending: Ending, text: str) -> dict[str, object]:
    """Return the data of the ``end`` line; ``text`` is everything that was answered."""
    return {"reason": ending.reason, "text": text, "detail": ending.detail}


def frame_data(data: str) -> object:
    """Return an event's data as received, without ``accumulated``; what is no JSON object as ``raw``."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {"raw": data}
    if not isinstance(value, dict):
        return {"raw": value}
    value.pop("accumulated", None)
    return value
