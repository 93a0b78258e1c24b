"""The sixteen colours of well-known terminals, with their own words and background, dark and light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from widgets.palettes import NAMES, Backdrop, Rgb, luminance


def _colors(text: str) -> list[Rgb]:
    return [(int(word[0:2], 16), int(word[2:4], 16), int(word[4:6], 16)) for word in text.split()]


@dataclass(frozen=True, slots=True)
class Palette:
    """``colors`` are those of SGR 30–37 and 90–97, the others those of SGR 39 and 49."""

    name: str
    colors: list[Rgb]
    foreground: Rgb
    background: Rgb

    def color(self, name: str) -> Rgb:
        """Return one of the colours by its name, as "bright_red"."""
        return self.colors[NAMES.index(name)]


_XTERM = _colors(
    "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5"
    " 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff"
)
_VGA = _colors(
    "000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa"
    " 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff"
)
_TANGO = _colors(
    "2e3436 cc0000 4e9a06 c4a000 3465a4 75507b 06989a d3d7cf"
    " 555753 ef2929 8ae234 fce94f 729fcf ad7fa8 34e2e2 eeeeec"
)
_GNOME = _colors(
    "171421 c01c28 26a269 a2734c 12488b a347ba 2aa1b3 d0cfcc"
    " 5e5c64 f66151 33d17a e9ad0c 2a7bde c061cb 33c7de ffffff"
)
_WINDOWS = _colors(
    "0c0c0c c50f1f 13a10e c19c00 0037da 881798 3a96dd cccccc"
    " 767676 e74856 16c60c f9f1a5 3b78ff b4009e 61d6d6 f2f2f2"
)

DARK: Final = [
    Palette("xterm", _XTERM, (229, 229, 229), (0, 0, 0)),
    Palette("VGA", _VGA, (170, 170, 170), (0, 0, 0)),
    Palette("Tango", _TANGO, (211, 215, 207), (0, 0, 0)),
    Palette("GNOME", _GNOME, (208, 207, 204), (23, 20, 33)),
    Palette("Windows", _WINDOWS, (204, 204, 204), (12, 12, 12)),
]
LIGHT: Final = [
    Palette("xterm", _XTERM, (0, 0, 0), (255, 255, 255)),
    Palette("VGA", _VGA, (0, 0, 0), (255, 255, 255)),
    Palette("Tango", _TANGO, (46, 52, 54), (255, 255, 255)),
    Palette("GNOME", _GNOME, (23, 20, 33), (255, 255, 255)),
    Palette("Windows", _WINDOWS, (12, 12, 12), (242, 242, 242)),
]

# What is readable on the worst of them is on all.
ON_DARK: Final = Backdrop.of(max(luminance(palette.background) for palette in DARK))
ON_LIGHT: Final = Backdrop.of(min(luminance(palette.background) for palette in LIGHT))
