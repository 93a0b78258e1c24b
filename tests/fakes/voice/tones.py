"""Phrases as tones: what a test says through a microphone, and what it is understood as."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

RATE: Final = 24_000
PHRASES: Final = {
    500.0: "hello there",
    700.0: "what time is it",
    900.0: "tell me a long story",
    1100.0: "stop talking",
    1300.0: "who are you",
}
STORY: Final = " ".join(f"This is sentence number {number} of a long story." for number in range(1, 9))
LOUD: Final = 1_500.0  # root mean square of what counts as speech
_NEAR_HERTZ = 70.0


def tone(hertz: float, seconds: float, rate: int, amplitude: float = 12_000.0) -> bytes:
    """Return a tone as mono int16 sound, with soft ends."""
    count = round(seconds * rate)
    wave = np.sin(2 * math.pi * hertz * np.arange(count) / rate) * amplitude
    edge = min(count // 2, rate // 200)
    if edge:
        ramp = np.linspace(0.0, 1.0, edge)
        wave[:edge] *= ramp
        wave[-edge:] *= ramp[::-1]
    return wave.astype(np.int16).tobytes()


def spoken(phrase: str, seconds: float = 0.8, rate: int = 48_000) -> bytes:
    """Return how a phrase sounds."""
    hertz = next(hertz for hertz, known in PHRASES.items() if known == phrase)
    return tone(hertz, seconds, rate)


def loudness(sound: bytes) -> float:
    """Return the root mean square of mono int16 sound."""
    wave = np.frombuffer(sound, np.int16).astype(np.float64)
    return float(np.sqrt((wave**2).mean())) if len(wave) else 0.0


def phrase_of(sound: bytes, rate: int = RATE) -> str:
    """Return the phrase that is heard in mono int16 sound, empty when it is none."""
    if loudness(sound) < LOUD:
        return ""
    wave = np.frombuffer(sound, np.int16).astype(np.float64)
    spectrum = np.abs(np.fft.rfft(wave * np.hanning(len(wave)), max(len(wave), rate // 20)))
    peak = float(np.fft.rfftfreq(max(len(wave), rate // 20), 1 / rate)[int(spectrum.argmax())])
    nearest = min(PHRASES, key=lambda hertz: abs(hertz - peak))
    return PHRASES[nearest] if abs(nearest - peak) < _NEAR_HERTZ else ""
