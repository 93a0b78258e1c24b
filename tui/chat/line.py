"""The lines that a question is written in: long pastes become files."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.message import Message

from widgets.choices import Completion
from widgets.composer import Composer, with_line_ends


class ChatLine(Composer):
    """``takes_paste`` is asked whether a pasted text is an attachment, which is then no text of the line."""

    class DropLast(Message):
        """Backspace with nothing to its left: the last attachment is not meant."""

    def __init__(
        self,
        completer: Callable[[str], Completion],
        takes_paste: Callable[[str], bool],
        *,
        ascii_only: bool = False,
    ) -> None:
        super().__init__(may_be_empty=True, completer=completer, ascii_only=ascii_only, id="chat-line")
        self._takes_paste = takes_paste

    # --- keys ------------------------------------------------------------------------------------------

    def action_delete_left(self) -> None:
        """Delete; with nothing to delete, the last attachment."""
        if self.text:
            super().action_delete_left()
        else:
            self.post_message(self.DropLast())

    def on_paste(self, event: events.Paste) -> None:
        """Take a path or a long text for an attachment."""
        if self._takes_paste(with_line_ends(event.text)):
            event.prevent_default()
            event.stop()
