"""Texts that are sent whole again for every word of them: decoded once, and never differently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.wire.sse import SSEParser

LONG = "слово 一 " * 500


def data_of(lines: list[bytes], size: int) -> list[str]:
    """Return the data of events of one line each, read in chunks of ``size`` bytes."""
    stream = b"".join(b"data: " + line + b"\n\n" for line in lines)
    parser = SSEParser()
    chunks = (stream[start : start + size] for start in range(0, len(stream), size))
    return [frame.data for chunk in chunks for frame in parser.feed(chunk)]


_ends = st.lists(
    st.one_of(st.binary(max_size=20), st.text(max_size=9).map(str.encode)), min_size=1, max_size=6
)


@given(ends=_ends, start=st.sampled_from([LONG, "a" * 5000, "ж" + "a" * 5000]), size=st.integers(500, 9000))
def test_long_events_that_begin_alike_are_decoded_as_each_alone(
    ends: list[bytes], start: str, size: int
) -> None:
    lines = [start.encode() + end.replace(b"\n", b"").replace(b"\r", b"") for end in ends]
    assert data_of(lines, size) == [line.decode("utf-8", "replace") for line in lines]


@given(cuts=st.lists(st.integers(0, len(LONG.encode())), min_size=2, max_size=8))
def test_long_events_that_grow_and_shrink_anywhere_are_decoded_as_each_alone(cuts: list[int]) -> None:
    whole = LONG.encode()
    lines = [whole[:cut] for cut in cuts]
    assert data_of(lines, 4096) == [line.decode("utf-8", "replace") for line in lines]


@pytest.mark.parametrize("field", [b"data:", b"data: ", b"data:  "])
def test_the_space_behind_the_colon_is_told_from_the_data(field: bytes) -> None:
    parser = SSEParser()
    text = LONG.encode()
    frames = parser.feed(b"data: " + text + b"\n\n" + field + text + b"!\n\n")
    space = " " if field.endswith(b"  ") else ""
    assert [frame.data for frame in frames] == [LONG, f"{space}{LONG}!"]
