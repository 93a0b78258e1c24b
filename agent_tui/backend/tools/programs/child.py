"""A program that never outlives its purpose: it and everything it started end together (``keeper``)."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from agent_tui.backend.tools.programs.environment import UMASK
from agent_tui.backend.tools.programs.keeper import below, processes, send
from agent_tui.backend.tools.programs.orphans import LOOK_SECONDS, ORPHANS, is_stopped
from agent_tui.backend.tools.tool import ToolError
from agent_tui.config.tools import TOOL_VARIABLE

GRACE_SECONDS = 1.0  # between asking a program to end and killing it
END_SECONDS = 10.0  # for the keeper to end; it needs a moment after the grace period
KILLED_SECONDS = 1.0  # for a killed keeper to end
PIPE_BYTES = 256 * 1024

_log = logging.getLogger(__name__)
_KEEPER = Path(__file__).with_name("keeper.py")


class Child:
    """One running program. Use ``async with``: in any case, it has ended afterwards.

    ``left`` names what could not be ended, as "name (process id)".
    """

    def __init__(self, process: asyncio.subprocess.Process, lifeline: int) -> None:
        self.left: tuple[str, ...] = ()
        self._process = process
        self._lifeline = lifeline
        self._is_held = True
        self._keeper_ended = asyncio.Event()
        ORPHANS.keepers.add(process.pid)
        # The keeper has the other end: its end is noticed here, even while others hold its output.
        asyncio.get_running_loop().add_reader(lifeline, self._keeper_ended.set)

    @classmethod
    async def start(
        cls,
        program: Sequence[str],
        folder: Path | None,
        environ: Mapping[str, str],
        *,
        is_fed: bool = False,
        errors: int = subprocess.STDOUT,
    ) -> Self:
        """Start ``program`` in ``folder``; its input is empty unless ``is_fed``, its output is a pipe.

        ``errors`` says where stderr goes, as for ``subprocess``. A missing program ends with 127. Raises
        ``ToolError`` if not even the keeper can be started.
        """
        theirs = None
        ORPHANS.starting += 1
        try:
            theirs, ours = os.pipe()
            spawning = asyncio.create_task(
                asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", str(_KEEPER), str(theirs), str(GRACE_SECONDS)),
                    *program,
                    stdin=subprocess.PIPE if is_fed else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=folder,
                    env={**environ, TOOL_VARIABLE: "1"},
                    pass_fds=(theirs,),
                    start_new_session=True,
                    umask=UMASK,
                    limit=PIPE_BYTES,
                )
            )
            return await cls._spawn(spawning, ours)
        except (OSError, ValueError) as error:
            raise ToolError(f"no program can be started: {error}") from error
        finally:
            ORPHANS.starting -= 1
            if theirs is not None:
                os.close(theirs)

    @classmethod
    async def _spawn(cls, spawning: asyncio.Task[asyncio.subprocess.Process], lifeline: int) -> Self:
        """Return the child that ``spawning`` starts; when cancelled, end it first.

        asyncio itself hangs, and leaves a pipe open, if it is cancelled after the fork and before it has
        connected the pipes (seen in Python 3.11): it is let finish, which takes milliseconds.
        """
        is_cancelled = False
        while not spawning.done():
            try:
                await asyncio.wait([spawning])
            except asyncio.CancelledError:
                is_cancelled = True
        try:
            child = cls(spawning.result(), lifeline)
        except BaseException:
            os.close(lifeline)
            if is_cancelled:
                raise asyncio.CancelledError from None
            raise
        if is_cancelled:
            async with child:
                raise asyncio.CancelledError
        return child

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def stderr(self) -> asyncio.StreamReader:
        assert self._process.stderr is not None
        return self._process.stderr

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None
        return self._process.stdin

    async def wait(self) -> int | None:
        """Return the exit code, as in a shell, when the program and everything it started have ended.

        ``None``: its keeper was killed, so the code is unknown; the rest was ended then.
        """
        await self._keeper_ended.wait()
        return await self.end()

    def tell(self, number: int) -> None:
        """Send a signal to the program and everything it started, which may ignore it."""
        if self._is_held and self._process.returncode is None:
            send(number, below({self._process.pid}, processes()))

    def let_go(self) -> None:
        """Let the keeper end everything; returns at once, and cannot fail."""
        if self._is_held:
            self._is_held = False
            with suppress(RuntimeError):  # the loop has been closed
                asyncio.get_running_loop().remove_reader(self._lifeline)
            os.close(self._lifeline)
            self._keeper_ended.set()

    async def end(self) -> int | None:
        """End everything and return what ``wait`` does; what cannot be ended is in ``left`` afterwards.

        A keeper that was stopped, or cannot do it, is killed; what it kept is ended here.
        """
        self.let_go()
        deadline = time.monotonic() + END_SECONDS
        while (code := self._process.returncode) is None:
            late = time.monotonic() - deadline
            if late >= KILLED_SECONDS:
                break
            if late >= 0 or is_stopped(self._process.pid):
                with suppress(ProcessLookupError):
                    self._process.send_signal(signal.SIGKILL)
            await asyncio.sleep(LOOK_SECONDS)
        ORPHANS.keepers.discard(self._process.pid)
        if code is not None and code >= 0:
            return code
        if not self.left:
            self.left = await ORPHANS.end()
            if self.left:
                _log.warning("%d programs could not be ended", len(self.left))
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.end()
            if self._process.stdin is not None:
                self._process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(KILLED_SECONDS):
                    await asyncio.gather(_drain(self._process.stdout), _drain(self._process.stderr))
                    await self._process.wait()
        finally:
            # If even that did not help, at least nothing of ours stays open.
            transport = getattr(self._process, "_transport", None)
            if isinstance(transport, asyncio.SubprocessTransport):
                transport.close()


async def _drain(pipe: asyncio.StreamReader | None) -> None:
    """Read what is still in a pipe: otherwise its end would never come."""
    while pipe is not None and await pipe.read(PIPE_BYTES):
        pass


def how_it_ended(code: int | None) -> str:
    """Return in words what ``Child.wait`` returned."""
    return "it was killed" if code is None else f"it ended with exit code {code}"
