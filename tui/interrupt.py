"""What ctrl+c does everywhere: it copies, clears the line, or quits when it is pressed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from textual.app import App
from textual.command import CommandPalette
from textual.timer import Timer
from textual.widgets import Input, TextArea

from widgets.composer import Composer
from widgets.transcript.transcript import Transcript

AGAIN_SECONDS: Final = 2.0  # a second press within this quits


class Interrupt:
    """Ctrl+c, as in other programs that have a line to write in."""

    def __init__(
        self,
        app: App[Any],
        *,
        copy: Callable[[str], object],
        ask: Callable[[float], None],
        leave: Callable[[], None],
    ) -> None:
        """``copy`` gets the selected text. ``ask`` says, for the given seconds, that another press quits."""
        self._app = app
        self._copy = copy
        self._ask = ask
        self._leave = leave
        self._waiting: Timer | None = None  # while another press quits

    def press(self) -> None:
        """Copy the selection; else clear the line with the focus; else ask for another press."""
        here = self._app.focused
        if isinstance(here, Transcript) and here.reader.has_selection:
            here.action_copy("selection")
        elif isinstance(here, Input | TextArea) and _can_be_copied(here):
            self._copy(here.selected_text)
        elif isinstance(here, Input | TextArea) and _cleared(here):
            self._forget()
        elif isinstance(self._app.screen, CommandPalette):  # it would cover the notification
            self._app.simulate_key("escape")
        else:
            self._go_on()

    def _go_on(self) -> None:
        is_again = self._waiting is not None
        self._forget()
        self._waiting = self._app.set_timer(AGAIN_SECONDS, self._forget)
        if is_again:
            self._leave()
        else:
            self._ask(AGAIN_SECONDS)

    def _forget(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None


def _can_be_copied(line: Input | TextArea) -> bool:
    """Whether some visible text is selected."""
    return bool(line.selected_text) and not (isinstance(line, Input) and line.password)


def _cleared(line: Input | TextArea) -> bool:
    """Clear a line; return whether there was anything in it."""
    if isinstance(line, Composer):
        return line.clear_line()
    text = line.value if isinstance(line, Input) else line.text
    line.clear()
    return bool(text)
