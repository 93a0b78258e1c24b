"""The tree of a chat's messages."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, literal, literal_column, select, union_all

from agent_tui.backend.store import schema
from agent_tui.backend.store.rows import TreeLink

_TURN, _USER = schema.turn.c, schema.user_message.c


def links(connection: Connection, id_: str) -> dict[str, TreeLink]:
    """Return every message by its id, with its place in the tree, in the order of their beginning."""
    people = select(_USER.id, _USER.parent, literal("user").label("role"), _USER.first_seq)
    answers = select(_TURN.message_id, _TURN.parent, literal("assistant"), _TURN.first_seq)
    both = union_all(people.where(_USER.conversation_id == id_), answers.where(_TURN.conversation_id == id_))
    rows = connection.execute(both.order_by(literal_column("first_seq")))
    return {row.id: TreeLink(*row) for row in rows}


def branch(links: Mapping[str, TreeLink], head: str) -> list[str]:
    """Return the ids of the messages from the first one to ``head``."""
    path: list[str] = []
    at = head
    while at in links:
        path.append(at)
        at = links[at].parent
    return path[::-1]


def leaf(links: Mapping[str, TreeLink], message_id: str) -> str:
    """Return the last message of the newest branch through ``message_id``."""
    newest = {link.parent: link.id for link in links.values()}  # in their order: the newest child stays
    while message_id in newest:
        message_id = newest[message_id]
    return message_id


def versions(links: Mapping[str, TreeLink]) -> dict[str, tuple[str, ...]]:
    """Return, for each message with siblings, all of these including itself, oldest first."""
    children: dict[tuple[str, str], list[str]] = {}
    for link in links.values():
        children.setdefault((link.parent, link.role), []).append(link.id)
    return {id_: tuple(ids) for ids in children.values() if len(ids) > 1 for id_ in ids}
