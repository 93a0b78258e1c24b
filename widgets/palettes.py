"""The sixteen colours of well-known terminals, and which can be read on a background, without Textual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

Rgb = tuple[int, int, int]

MIN_CONTRAST: Final = 4.5  # WCAG 2.1, AA, for text
MID_LUMINANCE: Final = 0.179  # black reads better on anything brighter, white on anything darker
DEFAULT: Final = "default"  # the terminal's own foreground, which is readable on its own background
_BASIC: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
NAMES: Final = (*_BASIC, *(f"bright_{name}" for name in _BASIC))  # in the order of SGR 30–37 and 90–97
LINUX_CONSOLE: Final = "linux"  # its TERM; it does not tell its background, which is black


def _colors(text: str) -> tuple[Rgb, ...]:
    return tuple((int(word[0:2], 16), int(word[2:4], 16), int(word[4:6], 16)) for word in text.split())


PALETTES: Final = {
    "xterm": _colors(
        "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5"
        " 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff"
    ),
    "VGA": _colors(
        "000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa"
        " 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff"
    ),
    "Tango": _colors(
        "2e3436 cc0000 4e9a06 c4a000 3465a4 75507b 06989a d3d7cf"
        " 555753 ef2929 8ae234 fce94f 729fcf ad7fa8 34e2e2 eeeeec"
    ),
    "GNOME": _colors(
        "171421 c01c28 26a269 a2734c 12488b a347ba 2aa1b3 d0cfcc"
        " 5e5c64 f66151 33d17a e9ad0c 2a7bde c061cb 33c7de ffffff"
    ),
    "Windows": _colors(
        "0c0c0c c50f1f 13a10e c19c00 0037da 881798 3a96dd cccccc"
        " 767676 e74856 16c60c f9f1a5 3b78ff b4009e 61d6d6 f2f2f2"
    ),
}


@dataclass(frozen=True, slots=True)
class Backdrop:
    """A background's luminance (0 to 1, WCAG 2) under each of ``PALETTES``; empty if unknown."""

    luminances: tuple[float, ...] = ()

    @classmethod
    def of(cls, value: float) -> Backdrop:
        """Return the backdrop of a terminal that told its colour."""
        return cls((value,) * len(PALETTES))

    @classmethod
    def numbered(cls, number: int) -> Backdrop:
        """Return the backdrop of a terminal whose background is one of its sixteen colours."""
        return cls(tuple(luminance(colors[number]) for colors in PALETTES.values()))

    @property
    def is_light(self) -> bool | None:
        """Whether black reads better on it than white; ``None`` if unknown."""
        if not self.luminances:
            return None
        return sum(value > MID_LUMINANCE for value in self.luminances) * 2 > len(self.luminances)

    def shows(self, name: str) -> bool:
        """Whether text in one of the sixteen colours has a contrast of 4.5:1 under every palette."""
        if not self.luminances:
            return False
        number = NAMES.index(name)
        texts = [luminance(colors[number]) for colors in PALETTES.values()]
        pairs = zip(texts, self.luminances, strict=True)
        return all(ratio(text, behind) >= MIN_CONTRAST for text, behind in pairs)


def ratio(first: float, second: float) -> float:
    """Return the contrast of two luminances (WCAG 2.1), from 1 to 21."""
    light, dark = max(first, second), min(first, second)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: Rgb) -> float:
    """Return the relative luminance of a colour (WCAG 2), from 0 to 1."""
    red, green, blue = (linear(value / 255) for value in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(part: float) -> float:
    """Return the linear light of a channel of sRGB; both are from 0 to 1."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
