"""What somebody means who typed a few letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.fuzzy import has_letters, match


@pytest.mark.parametrize(
    ("typed", "text", "places"),
    [
        ("mo", "model", (0, 1)),
        ("MO", "model", (0, 1)),
        ("main", "src/main.py", (4, 5, 6, 7)),
        ("py", "happy.py", (6, 7)),  # the beginning of a word before a piece of one
        ("smp", "src/main.py", (0, 4, 9)),
        ("ст", "список тем", (0, 7)),
        ("报", "季度报告.md", (2,)),
        ("", "model", ()),
    ],
)
def test_the_letters_that_were_meant_are_found(typed: str, text: str, places: tuple[int, ...]) -> None:
    found = match(typed, text)
    assert found is not None
    assert found.places == places


@pytest.mark.parametrize(("typed", "text"), [("mx", "model"), ("om", "model"), ("ß", "s")])
def test_what_lacks_a_letter_does_not_fit(typed: str, text: str) -> None:
    assert match(typed, text) is None


def test_a_beginning_fits_better_than_a_word_a_piece_and_scattered_letters() -> None:
    texts = ["t-h-e-m-e", "mytheme", "my theme", "theme"]
    assert sorted(texts, key=lambda text: match("theme", text).rank, reverse=True) == texts  # type: ignore[union-attr]


@given(st.text(max_size=8), st.text(max_size=60))
def test_what_was_meant_are_letters_of_the_text_in_their_order(typed: str, text: str) -> None:
    found = match(typed, text)
    if found is not None:
        assert list(found.places) == sorted(set(found.places))
        assert all(at < len(text) for at in found.places)
    if has_letters(typed, text):
        assert found is not None
