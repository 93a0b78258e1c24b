"""An interpreter that has imported the backend and forks one for each request on a socket.

A request is JSON (arguments, folder, env) with three descriptors: stdout, stderr, and where to tell the
process id and, at the end, the exit code. What is forked does what ``python -P -m agent_tui.backend`` does.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import agent_tui.backend.options
import agent_tui.backend.process  # noqa: F401 - what is forked need not import it

MAX_REQUEST_BYTES = 1024 * 1024
MAX_DESCRIPTORS = 256  # this interpreter has few


def main(requests: socket.socket) -> None:
    """Serve until the socket is closed."""
    statuses: dict[int, int] = {}  # by the ids of the processes that run
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([requests.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            tell_ends(statuses)
        if requests.fileno() in ready:
            data, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 3)
            if not data:
                return
            if not (pid := os.fork()):
                become(json.loads(data), descriptors)
                runpy.run_module("agent_tui.backend", run_name="__main__", alter_sys=True)
            statuses[pid] = descriptors.pop()
            os.write(statuses[pid], b"%d\n" % pid)
            for descriptor in descriptors:
                os.close(descriptor)


def become(asked: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Take on the signals, descriptors, folder, environment and arguments of a new process."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(descriptors[0], 1)
    os.dup2(descriptors[1], 2)
    os.closerange(3, MAX_DESCRIPTORS)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv[1:] = asked["arguments"]


def tell_ends(statuses: dict[int, int]) -> None:
    """Tell of the processes that have ended how they did."""
    while statuses:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        descriptor = statuses.pop(pid)
        os.write(descriptor, b"%d\n" % os.waitstatus_to_exitcode(status))
        os.close(descriptor)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
