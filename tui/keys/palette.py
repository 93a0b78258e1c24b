"""The palette: everything that can be done, found by its name and by synonyms, the most used first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.command import (
    Command,
    CommandInput,
    CommandList,
    CommandPalette,
    DiscoveryHit,
    Hit,
    Hits,
    Provider,
)
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.markup import escape
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import LoadingIndicator
from textual.widgets.option_list import Option

from agent_tui.config.file import data_path
from tui import themes
from tui.keys.actions import Offer, offers
from tui.keys.keymap import Keymap
from tui.keys.layout import in_the_other_layout
from tui.keys.names import shown_all
from tui.keys.words import ALSO
from tui.live.drafts import read_json, write_kept
from tui.screens.words import say
from widgets.fuzzy import BEGINNING, SCATTERED, WORD, FuzzyMatch, match
from widgets.painted import plain_on_cursor
from widgets.signs import is_ascii

if TYPE_CHECKING:
    from tui.app import AgentTuiApp

NOT_IN_PALETTE: Final = frozenset({"app.palette"})  # it is open already
USED: Final = "palette.json"  # in the data folder: how often each action was chosen
MOST_USED: Final = 200  # actions that are counted
MOST_SHOWN_FIRST: Final = 5  # commands above all groups, those that were chosen most
MOST_COUNTED: Final = 1_000  # above this all counts are halved, so that habits can change
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
MUTED: Final = "$text-muted"
HEADING: Final = "bold $primary"
_LATER: Final = {"program": 1, "composer": 2, "find": 2, "panes": 2, "reading": 2}  # groups of the help
_SCORES: Final = {BEGINNING: 1.0, WORD: 0.9, SCATTERED: 0.5}
_ALSO: Final = 0.85  # a match in a synonym counts less than one in the name
_SHARED: Final = 0.7  # what fits only the words that many rows begin with counts less than any one action
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
        """Count one more choice; forgets the rarest actions if there are too many."""
        counts = self.counts()
        counts[binding_id] = counts.get(binding_id, 0) + 1
        if counts[binding_id] > MOST_COUNTED:
            counts = {name: count // 2 for name, count in counts.items() if count > 1}
        most = sorted(counts, key=lambda name: (name != binding_id, -counts[name]))[:MOST_USED]
        write_kept(self._path, json.dumps({name: counts[name] for name in most}))


class PaletteRow(NamedTuple):
    """A row of the palette; ``also`` are synonyms, ``english`` those and the words of its title in English,
    ``used`` says how often it was chosen, ``group`` is the heading above it while nothing is typed, ``own``
    the part of a title by which it differs from those of many other rows; ``moves``: see ``MOVES``.
    """

    title: str
    help: str
    do: Callable[[], Any]
    also: tuple[str, ...] = ()
    english: tuple[str, ...] = ()
    used: int = 0
    is_greyed: bool = False
    group: str = ""
    own: str = ""
    moves: bool = False


class Palette:
    """Shows the palette of the program, and does what is chosen there."""

    def __init__(self, app: AgentTuiApp, keymap: Keymap, wear: Callable[[str], None]) -> None:
        """``wear`` sets a theme until the end of the program."""
        self._app = app
        self._keymap = keymap
        self._wear = wear
        self._used = UseCounts()

    def show(self) -> None:
        """Show every command, unless the palette is open."""
        if not isinstance(self._app.screen, CommandPalette):
            self._app.push_screen(GroupedPalette([Actions], id="--command-palette"))

    def entries(self, screen: Screen[object]) -> list[PaletteRow]:
        """Return all commands and themes: the most used, group by group, and last what is impossible now."""
        found = self._offered(screen)
        able = sorted((entry for entry in found if not entry.is_greyed), key=lambda entry: -entry.used)
        first = [entry for entry in able if entry.used][:MOST_SHOWN_FIRST]
        groups: dict[str, list[PaletteRow]] = {entry.group: [] for entry in found}
        for entry in able[len(first) :]:
            groups[entry.group].append(entry)
        return [
            *(entry._replace(group=say("palette.used")) for entry in first),
            *(entry for group in groups.values() for entry in group),
            *self._themes(),
            *(entry._replace(group=say("palette.not_now")) for entry in found if entry.is_greyed),
        ]

    def _offered(self, screen: Screen[object]) -> list[PaletteRow]:
        """Return what the screen offers: what is done most on a screen of its kind first."""
        counts = self._used.counts()
        found = []
        for offer in sorted(offers(screen, self._keymap), key=lambda offer: _LATER.get(offer.group, 0)):
            if NOT_IN_PALETTE.isdisjoint(offer.ids):
                keys = shown_all(offer.keys, ascii_only=is_ascii(screen)) or say("help.no_key")
                line = say("help.cannot", what=keys, reason=offer.reason) if offer.reason else keys
                keys_of_words = [f"also.{one}" for one in offer.ids if f"also.{one}" in ALSO]
                also = " ".join(map(say, keys_of_words)).casefold().split()
                english = " ".join([offer.english, *(ALSO[key] for key in keys_of_words)]).casefold().split()
                used = sum(counts.get(one, 0) for one in offer.ids)
                do, group = partial(self._do, offer), say(f"help.group.{offer.group}")
                does = offer.description
                is_greyed = bool(offer.reason)
                moves = any(one.partition(".")[2] in MOVES for one in offer.ids)
                row = PaletteRow(
                    does, line, do, tuple(also), tuple(english), used, is_greyed, group, moves=moves
                )
                found.append(row)
        return found

    def _themes(self) -> Iterator[PaletteRow]:
        for name in (themes.AUTO, *themes.available(self._app.themes_folder)):
            wear = partial(self._wear, name)
            title, group = say("theme.use", name=name), say("theme.title")
            yield PaletteRow(title, say("theme.once"), wear, group=group, own=name)

    async def _do(self, offer: Offer) -> None:
        """Do what was chosen, or show why it cannot be done now."""
        if offer.reason:
            self._app.notify(f"{offer.description}{say('between.detail')}{offer.reason}", markup=False)
        else:
            self._used.add(offer.ids[0])
            await self._app.run_action(offer.action, offer.node)


@dataclass(eq=False)
class GroupedRow(DiscoveryHit):
    """A row of the palette while nothing is typed, under the heading ``group``."""

    group: str = ""


class GroupedList(CommandList):
    """The palette's list with a heading, which cannot be chosen, above each group."""

    def render_line(self, y: int) -> Strip:
        return plain_on_cursor(super().render_line(y), self)

    def add_options(self, new_options: Iterable[Any]) -> GroupedList:
        """Add rows, each group under its heading."""
        rows, group = list[Any](), ""
        for row in new_options:
            if isinstance(row, Command) and isinstance(row.hit, GroupedRow) and row.hit.group != group:
                group = row.hit.group
                heading = Content(group).stylize(HEADING)
                rows.append(Option(Content.assemble("\n", heading) if rows else heading, disabled=True))
            rows.append(row)
        super().add_options(rows)
        return self

    def validate_highlighted(self, highlighted: int | None) -> int | None:
        """Return the row below instead of a heading."""
        at = super().validate_highlighted(highlighted)
        return at + 1 if at is not None and self.get_option_at_index(at).disabled else at

    def scroll_to_highlight(self, top: bool = False) -> None:
        """Show the marked row, the first one with the heading above it."""
        super().scroll_to_highlight(top)
        if self.highlighted == 1:
            self.scroll_home(animate=False)


class GroupedPalette(CommandPalette):
    """Textual's palette with such a list."""

    def compose(self) -> ComposeResult:
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                yield CommandInput(placeholder=say("palette.search"), select_on_focus=False)
            with Vertical(id="--results"):
                yield GroupedList()
                yield LoadingIndicator()


class Actions(Provider):
    """Finds the rows for Textual's palette."""

    def _rows(self) -> list[PaletteRow]:
        return cast("AgentTuiApp", self.app).places.palette.entries(self.screen)

    def _row(self, entry: PaletteRow, places: Sequence[int] = ()) -> tuple[Content, str]:
        """Return an entry as it is shown: with its keys at the right if they fit, else with help below it.

        ``places`` are the letters of its title that matched.
        """
        title = Content(entry.title)
        for at in places:
            title = title.stylize(HIT, at, at + 1)
        free = min(CELLS, self.app.size.width) - EDGES - cell_len(entry.title) - cell_len(entry.help)
        if free < 2:
            return title.stylize(MUTED) if entry.is_greyed else title, escape(entry.help)
        keys = Content(" " * free + entry.help).stylize(MUTED)
        row = title.append(keys)
        return row.stylize(MUTED) if entry.is_greyed else row, ""

    async def discover(self) -> Hits:
        for entry in self._rows():
            if entry.moves:
                continue  # who looks for it types it
            shown, below = self._row(entry)
            yield GroupedRow(shown, entry.do, entry.title, below or None, entry.group)

    async def search(self, query: str) -> Hits:
        """Yield the rows that match, else those that match what the same keys write in the other layout;
        Textual sorts them by how well they do. If none does, Textual would say so in English only, so a row
        without an action says it.
        """
        rows = self._rows()
        for words in (query.split(), in_the_other_layout(query).split()):
            fits = [(*fit(words, entry), entry) for entry in rows]
            hits = [one for one in fits if one[0]]
            for score, places, entry in hits:
                shown, below = self._row(entry, places)
                yield Hit(score, shown, entry.do, entry.title, below or None)
            if hits:
                return
        nothing = say("choose.nothing")
        yield Hit(0.01, Content(nothing).stylize(MUTED), lambda: None, nothing)


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
            if score < counts and any(one.startswith(word.casefold()) for one in among):
                score = counts
        scores.append(score)
    if not scores or not all(scores):
        return 0.0, ()
    total = sum(scores) / len(scores) + min(entry.used, 50) / 1_000
    if entry.own and not any(match(word, entry.own) for word in words):
        total *= _SHARED
    return (total / 100 if entry.is_greyed else total), tuple(sorted(places))


def _score(word: str, found: FuzzyMatch | None) -> float:
    if found is None or (found.rank[0] == SCATTERED and found.rank[1] > WIDEST * len(word)):
        return 0.0
    return _SCORES.get(found.rank[0], 0.7)
