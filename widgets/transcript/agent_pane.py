"""One agent's pane: a header row over its transcript, both in one widget."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.style import Style
from textual import events
from textual.color import Color
from textual.message import Message

from agent_tui.model.inert import inert_line
from widgets.color import ground_of, readable
from widgets.ink import DIM
from widgets.ink import FAILED as FAILED_INK
from widgets.layout import Line
from widgets.painter import Painter, cropped
from widgets.signs import DOT, FAILED, GUTTER, GUTTER_FOCUSED
from widgets.transcript.transcript import Transcript

MIN_NAME_CELLS: Final = 8
MIN_MODEL_CELLS: Final = 4
SEPARATOR: Final = f" {DOT} "


class AgentPane(Transcript):
    """The header says who speaks, with which model, and what it is doing. Focus shows in the header: the
    accent behind it, a thick bar, a bold name.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"agent-pane--header"}  # and those of Transcript
    DEFAULT_CSS = """
    AgentPane {
        & > .agent-pane--header { background: $background; }
        &:focus > .agent-pane--header { background: $accent 25%; }
    }
    """

    class HeadClicked(Message):
        """The header was clicked: the pane is wanted alone, or with the others again."""

    _told: tuple[str, str, str, str] = ("", "", "", "")  # name, model, state, colour
    _header: tuple[Painter, bool, Line] | None = None
    _ground: Style | None = None

    def header(self, name: str, model: str, state: str, color: str) -> None:
        """Say who speaks and what it is doing, such as "● 41 tok/s". At most one row is drawn.

        ``color`` is what the server says and may be anything.
        """
        told = (inert_line(name), inert_line(model), inert_line(state), color)
        if told != self._told:
            self._told = told
            self.canvas.color, self.canvas.who = color, told[0]
            self._header = None
            self.clock.mark(self)

    def on_click(self, event: events.Click) -> None:
        """Tell of clicks on the header; those on the words are the transcript's."""
        if event.y < self.canvas.head_height and not event.shift and event.button == 1:
            event.prevent_default()
            if event.chain == 1:  # a second click is no second wish
                self.post_message(self.HeadClicked())

    def notify_style_update(self) -> None:
        """Paint the header anew, too."""
        super().notify_style_update()
        self._ground = None

    def head(self, painter: Painter) -> list[Line]:
        """Return the header row."""
        if self._header is None or self._header[:2] != (painter, self.has_focus):
            if self._ground is None:
                self._ground = self.get_component_rich_style("agent-pane--header")
            below = ground_of(Color.from_rich_color(self._ground.bgcolor), self.app.current_theme)
            color = readable(self._told[3], below, self._told[0])
            line = _header_line(*self._told[:3], color, painter, self._ground, has_focus=self.has_focus)
            self._header = painter, self.has_focus, line
        return [self._header[2]]


def _header_line(
    name: str, model: str, state: str, color: str, painter: Painter, ground: Style, *, has_focus: bool
) -> Line:
    own = ground + Style(color=RichColor.parse(color), bold=has_focus)
    dim = ground + Style(color=painter.style(DIM).color)
    failed = ground + Style(color=painter.style(FAILED_INK).color)
    is_failure = state.startswith(FAILED)
    name, model, state = arranged(name, model, painter.own(state), painter.room)
    mark = painter.own(GUTTER_FOCUSED if has_focus else GUTTER) if painter.gutter else ""
    space = painter.room - cell_len(name) - cell_len(model) - cell_len(state)
    return painter.paint(
        [
            (mark, own),
            (name, own),
            (painter.own(model[: len(SEPARATOR)]) + model[len(SEPARATOR) :], dim),
            (" " * space, ground),
            (state, failed if is_failure else ground),
        ],
        ground=ground,
    )


def arranged(name: str, model: str, state: str, room: int) -> tuple[str, str, str]:
    """Return name, model (with its separator) and state as they fit in ``room`` cells, a cell apart.

    The model goes first, then the name is shortened to a few cells, then the state.
    """
    state = cropped(state, room - min(cell_len(name), MIN_NAME_CELLS) - 1)
    left = room - (cell_len(state) + 1 if state else 0)
    name = cropped(name, left)
    left -= cell_len(name) + len(SEPARATOR)
    if not model or left < min(cell_len(model), MIN_MODEL_CELLS):
        return name, "", state
    return name, SEPARATOR + cropped(model, left), state
