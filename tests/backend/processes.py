"""Backend processes for tests: started, waited for by what they say, ended by their own pid."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.backend import forked
from tests.backend.forked import Forked
from tests.backend.wire_client import PATIENCE_SECONDS, WireClient

TOKEN = "tok-en"
END_SECONDS = 60.0  # three are promised: a busy machine needs more, what hangs would take minutes


@dataclass(slots=True)
class Process:
    """One ``python -P -m agent_tui.backend …``, or one that was forked."""

    child: asyncio.subprocess.Process | Forked
    port: int = 0
    url: str = ""

    @property
    def client(self) -> WireClient:
        return WireClient(self.port, TOKEN)

    async def ready(self) -> None:
        """Wait for the line that says where it listens."""
        assert self.child.stdout is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            line = (await self.child.stdout.readline()).decode()
        listening = re.fullmatch(r"listening on (http://\S+:(\d+))\n", line)
        assert listening, (line, await self.complaints())
        self.url, self.port = listening[1], int(listening[2])

    async def complaints(self) -> str:
        """Return all it writes to stderr, once it has ended."""
        assert self.child.stderr is not None
        return (await self.child.stderr.read()).decode()

    async def end(self, signal_number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code; nothing may hold the process."""
        self.child.send_signal(signal_number)
        async with asyncio.timeout(END_SECONDS):
            return await self.child.wait()

    async def kill(self) -> None:
        """Kill it as a crash would."""
        assert await self.end(signal.SIGKILL) == -signal.SIGKILL


async def start(
    mode: str, *options: str, folder: Path, env: Mapping[str, str] | None = None, fork: bool = False
) -> Process:
    """Start a backend with ``folder`` as working directory; returns at once. ``fork``: see ``forked``."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_TUI_")}
    clean |= {"AGENT_TUI_DATA": str(folder), "AGENT_TUI_CONFIG": str(folder / "config.toml")}
    if fork:
        return Process(await forked.start((mode, *options), folder, {**clean, **(env or {})}))
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "agent_tui.backend", mode, *options,
        cwd=folder, env={**clean, **(env or {})}, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe,
    )  # fmt: skip
    return Process(child)


@asynccontextmanager
async def running(
    mode: str, *options: str, folder: Path, env: Mapping[str, str] | None = None
) -> AsyncIterator[Process]:
    """Give a backend that listens; it is killed at the end unless it has ended before.

    It is forked unless it begins with variables of its own: modules may read those as they are imported.
    """
    process = await start(mode, *options, folder=folder, env=env, fork=not env)
    try:
        await process.ready()
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.child.kill()
        await process.child.wait()
        if isinstance(process.child, Forked):
            process.child.close()


def serve(folder: Path, *options: str, rate: str = "0") -> tuple[str, ...]:
    """Return the arguments of a `serve` on the database in ``folder`` with ``TOKEN``."""
    database = f"sqlite:///{folder / 'rooms.db'}"
    return ("serve", "--database", database, "--token", TOKEN, "--demo-rate", rate, *options)
