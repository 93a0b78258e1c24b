from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import growing_text
from agent_tui.model.growing_text import GrowingText

# Of every width that a ``str`` may have, and halves of pairs, as JSON may bring them.
CHARACTERS = st.sampled_from(["a", "é", "两", "🙂", "\ud83d", "\ude42"])
PIECES = st.lists(st.text(CHARACTERS, max_size=9), max_size=30)


@given(PIECES, st.integers(0, 100), st.integers(0, 100), st.integers(1, 12))
def test_a_slice_is_the_slice_of_the_whole_text(
    pieces: list[str], start: int, end: int, piece_characters: int
) -> None:
    text, whole = GrowingText(), "".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_text, "PIECE_CHARACTERS", piece_characters)
        for piece in pieces:
            text.add(piece)
        assert text.slice(start, end) == whole[start:end]
        assert text.text == text.slice(0, len(whole)) == whole
        assert text.length == len(whole)
