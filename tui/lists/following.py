"""What a list knows about its server: the items, the state of the connection, and what cannot be done."""

from __future__ import annotations

from asyncio import TaskGroup
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Generic

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import LinkChanged
from tui.link import Link
from tui.lists.acts import ListActs
from tui.lists.feed import ListFeed, ListSeen
from tui.lists.listing import Listing, T
from tui.screens.words import say


class ListFollowing(Generic[T]):
    """Keeps a listing like the server's; ``changed()`` is called after every visible change."""

    def __init__(
        self,
        link: Link[Any],
        feed: ListFeed[Any, T],
        listing: Listing[T],
        acts: ListActs[Any, T],
        *,
        changed: Callable[[], None],
        tell: Callable[[str, bool], None],
    ) -> None:
        self.missing: Mapping[str, str] = {}  # what this server does not offer, and why
        self.state = LinkChanged("live")
        self.is_known = len(listing) > 0  # whether the server has sent its list
        self._link = link
        self._feed = feed
        self._listing = listing
        self._acts = acts
        self._changed = changed
        self._tell = tell
        self._has_looked = False  # for what is missing

    async def follow(self) -> None:
        """Apply changes until it is cancelled."""
        events: AsyncGenerator[Any, None] = self._feed.follow(lambda: self._listing.shows_archived)
        async with aclosing(events), TaskGroup() as beside:
            async for event in events:
                if isinstance(event, LinkChanged):
                    self._take_link(event)
                else:
                    self._take(event)
                self._changed()
                if not self._link.is_embedded and not self._has_looked and len(self._listing):
                    self._has_looked = True
                    beside.create_task(self._look_for_gaps(self._listing[0].item.id))

    def _take_link(self, link: LinkChanged) -> None:
        if link.status == "live" and self.state.status != "live" and self._link.is_embedded:
            self._tell(say("link.restarted"), False)
        self.state = link

    def _take(self, seen: ListSeen[T]) -> None:
        if seen.is_all:
            self.is_known = True
            self._acts.seen_all(seen.items, has_archived=seen.has_archived)
        for item in seen.items:
            self._acts.seen(item)
        for item_id in seen.removed:
            self._acts.gone(item_id)

    async def _look_for_gaps(self, item_id: str) -> None:
        """Find out what this server does not offer, once there is an item to ask about."""
        try:
            self.missing = await (await self._link.client()).missing(item_id)
        except AgentTuiError:
            return  # unknown; each call will say so itself
        self._changed()
