"""The engine's waiting times, and its clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_tui.backend.store.store import utc_now


@dataclass(frozen=True, slots=True)
class Timing:
    """All in seconds. ``now`` is only for noting when things happened; ``sleep`` paces retries and time-
    outs.
    """

    stall: float = 120.0  # without a piece from a model: then its turn has failed
    retries: tuple[float, ...] = (0.5, 1.5)  # before each further try of a model call
    rate_limit: float = 60.0  # in total, for a provider that says when it can be asked again (429)
    grace: float = 0.1  # for a cancelled model call to release everything, before "paused" is sent
    mend: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0, 30.0)  # between tries to close what a full disk left open
    tool_grace: float = 1.2  # for a cancelled tool to end its programs, which are killed after one second
    preview: float = 20.0  # for a tool's preview of what it would do: it may read files
    notice: float = 0.7  # of waiting for MCP servers to start, before a person is told
    progress: float = 1.0  # between two progress lines of a call
    unattended: float = 30.0  # how long a tool that asks waits for a person to come back
    idle: float = 28 * 60.0  # without a key, before people are warned about what costs money …
    idle_warned: float = 2 * 60.0  # … and then, before it is paused
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], datetime] = utc_now

    def until(self, seconds: float) -> str:
        """Return the time in this many seconds, in ISO 8601."""
        return (self.now() + timedelta(seconds=seconds)).isoformat()
