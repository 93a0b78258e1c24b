"""Which device is meant by what was remembered."""

from __future__ import annotations

import pytest

from agent_tui.audio.devices import Device, DeviceList, with_pulse

HEADSET = Device("USB Headset: Audio (hw:1,0)", "ALSA", inputs=1, outputs=2)
BUILT_IN = Device("HDA Intel PCH: ALC257 (hw:0,0)", "ALSA", inputs=2, outputs=2, is_default_input=True)
SCREEN = Device("Screen", "Core Audio", outputs=2, is_default_output=True)
ALL = DeviceList((HEADSET, BUILT_IN, SCREEN))
BRIDGE = Device("pulse", "ALSA", inputs=32, outputs=32)
DEFAULT = Device("default", "ALSA", inputs=32, outputs=32, is_default_input=True, is_default_output=True)
DESK = Device("Desk Microphone", "PulseAudio", inputs=1, is_default_input=True, pulse="alsa_input.usb-1")


def test_an_empty_name_is_the_default() -> None:
    assert ALL.find("", "input") == BUILT_IN
    assert ALL.find("", "output") == SCREEN


def test_without_a_default_the_first_is_taken() -> None:
    assert DeviceList((HEADSET,)).find("", "output") == HEADSET
    assert DeviceList().find("", "output") is None


@pytest.mark.parametrize(
    "wanted",
    [
        "USB Headset: Audio (hw:1,0), ALSA",
        "USB Headset: Audio (hw:1,0)",
        "USB Headset: Audio (hw:7,3), ALSA",  # another port, another number
        "usb headset",
    ],
)
def test_a_device_is_found_by_what_stays_of_its_name(wanted: str) -> None:
    assert ALL.find(wanted, "input") == HEADSET
    assert HEADSET.key == "USB Headset: Audio (hw:1,0), ALSA"


def test_the_exact_device_goes_before_a_similar_one() -> None:
    one, two = (Device(f"Speaker{more}", "ALSA", outputs=2) for more in (" Pro", ""))
    assert DeviceList((one, two)).find("Speaker", "output") == two
    assert DeviceList((one, two)).find("Speaker, ALSA", "output") == two


def test_the_same_name_by_another_host_api_is_another_device() -> None:
    one, two = (Device("Speaker", api, outputs=2) for api in ("MME", "Windows WASAPI"))
    assert DeviceList((one, two)).find(two.key, "output") == two


def test_a_speaker_is_no_microphone() -> None:
    assert ALL.find("Screen", "input") is None
    assert ALL.of("output")[0] == SCREEN


def test_what_is_behind_pulseaudio_stands_for_its_bridge() -> None:
    listed = with_pulse(DeviceList((BRIDGE, DEFAULT, HEADSET)), [DESK])
    assert listed.devices == (DESK, HEADSET)
    assert listed.find("", "input") == DESK
    assert listed.find("", "output") == HEADSET


def test_without_the_bridge_pulseaudio_cannot_be_used() -> None:
    assert with_pulse(DeviceList((HEADSET,)), [DESK]).devices == (HEADSET,)
