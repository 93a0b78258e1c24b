"""What ctrl+c does everywhere: it copies, clears the line, or quits when it is pressed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.command import CommandPalette
from textual.timer import Timer
from textual.widgets import Input, TextArea

from widgets.composer import Composer
from widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui.app import AgentTuiApp

AGAIN_SECONDS: Final = 2.0  # a second press within this quits


class Interrupt:
    """Ctrl+c, as in other programs that have a line to write in."""

    def __init__(self, app: AgentTuiApp) -> None:
        self._app = app
        self._waiting: Timer | None = None  # while another press quits

    def press(self) -> None:
        """Copy the selection; else clear the line with the focus; else ask for another press."""
        here = self._app.focused
        if isinstance(here, Transcript) and here.reader.has_selection:
            here.action_copy("selection")
        elif (
            isinstance(here, Input | TextArea) and here.selected_text and not getattr(here, "password", False)
        ):
            self._app.copy(here.selected_text, "selection")
        elif isinstance(here, Input | TextArea) and _cleared(here):
            self._forget()
        elif isinstance(self._app.screen, CommandPalette):  # it would cover the notification
            self._app.simulate_key("escape")
        else:
            is_again = self._waiting is not None
            self._forget()
            self._waiting = self._app.set_timer(AGAIN_SECONDS, self._forget)
            if is_again:
                self._app.places.leave(is_sure=True)
            else:
                self._app.places.say_what_quits(AGAIN_SECONDS)

    def _forget(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None


def _cleared(line: Input | TextArea) -> bool:
    """Clear a line; return whether there was anything in it."""
    if isinstance(line, Composer):
        return line.clear_line()
    text = line.value if isinstance(line, Input) else line.text
    line.clear()
    return bool(text)
