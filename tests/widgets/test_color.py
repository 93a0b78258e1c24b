from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import cos, dist, sin
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.color import Color
from textual.theme import Theme

from widgets.color import (
    OWN,
    PALETTE,
    PALETTE_ON_LIGHT,
    Ground,
    contrast,
    from_oklch,
    ground_of,
    oklch,
    readable,
)
from widgets.painter import BLACK
from widgets.palettes import MIN_CONTRAST, Rgb

HEX = st.integers(0, 0xFFFFFF).map(lambda value: f"#{value:06x}")
RGB = st.tuples(*[st.integers(0, 255)] * 3)
# How red-blind and green-blind eyes see linear light (Machado, Oliveira and Fernandes 2009, severity 1).
EYES: Final = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}


def rgb(color: str) -> Rgb:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def place(color: Rgb) -> tuple[float, float, float]:
    """Where a colour lies in OKLab, in which distances are differences for the eye."""
    lightness, chroma, hue = oklch(color)
    return lightness, chroma * cos(hue), chroma * sin(hue)


def seen(color: Rgb, eyes: str) -> Rgb:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts(color)]
    mixed = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in EYES[eyes]]
    clipped = [min(1.0, max(0.0, part)) for part in mixed]
    red, green, blue = [
        round(255 * (12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055))
        for part in clipped
    ]
    return red, green, blue


def parts(color: Rgb) -> Iterable[float]:
    return (value / 255 for value in color)


def test_black_on_white_is_the_highest_contrast_there_is() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((9, 9, 9), (9, 9, 9)) == pytest.approx(1)


@given(HEX, HEX)
def test_every_colour_becomes_readable_on_every_background(color: str, background: str) -> None:
    assert contrast(rgb(readable(color, Ground(background))), rgb(background)) >= MIN_CONTRAST


@given(HEX, HEX)
def test_where_more_is_asked_for_it_is_reached_as_far_as_there_is_any(color: str, background: str) -> None:
    below = rgb(background)
    most = max(contrast((0, 0, 0), below), contrast((255, 255, 255), below))
    assert contrast(rgb(readable(color, Ground(background, least=7.0))), below) >= min(7.0, most)


@given(HEX, HEX)
def test_what_is_readable_stays_and_what_is_not_keeps_its_hue(color: str, background: str) -> None:
    made = readable(color, Ground(background))
    if contrast(rgb(color), rgb(background)) >= MIN_CONTRAST:
        assert made == color
        return
    _, chroma, hue = oklch(rgb(color))
    lightness, own_chroma, own_hue = oklch(rgb(made))
    # A grey has no hue, and what is nearly black too few bits for one: #0d0000 stands for brown, too.
    if min(chroma, own_chroma) > 0.04 and lightness > 0.2:
        assert cos(hue - own_hue) > 0.985  # ten degrees


@given(RGB)
def test_a_colour_survives_the_way_there_and_back(color: Rgb) -> None:
    assert dist(from_oklch(oklch(color)), color) <= 2


def test_a_dark_blue_on_black_is_lightened_and_stays_blue() -> None:
    red, green, blue = rgb(readable("#00f", BLACK))
    assert blue > max(red, green)


@pytest.mark.parametrize(
    "color", ["", "red", "#12", "#12345g", "#1234567", "\x1b[31m", "#fff\n", "#" + "f" * 10_000]
)
def test_what_is_no_colour_gives_a_colour_of_the_palette(color: str) -> None:
    assert readable(color, BLACK, "Mika") in PALETTE
    assert readable(color, Ground("#ffffff"), "Mika") in PALETTE_ON_LIGHT
    assert readable(color, Ground("", OWN), "Mika") in OWN
    assert readable(color, Ground(""), "Mika") == "default"


def test_the_same_name_keeps_its_palette_colour_and_names_differ() -> None:
    assert readable("", BLACK, "Mika") == readable("nonsense", BLACK, "Mika")
    assert len({readable("", BLACK, f"agent {number}") for number in range(40)}) == len(PALETTE)


def test_a_name_with_half_a_surrogate_pair_has_a_colour_too() -> None:
    assert readable("", BLACK, "\ud800") in PALETTE


@pytest.mark.parametrize("palette", [PALETTE, PALETTE_ON_LIGHT])
@pytest.mark.parametrize("eyes", [None, *EYES])
def test_agents_can_be_told_apart_by_every_pair_of_eyes(palette: tuple[str, ...], eyes: str | None) -> None:
    places = [place(seen(rgb(color), eyes) if eyes else rgb(color)) for color in palette]
    assert len(palette) == 8
    assert min(dist(one, two) for n, one in enumerate(places) for two in places[:n]) > 0.07
    assert min(dist(one, two) for one, two in pairwise(places)) > 0.14


@pytest.mark.parametrize("palette", [PALETTE, PALETTE_ON_LIGHT])
def test_no_agent_without_a_colour_gets_the_red_of_failure_or_the_amber_of_the_focus(
    palette: tuple[str, ...],
) -> None:
    red, amber = oklch(rgb("#f7768e"))[2], oklch(rgb("#e0af68"))[2]
    for color in palette:
        hue = oklch(rgb(color))[2]
        assert max(cos(hue - red), cos(hue - amber)) < 0.97


@given(HEX, st.sets(st.sampled_from(OWN), min_size=1))
def test_on_the_terminals_own_ground_an_agent_gets_one_of_its_colours_and_never_red(
    color: str, names: set[str]
) -> None:
    own = readable(color, Ground("", tuple(sorted(names))), "Mika")
    assert own in names
    assert "red" not in own


@pytest.mark.parametrize(
    ("color", "own"),
    [("#00d0d0", "bright_cyan"), ("#e0d020", "bright_yellow"), ("#20b020", "bright_green")],
)
def test_of_the_terminals_own_colours_the_nearest_is_taken(color: str, own: str) -> None:
    assert readable(color, Ground("", OWN)) == own


def test_a_ground_knows_what_its_theme_asks_for() -> None:
    plain = Theme("plain", primary="#ffffff")
    strict = Theme("strict", primary="#ffffff", variables={"least-contrast": "7"})
    assert ground_of(Color.parse("#123456"), plain) == Ground("#123456")
    assert ground_of(Color.parse("#123456"), strict).least == 7
    own = Theme("own", primary="#fff", variables={"own-colors": "blue magenta"})
    assert ground_of(Color.parse("ansi_default"), own) == Ground("", ("blue", "magenta"))
