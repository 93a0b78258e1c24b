"""What links to rooms and to chats have in common when the test sends their events, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Generic, TypeVar

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import Event

C = TypeVar("C")
Events = asyncio.Queue[Event | AgentTuiError | None]


class EventLink(Generic[C]):
    """``send`` hands an event to the screen, ``end`` ends its stream; ``send_posted`` does both for the
    stream of a POST, which ``None`` or an error ends. ``calls`` is what the screen asks; ``unreachable`` is
    raised instead.
    """

    is_embedded = True
    is_agent = False
    url = "http://127.0.0.1:1"

    def __init__(self, calls: C) -> None:
        self.calls = calls
        self.unreachable: AgentTuiError | None = None
        self._events: Events = asyncio.Queue()
        self._posted: Events = asyncio.Queue()

    @property
    def is_drained(self) -> bool:
        """Whether the screen has taken everything that was sent."""
        return self._events.empty() and self._posted.empty()

    async def client(self) -> C:
        if self.unreachable is not None:
            raise self.unreachable
        return self.calls

    async def close(self, failed: C | None = None) -> None:
        pass

    def send(self, *events: Event) -> None:
        for event in events:
            self._events.put_nowait(event)

    def end(self, error: AgentTuiError | None = None) -> None:
        self._events.put_nowait(error)

    def send_posted(self, *events: Event | AgentTuiError | None) -> None:
        for event in events:
            self._posted.put_nowait(event)

    async def follow(self, id_: str) -> AsyncGenerator[Event, None]:
        return _drain(self._events)

    def posted(self) -> AsyncGenerator[Event, None]:
        """Return what the stream of a POST has."""
        return _drain(self._posted)


async def _drain(queue: Events) -> AsyncGenerator[Event, None]:
    while (item := await queue.get()) is not None:
        if isinstance(item, AgentTuiError):
            raise item
        yield item
