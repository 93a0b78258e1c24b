"""Which items are listed and in which order: the contents of a list, without a screen.

A change costs two binary searches, however many items there are.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from agent_tui.model.events import ConversationInfo, RoomInfo
from tui.lists.order import Place, by_activity, moment_of
from tui.lists.texts import ColumnWidths, ItemMark, Piece, PreviewText

SortKey = Literal["activity", "name", "status", "tokens", "cost"]
SORT_KEYS: Final[tuple[SortKey, ...]] = ("activity", "name", "status", "tokens", "cost")
MAX_NAME_CHARACTERS: Final = 200

T = TypeVar("T", bound=RoomInfo | ConversationInfo)


@dataclass(frozen=True, slots=True)
class ListKind(Generic[T]):
    """The differences between the lists of rooms and of chats, row by row."""

    name_of: Callable[[T], str]  # the name, safe and in one line
    words_of: Callable[[T], Iterable[str]]  # what the filter searches
    rank_of: Callable[[T], int]  # the sort key of its status
    extra_cells: tuple[int, int, int, int]  # of the column after the name, see ``form_of``
    row: Callable[[T, ColumnWidths, str, ItemMark], list[Piece]]  # what the row shows, given its age
    state_cells: Callable[[T, ItemMark], int]  # how many its state needs
    preview: Callable[[T], list[PreviewText]] = lambda _item: []  # the preview of the row under the cursor


@dataclass(frozen=True, slots=True)
class ListEntry(Generic[T]):
    """One item in its place."""

    item: T
    place: Place
    moment: float  # its last activity, in seconds since 1970
    is_listed: bool


class Listing(Generic[T]):
    """Many items in order, those that match the filter."""

    def __init__(self, kind: ListKind[T], items: Iterable[T] = ()) -> None:
        self.kind = kind
        self._order: list[Place] = []
        self.sort: SortKey = "activity"
        self.needle = ""  # the filter; "" lists all
        self.shows_archived = False
        self.running = 0  # archived ones count only if they are shown
        self.total = 0  # with any filter; archived ones count only if they are shown
        self._named: Counter[str] = Counter()  # how many shown or filtered items have each name
        self.sorted_places = 0  # how many binary searches were done: the cost of changes
        self._entries: dict[str, ListEntry[T]] = {item.id: self._entry(item) for item in items}
        self._list()

    # --- what is known ---

    def __len__(self) -> int:
        """How many items are listed."""
        return len(self._order)

    def __getitem__(self, index: int) -> ListEntry[T]:
        return self._entries[self._order[index][-1]]

    def get(self, item_id: str) -> T | None:
        entry = self._entries.get(item_id)
        return entry.item if entry is not None else None

    def is_namesake(self, item: T) -> bool:
        return self._named[self.kind.name_of(item)] > 1

    def index_of(self, item_id: str) -> int | None:
        """Return the index of an item, if it is listed."""
        entry = self._entries.get(item_id)
        return bisect_left(self._order, entry.place) if entry is not None and entry.is_listed else None

    @property
    def items(self) -> list[T]:
        """All known items, in no order."""
        return [entry.item for entry in self._entries.values()]

    # --- what happens ---

    def put(self, item: T) -> None:
        """Add an item, or update it."""
        self.remove(item.id)
        entry = self._entries[item.id] = self._entry(item)
        self._count(entry, 1)
        if entry.is_listed:
            insort(self._order, entry.place)
            self.sorted_places += 1

    def remove(self, item_id: str) -> None:
        index = self.index_of(item_id)
        if index is not None:
            del self._order[index]
            self.sorted_places += 1
        entry = self._entries.pop(item_id, None)
        if entry is not None:
            self._count(entry, -1)

    def arrange(
        self, *, sort: SortKey | None = None, needle: str | None = None, archived: bool | None = None
    ) -> None:
        """Change the order or the filter; arguments that are not given stay as they are."""
        self.sort = self.sort if sort is None else sort
        self.needle = self.needle if needle is None else needle.strip().casefold()
        self.shows_archived = self.shows_archived if archived is None else archived
        self._entries = {item_id: self._entry(entry.item) for item_id, entry in self._entries.items()}
        self._list()

    def _count(self, entry: ListEntry[T], step: int) -> None:
        if self.shows_archived or not entry.item.archived:
            self.total += step
            self.running += step * (entry.item.status == "running")
            self._named[self.kind.name_of(entry.item)] += step

    def _list(self) -> None:
        self.running = self.total = 0
        self._named.clear()
        for entry in self._entries.values():
            self._count(entry, 1)
        self._order = sorted(entry.place for entry in self._entries.values() if entry.is_listed)
        self.sorted_places += len(self._order)

    def _entry(self, item: T) -> ListEntry[T]:
        moment = moment_of(item.updated_at)
        is_listed = (self.shows_archived or not item.archived) and self._fits(item)
        return ListEntry(item, self._place(item, moment), moment, is_listed)

    def _fits(self, item: T) -> bool:
        return not self.needle or any(self.needle in word.casefold() for word in self.kind.words_of(item))

    def _place(self, item: T, moment: float) -> Place:
        """Return the sort key of an item in the current order."""
        recent = -moment_of(item.created_at) if item.status == "running" else -moment
        match self.sort:
            case "activity":
                return by_activity(item)
            case "name":
                return (0.0, 0.0, self.kind.name_of(item).casefold(), item.id)
            case "status":
                return (float(self.kind.rank_of(item)), recent, "", item.id)
            case "tokens":
                return (-float(item.tokens), recent, "", item.id)
            case "cost":
                return (-(item.cost or 0.0), recent, "", item.id)
