"""Rooms on the wire, inwards (protocols.md §1): SSE frames and JSON answers to events.

Tolerant, because foreign servers are: unknown fields are ignored, ids may be numbers, ``null`` means missing;
what still does not fit becomes ``Unknown`` with the reason. The other direction is ``rooms_encode``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationError

from agent_tui.model import events as ev
from agent_tui.wire.chat_message import Seconds, StepAddedFrame, ToolStatus, fitting, read_step, stored_steps
from agent_tui.wire.content import content_text, json_object
from agent_tui.wire.fields import (
    ADVICE,
    NO_REASON,
    AnyUsage,
    Notes,
    Text,
    Wire,
    error_text,
    field_named,
    fields_of,
    page_marks,
    parse,
    reader,
    reason,
)
from agent_tui.wire.rooms_encode import TERMINAL as TERMINAL

_MORE_THAN_WORDS = ('"tool_call"', '"tool_result"', '"thinking"')  # types of steps, in their JSON form


class _AgentRef(Wire):
    id: Text
    name: Text = ""


def _parallel_started(received: Wire) -> ev.Event:
    fields = vars(received)
    refs = enumerate(fields["agents"])
    agents = tuple(ev.AgentInfo(ref.id, ref.name, turn_order=place) for place, ref in refs)
    return ev.ParallelStarted(**fields | {"agents": agents})


def _agent_status(received: Wire) -> ev.Event:
    fields = vars(received)
    status, skipped = fields.pop("status"), fields.pop("skipped")
    if fields["note"] and fields["turn_id"]:
        return ev.TurnNoted(**fields)
    shown_status = "skipped" if skipped is True else status
    return ev.AgentStatusChanged(fields["agent_id"], fields["agent_name"], shown_status)


class _MessageChunk(Wire):
    id: Text
    content: Text = ""
    accumulated: str | None = None
    agent_id: Text = ""
    progress: int | None = None
    step: Any = None  # these three are ours: sent with empty words
    step_delta: Any = None
    tool_status: Any = None

    def event(self) -> ev.Event:
        step_id = ""
        if self.step is not None or self.step_delta is not None or self.tool_status is not None:
            # Another server may mean something else by it: then only its words count.
            with suppress(ValidationError):
                step_event = self._step_event()
                if not isinstance(step_event, str):
                    return step_event
                step_id = step_event
        return ev.TextAdded(
            self.id, self.content, self.accumulated, self.agent_id, self.progress, step_id=step_id
        )

    def _step_event(self) -> ev.Event | str:
        """Return the step event of a frame; the step's id if it only adds words to it."""
        if self.step is not None:
            return ev.StepSet(self.id, read_step(self.step), self.agent_id, self.progress)
        if self.tool_status is not None:
            changed = vars(ToolStatus.model_validate(self.tool_status)) | {"turn_id": self.id}
            return ev.ToolStatusChanged(**changed, agent_id=self.agent_id, percent=self.progress)
        added = StepAddedFrame.model_validate(self.step_delta)
        if self.content or not (added.content or added.arguments):
            return added.id
        return ev.StepAdded(self.id, added.id, added.content, added.arguments, self.agent_id, self.progress)


class _AgentError(Wire):
    agent: Text = ""
    error: Text = ""
    agent_id: Text = ""
    agent_name: Text = ""

    def event(self) -> ev.Event:
        error = self.error.strip() or f"{NO_REASON}: {ADVICE}"
        return ev.TurnFailed(error, self.agent_id, self.agent_name or self.agent)


def _message(received: Wire) -> ev.Message:
    fields = vars(received)
    content, calls = fields["content"], fields.pop("calls")
    steps: tuple[ev.Step, ...] = ()
    if fields["role"] != "user" and any(type_ in content for type_ in _MORE_THAN_WORDS):
        steps = stored_steps(content, calls)
    return ev.Message(text=content_text(content), steps=steps, **fields)


_Message = fields_of(
    ev.Message,
    ("text", "steps", "attachments", "parent_id", "versions", "seconds", "spoken"),
    empties=True,
    id=(Text, ...),
    usage=(AnyUsage, None),
    notes=(Notes, ()),
    calls=(Any, None),
)
_read_queued = reader(ev.QueuedMessage, content=(Text, ""))
_AnyAgent = Annotated[ev.AgentInfo, BeforeValidator(reader(ev.AgentInfo, id=(Text, ""), name=(Text, "")))]


def _queue(value: object) -> object:
    """Take only waiting messages: a room is shown whatever its server calls its queue."""
    return fitting(_read_queued, value if isinstance(value, list) else [], "")


_Room = fields_of(
    ev.RoomInfo,
    agents=(tuple[_AnyAgent, ...], ()),
    queue=(Annotated[tuple[ev.QueuedMessage, ...], BeforeValidator(_queue)], ()),
    turn_order=(list[Text], ()),
)


# How a frame is read, and what makes its event from that.
_Reading = tuple[type[Wire], Callable[[Any], ev.Event]]


def _plain(event: type[Any], without: Sequence[str] = (), **others: Any) -> _Reading:
    """Return how to read frames whose fields are those of an event."""
    model = fields_of(event, without, empties=True, **others)
    return model, lambda said: event(**vars(said))


_ROUND = (int, ...)
_FRAMES: Mapping[str, _Reading] = {
    "room_started": _plain(ev.RunStarted),
    "room_paused": _plain(ev.RunPaused),
    "room_completed": _plain(ev.RunCompleted),
    "queue_changed": _plain(ev.QueueChanged),
    "round_start": _plain(ev.RoundStarted, round=_ROUND),
    "round_end": _plain(ev.RoundEnded, round=_ROUND),
    "parallel_start": (
        fields_of(ev.ParallelStarted, empties=True, round=_ROUND, agents=(list[_AgentRef], ())),
        _parallel_started,
    ),
    "parallel_end": _plain(ev.ParallelEnded, round=_ROUND),
    "agent_status": (
        fields_of(
            ev.TurnNoted,
            turn_id=field_named("message_id", default=""),
            note=(Text, ""),
            seconds=(Seconds, 0.0),
            status=(Text, ...),
            skipped=(Any, None),
        ),
        _agent_status,
    ),
    "message_start": _plain(
        ev.TurnStarted, ("parent_id",), turn_id=field_named("id"), role=(Text, "assistant"), attempt=(int, 1)
    ),
    "message_chunk": (_MessageChunk, _MessageChunk.event),
    "message_end": _plain(
        ev.TurnEnded,
        ("error", "seconds"),
        turn_id=field_named("id"),
        text=field_named("content", Annotated[Text, AfterValidator(content_text)], ""),
        usage=(AnyUsage, None),
    ),
    "agent_error": (_AgentError, _AgentError.event),
    "message": (_Message, lambda said: ev.MessageStored(_message(said))),
}


def decode(name: str, data: str) -> ev.Event:
    """Return the event of one SSE frame; whatever does not fit becomes ``Unknown``. Never raises.

    The last event of a run ends it whatever its data is.
    """
    if name == "error":
        return ev.RunFailed(error_text(data))
    reading = _FRAMES.get(name)
    if reading is None:
        return ev.Unknown(name, data, "no such event in the protocol")
    model, make_event = reading
    try:
        return make_event(parse(model, data))
    except ValidationError as error:
        return make_event(model()) if name in TERMINAL else ev.Unknown(name, data, reason(error))


class RoomOfStream:
    """Tells whether a frame's data is about the room of a stream.

    Some servers give a room another id in their frames than in its address: the first one that a stream names
    counts as this room's.
    """

    def __init__(self, room_id: str) -> None:
        self._ids = {room_id}
        self._is_named = False

    def __call__(self, data: str) -> bool:
        if '"room_id"' not in data:  # the words of a turn
            return True
        room_id = json_object(data).get("room_id")
        if not isinstance(room_id, str) or not room_id:
            return True
        if not self._is_named:
            self._is_named = True
            self._ids.add(room_id)
        return room_id in self._ids


def decode_room(value: object) -> ev.RoomInfo:
    """Return a room from a JSON answer; raises ``ValueError`` if it is not one."""
    fields = vars(_Room.model_validate(value))
    place = {agent_id: index for index, agent_id in enumerate(fields.pop("turn_order"))}
    fields["agents"] = tuple(
        sorted(fields["agents"], key=lambda agent: (place.get(agent.id, agent.turn_order), agent.turn_order))
    )
    return ev.RoomInfo(**fields)


def decode_rooms(value: object) -> list[ev.RoomInfo]:
    """Return the rooms of ``{"rooms": […]}`` or of a bare list; skips invalid ones."""
    return fitting(decode_room, value, "rooms")


def decode_messages(value: object) -> tuple[list[ev.Message], str | None, int | None]:
    """Return (messages, next, as_of) of a messages answer or of a bare list; skips invalid messages."""
    messages = fitting(lambda item: _message(_Message.model_validate(item)), value, "messages")
    return messages, *page_marks(value)
