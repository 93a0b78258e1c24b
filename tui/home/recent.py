"""What a person could continue: the newest rooms, chats and voice sessions, in one list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from agent_tui.model.events import ConversationInfo, RoomInfo
from tui.lists import chats_texts, rooms_texts
from tui.lists.feed import ListSeen
from tui.lists.listing import Listing, ListKind
from tui.lists.texts import GAP, NO_MARK, ColumnWidths, ItemMark, Piece
from tui.screens.words import say

Conversation = RoomInfo | ConversationInfo
EXTRA_CELLS: Final = (12, 10, 5, 0)  # of the round, or the kind, by the width of a row
VOICE: Final = "voice"  # the kind of a spoken chat
NAME_CELLS: Final = 32  # at least for a name, if the state keeps its own minimum
LEAST_STATE_CELLS: Final = 16


def _kind(item: Conversation) -> ListKind[Any]:
    """Return how the list of such items shows them."""
    return rooms_texts.ROOMS if isinstance(item, RoomInfo) else chats_texts.CHATS


def _rank(item: Conversation) -> int:
    """Return the sort key: what needs a person first, then what is running, then the newest."""
    if item.status != "running":
        return 2
    return 0 if item.asks else 1


def _without_use(shape: ColumnWidths) -> ColumnWidths:
    """Return the columns without tokens and cost: the home screen gives that room to names."""
    name = shape.name + sum(cells + GAP for cells in (shape.tokens, shape.cost) if cells)
    taken = max(0, min(NAME_CELLS - name, shape.state - LEAST_STATE_CELLS))
    return replace(shape, name=name + taken, state=shape.state - taken, tokens=0, cost=0)


def _row(item: Conversation, shape: ColumnWidths, age: str, mark: ItemMark = NO_MARK) -> list[Piece]:
    shape = _without_use(shape)
    if isinstance(item, RoomInfo):
        return rooms_texts.row(item, shape, age, mark)
    what = say("home.voice" if item.kind == VOICE else "home.chat")  # instead of its model
    return chats_texts.row(replace(item, model=what), shape, age, mark)


class Recent:
    """The newest rooms and chats, as they are shown, without those for which ``is_deleted``."""

    def __init__(self, is_deleted: Callable[[str], bool]) -> None:
        kind: ListKind[Any] = ListKind(
            name_of=lambda item: _kind(item).name_of(item),
            words_of=lambda item: _kind(item).words_of(item),
            rank_of=_rank,
            extra_cells=EXTRA_CELLS,
            row=_row,
            state_cells=lambda item, mark: _kind(item).state_cells(item, mark),
        )
        self.listing: Listing[Any] = Listing(kind)
        self.listing.arrange(sort="status")
        self._known: dict[str, Conversation] = {}
        self._is_deleted = is_deleted

    def take(self, seen: ListSeen[Any], kind: type[Conversation]) -> None:
        """Take the rooms, or the chats, from a server."""
        gone = set(seen.removed)
        if seen.is_all:
            known = {item.id for item in seen.items}
            gone |= {one.id for one in self._known.values() if isinstance(one, kind)} - known
        for item_id in gone:
            self._known.pop(item_id, None)
            self.listing.remove(item_id)
        for item in seen.items:
            self._known[item.id] = item
            self._list(item)

    def look(self) -> None:
        """Leave out what was deleted since, and list again what was not deleted after all."""
        for item in self._known.values():
            if self._is_deleted(item.id) == (self.listing.get(item.id) is not None):
                self._list(item)

    def _list(self, item: Conversation) -> None:
        if self._is_deleted(item.id):
            self.listing.remove(item.id)
        else:
            self.listing.put(item)
