"""What waits to be played, and what waits to be heard."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.audio.rings import CONSOLE_LIMITS, ROOM_LIMITS, CaptureQueue, PlayRing
from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SECONDS
from tests.audio.sounds import samples, tone
from tests.fakes.clock import FakeClock

SILENCE = bytes(BLOCK_BYTES)


def block(number: int) -> bytes:
    """Return a block whose samples all say ``number``."""
    return number.to_bytes(2, "little") * (BLOCK_BYTES // 2)


class Played:
    """A ring and its speaker."""

    def __init__(self, ring: PlayRing, clock: FakeClock) -> None:
        self.ring, self.clock = ring, clock

    def blocks(self, count: int) -> list[bytes]:
        """Read in real time."""
        read = []
        for _ in range(count):
            read.append(self.ring.read())
            self.clock.jump(BLOCK_SECONDS)
        return read


@pytest.fixture
def room() -> Played:
    clock = FakeClock()
    return Played(PlayRing(ROOM_LIMITS, clock.time), clock)


@pytest.fixture
def console() -> Played:
    clock = FakeClock()
    return Played(PlayRing(CONSOLE_LIMITS, clock.time), clock)


def test_a_ring_waits_until_a_short_delay_cannot_be_heard(room: Played) -> None:
    for number in range(1, 6):
        room.ring.play(block(number))
        assert room.blocks(1) == [SILENCE]
    room.ring.play(block(6))
    assert room.blocks(6) == [block(number) for number in range(1, 7)]


def test_a_sound_shorter_than_that_is_played_too(room: Played) -> None:
    room.ring.play(block(1))
    assert block(1) in room.blocks(8)
    assert room.ring.seconds == 0


def test_too_much_for_a_room_loses_its_oldest(room: Played) -> None:
    for number in range(1, 101):
        room.ring.play(block(number))
    assert room.ring.seconds == pytest.approx(0.3)
    assert room.blocks(1) == [block(71)]


def test_an_answer_that_is_sent_ahead_is_kept_whole_and_never_trimmed(console: Played) -> None:
    console.ring.play(b"".join(block(number) for number in range(1, 1001)))
    assert console.ring.seconds == pytest.approx(10)
    assert console.blocks(1000) == [block(number) for number in range(1, 1001)]
    assert console.ring.underruns == 0


def test_what_a_slower_speaker_leaves_behind_is_trimmed_down_to_the_target(room: Played) -> None:
    room.ring.play(block(5) * 25)
    for _ in range(500):
        room.blocks(1)
        room.ring.play(block(5))
    assert room.ring.seconds == pytest.approx(room.ring.target_seconds, abs=0.011)
    assert room.ring.underruns == 0


def test_trimming_makes_no_click(room: Played) -> None:
    """A fifth of a second is taken out of a tone: no step is larger than twice those of the tone itself."""
    sound = tone(6, hertz=200)
    steps = abs(samples(sound)[1:] - samples(sound)[:-1]).max()
    pieces = [sound[at : at + BLOCK_BYTES] for at in range(0, len(sound), BLOCK_BYTES)]
    for piece in pieces[:25]:
        room.ring.play(piece)
    heard = b""
    for piece in pieces[25:]:
        heard += room.blocks(1)[0]
        room.ring.play(piece)
    assert len(pieces) * BLOCK_BYTES - len(heard) - round(room.ring.seconds * 96_000) >= 15 * BLOCK_BYTES
    values = samples(heard)
    assert abs(values[1:] - values[:-1]).max() <= 2 * steps


def test_a_speaker_as_quick_as_the_room_is_not_trimmed(room: Played) -> None:
    room.ring.play(block(1) * 6)
    heard = []
    for number in range(2, 502):
        heard += room.blocks(1)
        room.ring.play(block(number))
    assert heard == [block(1)] * 6 + [block(number) for number in range(2, 496)]


def test_running_dry_in_the_middle_is_an_underrun_and_makes_the_ring_longer(room: Played) -> None:
    room.ring.play(block(1) * 6)
    room.blocks(10)
    room.ring.play(block(2))
    assert room.ring.underruns == 1
    assert room.ring.target_seconds == pytest.approx(0.12)
    room.ring.play(block(2) * 5)
    assert room.blocks(1) == [SILENCE]
    room.ring.play(block(2) * 6)
    assert room.blocks(1) == [block(2)]


def test_an_answer_that_is_over_is_no_underrun(console: Played) -> None:
    console.ring.play(block(1) * 20)
    console.blocks(60)
    console.ring.play(block(2) * 20)
    assert console.ring.underruns == 0
    assert console.blocks(20) == [block(2)] * 20


def test_a_ring_that_is_emptied_to_the_last_byte_has_not_run_dry_yet(room: Played) -> None:
    room.ring.play(block(1) * 6)
    assert room.blocks(6) == [block(1)] * 6
    room.ring.play(block(2))
    assert room.blocks(1) == [block(2)]
    assert room.ring.underruns == 0


def test_hold_is_silent_at_once_and_keeps_all(console: Played) -> None:
    console.ring.play(block(1) * 20)
    assert console.blocks(2) == [block(1)] * 2
    console.ring.hold()
    assert console.blocks(50) == [SILENCE] * 50
    console.ring.resume()
    assert console.blocks(18) == [block(1)] * 18


def test_drop_says_how_much_was_never_heard(console: Played) -> None:
    console.ring.play(block(1) * 100)
    console.blocks(30)
    assert console.ring.drop() == pytest.approx(0.7)
    assert console.blocks(3) == [SILENCE] * 3
    assert console.ring.drop() == 0
    console.ring.play(block(2) * 10)
    assert console.ring.underruns == 0
    assert console.blocks(1) == [block(2)]


@given(st.lists(st.integers(0, 3_000).map(lambda count: 2 * count), max_size=60))
def test_what_is_played_in_pieces_of_any_size_comes_out_once_and_in_order(sizes: list[int]) -> None:
    clock = FakeClock()
    speaker = Played(PlayRing(CONSOLE_LIMITS, clock.time), clock)
    sound = bytes(1 + number % 255 for number in range(sum(sizes)))
    place, heard = 0, b""
    for size in sizes:
        speaker.ring.play(sound[place : place + size])
        place += size
        heard += b"".join(speaker.blocks(1)).rstrip(b"\0")
    heard += b"".join(block.rstrip(b"\0") for block in speaker.blocks(len(sound) // BLOCK_BYTES + 30))
    assert heard == sound
    assert speaker.ring.seconds == 0


async def test_a_slow_listener_gets_the_last_tenth_of_a_second() -> None:
    queue: CaptureQueue[int] = CaptureQueue()
    for number in range(50):
        queue.put(number)
    assert [await queue.get() for _ in range(10)] == list(range(40, 50))


async def test_a_listener_is_woken_by_the_thread_of_the_device() -> None:
    queue: CaptureQueue[int] = CaptureQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    thread = threading.Thread(target=queue.put, args=(7,))
    thread.start()
    assert await waiting == 7
    thread.join()


def test_a_device_that_calls_after_the_end_does_no_harm() -> None:
    async def made() -> CaptureQueue[int]:
        return CaptureQueue()

    queue = asyncio.run(made())
    queue.put(1)
