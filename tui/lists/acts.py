"""Changes that a list asks the server for, and what the rows show until the server confirms them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Generic

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui.link import C, Link
from tui.lists.listing import Listing, T
from tui.lists.texts import ItemMark
from tui.screens.localised import localised
from tui.screens.words import say

MAX_ERROR_CHARACTERS: Final = 300


class ListActs(Generic[C, T]):
    """Asks the server for changes. ``marks`` has, for each item's id, what was asked and is not confirmed
    yet.

    ``changed()`` is called after every visible change, ``tell(line, is_bad)`` shows one line.
    """

    def __init__(
        self,
        link: Link[C],
        listing: Listing[T],
        *,
        changed: Callable[[], None],
        tell: Callable[[str, bool], None],
    ) -> None:
        self.marks: dict[str, ItemMark] = {}
        self._link = link
        self._listing = listing
        self._changed = changed
        self._tell = tell

    # --- what is seen ---

    def seen(self, item: T) -> None:
        """Take an item as the server describes it. What was asked is done if its status changed.

        The answer to a call may be older than what the feed brought meanwhile; then the newer state stays.
        """
        before, mark = self._listing.get(item.id), self.marks.get(item.id)
        if before is not None and item.last_event_id < before.last_event_id:
            return
        if mark is not None and mark.asked and (before is None or before.status != item.status):
            del self.marks[item.id]
        self._listing.put(item)

    def seen_all(self, items: Iterable[T], *, has_archived: bool) -> None:
        """Forget the marks of items that are gone; a list without archived items says nothing about those."""
        known = {item.id for item in items}
        for item in self._listing.items:
            if item.id not in known and (has_archived or not item.archived):
                self.gone(item.id)

    def gone(self, item_id: str) -> None:
        """Forget a deleted item."""
        self.marks.pop(item_id, None)
        self._listing.remove(item_id)

    # --- changing and deleting ---

    async def change(self, item: T, **fields: Any) -> None:
        await self._ask(item.id, "", lambda client: client.change(item.id, **fields))

    async def rest(self, item: T, resting: set[str]) -> None:
        """Stop a deleted item from working until the deletion is undone or final; ``resting`` has those that
        were at work.
        """

    async def wake(self, item_id: str, resting: set[str]) -> None:
        """Let an item go on whose deletion was undone, if it is one of ``resting``."""

    # --- asking ---

    async def _ask(self, item_id: str, asked: str, call: Callable[[C], Awaitable[T | None]]) -> bool:
        """Ask for something; return whether the server agreed. Until then the row shows ``asked``, if not
        empty.
        """
        if asked:
            self.marks[item_id] = ItemMark(asked)
            self._changed()
        try:
            item = await call(await self._link.client())
        except AgentTuiError as error:
            self._failed(error, item_id)
            return False
        if item is not None and item.created_at:  # a server may answer with nothing but the id
            self.seen(item)
        self._changed()
        return True

    async def _make(self, making: Awaitable[T]) -> T | None:
        """Wait until an item is made; return it, already listed, or ``None`` if the server refused."""
        try:
            made = await making
        except AgentTuiError as error:
            self._failed(error)
            return None
        self.seen(made)
        self._changed()
        return made

    def _failed(self, error: AgentTuiError, item_id: str = "", *, is_bad: bool = True) -> None:
        """Show why something was not done, and to which item; the row is as before."""
        self.marks.pop(item_id, None)
        item = self._listing.get(item_id)
        line = localised(inert_line(str(error), MAX_ERROR_CHARACTERS))
        name = self._listing.kind.name_of(item) + say("between.detail") if item is not None else ""
        self._tell(name + line, is_bad)
        self._changed()
