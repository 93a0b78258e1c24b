"""The buffers between a sound device's thread and the program: captured blocks, and sound to be played."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

import numpy as np

from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SECONDS

BYTES_PER_SECOND: Final = round(BLOCK_BYTES / BLOCK_SECONDS)
CAPTURE_SECONDS: Final = 0.1
TARGET_SECONDS: Final = 0.06  # Python delayed the device's thread by up to 70 ms on a busy machine
UNDERRUN_TARGET_SECONDS: Final = 0.12
WINDOW_BLOCKS: Final = 50  # the ring is trimmed by its minimum in this many blocks
TRIM_EVERY: Final = 5  # blocks: speech that is a fifth faster for a moment is still understood
GAP_SECONDS: Final = 0.25  # a shorter pause in sound was an underrun

T = TypeVar("T")


def whole_blocks(seconds: float) -> int:
    """Return the bytes of this many seconds of sound, in whole blocks."""
    return round(seconds / BLOCK_SECONDS) * BLOCK_BYTES


class CaptureQueue(Generic[T]):
    """Passes blocks from the device's thread to one reader in the event loop; the oldest are dropped if it is
    slow.
    """

    def __init__(self, seconds: float = CAPTURE_SECONDS) -> None:
        self._blocks: deque[T] = deque(maxlen=max(1, round(seconds / BLOCK_SECONDS)))
        self._loop = asyncio.get_running_loop()
        self._has_block = asyncio.Event()

    def put(self, block: T) -> None:
        """Add a block; called from any thread, never waits."""
        self._blocks.append(block)
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._has_block.set)

    def clear(self) -> None:
        """Drop what is waiting."""
        self._blocks.clear()

    async def get(self) -> T:
        """Return the oldest block, as soon as there is one."""
        while True:
            with suppress(IndexError):
                return self._blocks.popleft()
            self._has_block.clear()
            if not self._blocks:
                await self._has_block.wait()


@dataclass(frozen=True, slots=True)
class RingLimits:
    """How much sound may wait to be played.

    With ``cap_seconds`` sound comes as fast as it is played (a room): too much of it is dropped, oldest
    first, and what a slower device leaves behind is trimmed to ``target_seconds``. Without, sound is sent
    ahead (the console transport): all of it is kept.
    """

    target_seconds: float = TARGET_SECONDS
    underrun_target_seconds: float = UNDERRUN_TARGET_SECONDS
    cap_seconds: float | None = 0.3


ROOM_LIMITS: Final = RingLimits()
CONSOLE_LIMITS: Final = RingLimits(cap_seconds=None)


class PlayRing:
    """Sound on its way to the speaker. ``play`` is called by the program, ``read`` by the device's thread.

    Playing begins when ``target_seconds`` are there, or when the first sound has waited that long: a short
    sound is played, too. If it runs dry in the middle of sound, that is an underrun, and from then on more is
    kept.
    """

    def __init__(self, limits: RingLimits = ROOM_LIMITS, now: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._now = now
        self._lock = Lock()  # held for a memcpy
        self._sound = bytearray()
        self._target = whole_blocks(limits.target_seconds)
        self._is_flowing = self._is_held = False
        self._first_at = 0.0
        self._dry_at = float("-inf")
        self._lowest = self._surplus = self._reads = self._since_trim = 0
        self.underruns = 0

    @property
    def seconds(self) -> float:
        """How much waits."""
        return len(self._sound) / BYTES_PER_SECOND

    @property
    def target_seconds(self) -> float:
        """How much is kept so that short delays are not heard, in seconds."""
        return self._target / BYTES_PER_SECOND

    def play(self, sound: bytes) -> None:
        """Add sound."""
        with self._lock:
            if not self._sound and not self._is_flowing:
                self._first_at = self._now()
                if self._first_at - self._dry_at < GAP_SECONDS:
                    self.underruns += 1
                    self._target = whole_blocks(self._limits.underrun_target_seconds)
                self._dry_at = float("-inf")
            self._sound += sound
            if self._limits.cap_seconds is not None:
                too_much = len(self._sound) - whole_blocks(self._limits.cap_seconds)
                if too_much > 0:
                    del self._sound[:too_much]

    def hold(self) -> None:
        """Return silence and keep what is waiting."""
        self._is_held = True

    def resume(self) -> None:
        """Resume after ``hold``."""
        self._is_held = False

    def drop(self) -> float:
        """Drop what is waiting and return how many seconds that was. A hold stays."""
        with self._lock:
            seconds = self.seconds
            self._sound.clear()
            self._is_flowing = False
            self._dry_at = float("-inf")
            self._begin_window()
            return seconds

    def read(self, size: int = BLOCK_BYTES) -> bytes:
        """Return ``size`` bytes: sound, padded with silence."""
        with self._lock:
            if self._is_held or not self._may_flow():
                return bytes(size)
            if size == BLOCK_BYTES and self._trims():
                block = _faded(self._sound[:BLOCK_BYTES], self._sound[BLOCK_BYTES : 2 * BLOCK_BYTES])
                del self._sound[: 2 * BLOCK_BYTES]
                return block
            block = bytes(self._sound[:size])
            del self._sound[:size]
            if len(block) < size:
                self._is_flowing = False
                self._dry_at = self._now()
                self._begin_window()
        return block.ljust(size, b"\0")

    def _may_flow(self) -> bool:
        if not self._is_flowing and self._sound:
            has_waited = self._now() - self._first_at >= self.target_seconds
            if len(self._sound) >= self._target or has_waited:
                self._is_flowing = True
                self._begin_window()
        return self._is_flowing

    def _trims(self) -> bool:
        """Whether to make this block of two, because the ring was too full for a while."""
        if self._limits.cap_seconds is None:
            return False
        self._lowest = min(self._lowest, len(self._sound)) if self._reads else len(self._sound)
        self._reads += 1
        if self._reads >= WINDOW_BLOCKS:
            self._surplus = max(0, (self._lowest - self._target) // BLOCK_BYTES)
            self._reads = 0
        self._since_trim += 1
        if not self._surplus or self._since_trim < TRIM_EVERY or len(self._sound) < 2 * BLOCK_BYTES:
            return False
        self._surplus -= 1
        self._since_trim = self._reads = 0
        return True

    def _begin_window(self) -> None:
        self._surplus = self._reads = self._since_trim = 0


def _faded(old: bytearray, new: bytearray) -> bytes:
    """Return one block that begins as ``old`` and ends as ``new``, without a click."""
    first, second = (np.frombuffer(bytes(block), np.int16).astype(np.float32) for block in (old, new))
    share = np.linspace(0, 1, first.size, dtype=np.float32)
    mixed: bytes = (first * (1 - share) + second * share).astype(np.int16).tobytes()
    return mixed
