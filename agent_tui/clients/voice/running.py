"""What runs in a voice session: its tasks, and the one queue in front of ``events``.

Everything that happens is put there as a call to make. ``events`` makes the calls one after the other and
yields what they return, so that everything happens in its order, in one task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from typing import Any

from agent_tui.model.voice import LinkMoved, SessionFailed, VoiceEvent

Act = Callable[[], Iterable[VoiceEvent]]
Put = Callable[[Act], None]

log = logging.getLogger(__name__)


class SessionTasks:
    """The tasks and the queue of one session."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Act] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._retried = asyncio.Event()

    async def events(self) -> AsyncGenerator[VoiceEvent, None]:
        """Yield what the calls return, until the link has ended or failed."""
        while True:
            act = await self._queue.get()
            for event in act():
                yield event
                if isinstance(event, LinkMoved) and event.status in ("ended", "failed"):
                    return

    def put(self, act: Act) -> None:
        """Queue a call."""
        self._queue.put_nowait(act)

    def tell(self, *events: VoiceEvent) -> None:
        """Queue events."""
        self.put(lambda: events)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task that ends with the session; if it fails, that is reported."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a part of the voice session failed", exc_info=error)
            self.tell(SessionFailed("A part of this terminal's voice session failed; its log says where."))

    async def end(self) -> None:
        """Stop every task."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def pause(self, seconds: float) -> bool:
        """Wait; return at once, with true, when the person wants to try now."""
        self._retried.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._retried.wait()
        except TimeoutError:
            return False
        return True

    async def wait_until_retried(self) -> None:
        """Wait until the person wants to try again."""
        self._retried.clear()
        await self._retried.wait()

    def retry(self) -> None:
        """End the current pause."""
        self._retried.set()


def stop(*tasks: asyncio.Task[None] | None) -> None:
    """Cancel tasks, if there are any."""
    for task in tasks:
        if task is not None:
            task.cancel()


async def finish(work: Coroutine[Any, Any, None]) -> None:
    """Wait until ``work`` is done; if the caller is cancelled meanwhile, raise that afterwards."""
    working = asyncio.create_task(work)
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise
