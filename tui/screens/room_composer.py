"""Where a person writes to the room: what waits, what is meant, and the lines themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from agent_tui.events import QueuedMessage
from agent_tui.inert import inert_line
from tui.screens.room_drafts import Drafts
from tui.screens.words import count, say
from widgets.composer import MAX_CHARACTERS, MOST_ROWS, Composer, whispered
from widgets.status_line import Part, StatusLine

When = Literal["next", "now"]
DRAFT_SECONDS = 0.3  # after the last letter a draft is written
SMALL_SCREEN_ROWS = 24  # at most so many: one line and no rule
LOW_SCREEN_ROWS = 10  # fewer: only while it is written in
MOST_CANDIDATES = 5


class RoomComposer(Vertical):
    """Keeps the draft of one room. It sends nothing itself."""

    DEFAULT_CSS = """
    RoomComposer {
        height: auto;
        background: $background;
        & .-empty { display: none; }
        &.-closed { display: none; }
        & > Horizontal { height: auto; }
        & .composer--prompt { width: 3; height: 1; background: $background; }
        & .composer--when { width: 16; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "when", "At the next turn, or now", id="composer.when", priority=True),
    ]

    class WhenChanged(Message):
        """The other moment is meant."""

    def __init__(self, room_id: str, *, ascii_only: bool = False) -> None:
        super().__init__(id="composer")
        self.when: When = "next"
        self._room_id = room_id
        self._ascii_only = ascii_only
        self._drafts = Drafts()
        self._queued = StatusLine(is_dim=True, ascii_only=ascii_only, classes="-empty")
        self._note = StatusLine(is_dim=True, ascii_only=ascii_only, classes="-empty")
        self._rule = Rule(ascii_only=ascii_only)
        self._meant = StatusLine(is_dim=True, ascii_only=ascii_only, classes="composer--when")
        self.line = Composer(placeholder=say("composer.empty"))
        self._told = ""  # what became of the last sending
        self._saving: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._queued
        yield self._note
        yield self._rule
        with Horizontal():
            yield Static(" > " if self._ascii_only else " › ", classes="composer--prompt", markup=False)
            yield self.line
            yield self._meant

    def on_mount(self) -> None:
        """Go on where the writing was left."""
        self.line.past = self._drafts.past()
        self.line.put(self._drafts.draft(self._room_id))
        self._say_what_is_meant()

    def on_unmount(self) -> None:
        """Keep what was written: the last letters too."""
        self._keep()

    # --- what is shown ---------------------------------------------------------------------------------

    def fit(self, rows: int) -> None:
        """Take no more than a screen of ``rows`` has to give."""
        is_small = rows <= SMALL_SCREEN_ROWS
        self._rule.set_class(is_small, "-empty")
        self.line.most_rows = 1 if is_small else MOST_ROWS
        self.set_class(rows < LOW_SCREEN_ROWS and not self.has_line_focus, "-closed")

    def show_queue(self, queue: Sequence[QueuedMessage], key: str, names: Mapping[str, str]) -> None:
        """Say what waits for the next turn, the newest, and with which key to change it; ``names`` are what
        agents are called, by id.
        """
        parts = []
        if queue:
            newest = queue[-1]
            words = inert_line(newest.content, 120)
            if newest.to in names:
                words = say("queue.whisper", name=inert_line(names[newest.to], 40), words=words)
            parts = [Part(f"{say('queue.line', words=words)} ({count(len(queue))})")]
        self._queued.show(parts, right=[Part(say("hint.queue"), 1, key)] if queue and key else [])
        self._queued.set_class(not queue, "-empty")

    def show_names(self, names: Sequence[str]) -> None:
        """Complete these names from now on."""
        self.line.names = names

    def tell(self, note: str) -> None:
        """Say what became of the sending, until something else is written."""
        self._told = inert_line(note, 300)
        self._say_what_is_meant()

    def _say_what_is_meant(self) -> None:
        line = self.line
        name, _ = whispered(line.text, line.names)
        candidates = line.candidates if not name else []
        note = self._told
        if not note and candidates:
            names = "  ".join(f"@{inert_line(name, 30)}" for name in candidates[:MOST_CANDIDATES])
            note = say("composer.candidates", names=names)
        elif not note and name:
            note = say("composer.whisper", name=inert_line(name, 40))
        self._note.show([note] if note else [])
        self._note.set_class(not note, "-empty")
        meant = say(f"composer.when.{self.when}")
        self._meant.show(right=[meant])
        self._meant.styles.width = cell_len(meant) + 3

    # --- what is written -------------------------------------------------------------------------------

    @property
    def has_line_focus(self) -> bool:
        """Whether it is written in now."""
        return self.is_attached and self.screen.focused is self.line  # before the line itself is told

    def open(self) -> None:
        """Let it be written in."""
        self.set_class(False, "-closed")
        self.screen.set_focus(self.line, scroll_visible=False)

    def sent(self, text: str) -> None:
        """Take away what was sent, and remember it."""
        self.line.take_away(text)
        self.line.past = self._drafts.sent(text)
        self.tell("")
        self._keep()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep the draft, a moment later; what was told of an older text is over."""
        event.stop()
        self._told = ""
        self._say_what_is_meant()
        if self._saving is None:
            self._saving = self.set_timer(DRAFT_SECONDS, self._keep)

    def _keep(self) -> None:
        if self._saving is not None:
            self._saving.stop()
            self._saving = None
        if not self._drafts.keep(self._room_id, self.line.text) and self.is_mounted:
            self.notify(say("composer.not_kept"), severity="warning", markup=False)

    def action_when(self) -> None:
        """Mean the other moment."""
        self.when = "now" if self.when == "next" else "next"
        self._say_what_is_meant()
        self.post_message(self.WhenChanged())

    def on_composer_cut(self, event: Composer.Cut) -> None:
        """Say that not all of it found room."""
        event.stop()
        self.notify(say("composer.cut", most=count(MAX_CHARACTERS)), severity="warning", markup=False)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Make room again on a low screen."""
        self.fit(self.app.size.height)


class Rule(Widget):
    """A line from side to side."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Rule { height: 1; width: 1fr; background: $background; color: $foreground 40%; }"

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__()
        self._sign = "-" if ascii_only else "─"

    def render_line(self, y: int) -> Strip:
        """Return the row."""
        width = self.size.width
        return Strip([Segment(self._sign * width, self.rich_style)], width)
