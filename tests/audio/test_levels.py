"""What a meter shows."""

from __future__ import annotations

import pytest

from agent_tui.audio.levels import LevelMeter
from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SECONDS, SILENT_DBFS
from tests.audio.sounds import tone
from tests.fakes.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def meter(clock: FakeClock) -> LevelMeter:
    return LevelMeter(clock.time)


def feed(meter: LevelMeter, clock: FakeClock, sound: bytes) -> None:
    """Feed ``sound`` in real time."""
    for start in range(0, len(sound), BLOCK_BYTES):
        meter.feed(sound[start : start + BLOCK_BYTES])
        clock.jump(BLOCK_SECONDS)


def test_a_full_sine_is_zero_at_its_peak_and_three_below_on_average(
    meter: LevelMeter, clock: FakeClock
) -> None:
    feed(meter, clock, tone(1, peak=32_700))
    assert meter.level.peak == pytest.approx(0, abs=0.05)
    assert meter.level.rms == pytest.approx(-3, abs=0.1)
    assert not meter.level.is_clipping


def test_half_the_amplitude_is_six_decibels_less(meter: LevelMeter, clock: FakeClock) -> None:
    feed(meter, clock, tone(1, peak=16_384))
    assert meter.level.rms == pytest.approx(-9, abs=0.1)


def test_the_peak_stays_for_a_moment_and_falls_slowly(meter: LevelMeter, clock: FakeClock) -> None:
    feed(meter, clock, tone(0.1, peak=32_700))
    feed(meter, clock, bytes(BLOCK_BYTES * 40))
    assert meter.level.peak == pytest.approx(0, abs=0.1)
    assert meter.level.rms < -15
    feed(meter, clock, bytes(BLOCK_BYTES * 60))
    assert -12 < meter.level.peak < -8


def test_a_peak_that_falls_for_minutes_is_silence_in_the_end(meter: LevelMeter, clock: FakeClock) -> None:
    feed(meter, clock, tone(0.1))
    for _ in range(400):  # after 323 seconds the fallen peak is nearly too small for a number
        clock.jump(1.0)
        meter.feed(bytes(BLOCK_BYTES))
        assert SILENT_DBFS <= meter.level.peak <= 0
    assert meter.level.peak == SILENT_DBFS


def test_nothing_is_as_quiet_as_can_be(meter: LevelMeter, clock: FakeClock) -> None:
    assert meter.level.rms == meter.level.peak == SILENT_DBFS
    feed(meter, clock, bytes(BLOCK_BYTES))
    assert meter.level.rms == meter.level.peak == SILENT_DBFS


def test_a_device_that_stopped_shows_nothing(meter: LevelMeter, clock: FakeClock) -> None:
    feed(meter, clock, tone(1))
    clock.jump(0.5)
    assert meter.level.rms == meter.level.peak == SILENT_DBFS


def test_clipping_is_shown_for_a_second(meter: LevelMeter, clock: FakeClock) -> None:
    feed(meter, clock, b"\xff\x7f" * 480)
    assert meter.level.is_clipping
    feed(meter, clock, bytes(BLOCK_BYTES * 90))
    assert meter.level.is_clipping
    feed(meter, clock, bytes(BLOCK_BYTES * 10))
    assert not meter.level.is_clipping


def test_the_lower_rail_clips_too(meter: LevelMeter, clock: FakeClock) -> None:
    feed(meter, clock, b"\x00\x80" * 480)
    assert meter.level.is_clipping
    assert meter.level.peak == 0


def test_two_seconds_of_exact_silence_are_no_signal(meter: LevelMeter, clock: FakeClock) -> None:
    feed(meter, clock, bytes(BLOCK_BYTES * 199))
    assert meter.has_signal
    feed(meter, clock, bytes(BLOCK_BYTES * 2))
    assert not meter.has_signal
    feed(meter, clock, b"\x01\x00" + bytes(BLOCK_BYTES - 2))  # the faintest noise is a signal
    assert meter.has_signal


def test_another_device_has_its_own_two_seconds(meter: LevelMeter, clock: FakeClock) -> None:
    feed(meter, clock, bytes(BLOCK_BYTES * 300))
    meter.reset()
    assert meter.has_signal
