"""Search."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, select

from agent_tui.backend.store import schema, sqlite
from agent_tui.backend.store.rows import KINDS, FoundMessage
from agent_tui.backend.store.words import excerpt, expression, title_with_marks

_ROW = schema.conversation.c


def is_searchable(connection: Connection, id_: str) -> bool:
    """Return whether a search may find messages of this conversation."""
    own = schema.searched.c.conversation_id == id_
    return connection.execute(select(schema.searched.c.number).where(own).limit(1)).first() is not None


def search(
    connection: Connection, words: str, limit: int, kinds: Collection[str] = KINDS
) -> list[FoundMessage]:
    """Return the conversations whose titles contain all of ``words``, then the messages that do, the newest
    first of both. ``words`` may contain any characters.
    """
    query = expression(words)
    if not query:
        return []
    # A name that nobody chose is the beginning of the first message, which is found itself.
    has_words = select(schema.searched.c.number).where(schema.searched.c.conversation_id == _ROW.id).exists()
    titled = (
        select(_ROW.id, _ROW.name, _ROW.updated_at, _ROW.kind)
        .where(_ROW.desired != "deleted", _ROW.kind.in_(kinds), _ROW.is_named | ~has_words)
        .order_by(_ROW.updated_at.desc(), _ROW.number.desc())
    )
    titles = [
        FoundMessage(id_, name, "", "", snippet, at, kind)
        for id_, name, at, kind in connection.execute(titled)
        if (snippet := title_with_marks(name, words))
    ][:limit]
    messages = [
        FoundMessage(id_, name, message, role, excerpt(text, words), at, kind)
        for id_, name, message, role, text, at, kind in sqlite.search(
            connection, query, kinds, limit - len(titles)
        )
    ]
    return titles + messages
