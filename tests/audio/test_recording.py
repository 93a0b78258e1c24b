"""Recordings: whole at every moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from agent_tui.audio.recording import Recording
from agent_tui.audio.sound import BLOCK_BYTES
from agent_tui.model.errors import ConfigError
from tests.audio.sounds import samples, tone

SILENCE = bytes(BLOCK_BYTES)
KILLED = """
import sys
from pathlib import Path
from agent_tui.audio.recording import Recording
recording = Recording(Path(sys.argv[1]))
while True:
    recording.add(b"", b"\\x01\\x02" * 480)
    recording.flush()
    if recording.seconds > 5:
        print("long", flush=True)
        sys.stdin.read()
"""
FULL = """
import resource
import sys
from pathlib import Path
from agent_tui.audio.recording import Recording
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
recording = Recording(Path(sys.argv[1]))
for _ in range(1_000):
    recording.add(b"", b"\\x01\\x02" * 480)
    recording.flush()
recording.close()
print(recording.problem)
"""


def read(path: Path) -> tuple[int, int, bytes]:
    """Return (channels, rate, frames)."""
    with wave.open(str(path)) as file:
        assert file.getsampwidth() == 2
        return file.getnchannels(), file.getframerate(), file.readframes(file.getnframes())


def test_an_answer_begins_with_its_first_sound(tmp_path: Path) -> None:
    path = tmp_path / "answer.wav"
    recording = Recording(path)
    sound = tone(0.1)
    for played in (SILENCE, SILENCE, sound, SILENCE, sound):
        recording.add(b"", played)
    recording.close()
    assert read(path) == (1, 48_000, sound + SILENCE + sound)


def test_both_directions_are_left_and_right(tmp_path: Path) -> None:
    path = tmp_path / "both.wav"
    recording = Recording(path, with_microphone=True)
    for heard, played in ((b"\1\0" * 480, SILENCE), (SILENCE, b"\2\0" * 480)):
        recording.add(heard, played)
    recording.close()
    channels, _, frames = read(path)
    assert channels == 2
    assert samples(frames).reshape(-1, 2).tolist() == [[1, 0]] * 480 + [[0, 2]] * 480


def test_a_killed_program_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "killed.wav"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", KILLED, path], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"long\n"
        os.kill(child.pid, signal.SIGKILL)
    _, _, frames = read(path)
    assert len(frames) / 96_000 >= 4.5
    assert frames == b"\1\2" * (len(frames) // 2)


def test_a_place_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        Recording(tmp_path / "nowhere" / "answer.wav")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_an_error_and_no_crash() -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        Recording(Path("/dev/full"))


def test_a_disk_that_is_full_later_ends_the_recording_and_keeps_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "full.wav"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True)
    assert done.stdout == "The recording ended: File too large\n"
    _, _, frames = read(path)
    assert frames == b"\1\2" * (len(frames) // 2)
    assert len(frames) > 400_000
