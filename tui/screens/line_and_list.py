"""A line to type in, and a list of what matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import RenderableType
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalGroup
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.forms.fields import Line
from widgets.painted import plain_on_cursor

PAGE: Final = 8  # rows that a page key moves


def keys_of(scope: str, back: str) -> list[BindingType]:
    """Return the keys of such a dialog: their ids begin with ``scope``; ``back`` says what ``esc`` does."""
    return [
        Binding("escape", "dismiss", back, id=f"{scope}.back", priority=True),
        Binding("up", "move(-1)", "Up", id=f"{scope}.up", show=False),
        Binding("down", "move(1)", "Down", id=f"{scope}.down", show=False),
        Binding("pageup", f"move(-{PAGE})", "Page up", id=f"{scope}.page_up", show=False),
        Binding("pagedown", f"move({PAGE})", "Page down", id=f"{scope}.page_down", show=False),
    ]


class MatchList(OptionList):
    """A list whose muted words can be read on the cursor's row, too."""

    def render_line(self, y: int) -> Strip:
        return plain_on_cursor(super().render_line(y), self)


class LineAndList(VerticalGroup):
    """All keys go to the line, including those that move the mark; ``enter`` or a click takes the marked row.

    The widgets are held, not looked up: answers may come while the screen is being taken down.
    """

    class Taken(Message):
        """Posted when the row ``at`` was taken, or ``None``: ``enter`` was pressed and no row is marked."""

        def __init__(self, at: int | None) -> None:
            super().__init__()
            self.at = at

    def __init__(self, line: Line, note: str, *, note_first: bool) -> None:
        """``note`` is shown until another text is, above the list or below it."""
        super().__init__()
        self.line = line
        self.note = Static(note, classes="note", markup=False)
        self.note.display = bool(note)
        self._is_note_first = note_first
        self._listed = MatchList(markup=False, compact=True)
        self._listed.can_focus = False

    def compose(self) -> ComposeResult:
        yield self.line
        yield from (self.note, self._listed) if self._is_note_first else (self._listed, self.note)

    @property
    def typed(self) -> str:
        return self.line.value.strip()

    def show(self, rows: Sequence[Content | RenderableType], marked: int | None) -> None:
        """List these rows, one of them marked."""
        self._listed.clear_options()
        self._listed.add_options(Option(row) for row in rows)
        self._listed.highlighted = marked

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Taken(self._listed.highlighted))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Taken(event.option_index))

    def move(self, step: int) -> None:
        if self._listed.option_count:
            at = (self._listed.highlighted or 0) + step
            self._listed.highlighted = max(0, min(at, self._listed.option_count - 1))
