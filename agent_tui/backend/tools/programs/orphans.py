"""Ends what is left by a keeper that was killed, or that could not end everything itself.

The backend adopts orphans, as each keeper does (``keeper.adopt_orphans``). When a keeper dies, the processes
that it kept become children of the backend. Two facts identify them: they are not keepers, and they are in a
session of their own, unlike all other processes that the backend starts.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from agent_tui.backend.tools.programs import keeper
from agent_tui.model.inert import inert_line

SWEEP_SECONDS = 3.0  # for ending them; survivors are named
LOOK_SECONDS = 0.01
NOT_KNOWN = "programs that this system does not let us find"
MAX_NAMED = 5


class Orphans:
    """The children of this process that it did not start. ``keepers`` are its own, which are left alone;
    while ``starting`` is not 0, some of them are not known yet.
    """

    def __init__(self, kill: Callable[[set[int]], None] | None = None) -> None:
        self.keepers: set[int] = set()
        self.starting = 0
        self._kill = kill or (lambda pids: keeper.stop_and_kill(pids, pids))
        self._adopts = False
        self._given_up: set[tuple[int, str]] = set()

    def adopt(self, *, wanted: bool = True) -> None:
        """Adopt all orphans below this process from now on."""
        self._adopts = keeper.adopt_orphans(wanted=wanted) and wanted

    async def end(self) -> tuple[str, ...]:
        """End all orphans; return those that could not be ended, as "name (process id)", each at most
        once.
        """
        if not self._adopts:
            return (NOT_KNOWN,)
        deadline = time.monotonic() + SWEEP_SECONDS
        orphans: dict[int, tuple[str, str]] = {}
        while time.monotonic() < deadline:
            if not self.starting:
                orphans = self._orphans_and_children()
                if not orphans:
                    return ()
                self._kill(set(orphans))
                _bury(orphans)
            await asyncio.sleep(LOOK_SECONDS)
        self._given_up |= {(pid, start) for pid, (_, start) in orphans.items()}
        names = [f"{inert_line(name, 40)} ({pid})" for pid, (name, _) in sorted(orphans.items())]
        more = len(names) - MAX_NAMED
        return (*names[:MAX_NAMED], *([f"{more} more"] if more > 0 else []))

    def _orphans_and_children(self) -> dict[int, tuple[str, str]]:
        """Return the orphans and everything below them: process id → name, start time (in the system's
        unit).
        """
        own_id, session = os.getpid(), os.getsid(0)
        parents = keeper.processes()
        roots = set[int]()
        for pid in (pid for pid, parent in parents.items() if parent == own_id and pid not in self.keepers):
            with suppress(OSError):
                if os.getsid(pid) != session and (pid, _name_and_start(pid)[1]) not in self._given_up:
                    roots.add(pid)
        processes = {}
        for pid in roots | keeper.below(roots, parents):
            with suppress(OSError):
                processes[pid] = _name_and_start(pid)
        return processes


def _bury(pids: Iterable[int]) -> None:
    """Collect the exit codes of our own children among ``pids``, without waiting."""
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _name_and_start(pid: int) -> tuple[str, str]:
    """Return a process's name and start time; raises ``OSError`` if it is gone."""
    before, _, after = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")
    return before.partition("(")[2], after.split()[19]


def is_stopped(pid: int) -> bool:
    """Return whether a process was stopped by a signal, or by a debugger; False if that is unknown."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in ("T", "t")


ORPHANS = Orphans()  # of this process: it is the parent of all programs
