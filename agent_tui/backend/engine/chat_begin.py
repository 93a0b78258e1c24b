"""Where a question stands in the tree of its chat, and what its answer begins as: no store, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent_tui.backend.engine.chat_fields import Question, Recorded, title_of
from agent_tui.backend.engine.chat_record import answer_recorded, person_recorded
from agent_tui.backend.engine.record import USER_COLOR, USER_NAME
from agent_tui.backend.engine.written import Written
from agent_tui.backend.store.messages import attachments_text, spoken_text
from agent_tui.backend.store.rows import VOICE, ConversationRow, Link, TurnRow, UserSaid
from agent_tui.model.errors import NotFound, Refused

CUT_IN = "interject"


@dataclass(frozen=True, slots=True)
class Begun:
    """The chat as it is from now on, the question if it is a new one, and its answer; ``follows`` is the last
    message that was there before.
    """

    row: ConversationRow
    said: UserSaid | None
    turn: TurnRow
    follows: str


def begin(
    row: ConversationRow,
    links: Mapping[str, Link],
    question: Question,
    question_id: str,
    answer_id: str,
    now: str,
) -> Begun:
    """Return what a ``question`` makes of the chat.

    Raises ``NotFound`` for an unknown ``again``, ``continues`` or ``parent_id``, ``Refused`` (422) for one
    that no question can follow.
    """
    round_ = row.round_open + 1
    said = None
    if question.again:
        asked = links.get(question.again)
        if asked is None or asked.role != "user":
            raise NotFound(f"There is no question {question.again[:100]}", status=404)
        parent = asked.id
    elif question.continues:
        cut = links.get(question.continues)
        if cut is None or cut.role != "assistant":
            raise NotFound(f"There is no answer {question.continues[:100]}", status=404)
        parent = cut.id
    else:
        said = _said(row, links, question, question_id, round_, now)
        parent = said.id
    if not row.name:
        row = replace(row, name=title_of(question))
    turn = TurnRow(
        round=round_,
        agent_id=row.agent.id,
        attempt=1 + sum(link.parent == parent and link.role == "assistant" for link in links.values()),
        message_id=answer_id,
        created_at=now,
        sender_name=row.agent.model,
        parent=parent,
        model=row.agent.model,
        client_key=question.client_key,
        continues=question.continues,
    )
    follows = parent if said is None else said.parent
    return Begun(replace(row, head=answer_id, round_open=round_, updated_at=now), said, turn, follows)


def recorded_message(row: ConversationRow, recorded: Recorded, message_id: str, now: str) -> Written:
    """Return what puts a message on record that was said in a voice session, behind the newest one."""
    parent, row = row.head, replace(row, head=message_id, updated_at=now)
    if not row.name:
        row = replace(row, name=title_of(Question(recorded.content)))
    spoken = spoken_text(recorded.spoken)
    if recorded.role == "user":
        said = UserSaid(
            id=message_id,
            round=row.round_open + 1,
            text=recorded.content,
            sender_name=USER_NAME,
            sender_color=USER_COLOR,
            created_at=now,
            parent=parent,
            spoken=spoken,
        )
        return person_recorded(row, said)
    row = replace(row, round_open=row.round_open + 1)
    turn = TurnRow(
        round=row.round_open,
        agent_id=row.agent.id,
        attempt=1,
        message_id=message_id,
        created_at=now,
        sender_name=recorded.speaker or row.agent.model,
        parent=parent,
        model=recorded.speaker or row.agent.model,
        spoken=spoken,
    )
    return answer_recorded(row, turn, recorded.content, CUT_IN if recorded.is_cut else "")


def _said(
    row: ConversationRow,
    links: Mapping[str, Link],
    question: Question,
    question_id: str,
    round_: int,
    now: str,
) -> UserSaid:
    parent = row.head if question.parent_id is None else question.parent_id
    if parent and parent not in links:
        raise NotFound(f"There is no message {parent[:100]} in this conversation", status=404)
    # What a person says by voice may have had no answer.
    if parent and links[parent].role != "assistant" and row.kind != VOICE:
        raise Refused("A question follows an answer", "parent_id names a question.", status=422)
    return UserSaid(
        id=question_id,
        round=round_,
        text=question.content,
        sender_name=USER_NAME,
        sender_color=USER_COLOR,
        created_at=now,
        parent=parent,
        attachments=attachments_text(question.attachments),
    )
