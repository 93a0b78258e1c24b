"""The place of a question in the tree of its chat, and the beginning of its answer: no store, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent_tui.backend.engine.chats.fields import QuestionFields, RecordedSpeech, title_of
from agent_tui.backend.engine.chats.record import answer_begun, answer_ended, conversation_changed
from agent_tui.backend.engine.ending import TurnEnding
from agent_tui.backend.engine.record import USER_COLOR, USER_NAME, person_said
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.store.messages import attachments_text, spoken_text
from agent_tui.backend.store.rows import (
    VOICE,
    ConversationRow,
    ConversationSet,
    NewEvent,
    StepPut,
    TreeLink,
    TurnRow,
    UserSaid,
)
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import Step, StepSet

CUT_IN = "interject"


@dataclass(frozen=True, slots=True)
class ChatStart:
    """The chat from now on, the question if it is new, and its answer; ``follows`` is the last message before
    them.
    """

    row: ConversationRow
    question: UserSaid | None
    turn: TurnRow
    follows: str


def begin(
    row: ConversationRow,
    links: Mapping[str, TreeLink],
    question: QuestionFields,
    question_id: str,
    answer_id: str,
    now: str,
) -> ChatStart:
    """Return what a ``question`` changes in the chat.

    Raises ``NotFound`` for an unknown ``again``, ``continues`` or ``parent_id``, ``Refused`` (422) for a
    message that no question can follow.
    """
    new_question = None
    if question.again:
        parent = _check_message(links, question.again, "user", "question")
    elif question.continues:
        parent = _check_message(links, question.continues, "assistant", "answer")
    else:
        follows = _parent_of_question(row, links, question.parent_id)
        new_question = _question_row(row, question_id, question.content, follows, now)
        new_question = replace(new_question, attachments=attachments_text(question.attachments))
        parent = question_id
    turn = replace(
        _turn(row, answer_id, row.agent.model, parent, now),
        attempt=_attempt(links, parent),
        client_key=question.client_key,
        continues=question.continues,
    )
    row = replace(
        row, name=row.name or title_of(question), head=answer_id, round_open=turn.round, updated_at=now
    )
    return ChatStart(row, new_question, turn, parent if new_question is None else new_question.parent)


def begin_summary(row: ConversationRow, links: Mapping[str, TreeLink], turn_id: str, now: str) -> ChatStart:
    """Return the changes for a turn that summarises the chat's branch: it follows the newest message."""
    turn = _turn(row, turn_id, row.agent.model, row.head, now)
    turn = replace(turn, attempt=_attempt(links, row.head))
    row = replace(row, head=turn_id, round_open=turn.round, updated_at=now)
    return ChatStart(row, None, turn, turn.parent)


def _attempt(links: Mapping[str, TreeLink], parent: str) -> int:
    return 1 + sum(link.parent == parent and link.role == "assistant" for link in links.values())


def recorded_message(row: ConversationRow, recorded: RecordedSpeech, message_id: str, now: str) -> ChangeSet:
    """Return what stores a message of a voice session, after the newest one."""
    parent, spoken = row.head, spoken_text(recorded.spoken)
    name = row.name or title_of(QuestionFields(recorded.content))
    row = replace(row, name=name, head=message_id, updated_at=now)
    if recorded.role == "user":
        written = ChangeSet()
        person_said(
            row,
            replace(_question_row(row, message_id, recorded.content, parent, now), spoken=spoken),
            written,
        )
        written.changes.append(ConversationSet({"name": row.name, "head": message_id}))
        written.events.append(conversation_changed(row, running=False))
        return written
    turn = replace(_turn(row, message_id, recorded.speaker or row.agent.model, parent, now), spoken=spoken)
    row = replace(row, round_open=turn.round)
    step, written = Step("step-0", content=recorded.content), answer_begun(row, None, turn)
    written.events.append(NewEvent.of(StepSet(message_id, step), message_id))
    written.changes.append(StepPut(message_id, step, now))
    written.add(answer_ended(row, turn, TurnEnding((step,), cut=CUT_IN if recorded.is_cut else "")))
    return written


def _check_message(links: Mapping[str, TreeLink], message_id: str, role: str, what: str) -> str:
    link = links.get(message_id)
    if link is None or link.role != role:
        raise NotFound(f"There is no {what} {message_id[:100]}", status=404)
    return message_id


def _parent_of_question(row: ConversationRow, links: Mapping[str, TreeLink], parent_id: str | None) -> str:
    """Return the message that a question follows; ``None``: the newest one of the shown branch."""
    parent = row.head if parent_id is None else parent_id
    if parent and parent not in links:
        raise NotFound(f"There is no message {parent[:100]} in this conversation", status=404)
    # What a person says by voice may have no answer.
    if parent and links[parent].role != "assistant" and row.kind != VOICE:
        raise Refused("A question follows an answer", "parent_id names a question.", status=422)
    return parent


def _question_row(row: ConversationRow, message_id: str, text: str, parent: str, now: str) -> UserSaid:
    return UserSaid(message_id, row.round_open + 1, text, USER_NAME, USER_COLOR, now, parent=parent)


def _turn(row: ConversationRow, message_id: str, speaker: str, parent: str, now: str) -> TurnRow:
    return TurnRow(
        round=row.round_open + 1,
        agent_id=row.agent.id,
        attempt=1,
        message_id=message_id,
        created_at=now,
        sender_name=speaker,
        parent=parent,
        model=speaker,
    )
