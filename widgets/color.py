"""Colours of agents, made readable. A server may send any colour; the same agent keeps the same hue. Of the
terminal's own sixteen colours, an agent gets one that can be read with every common palette, or none.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from math import atan2, cos, hypot, sin
from typing import Final

from textual.color import Color
from textual.theme import Theme

from agent_tui.model.colors import hex_color
from widgets.palettes import DEFAULT, MIN_CONTRAST, Rgb, linear, luminance, ratio

LEAST_CONTRAST: Final = "least-contrast"  # the variable with the least contrast that a theme asks for
OWN_COLORS: Final = "own-colors"  # the variable with the terminal colours that a theme allows for agents
# For agents without a colour, on dark and on light: neither the red of errors nor the amber of the focus.
# Neighbours differ most, also for those who cannot tell red from green: lightness differs where hue does not.
PALETTE: Final = ("#6f9ffb", "#9af0ae", "#cf8bbb", "#d3d566", "#22c3ee", "#9ab035", "#b8eaff", "#62c797")
PALETTE_ON_LIGHT: Final = (
    "#0072a8",
    "#003a6b",
    "#617200",
    "#6d0045",
    "#a0487a",
    "#403f00",
    "#4642a2",
    "#00633f",
)
# The terminal's colours that an agent may have; none is the red of errors.
OWN: Final = ("bright_cyan", "bright_yellow", "bright_green", "cyan", "green", "blue", "magenta")
_OWN_HUES: Final = {  # in radians, of OKLCH
    "cyan": 3.40,
    "bright_cyan": 3.40,
    "green": 2.49,
    "bright_green": 2.49,
    "bright_yellow": 1.92,
    "blue": 4.61,
    "magenta": 5.73,
}
_STEPS: Final = 64
_GREY: Final = 0.02  # chroma below which a colour has no hue to keep

Lch = tuple[float, float, float]
"""Lightness from 0 to 1, chroma from 0 to about 0.37, hue in radians (OKLCH)."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The background of a text: ``color`` is "" for the terminal's own, on which ``own`` colours can be
    read.
    """

    color: str
    own: tuple[str, ...] = ()
    least: float = MIN_CONTRAST


def ground_of(background: Color, theme: Theme) -> Ground:
    """Return ``background`` as the ground of texts in ``theme``."""
    if background.ansi is not None:
        return Ground("", tuple(theme.variables.get(OWN_COLORS, "").split()))
    return Ground(background.hex6, least=float(theme.variables.get(LEAST_CONTRAST, MIN_CONTRAST)))


@lru_cache(maxsize=512)
def readable(color: str, ground: Ground, name: str = "") -> str:
    """Return ``color`` (``#rgb`` or ``#rrggbb``) with its lightness changed until it is readable on
    ``ground``, as ``#rrggbb``; or one of the terminal's own colours if that is the ground. If ``color`` is
    not a colour, the result is the palette's colour for ``name``.
    """
    color = hex_color(color)
    if not ground.color:
        return _own(color, ground.own, name)
    below = Color.parse(ground.color).rgb
    # One of the two always has a contrast of 4.58:1 or more.
    pole = max((0.0, 1.0), key=lambda lightness: contrast((round(255 * lightness),) * 3, below))
    wanted = Color.parse(color or _pick(PALETTE if pole else PALETTE_ON_LIGHT, name)).rgb
    if contrast(wanted, below) >= ground.least:
        return _hex(wanted)
    lightness, chroma, hue = oklch(wanted)
    for step in range(1, _STEPS + 1):
        moved = from_oklch((lightness + (pole - lightness) * step / _STEPS, chroma, hue))
        if contrast(moved, below) >= ground.least:
            return _hex(moved)
    return _hex((round(255 * pole),) * 3)


def contrast(first: Rgb, second: Rgb) -> float:
    """Return the contrast ratio of two colours (WCAG 2.1), from 1 to 21."""
    return ratio(luminance(first), luminance(second))


def oklch(color: Rgb) -> Lch:
    """Return a colour's lightness, chroma and hue as the eye perceives them (Björn Ottosson's OKLab, in polar
    form).
    """
    red, green, blue = (linear(value / 255) for value in color)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    lightness = 0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short
    return lightness, hypot(a, b), atan2(b, a)


def from_oklch(color: Lch) -> Rgb:
    """Return the colour with that lightness and hue, and as much of the chroma as a screen can show."""
    lightness, chroma, hue = color
    if (shown := _in_srgb(color)) is not None:
        return shown
    least, most = 0.0, chroma
    grey = _in_srgb((min(1.0, max(0.0, lightness)), 0.0, hue)) or (0, 0, 0)
    for _ in range(12):
        middle = (least + most) / 2
        tried = _in_srgb((lightness, middle, hue))
        if tried is None:
            most = middle
        else:
            least, grey = middle, tried
    return grey


def _in_srgb(color: Lch) -> Rgb | None:
    """Return an OKLCH colour in sRGB, or ``None`` if it is outside."""
    lightness, chroma, hue = color
    a, b = chroma * cos(hue), chroma * sin(hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    parts = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    if not all(-0.0005 <= part <= 1.0005 for part in parts):
        return None
    red, green, blue = map(_encoded, parts)
    return red, green, blue


def _own(color: str, own: tuple[str, ...], name: str) -> str:
    """Return the one of ``own`` that is nearest in hue to ``color``, or the one for ``name``."""
    if not own:
        return DEFAULT
    if color:
        _, chroma, hue = oklch(Color.parse(color).rgb)
        if chroma >= _GREY:
            return max(own, key=lambda candidate: cos(_OWN_HUES[candidate] - hue))
    return _pick(own, name)


def _pick(colors: tuple[str, ...], name: str) -> str:
    return colors[zlib.crc32(name.encode("utf-8", "replace")) % len(colors)]


def _encoded(part: float) -> int:
    part = min(1.0, max(0.0, part))
    return round(255 * (12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055))


def _hex(color: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)
