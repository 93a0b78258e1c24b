"""The theme of the program, chosen from the list or by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.config.file import Config
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from tui import themes
from tui.screens.localised import localised
from tui.screens.theme_picker import ThemeScreen, wear

if TYPE_CHECKING:
    from tui.app import AgentTuiApp


class ThemeChoice:
    """Lets a person choose a theme, and sets it."""

    def __init__(self, app: AgentTuiApp, config: Config) -> None:
        self._app = app
        self._path: Path = config.path
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
        app = self._app
        app.push_screen(ThemeScreen(self._path, self._name, app.backdrop), self._kept)

    def _kept(self, name: str | None) -> None:
        self._name = name or self._name
