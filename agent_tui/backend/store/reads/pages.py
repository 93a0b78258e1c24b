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
    read: list[Message] = []
    found: list[Message] = []
    for at in range(0, min(limit, len(path)), MESSAGES_PER_READ):
        read += messages(connection, row, path[at : min(at + MESSAGES_PER_READ, limit)], siblings)
        found = that_fit(read)
        if len(found) < len(read):
            break
    return MessagePage(found, len(path) > len(found), row.last_seq)


def _message_ids(connection: Connection, id_: str, after: str | None, limit: int) -> list[str]:
    """Return the ids of messages in the order of their beginning."""
    start = 0
    if after is not None:
        known = union_all(
            select(_TURN.first_seq).where(is_turn(id_, after)),
            select(_USER.first_seq).where(_USER.conversation_id == id_, _USER.id == after),
        )
        start = connection.execute(known).scalar() or 0
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
    found: dict[str, Message] = {}
    for at in range(0, len(ids), IDS_PER_QUERY):
        some = ids[at : at + IDS_PER_QUERY]
        for values in connection.execute(_SAID.where(_USER.conversation_id == row.id, _USER.id.in_(some))):
            said = UserSaid(*values)
            found[said.id] = user_message(row.id, said, versions.get(said.id, ()), kind=row.kind)
        query = TURNS.where(_TURN.conversation_id == row.id, _TURN.message_id.in_(some))
        turns = turns_of(connection, row.id, query)
        taken = steps(connection, row.id, turns)
        for turn in turns:
            of, others = taken.get(turn.message_id, ()), versions.get(turn.message_id, ())
            found[turn.message_id] = turn_message(row.id, turn, of, others, kind=row.kind)
    return [found[id_] for id_ in ids if id_ in found]


def messages_for_model(connection: Connection, row: ConversationRow, last: str) -> list[Message]:
    """Return the messages up to ``last`` for a model, with answers as far as a person heard them."""
    path = branch(links(connection, row.id), last)
    return [as_heard(message) for message in messages(connection, row, path)]
