from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.color import MIN_CONTRAST, PALETTE, contrast, readable

HEX = st.integers(0, 0xFFFFFF).map(lambda value: f"#{value:06x}")


def rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def test_black_on_white_is_the_highest_contrast_there_is() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((9, 9, 9), (9, 9, 9)) == pytest.approx(1)


@given(HEX, HEX)
def test_every_colour_becomes_readable_on_every_background(color: str, background: str) -> None:
    assert contrast(rgb(readable(color, background)), rgb(background)) >= MIN_CONTRAST


def test_a_readable_colour_stays_as_it_is() -> None:
    assert readable("#7aa2f7", "#14161c") == "#7aa2f7"


def test_a_dark_blue_on_black_is_lightened_and_stays_blue() -> None:
    red, green, blue = rgb(readable("#00f", "#000000"))
    assert blue > red == green


@pytest.mark.parametrize(
    "color", ["", "red", "#12", "#12345g", "#1234567", "\x1b[31m", "#fff\n", "#" + "f" * 10_000]
)
def test_what_is_no_colour_gives_a_colour_of_the_palette(color: str) -> None:
    assert readable(color, "#000000", "Mika") in PALETTE


def test_the_same_name_keeps_its_palette_colour_and_names_differ() -> None:
    assert readable("", "#000000", "Mika") == readable("nonsense", "#000000", "Mika")
    assert len({readable("", "#000000", f"agent {number}") for number in range(40)}) == len(PALETTE)


def test_a_name_with_half_a_surrogate_pair_has_a_colour_too() -> None:
    assert readable("", "#000000", "\ud800") in PALETTE
