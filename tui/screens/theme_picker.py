"""The theme of the program: set by its name, or chosen from a list that shows each on the screen behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.theme import Theme

from agent_tui.config.file import Config, read_table
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from tui import themes
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.localised import localised
from tui.screens.words import say
from tui.setting import change_table

if TYPE_CHECKING:
    from tui.app import AgentTuiApp


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


class ThemeChoice:
    """Lets a person choose a theme, and writes ``theme = "…"`` into the config file."""

    def __init__(self, app: AgentTuiApp, config: Config) -> None:
        self._app = app
        self._path = config.path
        self._name = config.theme or themes.AUTO  # as written in the config file

    def choose(self) -> None:
        """Show all themes; going back sets the previous one again."""
        app, before = self._app, self._app.current_theme

        def chosen(name: str | None) -> None:
            if name is not None and self._wear(name):
                app.run_worker(self._keep(name), group="theme")
            else:
                wear(app, before)

        own = {True: say("theme.own"), False: ""}
        listed = themes.available(app.themes_folder).values()
        offered = [Candidate(theme.name, theme.name, detail=own[theme.is_own]) for theme in listed]
        offered.insert(0, Candidate(themes.AUTO, themes.AUTO))
        screen = ChooseScreen(say("theme.title"), offered, self._name, marked=self._wear)
        app.push_screen(screen.add_class("-beside"), chosen)

    def _wear(self, name: str) -> bool:
        """Set a theme; if it cannot be read, show the problem and return ``False``."""
        app = self._app
        name = themes.resolve(name, app.backdrop, has_colors=app.has_colors)
        try:
            wear(app, themes.load(name, app.themes_folder, backdrop=app.backdrop))
        except ConfigError as error:
            self._warn(localised(inert_line(str(error))))
            return False
        return True

    async def _keep(self, name: str) -> None:
        """Write the name into the config file; if that fails, say that the theme is set for now."""
        self._name = name
        try:
            await asyncio.to_thread(_write, self._path, name)
        except ConfigError as error:
            self._warn(say("theme.not_kept", detail=localised(inert_line(str(error)))))
        else:
            self._app.notify(say("theme.kept", name=name), markup=False)

    def _warn(self, line: str) -> None:
        self._app.notify(line, severity="warning", markup=False)


def _write(config: Path, name: str) -> None:
    """Write the name where the file has a theme, else before its first table; raises ``ConfigError``."""
    table = read_table(config)
    screen = table.get("screen")
    is_there = "theme" not in table and isinstance(screen, dict) and "theme" in screen
    change_table(config, "screen" if is_there else "", {"theme": name})
