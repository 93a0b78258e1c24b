"""Programs that are forked from an interpreter which has imported them already: most of a start is that.

Each worker of the tests has one such interpreter for each program (``forking``); it ends with the worker.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

FORKING = Path(__file__).with_name("forking.py")


class Forked(subprocess.Popen[str]):
    """A program that was forked, with pipes for what it says: as much of ``Popen`` as tests use."""

    def __init__(
        self, module: str, arguments: Sequence[str], folder: Path, env: Mapping[str, str], stdin: int
    ) -> None:
        (said, out), (complained, err) = os.pipe(), os.pipe()
        self.args = [module, *arguments]
        self._status = os.fdopen(fork(module, arguments, folder, env, (stdin, out, err)), "rb", 0)
        os.close(out)
        os.close(err)
        self.stdin, self.returncode = None, None
        self.stdout, self.stderr = os.fdopen(said, encoding="utf-8"), os.fdopen(complained, encoding="utf-8")
        self.pid = int(self._status.readline())

    def poll(self) -> int | None:
        """Return the exit code if it has ended."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit code, or the negative number of the signal that ended it."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            with self._status:
                self.returncode = int(self._status.readline())
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def terminate(self) -> None:
        """Send SIGTERM unless it has ended."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:  # noqa: A002 - as ``Popen`` calls it
        """Return all that it still says, once it has ended."""
        assert input is None
        assert self.stdout is not None
        assert self.stderr is not None
        with self.stdout, self.stderr, ThreadPoolExecutor(2) as readers:
            out, err = readers.map(lambda stream: stream.read(), (self.stdout, self.stderr))
            self.wait(timeout)
        return out, err


def fork(
    module: str, arguments: Sequence[str], folder: Path, env: Mapping[str, str], streams: Sequence[int]
) -> int:
    """Start ``python -P -m module arguments`` on three descriptors; return at once the one that tells its
    process id, and at the end its exit code, in a line each.
    """
    told, tells = os.pipe()
    request = {"arguments": list(arguments), "folder": str(folder), "env": dict(env)}
    socket.send_fds(_interpreter(module), [json.dumps(request).encode()], [*streams, tells])
    os.close(tells)
    return told


@cache
def _interpreter(module: str) -> socket.socket:
    """Start the interpreter that forks; return the socket on which it is asked to."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = subprocess.Popen(
        [sys.executable, "-P", str(FORKING), module, str(theirs.fileno())],
        env={**os.environ, "LANG": "C.UTF-8"},
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
