"""The level of sound: a few microseconds of numpy per block, read by a meter as often as it draws."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from agent_tui.audio.sound import BLOCK_SECONDS, SILENT_DBFS, Level

FULL_SCALE: Final = 32_768.0
QUIETEST: Final = FULL_SCALE * 10 ** (SILENT_DBFS / 20)  # the amplitude of ``SILENT_DBFS``
RAIL: Final = 32_767  # a sample at this value was probably larger
CLIPPED_SAMPLES: Final = 3  # in one block; a single one is a loud sound that just fits
CLIPPING_SECONDS: Final = 1.0  # how long clipping is shown
SMOOTH_SECONDS: Final = 0.08  # a meter that draws 12 times a second misses no block
PEAK_HOLD_SECONDS: Final = 0.5
PEAK_FALL_DB: Final = 20.0  # per second, after the hold
STALE_SECONDS: Final = 0.3  # after this long without a block there is no sound at all
NO_SIGNAL_SECONDS: Final = 2.0
KEEP: Final = math.exp(-BLOCK_SECONDS / SMOOTH_SECONDS)


def dbfs(amplitude: float) -> float:
    """Return an amplitude (0 to 32768) in dB of full scale, never below ``SILENT_DBFS``."""
    return 20 * math.log10(amplitude / FULL_SCALE) if amplitude > QUIETEST else SILENT_DBFS


class LevelMeter:
    """Measures blocks of one direction. ``feed`` runs in the thread of the sound, ``level`` in another one:
    only ``feed`` writes the numbers, each in one step.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.reset()

    def reset(self) -> None:
        """Start over, for another device: it has two seconds to give a signal."""
        self._power = 0.0
        self._peak = (0.0, -math.inf)  # amplitude, since when
        self._clipped_at = self._fed_at = -math.inf
        self._heard_at = self._now()

    def feed(self, block: bytes) -> None:
        """Take a block of 16 bit samples of any length."""
        now = self._now()
        samples = np.frombuffer(block, np.int16).astype(np.float32)
        if not samples.size:
            return
        self._power = self._power * KEEP + float(samples.dot(samples)) / samples.size * (1 - KEEP)
        peak = max(float(samples.max()), -float(samples.min()))
        if peak > 0:
            self._heard_at = now
        if peak >= self._peak_at(now):
            self._peak = (peak, now)
        if peak >= RAIL and np.count_nonzero(np.abs(samples) >= RAIL) >= CLIPPED_SAMPLES:
            self._clipped_at = now
        self._fed_at = now

    @property
    def level(self) -> Level:
        """The current level."""
        now = self._now()
        if now - self._fed_at > STALE_SECONDS:
            return Level(SILENT_DBFS, SILENT_DBFS)
        is_clipping = now - self._clipped_at < CLIPPING_SECONDS
        return Level(dbfs(math.sqrt(self._power)), dbfs(self._peak_at(now)), is_clipping)

    @property
    def has_signal(self) -> bool:
        """Whether there was anything but exact silence within the last two seconds."""
        return self._now() - self._heard_at < NO_SIGNAL_SECONDS

    def _peak_at(self, now: float) -> float:
        amplitude, since = self._peak
        falling = max(0.0, now - since - PEAK_HOLD_SECONDS)
        return amplitude * 10.0 ** (-PEAK_FALL_DB * falling / 20) if amplitude else 0.0
