"""What a long conversation costs: memory that grows with the text, work that does not."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.widgets.apps import Hand, resize, running
from tests.widgets.drawing import screen_of
from tests.widgets.markdown.test_splitter import TEXTS
from tests.widgets.transcript.test_counts import counted, frames, tokens
from tests.widgets.transcript.test_transcript import a_pane
from tests.widgets.transcript.test_view import a_view, lines, say
from widgets.transcript.heights import Heights
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.view import View

MAX_BYTES_PER_TOKEN = 15  # of four characters each, with all that is kept besides: layouts come on top
TURNS = 10


def grown(view: View, pieces: list[str], times: int) -> int:
    """Stream some pieces again and again; return how many bytes more are in use."""
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(times):
        for chunk in frames(pieces):
            view.messages[-1].add(chunk)
            view.frame()
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before


@pytest.mark.slow
def test_memory_grows_with_the_text_and_with_nothing_else() -> None:
    view, pieces = View(), tokens()
    view.resize(80, 30)
    view.messages.append(TranscriptMessage("a", ""))
    tracemalloc.start()
    try:
        grown(view, pieces, 12)  # until as many layouts are kept as ever will be
        first = grown(view, pieces, TURNS)
        second = grown(view, pieces, TURNS)
    finally:
        tracemalloc.stop()
    count = len(pieces) * TURNS
    assert first / count <= MAX_BYTES_PER_TOKEN
    assert second / count <= MAX_BYTES_PER_TOKEN


def test_a_frame_looks_only_at_the_messages_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    view = a_view()
    say(view, *("some words\n\n" + lines(1, 5) for _ in range(5_000)))
    say(view, "some words", is_closed=False)
    view.frame()
    view.scroll(-100)
    view.frame()
    measured = counted(monkeypatch, TranscriptMessage, "height")
    moved = counted(monkeypatch, Heights, "set")
    for _ in range(10):
        view.messages[-1].add("\n\nmore words")
        view.frame()
        assert view.rows_new > 0
        assert view.position()[1] > 0
    assert len(measured) <= 30
    assert len(moved) <= 60


def steps(messages: int) -> int:
    """Return how many nodes of the index are touched by a look at a conversation of so many messages."""
    heights = Heights([3] * messages)
    touched = 0

    class Counting(list[int]):
        def __getitem__(self, index: int) -> int:  # type: ignore[override]
            nonlocal touched
            touched += 1
            return super().__getitem__(index)

    heights._tree = Counting(heights._tree)  # type: ignore[assignment]
    for index in range(0, messages, messages // 16):
        heights.before(index)
        heights.set(index, 5)
    return touched


def test_where_a_message_stands_is_found_in_steps_that_hardly_grow() -> None:
    assert steps(20_000) / steps(10_000) <= 1.2


@settings(max_examples=12)
@given(
    st.lists(TEXTS, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 90), st.integers(1, 30)), min_size=2, max_size=3),
)
async def test_resizing_to_any_size_equals_a_fresh_pane_of_that_size(
    texts: list[str], sizes: list[tuple[int, int]]
) -> None:
    hand = Hand()
    old, new = a_pane(hand), a_pane(hand)
    for pane in (old, new):
        for number, text in enumerate(texts):
            pane.turn_opened(str(number), f"round {number}", color="#00ff00" if number % 2 else "")
            pane.text_added(str(number), text)
    async with running(old, sizes[0]) as pilot:
        for size in sizes[1:]:
            hand.turn_until_clean()
            await pilot.pause()
            await resize(pilot, *size)
        hand.turn_until_clean()
        await pilot.pause()
        resized = screen_of(old)
    async with running(new, sizes[-1]) as pilot:
        hand.turn_until_clean()
        await pilot.pause()
        assert screen_of(new) == resized
