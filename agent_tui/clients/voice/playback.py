"""The sound of a voice room: the tracks of all other participants, mixed into one ``Sound``."""

from __future__ import annotations

from collections import deque
from contextlib import suppress

import numpy as np
from livekit import rtc

from agent_tui.audio.sound import BLOCK_SECONDS, SAMPLE_RATE, Sound

MAX_WAITING_BLOCKS = 10  # of a track that is mixed into another: 100 ms


class Playback:
    """Plays tracks. The oldest one sets the pace, the others are mixed into it."""

    def __init__(self, sound: Sound) -> None:
        self._sound = sound
        self._waiting: dict[str, deque[bytes]] = {}  # by track, the oldest first
        self._silenced: set[str] = set()  # identities

    def silence(self, identity: str, *, on: bool) -> None:
        """Stop playing ``identity`` and drop what is queued; or play it again."""
        if on:
            self._silenced.add(identity)
            self._sound.drop()
        else:
            self._silenced.discard(identity)

    async def play(self, track: rtc.Track, identity: str) -> None:
        """Play a track until it ends or this is cancelled."""
        key = track.sid
        stream = rtc.AudioStream(
            track,
            sample_rate=SAMPLE_RATE,
            num_channels=1,
            frame_size_ms=round(BLOCK_SECONDS * 1000),
        )
        self._waiting[key] = deque(maxlen=MAX_WAITING_BLOCKS)
        try:
            async for event in stream:
                if identity not in self._silenced:
                    self._take(key, event.frame.data.tobytes())
        finally:
            self._waiting.pop(key, None)
            with suppress(RuntimeError):  # its room is gone already
                await stream.aclose()

    def _take(self, key: str, block: bytes) -> None:
        if key != next(iter(self._waiting)):
            self._waiting[key].append(block)
            return
        others = [waiting.popleft() for other, waiting in self._waiting.items() if other != key and waiting]
        self._sound.play(mixed(block, others) if others else block)


def mixed(block: bytes, others: list[bytes]) -> bytes:
    """Return mono int16 blocks added up, as long as the first."""
    total = np.frombuffer(block, np.int16).astype(np.int32)
    for other in others:
        added = np.frombuffer(other[: len(block)], np.int16)
        total[: len(added)] += added
    return np.clip(total, -32768, 32767).astype(np.int16).tobytes()
