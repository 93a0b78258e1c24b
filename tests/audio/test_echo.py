"""The echo canceller and what feeds it."""

from __future__ import annotations

import numpy as np
import pytest

from agent_tui.audio.echo import KEPT_BLOCKS, NO_PROCESSING, Lockstep, MicrophoneFilter, SoundProcessing
from agent_tui.audio.sound import BLOCK_BYTES
from tests.audio.sounds import samples

SILENCE = bytes(BLOCK_BYTES)


def noise(seconds: float, peak: float, seed: int) -> bytes:
    """Return noise that comes and goes as syllables do."""
    numbers = np.random.default_rng(seed)
    count = round(seconds * 48_000)
    syllables = np.clip(np.sin(np.arange(count) / 48_000 * 2 * np.pi * 3), 0, 1)
    sound: bytes = (numbers.uniform(-1, 1, count) * syllables * peak).astype(np.int16).tobytes()
    return sound


def blocks(sound: bytes) -> list[bytes]:
    """Return whole blocks."""
    return [sound[at : at + BLOCK_BYTES] for at in range(0, len(sound) - BLOCK_BYTES + 1, BLOCK_BYTES)]


def loudness(sound: bytes) -> float:
    """Return dB over the faintest."""
    return float(20 * np.log10(np.sqrt((samples(sound) ** 2).mean()) + 1))


def test_with_everything_off_each_bit_passes() -> None:
    heard = noise(0.2, 30_000, seed=1)
    microphone = MicrophoneFilter(NO_PROCESSING)
    passed = [microphone.filtered(block, SILENCE, 0.04) for block in blocks(heard)]
    assert b"".join(passed) == heard


def test_headphones_turn_the_echo_canceller_off_bit_by_bit() -> None:
    heard, played = noise(0.2, 30_000, seed=1), noise(0.2, 30_000, seed=2)
    microphone = MicrophoneFilter(SoundProcessing(noise=False, high_pass=False))
    microphone.use_headphones(True)
    pairs = zip(blocks(heard), blocks(played), strict=True)
    assert b"".join(microphone.filtered(one, two, 0.04) for one, two in pairs) == heard


@pytest.mark.parametrize("delay_blocks", [4, 12])
def test_the_echo_of_what_is_played_is_taken_out(delay_blocks: int) -> None:
    """Another voice's sound comes back from the room a third as loud; after six seconds little is left."""
    played = noise(8, 12_000, seed=3)
    echo = bytes(BLOCK_BYTES * delay_blocks) + (samples(played) * 0.3).astype(np.int16).tobytes()
    microphone = MicrophoneFilter(SoundProcessing(noise=False))
    delay = delay_blocks * 0.01
    pairs = list(zip(blocks(echo), blocks(played), strict=False))
    left = b"".join(microphone.filtered(heard, other, delay) for heard, other in pairs)
    end = 6 * 96_000
    assert loudness(left[end:]) < loudness(echo[end : len(left)]) - 20


def test_pairs_stay_in_step_when_devices_take_and_give_in_bursts() -> None:
    lockstep = Lockstep()
    paired = []
    for burst in range(200):
        for number in range(burst * 3, burst * 3 + 3):
            lockstep.played(number.to_bytes(2, "little"))
        paired += [int.from_bytes(lockstep.pair(), "little") for _ in range(3)]
    assert paired == list(range(600))


def test_a_pair_that_comes_too_early_gets_silence_and_the_distance_is_mended() -> None:
    lockstep = Lockstep()
    assert [lockstep.pair() for _ in range(8)] == [SILENCE] * 8
    for _ in range(8):
        lockstep.played(b"late")
    for number in range(300):
        lockstep.played(number.to_bytes(2, "little"))
        lockstep.pair()
    assert lockstep.waiting_blocks == KEPT_BLOCKS - 1


def test_with_devices_that_keep_more_sound_more_blocks_may_wait_before_the_step_is_changed() -> None:
    lockstep = Lockstep()
    lockstep.expect(0.12)
    for number in range(7 + 500):
        lockstep.played(number.to_bytes(2, "little"))
    paired = []
    for number in range(507, 900):
        lockstep.played(number.to_bytes(2, "little"))
        paired.append(int.from_bytes(lockstep.pair(), "little"))
    assert paired[-1] == 899 - 8  # with itself nine waited, as many as may


def test_played_blocks_do_not_pile_up_without_a_microphone() -> None:
    lockstep = Lockstep()
    for _ in range(10_000):
        lockstep.played(SILENCE)
    assert lockstep.waiting_blocks <= 50
