"""Adds to the events of an answer what a state needs, for servers that name neither question nor answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from agent_tui.model.errors import AgentTuiError, StreamLost, TimedOut
from agent_tui.model.events import LOCAL_ID, Attachment, Event, Message, MessageStored, TurnEnded, TurnStarted


@dataclass(frozen=True, slots=True)
class AnnouncedFrame:
    """One frame of an answer as it was sent, and its events. The first of an answer has no ``name``: the
    question was taken. ``call_id`` belongs to a call that runs here, with its state.
    """

    name: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Event] = ()
    call_id: str = ""


class AnswerLeft(AgentTuiError):
    """This side gave the answer up."""


async def announced(
    answer: AsyncGenerator[Event, None],
    turn_id: str,
    text: str,
    attachments: Sequence[Attachment] = (),
    *,
    conversation_id: str = "",
    agent_name: str = "",
) -> AsyncGenerator[Event, None]:
    """Yield the question, the beginning of its answer ``turn_id``, and then all of ``answer``.

    Nothing is yielded if the answer fails before it begins. One that is interrupted later is ended, with what
    was said so far, before its ``StreamLost`` or ``TimedOut`` is raised. Closing it closes ``answer``.
    """
    has_begun = False
    try:
        async with aclosing(answer):
            async for event in answer:
                if not has_begun:
                    has_begun = True
                    question_id = f"{LOCAL_ID}question-{uuid4().hex}"
                    for event_before in beginning(
                        conversation_id, question_id, text, attachments, turn_id, agent_name
                    ):
                        yield event_before
                yield event
    except (StreamLost, TimedOut) as error:
        if has_begun:
            yield ending_of(turn_id, error)
        raise


def beginning(
    conversation_id: str,
    question_id: str,
    text: str,
    attachments: Sequence[Attachment],
    turn_id: str,
    agent_name: str = "",
) -> tuple[MessageStored, TurnStarted]:
    """Return a question and the start of its answer ``turn_id``, which their server does not send."""
    files = tuple(attachments)
    question = Message(question_id, conversation_id, "user", text, text, "", "", 0, 0, "", attachments=files)
    return MessageStored(question), TurnStarted(turn_id, conversation_id, "assistant", agent_name, "", 0)


def ending_of(turn_id: str, error: StreamLost | TimedOut) -> TurnEnded:
    """Return the end of an answer that was interrupted."""
    return TurnEnded(turn_id, "", 0, interrupted="timeout" if isinstance(error, TimedOut) else "lost")
