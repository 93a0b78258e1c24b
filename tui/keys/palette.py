"""The palette: everything that can be done, found by its name and by synonyms, the most used first."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from rich.cells import cell_len
from textual.await_complete import AwaitComplete
from textual.command import CommandInput, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.events import Resize
from textual.markup import escape
from textual.screen import Screen

from agent_tui.config.file import data_path
from tui.keys.actions import Offer, offers
from tui.keys.keymap import Keymap
from tui.keys.names import shown_all
from tui.keys.words import ALSO
from tui.live.drafts import read_json, write_kept
from tui.screens.words import say
from widgets.fuzzy import BEGINNING, SCATTERED, WORD, FuzzyMatch, match
from widgets.signs import is_ascii

if TYPE_CHECKING:
    from tui.app import AgentTuiApp

NOT_IN_PALETTE: Final = frozenset({"app.palette"})  # it is open already
USED: Final = "palette.json"  # in the data folder: how often each action was chosen
WIDEST: Final = 4  # a text may be this many times longer than the letters that were typed and found in it
CELLS: Final = 90  # of the dialog (app.tcss), as far as the terminal has them
EDGES: Final = 6  # cells of a row that are not used for words: padding and the scroll bar
MOVES: Final = frozenset(  # actions of any scope that only move the focus, the cursor or what is shown
    (
        *("up", "down", "page_up", "page_down", "half_up", "half_down", "first", "last"),
        *("next", "previous", "next.arrow", "previous.arrow", "next_message", "previous_message"),
        *("rows", "leave_line"),
    )
)
HIT: Final = "bold underline"
_LATER: Final = {"program": 1, "composer": 2, "find": 2, "panes": 2, "reading": 2}  # groups of the help
_SCORES: Final = {BEGINNING: 1.0, WORD: 0.9, SCATTERED: 0.5}
_ALSO: Final = 0.85  # a match in a synonym counts less than one in the name
_ENGLISH: Final = 0.8  # and one in an English word less than one in the language that is spoken


class UseCounts:
    """How often each action was chosen, over all runs. Never raises: what cannot be read counts as 0."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = (folder or data_path()) / USED

    def counts(self) -> dict[str, int]:
        """Return how often each action was chosen, by its id."""
        found = read_json(self._path)
        items = found.items() if isinstance(found, dict) else ()
        return {name: count for name, count in items if type(count) is int and count > 0}

    def add(self, binding_id: str) -> None:
        """Count one more choice."""
        counts = self.counts()
        write_kept(self._path, json.dumps({**counts, binding_id: counts.get(binding_id, 0) + 1}))


class PaletteRow(NamedTuple):
    """A row of the palette; ``also`` are synonyms, ``english`` those and the words of its title in English,
    ``used`` says how often it was chosen; ``moves``: see ``MOVES``.
    """

    title: str
    help: str
    do: Callable[[], Any]
    also: tuple[str, ...] = ()
    english: tuple[str, ...] = ()
    used: int = 0
    is_impossible: bool = False
    moves: bool = False


class FittedPalette(CommandPalette):
    """A palette that makes its rows again when its width changes, and closes only itself."""

    _width = 0  # for which the rows were made

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave out the keys of the rows while there is no room for any: Textual would fail to find them."""
        return action != "command_list" or all(
            rows.scrollable_content_region for rows in self.query(CommandList)
        )

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close, unless another screen was opened above meanwhile: Textual would close that one."""
        if self.is_active:
            return super().dismiss(result)
        nothing: AwaitComplete = AwaitComplete.nothing()  # type: ignore[no-untyped-call]  # as Textual has it
        return nothing

    def on_resize(self, event: Resize) -> None:
        if self._width not in (0, event.size.width):
            line = self.query_one(CommandInput)
            line.post_message(CommandInput.Changed(line, line.value))
        self._width = event.size.width


class Palette:
    """Shows the palette of the program, and does what is chosen there."""

    def __init__(self, app: AgentTuiApp, keymap: Keymap) -> None:
        self._app = app
        self._keymap = keymap
        self._used = UseCounts()

    def show(self) -> None:
        """Show every command, unless the palette is open, perhaps below another screen."""
        if not any(isinstance(screen, CommandPalette) for screen in self._app.screen_stack):
            search = say("palette.search")
            self._app.push_screen(FittedPalette([Actions], placeholder=search, id="--command-palette"))

    def entries(self, screen: Screen[object]) -> list[PaletteRow]:
        """Return all commands: the most used, then what is done most on such a screen, and last what is
        impossible now.
        """
        counts = self._used.counts()
        found = sorted(offers(screen, self._keymap), key=lambda offer: _LATER.get(offer.group, 0))
        rows = [self._row(offer, counts) for offer in found if NOT_IN_PALETTE.isdisjoint(offer.ids)]
        return sorted(rows, key=lambda row: (row.is_impossible, -row.used))

    def _row(self, offer: Offer, counts: dict[str, int]) -> PaletteRow:
        keys = shown_all(offer.keys, ascii_only=is_ascii(self._app)) or say("help.no_key")
        synonyms = [f"also.{id_}" for id_ in offer.ids if f"also.{id_}" in ALSO]
        english = " ".join([offer.english, *(ALSO[key] for key in synonyms)])
        return PaletteRow(
            offer.description,
            say("help.cannot", what=keys, reason=offer.reason) if offer.reason else keys,
            partial(self._do, offer),
            also=tuple(" ".join(map(say, synonyms)).casefold().split()),
            english=tuple(english.casefold().split()),
            used=sum(counts.get(id_, 0) for id_ in offer.ids),
            is_impossible=bool(offer.reason),
            moves=any(id_.partition(".")[2] in MOVES for id_ in offer.ids),
        )

    async def _do(self, offer: Offer) -> None:
        """Do what was chosen, or show why it cannot be done now."""
        if offer.reason:
            self._app.notify(f"{offer.description}{say('between.detail')}{offer.reason}", markup=False)
        else:
            self._used.add(offer.ids[0])
            await self._app.run_action(offer.action, offer.node)


class Actions(Provider):
    """Finds the rows for Textual's palette."""

    def _rows(self) -> list[PaletteRow]:
        return cast("AgentTuiApp", self.app).places.palette.entries(self.screen)

    def _row_of(self, entry: PaletteRow, places: Sequence[int] = ()) -> tuple[Content, str]:
        """Return an entry as it is shown: with its keys at the right if they fit, else with help below it.

        ``places`` are the letters of its title that matched.
        """
        title = Content(entry.title)
        for at in places:
            title = title.stylize(HIT, at, at + 1)
        free = min(CELLS, self.app.size.width) - EDGES - cell_len(entry.title) - cell_len(entry.help)
        row = title.append(" " * free + entry.help) if free >= 2 else title
        return row, "" if free >= 2 else escape(entry.help)

    async def discover(self) -> Hits:
        for entry in self._rows():
            if not entry.moves:  # who looks for those types them
                shown, below = self._row_of(entry)
                yield DiscoveryHit(shown, entry.do, entry.title, below or None)

    async def search(self, query: str) -> Hits:
        """Yield the rows that match; Textual sorts them by how well they do. If none does, Textual would say
        so in English only, so a row without an action says it.
        """
        fits = [(*fit(query.split(), entry), entry) for entry in self._rows()]
        hits = [found for found in fits if found[0]]
        for score, places, entry in hits:
            shown, below = self._row_of(entry, places)
            yield Hit(score, shown, entry.do, entry.title, below or None)
        if not hits:
            nothing = say("choose.nothing")
            yield Hit(0.01, Content(nothing), lambda: None, nothing)


def fit(words: Sequence[str], entry: PaletteRow) -> tuple[float, tuple[int, ...]]:
    """Return how well an entry matches what was typed, 0 if one of the words is missing, and the letters of
    its title that matched. What cannot be done now ranks below everything that can.
    """
    scores, places = [], set[int]()
    for word in words:
        own_fit = match(word, entry.title)
        score = _score(word, own_fit)
        if score and own_fit is not None:
            places |= set(own_fit.places)
        for among, counts in ((entry.also, _ALSO), (entry.english, _ENGLISH)):
            if score < counts and any(synonym.startswith(word.casefold()) for synonym in among):
                score = counts
        scores.append(score)
    if not scores or not all(scores):
        return 0.0, ()
    total = sum(scores) / len(scores) + min(entry.used, 50) / 1_000
    return (total / 100 if entry.is_impossible else total), tuple(sorted(places))


def _score(word: str, found: FuzzyMatch | None) -> float:
    if found is None or (found.rank[0] == SCATTERED and found.rank[1] > WIDEST * len(word)):
        return 0.0
    return _SCORES.get(found.rank[0], 0.7)
