"""What surrounds the rows of a list: headings, preview, filter, and an offer to connect a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import Input, Static

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import LinkChanged
from agent_tui.model.inert import inert_line
from tui.link import Link
from tui.lists.listing import Listing
from tui.lists.row_list import RowList, agent_color
from tui.lists.texts import Piece, PreviewText, heads_of
from tui.live import signs
from tui.live.key_hints import hints_of, say_keys
from tui.screens.localised import localised
from tui.screens.words import say
from widgets.status_line import Part

MAX_NEEDLE_CHARACTERS: Final = 200
WIDE_CELLS: Final = 140  # from this width on there is a preview beside the rows
LABEL: Final = "$text-muted"


class ListBody(Horizontal):
    """The rows, their headings, and on wide screens what the list knows of the row under the cursor."""

    def __init__(self, rows: RowList[Any], listing: Listing[Any], kind: str) -> None:
        """``kind`` is the first part of the column names' keys."""
        super().__init__(id="body")
        self._rows = rows
        self._listing = listing
        self._kind = kind
        self._heads = Static("", id="heads", markup=False)
        self._preview = Static("", id="preview", markup=False)
        self._told: tuple[Theme | None, tuple[PreviewText, ...]] = None, ()  # the theme, and what is shown

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self._heads
            yield self._rows
        yield self._preview

    def on_mount(self) -> None:
        """Show names in the colours of every new theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self.call_after_refresh(self.look))

    def look(self) -> None:
        """Show what changed; costs nothing if nothing did."""
        self.set_class(not len(self._listing), "-hidden")
        item = self._rows.cursor
        if item is None or not self.has_class("-wide"):
            return
        told = tuple(self._listing.kind.preview(item))
        if (self.app.current_theme, told) != self._told:
            self._told = self.app.current_theme, told
            self._preview.update(Content("\n\n").join([self._paragraph(one) for one in told]))

    def _paragraph(self, told: PreviewText) -> Content:
        text = Content.assemble(*[(piece.text, self._style(piece)) for piece in told.pieces])
        if not told.label:
            return text.stylize("bold")
        return Content.assemble((told.label, LABEL), "\n", text)

    def _style(self, piece: Piece) -> str:
        """Return the colour of an agent for its name, "" for other pieces."""
        if piece.agent is None:
            return ""
        color = agent_color(self._preview, piece.agent, self._preview.background_colors[1])
        return color if color.startswith("#") else f"ansi_{color}"

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= WIDE_CELLS, "-wide")
        self.look()

    def on_row_list_shaped(self) -> None:
        self._heads.update(heads_of(self._rows.shape, self._kind))

    def on_row_list_moved(self) -> None:
        self.look()


def server_state(link: LinkChanged) -> str:
    """Return what is wrong with the connection; "" while it is live."""
    if link.status == "connecting":
        return localised(link.detail)
    if link.status == "waiting":
        return say("list.waiting", title=localised(inert_line(link.detail)), seconds=round(link.delay))
    if link.status == "refused":
        return f"{signs.FAILED} {say('link.refused', detail=localised(inert_line(link.detail)))}"
    return ""


class FilterBar(Horizontal):
    """Calls ``look_for`` with the text while it is typed; hidden while it is empty."""

    def __init__(self, placeholder: str, look_for: Callable[[str], None], rows: Widget) -> None:
        """``rows`` gets the focus back."""
        super().__init__(id="filter-bar", classes="-hidden")
        self._line = Input(placeholder=placeholder, id="filter", compact=True, select_on_focus=False)
        self._line.max_length = MAX_NEEDLE_CHARACTERS
        self._look_for = look_for
        self._rows = rows

    def compose(self) -> ComposeResult:
        yield Static(say("find.label"), markup=False)
        yield self._line

    @property
    def is_typed(self) -> bool:
        """Whether keys go into it."""
        return self.is_attached and self.screen.focused is self._line

    def hints(self, kind: str) -> list[Part]:
        """Return what keys do while letters are only letters; nothing while it is not typed into."""
        if not self.is_typed:
            return []
        named = (
            (f"{kind}.down", "next"),
            (f"{kind}.up", "previous"),
            ("enter", "keep"),
            (f"{kind}.clear", "clear"),
        )
        return hints_of(self.screen, [(name, f"hint.{word}", 0) for name, word in named])

    def open(self) -> None:
        self.set_class(False, "-hidden")
        self._line.focus()

    def clear(self) -> None:
        self._line.value = ""
        self._close()

    def _close(self) -> None:
        self.set_class(not self._line.value, "-hidden")
        self._rows.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._look_for(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close()


class SetupOffer(Static):
    """Says which key connects a model, as long as there is none; takes no row otherwise."""

    DEFAULT_CSS = (
        "SetupOffer { height: auto; padding: 0 1; display: none; } SetupOffer.-shown { display: block; }"
    )

    def __init__(self, link: Link[Any]) -> None:
        super().__init__(markup=False)
        self._link = link

    @work(group="offer", exclusive=True)
    async def look(self, key: str) -> None:
        """Ask the backend for its providers; ``key`` connects a model, "" if no key does."""
        try:
            providers = await (await self._link.client()).backend.providers()
        except AgentTuiError:
            return  # unknown; the next look may tell
        is_needed = bool(key) and all(provider.kind == DEMO_PROVIDER for provider in providers)
        self.update(say_keys("list.only_demo", {"press": key}) if is_needed else "")
        self.set_class(is_needed, "-shown")
