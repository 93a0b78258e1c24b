"""The real PortAudio against a real sound server; its devices are null sinks."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import wave
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from agent_tui.audio.device_sound import DeviceSound
from agent_tui.audio.devices import list_devices
from agent_tui.audio.echo import NO_PROCESSING
from agent_tui.audio.rings import CONSOLE_LIMITS, ROOM_LIMITS, RingLimits
from agent_tui.audio.sound import BLOCK_BYTES
from tests.audio.sounds import samples
from tests.fakes.terminal import terminal
from tests.fakes.voice.pulse import Pulse, pulse

pytestmark = [pytest.mark.voice, pytest.mark.speech]

QUIET_BLOCKS = 480 * 2  # an envelope has one number every 20 ms
WARM_SECONDS = 5  # a null sink that was idle renders two seconds ahead at first
BUSY_SECONDS = 60
LIKE = 0.95  # on an idle machine 0.99
DRAWS_AND_OPENS = """
import asyncio
from textual.app import App, ComposeResult
from textual.widgets import Label
from agent_tui.audio.device_sound import DeviceSound
from widgets.terminal.paced_driver import PacedDriver

class Drawing(App[None]):
    def compose(self) -> ComposeResult:
        yield Label("at first")

    async def on_mount(self) -> None:
        self.run_worker(self.opens())

    async def opens(self) -> None:
        sound = DeviceSound(output_name="headset")
        await sound.open()
        while True:
            sound.play(b"\\x10\\x00" * 480)
            self.query_one(Label).update(f"plays on {sound.status.output_name}.")
            await asyncio.sleep(0.01)

Drawing(driver_class=PacedDriver).run()
"""
LOSES_ITS_SERVER = """
import asyncio
from agent_tui.audio.device_sound import DeviceSound

async def main() -> None:
    sound = DeviceSound()
    await sound.open()
    captured = sound.captured()
    print(sound.status.output_name, flush=True)
    while sound.status.output_name or sound.status.input_name:
        await anext(captured)
    await captured.aclose()
    await sound.aclose()
    print("closed", flush=True)

asyncio.run(main())
"""
LOOKS_BARE = (
    "import ctypes; ctypes.CDLL('libportaudio.so.2').Pa_Initialize(); print('looked', flush=True); input()"
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pulse]:
    with pulse(tmp_path) as daemon:
        monkeypatch.delenv("PULSE_SERVER", raising=False)
        for name, value in daemon.environ.items():
            monkeypatch.setenv(name, value)
        yield daemon


@asynccontextmanager
async def opened(limits: RingLimits = ROOM_LIMITS, output_name: str = "") -> AsyncIterator[DeviceSound]:
    """Run a session's sound; both devices call by then."""
    sound = DeviceSound(limits=limits, processing=NO_PROCESSING, output_name=output_name)
    await sound.open()
    try:
        await until(lambda: bool(sound.status.output_name), "a speaker")
        yield sound
    finally:
        await sound.aclose()


async def until(condition: Callable[[], bool], what: str, seconds: float = 40) -> None:
    """Wait until ``condition`` holds."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110  # devices change it
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"waited for {what}")


def speech(seconds: float = 3) -> bytes:
    """Return what sounds like syllables of different length."""
    numbers = np.random.default_rng(5)
    count = round(seconds * 48_000)
    loud = np.repeat(numbers.uniform(0, 1, count // 7_200 + 1) > 0.4, 7_200)[:count]
    sound: bytes = (numbers.normal(0, 4_000, count) * loud).astype(np.int16).tobytes()
    return sound


def envelope(sound: bytes) -> npt.NDArray[np.float64]:
    """Return how loud each 20 ms are."""
    values = samples(sound[: len(sound) // 2 * 2])
    whole = values[: values.size // QUIET_BLOCKS * QUIET_BLOCKS].reshape(-1, QUIET_BLOCKS)
    loudness: npt.NDArray[np.float64] = np.sqrt((whole**2).mean(axis=1))
    return loudness


def likeness(sample: bytes, heard: bytes) -> float:
    """Return how alike the envelopes of what was said and heard are at the best delay: 1 is the same."""
    wanted, got = envelope(sample), envelope(heard)
    if got.size < wanted.size:
        return 0.0
    return max(
        float(np.corrcoef(wanted, got[at : at + wanted.size])[0, 1])
        for at in range(got.size - wanted.size + 1)
        if got[at : at + wanted.size].std() > 0
    )


async def play_all(sound: DeviceSound, sample: bytes) -> None:
    """Play and wait until it is over; a null sink renders up to two seconds ahead."""
    sound.play(sample + bytes(3 * 96_000))
    await until(lambda: sound.queued_seconds == 0, "the end of what is played")


async def flowing(sound: DeviceSound, path: Path) -> None:
    """Play until it arrives at the recorder: a sink that was idle takes its time."""

    def arrives() -> bool:
        if sound.queued_seconds < 0.5:
            sound.play(b"\x10\x00" * 48_000)
        return any(path.read_bytes())

    await until(arrives, "the first sound in the recording")


async def test_what_is_spoken_into_the_microphone_is_heard(server: Pulse, tmp_path: Path) -> None:
    sample = speech()
    path = tmp_path / "said.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(sample)
    async with opened() as sound, aclosing(sound.captured()) as captured:
        assert sound.status.input_name == "Microphone"
        heard = b"".join([await anext(captured) for _ in range(10)])
        speaking = server.speaks(path)
        while speaking.poll() is None:
            heard += await anext(captured)
        for _ in range(100):
            heard += await anext(captured)
    assert likeness(sample, heard) > LIKE


async def test_what_is_played_is_heard_at_the_speaker(server: Pulse) -> None:
    sample = speech()
    with server.records() as path:
        async with opened(CONSOLE_LIMITS) as sound:
            await flowing(sound, path)
            await play_all(sound, sample)
            assert sound.status.underruns == 0
    assert likeness(sample, path.read_bytes()) > LIKE


@pytest.mark.long
async def test_a_minute_with_a_busy_screen_has_no_underrun(server: Pulse) -> None:
    """A room's sound comes every 10 ms; the loop computes for 25 ms twelve times a second like a screen."""
    block = b"\x10\x00" * 480
    is_over = False

    async def draws() -> None:
        while not is_over:
            end = time.perf_counter() + 0.025
            while time.perf_counter() < end:
                pass
            await asyncio.sleep(1 / 12 - 0.025)

    async with opened(ROOM_LIMITS) as sound:
        drawing = asyncio.create_task(draws())
        started = time.monotonic()
        before = None
        sent = 0
        while (now := time.monotonic() - started) < WARM_SECONDS + BUSY_SECONDS:
            while sent * 0.01 < now:
                sound.play(block)
                sent += 1
            if before is None and now > WARM_SECONDS:
                before = sound.status.underruns
            await asyncio.sleep(0.005)
        is_over = True
        await drawing
        assert sound.status.underruns == before


async def test_another_speaker_is_taken_while_sound_runs(server: Pulse) -> None:
    server.add_sink("headset")
    sample = speech()
    with server.records("headset") as path:
        async with opened(CONSOLE_LIMITS) as sound:
            assert sound.status.output_name == "Speaker"
            listed = await list_devices()
            device = listed.find("headset", "output")
            assert device is not None
            await sound.choose("output", device.key)
            assert sound.status.output_name == "headset"
            await flowing(sound, path)
            await play_all(sound, sample)
    assert likeness(sample, path.read_bytes()) > LIKE


async def test_a_speaker_that_is_pulled_out_comes_back_by_itself(server: Pulse) -> None:
    module = server.add_sink("headset")
    async with opened(output_name="headset, PulseAudio") as sound:
        assert sound.status.output_name == "headset"
        server.remove(module)
        await until(lambda: bool(sound.status.output_problem), "word of the loss")
        await until(lambda: sound.status.output_name == "Speaker", "the other speaker")
        assert "headset" in sound.status.output_problem
        server.add_sink("headset")
        await until(lambda: sound.status.output_name == "headset", "the first speaker")
        assert not sound.status.output_problem
        assert sound.status.input_name == "Microphone"


async def test_another_default_is_followed(server: Pulse) -> None:
    server.add_sink("headset")
    async with opened() as sound:
        assert sound.status.output_name == "Speaker"
        server.make_default("headset")
        await until(lambda: sound.status.output_name == "headset", "the new default")


async def test_a_sound_server_that_is_started_anew_is_found_again(server: Pulse) -> None:
    async with opened() as sound, aclosing(sound.captured()) as captured:
        server.stop()
        await until(lambda: not sound.status.output_name and not sound.status.input_name, "word of the loss")
        assert await anext(captured) == bytes(BLOCK_BYTES)
        server.start()
        await until(lambda: bool(sound.status.output_name and sound.status.input_name), "both devices")


def test_a_program_ends_although_its_sound_server_was_killed(server: Pulse) -> None:
    """Threads of the libraries wait for the server for ever then; the program must not wait for them."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", LOSES_ITS_SERVER], stdout=pipe, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "Speaker\n"
        server.stop()
        assert child.stdout.readline() == "closed\n"
        try:
            assert child.wait(30) == 0
        finally:
            child.kill()


def test_nothing_of_the_libraries_reaches_the_terminal(server: Pulse, tmp_path: Path) -> None:
    """They print about a hundred lines when they begin, and some when a device goes."""
    module = server.add_sink("headset")
    environ = {**os.environ, "TERM": "xterm-256color"}
    with terminal([sys.executable, "-c", LOOKS_BARE], environ, tmp_path) as bare:
        bare.wait_for("looked")
        assert b"ALSA lib" in bare.raw  # this machine's libraries do print
    with terminal([sys.executable, "-c", DRAWS_AND_OPENS], environ, tmp_path) as app:
        app.wait_for("plays on headset.")
        server.remove(module)
        app.wait_for("plays on Speaker.")
        server.stop()
        app.wait_for("plays on .")
        server.start()
        app.wait_for("plays on Speaker.")
        for word in (b"ALSA", b"jack", b"Expression", b"PulseAudio: "):
            assert word not in app.raw
