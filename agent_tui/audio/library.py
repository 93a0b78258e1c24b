"""The interface to PortAudio for ``DeviceSound``, so that tests can use another library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from agent_tui.audio.devices import Device, DeviceList, Direction
from agent_tui.audio.resampling import SampleFormat

LATENCY_SECONDS: Final = 0.06  # of the devices: as long as Python may delay their threads
LONG_LATENCY_SECONDS: Final = 0.12  # if that is not enough


class DeviceFailed(Exception):
    """A device cannot be opened; the text says why in one line."""


class Stream(Protocol):
    """A running device."""

    @property
    def latency_seconds(self) -> float:
        """The sound's delay in the device, in seconds."""
        ...

    @property
    def glitches(self) -> int:
        """How often it had nothing to play, or no room for what it heard."""
        ...

    def close(self) -> None:
        """Stop at once. May wait for the device."""
        ...


class Library(Protocol):
    """Calls may take seconds and come one at a time, from any thread. ``on_sound``, ``next_sound`` and
    ``on_end`` are called by threads of the library.
    """

    def begin(self) -> DeviceList:
        """Look for devices, the first time only, and return them."""
        ...

    def begin_anew(self) -> DeviceList:
        """Look for devices again. All streams have been closed before."""
        ...

    def knows(self, device: Device, direction: Direction) -> bool:
        """Return whether ``device`` was there when devices were last looked for."""
        ...

    def accepts(self, device: Device, direction: Direction, form: SampleFormat) -> bool:
        """Return whether ``device`` can run in this format."""
        ...

    def open_input(
        self,
        device: Device,
        form: SampleFormat,
        latency_seconds: float,
        on_sound: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> Stream:
        """Start a microphone: ``on_sound`` gets what it hears. Raises ``DeviceFailed``."""
        ...

    def open_output(
        self,
        device: Device,
        form: SampleFormat,
        latency_seconds: float,
        next_sound: Callable[[int], bytes],
        on_end: Callable[[], None],
    ) -> Stream:
        """Start a speaker: ``next_sound`` returns so many bytes to play. Raises ``DeviceFailed``."""
        ...
