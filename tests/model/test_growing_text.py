from __future__ import annotations

import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import growing_text
from agent_tui.model.growing_text import GrowingText

# Of every width that a ``str`` may have, and halves of pairs, as JSON may bring them.
CHARACTERS = st.sampled_from(["a", "é", "两", "🙂", "\ud83d", "\ude42"])
PIECES = st.lists(st.text(CHARACTERS, max_size=9), max_size=30)


@given(PIECES, st.integers(0, 100), st.integers(0, 100), st.integers(0, 30), st.integers(1, 12))
def test_a_slice_is_the_slice_of_the_whole_text(
    pieces: list[str], start: int, end: int, compacted: int, piece_characters: int
) -> None:
    text, whole = GrowingText(), "".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_text, "PIECE_CHARACTERS", piece_characters)
        for number, piece in enumerate(pieces):
            text.add(piece)
            if number == compacted:
                text.compact()
        assert text.slice(start, end) == whole[start:end]
        assert text.text == text.slice(0, len(whole)) == whole
        assert text.length == len(whole)


def size(text: GrowingText) -> int:
    return sys.getsizeof(text._full) + sum(map(sys.getsizeof, (*text._full, text._last)))


@pytest.mark.parametrize(
    ("word", "most"), [("word ", 1.0), ("слово ", 2.0), ("两位", 2.0), ("word 🙂 слово ", 2.0)]
)
def test_a_text_takes_about_its_characters_in_whatever_pieces_it_came(word: str, most: float) -> None:
    streamed, whole, count = GrowingText(), GrowingText(), 40_000
    for _ in range(count):
        streamed.add(word)
    whole.add(word * count)
    for text in (streamed, whole):
        text.compact()
        assert size(text) <= 1.1 * most * len(word) * count


def test_a_piece_that_is_read_is_not_kept_unpacked() -> None:
    text = GrowingText()
    text.add("слово 🙂 " * 40_000)
    text.compact()
    before = size(text)
    tracemalloc.start()
    try:
        for start in range(0, text.length, 1000):
            text.slice(start, start + 10)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size(text) == before
    assert kept < 10_000
    assert most < 40_000  # a slice unpacks what it needs, not all of it
