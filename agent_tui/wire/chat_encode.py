"""Chats on the wire, outwards (protocols.md §2): events to SSE frames, conversations and messages to JSON.

The log has every event in its *full* form, which our own client gets; other clients get what is made from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from agent_tui.model import events as ev
from agent_tui.wire.content import attachment_fields, dump, only_set
from agent_tui.wire.rooms_encode import note_fields, usage_fields
from agent_tui.wire.steps_encode import call_fields, calls_fields
from agent_tui.wire.steps_encode import step_fields as step_fields

# Events after which an answer's stream ends. (They are here because the backend starts without pydantic.)
TERMINAL = frozenset({"done", "error"})
# Settings that older logs lack: a default value is left out, so that such logs replay as they were.
LEFT_OUT = {"on_resume": "continue", "guide": "tell", "on_full": "summarise"}


def frame(event: ev.Event) -> tuple[str, str] | None:
    """Return (event name, data as JSON) of ``event``; ``None`` if chats do not have it."""
    if isinstance(event, ev.Unknown):
        return event.name, event.data  # as received
    try:
        name, fields = encode(event)
    except ValueError:
        return None
    return name, dump(fields)


def encode(event: ev.Event) -> tuple[str, dict[str, Any]]:
    """Return (event name, data) of ``event`` in the full form; raises ``ValueError`` if chats do not have
    it.
    """
    match event:
        case ev.StepSet(_, step):
            return "process_step", {"step": step_fields(step)}
        case ev.StepAdded(_, step_id, content, arguments):
            return "process_step_delta", {"id": step_id, **only_set(content=content, arguments=arguments)}
        case ev.ToolStatusChanged(turn_id, step_id, status, seconds, ask, progress):
            fields = {"id": step_id, **call_fields(status, seconds, ask, progress)}
            # It comes after the end of its answer, so it has to name the call's turn.
            return "tool_status", fields | ({"message_id": turn_id} if status == ev.UNDONE else {})
        case ev.TurnStarted():
            fields = {"message_id": event.turn_id, "parent_id": event.parent_id, "model": event.sender_name}
            return "answer_started", {
                **fields,
                "attempt": event.attempt,
                **only_set(continues=event.continues),
            }
        case ev.TurnNoted():
            more = only_set(count=event.count, until=event.until, seconds=event.seconds, about=event.about)
            return "answer_note", {"message_id": event.turn_id, "note": event.note, **more}
        case ev.TurnEnded():
            return "answer_ended", {
                "message_id": event.turn_id,
                **only_set(interrupted=event.interrupted, error=event.error),
                "token_count": event.token_count,
                **usage_fields(event.usage),
                **({} if event.seconds is None else {"seconds": event.seconds}),
            }
        case ev.TurnDone(_, message_id, tokens, usage):
            used = usage or ev.Usage()
            counts = {"prompt_tokens": used.prompt_tokens, "completion_tokens": used.completion_tokens}
            counts["total_tokens"] = used.prompt_tokens + used.completion_tokens
            return "done", {"message_id": message_id, "token_count": tokens, "usage": counts}
        case ev.RunFailed(content):
            return "error", {"content": content}
        case ev.MessageStored(message):
            return "message", stored_message_fields(message)
        case ev.MessageSpoken(message_id, spoken):
            return "message_spoken", {"message_id": message_id, "spoken": spoken_fields(spoken)}
        case ev.ConversationChanged(conversation):
            return "conversation", changed_fields(conversation)
        case _:
            raise ValueError(f"{type(event).__name__} is not of a chat")


def changed_fields(conversation: ev.ConversationInfo) -> dict[str, Any]:
    """Return the data of a ``conversation`` event: without ``last_event_id``, which is its own id."""
    fields = conversation_fields(conversation)
    del fields["last_event_id"]
    for name, usual in LEFT_OUT.items():
        if fields[name] == usual:
            del fields[name]
    return fields


def conversation_fields(conversation: ev.ConversationInfo) -> dict[str, Any]:
    """Return a conversation as ``GET /api/conversations/{id}`` answers it."""
    fields = asdict(conversation)
    tools, unpriced = conversation.enabled_tools, fields.pop("unpriced")
    return {
        **fields,
        "enabled_tools": None if tools is None else list(tools),
        **only_set(unpriced=list(unpriced)),
    }


def stored_message_fields(message: ev.Message) -> dict[str, Any]:
    """Return one item of ``GET …/messages``; ``calls`` has the states of its tool calls, by step id."""
    fields: dict[str, Any] = {
        "id": message.id,
        "conversation_id": message.room_id,
        "role": message.role,
        "content": message.content or stored_content(message),
        "token_count": message.token_count,
        "created_at": message.created_at,
        "parent_id": message.parent_id,
    }
    fields |= only_set(
        interrupted=message.interrupted,
        error=message.error,
        status=message.status,
        calls=calls_fields(message.steps),
        versions=list(message.versions),
    )
    if message.role == "assistant":
        fields["model"] = message.sender_name
    if message.seconds is not None:
        fields["seconds"] = message.seconds
    if message.spoken is not None:
        fields["spoken"] = spoken_fields(message.spoken)
    notes = [note_fields(note) for note in message.notes]
    fields |= only_set(trimmed=message.trimmed, continues=message.continues, notes=notes)
    return {**fields, **usage_fields(message.usage)}


def stored_content(message: ev.Message) -> str:
    """Return the content of a stored message."""
    if message.role == "user":
        return question_content(message.text, message.attachments)
    return answer_content(message.text, message.steps)


def spoken_fields(spoken: ev.SpeechRecord) -> dict[str, Any]:
    """Return how a message was spoken, as far as it is known."""
    return {name: value for name, value in asdict(spoken).items() if value not in (None, "")}


def question_content(text: str, attachments: Sequence[ev.Attachment]) -> str:
    """Return the stored content of a person's message."""
    return dump({"text": text, "attachments": attachment_fields(attachments)})


def answer_content(text: str, steps: Sequence[ev.Step]) -> str:
    """Return the stored content of an answer; ``tool_calls`` only if there are some."""
    calls = [
        {"id": step.id_ref, "name": step.name, "arguments": step.arguments}
        for step in steps
        if step.type == "tool_call"
    ]
    return dump({"text": text, "steps": [step_fields(step) for step in steps], **only_set(tool_calls=calls)})
