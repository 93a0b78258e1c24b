"""The rows of the list of chats."""

from __future__ import annotations

from agent_tui.events import ConversationInfo
from tui.screens import conversations_texts as texts
from tui.screens.list_texts import Form, Mark, Piece
from tui.screens.row_list import RowList


class ConversationList(RowList[ConversationInfo]):
    """Draws chats."""

    def form(self, cells: int, *, has_cost: bool) -> Form:
        """Return the columns for rows of so many cells."""
        return texts.form(cells, has_cost=has_cost)

    def row(self, item: ConversationInfo, shape: Form, age: str, mark: Mark) -> list[Piece]:
        """Return the pieces of one chat's row."""
        return texts.row(item, shape, age, mark)
