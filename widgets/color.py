"""Colours of agents, made readable.

A colour comes from a server and may be anything. Whatever it is, what comes out can be read on the
background, and the same agent keeps the same hue.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from typing import Final

MIN_CONTRAST: Final = 4.5  # WCAG 2.1, AA, for text
# Hues that are neither the red of failure nor the amber of the focus.
PALETTE: Final = ("#7aa2f7", "#9ece6a", "#bb9af7", "#2ac3de", "#e59ac2", "#73daca", "#b4b98c", "#c8a2ff")
_HEX: Final = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_STEPS: Final = 32

Rgb = tuple[int, int, int]


@lru_cache(maxsize=512)
def readable(color: str, background: str, name: str = "") -> str:
    """Return ``color`` (``#rgb`` or ``#rrggbb``), moved towards white or black until it stands at least
    4.5:1 against ``background``; anything else gives the palette colour that belongs to ``name``.
    """
    if len(color) > 7 or not _HEX.fullmatch(color):
        color = PALETTE[zlib.crc32(name.encode("utf-8", "replace")) % len(PALETTE)]
    wanted, ground = _rgb(color), _rgb(background)
    # One of the two always has a contrast of 4.58:1 or more.
    pole: Rgb = max((0, 0, 0), (255, 255, 255), key=lambda end: contrast(end, ground))
    for step in range(_STEPS + 1):
        mixed = _mixed(wanted, pole, step / _STEPS)
        if contrast(mixed, ground) >= MIN_CONTRAST:
            return "#{:02x}{:02x}{:02x}".format(*mixed)
    return "#{:02x}{:02x}{:02x}".format(*pole)


def contrast(first: Rgb, second: Rgb) -> float:
    """Return the contrast ratio of two colours (WCAG 2.1), from 1 to 21."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Rgb) -> float:
    red, green, blue = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in color)
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(color: str) -> Rgb:
    digits = color[1:]
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def _mixed(color: Rgb, pole: Rgb, share: float) -> Rgb:
    red, green, blue = [round(own + (end - own) * share) for own, end in zip(color, pole, strict=True)]
    return red, green, blue
