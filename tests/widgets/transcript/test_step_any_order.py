from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.widgets.apps import Hand, resize, running
from tests.widgets.drawing import screen_of
from tests.widgets.markdown.test_splitter import TEXTS
from widgets.transcript.transcript import Transcript

SIZES = st.tuples(st.integers(1, 60), st.integers(1, 16))
KEYS = st.sampled_from("abcde")
ACTS = st.one_of(
    st.tuples(st.just("open"), KEYS, st.booleans()),
    st.tuples(st.just("add"), KEYS, TEXTS),
    st.tuples(st.just("replace"), KEYS, TEXTS),
    st.tuples(st.just("later"), KEYS, TEXTS),
    st.tuples(st.just("title"), KEYS, TEXTS),
    st.tuples(st.just("close"), KEYS, st.text(max_size=5)),
    st.tuples(st.just("toggle"), KEYS, st.none()),
    st.tuples(st.just("all"), KEYS, st.sampled_from([None, True, False])),
    st.tuples(st.just("scroll"), KEYS, st.integers(-12, 12)),
    st.tuples(st.just("go"), KEYS, st.integers(1, 6)),
    st.tuples(st.just("find"), KEYS, st.sampled_from(["a", "words", "1"])),
    st.tuples(st.just("resize"), KEYS, SIZES),
    st.tuples(st.just("draw"), KEYS, st.none()),
)


def act(pane: Transcript, name: str, key: str, value: object) -> None:
    """Do one thing that the program or the reader may do at any time."""
    match name, value:
        case "open", bool(is_folded):
            pane.step_opened(key, title=f"read  {key}", summary="1 s", is_folded=is_folded)
        case "add", str(text):
            pane.text_added(key, text)
        case "replace", str(text):
            pane.text_replaced(key, text)
        case "later", str(text):
            pane.body_later(key, lambda: text)
        case "title", str(text):
            pane.step_titled(key, text, text, "✓")
        case "close", str(note):
            pane.turn_closed(key, note)
        case "toggle", None:
            pane.folds.toggle(key)
        case "all", (bool() | None) as is_folded:
            pane.folds.fold_all(is_folded=is_folded)
        case "scroll", int(rows):
            pane.action_scroll_rows(rows)
        case "go", int(number):
            pane.reader.go_to_message(number)
        case "find", str(needle):
            pane.reader.find(needle)
            pane.reader.find_step(1)
        case _:
            pass  # to draw and to resize is up to the test


@settings(max_examples=15)
@given(st.lists(ACTS, max_size=24), SIZES)
async def test_whatever_is_done_the_end_looks_as_if_it_had_always_been_so(
    acts: list[tuple[str, str, object]], size: tuple[int, int]
) -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    async with running(pane, size) as pilot:
        for name, key, value in acts:
            if isinstance(value, tuple):
                size = value
                await resize(pilot, *size)
            act(pane, name, key, value)
            if name == "draw":
                hand.turn()
        hand.turn_until_clean()
        pane.reader.find("")
        pane.action_follow()
        hand.turn_until_clean()
        await pilot.pause()
        seen = screen_of(pane)
        fresh = Transcript(clock=hand.clock())
        for message in pane.view.messages:
            text = message.text.whole
            head = message.part(0)
            if head.kind == "step":
                folded = pane.folds.is_folded(message.key)
                fresh.step_opened(message.key, title=head.label, summary=head.summary, is_folded=folded)
            fresh.text_replaced(message.key, text)
            if message.is_closed:
                foot = message.part(message.parts_in_all - 1)
                fresh.turn_closed(message.key, foot.label if foot.kind in ("note", "failure") else "")
    async with running(fresh, size) as pilot:
        hand.turn_until_clean()
        await pilot.pause()
        assert screen_of(fresh) == seen
