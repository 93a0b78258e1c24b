"""The room or chat that a screen shows: its state, its server, and the loop that takes every event."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Generic

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError
from agent_tui.state.conversation import ConversationState
from tui.link import C, Link
from tui.live.host import Host


class Opened(Generic[C]):
    """What ``OpenRoom`` and ``OpenChat`` have in common; they say what is fed with what happens."""

    def __init__(
        self,
        state: ConversationState,
        link: Link[C],
        host: Host,
        noted: Callable[[ev.Event], None],
    ) -> None:
        """``noted`` is called for every event that is more than words, once it is shown."""
        self.state = state
        self.host = host
        self.failure: AgentTuiError | None = None  # why nothing can be followed, for the exit code
        self._link = link
        self._noted = noted
        self._retry_at = 0.0

    @property
    def id(self) -> str:
        return self.state.info.id

    def begin(self) -> None:
        """Follow a server that tells all that happens, until the screen is left."""
        self.host.run("follow", self._follow(), exclusive=True)

    async def _events(self) -> AsyncGenerator[ev.Event, None]:
        return await self._link.follow(self.id)

    async def _follow(self) -> None:
        try:
            await self._take_all(await self._events())
        except AgentTuiError as error:
            self.failure = error
            await self.take(ev.LinkChanged("refused", str(error)))

    async def _take_all(self, opened: AsyncGenerator[ev.Event, None]) -> None:
        async with aclosing(opened) as events:
            async for event in events:
                if not self.host.screen.display:  # it is being left: its parts may be gone
                    return
                await self.take(event)

    def _note_link(self, event: ev.Event) -> None:
        """Keep when the next try is."""
        if isinstance(event, ev.LinkChanged) and event.status == "waiting":
            self._retry_at = time.monotonic() + event.delay

    @property
    def seconds_left(self) -> int:
        """How long it is until the next try."""
        return round(max(0.0, self._retry_at - time.monotonic()))

    @abstractmethod
    async def take(self, event: ev.Event) -> None:
        """Take an event into the state, and show it."""

    async def client(self) -> C:
        return await self._link.client()

    async def changed_by(self, answer: Awaitable[ev.RoomInfo | ev.ConversationInfo]) -> bool:
        """Take the answer to a call into the state; say what went wrong, and return whether nothing did."""
        try:
            info = await answer
        except AgentTuiError as error:
            self.host.fail(error)
            return False
        changed = ev.RoomChanged(info) if isinstance(info, ev.RoomInfo) else ev.ConversationChanged(info)
        await self.take(changed)
        return True
