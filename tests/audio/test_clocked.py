"""A session without devices."""

from __future__ import annotations

import time
from contextlib import aclosing

import pytest

from agent_tui.audio.clocked import silent_sound
from agent_tui.audio.sound import BLOCK_BYTES, SILENT_DBFS, Sound
from tests.audio.sounds import tone


async def test_silence_comes_in_real_time() -> None:
    sound: Sound = silent_sound("there is no sound card")
    await sound.open()
    started = time.monotonic()
    async with aclosing(sound.captured()) as captured:
        assert [await anext(captured) for _ in range(30)] == [bytes(BLOCK_BYTES)] * 30
    assert time.monotonic() - started >= 0.25  # a late clock catches up, but never ahead of time
    assert sound.input_level.rms == SILENT_DBFS
    assert sound.status.input_problem == sound.status.output_problem == "there is no sound card"
    await sound.aclose()


async def test_what_is_played_passes_as_quickly_as_it_would_be_heard() -> None:
    sound = silent_sound()
    await sound.open()
    sound.play(tone(0.5))
    assert sound.queued_seconds == pytest.approx(0.5)
    sound.hold()
    async with aclosing(sound.captured()) as captured:
        for _ in range(10):
            await anext(captured)
        assert sound.queued_seconds == pytest.approx(0.5)
        sound.resume()
        while sound.queued_seconds > 0.2:
            await anext(captured)
        assert sound.output_level.peak > -15
    assert 0 < sound.drop() <= 0.2
    assert sound.queued_seconds == 0
    await sound.aclose()
