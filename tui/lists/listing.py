"""Which items are listed and in which order: the contents of a list, without a screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic

from tui.lists.order import SORTS, place_by
from tui.lists.texts import ListKind, T


class Listing(Generic[T]):
    """Many items in order, those that match the filter."""

    def __init__(self, kind: ListKind[T], items: Iterable[T] = ()) -> None:
        self.kind = kind
        self.needle = ""  # the filter; "" lists all
        self.sort = SORTS[0]
        self.shows_archived = False
        self._items = {item.id: item for item in items}
        self._listed: list[T] | None = None  # ``None`` after a change

    def __len__(self) -> int:
        """How many items are listed."""
        return len(self.listed)

    def __getitem__(self, index: int) -> T:
        return self.listed[index]

    @property
    def listed(self) -> list[T]:
        """Those that match the filter, in order."""
        if self._listed is None:
            self._listed = sorted(filter(self._fits, self.known), key=self._place_of)
        return self._listed

    @property
    def known(self) -> list[T]:
        """Those that are listed without a filter, in no order."""
        return [item for item in self._items.values() if self.shows_archived or not item.archived]

    @property
    def items(self) -> list[T]:
        """All items, in no order."""
        return list(self._items.values())

    def get(self, item_id: str) -> T | None:
        return self._items.get(item_id)

    def index_of(self, item_id: str) -> int | None:
        return next((index for index, item in enumerate(self.listed) if item.id == item_id), None)

    def put(self, item: T) -> None:
        """Add an item, or update it."""
        self._items[item.id] = item
        self._listed = None

    def remove(self, item_id: str) -> None:
        self._items.pop(item_id, None)
        self._listed = None

    def arrange(self, *, needle: str | None = None, archived: bool | None = None, sort: str = "") -> None:
        """Change the filter or the order; arguments that are not given stay as they are."""
        self.sort = sort or self.sort
        self.needle = self.needle if needle is None else needle.strip().casefold()
        self.shows_archived = self.shows_archived if archived is None else archived
        self._listed = None

    def _place_of(self, item: T) -> tuple[Any, ...]:
        if self.sort == SORTS[0]:
            return self.kind.place_of(item)
        return place_by(self.sort, item, self.kind.name_of(item))

    def _fits(self, item: T) -> bool:
        return not self.needle or any(self.needle in word.casefold() for word in self.kind.words_of(item))
