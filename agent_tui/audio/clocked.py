"""A session without devices: a clock takes their place. The microphone may be a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from dataclasses import replace
from itertools import repeat

from agent_tui.audio.devices import Direction
from agent_tui.audio.levels import LevelMeter
from agent_tui.audio.pace import ticks
from agent_tui.audio.recording import Recording
from agent_tui.audio.rings import CONSOLE_LIMITS, CaptureQueue, PlayRing, RingLimits
from agent_tui.audio.sound import BLOCK_BYTES, Level, SoundStatus


class ClockedSound:
    """``Sound`` in real time without devices: every 10 ms one block is heard and one is played.

    ``microphone`` yields blocks of ``BLOCK_BYTES``; after its end, or without one, there is silence.
    ``status`` is returned unchanged. What is played goes to ``recording``, or nowhere.
    """

    def __init__(
        self,
        status: SoundStatus,
        microphone: Iterator[bytes] | None = None,
        recording: Recording | None = None,
        limits: RingLimits = CONSOLE_LIMITS,
        *,
        is_held: bool = False,
    ) -> None:
        """``is_held``: nothing is captured before ``begin``."""
        self._status = status
        self._microphone = microphone if microphone is not None else repeat(bytes(BLOCK_BYTES))
        self._recording = recording
        self._ring = PlayRing(limits)
        self._input_meter, self._output_meter = LevelMeter(), LevelMeter()
        self._captured: CaptureQueue[bytes] | None = None
        self._clock: asyncio.Task[None] | None = None
        self._has_begun = False
        self._may_begin = asyncio.Event()
        if not is_held:
            self._may_begin.set()
        self.is_over = False  # all of the microphone's file was heard

    async def open(self) -> None:
        """Start the clock. The microphone's file begins with the first reader of ``captured``."""
        self._captured = CaptureQueue()
        self._clock = asyncio.create_task(self._run(self._captured))

    async def aclose(self) -> None:
        """Stop the clock and finish the recording."""
        if self._clock is not None:
            self._clock.cancel()
            with suppress(asyncio.CancelledError):
                await self._clock
            self._clock = None
        if self._recording is not None:
            self._recording.close()

    def begin(self) -> None:
        """Start a microphone that was held."""
        self._may_begin.set()

    async def captured(self) -> AsyncGenerator[bytes, None]:
        """Yield the microphone's blocks, from the first call on."""
        assert self._captured is not None, "open() comes first"
        await self._may_begin.wait()
        self._has_begun = True
        while True:
            yield await self._captured.get()

    def play(self, sound: bytes) -> None:
        """Queue sound."""
        self._ring.play(sound)

    @property
    def queued_seconds(self) -> float:
        """How much was not played yet, in seconds."""
        return self._ring.seconds

    def hold(self) -> None:
        """Play silence and keep what is queued."""
        self._ring.hold()

    def resume(self) -> None:
        """Resume after ``hold``."""
        self._ring.resume()

    def drop(self) -> float:
        """Drop what is queued; return how many seconds that was."""
        return self._ring.drop()

    @property
    def input_level(self) -> Level:
        """The level of the microphone."""
        return self._input_meter.level

    @property
    def output_level(self) -> Level:
        """The level of the played sound."""
        return self._output_meter.level

    @property
    def status(self) -> SoundStatus:
        """The status given at the beginning, or that the recording ended."""
        if self._recording is not None and self._recording.problem:
            return replace(self._status, output_problem=self._recording.problem)
        return self._status

    async def choose(self, direction: Direction, name: str) -> None:
        """Do nothing: there is nothing to choose from."""

    def use_headphones(self, on: bool) -> None:
        """Do nothing: nobody hears, so there is no echo."""

    async def _run(self, captured: CaptureQueue[bytes]) -> None:
        async with aclosing(ticks()) as clock:
            async for _ in clock:
                heard = self._next_heard() if self._has_begun else bytes(BLOCK_BYTES)
                played = self._ring.read()
                self._input_meter.feed(heard)
                self._output_meter.feed(played)
                if self._has_begun:
                    captured.put(heard)
                if self._recording is not None:
                    self._recording.add(heard, played)
                    self._recording.flush()

    def _next_heard(self) -> bytes:
        heard = next(self._microphone, None)
        if heard is None:
            self.is_over = True
        return heard or bytes(BLOCK_BYTES)


def silent_sound(problem: str = "", limits: RingLimits = CONSOLE_LIMITS) -> ClockedSound:
    """Return a session's sound without sound: it hears silence, and plays nothing.

    ``problem`` is one line that says why.
    """
    return ClockedSound(SoundStatus(input_problem=problem, output_problem=problem), limits=limits)
