"""Stores whose tables need not be made first: that takes longer than to open one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from agent_tui.backend.store.sqlite import open_engines
from agent_tui.backend.store.store import RETRY_SECONDS, FileStore


def open_store(file: Path, retry_seconds: Sequence[float] = RETRY_SECONDS) -> FileStore:
    """Open the database ``file``; one that is not there begins as a copy of a new one."""
    if not file.exists():
        file.write_bytes(_new_database())
    return FileStore(file, retry_seconds=retry_seconds)


@cache
def _new_database() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder, "new.db")
        for engine in open_engines(file, busy_seconds=0, readers=1):
            engine.dispose()
        return file.read_bytes()
