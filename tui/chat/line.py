"""The line of a chat: long pastes become attachments."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.message import Message

from widgets.choices import Completion
from widgets.composer import Composer, with_line_ends


class ChatLine(Composer):
    """``takes_paste`` gets each pasted text and returns whether it became an attachment."""

    class DropLast(Message):
        """Posted when backspace was pressed with nothing to its left: remove the last attachment."""

    def __init__(self, completer: Callable[[str], Completion], takes_paste: Callable[[str], bool]) -> None:
        super().__init__(may_be_empty=True, completer=completer, id="chat-line")
        self._takes_paste = takes_paste

    # --- keys ------------------------------------------------------------------------------------------

    def action_delete_left(self) -> None:
        """Delete to the left; if there is nothing, remove the last attachment."""
        if self.text:
            super().action_delete_left()
        else:
            self.post_message(self.DropLast())

    def on_paste(self, event: events.Paste) -> None:
        """Attach a path or a long text."""
        if self._takes_paste(with_line_ends(event.text)):
            event.prevent_default()
            event.stop()
