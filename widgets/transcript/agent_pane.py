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
from widgets.color import Ground, ground_of, readable
from widgets.ink import DIM, PLAIN, STRONG
from widgets.ink import FAILED as FAILED_INK
from widgets.layout import PaintedLine
from widgets.painter import Painter, cropped
from widgets.signs import DOT, FAILED, GUTTER, GUTTER_FOCUSED, WARNS
from widgets.transcript.transcript import Transcript

MIN_NAME_CELLS: Final = 8
MIN_MODEL_CELLS: Final = 4
MAX_ABOUT_CHARACTERS: Final = 600
SEPARATOR: Final = f" {DOT} "
TINT: Final = 0.16  # of the agent's colour in its band
FOCUSED_TINT: Final = 0.3


class AgentPane(Transcript):
    """The header is a band in a tint of the agent's colour: its name, its model, its state."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"agent-pane--header"}  # and those of Transcript
    DEFAULT_CSS = """
    AgentPane {
        & > .agent-pane--header { background: $background; }
    }
    """

    class HeadClicked(Message):
        """Posted when the header was clicked: show the pane alone, or with the others again."""

    _fields: tuple[str, str, str, str, str] = ("", "", "", "", "")  # name, model, state, colour, about
    _header: tuple[Painter, bool, PaintedLine] | None = None

    def header(self, name: str, model: str, state: str, color: str, about: str = "") -> None:
        """Set the name and the state ("● 41 tok/s"), in one row. ``color`` may be any text. What an agent is
        ``about`` is shown until it speaks.
        """
        fields = (inert_line(name), inert_line(model), inert_line(state), color, about)
        if fields != self._fields:
            self._fields = fields
            self.canvas.color, self.canvas.who = color, fields[0]
            self.canvas.instead = inert_line(about, MAX_ABOUT_CHARACTERS)
            self._header = None
            self.clock.mark(self)

    def on_click(self, event: events.Click) -> None:
        """Post clicks on the header; clicks on the words belong to the transcript."""
        if event.y < self.canvas.head_height and not event.shift and event.button == 1:
            event.prevent_default()
            if event.chain == 1:  # a double click counts once
                self.post_message(self.HeadClicked())

    def head(self, painter: Painter) -> list[PaintedLine]:
        if self._header is None or self._header[:2] != (painter, self.has_focus):
            self._header = painter, self.has_focus, self._painted(painter)
        return [self._header[2]]

    def _painted(self, painter: Painter) -> PaintedLine:
        """Return the band. The terminal's own colours have no tints, so it stays as it is there."""
        theme, band = self.app.current_theme, self.get_component_rich_style("agent-pane--header")
        plain = Color.from_rich_color(band.bgcolor)
        below = ground_of(plain, theme)
        color = readable(self._fields[3], below, self._fields[0])
        if plain.ansi is None:
            tint = plain.blend(Color.parse(color), FOCUSED_TINT if self.has_focus else TINT)
            band += Style(bgcolor=tint.rich_color)
            below = ground_of(tint, theme)
            color = readable(color, below)
        own = band + Style(color=RichColor.parse(color), bold=True)
        mark = painter.own(GUTTER_FOCUSED if self.has_focus else GUTTER) if painter.gutter else ""
        name, model, state = arranged(*self._fields[:2], painter.own(self._fields[2]), painter.room)
        model = painter.own(model[: len(SEPARATOR)]) + model[len(SEPARATOR) :]
        space = painter.room - cell_len(name) - cell_len(model) - cell_len(state)
        about, *parts = [
            (text, band + _on(below, painter.style(ink)))
            for text, ink in [(model, DIM), *_parts(state, painter)]
        ]
        return painter.paint([(mark, own), (name, own), about, (" " * space, band), *parts], ground=band)


def _on(ground: Ground, style: Style) -> Style:
    """Return the colour of ``style``, changed until it is readable on ``ground``."""
    color = style.color
    if color is not None and color.triplet is not None and ground.color:
        color = RichColor.parse(readable(color.triplet.hex, ground))
    return Style(color=color)


def _parts(state: str, painter: Painter) -> list[tuple[str, int]]:
    """Return the parts at the right of a header, with their separators and inks."""
    separator = painter.own(SEPARATOR)
    first, *others = state.split(separator)
    inks = {painter.own(FAILED): FAILED_INK, WARNS: STRONG}
    return [
        (part, inks.get(part.removeprefix(separator)[:1], PLAIN))
        for part in (first, *(f"{separator}{other}" for other in others))
    ]


def arranged(name: str, model: str, state: str, room: int) -> tuple[str, str, str]:
    """Return name, model (with its separator) and state, a cell apart, in ``room`` cells: the model is left
    out first.
    """
    state = cropped(state, room - min(cell_len(name), MIN_NAME_CELLS) - 1)
    left = room - (cell_len(state) + 1 if state else 0)
    name = cropped(name, left)
    left -= cell_len(name) + len(SEPARATOR)
    if not model or left < min(cell_len(model), MIN_MODEL_CELLS):
        return name, "", state
    return name, SEPARATOR + cropped(model, left), state
