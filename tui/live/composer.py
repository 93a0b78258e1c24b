"""Where a person writes, in a room and in a chat: the lines, what is shown above them, and the draft."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Rule, Static, TextArea

from agent_tui.model.inert import inert_line
from tui.live.drafts import LineDraft, past_texts
from tui.live.key_hints import keys_of
from tui.screens.words import count, say
from widgets.composer import MOST_ROWS, Composer
from widgets.status_line import Part, StatusLine

SMALL_SCREEN_ROWS = 24  # at most so many: no rule, and one line unless it is written in
WRITING_SHARE = 6  # while it is: this part of a small screen
LOW_SCREEN_ROWS = 10  # fewer: only while it is written in
MAX_NOTE_CHARACTERS = 300


class Writing(Vertical):
    """Keeps the draft of one room, chat or voice room. It sends nothing itself."""

    DEFAULT_CSS = """
    Writing {
        height: auto;
        background: $background;
        & .-empty { display: none; }
        &.-closed { display: none; }
        & > Horizontal { height: auto; }
        & > Rule.-horizontal { margin: 0; background: $background; color: $foreground 40%; }
        & .composer--note {
            height: auto; max-height: 4; padding: 0 1; background: $background; color: $foreground 70%;
        }
        & .composer--prompt { width: 3; height: 1; background: $background; }
    }
    """

    def __init__(self, kept_as: str, line: Composer) -> None:
        """``kept_as`` is the id of the room or chat."""
        super().__init__(id="composer")
        self.line = line
        self.draft = LineDraft(self, kept_as, lambda: self._text)
        self._queued = StatusLine(is_dim=True, classes="-empty")
        self._note = Static(classes="composer--note -empty", markup=False)
        self._rule = Rule()
        self._told = ""
        self._told_of = ""  # what was written then

    def compose(self) -> ComposeResult:
        yield self.line.choices
        yield self._queued
        yield self._note
        yield self._rule
        with Horizontal():
            yield Static(" › ", classes="composer--prompt", markup=False)
            yield self.line
            yield from self._beside()

    def _beside(self) -> list[Widget]:
        return []

    def on_mount(self) -> None:
        """Restore the draft."""
        self.line.past = past_texts()
        self.line.put(self.draft.load())
        self._show_note()
        self.line.free_keys = dict.fromkeys(keys_of(self.screen, "app.help"), "app.help")

    def on_unmount(self) -> None:
        """Save the draft, with its last letters."""
        self.draft.keep()

    # --- what is shown ---------------------------------------------------------------------------------

    def _show_note(self) -> None:
        """Show above the line what was told, or what is being written."""
        self._show_in_note(self._told)

    def _show_in_note(self, note: str) -> None:
        if note != self._note.content:  # this runs with every key
            self._note.update(note)
            self._note.set_class(not note, "-empty")

    def _show_queued(self, queued: Sequence[tuple[str, int]], key: str) -> None:
        """Show the first of each kind that waits, and how many there are; ``key`` opens all of them."""
        hint = [Part(say("hint.queue"), 1, key)] if queued and key and not self.has_line_focus else []
        shown = [Part(words, ending=say("between.beside", text=count(number))) for words, number in queued]
        self._queued.show(shown, right=hint)
        self._queued.set_class(not queued, "-empty")

    def tell(self, note: str) -> None:
        """Show a note until something else is written."""
        self._told, self._told_of = inert_line(note, MAX_NOTE_CHARACTERS), self.line.text
        self._show_note()

    def fit(self, rows: int) -> None:
        """Take no more than a screen of ``rows`` can spare."""
        is_small = rows <= SMALL_SCREEN_ROWS
        self._rule.set_class(is_small, "-empty")
        small = max(1, rows // WRITING_SHARE) if self.has_line_focus else 1
        self.line.styles.max_height = small if is_small else MOST_ROWS
        self.set_class(rows < LOW_SCREEN_ROWS and not self.has_line_focus, "-closed")

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def _fit_now(self) -> None:
        """Take more rows of a small screen while it is written in."""
        self.fit(self.app.size.height)

    # --- what is written -------------------------------------------------------------------------------

    @property
    def has_line_focus(self) -> bool:
        return self.is_attached and self.screen.focused is self.line  # before the line itself is told

    def open(self) -> None:
        self.set_class(False, "-closed")
        self.screen.set_focus(self.line, scroll_visible=False)

    def write(self, text: str) -> None:
        """Focus the line and insert some text into it."""
        self.open()
        self.line.insert(text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Save the draft a moment later; a note on an older text is over."""
        event.stop()
        if self.line.text != self._told_of:
            self._told = ""
        self._show_note()
        self.draft.keep_soon()

    @property
    def _text(self) -> str:
        """What is kept as the draft."""
        return self.line.text

    def on_composer_cleared(self, event: Composer.Cleared) -> None:
        """Say how to get it back."""
        event.stop()
        self.tell(say("composer.cleared"))

    async def on_composer_ended(self, event: Composer.Ended) -> None:
        """Quit, as a shell does at the end of its input."""
        event.stop()
        await self.run_action("app.leave")
