"""Our agent in one voice room: a process of its own (``agent_tui.voice_agent``), started with the room.

It reports its state on its output, one JSON object a line (``state``: warm, joined, notice or failed, the
last two with ``detail``), and gets on its input, in one line, where to join and as whom.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from agent_tui.backend.tools.programs.child import Child
from agent_tui.backend.tools.programs.environment import passed_environment
from agent_tui.backend.voice.last_words import LastWords, LogFile, lines_of
from agent_tui.backend.voice.program import (
    Program,
    ProgramCommand,
    ProgramDone,
    ProgramEnded,
    ProgramFailed,
)
from agent_tui.config.voice import VoiceAgentConfig
from agent_tui.model.inert import inert_line
from agent_tui.redaction import redacted

MODULE = "agent_tui.voice_agent"
EXIT_USAGE = 2  # the agent's exit code: a setting is wrong
MAX_NOTICE_CHARACTERS = 500
JOIN_SECONDS = 120.0  # from its start: slow machines load models slowly
# Folders of models, and how many cores a model may use: nothing secret. ``passed_environment`` has the rest.
PASSED_VARIABLES = frozenset(
    ("OMP_NUM_THREADS", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "PYTHONPYCACHEPREFIX")
)

# The agent's orders: address, token, whom it works for (the keys are those of ``VoiceRooms._orders``).
Orders = Mapping[str, Any]


class VoiceAgent(Program):
    """The agent's process in one room; started again with the same identity when it dies."""

    def __init__(
        self,
        room: str,
        identity: str,
        program: tuple[Path, Path],
        file: LogFile,
        config: Callable[[], VoiceAgentConfig],
        orders: Callable[[], Awaitable[Orders]],
        is_gone: Callable[[], Awaitable[None]],
        is_over: Callable[[], Awaitable[bool]],
        join_seconds: float,
    ) -> None:
        """``identity`` is the one with which it joins.

        ``program`` is its Python and its working folder. ``orders`` waits until there is a server and returns
        its orders; ``is_gone`` is called when it has ended, ``is_over`` says whether nobody is in the room
        anymore. It has to be in the room within ``join_seconds`` of its start.
        """
        super().__init__("a voice agent", LastWords(file, f"agent of {room}"))
        self.identity = identity
        self._python, self._folder = program
        self._config = config
        self._orders = orders
        self._is_gone = is_gone
        self._is_over = is_over
        self._join_seconds = join_seconds
        self.notices: list[str] = []  # for people, such as that it cannot hear their language

    async def _command(self) -> ProgramCommand:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        command = (str(self._python), "-P", "-m", MODULE, "room")
        return ProgramCommand(command, self._folder, agent_environment(self._config()))

    async def _live(self, child: Child) -> None:
        listening = asyncio.create_task(self._words.listen(child.stderr))
        has_joined = False
        try:
            self.notices = []
            async with asyncio.timeout(self._join_seconds) as limit:
                async for line in lines_of(child.stdout):
                    match state_in(line):
                        case "warm", _:
                            await _send_orders(child, await self._orders())
                        case "joined", _:
                            has_joined = True
                            limit.reschedule(None)
                            self._become("running")
                        case "notice", detail:
                            self.notices.append(_notice_line(detail))
                        case "failed", detail:
                            await self._raise_failure(child, detail)
                        case _:
                            self._words.add(line)
                await listening
        except TimeoutError:
            await self._is_gone()
            raise ProgramEnded(f"it did not join within {self._join_seconds:.0f} seconds") from None
        finally:
            listening.cancel()
        code = await child.wait()
        await self._is_gone()
        if code == 0 and has_joined and await self._is_over():
            raise ProgramDone

    async def _raise_failure(self, child: Child, detail: str) -> NoReturn:
        """Raise the failure: wrong settings will be wrong the next time, too."""
        why = _notice_line(detail) or "it failed without a reason"
        if await child.wait() == EXIT_USAGE:
            raise ProgramFailed(why)
        raise ProgramEnded(why)


async def _send_orders(child: Child, orders: Orders) -> None:
    child.stdin.write(json.dumps(orders).encode() + b"\n")
    with suppress(ConnectionError):  # it has ended: its output will say so
        await child.stdin.drain()


def _notice_line(text: str) -> str:
    return inert_line(redacted(text), MAX_NOTICE_CHARACTERS)


def state_in(line: str) -> tuple[str, str]:
    """Return the state and the detail in a line of the agent's output, if there are any."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(fields, dict):
        return "", ""
    state, detail = fields.get("state"), fields.get("detail")
    return state if isinstance(state, str) else "", detail if isinstance(detail, str) else ""


def agent_environment(config: VoiceAgentConfig) -> dict[str, str]:
    """Return the agent's environment: harmless variables, and the keys of its providers."""
    named = [name for name in os.environ if name in PASSED_VARIABLES or config.passes(name)]
    return passed_environment(named)


def agent_settings(config: VoiceAgentConfig) -> dict[str, Any]:
    """Return ``[voice.agent]`` for the agent."""
    return asdict(config)
