"""Keeps one program and all it starts; run as a file of its own: ``keeper.py LIFELINE GRACE PROGRAM …``.

The program gets a session of its own. When it ends, or when the other end of the pipe LIFELINE is closed
(the backend wants it so, or was killed), everything that it has started ends too: first asked, and after
GRACE seconds killed. On Linux orphans come to this process (a subreaper), so that a child which left its
session, its group and its environment is found all the same. Elsewhere the children are found as long as
their parents live. Ends with the program's exit code, 128 + N after the signal N, as a shell does. When
something could not be ended, it kills itself: the backend then takes over (``orphans``).

Only the standard library, and little of it: this runs before every command (``-I -S``, some 20 ms).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_SECONDS = 0.01
_KILL_SECONDS = 6.0  # for killing everything; after that the backend takes over


def main(arguments: list[str]) -> int:
    """Run the program of ``arguments`` and return what to exit with."""
    lifeline, grace, program = int(arguments[0]), float(arguments[1]), arguments[2:]
    os.set_inheritable(lifeline, False)
    adopt_orphans()
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


def adopt_orphans(*, wanted: bool = True) -> bool:
    """Make this process the parent of all processes below it whose own parents end, or stop doing so.

    Returns whether the system offers that (Linux does).
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # only where needed: it takes as long as everything else here

    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0) == 0)


def _start(program: list[str]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        _end_with_the_keeper()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(program[0], program)  # noqa: S606 - the program is what we were started for
    except OSError as error:
        os.write(2, f"{program[0]}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def _end_with_the_keeper() -> None:
    """Have the system kill this process when the keeper is killed; only Linux offers that."""
    if sys.platform.startswith("linux"):
        import ctypes  # the keeper has it already

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _reap(child: int) -> int | None:
    """Collect the exit codes of all that ended; return that of ``child`` if it is among them."""
    code = None
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        pass  # no processes are left
    return 128 - code if code is not None and code < 0 else code


def _end_all(child: int, grace: float) -> int:
    """End everything below this process; return the exit code of ``child``, 137 if unknown."""
    code = None
    now = time.monotonic()
    until, give_up = now + grace, now + grace + _KILL_SECONDS
    if grace:
        # The group first, at one moment: a shell whose child ends first does not clean up.
        send(signal.SIGTERM, [-child, *below({os.getpid()}, processes())])
    while True:
        exit_code = _reap(child)
        code = exit_code if code is None else code
        if not _has_children():
            return 137 if code is None else code
        now = time.monotonic()
        if now >= give_up:
            os.kill(os.getpid(), signal.SIGKILL)
        if now >= until:
            stop_and_kill({os.getpid()}, {-child})
        time.sleep(_LOOK_SECONDS)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def stop_and_kill(roots: set[int], more: set[int]) -> None:
    """Kill all processes below ``roots``, and those (or, below 0, groups) in ``more``."""
    descendants = below(roots, processes())
    send(signal.SIGSTOP, descendants | more)  # a stopped process starts nothing new
    send(signal.SIGKILL, descendants | below(roots, processes()) | more)


def send(number: int, targets: Iterable[int]) -> None:
    """Send a signal to processes, or groups below 0; those that are gone or not ours are skipped."""
    for target in targets:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(target, number)


def below(roots: set[int], parents: dict[int, int]) -> set[int]:
    """Return the ids of all processes below ``roots``, without these."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    descendants = set[int]()
    waiting = list(roots)
    while waiting:
        new = set(children.get(waiting.pop(), ())) - descendants - roots
        descendants |= new
        waiting += new
    return descendants


def processes() -> dict[int, int]:
    """Return the parent of every process on this machine."""
    if not os.path.exists("/proc/self/stat"):  # noqa: PTH110 - pathlib takes longer to import than all else
        return processes_by_ps()
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - as above
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    return parents


def processes_by_ps() -> dict[int, int]:
    """Return the same as ``processes`` without /proc (macOS)."""
    with os.popen("ps -A -o pid= -o ppid=") as lines:  # noqa: S605 - no word of it is anybody else's
        pairs = [line.split() for line in lines]
    return {int(pid): int(parent) for pid, parent in pairs}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
