"""What drawing costs, counted instead of timed: the same numbers on every machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.pilot import Pilot
from textual.strip import Strip

from tests.widgets.apps import CountingDriver, Hand, painted
from tests.widgets.drawing import screen_of
from widgets.ink import Row
from widgets.layout import Layout
from widgets.markdown.blocks import Block
from widgets.markdown.rows import lay_out
from widgets.markdown.splitter import Splitter
from widgets.transcript import message as message_module
from widgets.transcript.message import SLICE_CHARACTERS, TranscriptMessage
from widgets.transcript.transcript import Transcript
from widgets.transcript.view import FRAME_BUDGET, View

SIZE = (100, 30)
TOKENS_PER_FRAME = 6
# For the feed below, measured plus five in a hundred: the numbers are the same on every run.
MAX_BYTES_PER_TOKEN = 413
MAX_STRIPS_PER_TOKEN = 1.3


def tokens() -> list[str]:
    """Return a feed of every kind of block, in pieces of four characters."""
    text = (
        "## Findings\n\nThe pool is drained before the **health check** fails, so the deploy is rolled back "
        "and nobody knows why; `p95` says nothing about that.\n\n- every request misses,\n"
        "- the pool is drained\n  - and stays so\n\n```python\ndef load(sid):\n    return store[sid]\n```\n\n"
        "| store | p95 |\n|---|--:|\n| Redis | 0.4 |\n| PostgreSQL | 1.9 |\n\n"
        "两位的分歧其实在一个问题上。\n\n"
    ) * 6
    return [text[at : at + 4] for at in range(0, len(text), 4)]


def frames(pieces: list[str]) -> Iterator[str]:
    for at in range(0, len(pieces), TOKENS_PER_FRAME):
        yield "".join(pieces[at : at + TOKENS_PER_FRAME])


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Block, int, bool]]:
    """Every call of lay_out: the block, the characters, whether it was open."""
    calls: list[tuple[Block, int, bool]] = []

    def counting(block: Block, text: str, width: int, *, is_open: bool = False, **more: Any) -> list[Row]:
        calls.append((block, len(text), is_open))
        return lay_out(block, text, width, is_open=is_open, **more)

    monkeypatch.setattr(message_module, "lay_out", counting)
    return calls


def counted(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[None]:
    """Count the calls of a method."""
    calls: list[None] = []
    original: Callable[..., Any] = getattr(owner, name)

    def counting(*args: Any, **kwargs: Any) -> Any:
        calls.append(None)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, counting)
    return calls


async def test_a_stream_costs_no_layout_few_strips_and_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    reflows = counted(monkeypatch, Compositor, "reflow")
    strips = counted(monkeypatch, Strip, "__init__")
    pieces = tokens()

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        widgets = len(pilot.app.query("*"))
        reflows.clear()
        strips.clear()
        driver.written = ""
        for chunk in frames(pieces):
            pane.text_added("a", chunk)
            hand.turn()
            await pilot.pause()
        assert len(reflows) == 0
        assert len(pilot.app.query("*")) == widgets
        assert len(driver.written.encode()) / len(pieces) <= MAX_BYTES_PER_TOKEN
        assert len(strips) / len(pieces) <= MAX_STRIPS_PER_TOKEN

    await painted(pane, SIZE, act)


async def test_what_the_terminal_shows_is_what_the_pane_composed() -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        for number, chunk in enumerate(frames(tokens()[:300])):
            pane.text_added("a", chunk)  # at every tenth frame the reader scrolls, up and down again
            hand.turn()
            await pilot.pause()
            if number % 10 == 5:
                pane.action_scroll_rows(-3 if number % 20 == 5 else 2)
                hand.turn_until_clean()
                await pilot.pause()
            assert driver.screen((60, 12)) == screen_of(pane)
        pane.turn_closed("a", "┄ cut")
        pane.action_follow()
        hand.turn_until_clean()
        await pilot.pause()
        assert driver.screen((60, 12)) == screen_of(pane)

    await painted(pane, (60, 12), act)


async def test_an_idle_pane_paints_nothing_and_asks_for_no_frame() -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        pane.text_added("a", "words")
        hand.turn_until_clean()
        await pilot.pause()
        writes = driver.writes
        for _ in range(5):
            await pilot.pause()
        assert driver.writes == writes
        assert hand.waiting == []
        pane.text_replaced("a", "words")  # the same again
        hand.turn_until_clean()
        await pilot.pause()
        assert driver.writes == writes

    await painted(pane, SIZE, act)


async def test_while_the_reader_is_elsewhere_only_the_label_is_painted() -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        pane.text_added("a", "- item\n" * 100)
        hand.turn_until_clean()
        pane.action_scroll_rows(-30)
        hand.turn_until_clean()
        await pilot.pause()
        driver.written = ""
        pane.text_added("a", "- item\n" * 5)
        hand.turn_until_clean()
        await pilot.pause()
        assert "5 new" in driver.written
        assert len(driver.written) < 900  # the label, and the scroll mark one row further

    await painted(pane, SIZE, act)


def streamed(view: View, pieces: list[str]) -> None:
    view.messages.append(TranscriptMessage("a", ""))
    for chunk in frames(pieces):
        view.messages[0].add(chunk)
        view.frame()


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was laid out but for open blocks, by its key."""
    keys: list[object] = []
    laid_out = View._laid_out

    def counting(self: View, message: TranscriptMessage, part: int, *, is_open: bool) -> Layout:
        if message.open_index(part) < 0:
            keys.append(message.part_key(part))
        return laid_out(self, message, part, is_open=is_open)

    monkeypatch.setattr(View, "_laid_out", counting)
    return keys


def test_every_complete_block_is_laid_out_once(completed: list[object]) -> None:
    view = View()
    view.resize(80, 30)
    streamed(view, tokens())
    blocks = view.messages[0].blocks
    assert len(blocks) > 40
    view.scroll(-500)
    view.frame()
    view.scroll(500)
    view.frame()
    for part in range(1, len(blocks) + 1):
        view.layout(0, part)
    assert Counter(completed) == Counter(
        [view.messages[0].part(0), *((blocks, at + 1, False) for at in range(len(blocks)))]
    )


def test_a_change_of_width_lays_out_only_what_is_seen(laid_out: list[tuple[Block, int, bool]]) -> None:
    view = View()
    view.resize(80, 30)
    streamed(view, tokens())
    laid_out.clear()
    view.resize(60, 30)
    view.frame()
    assert len(laid_out) <= 31


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```\n" + "    return store[sid]\n" * 6000, id="fence"),
        pytest.param("- every **request** misses\n" * 5000, id="list"),
        pytest.param("|a|b|\n|-|-|\n" + "| Redis | 0.4 |\n" * 8000, id="table"),
        pytest.param("the pool is drained\n" * 6000, id="paragraph of lines"),
        pytest.param("the pool is drained " * 6000, id="one line"),
        pytest.param("x" * 120_000, id="one word"),
        pytest.param("> - deep\n" * 12_000, id="nested"),
    ],
)
def test_the_cost_of_a_block_grows_with_its_length_and_no_faster(
    text: str, laid_out: list[tuple[Block, int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    take = Splitter._take

    def counting(self: Splitter, start: int, end: int, *, is_long: bool = False) -> None:
        taken.append(end - start)
        take(self, start, end, is_long=is_long)

    monkeypatch.setattr(Splitter, "_take", counting)

    def cost(characters: int) -> int:
        laid_out.clear()
        taken.clear()
        view = View()
        view.resize(60, 20)
        streamed(view, [text[at : at + 10] for at in range(0, characters, 10)])
        return sum(size + 20 for _, size, _ in laid_out) + sum(size + 20 for size in taken)

    assert cost(16_000) / cost(8_000) <= 2.1


def test_a_line_of_ten_megabytes_is_taken_in_bounded_pieces(laid_out: list[tuple[Block, int, bool]]) -> None:
    view = View()
    view.resize(100, 30)
    view.messages.append(TranscriptMessage("a", ""))
    view.messages[0].add("x" * 10_000_000)
    frame = 0
    while True:
        laid_out.clear()
        before = view.messages[0].text.length
        view.frame()
        frame += 1
        assert view.messages[0].text.length - before <= FRAME_BUDGET + SLICE_CHARACTERS
        assert sum(size for _, size, _ in laid_out) <= 10_000  # a screenful
        if not view.is_unsettled:
            break
    assert frame == pytest.approx(10_000_000 / FRAME_BUDGET, abs=2)
