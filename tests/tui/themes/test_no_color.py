"""NO_COLOR, in all bytes that the whole program sends to a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.fakes.terminal import Terminal, terminal
from tests.tui.programs import PROGRAM, Home, home_at

pytestmark = pytest.mark.slow

SGR = re.compile(rb"\x1b\[([\d;:]*)m")
OWN_COLORS = {39, 49}  # the terminal's own foreground and background


def colors(raw: bytes) -> set[int]:
    """Return the SGR parameters that choose a colour, of everything in ``raw``."""
    numbers = {int(number) for match in SGR.findall(raw) for number in re.split(rb"[;:]", match) if number}
    return {number for number in numbers if 30 <= number <= 49 or 90 <= number <= 107}


def look_around(view: Terminal) -> None:
    """Speak, pause, zoom, read the timeline, the help and the palette."""
    view.wait_for(lambda text: text.count("tok/s") == 3)
    view.send("p")
    view.wait_for("paused by you")
    view.send("z")
    view.wait_for("z back")
    view.send("t")
    view.wait_for(lambda text: " · round 1" in text)  # of whoever spoke last
    view.send("?")
    view.wait_for("Pause or resume the room")
    view.send("\x1b")
    view.wait_for(lambda text: "Pause or resume the room" not in text)
    view.send("\x10")  # ctrl+p
    view.wait_for("Search for commands")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One backend for the whole module: each test makes it empty, and so has a demo room of its own."""
    with home_at(tmp_path_factory.mktemp("home"), rate="60") as opened:
        yield opened


@pytest.mark.parametrize("theme", ["", "dark"])
def test_without_colour_the_whole_program_sends_none(home: Home, theme: str) -> None:
    home.clear()
    home.config.write_text(f'theme = "{theme}"\n', encoding="utf-8")
    environ = {**home.environ, "NO_COLOR": "1", "COLORTERM": "truecolor"}
    with terminal([*PROGRAM, "rooms"], environ, home.folder) as view:
        look_around(view)
        raw = bytes(view.raw)
    assert SGR.search(raw)
    assert colors(raw) <= OWN_COLORS


def test_with_colour_it_does_so_that_the_test_above_can_fail(home: Home) -> None:
    home.clear()
    environ = {**home.environ, "COLORTERM": "truecolor"}
    with terminal([*PROGRAM, "rooms"], environ, home.folder) as view:
        view.wait_for("● live")
        assert {38, 48} <= colors(bytes(view.raw))
