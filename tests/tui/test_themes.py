"""The themes that ship: complete, readable, and refused by name when unknown."""

from __future__ import annotations

import pytest
from textual.color import Color

from agent_tui.errors import ConfigError
from tui.themes import load, names

LEAST_CONTRAST = 4.5


def contrast(one: Color, other: Color) -> float:
    """WCAG 2 contrast ratio."""

    def luminance(color: Color) -> float:
        channels = (value / 255 for value in (color.r, color.g, color.b))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_there_is_a_dark_and_a_light_theme() -> None:
    assert {load(name).dark for name in names()} == {True, False}


@pytest.mark.parametrize("name", names())
def test_every_text_colour_of_a_theme_can_be_read(name: str) -> None:
    theme = load(name)
    background = Color.parse(theme.background or "")
    texts = [theme.foreground, theme.error, theme.success, theme.accent, theme.variables["text-muted"]]
    assert all(contrast(Color.parse(text or ""), background) >= LEAST_CONTRAST for text in texts)


def test_an_unknown_theme_is_refused_with_the_known_names() -> None:
    with pytest.raises(ConfigError, match="known: dark, light"):
        load("neon")
