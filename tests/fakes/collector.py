"""Reads an async generator in a task of its own, so that a test can wait for what came of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Generic, Self, TypeVar

from agent_tui.model.errors import AgentTuiError

T = TypeVar("T")


class Collector(Generic[T]):
    """``async with Collector(source) as read``: ``read.items`` grows until the source ends or fails."""

    def __init__(self, source: AsyncGenerator[T, None]) -> None:
        self.items: list[T] = []
        self.error: AgentTuiError | None = None
        self.done = False
        self._source = source
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Cancel the reading, as a screen that is left does."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _read(self) -> None:
        try:
            async with aclosing(self._source) as source:
                async for item in source:
                    self.items.append(item)
                    self._changed.set()
        except AgentTuiError as error:
            self.error = error
        finally:
            self.done = True
            self._changed.set()

    async def until(self, condition: Callable[[list[T]], bool]) -> None:
        """Return when ``condition`` holds of the items; fails when the source ends before."""
        while not condition(self.items):
            assert not self.done, (self.items, self.error)
            self._changed.clear()
            await self._changed.wait()

    async def end(self) -> None:
        """Return when the source has ended or failed."""
        while not self.done:
            self._changed.clear()
            await self._changed.wait()
