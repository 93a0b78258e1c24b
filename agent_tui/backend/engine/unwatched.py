"""Pauses what nobody watches: a running room costs money, so somebody must be there or have said so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Unwatched:
    """One timer for each room that is alone; ``pause`` is called when its time is over."""

    def __init__(
        self,
        seconds: float | None,
        sleep: Callable[[float], Awaitable[None]],
        pause: Callable[[str], None],
    ) -> None:
        """``seconds`` None: rooms may be alone for ever."""
        self._seconds = seconds
        self._sleep = sleep
        self._pause = pause
        self._timers: dict[str, asyncio.Task[None]] = {}

    def look(self, room_id: str, *, alone: bool) -> None:
        """Begin to wait for somebody when the room is alone, stop waiting when it is not."""
        if not alone:
            timer = self._timers.pop(room_id, None)
            if timer is not None:
                timer.cancel()
        elif self._seconds is not None and room_id not in self._timers:
            self._timers[room_id] = asyncio.create_task(self._wait(room_id, self._seconds))

    async def close(self) -> None:
        """Stop all waiting, now and later."""
        self._seconds = None
        timers = list(self._timers.values())
        self._timers.clear()
        for timer in timers:
            timer.cancel()
        await asyncio.gather(*timers, return_exceptions=True)

    async def _wait(self, room_id: str, seconds: float) -> None:
        await self._sleep(seconds)
        del self._timers[room_id]
        self._pause(room_id)
