"""Rooms on the wire, outwards (protocols.md §1): events to SSE frames, rooms and messages to JSON answers.

Strict, because foreign clients may be: exactly the fields of the protocol's table, and ours (``resumed``,
``interrupted``, ``attempt``, ``error``) only if they are not empty.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from agent_tui.model import events as ev
from agent_tui.wire.content import dump, only_set, steps_content, text_content
from agent_tui.wire.steps_encode import call_fields, calls_fields, step_fields

# Events after which a run's stream ends. (They are here because the backend starts without pydantic.)
TERMINAL = frozenset({"room_completed", "room_paused", "error"})

_MESSAGE_FIELDS = (
    "id",
    "room_id",
    "role",
    "content",
    "sender_name",
    "sender_color",
    "round_number",
    "token_count",
    "created_at",
)
_SET_FIELDS = ("interrupted", "error", "to", "superseded", "trimmed", "continues")

_ONLY_SET = ("interrupted", "asks", "enabled_tools", "workspace", "unpriced")  # absent: false or empty
_ROOM_FIELDS = tuple(
    name
    for field in fields(ev.RoomInfo)
    for name in (("turn_order", "agents") if field.name == "agents" else (field.name,))
    if name not in _ONLY_SET
)

_SKIPPED: dict[str, Any] = {"status": "completed", "skipped": True}


def message_fields(message: ev.Message) -> dict[str, Any]:
    """Return a stored message as on the wire, with additional fields only if they are set."""
    required = {name: getattr(message, name) for name in _MESSAGE_FIELDS}
    required["content"] = message.content or stored_content(message)
    more = only_set(
        **{name: getattr(message, name) for name in _SET_FIELDS},
        calls=calls_fields(message.steps),
        notes=[note_fields(note) for note in message.notes],
    )
    return {**required, **more, **usage_fields(message.usage)}


def stored_content(message: ev.Message) -> str:
    """Return the content of a stored message; if an agent's is one text, it has only that step."""
    if message.role == "user":
        return text_content(message.text)
    if message.steps:
        return dump({"steps": [step_fields(step) for step in message.steps]})
    return steps_content(message.text)


def note_fields(note: ev.Note) -> dict[str, Any]:
    """Return a note as in ``notes`` of a stored message."""
    return {"note": note.note, **only_set(about=note.about, count=note.count)}


def usage_fields(usage: ev.Usage | None) -> dict[str, Any]:
    """Return ``{"usage": {…}}`` with what is known; empty if nothing is."""
    if usage is None:
        return {}
    known = {"first_token_seconds": usage.first_token_seconds, "cost": usage.cost}
    counts = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    counts |= only_set(context=usage.context, context_limit=usage.context_limit)
    return {"usage": {**counts, **{name: value for name, value in known.items() if value is not None}}}


def listed_message_fields(message: ev.Message) -> dict[str, Any]:
    """Return one item of ``GET …/messages`` (cli.md): a stored message, who said it, and its state.

    ``status`` is "streaming" while the turn is under way, else "completed", "interrupted" or "failed".
    """
    ended = "failed" if message.error else "interrupted" if message.interrupted else "completed"
    return {**message_fields(message), "agent_id": message.agent_id, "status": message.status or ended}


def room_fields(room: ev.RoomInfo) -> dict[str, Any]:
    """Return a room as ``GET /api/rooms/{id}`` answers it (cli.md); unset fields are left out."""
    sent = {name: getattr(room, name, None) for name in _ROOM_FIELDS}
    sent["turn_order"] = [agent.id for agent in room.agents]
    sent["agents"] = [asdict(agent) for agent in room.agents]
    sent["queue"] = [queued_fields(queued) for queued in room.queue]
    more = only_set(**{name: getattr(room, name) for name in _ONLY_SET})
    return sent | {name: list(value) if isinstance(value, tuple) else value for name, value in more.items()}


def queued_fields(queued: ev.QueuedMessage) -> dict[str, Any]:
    """Return a waiting message, as ``queue`` lists it; ``to`` only for a whisper."""
    names = ("id", "content", "when", "sender_name", "created_at")
    return {name: getattr(queued, name) for name in names} | only_set(to=queued.to)


def own_frame(event: ev.Event) -> tuple[str, str] | None:
    """Return what ``frame`` does, and ``queue_changed``: only for clients that ask for it, since the protocol
    has no such event.
    """
    if isinstance(event, ev.QueueChanged):
        return "queue_changed", dump({"room_id": event.room_id})
    return frame(event)


def frame(event: ev.Event) -> tuple[str, str] | None:
    """Return (event name, data as JSON) of ``event``; ``None`` if rooms do not have it."""
    match event:
        case ev.Unknown(name, data):
            return name, data  # as received
        case ev.ConversationChanged() | ev.MessageSpoken() | ev.TurnDone() | ev.QueueChanged():
            return None
        case _:
            name, fields = encode(event)
            return name, dump(fields)


def encode(event: ev.Event) -> tuple[str, dict[str, Any]]:
    """Return (event name, data) of ``event``; raises ``ValueError`` for events that are never sent."""
    match event:
        case ev.RunStarted(room_id, task, resumed):
            return "room_started", {"room_id": room_id, "task": task, **only_set(resumed=resumed)}
        case ev.RunPaused(room_id, round_, reason):
            extra = {} if round_ is None else {"round": round_}
            return "room_paused", {"room_id": room_id, **extra, **only_set(interrupted=reason)}
        case ev.RunCompleted(room_id, total):
            return "room_completed", {"room_id": room_id, "total_rounds": total}
        case ev.RunFailed(content):
            return "error", {"content": content}
        case ev.RoundStarted(round_, most):
            return "round_start", {"round": round_, "max_rounds": most}
        case ev.ParallelStarted(round_, most, agents):
            named = [{"id": agent.id, "name": agent.name} for agent in agents]
            return "parallel_start", {"round": round_, "max_rounds": most, "agents": named}
        case ev.ParallelEnded(round_, count):
            return "parallel_end", {"round": round_, "agent_count": count}
        case ev.RoundEnded(round_):
            return "round_end", {"round": round_}
        case ev.MessageStored(message):
            return "message", message_fields(message)
        case ev.AgentStatusChanged(agent_id, agent_name, status):
            fields = {"agent_id": agent_id, "agent_name": agent_name, "status": status}
            return "agent_status", fields | (_SKIPPED if status == "skipped" else {})
        case ev.TurnNoted():
            who = {"agent_id": event.agent_id, "agent_name": event.agent_name, "status": "streaming"}
            more = only_set(count=event.count, until=event.until, seconds=event.seconds, about=event.about)
            return "agent_status", {**who, "message_id": event.turn_id, "note": event.note, **more}
        case ev.TurnFailed(error, agent_id, agent_name):
            named_error = {"agent": agent_name, "error": error}
            return "agent_error", {**named_error, "agent_id": agent_id, "agent_name": agent_name}
        case ev.TurnStarted() | ev.TextAdded() | ev.TurnEnded():
            return _encode_turn(event)
        case ev.StepSet() | ev.StepAdded() | ev.ToolStatusChanged():
            fields = {"id": event.turn_id, "content": "", **_step_fields(event)}
            return "message_chunk", {**fields, **_speaker(event.agent_id, event.percent)}
        case (
            ev.RoomLoaded()
            | ev.RoomChanged()
            | ev.ConversationLoaded()
            | ev.ConversationChanged()
            | ev.MessageSpoken()
            | ev.TurnDone()
            | ev.QueueChanged()
            | ev.LinkChanged()
            | ev.Unknown()
        ):
            raise ValueError(f"{type(event).__name__} does not travel in rooms")


def _step_fields(event: ev.StepSet | ev.StepAdded | ev.ToolStatusChanged) -> dict[str, Any]:
    """Return our additional fields of an empty chunk: clients that do not know them are not disturbed."""
    match event:
        case ev.StepSet(_, step):
            return {"step": step_fields(step)}
        case ev.StepAdded(_, step_id, content, arguments):
            return {"step_delta": {"id": step_id, **only_set(content=content, arguments=arguments)}}
        case ev.ToolStatusChanged(_, step_id, status, seconds, ask, so_far):
            return {"tool_status": {"id": step_id, **call_fields(status, seconds, ask, so_far)}}


def _encode_turn(event: ev.TurnStarted | ev.TextAdded | ev.TurnEnded) -> tuple[str, dict[str, Any]]:
    speaker = only_set(agent_id=event.agent_id)
    match event:
        case ev.TurnStarted():
            names = ("room_id", "role", "sender_name", "sender_color", "round_number")
            fields = {"id": event.turn_id, **{name: getattr(event, name) for name in names}}
            attempt = {"attempt": event.attempt} if event.attempt > 1 else {}
            more = only_set(supersedes=event.supersedes, trimmed=event.trimmed, continues=event.continues)
            return "message_start", {**fields, **speaker, **attempt, **more}
        case ev.TextAdded(turn_id, text, accumulated, agent_id, percent, step_id):
            whole = {} if accumulated is None else {"accumulated": accumulated}
            step = {"step_delta": {"id": step_id}} if step_id else {}
            fields = {"id": turn_id, "content": text, **whole, **step}
            return "message_chunk", {**fields, **_speaker(agent_id, percent)}
        case ev.TurnEnded(turn_id, text, tokens, _, reason, usage):
            fields = {"id": turn_id, "content": text, "token_count": tokens}
            return "message_end", {**fields, **speaker, **only_set(interrupted=reason), **usage_fields(usage)}


def _speaker(agent_id: str, percent: int | None) -> dict[str, Any]:
    return {**only_set(agent_id=agent_id), **({} if percent is None else {"progress": percent})}


def frame_bytes(frame_id: int | str | None, name: str, data: str) -> bytes:
    """Return one SSE frame, exactly as protocols.md §1 frames it, without id for 0 and ``None``; ``data`` is
    one line of JSON.
    """
    head = f"id: {frame_id}\n" if frame_id else ""
    return f"{head}event: {name}\ndata: {data}\n\n".encode("utf-8", "replace")


def token_count(text: str) -> int:
    """Return the protocol's estimate of tokens: characters // 4."""
    return len(text) // 4


def progress(characters: int) -> int:
    """Return the protocol's progress of a turn with that many characters: 0..95."""
    return min(95, characters // 20)
