"""The whole program on a terminal of sixteen colours: what it says can be read on the background there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from tests.fakes.terminal import Terminal
from tests.tui.programs import PROGRAM, Home, home_at
from tests.tui.themes.terminal_palettes import DARK as PALETTES
from tests.tui.themes.test_no_color import OWN_COLORS, SGR, colors, look_around
from widgets.color import contrast
from widgets.palettes import MIN_CONTRAST, Rgb

pytestmark = pytest.mark.slow

ASKS_BACKGROUND = b"\x1b]11;?\x1b\\"
WHITE, BLACK = (255, 255, 255), (0, 0, 0)


class Colored(Terminal):
    """A terminal that says what its background is, if it is known."""

    background: Rgb | None = None

    def answer(self, data: bytes) -> None:
        if self.background and ASKS_BACKGROUND in data:
            channels = "/".join(f"{channel:02x}" * 2 for channel in self.background)
            os.write(self._terminal, f"\x1b]11;rgb:{channels}\x1b\\".encode())
        super().answer(data)


def readable_on(background: Rgb) -> set[int]:
    """Return the SGR parameters of the colours that stand out from a background under every palette."""
    foregrounds = [*range(30, 38), *range(90, 98)]  # in the order of a palette
    return {
        number
        for place, number in enumerate(foregrounds)
        if all(contrast(palette.colors[place], background) >= MIN_CONTRAST for palette in PALETTES)
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One backend for the whole module: each test makes it empty, and so has a demo room of its own."""
    with home_at(tmp_path_factory.mktemp("home"), rate="60") as opened:
        yield opened


def sent(home: Home, background: Rgb | None, theme: str = "", **changes: str) -> set[int]:
    """Return the colours that the program sends while a room speaks and a reader looks around."""
    home.clear()
    home.config.write_text(f'theme = "{theme}"\n', encoding="utf-8")
    view = Colored([*PROGRAM, "rooms"], {**home.environ, "TERM": "xterm", **changes}, 120, 30, home.folder)
    view.background = background
    try:
        look_around(view)
        raw = bytes(view.raw)
    finally:
        view.close()
    pieces = re.findall(rb"((?:\x1b\[[\d;:]*m)+)([^\x1b]*)", raw)
    written = b"".join(codes for codes, text in pieces if text.strip())
    assert SGR.search(written)
    assert not colors(raw) & {*range(40, 48), *range(100, 108), 38, 48}
    return colors(written)


@pytest.mark.parametrize(("background", "theme"), [(BLACK, ""), (WHITE, "ember")])
def test_on_a_known_background_only_colours_that_can_be_read_on_it(
    home: Home, background: Rgb, theme: str
) -> None:
    own = sent(home, background, theme) - OWN_COLORS
    assert own
    assert own <= readable_on(background)


def test_on_an_unknown_background_only_the_terminals_foreground(home: Home) -> None:
    assert sent(home, None) <= OWN_COLORS


def test_a_variable_names_the_background_where_the_terminal_does_not(home: Home) -> None:
    own = sent(home, None, COLORFGBG="0;15") - OWN_COLORS
    assert own
    assert own <= readable_on(WHITE)
