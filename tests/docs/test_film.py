"""The moving picture: what it is made of, and what it may cost."""

from __future__ import annotations

import re
from pathlib import Path

from docs.made import FOLDER
from pictures.film import Film, Moment

MAX_BYTES = 400_000
TEXT = '<text class="t-r1" x="0" y="{y}" textLength="24.4" clip-path="url(#l)">{words}</text>'


def screenshot(*rows: str) -> str:
    """Return what Rich writes of some rows."""
    texts = (TEXT.format(y=18.5 + 24.4 * at, words=words) for at, words in enumerate(rows))
    return f".t-r1 {{ fill: #abcdef }} {''.join(texts)}"


def test_a_row_that_stays_is_written_once_and_each_moment_is_shown_as_long_as_it_lasts() -> None:
    moments = [Moment(screenshot("stays", "goes"), 1.0), Moment(screenshot("stays", "comes"), 3.0, "p")]
    svg = Film(10, 2).svg(moments, "a title", still=1)
    assert [svg.count(f">{words}<") for words in ("stays", "goes", "comes", "p")] == [1, 1, 1, 1]
    assert "film 4s steps(1,end) infinite" in svg
    assert re.findall(r"([\d.]+)%\{transform:translateX\((-?\d+)px\)\}", svg) == [
        ("0.000", "0"),
        ("25.000", "-140"),
    ]
    assert "animation:none;transform:translateX(-140px)" in svg


def test_what_is_blank_is_left_out() -> None:
    svg = Film(10, 1).svg([Moment(screenshot("&#160;&#160;"), 1.0)], "", still=0)
    assert "<use" not in svg


def test_the_picture_of_the_readme_is_small_moves_and_loads_nothing() -> None:
    svg = Path(FOLDER.parent, "pictures", "moving.svg").read_text(encoding="utf-8")
    assert len(svg.encode()) <= MAX_BYTES
    assert "@keyframes" in svg
    assert not re.search(r"<script|@import|@font-face|<image|href=\"(?!#)", svg)
