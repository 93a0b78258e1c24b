"""A transcript that owns its rows: what an agent says, as it says it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip

from agent_tui.model.inert import inert
from widgets.color import ground_of, readable
from widgets.layout import Line, strips_in
from widgets.painter import COMPONENTS, Look, Painter
from widgets.shown import is_shown
from widgets.signs import BELOW, FAILED
from widgets.terminal.frame_clock import FrameClock
from widgets.transcript.folding import Folding
from widgets.transcript.message import Message
from widgets.transcript.scroll_mark import with_scroll_mark
from widgets.transcript.spoken import Spoken

WHEEL_ROWS: Final = 3


class Transcript(Folding, can_focus=True):
    """Messages under one another, the last one growing.

    Feeding is O(1); the work is done once a frame, when the clock calls ``draw``, and is bounded by what is
    on the screen. Borders, padding and scrollbars of the stylesheet do not apply: the widget draws every
    cell itself (see ``widgets.painter``).
    """

    ALLOW_SELECT = False  # Textual would select the widget's repr; ``Reading`` selects
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *[f"transcript--{name}" for _, name in COMPONENTS],
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
        & > .transcript--quote { color: $foreground 80%; }
        & > .transcript--heading { text-style: bold; }
        & > .transcript--dim { color: $foreground 70%; }
        & > .transcript--mark { color: $foreground 60%; }
        & > .transcript--link { text-style: underline; }
        & > .transcript--url { color: $foreground 70%; }
        & > .transcript--code { background: $panel; }
        & > .transcript--fence { color: $foreground; background: $panel; }
        & > .transcript--keyword { color: $text-accent; }
        & > .transcript--string { color: $text-success; }
        & > .transcript--comment { color: $foreground 75%; text-style: italic; }
        & > .transcript--number { color: $text-warning; }
        & > .transcript--name { color: $text-primary; }
        & > .transcript--builtin { color: $text-primary; }
        & > .transcript--added { color: $text-success; }
        & > .transcript--removed { color: $text-error; }
        & > .transcript--failed { color: $error; }
        & > .transcript--below { text-style: bold reverse; }
        & > .transcript--found { background: $secondary 30%; text-style: underline; }
        & > .transcript--found-current { text-style: bold reverse; }
        & > .transcript--selection { background: $primary 35%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_rows(-1)", "Up", id="pane.up", show=False),
        Binding("down", "scroll_rows(1)", "Down", id="pane.down", show=False),
        Binding("pageup", "scroll_pages(-1)", "Page up", id="pane.page_up", show=False),
        Binding("pagedown", "scroll_pages(1)", "Page down", id="pane.page_down", show=False),
        Binding("home", "to_start", "Top", id="pane.home", show=False),
        Binding("end", "follow", "Follow", id="pane.follow", show=False),
    ]

    def __init__(
        self,
        *,
        clock: FrameClock,
        color: str = "",
        ascii_only: bool = False,
        has_divider: bool = False,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own word
        classes: str | None = None,
    ) -> None:
        """``color`` (``#rrggbb``, made readable) is the agent's; ``has_divider`` draws the right edge."""
        super().__init__(name=name, id=id, classes=classes)
        self.set_reactive(Transcript.auto_links, False)  # else the mouse over a link repaints all rows
        self._clock = clock
        self._color = color
        self._color_name = ""
        self._ascii_only = ascii_only
        self._has_divider = has_divider
        self._lines: list[Line] = []
        self._ground: tuple[Style, Color] | None = None
        self._painted_for: tuple[object, ...] = ()  # what the painter's look was made from

    # --- what comes in ---

    def turn_opened(
        self, key: str, title: str = "", *, sign: str = "", color: str = "", who: str = ""
    ) -> None:
        """Begin a message. ``title`` becomes a dim row above it, what is behind a tab in it at the right; a
        known ``key`` goes on under it.

        With a ``color`` (what a server says; it may be anything) the message has a bar in the gutter and its
        title in that colour; ``who`` picks one where that is no colour.
        """
        title = f"{sign} {title}".strip()
        message = self._messages.get(key)
        if message is None:
            message = self._messages[key] = Message(key, title, color=color, who=who)
            self._view.messages.append(message)
        else:
            message.retitle(title)
            self._reads_anew(message)
        self._clock.mark(self)

    def text_added(self, key: str, text: str) -> None:
        """Add text at the end of a message (an unknown ``key`` begins one). O(1)."""
        if key not in self._messages:
            self.turn_opened(key)
        message = self._messages[key]
        if message.is_closed:
            self._reads_anew(message)
        message.add(text)
        if self._finder is not None:
            self._finder.grew(message)
        self._clock.mark(self)

    def turn_closed(self, key: str, note: str = "", *, sign: str = "") -> None:
        """End a message. ``note`` becomes its last row: dim, or red if it begins with the sign of failure."""
        message = self._messages.get(key)
        if message is not None:
            note = f"{sign} {note}".strip()
            message.close(note, is_failure=note.startswith(FAILED))
            if self._finder is not None:
                self._finder.grew(message)
            self._clock.mark(self)

    def line_opened(self, key: str, title: str = "", *, color: str = "", who: str = "") -> None:
        """Begin a line of a spoken conversation: its words stand in one row with the name and, what is
        behind a tab in ``title``, the time. It goes on as a message does.
        """
        if key not in self._messages:
            line = self._messages[key] = Spoken(key, title, color=color, who=who)
            self._view.messages.append(line)
            self._clock.mark(self)

    def line_closed(self, key: str, *, tail: str = "", note: str = "") -> None:
        """End such a line: ``tail`` stands behind its last word, ``note`` below."""
        line = self._messages.get(key)
        if isinstance(line, Spoken):
            line.set_tail(tail)
        self.turn_closed(key, note)

    def turn_reopened(self, key: str) -> None:
        """Let a message that was ended go on; its note goes. O(1)."""
        message = self._messages.get(key)
        if message is not None:
            message.reopen()
            self._reads_anew(message)
            self._clock.mark(self)

    def turn_titled(self, key: str, title: str) -> None:
        """Change the title of a message, open or closed. O(1)."""
        message = self._messages.get(key)
        if message is not None:
            message.set_title(title)
            self._clock.mark(self)

    def set_seams(self, key: str, seams: Sequence[int]) -> None:
        """Mark where the text of a message was cut and went on, in characters from its beginning."""
        message = self._messages.get(key)
        if message is not None and message.seams != tuple(seams):
            message.seams = tuple(seams)
            self._clock.mark(self)

    def turn_faded(self, key: str, *, is_faded: bool = True) -> None:
        """Show a message dim from now on: it is no longer meant, or not yet sure. Or not dim any more."""
        message = self._messages.get(key)
        if message is not None and message.is_faded != is_faded:
            message.fade(is_faded=is_faded)
            self._clock.mark(self)

    def text_replaced(self, key: str, text: str) -> None:
        """Let ``text`` be the whole text of a message."""
        if key not in self._messages:
            self.turn_opened(key)
        message = self._messages[key]
        known = message.whole_text()
        text = inert(text) if known else text
        if text == known:
            return
        if not message.is_closed and text.startswith(known):
            self.text_added(key, text[len(known) :])
            return
        message.replace(text)
        self._reads_anew(message)
        self._clock.mark(self)

    def clear(self) -> None:
        """Forget everything."""
        self._messages.clear()
        self._view.clear()
        self._forget_reading()
        self._clock.mark(self)

    # --- what can be asked and set ---

    @property
    def follow(self) -> bool:
        """Whether the last row stays in sight. Scrolling up ends it, reaching the end resumes it."""
        return self._view.follow

    @follow.setter
    def follow(self, follow: bool) -> None:
        if follow and not self._view.follow:
            self._choose(-1)
            self._view.to_end()
            self._clock.mark(self)
        elif not follow:
            self._view.stay()

    @property
    def ascii_only(self) -> bool:
        """Whether signs of ours are ASCII."""
        return self._ascii_only

    @property
    def color(self) -> str:
        """The agent's colour, ``#rrggbb``."""
        return self._color

    @color.setter
    def color(self, color: str) -> None:
        if color != self._color:
            self._color = color
            self._clock.mark(self)

    @property
    def has_divider(self) -> bool:
        """Whether a line is drawn down the right edge."""
        return self._has_divider

    @has_divider.setter
    def has_divider(self, has_divider: bool) -> None:
        if has_divider != self._has_divider:
            self._has_divider = has_divider
            self._clock.mark(self)

    @property
    def is_shown(self) -> bool:
        """Whether the pane is on the screen, with at most see-through screens (dialogs) above it."""
        return is_shown(self)

    def _redraw(self) -> None:
        self._clock.mark(self, now=True)

    def _came(self) -> None:
        self._clock.mark(self)

    # --- scrolling ---

    def action_scroll_rows(self, rows: int) -> None:
        """Scroll by rows, downwards if positive."""
        self._view.scroll(rows)
        self._redraw()

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll by screenfuls, one row less, so that the eye finds its line."""
        self.action_scroll_rows(pages * max(1, self._view.height - 1))

    def action_to_start(self) -> None:
        """Go to the first row."""
        self._view.to_start()
        self._redraw()

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self._choose(-1)
        self._view.to_end()
        self._redraw()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up by the wheel."""
        event.stop()
        self.action_scroll_rows(-WHEEL_ROWS)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down by the wheel."""
        event.stop()
        self.action_scroll_rows(WHEEL_ROWS)

    # --- drawing ---

    def head(self, painter: Painter) -> list[Line]:
        """Return the rows above the messages; for panes that have some."""
        return []

    def draw(self) -> bool:
        """Compose the rows anew and repaint those that differ; return whether work was left."""
        before = self._lines
        is_left = self._read_on()
        self._compose_lines()
        if len(before) != len(self._lines):
            self.refresh()
        else:
            self._repaint(before)
        return is_left or self._view.is_unsettled

    def _repaint(self, before: list[Line]) -> None:
        """Have the rows painted that differ, each as far as something stands in it."""
        changed = [
            Region(0, y, max(new.extent, old.extent), 1)
            for y, (old, new) in enumerate(zip(before, self._lines, strict=True))
            if new.strip is not old.strip and new != old
        ]
        if changed:
            self.refresh(*changed)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rows that were composed last; Textual asks for them whenever it repaints."""
        width, height = self.outer_size
        if not self.is_attached:  # removed a moment ago, and painted once more: its styles are gone already
            return [Strip.blank(crop.width)] * crop.height
        if self._painter is None or self._painter.look.width != width or len(self._lines) != height:
            # A new size or theme, and this is the first that hears of it.
            before = self._lines
            self._compose_lines()
            if len(before) == len(self._lines):
                self._repaint(before)
            if self._view.is_unsettled:
                self._clock.mark(self)
        return strips_in(crop, width, self._lines)

    def render_line(self, y: int) -> Strip:
        """Return one row."""
        return self.render_lines(Region(0, y, self.outer_size.width, 1))[0]

    def notify_style_update(self) -> None:
        """Paint everything anew after a change of theme or focus."""
        super().notify_style_update()
        self._painter = None
        self._ground = None

    def on_mount(self) -> None:
        """Draw what came in while the screen was covered, when it is uncovered."""
        self.watch(self.screen, "stack_updates", self._shown_again, init=False)

    def on_show(self) -> None:
        """Draw what came in while the pane was hidden."""
        self._clock.mark(self)

    def _shown_again(self) -> None:
        self._clock.mark(self)

    def _compose_lines(self) -> None:
        width, height = self.outer_size
        if width < 1 or height < 1:
            self._lines = []
            return
        painter = self._current_painter()
        head = self.head(painter)[:height]
        self._head_height = len(head)
        room = height - len(head)
        self._view.resize(painter.room, room)
        lines: list[Line] = []
        spans = self._view.frame()
        caret = spans[-1] if self._view.has_caret and not self._clock.is_calm else None
        for span in spans:
            lines += span.layout.lines(span.start, span.end - (span is caret), painter)
        if caret is not None:
            lines.append(caret.layout.with_caret(caret.end - 1, painter))
        lines = self._overlaid(lines, painter)
        lines += [painter.blank] * (room - len(lines))
        if not self._view.follow and lines:
            new = self._view.rows_new
            label = f" {BELOW} {new:,} new " if new else f" {BELOW} "
            lines[-1] = painter.with_label(lines[-1], label)
            lines = with_scroll_mark(lines, painter, *self._view.position())
        self._lines = head + lines

    def _current_painter(self) -> Painter:
        width, filters = self.outer_size.width, tuple(self.app.get_line_filters())
        shown = width, self._color, self._color_name, self._has_divider, self.app.theme, filters
        if self._painter is not None and shown == self._painted_for:
            return self._painter
        if self._ground is None:
            self._ground = self.rich_style, self.background_colors[1]
        base, background = self._ground
        ground = ground_of(background, self.app.current_theme)
        look = Look(
            width=width,
            base=base,
            background=background,
            color=readable(self._color, ground, self._color_name),
            ground=ground,
            has_divider=self._has_divider,
            ascii_only=self._ascii_only,
            filters=filters,
        )
        if self._painter is None or self._painter.look != look:
            self._painter = Painter(look, self._component)
        self._painted_for = shown
        return self._painter

    def _component(self, name: str) -> Style:
        return self.get_component_rich_style(f"transcript--{name}")
