"""One test for each exit code of ``agent-tui voice`` without a screen, in a process of its own."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import pytest

from agent_tui import __version__
from agent_tui.voice_parts import STAMP_FILE, voice_folder
from tests.fakes.servers.http_server import FakeServer, Responder, answers_json
from tests.fakes.servers.rooms_server import in_thread
from tests.tui.programs import Home, one_line, own_environ

TYPED = ("voice", "--text", "--output", "stream-json")
TOKEN_PATH = "/api/voice/token"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, own_environ(tmp_path))


def refuses(status: int, title: str, code: str) -> Responder:
    problem = {"title": title, "detail": "Run: agent-tui voice setup", "status": status, "code": code}
    return answers_json(problem, status, kind="application/problem+json")


def end_of(written: str) -> dict[str, Any]:
    last = json.loads(written.splitlines()[-1])
    assert (last["id"], last["event"], set(last["data"])) == (None, "end", {"reason", "text", "detail"})
    data: dict[str, Any] = last["data"]
    return data


def test_2_something_has_to_be_set_up_first(home: Home) -> None:
    with in_thread(FakeServer()) as backend:
        backend.on("POST", TOKEN_PATH, refuses(409, "The voice agent is not installed", "voice.no_agent"))
        ran = home.run(*TYPED, stdin="Hello\n", AGENT_TUI_URL=backend.url)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[-1] == (
        "agent-tui: The voice agent is not installed: Run: agent-tui voice setup"
    )


def test_2_a_recording_that_cannot_be_written_is_told_before_anything_is_started(home: Home) -> None:
    ran = home.run(*TYPED, "--record", "nowhere/answer.wav", AGENT_TUI_URL="http://127.0.0.1:9")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "nowhere/answer.wav cannot be written" in one_line(ran.stderr)


def test_the_worker_runs_in_the_python_that_was_set_up(home: Home, tmp_path: Path) -> None:
    done = home.run("voice-agent")
    assert (done.returncode, done.stdout) == (2, "")
    assert "set LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET" in one_line(done.stderr)
    python = voice_folder(tmp_path / "data") / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"; cat\n')
    python.chmod(0o700)
    (python.parent.parent / STAMP_FILE).write_text(__version__)
    server = {"LIVEKIT_URL": "ws://127.0.0.1:9", "LIVEKIT_API_KEY": "k", "LIVEKIT_API_SECRET": "s"}
    ran = home.run("voice-agent", "--name", "helper", stdin="{}", **server)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "-P -m agent_tui.voice_agent worker --name helper\n{}"


def test_2_a_file_that_is_no_sound(home: Home, tmp_path: Path) -> None:
    (tmp_path / "question.wav").write_text("no sound")
    (tmp_path / "config.toml").write_text('[voice]\nurl = "ws://127.0.0.1:1"\nkey = "k"\nsecret = "s"\n')
    with in_thread(FakeServer()) as backend:
        ran = home.run("voice", "--wav", "question.wav", AGENT_TUI_URL=backend.url)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "question.wav" in one_line(ran.stderr)


def test_5_no_livekit_server_is_there(home: Home, tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "question.wav"), "wb") as sound:
        sound.setparams((1, 2, 16_000, 0, "NONE", ""))
        sound.writeframes(bytes(3_200))
    keys = {"LIVEKIT_API_KEY": "key", "LIVEKIT_API_SECRET": "secret-that-nobody-sees-anywhere-else"}
    with in_thread(FakeServer()) as backend:
        out = ("--transcript", "said.txt", "--output", "stream-json")
        ran = home.run(
            "voice",
            "--wav",
            "question.wav",
            "--url",
            "ws://127.0.0.1:9",
            *out,
            AGENT_TUI_URL=backend.url,
            **keys,
        )
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (5, "lost")
    assert "eyJ" not in ran.stdout + ran.stderr
    assert (tmp_path / "said.txt").read_text() == ""


def test_6_the_backend_refuses(home: Home) -> None:
    with in_thread(FakeServer()) as backend:
        backend.on("POST", TOKEN_PATH, refuses(401, "The token is wrong", ""))
        ran = home.run(*TYPED, stdin="Hello\n", AGENT_TUI_URL=backend.url)
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (6, "refused")
