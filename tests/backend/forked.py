"""Backends that are forked from one interpreter, which has imported them already: most of a start is that.

Each worker of the tests has one such interpreter (``tests/fakes/forking.py``); it ends with the worker.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

Pipe = tuple[asyncio.StreamReader, asyncio.ReadTransport]

FORKING = Path(__file__).parents[1] / "fakes" / "forking.py"


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
    pipes = [os.pipe() for _ in range(3)]
    request = {"arguments": list(arguments), "folder": str(folder), "env": dict(env)}
    socket.send_fds(_interpreter(), [json.dumps(request).encode()], [end for _, end in pipes])
    for _, end in pipes:
        os.close(end)
    read = [await _pipe(end) for end, _ in pipes]
    return Forked(int(await read[-1][0].readline()), read)


async def _pipe(end: int) -> Pipe:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(end, "rb", 0))
    return reader, transport


@cache
def _interpreter() -> socket.socket:
    """Start the interpreter that forks; return the socket on which it is asked to."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = subprocess.Popen(
        [sys.executable, "-P", str(FORKING), str(theirs.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
    )
    theirs.close()

    def end() -> None:
        ours.close()
        child.wait()

    atexit.register(end)
    return ours
