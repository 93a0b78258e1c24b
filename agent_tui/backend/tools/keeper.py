"""Keeps one program and all it starts; run as a file of its own: ``keeper.py LIFELINE GRACE PROGRAM …``.

The program gets a session of its own. When it ends, or when the other end of the pipe LIFELINE is closed
(the backend wants it so, or was killed), everything that it has started ends too: first asked, and after
GRACE seconds killed. On Linux orphans come to this process (a subreaper), so that a child which left its
session, its group and its environment is found all the same. Ends with the program's exit code, 128 + N
after the signal N, as a shell does.

Only the standard library, and little of it: this runs before every command (``-I -S``, some 20 ms).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress

_PR_SET_CHILD_SUBREAPER = 36
_LOOK_SECONDS = 0.01
_MOST_ROUNDS = 2000  # of killing; who forks faster than that for 20 s has won


def main(arguments: list[str]) -> int:
    """Run the program of ``arguments`` and return what to exit with."""
    lifeline, grace, program = int(arguments[0]), float(arguments[1]), arguments[2:]
    os.set_inheritable(lifeline, False)
    _adopt_orphans()
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    child = _start(program)
    code = None
    while code is None:
        ready, _, _ = select.select([lifeline, ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
        code = _reap(child)
        if lifeline in ready:
            break
    signal.set_wakeup_fd(-1)
    last = _end_all(child, grace if code is None else 0.0)
    return code if code is not None else last


def _adopt_orphans() -> None:
    if not sys.platform.startswith("linux"):
        return
    import ctypes  # only where it is needed: it takes as long as everything else here

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _start(program: list[str]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(program[0], program)  # noqa: S606 - the program is what we were started for
    except OSError as error:
        os.write(2, f"{program[0]}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def _reap(child: int) -> int | None:
    """Bury all that ended; return the exit code of ``child`` when it is among them."""
    code = None
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        pass  # nobody is left
    return 128 - code if code is not None and code < 0 else code


def _end_all(child: int, grace: float) -> int:
    """End everything below this process; return the exit code of ``child``, 137 when that is not known."""
    code = None
    until = time.monotonic() + grace
    if grace:
        _signal(child, _below(), signal.SIGTERM)
    for _ in range(_MOST_ROUNDS):
        found = _reap(child)
        code = found if code is None else code
        if not _has_children():
            break
        if time.monotonic() >= until:
            below = _below()
            _signal(child, below, signal.SIGSTOP)  # who stands still starts nothing new
            _signal(child, below | _below(), signal.SIGKILL)
        time.sleep(_LOOK_SECONDS)
    return 137 if code is None else code


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _signal(child: int, pids: set[int], number: int) -> None:
    for target in (-child, *pids):  # a group, where /proc does not show who belongs to it
        with suppress(ProcessLookupError, PermissionError):
            os.kill(target, number)


def _below() -> set[int]:
    """Return the ids of all processes below this one, as far as /proc shows them."""
    parents: dict[int, int] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - pathlib takes longer to import than all else
    except OSError:
        return set()
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    mine, found = {os.getpid()}, set[int]()
    while mine:
        mine = {pid for pid, parent in parents.items() if parent in mine}
        found |= mine
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
