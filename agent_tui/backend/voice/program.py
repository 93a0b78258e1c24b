"""A voice program that is started again when it dies, until it dies too often."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_tui.backend.tools.programs.child import Child, how_it_ended
from agent_tui.backend.tools.tool import ToolError
from agent_tui.backend.voice.last_words import LastWords

State = Literal["stopped", "starting", "running", "failed"]
MAX_DEATHS = 3  # within DEATHS_SECONDS: then it is not started again
DEATHS_SECONDS = 60.0
BACK_OFF_SECONDS = (0.2, 1.0)  # before the second and the third start

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProgramCommand:
    """What to start: the program and its arguments, its working folder, its whole environment."""

    program: Sequence[str]
    folder: Path
    environ: Mapping[str, str]


class Program(ABC):
    """One program, started again when it ends by itself; three ends within a minute are a failure."""

    def __init__(self, name: str, words: LastWords) -> None:
        self._name = name
        self._words = words
        self._keeping: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._state: State = "stopped"
        self._why = ""

    @abstractmethod
    async def _command(self) -> ProgramCommand:
        """Return what to start, each time."""

    @abstractmethod
    async def _live(self, child: Child) -> None:
        """Watch the running child; return or raise ``ProgramEnded`` when it is over, ``ProgramDone`` or
        ``ProgramFailed`` if it is not to be started again.
        """

    @property
    def state(self) -> State:
        return self._state

    @property
    def why(self) -> str:
        """Why it failed: one line, and the program's last lines; empty while it has not failed."""
        return self._why

    def start(self) -> None:
        """Start it unless it is running; a failed one gets another chance."""
        if self._keeping is None or self._keeping.done():
            self._become("starting")
            self._keeping = asyncio.create_task(self._keep())

    async def wait_until_started(self) -> State:
        """Return its state when it is no longer starting."""
        while self._state == "starting":
            await self._changed.wait()
        return self._state

    async def stop(self) -> None:
        """Stop it; safe to call more than once."""
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.cancel()
            await asyncio.wait({keeping})
        if self._state != "failed":  # the reason of a failure is still needed
            self._become("stopped")

    def _become(self, state: State, why: str = "") -> None:
        self._state, self._why = state, why
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _keep(self) -> None:
        ended_at: deque[float] = deque(maxlen=MAX_DEATHS)
        while True:
            try:
                why = await self._once()
            except ProgramDone:
                self._become("stopped")
                return
            except ProgramFailed as error:
                self._become("failed", str(error))
                return
            except Exception:  # the last line of defence: others wait for the result
                log.exception("%s cannot be kept", self._name)
                self._become("failed", "internal error; the backend's log says more")
                return
            now = time.monotonic()
            ended_at.append(now)
            log.warning("%s ended: %s", self._name, why)
            recent = [at for at in ended_at if now - at <= DEATHS_SECONDS]
            if len(recent) >= MAX_DEATHS:
                lines = self._words.text
                self._become("failed", f"{why}\n{lines}" if lines else why)
                return
            self._become("starting")
            await asyncio.sleep(BACK_OFF_SECONDS[len(recent) - 1])

    async def _once(self) -> str:
        """Start the program and return why it ended."""
        try:
            command = await self._command()
            child = await Child.start(
                command.program,
                command.folder,
                command.environ,
                is_fed=True,
                errors=asyncio.subprocess.PIPE,
            )
        except (ToolError, OSError) as error:
            return str(error)
        async with child:
            try:
                await self._live(child)
            except ProgramEnded as error:
                return str(error)
            return how_it_ended(await child.wait())


class ProgramEnded(Exception):
    """The program is no longer usable; the text says why."""


class ProgramFailed(Exception):
    """The program cannot work, and would fail again in the same way; the text says why."""


class ProgramDone(Exception):
    """The program has ended as intended."""
