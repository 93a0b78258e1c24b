"""Time for the clients: a clock that notices when the machine slept, and waits that can be broken off."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable
from typing import Protocol, TypeVar

T = TypeVar("T")

# ``time.monotonic`` stands still on Linux while the machine sleeps; these clocks go on.
_CLOCK_ID = time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC


class Clock(Protocol):
    """Seconds that pass."""

    def time(self) -> float:
        """Return seconds since some fixed moment; never goes back, goes on while the machine sleeps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds of an awake machine."""
        ...


class SystemClock:
    """The machine's own time."""

    def time(self) -> float:
        return time.clock_gettime(_CLOCK_ID)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


class Breakable:
    """Awaits that another task may break off, as a time-out would."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()

    async def run(self, awaitable: Awaitable[T]) -> T:
        """Return what ``awaitable`` returns; raises ``TimeoutError`` when ``break_off`` came first."""
        async with asyncio.timeout(None) as scope:
            self._scopes.add(scope)
            try:
                return await awaitable
            finally:
                self._scopes.discard(scope)

    def break_off(self) -> None:
        """Break off every await that runs now; those that come later are not touched."""
        for scope in self._scopes:
            if not scope.expired():
                scope.reschedule(0)


class Naps:
    """Waits that somebody may cut short: a person who presses "retry now"."""

    SLICE_SECONDS = 1.0  # how late a wait may notice that its time passed while the machine slept

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._breakable = Breakable()

    async def nap(self, seconds: float) -> None:
        """Return after ``seconds``, at the next ``wake``, or soon after the machine slept through it."""
        end = self._clock.time() + seconds
        try:
            while (left := end - self._clock.time()) > 0:
                await self._breakable.run(self._clock.sleep(min(left, self.SLICE_SECONDS)))
        except TimeoutError:
            return

    def wake(self) -> None:
        """End every nap that is going on."""
        self._breakable.break_off()
