"""The last output of a voice program: kept for the person who asks why it ended, and in a file."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

from agent_tui.model.inert import inert_line
from agent_tui.redaction import redacted

MAX_LOG_BYTES = 1024 * 1024
OLD_LOGS = 2
LAST_LINES = 20
MAX_LINE_CHARACTERS = 500
READ_BYTES = 64 * 1024


class LogFile:
    """A rotating file in the data folder; the backend's umask lets only its owner read it. If it cannot be
    written, the lines are lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: RotatingFileHandler | None = None

    def write(self, line: str) -> None:
        with suppress(OSError):
            if self._file is None:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file = RotatingFileHandler(self._path, "a", MAX_LOG_BYTES, OLD_LOGS, "utf-8")
                self._file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
            self._file.emit(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class LastWords:
    """The last lines of one program, called ``name`` in the file, without ``secrets`` and tokens."""

    def __init__(self, file: LogFile, name: str, secrets: Iterable[str] = ()) -> None:
        self._file = file
        self._name = name
        self._secrets = tuple(secrets)
        self._lines: deque[str] = deque(maxlen=LAST_LINES)

    @property
    def text(self) -> str:
        """Return the last lines, safe to be shown."""
        return "\n".join(self._lines)

    def add(self, line: str) -> None:
        """Keep a line."""
        shown = inert_line(redacted(line, self._secrets), MAX_LINE_CHARACTERS)
        if shown.strip():
            self._lines.append(shown)
            self._file.write(f"{self._name}: {shown}")

    async def listen(self, pipe: asyncio.StreamReader) -> None:
        """Keep everything that comes from ``pipe``; returns at its end."""
        async for line in lines_of(pipe):
            self.add(line)


async def lines_of(pipe: asyncio.StreamReader) -> AsyncIterator[str]:
    """Yield the lines of ``pipe``, longer ones in pieces."""
    rest = b""
    while data := await pipe.read(READ_BYTES):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace")
        if len(rest) > READ_BYTES:
            yield rest.decode(errors="replace")
            rest = b""
    if rest:
        yield rest.decode(errors="replace")
