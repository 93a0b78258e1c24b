"""How long the engine waits for what, and the clock it waits by."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_tui.backend.store.store import utc_now


@dataclass(frozen=True, slots=True)
class Timing:
    """All in seconds. ``now`` only notes when things happened; ``sleep`` paces retries and time-outs."""

    stall: float = 120.0  # without a piece from a model: its turn has failed
    retries: tuple[float, ...] = (0.5, 1.5)  # before each further try of a model call
    rate_limit: float = 60.0  # in all, for a provider that says when it can be asked again (429)
    grace: float = 0.1  # for a cancelled model call to let go, before the room is said to be paused
    mend: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0, 30.0)  # between tries to close what a full disk left open
    tool_grace: float = 1.2  # for a cancelled tool to end what it started: programs are killed after one
    preview: float = 20.0  # for a tool that asks to say what it would do: it may read files for that
    notice: float = 0.7  # of waiting for MCP servers to start, before a person is told
    progress: float = 1.0  # between two words of a call on how far it is
    unattended: float = 30.0  # how long a tool that asks waits for a person to come back
    idle: float = 28 * 60.0  # without a key, before people are warned of what costs money …
    idle_warned: float = 2 * 60.0  # … and then, before it pauses
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], datetime] = utc_now

    def until(self, seconds: float) -> str:
        """Return the moment in so many seconds, in ISO 8601."""
        return (self.now() + timedelta(seconds=seconds)).isoformat()
