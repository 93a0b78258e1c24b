"""Conversion from any rate and number of channels to 48 kHz mono and back, with the resampler (soxr) of
``livekit.rtc``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from livekit import rtc

from agent_tui.audio.sound import BLOCK_BYTES, SAMPLE_RATE


@dataclass(frozen=True, slots=True)
class SampleFormat:
    """16 bit samples: their rate, and the number of channels."""

    rate: int = SAMPLE_RATE
    channels: int = 1


OURS = SampleFormat()


def to_mono(sound: bytes, channels: int) -> bytes:
    """Return the mean of all channels."""
    if channels == 1:
        return sound
    frames = np.frombuffer(sound, np.int16).reshape(-1, channels)
    mono: bytes = frames.mean(axis=1).round().astype(np.int16).tobytes()
    return mono


def to_channels(sound: bytes, channels: int) -> bytes:
    """Return mono sound on every channel."""
    if channels == 1:
        return sound
    return np.repeat(np.frombuffer(sound, np.int16), channels).tobytes()


class Resampler:
    """Changes the rate of mono sound that comes in pieces. At equal rates every byte passes unchanged."""

    def __init__(self, rate_in: int, rate_out: int) -> None:
        self._soxr = (
            rtc.AudioResampler(rate_in, rate_out, num_channels=1, quality=rtc.AudioResamplerQuality.MEDIUM)
            if rate_in != rate_out
            else None
        )

    def push(self, sound: bytes) -> bytes:
        """Return what is ready; some of it comes with the next call."""
        if self._soxr is None or not sound:
            return sound
        return b"".join(bytes(frame.data) for frame in self._soxr.push(bytearray(sound)))

    def flush(self) -> bytes:
        """Return the rest, at the end."""
        return b"".join(bytes(frame.data) for frame in self._soxr.flush()) if self._soxr else b""


class FromDevice:
    """Takes a microphone's sound in its own format and passes it on in our blocks."""

    def __init__(self, form: SampleFormat, on_block: Callable[[bytes], None]) -> None:
        self._channels = form.channels
        self._resampler = Resampler(form.rate, SAMPLE_RATE)
        self._on_block = on_block
        self._rest = b""

    def __call__(self, sound: bytes) -> None:
        """Take any number of frames."""
        sound = self._rest + self._resampler.push(to_mono(sound, self._channels))
        end = len(sound) // BLOCK_BYTES * BLOCK_BYTES
        for start in range(0, end, BLOCK_BYTES):
            self._on_block(sound[start : start + BLOCK_BYTES])
        self._rest = sound[end:]


class ToDevice:
    """Takes our blocks and returns what a speaker asks for in its own format."""

    def __init__(self, form: SampleFormat, give: Callable[[], bytes]) -> None:
        self._channels = form.channels
        self._resampler = Resampler(SAMPLE_RATE, form.rate)
        self._give = give
        self._rest = b""

    def __call__(self, size: int) -> bytes:
        """Return ``size`` bytes."""
        size //= self._channels
        while len(self._rest) < size:
            self._rest += self._resampler.push(self._give())
        sound, self._rest = self._rest[:size], self._rest[size:]
        return to_channels(sound, self._channels)
