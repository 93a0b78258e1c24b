"""Everything that the program writes can be read in every theme, measured on what it writes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from rich.color import Color as RichColor
from rich.style import Style
from textual.command import CommandPalette, SimpleProvider
from textual.pilot import Pilot
from textual.theme import Theme
from textual.widgets import OptionList

from tests.thorough import of_many
from tests.tui.themes.terminal_palettes import DARK, LIGHT, ON_DARK, ON_LIGHT, Palette
from tests.tui.themes.theme_scene import Dialog, Scene
from tests.widgets.apps import CountingDriver
from tui import themes
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.theme_picker import wear
from widgets import ink
from widgets.color import LEAST_CONTRAST, contrast
from widgets.ink import COMPONENTS
from widgets.palettes import MIN_CONTRAST, Backdrop, Rgb
from widgets.transcript.marks import mark_style

pytestmark = pytest.mark.slow

SIZE = (120, 44)
OWN = themes.TERMINAL
COLOURED = [name for name in themes.SHIPPED if name != OWN]
BAR_ENDS = "▁▂▃▄▅▆▇"  # of scroll bars, which are no words
STRICT = {"contrast-dark": 7.0, "contrast-light": 7.0}
CODE_INKS = (
    ink.KEYWORD,
    ink.STRING,
    ink.COMMENT,
    ink.NUMBER,
    ink.NAME,
    ink.BUILTIN,
    ink.ADDED,
    ink.REMOVED,
)
MARKS = ("selection", "found", "found-current", "below")


@pytest.fixture
def painted_when_read() -> None:
    """Every frame is painted: what is looked at is what a terminal gets."""


@pytest.fixture(autouse=True)
def a_terminal_with_all_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


@asynccontextmanager
async def shown(theme: Theme) -> AsyncIterator[tuple[Scene, Pilot[None]]]:
    app = Scene(theme)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.pause()
        app.hand.turn_until_clean()
        await pilot.pause()
        yield app, pilot


def written(app: Scene, within: str = "") -> set[tuple[str, Style]]:
    """Every text on the screen, or in the widget called ``within``, with the style that goes out with it.
    What lies behind a dialog is dimmed, and is not there to be read.
    """
    region = app.screen.query_one(within).region if within else app.screen.region
    strips = app.screen._compositor.render_strips(app.size)[region.y : region.bottom]
    return {
        (segment.text.strip(), segment.style or Style.null())
        for strip in strips
        for segment in strip.crop(region.x, region.right)
        if segment.text.strip()
    }


def drawn(app: Scene) -> set[tuple[str, Style]]:
    """Every style that a pane can draw words in, by a name for it."""
    names = dict(COMPONENTS)
    found: set[tuple[str, Style]] = set()
    for pane in app.panes:
        painter = pane.canvas.current_painter()
        plain = [0, ink.STRONG, ink.EMPHASIS, *names]
        inks = [one | other for one, other in product(plain, plain)]
        inks = [one for one in inks if not one & ink.FENCE and not any(one & code for code in CODE_INKS)]
        inks += [
            ink.FENCE,
            *[ink.FENCE | code for code in CODE_INKS],
            ink.FENCE | ink.DIM,
            ink.FENCE | ink.MARK,
        ]
        found |= {(f"ink {one}", painter.style(one)) for one in inks}
        found |= {(name, mark_style(painter, name)) for name in MARKS}
    return found


def own_rgb(color: RichColor | None, palette: Palette | None, *, is_words: bool) -> Rgb:
    if color is None or color.is_default:
        assert palette is not None, "the terminal's own colour under a theme of ours"
        return palette.foreground if is_words else palette.background
    if color.triplet is None:
        assert palette is not None
        assert color.number is not None
        return palette.colors[color.number]
    return color.triplet.red, color.triplet.green, color.triplet.blue


def measured(style: Style, palette: Palette | None = None) -> float:
    assert not style.dim, "nobody knows how dim a terminal draws"
    words = own_rgb(style.color, palette, is_words=True)
    ground = own_rgb(style.bgcolor, palette, is_words=False)
    return contrast(words, ground)


def unreadable(
    texts: set[tuple[str, Style]], least: float, palette: Palette | None = None
) -> list[tuple[float, str, str]]:
    words = [(text, style) for text, style in texts if least > MIN_CONTRAST or text not in BAR_ENDS]
    found = [(round(measured(style, palette), 2), text, str(style)) for text, style in words]
    return sorted(entry for entry in found if entry[0] < least)[:20]


async def everything(theme: Theme) -> set[tuple[str, Style]]:
    """All texts of the scene, of a dialog, of the picker and of notifications, and all styles of panes."""
    async with shown(theme) as (app, pilot):
        texts = written(app) | drawn(app)
        for pane in app.panes:
            pane.focus()
            await pilot.pause()
            app.hand.turn_until_clean()
            await pilot.pause()
            texts |= written(app)
        for severity in ("information", "warning", "error"):
            app.notify("the words", title="the title", severity=severity)
        await pilot.pause()
        texts |= written(app, "ToastRack")
        app.push_screen(Dialog())
        await pilot.pause()
        texts |= written(app, ".dialog")
        app.pop_screen()
        rows: Any = [("Zoom", app.bell, "z"), ("Help", app.bell, "?"), ("Quit", app.bell, "q")]
        provider: Any = SimpleProvider(app.screen, rows)
        app.push_screen(CommandPalette([provider]))
        # It looks for commands in its own time.
        while not any(found.option_count for found in app.screen.query(OptionList)):
            await pilot.pause()
        await pilot.pause()
        palette = written(app, "#--input") | written(app, "CommandList")
        assert {"Zoom", "z"} <= {text for text, _ in palette}
        texts |= palette
        app.pop_screen()
        app.push_screen(ChooseScreen("Theme", [Candidate(theme.name, theme.name)], theme.name))
        await pilot.pause()
        texts |= written(app, ".dialog")
        return texts


@pytest.mark.parametrize("name", of_many(COLOURED, ("dark", "light")))
async def test_every_text_stands_out_from_what_is_behind_it(name: str, tmp_path: Path) -> None:
    theme = themes.load(name)
    texts = await everything(theme)
    assert len(texts) > 60
    assert unreadable(texts, STRICT.get(name, MIN_CONTRAST)) == []
    assert float(theme.variables[LEAST_CONTRAST]) == STRICT.get(name, MIN_CONTRAST)


@pytest.mark.parametrize("is_light", [False, True])
async def test_the_terminals_own_colours_can_be_read_on_every_usual_palette(
    is_light: bool, tmp_path: Path
) -> None:
    theme = themes.load(OWN, backdrop=ON_LIGHT if is_light else ON_DARK)
    texts = await everything(theme)
    for palette in LIGHT if is_light else DARK:
        assert (palette.name, unreadable(texts, MIN_CONTRAST, palette)) == (palette.name, [])


@pytest.mark.parametrize("is_light", [False, True])
async def test_the_terminal_theme_sends_no_colour_but_the_terminals_own(is_light: bool) -> None:
    app = Scene(themes.load(OWN, backdrop=ON_LIGHT if is_light else ON_DARK))
    sent = await _sent(app)
    colours = {code for codes in re.findall(r"\x1b\[([0-9;]*)m", sent) for code in codes.split(";")}
    assert {"39", "49"} <= colours
    own = {str(code) for code in (*range(30, 38), 39, 49, *range(90, 98))}
    attributes = {"", "0", "1", "3", "4", "7", "9"}
    assert colours <= own | attributes


async def test_without_colour_nothing_but_attributes_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Scene(themes.load(themes.resolve("ember", Backdrop(), has_colors=False)), has_color=False)
    sent = await _sent(app)
    colours = {code for codes in re.findall(r"\x1b\[([0-9;]*)m", sent) for code in codes.split(";")}
    assert colours <= {"", "0", "1", "3", "4", "7", "9", "39", "49"}
    assert {"1", "7"} <= colours


async def _sent(app: Scene) -> str:
    """What goes to the terminal while the scene is shown, another pane gets the focus, a dialog comes."""
    app.driver_class = CountingDriver
    sent = ""

    async def act(pilot: Pilot[Any]) -> None:
        nonlocal sent
        await pilot.pause()
        app.panes[1].focus()
        await pilot.pause()
        app.hand.turn_until_clean()
        app.push_screen(Dialog())
        app.notify("the words", severity="error")
        await pilot.pause()
        driver = app._driver
        assert isinstance(driver, CountingDriver)
        sent = driver.written
        app.exit()

    await app.run_async(headless=False, size=SIZE, auto_pilot=act)
    return sent


async def test_a_new_theme_is_painted_as_often_as_textual_does_and_then_no_more() -> None:
    app = Scene(themes.load("dark"))
    app.driver_class = CountingDriver
    light = themes.load("light")
    counts: dict[str, int] = {}

    async def act(pilot: Pilot[Any]) -> None:
        driver = app._driver
        assert isinstance(driver, CountingDriver)

        async def sent(name: str) -> None:
            before = len(driver.written)
            for _ in range(5):
                await pilot.pause()
                app.hand.turn_until_clean()
            counts[name] = len(driver.written) - before

        await sent("opening")
        app.screen.refresh(layout=True)
        await sent("everything")
        wear(app, light)
        await sent("theme")
        await sent("after it")
        wear(app, light)
        await sent("again")
        app.exit()

    await app.run_async(headless=False, size=SIZE, auto_pilot=act)
    assert counts["everything"] > 10_000
    # Textual paints the screen, and then once more what every widget says of itself.
    assert 0.8 * counts["everything"] < counts["theme"] < 2.2 * counts["everything"]
    assert counts["after it"] == counts["again"] == 0
