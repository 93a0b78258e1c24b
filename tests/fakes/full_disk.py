"""A disk that is full while a test wants it to be: SQLite's own limit on the size of a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from sqlalchemy import Engine, event


class Disk:
    """Every connection opened while it is in use; ``full`` may be set at any time."""

    def __init__(self) -> None:
        self._connections: list[sqlite3.Connection] = []

    def fill(self) -> None:
        """Let no database grow any more."""
        for connection in self._connections:
            with closing(connection.cursor()) as cursor:
                pages = cursor.execute("PRAGMA page_count").fetchone()[0]
                cursor.execute(f"PRAGMA max_page_count = {pages}")

    def free(self) -> None:
        """Let databases grow again."""
        for connection in self._connections:
            with closing(connection.cursor()) as cursor:
                cursor.execute("PRAGMA max_page_count = 1000000")

    def connected(self, connection: Any, _: object) -> None:
        """Remember a connection; sqlite3's connections may be used by several threads one at a time."""
        self._connections.append(connection)


@contextmanager
def disk() -> Iterator[Disk]:
    """Give the disk of all databases opened within."""
    watched = Disk()
    event.listen(Engine, "connect", watched.connected)
    try:
        yield watched
    finally:
        event.remove(Engine, "connect", watched.connected)
