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
from typing import IO, Any

FORKING = Path(__file__).with_name("forking.py")


class Forked(subprocess.Popen[str]):
    """A program that was forked: as much of ``Popen`` as tests use."""

    def __init__(self, args: Sequence[str], status: int) -> None:
        self.args = args
        self.stdin, self.stdout, self.stderr, self.returncode = None, None, None, None
        self._status = os.fdopen(status, "rb", 0)
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

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        """Return all that it still says, once it has ended."""
        assert input is None
        assert self.stdout is not None
        assert self.stderr is not None
        with self.stdout, self.stderr, ThreadPoolExecutor(2) as readers:
            out, err = readers.map(lambda stream: stream.read(), (self.stdout, self.stderr))
            self.wait(timeout)
        return out, err


def talking(
    module: str, arguments: Sequence[str], folder: Path, env: Mapping[str, str], stdin: int
) -> Forked:
    """Start a program with pipes for what it says."""
    (said, out), (complained, err) = os.pipe(), os.pipe()
    forked = Forked([module, *arguments], fork(module, arguments, folder, env, (stdin, out, err)))
    os.close(out)
    os.close(err)
    forked.stdout, forked.stderr = os.fdopen(said, encoding="utf-8"), os.fdopen(complained, encoding="utf-8")
    return forked


def backend(
    command: Sequence[str], *, cwd: Path, stdin: int, stdout: int, stderr: IO[bytes], **_: Any
) -> Forked:
    """Start the backend of a person as ``subprocess.Popen`` is asked to: in a session of its own, mute."""
    with Path(os.devnull).open("r+b") as nothing:
        streams = (nothing.fileno(), nothing.fileno(), stderr.fileno())
        status = fork(command[3], command[4:], cwd, os.environ, streams, leads=True)
    return Forked(command, status)


def fork(
    module: str,
    arguments: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    streams: Sequence[int],
    *,
    leads: bool = False,
) -> int:
    """Start ``python -P -m module arguments`` on three descriptors; return at once the one that tells its
    process id, and at the end its exit code, in a line each. It ``leads`` a session of its own.
    """
    told, tells = os.pipe()
    request = {"arguments": list(arguments), "folder": str(folder), "env": dict(env), "leads": leads}
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
