"""What a list asks of the server, and what is known of that until the answer is seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Generic

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui.link import C, Link
from tui.lists.listing import Listing, T
from tui.lists.texts import Mark
from tui.screens.localised import localised

MAX_ERROR_CHARACTERS: Final = 300


class ListActs(Generic[C, T]):
    """Asks for changes. ``marks`` says of each, by its id, what was asked and is not seen yet.

    ``changed()`` is called after everything that a reader can see, ``tell(line, is_bad)`` says one line.
    """

    def __init__(
        self,
        link: Link[C],
        listing: Listing[T],
        *,
        changed: Callable[[], None],
        tell: Callable[[str, bool], None],
    ) -> None:
        self.marks: dict[str, Mark] = {}
        self._link = link
        self._listing = listing
        self._changed = changed
        self._tell = tell

    # --- what is seen ---

    def seen(self, item: T) -> None:
        """Take one as the server describes it; what was asked of it is done if its status changed.

        The answer to a call may be older than what was told meanwhile: then that stays.
        """
        before, mark = self._listing.get(item.id), self.marks.get(item.id)
        if before is not None and item.last_event_id < before.last_event_id:
            return
        if mark is not None and mark.asked and (before is None or before.status != item.status):
            del self.marks[item.id]
        self._listing.put(item)

    def seen_all(self, items: Iterable[T], *, has_archived: bool) -> None:
        """Take note that there are no others; a list without archived ones says nothing about them."""
        known = {item.id for item in items}
        for item in self._listing.items:
            if item.id not in known and (has_archived or not item.archived):
                self.gone(item.id)

    def gone(self, item_id: str) -> None:
        """Take note that one is no more."""
        self.marks.pop(item_id, None)
        self._listing.remove(item_id)

    # --- changing and deleting ---

    async def change(self, item: T, **fields: Any) -> None:
        await self._ask(item.id, "", lambda client: client.change(item.id, **fields))

    async def rest(self, item: T) -> None:
        """Have one that was deleted, and may be kept after all, do nothing meanwhile."""

    # --- asking ---

    async def _ask(self, item_id: str, asked: str, call: Callable[[C], Awaitable[T | None]]) -> bool:
        """Ask for something; return whether the server agreed. Until then the row says ``asked``, if that is
        anything.
        """
        if asked:
            self.marks[item_id] = Mark(asked)
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
        """Wait until one is made; return it, listed already, or nothing where the server refused."""
        try:
            made = await making
        except AgentTuiError as error:
            self._failed(error)
            return None
        self.seen(made)
        self._changed()
        return made

    def _failed(self, error: AgentTuiError, item_id: str = "", *, is_bad: bool = True) -> None:
        """Say why something was not done, and of what; that is listed as before."""
        self.marks.pop(item_id, None)
        item = self._listing.get(item_id)
        line = localised(inert_line(str(error), MAX_ERROR_CHARACTERS))
        self._tell(f"{self._listing.kind.name_of(item)}: {line}" if item is not None else line, is_bad)
        self._changed()
