"""A PulseAudio of the test's own, without hardware: two null sinks are speaker and microphone."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

PATIENCE_SECONDS: Final = 20.0
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
        return subprocess.Popen(
            ["paplay", "--device=voice", str(path)], env=self._all, stderr=subprocess.DEVNULL
        )

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
