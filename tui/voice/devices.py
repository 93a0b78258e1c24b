"""``agent-tui voice devices``: the microphones and speakers, with those in use marked."""

from __future__ import annotations

import asyncio

from agent_tui.audio import devices
from agent_tui.audio.check import NOUNS, SoundSurroundings, no_device
from agent_tui.audio.devices import Device, DeviceList, Direction
from agent_tui.config.file import load
from tui.cli import exits, output
from tui.cli.output import OutputFormat
from tui.screens.localised import localised


def list_devices(output_format: OutputFormat) -> int:
    """Write the devices to stdout, the ones in use marked; return the exit code."""
    listed = asyncio.run(devices.list_devices())
    voice = load().voice
    wanted = {"input": voice.input, "output": voice.output}
    used = {direction: listed.find(wanted[direction], direction) for direction in NOUNS}
    if output_format == "json":
        rows = {f"{direction}s": _rows(listed, direction, used[direction]) for direction in NOUNS}
        output.write_json({**rows, "problem": listed.problem or None})
        return exits.DONE
    table = [
        ("*" if device == used[direction] else "", localised(noun), device.key)
        for direction, noun in NOUNS.items()
        for device in listed.of(direction)
    ]
    if table:
        output.say(output.table(table))
    around, lacking = SoundSurroundings.of_this_process(), []
    for direction, noun in NOUNS.items():
        if not listed.of(direction):
            lacking.append(localised(no_device(direction, listed.problem, around)))
        elif wanted[direction] and used[direction] is None:
            lacking.append(localised(f"{noun} {wanted[direction]} of the config file is not there"))
    for line in dict.fromkeys(lacking):  # what both lack is said once
        output.notice(line)
    return exits.DONE


def _rows(listed: DeviceList, direction: Direction, used: Device | None) -> list[dict[str, object]]:
    return [
        {
            "name": device.key,
            "default": device.is_default(direction),
            "used": device == used,
            "rate": device.rate,
        }
        for device in listed.of(direction)
    ]
