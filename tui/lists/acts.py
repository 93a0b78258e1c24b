"""What a list knows about its server, the changes that were asked for, and the deletions to come."""

from __future__ import annotations

from asyncio import TaskGroup
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final, Generic

from agent_tui.model.errors import AgentTuiError, NotFound
from agent_tui.model.events import LinkChanged
from agent_tui.model.inert import inert_line
from tui.link import C, Link
from tui.lists.feed import ListFeed, ListSeen
from tui.lists.listing import Listing
from tui.lists.texts import ItemMark, T
from tui.screens.localised import localised
from tui.screens.words import count, say

MAX_ERROR_CHARACTERS: Final = 300


class ListActs(Generic[C, T]):
    """Keeps a listing like the server's, and asks the server for changes. ``marks`` has, for each item's id,
    what was asked and is not confirmed yet.

    ``changed()`` is called after every visible change, ``tell(line, is_bad)`` shows one line.
    """

    def __init__(
        self,
        link: Link[C],
        listing: Listing[T],
        feed: ListFeed[C, T],
        *,
        changed: Callable[[], None],
        tell: Callable[[str, bool], None],
    ) -> None:
        self.marks: dict[str, ItemMark] = {}
        self.missing: Mapping[str, str] | None = None  # what another's server does not offer, and why
        self.state = LinkChanged("live")
        self.is_known = bool(listing.items)  # whether the server has sent its list
        self._link = link
        self.listing = listing
        self._feed = feed
        self._changed = changed
        self._tell = tell

    # --- what the server says ---

    async def follow(self) -> None:
        """Apply changes until it is cancelled."""
        events: AsyncGenerator[Any, None] = self._feed.follow(lambda: self.listing.shows_archived)
        async with aclosing(events), TaskGroup() as beside:
            async for event in events:
                if isinstance(event, LinkChanged):
                    self._take_link(event)
                else:
                    self._take(event)
                self._changed()
                if self.missing is None and self.listing.items and not self._link.is_embedded:
                    self.missing = {}
                    beside.create_task(self._look_for_gaps(self.listing.items[0].id))

    async def _look_for_gaps(self, item_id: str) -> None:
        """Find out what this server does not offer, once there is an item to ask about."""
        with suppress(AgentTuiError):  # unknown; each call will say so itself
            self.missing = await (await self._link.client()).missing(item_id)
        self._changed()

    def _take_link(self, link: LinkChanged) -> None:
        if link.status == "live" and self.state.status != "live" and self._link.is_embedded:
            self._tell(say("link.restarted"), False)
        self.state = link

    def _take(self, seen: ListSeen[T]) -> None:
        gone = set(seen.removed)
        if seen.is_all:  # a list without archived items says nothing about those
            self.is_known = True
            ids = {item.id for item in seen.items}
            asked = (item for item in self.listing.items if seen.has_archived or not item.archived)
            gone |= {item.id for item in asked} - ids
        for item_id in gone:
            self.marks.pop(item_id, None)
            self.listing.remove(item_id)
        for item in seen.items:
            self.take(item)

    def take(self, item: T) -> None:
        """Take an item as the server describes it. What was asked is done if its status changed.

        The answer to a call may be older than what the feed brought meanwhile; then the newer state stays.
        """
        before, mark = self.listing.get(item.id), self.marks.get(item.id)
        if before is not None and item.last_event_id < before.last_event_id:
            return
        if mark is not None and mark.asked and (before is None or before.status != item.status):
            del self.marks[item.id]
        self.listing.put(item)

    # --- changing and deleting ---

    async def change(self, item: T, **fields: Any) -> None:
        await self._ask(item, "", lambda client: client.change(item.id, **fields))

    async def rest(self, item: T) -> None:
        """Stop a deleted item that is at work."""

    async def _ask(self, item: T, asked: str, call: Callable[[C], Awaitable[T | None]]) -> None:
        """Ask for something; the row shows ``asked`` until it is done."""
        if asked:
            self.marks[item.id] = ItemMark(asked)
            self._changed()
        try:
            answer = await call(await self._link.client())
        except AgentTuiError as error:
            self.failed(error, item)
            return
        if answer is not None and answer.created_at:  # a server may answer with nothing but the id
            self.take(answer)
        self._changed()

    def failed(self, error: AgentTuiError, item: T) -> None:
        """Show why something was not done, and to which item; the row is as before."""
        self.marks.pop(item.id, None)
        line = localised(inert_line(str(error), MAX_ERROR_CHARACTERS))
        self._tell(self.listing.kind.name_of(item) + say("between.detail") + line, True)
        self._changed()


class Deletions:
    """What is going to be deleted on one server. The server is told only when the program is left normally;
    after a crash everything is still there. All lists of one kind share one object.
    """

    def __init__(self, link: Link[Any]) -> None:
        self._link = link
        self._marked: dict[str, None] = {}  # newest last

    def __len__(self) -> int:
        return len(self._marked)

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._marked

    def __iter__(self) -> Iterator[str]:
        return iter(self._marked)

    def add(self, item_id: str) -> None:
        """Delete an item when the program is left."""
        self._marked[item_id] = None

    def undo(self) -> str:
        """Keep the item that was deleted last; return its id, "" if there was none."""
        return self._marked.popitem()[0] if self._marked else ""

    async def settle(self) -> str:
        """Delete everything now, since the program is left; return what went wrong, as a line, or ""."""
        failed, reason = 0, ""
        while self._marked:
            item_id = next(iter(self._marked))
            try:
                await (await self._link.client()).delete(item_id)
            except NotFound:
                pass  # another client deleted it
            except AgentTuiError as error:
                failed, reason = failed + 1, localised(inert_line(str(error), MAX_ERROR_CHARACTERS))
            self._marked.pop(item_id, None)
        return say("list.not_deleted", count=count(failed), reason=reason) if failed else ""
