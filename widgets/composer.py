"""A few lines to write in, with history and completion."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.widgets import TextArea

from agent_tui.model.inert import inert
from widgets.choices import ChoiceList, Completion, Suggestion
from widgets.terminal.private import forget_theme_watcher, name_key, type_into
from widgets.units import UnitWords, decimal

if TYPE_CHECKING:
    from widgets.terminal.private import Edit, EditResult

MAX_CHARACTERS: Final = 100_000  # what a room takes as one message
TOO_LONG: Final = "not inserted: at most {most} characters fit – save it to a file and name the file"
MOST_ROWS: Final = 6
CURSOR_CELLS: Final = 1  # right of the text
SPACES_OF_A_TAB: Final = "    "
AT: Final = "@"
AFTER_NAME: Final = re.compile(r"[\s,:，：]")  # ends the name in a whisper
FIRST_MARKS: Final = str.maketrans({"＠": AT, "／": "/"})  # what Chinese input writes for them
FULL_WIDTH: Final = "fullwidth_"  # begins Textual's names of such keys


class _Keys(Enum):
    ALT_ENTER = "alt+enter"


# A terminal without the newer keyboard protocol sends these for alt+enter. Textual takes them for enter,
# which would send a half-written message.
name_key("\x1b\r", _Keys.ALT_ENTER)


class Composer(TextArea):
    """Takes no control characters. Typing and pasting end at ``MAX_CHARACTERS``; ``put`` cuts nothing.

    ``past`` is what was sent, the newest last. ``choices`` lists the completions; the owner of the completer
    shows it. ``free_keys`` run an action, and are not typed, while the text is empty.
    """

    class Submitted(Message):
        """Posted when the text is to be sent; it stays until ``take_away``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Cleared(Message):
        """Posted when the text was cleared; it becomes the newest of ``past``."""

    class ChoicesChanged(Message):
        """Posted when the completion list was opened or closed."""

    class Ended(Message):
        """Posted when the key for the end was pressed in an empty text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual's own line break would come first.
        Binding("enter", "send", "Send", id="composer.send", show=False, priority=True),
        Binding("alt+enter,ctrl+j", "new_line", "New line", id="composer.new_line", priority=True),
        Binding("ctrl+n", "choose(1)", "Down", id="composer.choice_below", priority=True),
        Binding("ctrl+p", "choose(-1)", "Up", id="composer.choice_above", priority=True),
        Binding("tab", "take_choice", "Insert the marked entry", id="composer.take", priority=True),
        Binding("escape", "close_choices", "Close the list", id="composer.close"),
        Binding("ctrl+d", "end", "Quit from an empty line", id="composer.end", show=False),
    ]
    DEFAULT_CSS = """
    Composer, Composer:focus {
        height: auto;
        max-height: 6;
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
        may_be_empty: bool = False,
        completer: Callable[[str], Completion] | None = None,
        id: str | None = None,
    ) -> None:
        """``completer`` gets the text before the cursor; with ``may_be_empty`` an empty text can be sent,
        too.
        """
        super().__init__(compact=True, highlight_cursor_line=False, placeholder=placeholder, id=id)
        self.cursor_blink = False
        self.choices = ChoiceList(self._take)
        self.free_keys: Mapping[str, str] = {}
        self.past: Sequence[str] = ()
        self._completer = completer
        self._closed_at: tuple[int, int] | None = None  # where the word begins whose list the person closed
        self._back = 0  # how far back in ``past`` the shown text is; 0 is the text being written
        self._written = ""  # kept while a text from ``past`` is shown
        self._may_be_empty = may_be_empty

    @property
    def completes(self) -> bool:
        """Whether it lists what fits to what is written."""
        return self._completer is not None

    def on_unmount(self) -> None:
        """Unregister from the app, which text areas watch for the theme."""
        forget_theme_watcher(self.app, self)

    def edit(self, edit: Edit) -> EditResult:
        """Make inserted text safe. Of what does not fit nothing is inserted: half of it would be sent."""
        text = inert(with_line_ends(edit.text)).replace("\t", SPACES_OF_A_TAB)
        if edit.top == (0, 0):
            text = text[:1].translate(FIRST_MARKS) + text[1:]
        if len(text) > 1:
            replaced = len(self.get_text_range(edit.top, edit.bottom))
            room = max(0, MAX_CHARACTERS - len(self.text) + replaced)
        else:
            room = 1 if self.document.line_count < MAX_CHARACTERS and len(self.text) < MAX_CHARACTERS else 0
        if len(text) > room:
            text, edit.from_location = "", edit.to_location  # what was selected stays
            most = decimal(MAX_CHARACTERS)
            self.notify(UnitWords.word(TOO_LONG).format(most=most), severity="warning", markup=False)
        edit.text = text
        return super().edit(edit)

    def put(self, text: str) -> None:
        """Replace the text with ``text``, with the cursor at its end."""
        self.load_text(inert(text).replace("\t", SPACES_OF_A_TAB))
        self.move_cursor(self.document.end)

    def take_away(self, sent: str) -> None:
        """Remove the sent text; what was written after it meanwhile stays."""
        if self.text.startswith(sent):
            self.put(self.text[len(sent) :])
        self._back = 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the rows of the text; before the first layout it is not wrapped yet."""
        wrapped = type(self.wrapped_document)(self.document, max(1, width - CURSOR_CELLS), self.indent_width)
        return max(1, wrapped.height)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.scroll_cursor_visible)

    def action_send(self) -> None:
        """Complete the current word first, if a completion is open; then post ``Submitted``. Waits until the
        letters typed before it are in the text: a priority binding would overtake them.
        """
        self.call_later(self._send)

    def _send(self) -> None:
        if self._takes_choice and (chosen := self.choices.marked) is not None:
            self.action_take_choice()
            if not chosen.is_all:
                return
        if self.text.strip() or self._may_be_empty:
            self.post_message(self.Submitted(self.text))

    def action_new_line(self) -> None:
        """Insert a line break, after what was typed before."""
        self.call_later(lambda: type_into(self, "\n", *self.selection))

    def action_cursor_up(self, select: bool = False) -> None:
        """Go up: in the list if it is open; from the first row to the text that was sent before."""
        if self.choices.is_open and not select:
            self.choices.move(-1)
        elif select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        else:
            self._step(1)

    def action_cursor_down(self, select: bool = False) -> None:
        """Go down: in the list if it is open; from the last row to the text that was sent after."""
        if self.choices.is_open and not select:
            self.choices.move(1)
        elif select or not self.navigator.is_last_wrapped_line(self.cursor_location):
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

    async def on_key(self, event: events.Key) -> None:
        """Run the action of a free key while the text is empty."""
        action = self.free_keys.get(event.key.removeprefix(FULL_WIDTH), "")
        if action and not self.text:
            event.prevent_default().stop()
            await self.run_action(action)

    @property
    def takes_letters(self) -> bool:
        """Whether letters are only typed: in an empty text some are keys."""
        return bool(self.text)

    def type_letters(self, letters: str) -> None:
        """Type all of these at once."""
        type_into(self, letters, *self.selection)

    def action_end(self) -> None:
        """Post ``Ended`` if the text is empty; else delete the character right of the cursor."""
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.Ended())

    def clear_line(self) -> bool:
        """Clear the text, and keep it in the history; return whether there was any."""
        text = self.text
        if text.strip():
            self.past = [*(earlier for earlier in self.past if earlier != text), text]
            self._back = 0
        self.put("")
        if text:
            self.post_message(self.Cleared())
        return bool(text)

    @property
    def completion(self) -> Completion:
        row, column = self.cursor_location
        lines = self.text.split("\n")
        is_selecting = self.selection.start != self.selection.end
        if self._completer is None or is_selecting or row >= len(lines):
            return Completion()
        if lines[row][column : column + 1].strip():
            return Completion()  # in the middle of a word
        return self._completer("\n".join([*lines[:row], lines[row][:column]]))

    @property
    def is_choosing(self) -> bool:
        return self.choices.is_open

    @on(TextArea.Changed)
    @on(TextArea.SelectionChanged)
    @on(events.Focus)
    @on(events.Blur)
    def look_for_choices(self) -> None:
        """List the completions of the text, if it has the focus."""
        completion = self.completion if self.has_focus else Completion()
        row, column = self.cursor_location
        begins_at = row, column - completion.length
        if not completion.choices or begins_at != self._closed_at:
            self._closed_at = None
        self._list(completion.choices if self._closed_at is None else ())

    def _list(self, choices: Sequence[Suggestion]) -> None:
        was_open = self.choices.is_open
        self.choices.show(choices)
        if self.choices.is_open != was_open:
            self.post_message(self.ChoicesChanged())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let the list's keys through while it is closed."""
        if action in ("choose", "take_choice", "close_choices"):
            return self.choices.is_open
        return super().check_action(action, parameters)

    def action_choose(self, step: int) -> None:
        self.choices.move(step)

    def action_close_choices(self) -> None:
        """Close the list until another word begins."""
        row, column = self.cursor_location
        self._closed_at = row, column - self.completion.length
        self._list(())

    def action_take_choice(self) -> None:
        if (chosen := self.choices.marked) is not None:
            self._write(chosen)

    def _take(self, at: int) -> None:
        if at < len(choices := self.completion.choices):
            self._write(choices[at])

    def _write(self, choice: Suggestion) -> None:
        row, column = self.cursor_location
        end = "" if choice.word.endswith("/") else " "
        type_into(self, choice.word + end, (row, column - self.completion.length), (row, column))

    @property
    def _takes_choice(self) -> bool:
        """Whether ``enter`` takes the marked choice: the person moved the mark, or the typed word is not
        complete.
        """
        self.look_for_choices()  # what was typed last may not have been looked at
        length, choices = self.completion
        begun = self.text_before(length)
        return self.choices.was_moved or bool(begun and all(begun != choice.word for choice in choices))

    def text_before(self, length: int) -> str:
        """Return at most that many characters before the cursor, from its line."""
        row, column = self.cursor_location
        return self.document[row][column - length : column]


def with_line_ends(text: str) -> str:
    """Return a pasted text with our line ends: terminals send carriage returns."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def whispered(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the name that ``text`` is a whisper to (the longest that matches, in whatever case; "" for
    everyone), and the message.
    """
    text = text.strip()
    if not text.startswith(AT):
        return "", text
    rest = text[1:].lstrip()
    for name in sorted(names, key=lambda name: (len(name), rest.startswith(name)), reverse=True):
        begun, after = rest[: len(name)], rest[len(name) :]
        if begun.casefold() == name.casefold() and (not after or AFTER_NAME.match(after)):
            return name, AFTER_NAME.sub("", after, count=1).strip()
    return "", text


def name_begun(text: str) -> str:
    """Return the first word after the ``@`` that ``text`` begins with, "" if there is none."""
    text = text.strip()
    return AFTER_NAME.split(text[1:].lstrip(), maxsplit=1)[0] if text.startswith(AT) else ""
