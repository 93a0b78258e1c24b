"""The lines that a question is written in: files and commands are completed, long pastes become files."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from textual import events
from textual.message import Message

from widgets.composer import Composer, with_line_ends
from widgets.terminal.private import type_into


class Completion(NamedTuple):
    """What the words before the cursor may become: the last ``length`` characters are replaced by one of
    ``words``.
    """

    length: int = 0
    words: tuple[str, ...] = ()
    must_choose: bool = False  # enter takes the first one, for what was typed is none of them


class ChatLine(Composer):
    """``completer`` is asked what the text before the cursor may become; ``takes_paste`` whether a pasted
    text is an attachment, which is then no text of the line.
    """

    class DropLast(Message):
        """Backspace with nothing to its left: the last attachment is not meant."""

    def __init__(
        self,
        completer: Callable[[str], Completion],
        takes_paste: Callable[[str], bool],
        *,
        placeholder: str = "",
    ) -> None:
        super().__init__(placeholder=placeholder, may_be_empty=True, id="chat-line")
        self._completer = completer
        self._takes_paste = takes_paste

    # --- completion ------------------------------------------------------------------------------------

    @property
    def completion(self) -> Completion:
        """What the words before the cursor may become."""
        row, column = self.cursor_location
        if self.selection.start != self.selection.end:
            return Completion()
        lines = self.text.split("\n")
        if row >= len(lines) or lines[row][column : column + 1].strip():
            return Completion()  # in the middle of a word
        return self._completer("\n".join([*lines[:row], lines[row][:column]]))

    @property
    def candidates(self) -> list[str]:
        """The words that what was begun may become."""
        return list(self.completion.words)

    def complete(self) -> bool:
        """Complete the first word that fits; return whether there was one."""
        completion = self.completion
        if not completion.words:
            return False
        row, column = self.cursor_location
        word = completion.words[0]
        end = "" if word.endswith("/") else " "
        type_into(self, f"{word}{end}", (row, column - completion.length), (row, column))
        return True

    def _send(self) -> None:
        if self.completion.must_choose and self.complete():
            return
        self.post_message(self.Submitted(self.text))

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
