"""The log holds our own full form of events, for rooms and chats alike; dialects are computed from it.

Before it is committed every conversation is proven: what is replayed of it is byte for byte what was stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Protocol

import sqlalchemy as sa
from alembic import op

from agent_tui.model import events as ev
from agent_tui.model.errors import StoreError
from agent_tui.wire import chat, chat_encode, log, rooms, rooms_encode

revision = "0010"
down_revision = "0009"

ROWS_PER_STATEMENT = 2_000

_ROOMS = sa.text("SELECT id, kind FROM room ORDER BY number")
# As bytes: what is not UTF-8 is read with U+FFFD in its place, as it was before.
_EVENTS = sa.text(
    "SELECT seq, name, message_id, CAST(data AS BLOB) FROM event "
    "WHERE room_id = :id AND seq > :after ORDER BY seq LIMIT :most"
)
_REWRITE = sa.text("UPDATE event SET name = :name, data = :data WHERE room_id = :id AND seq = :seq")

Stored = tuple[int, str, str, str]  # seq, name, message_id, data


class Digest(Protocol):
    """What hashlib makes."""

    def update(self, data: bytes, /) -> None: ...


def upgrade() -> None:
    """Write every event anew; raises ``StoreError`` where a conversation would be replayed otherwise."""
    connection = op.get_bind()
    for room_id, kind in connection.execute(_ROOMS).all():
        is_room = kind == "room"
        before, after = sha256(), sha256()
        for page in _pages(connection, room_id):
            changed = []
            for seq, name, message_id, data in page:
                _add(before, seq, name, data)
                now = in_log(name, message_id, data, is_room=is_room)
                changed.append({"id": room_id, "seq": seq, "name": now[0], "data": now[1]})
            connection.execute(_REWRITE, changed)
        for page in _pages(connection, room_id):
            for seq, name, _, data in page:
                _add(after, seq, *(replayed(name, data, is_room=is_room) or ()))
        if after.digest() != before.digest():
            detail = "It was left as it was. The copy beside it is the same; please report this."
            raise StoreError(f"The log of {room_id[:100]} cannot be brought up to date", detail)


def in_log(name: str, message_id: str, data: str, *, is_room: bool) -> tuple[str, str]:
    """Return (name, data) in the log of an event that was stored as it was sent."""
    event = rooms.decode(name, data) if is_room else chat.ChatDecoder(message_id).decode(name, data)
    if isinstance(event, ev.Unknown):
        return log.encode(ev.Unknown(name, data))
    written = log.encode(event)
    if replayed(*written, is_room=is_room) == (name, data):
        return written
    return written[0], log.keep_sent(written[1], name, data)


def replayed(name: str, data: str, *, is_room: bool) -> tuple[str, str] | None:
    """Return (name, data) of the frame that is sent for an event of the log."""
    dialect = rooms_encode.frame if is_room else chat_encode.frame
    return log.as_sent(data) or dialect(log.decode(name, data))


def _pages(connection: sa.Connection, room_id: str) -> Iterator[list[Stored]]:
    after = 0
    while True:
        found = connection.execute(_EVENTS, {"id": room_id, "after": after, "most": ROWS_PER_STATEMENT})
        page = [(seq, name, id_, data.decode("utf-8", "replace")) for seq, name, id_, data in found]
        if not page:
            return
        yield page
        after = page[-1][0]


def _add(digest: Digest, seq: int, *said: str) -> None:
    for part in (str(seq), *said):
        value = part.encode("utf-8", "surrogatepass")
        digest.update(len(value).to_bytes(8, "big") + value)
