"""Screens are driven by settling, not by sleeping.

Textual's pilot sleeps 20 ms and more for each key, and again until the process uses little CPU. Here the
event loop itself says when nothing is left to do: no callback is ready, no thread works for it, no socket has
anything to read. While a test waits for that, time is virtual: a timer that is due soon runs at once.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from asyncio.unix_events import _UnixWritePipeTransport  # type: ignore[attr-defined]
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from math import inf
from typing import Any, Final, TypeVar

import pytest
import textual.app
from textual import _time
from textual._animator import Animator
from textual.pilot import Pilot

from agent_tui.clients.clock import SystemClock

T = TypeVar("T")

MOMENT_SECONDS: Final = 0.05  # of virtual time: three of the frames in which Textual paints
IDLE_SECONDS: Final = 0.02  # of virtual time: what Textual's pilot sleeps at least, twice for each key
SOON_SECONDS: Final = (
    0.035  # of virtual time: a timer due so soon is waited for, too; a bit more than a frame
)
LONGEST_SECONDS: Final = 0.2  # of virtual time that a test waits for such timers, one after the other
QUIET_SECONDS: Final = 0.02  # of real time without anything to read, before files and sockets count as quiet
THREAD_SECONDS: Final = 2.0  # of real time that a thread may take before a test goes on without it
BUSY_SECONDS: Final = 1.0  # of computing after which a test goes on though something is always ready
BUSY_ROUNDS: Final = 64  # of the loop between two looks at that: each is a call of the system

OWN_FILES: Final = 1  # the pipe by which threads wake a loop

_real = time.monotonic


class _Clock:
    """The monotonic clock, as the thread with the event loop and those that work for it see it.

    It is put forward where nothing could have happened meanwhile, and stands while callbacks run: how
    busy the machine is changes nothing.
    """

    def __init__(self) -> None:
        self.skipped = 0.0
        self._stands: float | None = None
        self._thread = 0
        self._working: set[int] = set()

    def __call__(self) -> float:
        thread = threading.get_ident()
        if thread != self._thread and thread not in self._working:
            return _real()
        stands = self._stands  # read once: the event loop's thread may set it meanwhile
        return stands if stands is not None else _real() + self.skipped

    def in_thread(self, func: Callable[..., T], *args: Any) -> T:
        """Call a function in a thread that works for the event loop: both see the same time."""
        thread = threading.get_ident()
        self._working.add(thread)
        try:
            return func(*args)
        finally:
            self._working.discard(thread)

    def stand(self) -> None:
        """Stop, for this thread."""
        self._thread = threading.get_ident()
        self._stands = self()

    def go(self) -> None:
        """Go on from where it stands."""
        if self._stands is not None:
            self.skipped, self._stands = self._stands - _real(), None


_clock = _Clock()


@dataclass(slots=True)
class _Waiting:
    """A test that waits until nothing is left to do and virtual time is ``until``.

    ``began`` is real time; ``computed`` is what the thread had computed then, in seconds: on a busy machine
    much time passes in which it cannot do anything.

    One that only waits between two keys (``is_brief``) leaves no real time to whoever is at the other end of
    a file or a socket.
    """

    settled: asyncio.Future[None]
    until: float
    began: float
    computed: float
    is_brief: bool


class SettlingLoop(asyncio.SelectorEventLoop):
    """An event loop that says when it has nothing left to do."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._threads: dict[asyncio.Future[Any], float] = {}  # what works, and since when
        self._moved_at = _real()  # the last time that a file or a socket was read or written
        self._busy_rounds = 0
        super().__init__(_Selector(self))

    @property
    def _is_brief(self) -> bool:
        return all(each.is_brief for each in self._waiting)

    @property
    def is_waited_for(self) -> bool:
        """Whether a test waits until nothing is left to do."""
        return bool(self._waiting)

    async def settle(self, seconds: float) -> None:
        """Wait until nothing is left to do and ``seconds`` of virtual time have passed."""
        until, is_brief = self.time() + seconds, seconds < MOMENT_SECONDS
        waiting = _Waiting(self.create_future(), until, _real(), time.thread_time(), is_brief)
        self._waiting.append(waiting)
        try:
            await waiting.settled
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def run_in_executor(  # type: ignore[override]  # typeshed's has a type variable for the arguments
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        future: asyncio.Future[T] = super().run_in_executor(executor, _clock.in_thread, func, *args)
        self._threads[future] = _real()
        future.add_done_callback(lambda done: self._threads.pop(done, None))
        return future

    def before_waiting(self, timeout: float | None, files: int) -> float | None:
        """Return how long to wait for files (seconds; ``None`` for ever) instead of ``timeout``.

        If nothing is ready, and a test waits for that, time is skipped up to the next timer, or the test
        goes on.
        """
        if not self._waiting:
            return timeout
        if timeout is not None and timeout <= 0:  # something is ready
            self._busy_rounds += 1
            if self._busy_rounds % BUSY_ROUNDS == 0:
                computed = time.thread_time()
                self._go_on([each for each in self._waiting if each.computed + BUSY_SECONDS < computed])
            return timeout
        if (rest := self._seconds_to_quiet(files)) > 0:
            return rest if timeout is None else min(rest, timeout)
        now, end = self.time(), min(each.until for each in self._waiting)
        due = inf if timeout is None else now + timeout
        is_due = due <= now + SOON_SECONDS and due <= end + LONGEST_SECONDS
        if files > OWN_FILES and not self._is_brief:  # whoever is at their other end needs real time
            if not is_due:
                self._go_on(list(self._waiting))
            return timeout if is_due else 0.0
        if is_due or due <= end:
            _clock.skipped += due - now
        else:
            _clock.skipped += max(0.0, end - now)
            self._go_on([each for each in self._waiting if each.until <= end])
        return 0.0

    def note_moving(self) -> None:
        """Note that a file or a socket had something to read, could be written, or was written."""
        self._moved_at = _real()

    def _go_on(self, whose: Iterable[_Waiting]) -> None:
        for each in whose:
            self._waiting.remove(each)
            if not each.settled.done():
                each.settled.set_result(None)

    def _seconds_to_quiet(self, files: int) -> float:
        """Return how much real time has to pass until what is outside the loop counts as quiet."""
        now, rest = _real(), 0.0
        if files > OWN_FILES:
            began = [each.began for each in self._waiting if not each.is_brief]
            rest = max(self._moved_at, *began, 0.0) + QUIET_SECONDS - now
        if self._threads:
            rest = max(rest, max(self._threads.values()) + THREAD_SECONDS - now)
        return rest


class _Selector(selectors.DefaultSelector):
    """What an event loop waits at. One that would wait has nothing else to do."""

    def __init__(self, loop: SettlingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        _clock.go()
        found = super().select(0)
        if not found:
            timeout = self._loop.before_waiting(timeout, len(self.get_map()))
            if timeout is None or timeout > 0:
                found = super().select(timeout)
        if found:
            self._loop.note_moving()
        if self._loop.is_waited_for:
            _clock.stand()
        return found


async def settle(seconds: float = MOMENT_SECONDS) -> None:
    """Wait until nothing is left to do and ``seconds`` of virtual time have passed."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SettlingLoop)
    await loop.settle(seconds)


# A conftest takes these two over for the tests of its folder.


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Have all tests of the folder run in a loop that settles."""
    return {"settling": SettlingLoop}


@pytest.fixture(autouse=True)
def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have time skipped while a test waits, and Textual's pilot settle instead of sleeping."""
    skip_time(monkeypatch)


def skip_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what ``virtual_time`` does, for programs that are no tests."""
    monkeypatch.setattr(time, "monotonic", _clock)
    # Else two seconds of a test on a busy machine look to a client like a machine that slept.
    monkeypatch.setattr(SystemClock, "time", lambda _: _clock())
    monkeypatch.setattr(_time, "get_time", _clock)
    monkeypatch.setattr(textual.app, "wait_for_idle", _wait_for_idle)
    monkeypatch.setattr(Animator, "wait_until_complete", _wait_until_complete)
    monkeypatch.setattr(Pilot, "_wait_for_screen", _wait_for_screen)
    for transport in (_SelectorSocketTransport, _UnixWritePipeTransport):
        monkeypatch.setattr(transport, "write", _noted(transport.write))
    monkeypatch.setattr(Pilot, "pause", _pause)


def _noted(write: Callable[[Any, bytes], None]) -> Callable[[Any, bytes], None]:
    def noted(transport: Any, data: bytes) -> None:
        write(transport, data)
        loop = asyncio.get_running_loop()
        if isinstance(loop, SettlingLoop):
            loop.note_moving()

    return noted


async def _wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    await settle(IDLE_SECONDS)


async def _wait_until_complete(animator: Animator) -> None:
    while not animator._complete_event.is_set():
        await settle()


async def _wait_for_screen(pilot: Pilot[Any], *_: object) -> bool:
    await settle(0)
    return True


async def _pause(pilot: Pilot[Any], delay: float | None = None) -> None:
    await settle(MOMENT_SECONDS if delay is None else delay)
