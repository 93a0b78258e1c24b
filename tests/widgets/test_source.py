from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from widgets.source import Source


@given(st.lists(st.text("abc", max_size=9), max_size=30), st.integers(0, 100), st.integers(0, 100))
def test_a_slice_is_the_slice_of_the_whole_text(pieces: list[str], start: int, end: int) -> None:
    source, whole = Source(), "".join(pieces)
    for piece in pieces:
        source.append(piece)
    end = min(end, len(whole))
    assert source.slice(start, end) == whole[start:end]
    assert source.text() == whole
    assert source.slice(start, end) == whole[start:end]
    assert source.length == len(whole)


def test_a_long_text_is_kept_in_few_pieces() -> None:
    source = Source()
    for _ in range(10_000):
        source.append("ab")
    assert len(source._parts) < 20
