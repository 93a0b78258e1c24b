"""Microphones and speakers: the list, and the device that a name means.

PortAudio lists devices once, when it begins, so ``list_devices`` asks a child process: devices that were
plugged in since are found while sound runs. Through ALSA, PortAudio knows PulseAudio and PipeWire as one
device only; ``pactl`` knows the devices behind them. ``python -m agent_tui.audio.devices`` is that child: it
prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from agent_tui.audio.alsa import silence_libraries

Direction = Literal["input", "output"]
LIST_SECONDS: Final = 15.0  # JACK and Bluetooth are slow
PACTL_SECONDS: Final = 5.0
PULSE: Final = "PulseAudio"
PULSE_BRIDGES: Final = ("pulse", "default")  # ALSA's names of the way to PulseAudio
CARD_NUMBER: Final = re.compile(r"\s*\(hw:[^)]*\)")  # depends on the order in which cards are found
NO_LIBRARY: Final = "PortAudio is not installed"


@dataclass(frozen=True, slots=True)
class Device:
    """A microphone (``inputs`` channels), a speaker (``outputs``) or both. ``pulse`` is PulseAudio's name for
    it.
    """

    name: str
    host_api: str
    inputs: int = 0
    outputs: int = 0
    rate: int = 48_000
    is_default_input: bool = False
    is_default_output: bool = False
    pulse: str = ""

    @property
    def key(self) -> str:
        """What to store and to pass to ``Sound.choose``: name and host API. Numbers change, these do not."""
        return f"{self.name}, {self.host_api}"

    def is_default(self, direction: Direction) -> bool:
        """Whether it is the system's default in this direction."""
        return self.is_default_input if direction == "input" else self.is_default_output

    def channels(self, direction: Direction) -> int:
        """How many channels it has in this direction."""
        return self.inputs if direction == "input" else self.outputs


@dataclass(frozen=True, slots=True)
class DeviceList:
    """All devices; if there are none, ``problem`` may say why in one line."""

    devices: tuple[Device, ...] = ()
    problem: str = ""

    def of(self, direction: Direction) -> list[Device]:
        """Return the microphones or the speakers, the default one first."""
        found = [device for device in self.devices if device.channels(direction)]
        return sorted(found, key=lambda device: not device.is_default(direction))

    def find(self, wanted: str, direction: Direction) -> Device | None:
        """Return the device that ``wanted`` names: by key, name, name without the card's number, or a part of
        the name; an empty name is the default (else the first one).
        """
        found = self.of(direction)
        if not wanted:
            return found[0] if found else None
        name, _, host_api = wanted.rpartition(", ")
        tests = (
            lambda device: device.key == wanted,
            lambda device: device.name == wanted,
            lambda device: (_stable(device.name), device.host_api) == (_stable(name), host_api),
            lambda device: wanted.casefold() in device.name.casefold(),
        )
        return next((device for test in tests for device in found if test(device)), None)


async def list_devices(*, only_pulse: bool = False) -> DeviceList:
    """Return the current devices. Never raises. ``only_pulse`` is a hundred times cheaper and asks only
    PulseAudio: without it, no devices.
    """
    if only_pulse:
        return DeviceList(tuple(await pulse_devices()))
    listed, pulse = await asyncio.gather(portaudio_listed(), pulse_devices())
    return with_pulse(listed, pulse)


async def portaudio_listed() -> DeviceList:
    """Return what PortAudio finds now, in a new process. Never raises."""
    text, problem = await _output_of(sys.executable, "-P", "-m", __name__, seconds=LIST_SECONDS)
    try:
        listed = json.loads(text)
        return DeviceList(tuple(Device(**device) for device in listed["devices"]), listed["problem"])
    except (ValueError, TypeError, KeyError):
        return DeviceList(problem=f"the devices cannot be listed: {problem or 'the listing ended early'}")


def with_pulse(listed: DeviceList, pulse: Sequence[Device]) -> DeviceList:
    """Return PortAudio's devices and those behind PulseAudio, whose default is then the default; they can
    only be used if ALSA has a bridge to it.
    """
    if not pulse or not any(device.name in PULSE_BRIDGES for device in listed.devices):
        return listed
    others = [
        replace(device, is_default_input=False, is_default_output=False)
        for device in listed.devices
        if device.name not in PULSE_BRIDGES
    ]
    return DeviceList((*pulse, *others))


async def pulse_devices() -> list[Device]:
    """Return the devices of PulseAudio or PipeWire, without monitors of speakers; none if there is no
    ``pactl`` (version 16 or later) or nothing answers.
    """
    if not has_pactl():
        return []
    info, sources, sinks = await asyncio.gather(
        _pactl("info"), _pactl("list", "sources"), _pactl("list", "sinks")
    )
    if not isinstance(info, dict) or not isinstance(sources, list) or not isinstance(sinks, list):
        return []
    heard = [
        _pulse_device(source, inputs=1, is_default_input=source["name"] == info.get("default_source_name"))
        for source in sources
        if not source.get("monitor_source") and source.get("monitor_of_sink", "n/a") in ("", "n/a")
    ]
    played = [
        _pulse_device(sink, outputs=1, is_default_output=sink["name"] == info.get("default_sink_name"))
        for sink in sinks
    ]
    return [*heard, *played]


def has_pactl() -> bool:
    """Return whether PulseAudio can be asked for its devices here."""
    return shutil.which("pactl") is not None


async def pulse_answers() -> bool:
    """Return whether a PulseAudio or PipeWire server answers."""
    return has_pactl() and await _pactl("info") is not None


def _pulse_device(fields: Mapping[str, Any], **more: Any) -> Device:
    return Device(str(fields.get("description") or fields["name"]), PULSE, pulse=str(fields["name"]), **more)


async def _pactl(*words: str) -> Any:
    text, _ = await _output_of("pactl", "--format=json", *words, seconds=PACTL_SECONDS)
    with suppress(ValueError):
        return json.loads(text)
    return None


async def _output_of(*command: str, seconds: float) -> tuple[str, str]:
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        child = await asyncio.create_subprocess_exec(*command, stdin=nowhere, stdout=pipe, stderr=nowhere)
    except OSError as error:
        return "", error.strerror or str(error)
    try:
        output, _ = await asyncio.wait_for(child.communicate(), seconds)
    except TimeoutError:
        return "", f"no answer after {seconds:.0f} seconds"
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    return output.decode("utf-8", "replace"), ""


def _stable(name: str) -> str:
    return CARD_NUMBER.sub("", name)


def portaudio_devices() -> DeviceList:
    """Return the devices that PortAudio in this process knows, as of its start. Never raises."""
    silence_libraries()
    try:
        import sounddevice  # it looks for devices at once, and fails without the library
    except OSError:
        return DeviceList(problem=NO_LIBRARY)
    try:
        apis = [api["name"] for api in sounddevice.query_hostapis()]
        defaults = sounddevice.default.device
        raw = sounddevice.query_devices()
    except sounddevice.PortAudioError as error:
        return DeviceList(problem=f"PortAudio cannot list devices: {error}")
    devices = tuple(
        Device(
            device["name"],
            apis[device["hostapi"]],
            inputs=device["max_input_channels"],
            outputs=device["max_output_channels"],
            rate=round(device["default_samplerate"]),
            is_default_input=number == defaults[0],
            is_default_output=number == defaults[1],
        )
        for number, device in enumerate(raw)
    )
    return DeviceList(devices)


if __name__ == "__main__":
    print(json.dumps(asdict(portaudio_devices())))  # noqa: T201  # the parent reads it
