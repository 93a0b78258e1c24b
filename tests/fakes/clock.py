"""A clock that stands still until a test moves it, and one that nobody waits for."""

from __future__ import annotations

import asyncio
import heapq
import itertools


class FakeClock:
    """``Clock`` whose time only ``advance`` moves; sleepers wake in the order of their time."""

    def __init__(self) -> None:
        self.asked = 0  # how often somebody wanted to know the time
        self._now = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = itertools.count()
        self._looked_at = asyncio.Event()

    def time(self) -> float:
        self.asked += 1
        self._looked_at.set()
        return self._now

    async def asked_again(self, asked: int) -> None:
        """Wait until the time was asked for more often than ``asked`` times."""
        while self.asked <= asked:
            self._looked_at.clear()
            await self._looked_at.wait()

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._number), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass, waking each sleeper when its time comes and letting it run on."""
        end = self._now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            when, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, when)
            if not future.done():
                future.set_result(None)
                await settle()
        self._now = end

    def jump(self, seconds: float) -> None:
        """Let ``seconds`` pass at once, as a sleeping machine does: nobody wakes before it is over."""
        self._now += seconds
        for _, _, future in self._sleepers:
            if not future.done():
                future.set_result(None)
        self._sleepers.clear()

    @property
    def sleepers(self) -> int:
        """Return how many are asleep now."""
        return sum(not future.done() for _, _, future in self._sleepers)


class QuickClock:
    """``Clock`` whose time nobody waits for."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def time(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def settle(turns: int = 10) -> None:
    """Let the loop run what is ready, a few times round."""
    for _ in range(turns):
        await asyncio.sleep(0)
