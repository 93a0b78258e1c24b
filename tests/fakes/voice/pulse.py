"""A PulseAudio of the test's own, without hardware: two null sinks are speaker and microphone."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import numpy as np
import pytest

PATIENCE_SECONDS: Final = 20.0
LISTENS_SECONDS: Final = 90.0
RATE: Final = 16_000  # of a listener
BLOCK_SECONDS: Final = 0.02
BLOCK_BYTES: Final = int(RATE * BLOCK_SECONDS) * 2
HEARD: Final = 300  # an amplitude that people hear
APART_SECONDS: Final = 1.0  # of silence between two answers
COMMANDS: Final = ("pulseaudio", "pactl", "paplay", "parec")
SETUP: Final = """\
load-module module-native-protocol-unix auth-anonymous=1
load-module module-null-sink sink_name=speaker rate=48000 channels=1 \
sink_properties=device.description=Speaker
load-module module-null-sink sink_name=voice rate=48000 channels=1 sink_properties=device.description=Voice
load-module module-remap-source master=voice.monitor source_name=microphone \
source_properties=device.description=Microphone
set-default-sink speaker
set-default-source microphone
"""


class Listener:
    """Who hears a speaker: 16 kHz mono. A sink that plays nothing gives silence, so that time goes by."""

    def __init__(self, recorder: subprocess.Popen[bytes]) -> None:
        self._recorder = recorder
        self._heard = bytearray()
        self.answered_at = 0  # the block after the silence that ended the newest answer
        self._moved = threading.Condition()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._recorder.stdout is not None
        while block := self._recorder.stdout.read(BLOCK_BYTES):
            with self._moved:
                self._heard += block
                self._moved.notify_all()

    def end(self) -> None:
        """Stop listening."""
        self._recorder.terminate()
        self._reading.join()  # before the pipe that it reads is closed

    @property
    def now(self) -> int:
        """How many blocks were heard so far."""
        return len(self._heard) // BLOCK_BYTES

    def answer(self, since: int) -> bytes:
        """Wait for a voice that begins after block ``since``, and for its end; return its sound."""
        first = self.voice(since)
        last = first
        for at in self._blocks(first):
            if self._is_loud(at):
                last = at
            elif (at - last) * BLOCK_SECONDS >= APART_SECONDS:
                self.answered_at = at
                break
        return bytes(self._heard[max(0, first - 10) * BLOCK_BYTES : (last + 10) * BLOCK_BYTES])

    def sound(self, since: int) -> bytes:
        """Return all that was heard after block ``since``."""
        return bytes(self._heard[since * BLOCK_BYTES :])

    def voice(self, since: int) -> int:
        """Wait for a voice after block ``since``; return the block it begins with."""
        return next(at for at in self._blocks(since) if self._is_loud(at))

    def _blocks(self, since: int) -> Iterator[int]:
        deadline = time.monotonic() + LISTENS_SECONDS
        for at in count(since):
            with self._moved:
                while self.now <= at:
                    assert time.monotonic() < deadline, f"silence from {since} to {self.now}"
                    self._moved.wait(1.0)
            yield at

    def _is_loud(self, block: int) -> bool:
        sound = np.frombuffer(self._heard[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES], np.int16)
        return int(np.abs(sound.astype(np.int32)).max()) > HEARD


class Pulse:
    """The daemon. Who plays into the sink ``voice`` is heard by the source ``microphone``; what is played on
    the sink ``speaker`` is in ``speaker.monitor``. Programs reach it by the variables in ``environ``.
    """

    def __init__(self, folder: Path) -> None:
        home, runtime = folder / "home", folder / "run"
        home.mkdir(exist_ok=True)
        runtime.mkdir(mode=0o700, exist_ok=True)
        self.environ = {"XDG_RUNTIME_DIR": str(runtime), "HOME": str(home)}
        self._script = folder / "setup.pa"
        self._script.write_text(SETUP)
        self._all = {**os.environ, **self.environ}
        self._all.pop("PULSE_SERVER", None)
        self.start()

    def start(self) -> None:
        """Start the daemon and wait until it answers."""
        words = "-n --daemonize=no --system=no --exit-idle-time=-1 --disallow-exit --use-pid-file=no"
        command = ["pulseaudio", *words.split(), "-F", str(self._script), "--log-level=error"]
        nowhere = subprocess.DEVNULL
        self._daemon = subprocess.Popen(command, env=self._all, stdout=nowhere, stderr=nowhere)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._pactl("info").returncode:
            assert self._daemon.poll() is None, "pulseaudio ended"
            assert time.monotonic() < deadline, "pulseaudio does not answer"

    def stop(self) -> None:
        """End the daemon."""
        self._daemon.kill()
        self._daemon.wait()

    def add_sink(self, name: str) -> str:
        """Plug a speaker in; return what ``remove`` wants."""
        words = f"sink_name={name} sink_properties=device.description={name} rate=48000 channels=1"
        return self._told("load-module", "module-null-sink", *words.split())

    def remove(self, module: str) -> None:
        """Pull a speaker out."""
        self._told("unload-module", module)

    def make_default(self, sink: str) -> None:
        """Change the default speaker."""
        self._told("set-default-sink", sink)

    def speaks(self, path: Path) -> subprocess.Popen[bytes]:
        """Play a WAV file into the microphone; wait for the process to hear its end."""
        return subprocess.Popen(["paplay", "--device=voice", str(path)], env=self._all)

    @contextmanager
    def records(self, sink: str = "speaker") -> Iterator[Path]:
        """Record what a sink plays, 48 kHz mono 16 bit, to a file that grows."""
        path = self._script.with_name(f"{sink}-{time.monotonic_ns()}.raw")
        words = f"--device={sink}.monitor --format=s16le --rate=48000 --channels=1 --raw --latency-msec=20"
        with (
            path.open("wb") as file,
            subprocess.Popen(
                ["parec", *words.split()], env=self._all, stdout=file, stderr=subprocess.DEVNULL
            ) as recorder,
        ):
            try:
                yield path
            finally:
                recorder.terminate()

    @contextmanager
    def listens(self, sink: str = "speaker") -> Iterator[Listener]:
        """Listen to what a sink plays."""
        words = f"--device={sink}.monitor --format=s16le --rate={RATE} --channels=1 --raw --latency-msec=20"
        with subprocess.Popen(
            ["parec", *words.split()], env=self._all, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as recorder:
            listener = Listener(recorder)
            try:
                yield listener
            finally:
                listener.end()

    def _told(self, *words: str) -> str:
        done = self._pactl(*words)
        assert not done.returncode, done.stderr
        return done.stdout.strip()

    def _pactl(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["pactl", *words], env=self._all, capture_output=True, text=True, check=False)


@contextmanager
def pulse(folder: Path) -> Iterator[Pulse]:
    """Run a PulseAudio; skip the test where it is not installed."""
    missing = [command for command in COMMANDS if shutil.which(command) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed (apt: pulseaudio pulseaudio-utils)")
    daemon = Pulse(folder)
    try:
        yield daemon
    finally:
        daemon.stop()
