"""Backends that are forked (``tests/fakes/forked.py``), as tests with an event loop see them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.fakes.forked import fork

Pipe = tuple[asyncio.StreamReader, asyncio.ReadTransport]


class Forked:
    """A child process: as much of ``asyncio.subprocess.Process`` as tests use."""

    def __init__(self, pid: int, pipes: Sequence[Pipe]) -> None:
        self.pid = pid
        (self.stdout, _), (self.stderr, _), (self._status, _) = self._pipes = pipes
        self.returncode: int | None = None
        self._lock = asyncio.Lock()

    def send_signal(self, number: int) -> None:
        """Send a signal; raises ``ProcessLookupError`` once it has ended."""
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL; raises ``ProcessLookupError`` once it has ended."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait for the end; return the exit code, or the negative number of the signal that ended it."""
        async with self._lock:
            if self.returncode is None:
                self.returncode = int(await self._status.readline())
        return self.returncode

    def close(self) -> None:
        """Read nothing more of what it wrote."""
        for _, transport in self._pipes:
            transport.close()


async def start(arguments: Sequence[str], folder: Path, env: Mapping[str, str]) -> Forked:
    """Start a backend with an empty stdin; returns at once."""
    (said, out), (complained, err), nothing = os.pipe(), os.pipe(), os.open(os.devnull, os.O_RDONLY)
    status = fork("agent_tui.backend", arguments, folder, env, (nothing, out, err))
    for end in (nothing, out, err):
        os.close(end)
    read = [await _pipe(end) for end in (said, complained, status)]
    return Forked(int(await read[-1][0].readline()), read)


async def _pipe(end: int) -> Pipe:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(end, "rb", 0))
    return reader, transport
