"""A transcript that owns its rows: what an agent says, as it says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, TypeAlias

from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from agent_tui.model.inert import inert
from widgets.ink import COMPONENTS
from widgets.layout import PaintedLine, Tone, strips_in
from widgets.painted import is_shown
from widgets.painter import ASK, ASKS, CARD, PEOPLE, Painter
from widgets.signs import FAILED
from widgets.terminal.frame_clock import FrameClock
from widgets.transcript import happened
from widgets.transcript.canvas import Canvas
from widgets.transcript.folding import Folds
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.pointing import Pointer
from widgets.transcript.reading import Reader
from widgets.transcript.sight import Sight
from widgets.transcript.spoken import SpokenMessage
from widgets.transcript.step import TranscriptStep
from widgets.transcript.view import View

WHEEL_ROWS: Final = 3


class Transcript(Widget, can_focus=True):
    """Messages below one another, the last one growing: it takes what comes in, scrolls and draws; its parts
    do the rest. Feeding is O(1); the work is done once a frame by ``draw``, bounded by what is on the screen.
    The looks are the app's (app.tcss); borders, padding and scrollbars do not apply.
    """

    ALLOW_SELECT = False  # Textual would select the widget's repr; the reader selects
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *[f"transcript--{name}" for _, name in COMPONENTS],
        *[f"transcript--{name}" for name in (CARD, ASK, ASKS)],
        "transcript--below",
        "transcript--found",
        "transcript--found-current",
        "transcript--selection",
    }
    DEFAULT_CSS = """
    Transcript {
        width: 1fr;
        height: 1fr;
        background: $background;
        color: $foreground;
        & > .transcript--dim { color: $foreground 70%; }
        & > .transcript--failed { color: $error; }
        & > .transcript--below { text-style: bold reverse; }
        & > .transcript--found { background: $secondary 30%; text-style: underline; }
        & > .transcript--found-current { text-style: bold reverse; }
        & > .transcript--selection { background: $primary 35%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_rows(-1)", "Up", id="pane.up", show=False),
        Binding("down,j", "scroll_rows(1)", "Down", id="pane.down", show=False),
        Binding("pageup", "scroll_pages(-1)", "Page up", id="pane.page_up", show=False),
        Binding("pagedown", "scroll_pages(1)", "Page down", id="pane.page_down", show=False),
        Binding("ctrl+u", "scroll_halves(-1)", "Half a page up", id="pane.half_up", show=False),
        Binding("ctrl+d", "scroll_halves(1)", "Half a page down", id="pane.half_down", show=False),
        Binding("home,g", "to_start", "Top", id="pane.home", show=False),
        Binding("end,G", "follow", "Follow new text", id="pane.follow", show=False),
        Binding("y", "copy('message')", "Copy the message", id="pane.copy_message", show=False),
        Binding("Y", "copy('code')", "Copy the code block", id="pane.copy_code", show=False),
        Binding("ctrl+c", "copy('selection')", "Copy the selection", id="pane.copy_selection", show=False),
        Binding("escape", "clear_selection", "Clear selection", id="pane.clear_selection", show=False),
        Binding("shift+up", "step_message(-1)", "Previous message", id="pane.previous_message", show=False),
        Binding("shift+down", "step_message(1)", "Next message", id="pane.next_message", show=False),
    ]

    CopyRequested: TypeAlias = happened.CopyRequested
    SelectionChanged: TypeAlias = happened.SelectionChanged
    FoundChanged: TypeAlias = happened.FoundChanged
    FollowChanged: TypeAlias = happened.FollowChanged
    Resized: TypeAlias = happened.Resized

    def __init__(
        self,
        *,
        clock: FrameClock,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.set_reactive(Transcript.auto_links, False)  # else the mouse over a link repaints all rows
        self.clock = clock
        self.messages: dict[str, TranscriptMessage] = {}
        self.view = View()
        self.canvas = Canvas(self)
        self.reader = Reader(self)
        self.folds = Folds(self)
        self.pointer = Pointer(self)
        self.sight = Sight(self)
        self.asked_row = ""  # the key of the card whose question the keys answer now
        self._was_followed = True

    # --- what comes in ---

    def turn_opened(
        self, key: str, title: str = "", *, color: str = "", who: str = "", is_spoken: bool = False
    ) -> None:
        """Begin a message, or continue a known one under another ``title``: a dim row above it, what is
        behind a tab at the right, what is behind another one wrapped below. A ``color`` (it may be anything;
        ``who`` picks one instead) is that of its title and of a bar. ``is_spoken``: a line of a spoken
        conversation, with the name and the time in its row.
        """
        message = self.messages.get(key)
        if message is None:
            kind = SpokenMessage if is_spoken else TranscriptMessage
            card = CARD if color == PEOPLE and not is_spoken else ""  # spoken lines are all one row
            message = self.messages[key] = kind(key, title, Tone(color, who, card=card))
            self.view.messages.append(message)
        else:
            message.set_title(title)
            message.reopen()
            self.reader.restarted(message)
        self.clock.mark(self)

    def text_added(self, key: str, text: str) -> None:
        """Add text at the end of a message (an unknown ``key`` begins one). O(1)."""
        if key not in self.messages:
            self.turn_opened(key)
        message = self.messages[key]
        if message.is_closed:
            self.reader.restarted(message)
        message.add(text)
        if self.reader.finder is not None:
            self.reader.finder.grew(message)
        self.clock.mark(self)

    def turn_closed(self, key: str, note: str = "", *, tail: str = "") -> None:
        """End a message; ``note`` is its last row, red for a failure; ``tail`` follows a spoken line."""
        message = self.messages.get(key)
        if message is None:
            return
        if isinstance(message, SpokenMessage):
            message.set_tail(tail)
        message.close(note, is_failure=note.startswith(FAILED))
        if self.reader.finder is not None:
            self.reader.finder.grew(message)
        self.clock.mark(self)

    def turn_reopened(self, key: str) -> None:
        """Let a message that was ended continue, without its note. O(1)."""
        message = self.messages.get(key)
        if message is not None:
            message.reopen()
            self.reader.restarted(message)
            self.clock.mark(self)

    def turn_titled(self, key: str, title: str) -> None:
        """Give a message, open or closed, this title. O(1)."""
        message = self.messages.get(key)
        if message is not None and message.title != title:
            message.set_title(title)
            self.clock.mark(self)

    def set_seams(self, key: str, seams: Sequence[int]) -> None:
        """Mark where the text of a message was cut and went on, in characters from its beginning."""
        message = self.messages.get(key)
        if message is not None and message.seams != tuple(seams):
            message.seams = tuple(seams)
            self.clock.mark(self)

    def turn_faded(self, key: str, *, is_faded: bool = True) -> None:
        """Show a message dim from now on: it is no longer meant, or not yet sure. Or not dim any more."""
        message = self.messages.get(key)
        if message is not None and message.fade(is_faded):
            self.clock.mark(self)

    def text_replaced(self, key: str, text: str) -> None:
        if key not in self.messages:
            self.turn_opened(key)
        message = self.messages[key]
        before = message.text.whole
        text = inert(text) if before else text
        if text == before:
            return
        if not message.is_closed and text.startswith(before):
            self.text_added(key, text[len(before) :])
            return
        message.replace(text)
        self.reader.restarted(message)
        self.clock.mark(self)

    def step_opened(
        self,
        key: str,
        *,
        title: str,
        summary: str = "",
        sign: str = "",
        is_folded: bool,
        color: str = "",
        who: str = "",
        is_dim: bool = False,
        is_set_in: bool = False,
    ) -> None:
        """Begin a step; a known ``key`` is opened again, and its fold stays. ``title`` is its kind or tool
        and, after two spaces or a tab, what it is about; ``sign`` and ``summary`` are at the right.
        ``is_dim`` shows all of it dim; ``is_set_in`` has it begin where the names of spoken lines do.
        """
        message = self.messages.get(key)
        if message is None:
            tone = Tone(color, who, is_faded=is_dim, card="" if is_dim else CARD)
            is_folded = self.folds.chosen.get(key, is_folded)
            step = TranscriptStep(key, tone, is_folded=is_folded, is_set_in=is_set_in)
            step.set_head(title, summary, sign)
            self.messages[key] = step
            self.view.messages.append(step)
        else:
            message.reopen()
            self.step_titled(key, title, summary, sign)
        self.clock.mark(self)

    def step_titled(self, key: str, title: str, summary: str = "", sign: str = "") -> None:
        """Set the head row of a step. O(1); the fold stays."""
        step = self.messages.get(key)
        if isinstance(step, TranscriptStep) and step.set_head(title, summary, sign):
            self.reader.restarted(step)
            self.clock.mark(self)

    def body_later(self, key: str, make: Callable[[], str], uncut: Callable[[], str] | None = None) -> None:
        """Let ``make()`` be the body of a step, called when it is unfolded or searched, and ``uncut()`` what
        is copied, where that is more. O(1) while it is folded: for steps that come by the thousand.
        """
        step = self.messages.get(key)
        if isinstance(step, TranscriptStep):
            step.set_body(make, uncut)
            self.reader.restarted(step)
            self.clock.mark(self)

    def clear(self) -> None:
        self.messages.clear()
        self.view.clear()
        self.reader.forget()
        self.pointer.let_go()
        self.sight.forget()
        self.clock.mark(self)

    # --- what can be asked and set ---

    @property
    def follow(self) -> bool:
        """Whether the last row stays in sight. Scrolling up ends it, reaching the end resumes it."""
        return self.view.follow

    @follow.setter
    def follow(self, follow: bool) -> None:
        if follow and not self.view.follow:
            self.reader.choose(-1)
            self.view.to_end()
            self.clock.mark(self)
        elif not follow:
            self.view.stay()

    @property
    def is_shown(self) -> bool:
        """Whether the pane is on the screen, with at most see-through screens (dialogs) above it."""
        return is_shown(self)

    # --- what the reader does ---

    def redraw(self) -> None:
        """Draw as soon as the terminal can take it: the reader did something."""
        self.clock.mark(self, now=True)

    def action_scroll_rows(self, rows: int) -> None:
        """Scroll by rows, downwards if positive."""
        self.sight.is_brought = False  # the reader goes elsewhere
        self.view.scroll(rows)
        self.redraw()

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll by screenfuls, one row less, so that the eye finds its line."""
        self.action_scroll_rows(pages * max(1, self.view.height - 1))

    def action_scroll_halves(self, halves: int) -> None:
        self.action_scroll_rows(halves * max(1, self.view.height // 2))

    def action_to_start(self) -> None:
        self.sight.is_brought = False
        self.view.to_start()
        self.redraw()

    def action_follow(self) -> None:
        self.reader.choose(-1)
        self.view.to_end()
        self.redraw()

    def action_step_message(self, step: int) -> None:
        """Go to the message before (-1) or to the next (+1); first to the beginning of a long one."""
        self.reader.step_message(step)

    def action_copy(self, what: happened.What) -> None:
        """Ask for a copy of what is selected, of the code block under the cursor or of the message."""
        self.reader.copy(what)

    def action_clear_selection(self) -> None:
        self.reader.clear_selection()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keep keys of the selection free while there is none."""
        if action == "clear_selection" or (action == "copy" and parameters == ("selection",)):
            return self.reader.has_selection
        return super().check_action(action, parameters)

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _wheel(self, event: events.MouseEvent) -> None:
        event.stop()
        self.action_scroll_rows(-WHEEL_ROWS if isinstance(event, events.MouseScrollUp) else WHEEL_ROWS)

    @on(events.MouseDown)
    @on(events.MouseMove)
    @on(events.MouseUp)
    @on(events.Click)
    def _point(self, event: events.MouseEvent) -> None:
        self.pointer.take(event)

    def on_hide(self) -> None:
        """End selecting when the pane goes out of sight."""
        self.pointer.let_go()

    # --- drawing ---

    def head(self, painter: Painter) -> list[PaintedLine]:
        """Return the rows above the messages; for panes that have some."""
        return []

    def draw(self) -> bool:
        """Compose the rows anew and repaint those that differ; return whether work was left."""
        is_left = self.pointer.scroll_on() | self.reader.search_on()
        changed = self.canvas.compose()
        self.sight.note_rows()
        if changed is None:
            self.refresh()
        elif changed:
            self.refresh(*changed)
        if self.follow != self._was_followed:
            self._was_followed = self.follow
            self.post_message(self.FollowChanged(self))
        return is_left or self.view.is_unsettled

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rows that were composed last; Textual asks for them whenever it repaints."""
        if not self.is_attached:  # removed a moment ago, and painted once more: its styles are gone already
            return [Strip.blank(crop.width)] * crop.height
        if self.canvas.is_outdated:  # a new size or theme, and this is the first that hears of it
            if changed := self.canvas.compose():
                self.refresh(*changed)
            self.sight.note_rows()
            if self.view.is_unsettled:
                self.clock.mark(self)
        return strips_in(crop, self.outer_size.width, self.canvas.lines)

    def render_line(self, y: int) -> Strip:
        return self.render_lines(Region(0, y, self.outer_size.width, 1))[0]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.canvas.forget_style()

    def on_mount(self) -> None:
        """Draw what came in while the screen was covered, when it is uncovered."""
        self.watch(self.screen, "stack_updates", lambda: self.clock.mark(self), init=False)

    @on(events.Show)
    @on(events.Resize)
    def _tell_size(self) -> None:
        """Draw what came in while the pane was hidden; tell that it came into sight or has another size."""
        self.clock.mark(self)
        self.post_message(self.Resized(self))
