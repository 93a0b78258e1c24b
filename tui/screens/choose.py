"""One of many, found by typing a part of it; where the asker allows it, any other word as well."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.errors import AgentTuiError
from agent_tui.inert import inert_line
from tui.screens.form_fields import MAX_LINE_CHARACTERS, Line, own, swatch
from tui.screens.words import count, say

MOST_SHOWN: Final = 200  # of what fits; a provider may offer thousands
PAGE: Final = 8
MAX_LABEL_CHARACTERS: Final = 120


@dataclass(frozen=True, slots=True)
class Candidate:
    """``label`` is what a person reads; a ``color`` is shown before it."""

    value: str
    label: str
    color: str = ""


Candidates = Sequence[Candidate]


class ChooseScreen(ModalScreen[str | None]):
    """Closes with a value, or with None. ``load`` brings what can be chosen, or says why there is nothing;
    with ``may_type`` what stands in the filter can be taken as it is.
    """

    CSS_PATH = "room_dialogs.tcss"
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back, nothing changed", id="choose.back", priority=True),
        Binding("up", "move(-1)", "One up", id="choose.up", show=False),
        Binding("down", "move(1)", "One down", id="choose.down", show=False),
        Binding("pageup", f"move(-{PAGE})", "Some up", id="choose.page_up", show=False),
        Binding("pagedown", f"move({PAGE})", "Some down", id="choose.page_down", show=False),
    ]

    def __init__(
        self,
        title: str,
        load: Callable[[], Awaitable[Candidates]],
        value: str,
        *,
        may_type: bool = False,
        ascii_only: bool = False,
    ) -> None:
        super().__init__()
        self._title = title
        self._load = load
        self._value = value
        self._may_type = may_type
        self._ascii_only = ascii_only
        self._known: Candidates = ()
        self._shown: list[Candidate] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide"):
            yield Static(inert_line(self._title, MAX_LABEL_CHARACTERS), classes="title", markup=False)
            filter_hint = say("choose.filter.free" if self._may_type else "choose.filter")
            yield Line("", placeholder=filter_hint, id="choose-filter")
            listed = OptionList(markup=False, compact=True)
            listed.can_focus = False  # the keys go to the filter, and from there to this screen
            yield listed
            yield Static(self._own("choose.asking"), classes="note", markup=False)
            yield Static(self._own("choose.hint"), classes="hint", markup=False)

    def _own(self, key: str) -> str:
        return own(say(key), ascii_only=self._ascii_only)

    def on_mount(self) -> None:
        """Ask what there is."""
        self._look_for_candidates()

    @work(group="candidates", exclusive=True)
    async def _look_for_candidates(self) -> None:
        try:
            self._known = await self._load()
        except AgentTuiError as error:
            self._list(inert_line(str(error), MAX_LINE_CHARACTERS))
        else:
            self._list("" if self._known else say("choose.none"))

    def _list(self, note: str = "") -> None:
        """Show what has the filter in it, what stands there now highlighted first."""
        typed = self.query_one(Line).value.strip()
        found = [one for one in self._known if typed.casefold() in f"{one.label} {one.value}".casefold()]
        missing = len(found) - MOST_SHOWN
        self._shown = found[:MOST_SHOWN]
        if typed and self._may_type and all(one.value != typed for one in self._known):
            self._shown.append(Candidate(typed, say("choose.typed", typed=inert_line(typed, 80))))
        listed = self.query_one(OptionList)
        listed.clear_options()
        listed.add_options(Option(self._content(one)) for one in self._shown)
        values = [one.value for one in self._shown]
        at = values.index(self._value) if self._value in values and not typed else 0
        listed.highlighted = at if values else None
        if not note and missing > 0:
            note = say("choose.more", count=count(missing))
        elif not note and self._known and not self._shown:
            note = say("choose.nothing")
        shown_note = self.query_one(".note", Static)
        if note or self._known:
            shown_note.update(note)
        shown_note.display = bool(note) or not self._known

    def _content(self, one: Candidate) -> Content:
        label = inert_line(one.label, MAX_LABEL_CHARACTERS)
        return (
            Content.assemble(swatch(self, one.color, ascii_only=self._ascii_only), f" {label}")
            if one.color
            else Content(label)
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what fits."""
        event.stop()
        self._list()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what is highlighted."""
        event.stop()
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._shown):
            self.dismiss(self._shown[at].value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take what was clicked."""
        event.stop()
        self.dismiss(self._shown[event.option_index].value)

    def action_move(self, step: int) -> None:
        """Highlight another one."""
        listed = self.query_one(OptionList)
        if self._shown:
            listed.highlighted = max(0, min((listed.highlighted or 0) + step, len(self._shown) - 1))
