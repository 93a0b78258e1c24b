"""The picker: what is looked at is shown behind it, what is kept is written, escape leaves all as it was."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.tui.theme_scene import Scene
from tests.tui.watched import rows_of
from tui import themes
from tui.language import LANGUAGES, speak
from tui.screens.theme_picker import ThemeScreen, choices
from tui.screens.words import say
from tui.themes import SHIPPED, load
from widgets.palettes import Backdrop

pytestmark = pytest.mark.slow


@asynccontextmanager
async def picking(
    config: Path,
    *,
    theme: str = "dark",
    size: tuple[int, int] = (80, 24),
    backdrop: Backdrop = themes.UNKNOWN,
) -> AsyncIterator[tuple[Scene, Pilot[None]]]:
    app = Scene(load(theme))
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        app.push_screen(ThemeScreen(config, theme, backdrop))
        await pilot.pause()
        yield app, pilot


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text('# mine\ntheme = "dark"  # for now\n\n[backends.x]\n', encoding="utf-8")
    return path


def written(config: Path) -> str:
    return config.read_text(encoding="utf-8")


def rows(app: Scene) -> list[str]:
    options = app.screen.query_one(OptionList).options
    return [str(option.prompt) for option in options]


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def test_every_theme_is_there_with_its_kind_and_the_worn_one_is_chosen(config: Path) -> None:
    async with picking(config, theme="ember", size=(120, 40)) as (app, _):
        listed = rows(app)
        assert [row.split()[0] for row in listed] == ["auto", *SHIPPED]
        assert all(row.split()[-1] in ("dark", "light") for row in listed)
        assert app.screen.query_one(OptionList).highlighted == 1 + SHIPPED.index("ember")


async def test_the_room_stays_in_sight_and_wears_what_is_looked_at(config: Path) -> None:
    async with picking(config) as (app, pilot):
        await press(pilot, "down")
        assert app.theme == "light"
        assert all(pane.is_shown for pane in app.panes)
        assert "Mika" in rows_of(app)
        await press(pilot, "down", "down")
        assert app.theme == "fjord"


async def test_escape_brings_back_what_was_and_writes_nothing(config: Path) -> None:
    before = written(config)
    async with picking(config) as (app, pilot):
        await press(pilot, "down", "down", "escape")
        assert app.theme == "dark"
        assert not isinstance(app.screen, ThemeScreen)
    assert written(config) == before


async def test_enter_keeps_the_theme_and_changes_only_its_line(config: Path) -> None:
    async with picking(config) as (app, pilot):
        await press(pilot, "down", "enter")
        assert app.theme == "light"
        assert not isinstance(app.screen, ThemeScreen)
    assert written(config) == '# mine\ntheme = "light"  # for now\n\n[backends.x]\n'


@pytest.fixture
def with_screen(config: Path) -> Path:
    config.write_text('[screen]\ntheme = "dark"\nmouse = false\n', encoding="utf-8")
    return config


async def test_a_theme_that_is_with_the_screen_is_changed_there(with_screen: Path) -> None:
    async with picking(with_screen) as (_, pilot):
        await press(pilot, "down", "enter")
    assert written(with_screen) == '[screen]\ntheme = "light"\nmouse = false\n'


async def test_typing_filters_and_the_first_that_fits_is_shown(config: Path) -> None:
    async with picking(config, size=(120, 40)) as (app, pilot):
        await press(pilot, *"contrast")
        assert [row.split()[0] for row in rows(app)] == ["contrast-dark", "contrast-light"]
        assert app.theme == "contrast-dark"
        await press(pilot, "z")
        assert "No themes match." in rows_of(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, ThemeScreen)


async def test_where_the_file_cannot_be_written_the_theme_holds_and_one_line_says_so(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    async with picking(tmp_path / "config.toml") as (app, pilot):
        await press(pilot, "down", "enter")
        assert app.theme == "light"
        assert any("until you quit" in notification.message for notification in app._notifications)


async def test_a_theme_that_cannot_be_read_says_why_and_cannot_be_kept(config: Path) -> None:
    folder = config.parent / "themes"
    folder.mkdir()
    (folder / "broken.toml").write_text('accent = "blurple"', encoding="utf-8")
    (folder / "mine.toml").write_text('extends = "paper"', encoding="utf-8")
    async with picking(config, size=(120, 40)) as (app, pilot):
        assert "yours" in rows(app)[-1]
        await press(pilot, *"broken")
        assert "blurple" in rows_of(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, ThemeScreen)
        assert app.theme == "dark"


async def test_automatic_means_what_the_terminal_is(config: Path) -> None:
    assert choices(None, themes.WHITE)[0].theme == load("light")
    async with picking(config, backdrop=themes.WHITE) as (app, pilot):
        await press(pilot, "up", "enter")
        assert app.theme == "light"
    assert 'theme = "auto"' in written(config)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_row_says_in_whole_whether_a_theme_is_light(config: Path, language: str) -> None:
    speak(language)
    try:
        async with picking(config) as (app, _):
            shown = rows_of(app)
            assert say("theme.light") in shown
            assert say("theme.dark") in shown
            assert "…" not in "".join(row for row in shown.splitlines() if "Aa" in row)
    finally:
        speak("en")


async def test_in_a_small_terminal_the_hint_and_the_chosen_theme_are_in_sight(config: Path) -> None:
    async with picking(config, size=(50, 14)) as (app, pilot):
        for _ in range(len(SHIPPED)):
            await press(pilot, "down")
        assert "terminal" in rows_of(app)
        assert "enter save" in rows_of(app)
