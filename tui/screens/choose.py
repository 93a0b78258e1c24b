"""A dialog to choose one of many, found by typing a part of it; some callers allow any other text, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, OptionList

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui.forms.fields import MAX_LINE_CHARACTERS, Line, wrong
from tui.screens.dialog import Dialog, framed
from tui.screens.line_and_list import LineAndList, keys_of
from tui.screens.localised import localised
from tui.screens.words import count, say
from widgets.fuzzy import has_letters

MOST_SHOWN: Final = 200  # of the matches; a provider may offer thousands
MAX_LABEL_CHARACTERS: Final = 120
MAX_TITLE_CHARACTERS: Final = 300  # it may say why nothing is offered
MAX_COLUMN_CELLS: Final = 36  # of the labels, if details follow them: those of a model fit into 80 columns


@dataclass(frozen=True, slots=True)
class Candidate:
    """``label`` is the text for a person, ``detail`` follows it dim."""

    value: str
    label: str
    detail: str = ""


Candidates = Sequence[Candidate]
Load = Callable[[], Awaitable[Candidates]]


class ChooseScreen(Dialog[str | None]):
    """Closes with a value, or with ``None``. What is ``offered`` are candidates, or what returns them or says
    why there are none. With ``may_type`` the text of the filter can be the result. ``hint`` is
    the name of the text about its keys. ``marked`` is told each value that the mark comes to.
    """

    CSS_PATH = "room_dialogs.tcss"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("choose", "Back, nothing changed")

    def __init__(
        self,
        title: str,
        offered: Candidates | Load,
        value: str,
        *,
        may_type: bool = False,
        hint: str = "choose.hint",
        marked: Callable[[str], object] = lambda _value: None,
    ) -> None:
        super().__init__()
        self._title = title
        self._offered = offered
        self._value = value
        self._may_type = may_type
        self._hint = hint
        self._marked = marked
        hint = say("choose.filter.free" if may_type else "choose.filter")
        line, note = Line("", placeholder=hint, id="choose-filter"), say("choose.asking")
        self._part = LineAndList(line, note, note_first=False)
        self._known: Candidates = ()
        self._shown: list[Candidate] = []

    def compose(self) -> ComposeResult:
        title = inert_line(self._title, MAX_TITLE_CHARACTERS)
        yield framed(title, self._part, hint=say(self._hint))

    def on_mount(self) -> None:
        self._look_for_candidates()

    def on_screen_resume(self) -> None:
        """Look again: a model may have been connected meanwhile."""
        if self._known:  # it is not just opening
            self._look_for_candidates()

    @work(group="candidates", exclusive=True)
    async def _look_for_candidates(self) -> None:
        offered = self._offered
        try:
            self._known = await offered() if callable(offered) else offered
        except AgentTuiError as error:
            self._list(wrong(localised(error), MAX_LINE_CHARACTERS))
        else:
            self._list("" if self._known else say("choose.none"))

    def _list(self, note: str = "") -> None:
        """Show the matches, the current choice first."""
        typed = self._part.typed
        found = _fitting(self._known, typed)
        missing = len(found) - MOST_SHOWN
        self._shown = found[:MOST_SHOWN]
        if typed and self._may_type and all(candidate.value != typed for candidate in self._known):
            self._shown.append(Candidate(typed, say("choose.typed", typed=inert_line(typed, 80))))
        values = [candidate.value for candidate in self._shown]
        at = values.index(self._value) if self._value in values and not typed else 0
        wide = max((cell_len(candidate.label) for candidate in self._shown if candidate.detail), default=0)
        self._part.show([self._content(candidate, wide) for candidate in self._shown], at if values else None)
        if not note and missing > 0:
            note = say("choose.more", count=count(missing))
        elif not note and self._known and not self._shown:
            note = say("choose.nothing")
        if note or self._known:
            self._part.note.update(note)
        self._part.note.display = bool(note) or not self._known

    def _content(self, candidate: Candidate, wide: int) -> Content:
        """Return the row of a candidate; details begin after a label padded to ``wide``."""
        label = inert_line(candidate.label, MAX_LABEL_CHARACTERS)
        detail = inert_line(candidate.detail, MAX_LABEL_CHARACTERS)
        if candidate.value == self._value and self._value:
            detail = " · ".join(filter(None, (say("choose.now"), detail)))
        parts: list[Content | str | tuple[str, str]] = [label]
        if detail:
            space = " " * (2 + max(0, min(wide, MAX_COLUMN_CELLS) - cell_len(label)))
            parts.append((space + detail, "$text-muted"))
        return Content.assemble(*parts)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._list()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._marked(self._shown[event.option_index].value)

    def on_line_and_list_taken(self, event: LineAndList.Taken) -> None:
        if event.at is not None:
            self.dismiss(self._shown[event.at].value)

    def action_move(self, step: int) -> None:
        self._part.move(step)


def _fitting(candidates: Candidates, typed: str) -> list[Candidate]:
    """Return the candidates with every typed word, then those that only have its letters in order."""
    ranked: tuple[list[Candidate], list[Candidate]] = [], []
    words = typed.casefold().split()
    for candidate in candidates:
        text = f"{candidate.label} {candidate.value}".casefold()
        if all(word in text for word in words):
            ranked[0].append(candidate)
        elif all(has_letters(word, text) for word in words):
            ranked[1].append(candidate)
    return [*ranked[0], *ranked[1]]
