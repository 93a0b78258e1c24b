"""An agent's program that speaks LiveKit's console transport: started here, read, ended by its pid."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.paths import file_exists, named_path
from agent_tui.wire.content import json_object
from agent_tui.wire.voice import redact

LAST_LINES = 20
MAX_LINE_CHARACTERS = 500
READ_BYTES = 64 * 1024
END_SECONDS = 5.0  # livekit-agents takes 2.5 s to close a session
# The libraries require these, even if no server is used.
DUMMIES: Mapping[str, str] = {
    "LIVEKIT_URL": "ws://127.0.0.1:1",
    "LIVEKIT_API_KEY": "unused",
    "LIVEKIT_API_SECRET": "unused-unused-unused-unused-unused",
}
_CHATTER = re.compile(r"[\d:.,\-T ]*(DEBUG|INFO)\b")  # what livekit-agents logs, including words
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Ends with the terminal, the first argument, whatever ends that (Linux), and becomes the agent.
_WITH_PARENT = (
    "import ctypes, os, signal, sys\n"
    "if sys.platform == 'linux': ctypes.CDLL(None).prctl(1, signal.SIGTERM)\n"
    "if os.getppid() == int(sys.argv[1]): os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)


class AgentProgram(Protocol):
    """What a console session needs from the program that it listens for."""

    @property
    def name(self) -> str:
        """Return its name for a person."""
        ...

    async def start(self, address: str) -> None:
        """Start it, to connect to ``address`` ("127.0.0.1:PORT"); raises ``AgentTuiError``."""
        ...

    async def wait(self) -> int:
        """Return its exit code once it has ended."""
        ...

    async def end(self) -> None:
        """End it; returns within seconds, and at once where it has ended."""
        ...

    @property
    def last_lines(self) -> Sequence[str]:
        """Return the last lines it wrote, safe to be shown."""
        ...


class PythonAgent:
    """``python`` run with ``arguments``, to which the address is added as ``--connect-addr``.

    ``fed`` is written to its input, as one line. Only the last lines of its output are kept, in memory, and
    nothing that livekit-agents logs below warnings: that contains words of the conversation.
    """

    def __init__(
        self,
        python: Path,
        arguments: Sequence[str],
        *,
        name: str,
        fed: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._python = python
        self._arguments = tuple(arguments)
        self._name = name
        self._fed = fed
        self._environ = dict(os.environ if environ is None else environ)
        self._lines: deque[str] = deque(maxlen=LAST_LINES)
        self._child: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """Return its name for a person."""
        return self._name

    @property
    def pid(self) -> int:
        """Return the id of its process, 0 before it was started."""
        return self._child.pid if self._child is not None else 0

    @property
    def last_lines(self) -> Sequence[str]:
        """Return the last lines it wrote, without tokens."""
        return tuple(self._lines)

    async def start(self, address: str) -> None:
        """Start it in a session of its own: livekit-agents kills its whole group when it is told twice."""
        self._lines.clear()
        arguments = (str(os.getpid()), *self._arguments, "--connect-addr", address)
        try:
            self._child = await asyncio.create_subprocess_exec(
                self._python, "-c", _WITH_PARENT, *arguments,
                env={**DUMMIES, **self._environ, "PYTHONUNBUFFERED": "1"},
                stdin=asyncio.subprocess.PIPE if self._fed else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise ConfigError(f"{self._python} cannot be run", error.strerror or str(error)) from error
        self._reading = asyncio.create_task(self._read())
        if self._child.stdin is not None:
            with suppress(OSError):  # it has ended already; ``wait`` says so
                self._child.stdin.write(f"{self._fed}\n".encode())
                await self._child.stdin.drain()

    async def _read(self) -> None:
        assert self._child is not None
        assert self._child.stdout is not None
        rest = b""
        while data := await self._child.stdout.read(READ_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._keep(line)
            rest = rest[-READ_BYTES:]
        self._keep(rest)

    def _keep(self, line: bytes) -> None:
        text = _COLOURS.sub("", line.decode(errors="replace"))
        if "state" in (report := json_object(text)):  # our own agent: only why it failed is for a person
            text = str(report.get("detail", ""))
        shown = inert_line(redact(text), MAX_LINE_CHARACTERS)
        if shown.strip("^~ ") and not _CHATTER.match(shown):  # marks below a line of a traceback say nothing
            self._lines.append(shown)

    async def wait(self) -> int:
        """Return its exit code when it has ended and all its output was read."""
        assert self._child is not None
        assert self._reading is not None
        code = await self._child.wait()
        await asyncio.wait({self._reading}, timeout=1.0)  # a child of its own may hold the pipe open
        return code

    async def end(self) -> None:
        """Tell it to end; kill it, with its children, if it does not."""
        child = self._child
        if child is None:
            return
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.send_signal(signal.SIGTERM)
            waiting = asyncio.create_task(child.wait())
            await asyncio.wait({waiting}, timeout=END_SECONDS)
            if not waiting.done():
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
            await waiting
        if self._reading is not None:
            self._reading.cancel()


def agent_script(python: Path, script: Path, environ: Mapping[str, str] | None = None) -> PythonAgent:
    """Return the program of a person's own agent: a Python file that has an ``AgentServer``.

    ``python`` needs livekit-agents and this package. Raises ``ConfigError`` when there is no such file.
    """
    file = named_path(script, "--agent", resolves=True)
    if not file_exists(file):
        raise ConfigError(f"there is no file {script}", "--agent names a Python file with a LiveKit agent.")
    arguments = ("-m", "agent_tui.voice_agent.script", str(file))
    return PythonAgent(python, arguments, name=script.name, environ=environ)
