"""PortAudio, through ``sounddevice``: the ``Library`` of real devices.

Two separate streams, never a duplex one, which called back 39 times in two seconds instead of 200.
Callbacks neither log nor wait.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from agent_tui.audio.devices import (
    NO_LIBRARY,
    PULSE,
    PULSE_BRIDGES,
    Device,
    DeviceList,
    Direction,
    portaudio_devices,
)
from agent_tui.audio.library import DeviceFailed, Stream
from agent_tui.audio.resampling import SampleFormat
from agent_tui.audio.sound import BLOCK_SECONDS

_closing: Final[list[Any]] = []  # streams that are being closed
PULSE_VARIABLES: Final = {"input": "PULSE_SOURCE", "output": "PULSE_SINK"}  # pulseaudio(1)


class PortAudio:
    """The ``Library`` of this process's PortAudio."""

    def begin(self) -> DeviceList:
        """Load PortAudio if necessary, and return its devices."""
        listed = portaudio_devices()
        if listed.problem != NO_LIBRARY:
            _end_without_waiting()
        return listed

    def begin_anew(self) -> DeviceList:
        """End PortAudio and start it again: it looks for devices only then. Finds nothing new while a stream
        does not close, since PortAudio cannot end then.
        """
        if portaudio_devices().problem or _closing:
            return portaudio_devices()
        library = _sounddevice()
        with suppress(library.PortAudioError):
            library._terminate()
        with suppress(library.PortAudioError):
            library._initialize()
        return portaudio_devices()

    def knows(self, device: Device, direction: Direction) -> bool:
        """Return whether PortAudio has a number for the device."""
        try:
            _number(device, direction)
        except (DeviceFailed, _sounddevice().PortAudioError):
            return False
        return True

    def accepts(self, device: Device, direction: Direction, form: SampleFormat) -> bool:
        """Ask PortAudio whether the device supports this rate with this many channels."""
        library = _sounddevice()
        check = library.check_input_settings if direction == "input" else library.check_output_settings
        try:
            with _pulse_device(device, direction):
                check(_number(device, direction), form.channels, "int16", samplerate=form.rate)
        except (library.PortAudioError, ValueError, DeviceFailed):
            return False
        return True

    def open_input(
        self,
        device: Device,
        form: SampleFormat,
        latency_seconds: float,
        on_sound: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> Stream:
        """Start a microphone."""
        return _InputStream(_Opening(device, "input", form, latency_seconds, on_end), on_sound)

    def open_output(
        self,
        device: Device,
        form: SampleFormat,
        latency_seconds: float,
        next_sound: Callable[[int], bytes],
        on_end: Callable[[], None],
    ) -> Stream:
        """Start a speaker."""
        return _OutputStream(_Opening(device, "output", form, latency_seconds, on_end), next_sound)


@dataclass(frozen=True, slots=True)
class _Opening:
    """What a stream is opened with."""

    device: Device
    direction: Direction
    form: SampleFormat
    latency_seconds: float
    on_end: Callable[[], None]


class _InputStream:
    def __init__(self, opening: _Opening, on_sound: Callable[[bytes], None]) -> None:
        self._on_sound = on_sound
        self.glitches = 0
        self._stream = _start_stream(opening, self._hear)
        self.latency_seconds = float(self._stream.latency)

    def close(self) -> None:
        """Stop at once."""
        _close(self._stream)

    def _hear(self, heard: Any, _frames: int, _time: Any, status: Any) -> None:
        if status:
            self.glitches += 1
        self._on_sound(bytes(heard))


class _OutputStream:
    def __init__(self, opening: _Opening, next_sound: Callable[[int], bytes]) -> None:
        self._next_sound = next_sound
        self.glitches = 0
        self._stream = _start_stream(opening, self._fill)
        self.latency_seconds = float(self._stream.latency)

    def close(self) -> None:
        """Stop at once."""
        _close(self._stream)

    def _fill(self, played: Any, _frames: int, _time: Any, status: Any) -> None:
        if status:
            self.glitches += 1
        played[:] = self._next_sound(len(played))


def _start_stream(opening: _Opening, callback: Callable[..., None]) -> Any:
    library = _sounddevice()
    device, direction, form = opening.device, opening.direction, opening.form
    kind = library.RawInputStream if direction == "input" else library.RawOutputStream
    try:
        with _pulse_device(device, direction):
            stream = kind(
                samplerate=form.rate,
                blocksize=round(form.rate * BLOCK_SECONDS),
                device=_number(device, direction),
                channels=form.channels,
                dtype="int16",
                latency=opening.latency_seconds,
                callback=callback,
                finished_callback=opening.on_end,
            )
            try:
                stream.start()
            except library.PortAudioError:
                stream.close()
                raise
    except (library.PortAudioError, ValueError) as error:
        raise DeviceFailed(str(error).splitlines()[0]) from error
    return stream


def _close(stream: Any) -> None:
    """Close a stream. That may never return: ALSA's bridge may wait for a server that is gone."""
    _closing.append(stream)
    with suppress(_sounddevice().PortAudioError):
        stream.abort()
    with suppress(_sounddevice().PortAudioError):
        stream.close()
    _closing.remove(stream)


@cache
def _end_without_waiting() -> None:
    """At the end of the program, do not end PortAudio if a stream does not close: that would never return,
    either.
    """
    at_exit = _sounddevice()._exit_handler
    atexit.unregister(at_exit)
    atexit.register(lambda: None if _closing else at_exit())


@contextmanager
def _pulse_device(device: Device, direction: Direction) -> Iterator[None]:
    """Make ALSA's bridge connect to this device of PulseAudio, whose name it reads from the environment."""
    if not device.pulse:
        yield
        return
    variable = PULSE_VARIABLES[direction]
    before = os.environ.get(variable)
    os.environ[variable] = device.pulse
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before


def _number(device: Device, direction: Direction) -> int:
    """Return PortAudio's current number of a device. Raises ``DeviceFailed`` if it has none."""
    library = _sounddevice()
    apis = [api["name"] for api in library.query_hostapis()]
    names = (
        [(name, "ALSA") for name in PULSE_BRIDGES]
        if device.host_api == PULSE
        else [(device.name, device.host_api)]
    )
    for name in names:
        for number, found in enumerate(library.query_devices()):
            if (found["name"], apis[found["hostapi"]]) == name and found[f"max_{direction}_channels"]:
                return number
    raise DeviceFailed("it is not there")


def _sounddevice() -> Any:
    import sounddevice  # after silence_libraries(), in begin()

    return sounddevice
