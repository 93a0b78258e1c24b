"""Choosing a theme: what is marked is shown, what is taken is written, escape leaves all as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import OptionList

from tests.tui.whole_app import Seen, opened_app
from tui.screens.choose import ChooseScreen
from tui.themes import SHIPPED

pytestmark = pytest.mark.slow


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text('# mine\ntheme = "dark"  # for now\n\n[backends.x]\n', encoding="utf-8")
    return path


def rows(seen: Seen) -> list[str]:
    options = seen.app.screen.query_one(OptionList).options
    return [str(option.prompt) for option in options]


def text_of(config: Path) -> str:
    return config.read_text(encoding="utf-8")


async def written(seen: Seen, config: Path, words: str) -> str:
    """Wait until the file, which is written in a thread, has those words; return all of it."""
    await seen.until(lambda: words in text_of(config))
    return text_of(config)


async def test_every_theme_is_there_and_shown_behind_the_list_while_it_is_marked(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(100, 30)) as seen:
        text = await seen.press("ctrl+t")
        assert [row.split()[0] for row in rows(seen)] == ["auto", *SHIPPED]
        assert "Mika" in text
        await seen.press("down", "down")
        assert seen.app.theme == "light"


async def test_on_a_low_terminal_the_last_theme_and_the_keys_are_seen(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(40, 12)) as seen:
        text = await seen.press("ctrl+t", *["down"] * len(SHIPPED))
        assert [words in text for words in ("Theme", SHIPPED[-1], "esc back")] == [True] * 3


async def test_escape_brings_back_what_was_and_writes_nothing(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        before = seen.app.theme
        await seen.press("ctrl+t", "down", "down", "escape")
        assert seen.app.theme == before
        assert not isinstance(seen.app.screen, ChooseScreen)
    assert not (tmp_path / "config.toml").exists()


async def test_enter_keeps_the_theme_and_changes_only_its_line(tmp_path: Path, config: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+t", *"paper", "enter")
        assert seen.app.theme == "paper"
        told = await written(seen, config, "paper")
    assert told == '# mine\ntheme = "paper"  # for now\n\n[backends.x]\n'


@pytest.fixture
def with_screen(config: Path) -> Path:
    config.write_text('[screen]\ntheme = "dark"\nmouse = false\n', encoding="utf-8")
    return config


async def test_a_theme_that_is_with_the_screen_is_changed_there(tmp_path: Path, with_screen: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+t", *"paper", "enter")
        assert await written(seen, with_screen, "paper") == '[screen]\ntheme = "paper"\nmouse = false\n'


async def test_automatic_means_what_the_terminal_is(tmp_path: Path, config: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+t", *"auto", "enter")
        assert 'theme = "auto"' in await written(seen, config, "auto")
        assert seen.app.theme == "dark"


async def test_where_the_file_cannot_be_written_the_theme_holds_and_one_line_says_so(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+t", *"paper", "enter")
        await seen.until(lambda: any("until you quit" in told.message for told in seen.app._notifications))
        assert seen.app.theme == "paper"


async def test_a_theme_that_cannot_be_read_says_why_and_cannot_be_kept(tmp_path: Path, config: Path) -> None:
    folder = tmp_path / "themes"
    folder.mkdir()
    (folder / "broken.toml").write_text('accent = "blurple"', encoding="utf-8")
    async with opened_app(tmp_path, size=(120, 40)) as seen:
        before = seen.app.theme
        await seen.press("ctrl+t")
        assert "yours" in rows(seen)[-1]
        assert "blurple" in await seen.press(*"broken")
        await seen.press("enter")
        assert seen.app.theme == before
    assert "broken" not in text_of(config)


async def test_in_a_small_terminal_the_hint_and_the_marked_theme_are_in_sight(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(60, 20)) as seen:
        text = await seen.press("ctrl+t", *["down"] * len(SHIPPED))
        assert SHIPPED[-1] in text
        assert "enter select" in text
