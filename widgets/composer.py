"""A few lines to write in: they grow, remember what was sent, and complete names."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from agent_tui.model.inert import inert
from widgets.terminal.private import forget_theme_watcher, name_key, type_into

if TYPE_CHECKING:
    from widgets.terminal.private import Edit, EditResult

MAX_CHARACTERS: Final = 32_000
MOST_ROWS: Final = 6
SPACES_OF_A_TAB: Final = "    "
AT: Final = "@"


class _Keys(Enum):
    ALT_ENTER = "alt+enter"


# A terminal without the newer keyboard protocol sends these for alt+enter; Textual takes them for enter,
# which would send what is only half written.
name_key("\x1b\r", _Keys.ALT_ENTER)


class Composer(TextArea):
    """Takes nothing that a terminal would obey, and no more than ``MAX_CHARACTERS``.

    ``names`` are completed behind an ``@`` at the beginning; ``past`` is what was sent, the newest last.
    """

    class Submitted(Message):
        """The text is to be sent; it stays until ``take_away``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Cut(Message):
        """More was put in than there is room for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual's own line break would come first.
        Binding("enter", "send", "Send", id="composer.send", show=False, priority=True),
        Binding("alt+enter,ctrl+j", "new_line", "New line", id="composer.new_line", priority=True),
    ]
    DEFAULT_CSS = """
    Composer, Composer:focus {
        height: 1;
        width: 1fr;
        border: none;
        padding: 0;
        background: $background;
        scrollbar-size-vertical: 0;
        & .text-area--cursor-line { background: $background; }
    }
    """

    def __init__(
        self,
        *,
        placeholder: str = "",
        most_rows: int = MOST_ROWS,
        may_be_empty: bool = False,
        id: str | None = None,  # noqa: A002 - Textual's own word
    ) -> None:
        """``may_be_empty``: nothing can be submitted too."""
        super().__init__(compact=True, highlight_cursor_line=False, placeholder=placeholder, id=id)
        self.cursor_blink = False
        self.names: Sequence[str] = ()
        self.past: Sequence[str] = ()
        self._back = 0  # how many steps back in ``past`` the shown text is; 0 is what is being written
        self._written = ""  # kept while something of ``past`` is shown
        self._most_rows = most_rows
        self._may_be_empty = may_be_empty

    def on_unmount(self) -> None:
        """Be forgotten by the app, whose theme text areas watch."""
        forget_theme_watcher(self.app, self)

    # --- what is put in --------------------------------------------------------------------------------

    def edit(self, edit: Edit) -> EditResult:
        """Make harmless what comes in, and cut it to what there is room for."""
        text = inert(with_line_ends(edit.text)).replace("\t", SPACES_OF_A_TAB)
        if len(text) > 1:
            replaced = len(self.get_text_range(edit.top, edit.bottom))
            room = max(0, MAX_CHARACTERS - len(self.text) + replaced)
        else:
            room = 1 if self.document.line_count < MAX_CHARACTERS and len(self.text) < MAX_CHARACTERS else 0
        if len(text) > room:
            text = text[:room]
            self.post_message(self.Cut())
        edit.text = text
        result = super().edit(edit)
        self._fit()
        return result

    def put(self, text: str) -> None:
        """Show ``text`` instead of what stands there, the cursor at its end."""
        self.load_text(inert(text).replace("\t", SPACES_OF_A_TAB)[:MAX_CHARACTERS])
        self.move_cursor(self.document.end)
        self._fit()

    def take_away(self, sent: str) -> None:
        """Take what was sent out of the text; what was written behind it meanwhile stays."""
        if self.text.startswith(sent):
            self.put(self.text[len(sent) :])
        self._back = 0

    # --- how high it is --------------------------------------------------------------------------------

    @property
    def most_rows(self) -> int:
        """How many rows it may have."""
        return self._most_rows

    @most_rows.setter
    def most_rows(self, rows: int) -> None:
        self._most_rows = rows
        self._fit()

    def _fit(self) -> None:
        rows = max(1, min(self._most_rows, self.wrapped_document.height))
        height = self.styles.height
        if height is None or height.value != rows:
            self.styles.height = rows
            self.call_after_refresh(self.scroll_cursor_visible)

    def on_resize(self, event: events.Resize) -> None:
        """Fit anew, once it is wrapped anew."""
        self.call_after_refresh(self._fit)

    # --- keys ------------------------------------------------------------------------------------------

    def action_send(self) -> None:
        """Ask for the text to be sent; a name that is only begun is completed instead.

        A priority binding comes before the letters that were typed ahead of it in one burst and still wait
        for this line: it has to wait behind them, or what is sent lacks its end, and an empty line is not
        sent at all.
        """
        self.call_later(self._send)

    def _send(self) -> None:
        if self.candidates and self.text[1:] not in self.names and self.complete():
            return
        if self.text.strip() or self._may_be_empty:
            self.post_message(self.Submitted(self.text))

    def action_new_line(self) -> None:
        """Begin another line, behind what was typed before."""
        self.call_later(self._begin_line)

    def _begin_line(self) -> None:
        type_into(self, "\n", *self.selection)

    def action_cursor_up(self, select: bool = False) -> None:
        """Go up, from the first row to what was sent before."""
        if select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        else:
            self._step(1)

    def action_cursor_down(self, select: bool = False) -> None:
        """Go down, from the last row to what was sent after."""
        if select or not self.navigator.is_last_wrapped_line(self.cursor_location):
            super().action_cursor_down(select)
        else:
            self._step(-1)

    def _step(self, back: int) -> None:
        target = min(max(0, self._back + back), len(self.past))
        if target == self._back:
            return
        if self._back == 0:
            self._written = self.text
        self._back = target
        self.put(self.past[-target] if target else self._written)

    # --- names -----------------------------------------------------------------------------------------

    @property
    def candidates(self) -> list[str]:
        """The names that what was begun behind ``@`` may become."""
        text = self.text
        if not text.startswith(AT) or "\n" in text or self.cursor_location != self.document.end:
            return []
        begun = text[1:].casefold()
        return [name for name in self.names if name.casefold().startswith(begun)]

    def complete(self) -> bool:
        """Complete the first name that fits; return whether there was one."""
        candidates = self.candidates
        if candidates:
            self.put(f"{AT}{candidates[0]} ")
            self.post_message(TextArea.Changed(self))
        return bool(candidates)


def with_line_ends(text: str) -> str:
    """Return a pasted text with the ends of its lines as ours: terminals send returns for them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def whispered(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the name of ``names`` that ``text`` is a whisper to and the words behind it; ("", text) when it
    is for all. The longest name wins.
    """
    for name in sorted(names, key=len, reverse=True):
        head = f"{AT}{name}"
        if text.startswith(head) and text[len(head) : len(head) + 1].isspace():
            return name, text[len(head) :].strip()
    return "", text.strip()
