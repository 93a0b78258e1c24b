"""An interpreter that has imported a program and forks it for each request on a socket.

A request is JSON (arguments, folder, env, leads) with four descriptors: stdin, stdout, stderr, and where to
tell the process id and, at the end, the exit code. What is forked does what ``python -P -m PROGRAM`` does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

# What is forked need not import these, and what they import; "*": all modules of a folder.
IMPORTED = {
    "agent_tui.backend": ("agent_tui.backend.options", "agent_tui.backend.process"),
    "tui": (
        "tui.startup",
        "tui.cli.*",
        "httpcore",
        "anyio.to_thread",
        "anyio.streams.tls",
        "anyio._backends._asyncio",
    ),
}
DESCRIPTORS = 4
MAX_REQUEST_BYTES = 1024 * 1024
MAX_DESCRIPTORS = 256  # this interpreter has few


def load(module: str) -> None:
    """Import a module, or those of a folder."""
    folder = importlib.import_module(module.removesuffix(".*"))
    if module.endswith(".*"):
        for found in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            importlib.import_module(found.name)


def main(program: str, requests: socket.socket) -> None:
    """Serve until the socket is closed."""
    for module in IMPORTED[program]:
        load(module)
    gc.collect()
    gc.freeze()  # what is forked shares all of it
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
            data, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, DESCRIPTORS)
            if not data:
                return
            if not (pid := os.fork()):
                become(json.loads(data), descriptors)
                runpy.run_module(program, run_name="__main__", alter_sys=True)
            statuses[pid] = descriptors.pop()
            os.write(statuses[pid], b"%d\n" % pid)
            for descriptor in descriptors:
                os.close(descriptor)


def become(asked: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Take on the signals, descriptors, folder, environment and arguments of a new process."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    streams: list[tuple[str, Literal["r", "w"]]] = [("stdin", "r"), ("stdout", "w"), ("stderr", "w")]
    for number, (name, mode) in enumerate(streams):
        os.dup2(descriptors[number], number)
        was, is_last = getattr(sys, name), name == "stderr"
        kept = {"encoding": was.encoding, "errors": was.errors, "closefd": False}
        setattr(sys, name, os.fdopen(number, mode, 1 if is_last else -1, **kept))
    os.closerange(3, MAX_DESCRIPTORS)
    if asked["leads"]:
        os.setsid()
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
    main(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
