"""The help overlay. It is made from the bindings themselves, so that it cannot be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui.live.key_hints import Hints
from tui.screens.words import say

KEYS_GAP: Final = 2
KEYS_CELLS: Final = 26  # the keys may take this much of a line, then they wrap
MOST_PER_CENT: Final = 90  # of the screen's height
CHROME_ROWS: Final = 6  # of the dialog: padding, the filter, the hint, and the empty lines between them
MUTED: Final = "$text-muted"
HEADING: Final = "bold $primary"


@dataclass(frozen=True, slots=True)
class Row:
    """One action; ``reason`` says why it cannot be done now, "" if it can."""

    keys: str
    description: str
    reason: str = ""

    def has(self, needle: str) -> bool:
        needle = needle.casefold()
        return needle in self.description.casefold() or needle in self.keys.casefold()


@dataclass(frozen=True, slots=True)
class Section:
    """A group of actions under its title."""

    title: str
    rows: tuple[Row, ...]


class Filter(Input):
    """The filter line. The key that opened the help closes it, and is not typed."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Leave that key to the screen."""
        return key != "question_mark" and super().check_consume_key(key, character)


class HelpScreen(ModalScreen[None]):
    """Shows keys and what they do; typing filters the rows."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark", "dismiss", "Close", id="help.close", priority=True),
        Binding("up", "scroll(-1)", "Up", id="help.up", show=False),
        Binding("down", "scroll(1)", "Down", id="help.down", show=False),
        Binding("pageup", "scroll_pages(-1)", "Page up", id="help.page_up", show=False),
        Binding("pagedown", "scroll_pages(1)", "Page down", id="help.page_down", show=False),
    ]

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__()
        self._sections = sections

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="help"):
            with Horizontal(id="help-head"):
                yield Static(say("help.title"), classes="title", markup=False)
                yield Filter(placeholder=say("choose.filter"), id="help-filter", compact=True)
            with VerticalScroll(id="help-keys", can_focus=False):
                yield Static(id="help-rows", markup=False)
            yield Hints(say("help.close"))

    def on_mount(self) -> None:
        self.query_one(Hints).tell()
        self.query_one("#help-keys").styles.height = self._most_rows  # until its rows are known

    @property
    def _most_rows(self) -> int:
        return max(1, self.app.size.height * MOST_PER_CENT // 100 - CHROME_ROWS)

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._show)

    @on(Input.Changed)
    def _show(self) -> None:
        if self not in self.app.screen_stack:  # closed since
            return
        needle = self.query_one(Input).value.strip()
        keys = self.query_one("#help-keys")
        width = keys.content_region.width - keys.styles.scrollbar_size_vertical  # it covers the words
        kept = [filtered(section, needle) for section in self._sections]
        rows = help_text([section for section in kept if section.rows], width)
        self.query_one("#help-rows", Static).update(rows or Content.styled(say("find.none"), MUTED))
        if not needle:  # while something is typed the dialog keeps its size
            self.query_one("#help-keys").styles.height = min(self._most_rows, rows.plain.count("\n") + 1)

    def action_scroll(self, rows: int) -> None:
        self.query_one("#help-keys").scroll_relative(y=rows, animate=False)

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll by screens, one row less."""
        keys = self.query_one("#help-keys")
        keys.scroll_relative(y=pages * max(1, keys.content_region.height - 1), animate=False)


def filtered(section: Section, needle: str) -> Section:
    """Return a section with the rows that contain ``needle``; with all rows if its title contains it."""
    if needle.casefold() in section.title.casefold():
        return section
    return Section(section.title, tuple(row for row in section.rows if row.has(needle)))


def help_text(sections: Sequence[Section], width: int) -> Content:
    """Return the sections as lines of at most ``width`` cells; keys are in one column."""
    keys = [cell_len(row.keys) for section in sections for row in section.rows]
    keys_width = min(max(keys, default=0), KEYS_CELLS, max(1, width // 2))
    shown: list[Content] = []
    for section in sections:
        shared = _shared_reason(section)
        title = say("help.cannot", what=section.title, reason=shared) if shared else section.title
        heading = Content.assemble((section.title, HEADING), (title[len(section.title) :], MUTED))
        shown += heading.wrap(max(1, width))
        for row in section.rows:
            room = max(1, width - keys_width - KEYS_GAP)
            shown += _row(row, keys_width, room, says_why=not shared)
        shown.append(Content(""))
    return Content("\n").join(shown[:-1])


def _shared_reason(section: Section) -> str:
    """Return why nothing in a section can be done now; "" if something can, or the reasons differ."""
    reasons = {row.reason for row in section.rows}
    return reasons.pop() if len(reasons) == 1 and len(section.rows) > 1 else ""


def _row(row: Row, keys_width: int, room: int, *, says_why: bool) -> list[Content]:
    text = row.description
    if row.reason and says_why:
        text = say("help.cannot", what=row.description, reason=row.reason)
    keys, words = Content(row.keys).wrap(keys_width), Content(text).wrap(room)
    style = MUTED if row.reason else ""
    lines = []
    for key, word in zip_longest(keys, words, fillvalue=Content("")):
        shown = key.rstrip()
        padded = shown.pad_right(keys_width + KEYS_GAP - shown.cell_length)
        lines.append(Content.assemble(padded, word.rstrip()).stylize(style))
    return lines
