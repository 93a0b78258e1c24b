"""A file as the microphone; it waits until an agent listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from agent_tui.audio.sound import Level, Sound, SoundStatus


class FileSound(Sound, Protocol):
    """``Sound`` whose microphone is a file, which begins with the first reader."""

    is_microphone_over: asyncio.Event


class GatedSound:
    """``Sound`` without its microphone before ``begin``; otherwise it is ``sound``."""

    def __init__(self, sound: FileSound) -> None:
        self._sound = sound
        self._gate = asyncio.Event()

    def begin(self) -> None:
        """Start the file."""
        self._gate.set()

    @property
    def is_over(self) -> bool:
        """Whether all of it was played."""
        return self._sound.is_microphone_over.is_set()

    async def captured(self) -> AsyncGenerator[bytes, None]:
        await self._gate.wait()
        async with aclosing(self._sound.captured()) as blocks:
            async for block in blocks:
                yield block

    async def open(self) -> None:
        await self._sound.open()

    async def aclose(self) -> None:
        await self._sound.aclose()

    def play(self, sound: bytes) -> None:
        self._sound.play(sound)

    @property
    def queued_seconds(self) -> float:
        return self._sound.queued_seconds

    def hold(self) -> None:
        self._sound.hold()

    def resume(self) -> None:
        self._sound.resume()

    def drop(self) -> float:
        return self._sound.drop()

    @property
    def input_level(self) -> Level:
        return self._sound.input_level

    @property
    def output_level(self) -> Level:
        return self._sound.output_level

    @property
    def status(self) -> SoundStatus:
        return self._sound.status

    async def choose(self, *, input_name: str | None = None, output_name: str | None = None) -> None:
        await self._sound.choose(input_name=input_name, output_name=output_name)

    def use_headphones(self, on: bool) -> None:
        self._sound.use_headphones(on)
