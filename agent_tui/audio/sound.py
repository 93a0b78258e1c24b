"""The interface of a microphone and a speaker for a voice session."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final, Protocol

from agent_tui.audio.devices import Direction

SAMPLE_RATE: Final = 48_000
BLOCK_SECONDS: Final = 0.01
BLOCK_SAMPLES: Final = 480
BLOCK_BYTES: Final = 960
SILENT_DBFS: Final = -96.0  # what 16 bits can tell from nothing


@dataclass(frozen=True, slots=True)
class Level:
    """The level of one direction, in dBFS (0 is full scale, ``SILENT_DBFS`` silence); ``peak`` falls slowly;
    ``is_clipping``: samples were cut off within the last second.
    """

    rms: float
    peak: float
    is_clipping: bool = False


@dataclass(frozen=True, slots=True)
class SoundStatus:
    """The devices in use. An empty name: no device, and ``problem`` says why in one line.

    ``has_signal`` is false after an open microphone gave nothing but exact silence for two seconds.
    """

    input_name: str = ""
    input_problem: str = ""
    output_name: str = ""
    output_problem: str = ""
    has_signal: bool = True
    uses_headphones: bool = False  # the echo canceller is off
    underruns: int = 0


class Sound(Protocol):
    """Never raises for a missing or lost device: ``status`` says so, and the session continues without it."""

    async def open(self) -> None: ...

    async def aclose(self) -> None: ...

    def captured(self) -> AsyncGenerator[bytes, None]:
        """Yield blocks of ``BLOCK_BYTES`` from the microphone; the oldest wait 100 ms at most."""
        ...

    def play(self, sound: bytes) -> None:
        """Queue sound for the speaker: any number of whole samples."""
        ...

    @property
    def queued_seconds(self) -> float:
        """How much is queued and not played yet, in seconds."""
        ...

    def hold(self) -> None:
        """Be silent at once and keep what is queued."""
        ...

    def resume(self) -> None:
        """Resume after ``hold``."""
        ...

    def drop(self) -> float:
        """Drop what is queued; return how many seconds of it were never heard."""
        ...

    @property
    def input_level(self) -> Level: ...

    @property
    def output_level(self) -> Level: ...

    @property
    def status(self) -> SoundStatus: ...

    async def choose(self, direction: Direction, name: str) -> None:
        """Change to another device while running; an empty name is the system's default."""
        ...

    def use_headphones(self, on: bool) -> None: ...
