"""The seam to PortAudio: what ``DeviceSound`` needs of it, so that tests can put another library there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from agent_tui.audio.devices import Device, DeviceList, Direction
from agent_tui.audio.resampling import Format

LATENCY_SECONDS: Final = 0.06  # of the devices: as long as Python may hold back their threads
LONG_LATENCY_SECONDS: Final = 0.12  # where that is not long enough


class DeviceFailed(Exception):
    """A device cannot be opened; the text says why in one line."""


class Stream(Protocol):
    """A running device."""

    @property
    def latency_seconds(self) -> float:
        """How long sound is under way in it."""
        ...

    @property
    def glitches(self) -> int:
        """How often it had nothing to play, or nowhere to put what it heard."""
        ...

    def close(self) -> None:
        """Stop at once. May wait for the device."""
        ...


class Library(Protocol):
    """Calls may take seconds and come one at a time, from any thread. ``taken``, ``given`` and ``ended`` are
    called by threads of the library.
    """

    def begin(self) -> DeviceList:
        """Look for devices, the first time only, and return them."""
        ...

    def begin_anew(self) -> DeviceList:
        """Look for devices again. All streams are closed before."""
        ...

    def knows(self, device: Device, direction: Direction) -> bool:
        """Return whether ``device`` was there when devices were last looked for."""
        ...

    def accepts(self, device: Device, direction: Direction, form: Format) -> bool:
        """Return whether ``device`` can run in this format."""
        ...

    def open_input(
        self,
        device: Device,
        form: Format,
        latency_seconds: float,
        taken: Callable[[bytes], None],
        ended: Callable[[], None],
    ) -> Stream:
        """Start a microphone: ``taken`` gets what it hears. Raises ``DeviceFailed``."""
        ...

    def open_output(
        self,
        device: Device,
        form: Format,
        latency_seconds: float,
        given: Callable[[int], bytes],
        ended: Callable[[], None],
    ) -> Stream:
        """Start a speaker: ``given`` returns so many bytes to play. Raises ``DeviceFailed``."""
        ...
