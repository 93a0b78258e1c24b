"""A program that never outlives what it was started for: it and all it starts end together (``keeper``)."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from agent_tui.backend.tools.environment import UMASK
from agent_tui.backend.tools.tool import ToolError

GRACE_SECONDS = 1.0  # between asking a program to end and killing it
END_SECONDS = 10.0  # for the keeper itself; it needs a moment after the grace
PIPE_BYTES = 256 * 1024
MARK = "CALL_OF_A_TOOL"  # names the variable by which programs are found whose keeper was killed

_log = logging.getLogger(__name__)
_KEEPER = Path(__file__).with_name("keeper.py")


class Child:
    """One running program. ``async with`` it: whatever happens, it is over afterwards."""

    def __init__(self, process: asyncio.subprocess.Process, lifeline: int, mark: str) -> None:
        self._process = process
        self._lifeline = lifeline
        self._mark = mark
        self._is_held = True

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

        ``errors`` says where stderr goes, as for ``subprocess``. A program that is not there ends with 127.
        Raises ``ToolError`` when not even the keeper can be started.
        """
        ours, theirs, mark = None, None, secrets.token_hex(16)
        try:
            theirs, ours = os.pipe()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_KEEPER), str(theirs), str(GRACE_SECONDS)),
                *program,
                stdin=subprocess.PIPE if is_fed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env={**environ, MARK: mark},
                pass_fds=(theirs,),
                start_new_session=True,
                umask=UMASK,
                limit=PIPE_BYTES,
            )
        except BaseException as error:
            if ours is not None:
                os.close(ours)
            if isinstance(error, OSError | ValueError):
                raise ToolError(f"no program can be started: {error}") from error
            raise
        finally:
            if theirs is not None:
                os.close(theirs)
        return cls(process, ours, mark)

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

    async def wait(self) -> int:
        """Return the exit code, as a shell says it, when the program and all it started are over."""
        return await self._process.wait()

    def let_go(self) -> None:
        """Have everything ended; returns at once, and cannot fail."""
        if self._is_held:
            self._is_held = False
            os.close(self._lifeline)
        code = self._process.returncode
        if code is not None and code < 0:
            _end_marked(self._mark)  # somebody killed the keeper, so that nobody keeps the others

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.let_go()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await asyncio.gather(_emptied(self._process.stdout), _emptied(self._process.stderr))
                await self._process.wait()
        except TimeoutError:
            _log.warning("a program that was ended still holds its output")
        finally:
            # When even that did not help, at least nothing of ours stays open.
            transport = getattr(self._process, "_transport", None)
            if isinstance(transport, asyncio.SubprocessTransport):
                transport.close()


def _end_marked(mark: str) -> None:
    """Kill all programs that have the mark in their environment, where /proc shows it."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)


async def _emptied(pipe: asyncio.StreamReader | None) -> None:
    """Read what is still in a pipe: nobody else does, and an end that is not read never comes."""
    while pipe is not None and await pipe.read(PIPE_BYTES):
        pass
