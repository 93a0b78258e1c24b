"""Chats on the wire, inwards (protocols.md §2): SSE frames and JSON answers to events.

Tolerant, because foreign servers are. One decoder reads all three forms of a stream: the plain one (each step
complete, again and again), ``deltas=1``, and ours with ``full=1``. The other direction is ``chat_encode``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from agent_tui.model import events as ev
from agent_tui.wire.chat_encode import TERMINAL as TERMINAL
from agent_tui.wire.chat_message import (
    AnySeconds,
    AnySpoken,
    AnyStep,
    ChatMessage,
    Count,
    Seconds,
    StepAddedFrame,
    ToolStatus,
    chat_message,
    fitting,
    read_message,
)
from agent_tui.wire.content import encodable
from agent_tui.wire.fields import (
    AnyUsage,
    Name,
    Text,
    Wire,
    error_text,
    field_named,
    fields_of,
    parse,
    reason,
)

_CLOSING = '"}}'  # what follows the content of a snapshot, if its frame is written as the original does
_SURROGATE = "\\ud"  # half of an escaped pair: the other half may be before it


class _Step(Wire):
    step: AnyStep


_OF_TURN = field_named("message_id")
_AnswerStarted = fields_of(
    ev.TurnStarted,
    ("room_id", "role", "sender_color", "round_number", "agent_id", "supersedes", "trimmed"),
    turn_id=_OF_TURN,
    sender_name=field_named("model", default=""),
)
_AnswerNote = fields_of(ev.TurnNoted, ("agent_id", "agent_name"), turn_id=_OF_TURN, seconds=(Seconds, 0.0))
_AnswerEnded = fields_of(
    ev.TurnEnded,
    ("text", "agent_id"),
    turn_id=_OF_TURN,
    token_count=(Count, 0),
    usage=(AnyUsage, None),
    seconds=(AnySeconds, None),
)
_MessageSpoken = fields_of(ev.MessageSpoken, message_id=(Name, ...), spoken=(AnySpoken, ...))


class _Done(Wire):
    message_id: Text = ""
    token_count: Count = 0
    usage: AnyUsage = None


_Conversation = fields_of(ev.ConversationInfo, id=(Name, ...))


class ChatDecoder:
    """Turns the frames of one connection into events. ``turn_id`` is the turn of its steps, until an
    ``answer_started`` names another.

    A snapshot that only continues the one before is not parsed again: its cost is what is new.
    """

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self._first_id = turn_id
        self._is_over = False
        self._answers = 1
        self._known = ""  # the newest snapshot, up to the quote after its content
        self._known_id = ""

    def decode(self, name: str, data: str) -> ev.Event:
        """Return the event of one frame; whatever does not fit becomes ``Unknown``. Never raises.

        ``done`` and ``error`` end an answer whatever their data is.
        """
        if name == "process_step" and self._known and (added := self._added_to_snapshot(data)) is not None:
            return ev.StepAdded(self.turn_id, self._known_id, added)
        try:
            return self._decoded(name, data)
        except ValidationError as error:
            if name in TERMINAL:
                return self._turn_ended(name, data)
            return ev.Unknown(name, data, reason(error))

    def _added_to_snapshot(self, data: str) -> str | None:
        """Return what ``data`` adds to the snapshot before, ``None`` if it has to be read completely."""
        known = self._known
        if len(data) < len(known) + len(_CLOSING) or not data.startswith(known):
            return None
        added = data[len(known) : -len(_CLOSING)]
        if not data.endswith(_CLOSING) or added[: len(_SURROGATE)].lower() == _SURROGATE:
            return None
        try:
            text: str = json.loads(f'"{added}"')  # fails if a quote in it ends the content early
        except ValueError:
            return None
        self._known = data[: -len(_CLOSING)]
        return encodable(text)

    def _decoded(self, name: str, data: str) -> ev.Event:
        match name:
            case "process_step":
                return self._step(data)
            case "process_step_delta":
                added = parse(StepAddedFrame, data)
                return ev.StepAdded(self._turn(), added.id, added.content, added.arguments)
            case "tool_status":
                status = ev.ToolStatusChanged(**vars(parse(ToolStatus, data)))
                return status if status.turn_id else replace(status, turn_id=self.turn_id)
            case "message":
                return ev.MessageStored(chat_message(parse(ChatMessage, data)))
            case "answer_started":
                return self._turn_started(vars(parse(_AnswerStarted, data)))
            case "answer_note":
                return ev.TurnNoted(**vars(parse(_AnswerNote, data)))
            case "answer_ended":
                return ev.TurnEnded(text="", **vars(parse(_AnswerEnded, data)))
            case "message_spoken":
                return ev.MessageSpoken(**vars(parse(_MessageSpoken, data)))
            case "conversation":
                return ev.ConversationChanged(ev.ConversationInfo(**vars(parse(_Conversation, data))))
            case "done" | "error":
                return self._turn_ended(name, data)
            case _:
                return ev.Unknown(name, data, "no such event in the protocol")

    def _step(self, data: str) -> ev.Event:
        step = parse(_Step, data).step
        self._known = ""
        # The end of the content is checked, so that nothing after it is taken for it.
        if step.type in ("text", "thinking") and _closes(data, step.content):
            self._known, self._known_id = data[: -len(_CLOSING)], step.id
        return ev.StepSet(self._turn(), step)

    def _turn(self) -> str:
        """Return the turn of a step. After the end, a step belongs to the next answer."""
        if self._is_over:
            self._is_over = False
            self._answers += 1
            self.turn_id = f"{self._first_id}-{self._answers}"
        return self.turn_id

    def _turn_started(self, fields: dict[str, Any]) -> ev.Event:
        self.turn_id, self._is_over, self._known = fields["turn_id"], False, ""
        return ev.TurnStarted(room_id="", role="assistant", sender_color="", round_number=0, **fields)

    def _turn_ended(self, name: str, data: str) -> ev.Event:
        self._is_over, self._known = True, ""
        if name == "error":
            return ev.RunFailed(error_text(data))
        try:
            done = parse(_Done, data)
        except ValidationError:
            return ev.TurnDone(self.turn_id, "")
        # In the original it is not the stored message's id (protocols.md §2), so it cannot be used.
        message_id = done.message_id if done.message_id == self.turn_id else ""
        return ev.TurnDone(self.turn_id, message_id, done.token_count, done.usage)


def _closes(data: str, content: str) -> bool:
    """Return whether the last string of ``data`` is ``content``, with nothing after it."""
    if not data.endswith(_CLOSING):
        return False
    tail = json.dumps(content[-8:], ensure_ascii=False)[1:-1]
    escaped = json.dumps(content[-8:])[1:-1]
    head = data[: -len(_CLOSING)]
    if not content:
        return head.endswith(('"content": "', '"content":"'))
    return head.endswith((tail, escaped))


def decode_conversation(value: object) -> ev.ConversationInfo:
    """Return a conversation from a JSON answer; raises ``ValueError`` if it is not one."""
    return ev.ConversationInfo(**vars(_Conversation.model_validate(value)))


def decode_conversations(value: object) -> list[ev.ConversationInfo]:
    """Return the conversations of ``{"conversations": […]}`` or of a bare list; skips invalid ones."""
    return fitting(decode_conversation, value, "conversations")


def decode_messages(value: object) -> list[ev.Message]:
    """Return the messages of ``{"messages": […]}`` or of a bare list; skips invalid ones."""
    return fitting(read_message, value, "messages")
