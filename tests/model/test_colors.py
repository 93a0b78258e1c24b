"""Colours as people write them."""

from __future__ import annotations

import pytest

from agent_tui.model.colors import hex_color


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        *(("#fff", "#ffffff"), ("#A1c", "#aa11cc"), ("#ABCDEF", "#abcdef")),
        *(
            (odd, "")
            for odd in ("", "fff", "#ffff", "#fffff", "#ggg", "#fff\n", "blue", "javascript", "#٣٣٣")
        ),
    ],
)
def test_a_colour_has_three_or_six_digits(written: str, stored: str) -> None:
    assert hex_color(written) == stored
