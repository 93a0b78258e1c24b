"""What sound costs in a voice session: levels, the microphone's filter, resampling, the streams themselves.

Shares are of one core. The rows of the streams have a PulseAudio of their own with null sinks; where that is
not installed they have the machine's devices, and say so where there are none.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path

import numpy as np

from agent_tui.audio.device_sound import DeviceSound
from agent_tui.audio.echo import DEFAULT_PROCESSING, NO_PROCESSING, MicrophoneFilter, SoundProcessing
from agent_tui.audio.levels import LevelMeter
from agent_tui.audio.resampling import FromDevice, SampleFormat
from agent_tui.audio.rings import ROOM_LIMITS, PlayRing
from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SAMPLES, BLOCK_SECONDS
from benchmarks.table import row, times
from tests.fakes.voice.pulse import COMMANDS, pulse

BLOCKS = 2_000
RUNS = 3
SECONDS = 5.0
LONG_SECONDS = 60.0


def main() -> None:
    """Print the rows."""
    sound = np.random.default_rng(0).normal(0, 3_000, BLOCKS * BLOCK_SAMPLES).astype(np.int16).tobytes()
    blocks = [sound[start : start + BLOCK_BYTES] for start in range(0, len(sound), BLOCK_BYTES)]
    meter, ring = LevelMeter(), PlayRing(ROOM_LIMITS)

    def through_ring(block: bytes) -> None:
        ring.play(block)
        ring.read()

    share("levels of one direction, 100 blocks a second", "≤ 1 %", blocks, meter.feed)
    share("play ring, in and out", "", blocks, through_ring)
    only_echo = SoundProcessing(noise=False, high_pass=False)
    for name, processing in (("echo canceller", only_echo), ("echo, noise, high pass", DEFAULT_PROCESSING)):
        share(name, "≤ 3 %", blocks, _filter(processing))
    own = sound[: 2_000 * 882]
    parts = [own[start : start + 882] for start in range(0, len(own), 882)]
    share("a microphone of 44.1 kHz", "", parts, FromDevice(SampleFormat(44_100, 1), meter.feed))
    with _sound_server():
        asyncio.run(_streams("nothing done", NO_PROCESSING, SECONDS))
        asyncio.run(_streams("echo, noise, high pass", DEFAULT_PROCESSING, LONG_SECONDS))


@contextmanager
def _sound_server() -> Iterator[None]:
    """Have null sinks for devices, where PulseAudio is installed."""
    if any(shutil.which(command) is None for command in COMMANDS):
        yield
        return
    with tempfile.TemporaryDirectory() as folder, pulse(Path(folder)) as daemon, _variables(daemon.environ):
        yield


@contextmanager
def _variables(wanted: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _filter(processing: SoundProcessing) -> Callable[[bytes], object]:
    microphone = MicrophoneFilter(processing)
    return lambda block: microphone.filtered(block, block, 0.05)


def share(name: str, target: str, blocks: list[bytes], take: Callable[[bytes], object]) -> None:
    """Print the share of a core that ``take`` needs for blocks of 10 ms as they come, and how much faster it
    is.
    """
    seconds = min(_cpu(blocks, take) for _ in range(RUNS)) / len(blocks)
    note = f"{seconds * 1e6:.0f} µs per 10 ms, {times(BLOCK_SECONDS / seconds)} real time"
    row(f"sound: {name}", target, f"{seconds / BLOCK_SECONDS:.2%}", note)


def _cpu(blocks: list[bytes], take: Callable[[bytes], object]) -> float:
    started = time.process_time()
    for block in blocks:
        take(block)
    return time.process_time() - started


async def _streams(name: str, processing: SoundProcessing, seconds: float) -> None:
    sound = DeviceSound(processing=processing)
    await sound.open()
    try:
        if not sound.status.input_name or not sound.status.output_name:
            why = sound.status.input_problem or sound.status.output_problem
            row(f"sound: both streams, {name}", "", "not measured", why)
            return
        async with aclosing(sound.captured()) as captured:
            for _ in range(200):
                await anext(captured)
            underruns, started, cpu = sound.status.underruns, time.monotonic(), time.process_time()
            while time.monotonic() - started < seconds:
                sound.play(await anext(captured))
            spent = (time.process_time() - cpu) / (time.monotonic() - started)
        missed = sound.status.underruns - underruns
        row(f"sound: both streams, levels, {name}", "≤ 10 %", f"{spent:.1%}")
        load = f"load {os.getloadavg()[0]:.1f}"
        row(f"sound: underruns in {seconds:.0f} s, {name}", "0", str(missed), load)
    finally:
        await sound.aclose()
