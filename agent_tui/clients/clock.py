"""Time for the clients: a clock that notices when the machine slept, and waits that can be interrupted."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable
from types import TracebackType
from typing import Protocol, TypeVar

from agent_tui.model.errors import StreamLost, TimedOut, TransportError

T = TypeVar("T")

TICK_SECONDS = 2.0  # how late silence may be noticed
SLEPT_SECONDS = 10.0  # a tick this late means that the machine slept, or the program was stopped
NAP_SLICE_SECONDS = 1.0  # how late a wait may notice that its time passed during sleep

# ``time.monotonic`` stops on Linux while the machine sleeps; these clocks continue.
_CLOCK_ID = time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC


class Clock(Protocol):
    """A clock that counts seconds."""

    def time(self) -> float:
        """Return seconds since some fixed moment; never goes back, continues while the machine sleeps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after this many seconds in which the machine is awake."""
        ...


class SystemClock:
    """The machine's own time."""

    def time(self) -> float:
        return time.clock_gettime(_CLOCK_ID)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


async def nap(clock: Clock, seconds: float) -> None:
    """Return after ``seconds``, or soon after waking if the machine slept through them."""
    end = clock.time() + seconds
    while (left := end - clock.time()) > 0:
        await clock.sleep(min(left, NAP_SLICE_SECONDS))


class Watch:
    """Interrupts a wait for bytes that lasts longer than ``limit`` seconds (``None``: forever).

    With ``notice_sleep`` also a wait during which the machine slept: the connection is most likely dead, and
    asking again costs nothing. Used as ``async with``.
    """

    def __init__(self, clock: Clock, *, notice_sleep: bool) -> None:
        self.limit: float | None = None
        self.slept = False
        self._clock = clock
        self._notice_sleep = notice_sleep
        self._since: float | None = None
        self._scope: asyncio.Timeout | None = None
        self._error: TransportError | None = None
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Watch:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    async def run(self, awaitable: Awaitable[T]) -> T:
        """Return what ``awaitable`` returns; raises ``TimedOut`` or ``StreamLost`` if it took too long.

        A sleep of the machine outside any wait is reported to the next one.
        """
        self._since = self._clock.time()
        try:
            async with asyncio.timeout(None) as self._scope:
                if self._error is not None:
                    self._scope.reschedule(0)
                result = await awaitable
        except TimeoutError:
            if self._error is None:
                raise
        else:
            if self._error is None:
                return result
        finally:
            self._since = self._scope = None
        raise self._error

    async def _look(self) -> None:
        while True:
            before = self._clock.time()
            await self._clock.sleep(self._tick(before))
            now = self._clock.time()
            if now - before > TICK_SECONDS + SLEPT_SECONDS:
                if self._notice_sleep:
                    self.slept = True
                    self._break_off(StreamLost("this machine slept"))
                elif self._since is not None:
                    self._since = now  # what came meanwhile was not read yet: no silence so far
            elif self.limit is not None and self._since is not None and now - self._since >= self.limit:
                seconds = max(self.limit, 0.0)  # no time may be left
                self._break_off(TimedOut(f"the server said nothing for {seconds:.3g} s"))

    def _tick(self, now: float) -> float:
        """Return how long nothing needs to be checked."""
        if self.limit is None or self._since is None:
            return TICK_SECONDS
        return min(TICK_SECONDS, max(self._since + self.limit - now, 0.01))

    def _break_off(self, error: TransportError) -> None:
        self._error = error
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(0)
