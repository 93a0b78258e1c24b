"""How the demo model gives out its turn: the same every time, at its pace, and gone when cancelled."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from contextlib import aclosing

import pytest

from agent_tui.backend.models.demo.debate import turn_text
from agent_tui.backend.models.demo.pacer import TOKENS_A_BREATH, DemoModel
from agent_tui.backend.models.model import Model, ModelRequest, Piece, TextPiece, UsagePiece
from tests.backend.models.talk import TASKS, Said, ask

REQUEST = ask(TASKS["en"])


class Watch:
    """A clock that only its own ``sleep`` moves, and the sleeps it was asked for."""

    def __init__(self) -> None:
        self.now = 50.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def model(rate: float, watch: Watch, seed: int = 0) -> DemoModel:
    return DemoModel(rate, seed, sleep=watch.sleep, clock=watch.clock)


async def all_of(speaker: Model, request: ModelRequest = REQUEST) -> list[Piece]:
    return [piece async for piece in speaker.stream(request)]


def words(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces if isinstance(piece, TextPiece)]


async def test_the_same_request_and_seed_give_the_same_pieces_whatever_the_rate() -> None:
    slow = await all_of(model(20, Watch()))
    assert slow == await all_of(DemoModel(0))
    assert "".join(words(slow)) == turn_text(REQUEST, 0)


def test_another_process_says_the_same() -> None:
    script = (
        "from tests.backend.models.test_demo import REQUEST; import sys;"
        "from agent_tui.backend.models.demo.debate import turn_text;"
        "sys.stdout.buffer.write(turn_text(REQUEST, 3).encode())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.decode() == turn_text(REQUEST, 3)


def test_another_agent_round_or_word_of_a_person_says_something_else() -> None:
    said = [Said(1, "用户", "Perhaps.")]
    texts = [
        turn_text(REQUEST, 0),
        turn_text(ask(TASKS["en"], "Ada"), 0),
        turn_text(ask(TASKS["en"], round_=2, said=said), 0),
        turn_text(ask(TASKS["en"], said=said), 0),
    ]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(("task", "token"), [(TASKS["en"], 4), (TASKS["ru"], 4), (TASKS["zh"], 1)])
async def test_a_token_is_four_letters_or_one_chinese_character(task: str, token: int) -> None:
    pieces = words(await all_of(DemoModel(0), ask(task)))
    assert {len(piece) for piece in pieces[:-1]} == {token}


async def test_usage_comes_last_and_counts_the_pieces() -> None:
    pieces = await all_of(DemoModel(0))
    usage = pieces[-1]
    assert isinstance(usage, UsagePiece)
    assert usage.completion_tokens == len(pieces) - 1
    assert usage.prompt_tokens == sum(len(m.content) for m in REQUEST.messages) // 4
    assert sum(isinstance(piece, UsagePiece) for piece in pieces) == 1


async def test_each_token_comes_at_its_time() -> None:
    watch = Watch()
    times = [watch.now async for piece in model(20, watch).stream(REQUEST) if isinstance(piece, TextPiece)]
    steps = [round(time - 50.0, 6) for time in times]
    assert steps == [round(number / 20, 6) for number in range(len(steps))]
    assert len(steps) > 200


async def test_a_consumer_that_dawdles_does_not_slow_the_rest_down() -> None:
    watch = Watch()
    pieces = 0
    async for _ in model(20, watch).stream(REQUEST):
        pieces += 1
        if pieces == 10:
            watch.now += 5  # ten tokens' work took five seconds
    assert watch.now - 50.0 == pytest.approx((pieces - 2) / 20)


async def test_without_a_pace_it_lets_others_run_often_but_not_at_every_token() -> None:
    watch = Watch()
    pieces = words(await all_of(model(0, watch)))
    assert len(watch.slept) == math.ceil(len(pieces) / TOKENS_A_BREATH)
    assert set(watch.slept) == {0.0}
    assert 8 <= TOKENS_A_BREATH <= 64


async def test_a_rate_faster_than_the_clock_still_lets_others_run() -> None:
    watch = Watch()
    watch_model = DemoModel(1e9, sleep=watch.sleep, clock=lambda: watch.now + len(watch.slept))
    pieces = words(await all_of(watch_model))
    assert len(watch.slept) >= len(pieces) // TOKENS_A_BREATH


async def test_cancelling_ends_it_at_once() -> None:
    heard: list[Piece] = []
    asleep = asyncio.Event()

    async def sleep(seconds: float) -> None:
        if seconds:
            asleep.set()
            await asyncio.Event().wait()

    async def listen() -> None:
        async for piece in DemoModel(20, sleep=sleep, clock=lambda: 0.0).stream(REQUEST):
            heard.append(piece)  # noqa: PERF401 – what was heard before the end is the point

    listening = asyncio.create_task(listen())
    await asleep.wait()
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert len(heard) == 1


async def test_it_can_be_left_after_a_piece() -> None:
    async with aclosing(DemoModel(0).stream(REQUEST)) as pieces:
        first = await anext(pieces)
    assert isinstance(first, TextPiece)
    with pytest.raises(StopAsyncIteration):
        await anext(pieces)


def test_it_is_called_what_it_is() -> None:
    assert DemoModel().name == "demo"
