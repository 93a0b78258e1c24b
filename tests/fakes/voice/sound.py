"""A microphone that is fed and a speaker that is listened to, without a device: a ``Sound``."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from agent_tui.audio.devices import Direction
from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SECONDS, SAMPLE_RATE, Level, SoundStatus
from tests.fakes.voice.tones import LOUD, loudness, spoken


class FedSound:
    """Gives what ``say`` was told, silence in between, in real time; keeps what is played.

    Silence is not exact: a codec sends nothing for that.
    """

    def __init__(self) -> None:
        self._fed: deque[bytes] = deque()
        self._spoken = asyncio.Event()
        self.played = bytearray()
        self.queued = bytearray()
        self.held = False
        self.last_loud_at = 0.0
        self._playing: asyncio.Task[None] | None = None
        self._hiss = bytes((1, 0, 255, 255)) * (BLOCK_BYTES // 4)

    async def say(self, phrase: str, seconds: float = 0.8) -> None:
        """Say a phrase; returns when the last of it was taken by whoever reads the microphone."""
        sound = spoken(phrase, seconds)
        self._spoken.clear()
        self._fed += (sound[at : at + BLOCK_BYTES] for at in range(0, len(sound), BLOCK_BYTES))
        await self._spoken.wait()

    async def open(self) -> None:
        self._playing = asyncio.create_task(self._play())

    async def aclose(self) -> None:
        if self._playing is not None:
            self._playing.cancel()

    async def captured(self) -> AsyncGenerator[bytes, None]:
        clock = asyncio.get_running_loop().time
        due = clock()
        while True:
            due += BLOCK_SECONDS
            await asyncio.sleep(max(0.0, due - clock()))
            block = self._fed.popleft() if self._fed else self._hiss
            if not self._fed:
                self._spoken.set()
            yield block

    async def _play(self) -> None:
        """Play what is queued as fast as a speaker does."""
        clock = asyncio.get_running_loop().time
        due = clock()
        while True:
            due += BLOCK_SECONDS
            await asyncio.sleep(max(0.0, due - clock()))
            if self.held or not self.queued:
                continue
            block = bytes(self.queued[:BLOCK_BYTES])
            del self.queued[:BLOCK_BYTES]
            self.played += block
            if loudness(block) > LOUD / 2:
                self.last_loud_at = clock()

    def play(self, sound: bytes) -> None:
        self.queued += sound

    @property
    def is_audible(self) -> bool:
        """Whether something was heard within the last 50 ms."""
        return asyncio.get_running_loop().time() - self.last_loud_at < 0.05

    @property
    def queued_seconds(self) -> float:
        return len(self.queued) / 2 / SAMPLE_RATE

    def hold(self) -> None:
        self.held = True

    def resume(self) -> None:
        self.held = False

    def drop(self) -> float:
        seconds = self.queued_seconds
        self.queued.clear()
        self.held = False
        return seconds

    @property
    def input_level(self) -> Level:
        return Level(-60.0, -60.0)

    @property
    def output_level(self) -> Level:
        return Level(-60.0, -60.0)

    @property
    def status(self) -> SoundStatus:
        return SoundStatus("fed", "", "kept")

    async def choose(self, direction: Direction, name: str) -> None:
        """Have no other device."""

    def use_headphones(self, on: bool) -> None:
        """Have no echo."""
