"""The rows of the list of rooms."""

from __future__ import annotations

from agent_tui.events import RoomInfo
from tui.screens import rooms_texts
from tui.screens.list_texts import Form, Mark, Piece
from tui.screens.row_list import RowList


class RoomList(RowList[RoomInfo]):
    """Draws rooms."""

    def form(self, cells: int, *, has_cost: bool) -> Form:
        """Return the columns for rows of so many cells."""
        return rooms_texts.form(cells, has_cost=has_cost)

    def row(self, item: RoomInfo, shape: Form, age: str, mark: Mark) -> list[Piece]:
        """Return the pieces of one room's row."""
        return rooms_texts.row(item, shape, age, mark)
