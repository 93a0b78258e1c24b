"""The microphone on its way into a voice room: recorded while joining, then sent block by block."""

from __future__ import annotations

import time
from collections import deque
from contextlib import aclosing

from livekit import rtc

from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SAMPLES, BLOCK_SECONDS, SAMPLE_RATE, Sound

EARLY_SECONDS = 10.0  # the most that is recorded before the agent hears us; older words are stale, too


class Microphone:
    """Sends the blocks of a ``Sound`` to one room after the other. While muted nothing is kept or sent."""

    def __init__(self, sound: Sound) -> None:
        self._sound = sound
        self._source: rtc.AudioSource | None = None
        self._early: deque[bytes] | None = deque(maxlen=round(EARLY_SECONDS / BLOCK_SECONDS))
        self._is_recording = True
        self._recorded_at = 0.0
        self.is_muted = False

    async def run(self) -> None:
        """Read the microphone until cancelled."""
        async with aclosing(self._sound.captured()) as blocks:
            async for block in blocks:
                if self.is_muted:
                    continue
                if self._early is not None and self._is_recording:
                    self._early.append(block)
                    self._recorded_at = time.monotonic()
                if self._source is not None:
                    await self._send(self._source, rtc.AudioFrame(block, SAMPLE_RATE, 1, BLOCK_SAMPLES))

    async def _send(self, source: rtc.AudioSource, frame: rtc.AudioFrame) -> None:
        try:
            await source.capture_frame(frame)
        except Exception:  # whatever the native part raises
            if source is self._source:  # otherwise its room was left meanwhile
                raise

    def send_to(self, source: rtc.AudioSource | None) -> None:
        """Send from now on to the published ``source``, or nowhere."""
        self._source = source

    def stop_recording(self) -> None:
        """Stop recording: from now on the agent hears the microphone itself."""
        self._is_recording = False

    def take_early(self) -> bytes:
        """Return what was said before the agent could hear it, once, and stop recording.

        Never empty: an agent that was promised a recording waits for it.
        """
        early, self._early = self._early, None
        if not early or time.monotonic() - self._recorded_at > EARLY_SECONDS:
            return bytes(BLOCK_BYTES)
        return b"".join(early)
