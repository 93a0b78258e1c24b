"""The theme of the program: set by its name, or chosen from a list that shows each on the screen behind."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.cells import cell_len, set_cell_size
from rich.color import Color as RichColor
from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.containers import Vertical
from textual.theme import Theme
from textual.widgets import Input, OptionList, Static

from agent_tui.config.file import Config, read_table
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from tui import themes
from tui.forms.fields import Line, wrong
from tui.live import signs
from tui.live.key_hints import Hints
from tui.screens.dialog import Dialog
from tui.screens.line_and_list import LineAndList
from tui.screens.localised import localised
from tui.screens.words import say
from tui.setting import change_table
from widgets.color import PALETTE, PALETTE_ON_LIGHT, ground_of, readable
from widgets.palettes import Backdrop
from widgets.signs import GUTTER

if TYPE_CHECKING:
    from tui.app import AgentTuiApp

NAME_CELLS: Final = 20
SAMPLE_AGENTS: Final = 3
TALL_ROWS: Final = 20  # from here on most themes fit below each other
MAX_COMPLAINT_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class ThemeRow:
    """One row: a name as in the config file, and its theme, or why there is none."""

    name: str
    theme: Theme | None
    is_own: bool = False
    complaint: str = ""


def choices(folder: Path | None, backdrop: Backdrop) -> list[ThemeRow]:
    """Return every theme, the automatic one first; reads all the files."""
    automatic = themes.load(themes.resolve(themes.AUTO, backdrop), folder, backdrop=backdrop)
    found = [ThemeRow(themes.AUTO, automatic)]
    for listed in themes.available(folder).values():
        try:
            theme = themes.load(listed.name, folder, backdrop=backdrop)
        except ConfigError as error:
            found.append(ThemeRow(listed.name, None, listed.is_own, str(error)))
        else:
            found.append(ThemeRow(listed.name, theme, listed.is_own))
    return found


def wear(app: App[Any], theme: Theme) -> None:
    """Set the program's theme; costs nothing if it is set already."""
    if app.current_theme == theme:
        return
    is_same_name = app.theme == theme.name
    app.register_theme(theme)
    if is_same_name:  # its file was changed meanwhile
        app.mutate_reactive(App.theme)
    else:
        app.theme = theme.name


class ThemeScreen(Dialog[str]):
    """Shows each theme as the reader moves to it; the result is the name that was kept, "" for none.

    Keeping writes ``theme = "…"`` into the config file ``config``; the user's themes are beside that file.
    ``current`` is the configured name. ``backdrop`` is what is known about the terminal's background.
    """

    CSS_PATH = ["dialog.tcss", "theme_picker.tcss"]  # noqa: RUF012 - as Textual wants it
    VERTICAL_BREAKPOINTS = [(0, "-short"), (TALL_ROWS, "-tall")]  # noqa: RUF012 - as Textual wants it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+t", "back", "Back to the previous theme", id="theme.back"),
        Binding("enter", "keep", "Use this theme", id="theme.keep", show=False),
        Binding("up", "move(-1)", "Previous theme", id="theme.previous", show=False),
        Binding("down", "move(1)", "Next theme", id="theme.next", show=False),
        Binding("pageup", "move(-8)", "Page up", id="theme.page_up", show=False),
        Binding("pagedown", "move(8)", "Page down", id="theme.page_down", show=False),
    ]

    def __init__(self, config: Path, current: str, backdrop: Backdrop) -> None:
        super().__init__()
        self._config = config
        self._current = current or themes.AUTO
        self._choices = choices(config.parent / themes.FOLDER, backdrop)
        line = Line("", placeholder=say("theme.filter"), id="theme-filter")
        self._part = LineAndList(line, "", note_first=False)
        self._shown: list[ThemeRow] = []
        self._before: Theme | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(say("theme.title"), classes="title", markup=False)
            yield self._part
            yield Hints(say("theme.no_color" if self.app.no_color else "theme.hint"))

    def on_mount(self) -> None:
        self._before = self.app.current_theme
        self._list("", self._current)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._list(event.value, self._chosen.name if self._chosen else self._current)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the marked theme; for one that cannot be read, the previous one."""
        event.stop()
        chosen = self._chosen
        if theme := (chosen.theme if chosen else None) or self._before:
            wear(self.app, theme)
        self._complain(chosen.complaint if chosen else "")

    async def on_line_and_list_taken(self) -> None:
        await self.action_keep()

    def action_move(self, rows: int) -> None:
        self._part.move(rows)

    def action_back(self) -> None:
        """Go back to the previous theme, and close."""
        if self._before is not None:
            wear(self.app, self._before)
        self.dismiss("")

    async def action_keep(self) -> None:
        """Write the theme into the config file, and close; if that fails, say that it holds for now."""
        chosen = self._chosen
        if chosen is None or chosen.theme is None:
            return
        wear(self.app, chosen.theme)
        try:
            await asyncio.to_thread(_keep, self._config, chosen.name)
        except ConfigError as error:
            line = localised(inert_line(str(error), MAX_COMPLAINT_CHARACTERS))
            self.app.notify(say("theme.not_kept", detail=line), severity="warning", markup=False)
        else:
            self.app.notify(say("theme.kept", name=chosen.name), markup=False)
        self.dismiss(chosen.name)

    @property
    def _chosen(self) -> ThemeRow | None:
        at = self._part.marked
        return self._shown[at] if at is not None and at < len(self._shown) else None

    def _list(self, needle: str, name: str) -> None:
        """Show the themes whose name contains ``needle``; ``name`` is marked, else the first."""
        needle = needle.strip().casefold()
        self._shown = [choice for choice in self._choices if needle in choice.name.casefold()]
        names = [choice.name for choice in self._shown]
        marked = names.index(name) if name in names else 0
        self._part.show([self._row(choice) for choice in self._shown], marked if names else None)
        self._complain("" if self._shown else say("theme.none"))

    def _complain(self, complaint: str) -> None:
        self._part.note.update(wrong(complaint, MAX_COMPLAINT_CHARACTERS))
        self._part.note.display = bool(complaint)

    def _row(self, choice: ThemeRow) -> Text:
        name = f"{signs.FAILED} {choice.name}" if choice.theme is None else choice.name
        if cell_len(name) > NAME_CELLS:
            name = set_cell_size(name, NAME_CELLS - 1) + "…"
        row = Text(set_cell_size(name, NAME_CELLS) + " ")
        theme = choice.theme
        if theme is not None:
            row.append_tokens(sample(theme))
        if choice.is_own:
            row.append(f" {say('theme.own')}")
        elif theme is not None:
            row.append(f" {say('theme.dark' if theme.dark else 'theme.light')}")
        return row


class ThemeChoice:
    """Lets a person choose a theme, and sets it."""

    def __init__(self, app: AgentTuiApp, config: Config) -> None:
        self._app = app
        self._path = config.path
        self._name = config.theme  # as written in the config file

    def wear(self, name: str) -> None:
        """Set a theme until the end of the program; show the problem if it cannot be read."""
        app = self._app
        name = themes.resolve(name, app.backdrop, has_colors=app.has_colors)
        try:
            wear(app, themes.load(name, app.themes_folder, backdrop=app.backdrop))
        except ConfigError as error:
            app.notify(localised(inert_line(str(error))), severity="warning", markup=False)

    def choose(self) -> None:
        self._app.push_screen(ThemeScreen(self._path, self._name, self._app.backdrop), self._kept)

    def _kept(self, name: str | None) -> None:
        self._name = name or self._name


def _keep(config: Path, name: str) -> None:
    """Write the name where the file has a theme, else before its first table; raises ``ConfigError``."""
    table = read_table(config)
    screen = table.get("screen")
    is_there = "theme" not in table and isinstance(screen, dict) and "theme" in screen
    change_table(config, "screen" if is_there else "", {"theme": name})


def sample(theme: Theme) -> list[tuple[str, Style]]:
    """Return a sample of a theme on its background: words, three agents, code, failure and the focus."""
    ground = Color.parse(theme.background or "")
    below = ground_of(ground, theme)
    palette = PALETTE if theme.dark else PALETTE_ON_LIGHT
    agents = [RichColor.parse(readable(color, below)) for color in palette[:SAMPLE_AGENTS]]
    code = [_rich(theme.variables[f"code-{name}"]) for name in ("keyword", "string")]
    pieces = [
        (" Aa ", _rich(theme.foreground)),
        *((signs.SPEAKING, color) for color in agents),
        *zip((" {", "}"), code, strict=True),
        (f" {signs.FAILED}", _rich(theme.error)),
        (f" {GUTTER}", _rich(theme.accent)),
    ]
    return [(text, Style(color=color, bgcolor=ground.rich_color)) for text, color in pieces]


def _rich(color: str | None) -> RichColor:
    return Color.parse(color or "").rich_color
