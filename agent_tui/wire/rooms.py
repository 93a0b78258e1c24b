"""Rooms on the wire, inwards (protocols.md §1): SSE frames and JSON answers to events.

Tolerant, because foreign servers are: unknown fields are ignored, numbers may stand for ids, ``null``
for what is missing; what still does not fit becomes ``Unknown`` with the reason. The way out is
``rooms_encode``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from agent_tui.model import events as ev
from agent_tui.wire.chat_message import AnySeconds, StepAdded, ToolStatus, fitting, read_step, stored_steps
from agent_tui.wire.content import content_text
from agent_tui.wire.fields import (
    ADVICE,
    NO_REASON,
    AnyUsage,
    Flag,
    Notes,
    Number,
    Text,
    Wire,
    error_text,
    fields_of,
    page_marks,
    parse,
    reader,
    reason,
)
from agent_tui.wire.rooms_encode import TERMINAL as TERMINAL

_MORE_THAN_WORDS = ('"tool_call"', '"tool_result"', '"thinking"')  # types of steps, as JSON has them


class _RoomStarted(Wire):
    room_id: Text = ""
    task: Text = ""
    resumed: Flag = False

    def event(self) -> ev.Event:
        return ev.RunStarted(self.room_id, self.task, self.resumed)


class _RoomPaused(Wire):
    room_id: Text = ""
    round: int | None = None
    interrupted: Text = ""

    def event(self) -> ev.Event:
        return ev.RunPaused(self.room_id, self.round, self.interrupted)


class _RoomCompleted(Wire):
    room_id: Text = ""
    total_rounds: Number = 0

    def event(self) -> ev.Event:
        return ev.RunCompleted(self.room_id, self.total_rounds)


class _RoundStart(Wire):
    round: int
    max_rounds: Number = 0

    def event(self) -> ev.Event:
        return ev.RoundStarted(self.round, self.max_rounds)


class _AgentRef(Wire):
    id: Text
    name: Text = ""


class _ParallelStart(Wire):
    round: int
    max_rounds: Number = 0
    agents: list[_AgentRef] = Field(default_factory=list)

    def event(self) -> ev.Event:
        agents = tuple(ev.AgentInfo(a.id, a.name, turn_order=n) for n, a in enumerate(self.agents))
        return ev.ParallelStarted(self.round, self.max_rounds, agents)


class _ParallelEnd(Wire):
    round: int
    agent_count: Number = 0

    def event(self) -> ev.Event:
        return ev.ParallelEnded(self.round, self.agent_count)


class _RoundEnd(Wire):
    round: int

    def event(self) -> ev.Event:
        return ev.RoundEnded(self.round)


class _AgentStatus(Wire):
    agent_id: Text = ""
    agent_name: Text = ""
    status: Text
    message_id: Text = ""
    note: Text = ""
    count: Number = 0
    about: Text = ""
    until: Text = ""
    seconds: AnySeconds = None

    def event(self) -> ev.Event:
        if self.note and self.message_id:
            return ev.TurnNoted(
                self.message_id,
                self.note,
                self.count,
                self.agent_id,
                self.agent_name,
                self.until,
                self.seconds or 0.0,
                self.about,
            )
        return ev.AgentStatusChanged(self.agent_id, self.agent_name, self.status)


class _MessageStart(Wire):
    id: Text
    room_id: Text = ""
    role: Text = "assistant"
    sender_name: Text = ""
    sender_color: Text = ""
    round_number: Number = 0
    agent_id: Text = ""
    attempt: int = 1
    supersedes: Text = ""
    trimmed: Number = 0
    continues: Text = ""

    def event(self) -> ev.Event:
        return ev.TurnStarted(
            self.id,
            self.room_id,
            self.role,
            self.sender_name,
            self.sender_color,
            self.round_number,
            self.agent_id,
            self.attempt,
            self.supersedes,
            self.trimmed,
            continues=self.continues,
        )


class _MessageChunk(Wire):
    id: Text
    content: Text = ""
    accumulated: str | None = None
    agent_id: Text = ""
    progress: int | None = None
    step: Any = None  # these three are ours: what comes with words that say nothing
    step_delta: Any = None
    tool_status: Any = None

    def event(self) -> ev.Event:
        step_id = ""
        if self.step is not None or self.step_delta is not None or self.tool_status is not None:
            # Another server may mean something else by it: then all that it says are words.
            with suppress(ValidationError):
                told = self._step_told()
                if not isinstance(told, str):
                    return told
                step_id = told
        return ev.TextAdded(
            self.id, self.content, self.accumulated, self.agent_id, self.progress, step_id=step_id
        )

    def _step_told(self) -> ev.Event | str:
        """Return what it tells of a step; the step's id where it is words that it adds to it."""
        if self.step is not None:
            return ev.StepSet(self.id, read_step(self.step), self.agent_id, self.progress)
        if self.tool_status is not None:
            stands = ToolStatus.model_validate(self.tool_status)
            return ev.ToolStatusChanged(
                self.id,
                stands.id,
                stands.status,
                stands.seconds,
                stands.ask,
                stands.progress,
                self.agent_id,
                self.progress,
            )
        added = StepAdded.model_validate(self.step_delta)
        if self.content or not (added.content or added.arguments):
            return added.id
        return ev.StepAdded(self.id, added.id, added.content, added.arguments, self.agent_id, self.progress)


class _MessageEnd(Wire):
    id: Text
    content: Text = ""
    token_count: Number = 0
    agent_id: Text = ""
    interrupted: Text = ""
    usage: AnyUsage = None

    def event(self) -> ev.Event:
        text = content_text(self.content)
        return ev.TurnEnded(self.id, text, self.token_count, self.agent_id, self.interrupted, self.usage)


class _AgentError(Wire):
    agent: Text = ""
    error: Text = ""
    agent_id: Text = ""
    agent_name: Text = ""

    def event(self) -> ev.Event:
        error = self.error.strip() or f"{NO_REASON}: {ADVICE}"
        return ev.TurnFailed(error, self.agent_id, self.agent_name or self.agent)


class _Message(Wire):
    id: Text
    room_id: Text = ""
    role: Text = ""
    content: Text = ""
    sender_name: Text = ""
    sender_color: Text = ""
    round_number: Number = 0
    token_count: Number = 0
    created_at: Text = ""
    agent_id: Text = ""
    interrupted: Text = ""
    status: Text = ""
    error: Text = ""
    to: Text = ""
    superseded: Flag = False
    trimmed: Number = 0
    continues: Text = ""
    usage: AnyUsage = None
    calls: Any = None
    notes: Notes = ()

    def message(self) -> ev.Message:
        fields = self.model_dump(exclude={"usage", "calls", "notes"}) | {"notes": self.notes}
        steps: tuple[ev.Step, ...] = ()
        if self.role != "user" and any(type_ in self.content for type_ in _MORE_THAN_WORDS):
            steps = stored_steps(self.content, self.calls)
        return ev.Message(text=content_text(self.content), usage=self.usage, steps=steps, **fields)

    def event(self) -> ev.Event:
        return ev.MessageStored(self.message())


_read_queued = reader(ev.QueuedMessage, content=(Text, ""))
_AnyAgent = Annotated[ev.AgentInfo, BeforeValidator(reader(ev.AgentInfo, id=(Text, ""), name=(Text, "")))]


def _queue(value: object) -> object:
    """Take only what waits: a room is shown whatever its server calls its queue."""
    return fitting(_read_queued, value if isinstance(value, list) else [], "")


_Room = fields_of(
    ev.RoomInfo,
    agents=(tuple[_AnyAgent, ...], ()),
    queue=(Annotated[tuple[ev.QueuedMessage, ...], BeforeValidator(_queue)], ()),
    turn_order=(list[Text], ()),
)


_FRAMES: Mapping[str, type[Wire]] = {
    "room_started": _RoomStarted,
    "room_paused": _RoomPaused,
    "room_completed": _RoomCompleted,
    "round_start": _RoundStart,
    "round_end": _RoundEnd,
    "parallel_start": _ParallelStart,
    "parallel_end": _ParallelEnd,
    "agent_status": _AgentStatus,
    "message_start": _MessageStart,
    "message_chunk": _MessageChunk,
    "message_end": _MessageEnd,
    "agent_error": _AgentError,
    "message": _Message,
}


def decode(name: str, data: str) -> ev.Event:
    """Return the event of one SSE frame; whatever does not fit becomes ``Unknown``. Never raises.

    The last event of a run ends it whatever its data are.
    """
    if name == "error":
        return ev.RunFailed(error_text(data))
    model = _FRAMES.get(name)
    if model is None:
        return ev.Unknown(name, data, "no such event in the protocol")
    try:
        fields = parse(model, data)
    except ValidationError as error:
        if name not in TERMINAL:
            return ev.Unknown(name, data, reason(error))
        fields = model()
    event: ev.Event = fields.event()  # type: ignore[attr-defined]
    return event


def decode_room(value: object) -> ev.RoomInfo:
    """Return a room from a JSON answer; raises ``ValueError`` when it is none."""
    said = dict(_Room.model_validate(value))
    place = {agent_id: n for n, agent_id in enumerate(said.pop("turn_order"))}
    said["agents"] = tuple(
        sorted(said["agents"], key=lambda agent: (place.get(agent.id, agent.turn_order), agent.turn_order))
    )
    return ev.RoomInfo(**said)


def decode_rooms(value: object) -> list[ev.RoomInfo]:
    """Return the rooms of ``{"rooms": […]}`` or of a bare list; skips what is no room."""
    return fitting(decode_room, value, "rooms")


def decode_messages(value: object) -> tuple[list[ev.Message], str | None, int | None]:
    """Return (messages, next, as_of) of a messages answer or of a bare list; skips what is no message."""
    messages = fitting(lambda item: _Message.model_validate(item).message(), value, "messages")
    return messages, *page_marks(value)
