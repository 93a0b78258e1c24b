"""Lists, forms, lines, dialogs, strip, find bar, timeline and chats can be read in every theme."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.style import Style
from textual.app import App
from textual.theme import Theme

from tests.thorough import of_many
from tests.tui.chat.views import asks, ends, in_a_chat, live, talk
from tests.tui.lists.rooms_listed import listed
from tests.tui.lists.test_looks import every_state, set_up, with_queue
from tests.tui.themes.terminal_palettes import DARK, LIGHT, ON_DARK, ON_LIGHT
from tests.tui.themes.test_contrast import COLOURED, OWN, STRICT, unreadable
from tests.tui.whole_app import opened_app
from tui import themes
from tui.screens.theme_picker import wear
from widgets.palettes import MIN_CONTRAST

pytestmark = pytest.mark.slow

Texts = set[tuple[str, Style]]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


def shown(app: App[int]) -> Texts:
    """Every text of the dialog on top, or of the screen, with the style that goes out with it."""
    dialogs = list(app.screen.query(".dialog"))
    region = dialogs[0].region if dialogs else app.screen.region
    strips = app.screen._compositor.render_strips(app.size)[region.y : region.bottom]
    return {
        (segment.text.strip(), segment.style or Style.null())
        for strip in strips
        for segment in strip.crop(region.x, region.right)
        if segment.text.strip(" ─▌█")  # a rule, the edge of a notice and a patch of colour are no text
    }


async def of_the_list(folder: Path, theme: Theme) -> Texts:
    """Return all texts of the list, of a new room's form with a complaint, renaming and the set-up."""
    texts: Texts = set()
    async with listed(folder, *every_state(), size=(120, 40)) as seen:
        wear(seen.app, theme)
        for keys in ([], ["down"], ["d"], ["slash", "x"], ["escape", "R"], ["escape", "n"], ["ctrl+n"]):
            await seen.press(*keys)
            texts |= shown(seen.app)
        for _ in range(5):  # each field with the focus
            await seen.press("tab")
            texts |= shown(seen.app)
        await seen.press("escape")
        await set_up(seen, folder)
        texts |= shown(seen.app)
    return texts


async def of_the_room(folder: Path, theme: Theme) -> Texts:
    """Return all texts of a room: composer, queue, settings, agent, the strip, the find bar, the timeline."""
    texts: Texts = set()
    walks: Sequence[Sequence[str]] = (
        ["i"],
        [*"@M"],
        ["escape", "u"],
        ["escape", "e"],
        [*["tab"] * 6],
        ["enter"],
        ["escape"],
        ["escape", "t"],
        ["slash", *"re"],
        ["enter"],
    )
    async with opened_app(folder, size=(120, 40)) as seen:
        wear(seen.app, theme)
        seen.link.send(*with_queue())
        for keys in walks:
            await seen.press(*keys)
            texts |= shown(seen.app)
        await seen.press("escape", "escape", "t")
        await seen.resize(70, 20)
        texts |= shown(seen.app)
    return texts


async def of_chats(folder: Path, theme: Theme) -> Texts:
    """Return all texts of chats: each kind of step, each end, the list, the search, the form."""
    texts: Texts = set()
    walks: Sequence[Sequence[str]] = (
        ["tab", "F", "F"],
        ["i", "slash"],
        ["backspace", "ctrl+r"],
        ["escape", "tab", "escape"],
        ["down", "d"],
        ["R"],
        ["escape", "s"],
        [*"cold"],
        ["down"],
        ["escape", "e"],
        *[["tab"]] * 11,
        ["escape", "slash", "x"],
    )
    async with in_a_chat(folder, *talk(), *ends()) as seen:
        wear(seen.app, theme)
        for keys in ([], *walks):
            await seen.press(*keys)
            texts |= shown(seen.app)
    return texts | await of_questions(folder, theme)


async def of_questions(folder: Path, theme: Theme) -> Texts:
    """Return all texts of questions: those of a tool, and those that wait for an answer to end."""
    texts: Texts = set()
    walks: Sequence[Sequence[str]] = ([*"why"], ["enter"], ["tab", "u"], ["e"], ["escape", "escape"])
    async with in_a_chat(folder, *talk()) as seen:
        wear(seen.app, theme)
        await seen.send(*live())
        for keys in ([], *walks):
            await seen.press(*keys)
            texts |= shown(seen.app)
        seen.time += 2.0  # nobody is busy
        await seen.send(*asks())
        for keys in ([], ["tab"], ["shift+tab"], ["d"], ["escape"], ["n"]):
            await seen.press(*keys)
            texts |= shown(seen.app)
    return texts


@pytest.mark.parametrize("name", of_many(COLOURED, ("dark", "light")))
async def test_every_text_of_the_list_and_the_room_stands_out(name: str, tmp_path: Path) -> None:
    theme = themes.load(name)
    texts = await of_the_list(tmp_path, theme) | await of_the_room(tmp_path, theme)
    assert len(texts) > 100
    assert unreadable(texts, STRICT.get(name, MIN_CONTRAST)) == []


@pytest.mark.parametrize("is_light", of_many((False, True), (False,)))
async def test_they_can_be_read_in_the_terminals_own_colours(is_light: bool, tmp_path: Path) -> None:
    theme = themes.load(OWN, backdrop=ON_LIGHT if is_light else ON_DARK)
    texts = await of_the_list(tmp_path, theme) | await of_the_room(tmp_path, theme)
    for palette in LIGHT if is_light else DARK:
        assert (palette.name, unreadable(texts, MIN_CONTRAST, palette)) == (palette.name, [])


@pytest.mark.parametrize("name", of_many(COLOURED, ("dark", "light")))
async def test_every_text_of_chats_stands_out(name: str, tmp_path: Path) -> None:
    texts = await of_chats(tmp_path, theme := themes.load(name))
    assert len(texts) > 100
    assert unreadable(texts, STRICT.get(theme.name, MIN_CONTRAST)) == []


@pytest.mark.parametrize("is_light", of_many((False, True), (False,)))
async def test_chats_can_be_read_in_the_terminals_own_colours(is_light: bool, tmp_path: Path) -> None:
    texts = await of_chats(tmp_path, themes.load(OWN, backdrop=ON_LIGHT if is_light else ON_DARK))
    for palette in LIGHT if is_light else DARK:
        assert (palette.name, unreadable(texts, MIN_CONTRAST, palette)) == (palette.name, [])
