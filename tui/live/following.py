"""The loop that follows a conversation: every event of a screen passes here."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, StreamLost
from tui.live.host import Host

Events = Callable[[], Awaitable[AsyncGenerator[ev.Event, None]]]


class Following:
    """Gives ``take`` each event of a conversation, and keeps what is known of the connection."""

    def __init__(self, host: Host, take: Callable[[ev.Event], Awaitable[None]]) -> None:
        self.failure: AgentTuiError | None = None  # why nothing can be followed, for the exit code
        self._host = host
        self._take = take
        self._retry_at = 0.0

    def begin(self, events: Events) -> None:
        """Follow a server that tells all that happens, until the screen is left."""
        self._host.run("follow", self._follow(events), exclusive=True)

    async def _follow(self, events: Events) -> None:
        try:
            await self._take_all(events)
        except AgentTuiError as error:
            self.failure = error
            await self._take(ev.LinkChanged("refused", str(error)))

    def begin_run(self, events: Events) -> None:
        """Follow one run of a server that shows a room only while it runs it. Never repeated by itself."""
        self._host.run("run", self._follow_run(events), exclusive=True)

    async def _follow_run(self, events: Events) -> None:
        try:
            await self._take_all(events)
            await self._take(ev.LinkChanged("ended"))
        except StreamLost as error:
            await self._take(ev.LinkChanged("lost", str(error)))
        except AgentTuiError as error:
            await self._take(ev.LinkChanged("refused", str(error)))

    async def _take_all(self, opening: Events) -> None:
        async with aclosing(await opening()) as events:
            async for event in events:
                if not self._host.screen.display:  # it is being left: its parts may be gone
                    return
                await self._take(event)

    def note(self, event: ev.Event) -> None:
        """Remember when the next try is."""
        if isinstance(event, ev.LinkChanged) and event.status == "waiting":
            self._retry_at = time.monotonic() + event.delay

    @property
    def seconds_left(self) -> int:
        return round(max(0.0, self._retry_at - time.monotonic()))
