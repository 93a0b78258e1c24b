"""Messages as people and models see them, in the order of a room or along a branch of a chat."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType

from sqlalchemy import Connection, literal_column, select, union_all

from agent_tui.backend.store import schema
from agent_tui.backend.store.messages import MessagePage, as_heard, that_fit, turn_message, user_message
from agent_tui.backend.store.reads.branches import branch, links, versions
from agent_tui.backend.store.reads.conversations import conversation
from agent_tui.backend.store.reads.turns import TURNS, is_turn, turns_of
from agent_tui.backend.store.rows import ROOM, ConversationRow, UserSaid
from agent_tui.backend.store.steps import IDS_PER_QUERY, has_called, steps
from agent_tui.model.errors import NotFound
from agent_tui.model.events import Message

MESSAGES_PER_READ = 50  # with its files each may be as large as a page

_TURN, _USER = schema.turn.c, schema.user_message.c
_SAID = select(*(_USER[field.name] for field in fields(UserSaid) if field.name != "event"))


def page(
    connection: Connection, id_: str, kinds: Collection[str], after: str | None, limit: int
) -> MessagePage:
    """Return a page of the messages after ``after``: of a room by the seq of their first event, of a chat
    those of the shown branch. It is shorter if its messages are large.

    In a room, an attempt that ended without words and calls is not a message, except a completed one. Raises
    ``NotFound`` for an unknown conversation or ``after``.
    """
    row = conversation(connection, id_, kinds)
    siblings: Mapping[str, tuple[str, ...]] = {}
    if row.kind in ROOM:
        path = _message_ids(connection, id_, after, limit + 1)
    else:
        tree = links(connection, id_)
        path, siblings = branch(tree, row.head), versions(tree)
        if after is not None:
            if after not in path:
                raise NotFound(f"There is no message {after[:100]} in this branch", status=404)
            path = path[path.index(after) + 1 :]
    all_read: list[Message] = []
    fitting: list[Message] = []
    for start in range(0, min(limit, len(path)), MESSAGES_PER_READ):
        all_read += messages(connection, row, path[start : min(start + MESSAGES_PER_READ, limit)], siblings)
        fitting = that_fit(all_read)
        if len(fitting) < len(all_read):
            break
    return MessagePage(fitting, len(path) > len(fitting), row.last_seq)


def _message_ids(connection: Connection, id_: str, after: str | None, limit: int) -> list[str]:
    """Return the ids of messages in the order of their beginning."""
    start = 0
    if after is not None:
        first_seqs = union_all(
            select(_TURN.first_seq).where(is_turn(id_, after)),
            select(_USER.first_seq).where(_USER.conversation_id == id_, _USER.id == after),
        )
        start = connection.execute(first_seqs).scalar() or 0
        if not start:
            raise NotFound(f"There is no message {after[:100]} in this room", status=404)
    is_good = (_TURN.reason == "") & (_TURN.error == "")
    listed = (
        (_TURN.status.in_(["streaming", "completed", "superseded"]) & is_good)
        | (_TURN.text != "")
        | has_called
    )
    people = select(_USER.id, _USER.first_seq).where(_USER.conversation_id == id_, _USER.first_seq > start)
    agents = select(_TURN.message_id, _TURN.first_seq).where(
        _TURN.conversation_id == id_, _TURN.first_seq > start, listed
    )
    both = union_all(people, agents).order_by(literal_column("first_seq"))
    return list(connection.scalars(both.limit(limit)))


def messages(
    connection: Connection,
    row: ConversationRow,
    ids: Sequence[str],
    versions: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> list[Message]:
    """Return these messages in this order; current ones as far as they have come."""
    by_id: dict[str, Message] = {}
    for start in range(0, len(ids), IDS_PER_QUERY):
        chunk = ids[start : start + IDS_PER_QUERY]
        for values in connection.execute(_SAID.where(_USER.conversation_id == row.id, _USER.id.in_(chunk))):
            speech = UserSaid(*values)
            by_id[speech.id] = user_message(row.id, speech, versions.get(speech.id, ()), kind=row.kind)
        query = TURNS.where(_TURN.conversation_id == row.id, _TURN.message_id.in_(chunk))
        turns = turns_of(connection, row.id, query)
        steps_by_turn = steps(connection, row.id, turns)
        for turn in turns:
            own_steps, siblings = steps_by_turn.get(turn.message_id, ()), versions.get(turn.message_id, ())
            by_id[turn.message_id] = turn_message(row.id, turn, own_steps, siblings, kind=row.kind)
    return [by_id[id_] for id_ in ids if id_ in by_id]


def messages_for_model(connection: Connection, row: ConversationRow, last: str) -> list[Message]:
    """Return the messages up to ``last`` for a model, with answers as far as a person heard them."""
    path = branch(links(connection, row.id), last)
    return [as_heard(message) for message in messages(connection, row, path)]
