"""Pauses what nobody watches: runs may cost money, so a person must be present or have asked for that."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

# After this many seconds the function is called, with the id of what is unwatched.
Stage = tuple[float, Callable[[str], None]]


@contextmanager
def count_within(counter: Counter[str], id_: str, look: Callable[[str], None]) -> Iterator[None]:
    """Count one more of ``id_`` while the context is open; ``look`` is called after each change."""
    counter[id_] += 1
    look(id_)
    try:
        yield
    finally:
        counter[id_] -= 1
        if not counter[id_]:
            del counter[id_]
        look(id_)


class UnwatchedTimers:
    """One timer for each unwatched room or chat, which goes through ``stages``."""

    def __init__(self, stages: Sequence[Stage], sleep: Callable[[float], Awaitable[None]]) -> None:
        """Without ``stages`` rooms may be unwatched forever."""
        self._stages = stages
        self._sleep = sleep
        self._timers: dict[str, asyncio.Task[None]] = {}

    def look(self, room_id: str, *, alone: bool) -> None:
        """Start the timer if nobody watches the room, stop it if someone does."""
        if not alone:
            timer = self._timers.pop(room_id, None)
            if timer is not None:
                timer.cancel()
        elif self._stages and room_id not in self._timers:
            self._timers[room_id] = asyncio.create_task(self._wait(room_id))

    def begin_again(self) -> None:
        """Start all timers over."""
        for room_id in list(self._timers):
            self.look(room_id, alone=False)
            self.look(room_id, alone=True)

    async def close(self) -> None:
        """Stop all timers, now and later."""
        self._stages = ()
        timers = list(self._timers.values())
        self._timers.clear()
        for timer in timers:
            timer.cancel()
        await asyncio.gather(*timers, return_exceptions=True)

    async def _wait(self, room_id: str) -> None:
        *stages, (last_seconds, last_act) = self._stages
        for seconds, act in stages:
            await self._sleep(seconds)
            act(room_id)
        await self._sleep(last_seconds)
        del self._timers[room_id]
        last_act(room_id)


@dataclass(frozen=True, slots=True)
class PauseNotice:
    """What people's programs are told: ``name`` pauses in this many ``seconds`` unless a key is pressed, or
    without a ``name``, that a key was pressed.
    """

    id: str = ""
    name: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class OpenPrograms:
    """Which programs of people are open, on any screen. ``on_change`` are called when one opens or closes,
    ``on_key`` when a key was pressed in one.
    """

    on_change: list[Callable[[], None]] = field(default_factory=list)
    on_key: list[Callable[[], None]] = field(default_factory=list)
    _programs: list[deque[PauseNotice]] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _has_warned: bool = False
    _is_closed: bool = False

    @property
    def programs(self) -> int:
        """How many programs are open."""
        return len(self._programs)

    async def attend(self) -> AsyncGenerator[PauseNotice, None]:
        """Count a program as open while this is read; yield what the person is to be told."""
        notices: deque[PauseNotice] = deque(maxlen=100)
        self._programs.append(notices)
        self._tell(self.on_change)
        try:
            while not self._is_closed:
                while notices:
                    yield notices.popleft()
                await self._news.wait()
        finally:
            self._programs[:] = [program for program in self._programs if program is not notices]
            self._tell(self.on_change)

    def press(self) -> None:
        """Note that a person pressed a key, spoke in a voice session, or came: nothing pauses now."""
        self._tell(self.on_key)
        if self._has_warned:
            self._has_warned = False
            self._send(PauseNotice())

    def warn(self, notice: PauseNotice) -> None:
        """Tell all programs that something pauses soon."""
        self._has_warned = True
        self._send(notice)

    def close(self) -> None:
        """End all attendance, now and in future."""
        self._is_closed = True
        self._wake()

    def _send(self, notice: PauseNotice) -> None:
        for notices in self._programs:
            notices.append(notice)
        self._wake()

    def _wake(self) -> None:
        # Current waiters hold this event; later ones wait for the next news.
        self._news.set()
        self._news = asyncio.Event()

    def _tell(self, callbacks: Sequence[Callable[[], None]]) -> None:
        for callback in callbacks:
            callback()
