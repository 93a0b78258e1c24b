"""Sounds to test with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agent_tui.audio.sound import SAMPLE_RATE


def tone(seconds: float, hertz: float = 440, peak: float = 10_000, rate: int = SAMPLE_RATE) -> bytes:
    """Return a sine wave as 16 bit samples."""
    times = np.arange(round(seconds * rate)) / rate
    sound: bytes = (np.sin(2 * np.pi * hertz * times) * peak).astype(np.int16).tobytes()
    return sound


def samples(sound: bytes) -> npt.NDArray[np.float64]:
    """Return the samples as numbers that do not overflow."""
    return np.frombuffer(sound, np.int16).astype(np.float64)


def pitch(sound: bytes, rate: int = SAMPLE_RATE) -> float:
    """Return the strongest frequency in hertz."""
    heard = samples(sound)
    spectrum = np.abs(np.fft.rfft(heard * np.hanning(heard.size)))
    return float(np.fft.rfftfreq(heard.size, 1 / rate)[spectrum.argmax()])
