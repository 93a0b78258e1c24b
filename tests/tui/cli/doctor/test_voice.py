"""The voice part of ``agent-tui doctor``: what it says of each thing that voice lacks, and what helps."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui import __version__
from agent_tui.config.file import load
from agent_tui.config.voice import VoiceAgentConfig
from agent_tui.voice_parts import MODEL_FILES, STAMP_FILE, voice_folder
from tests.fakes.servers.http_server import FakeServer, answers, answers_json
from tests.fakes.servers.rooms_server import in_thread
from tests.tui.cli.doctor.test_doctor import SECRET, surroundings
from tests.tui.programs import home_at
from tui.cli.doctor import voice as doctor_voice
from tui.cli.doctor.checks import Check, lines

KEY_VARIABLES = ("LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET", "LIVEKIT_TOKEN")
# A token that has no secret: {"alg":"none"}.{"sub":"me","video":{"room":"demo","roomJoin":true}}
TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSIsInZpZGVvIjp7InJvb20iOiJkZW1vIiwicm9vbUpvaW4iOnRydWV9fQ.x"
SETUP = "          → agent-tui voice setup"


@pytest.fixture(autouse=True)
def without_a_server_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("LIVEKIT_SERVER", *KEY_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


# --- this machine -----------------------------------------------------------------------------------------


def test_a_library_that_is_missing_fails_and_none_is_loaded_to_find_out() -> None:
    assert doctor_voice.libraries().status == "ok"
    assert lines(doctor_voice.libraries(["livekit", "no-such-library"])) == [
        "FAILED  voice libraries: no-such-library is missing",
        "          → install agent-tui again",
    ]


def test_whatever_sound_lacks_has_a_fix() -> None:
    found = list(doctor_voice.sound("warning"))
    assert found[0].id == "voice.sound_library"
    assert {check.status for check in found} <= {"ok", "warning"}
    assert all(check.fix for check in found if check.status != "ok")


NO_DEVICES = """
class PortAudioError(Exception): pass
class default: device = (-1, -1)
def query_hostapis(): return []
def query_devices(): return []
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is no sound server")
def test_without_any_sound_each_row_says_so_in_the_words_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``sounddevice`` says what it does where PortAudio finds nothing; without pactl no server answers."""
    (tmp_path / "sounddevice.py").write_text(NO_DEVICES)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    rows = [lines(check)[0] for check in doctor_voice.sound("warning")]
    assert rows == [
        "ok      sound library: PortAudio",
        "warning sound server: none answers",
        "warning microphone: none",
        "warning speaker: none",
    ]


def test_the_runtime_folder_is_one_of_this_user(tmp_path: Path) -> None:
    def said(**environ: str) -> list[str]:
        return lines(doctor_voice.runtime_folder(environ, "warning"))

    fix = "          → export XDG_RUNTIME_DIR=/run/user/$(id -u)"
    assert said() == ["warning XDG_RUNTIME_DIR: not set: the sound server is found through it", fix]
    assert said(XDG_RUNTIME_DIR="/nowhere/at/all") == [
        "warning XDG_RUNTIME_DIR: /nowhere/at/all: No such file or directory",
        fix,
    ]
    another = tmp_path
    if os.getuid() == 0:
        os.chown(tmp_path, 12345, 12345)
    else:
        another = Path("/")
    assert said(XDG_RUNTIME_DIR=str(another)) == [
        f"warning XDG_RUNTIME_DIR: {another} is another user's: sound servers refuse it",
        fix,
    ]
    if os.getuid() == 0:
        os.chown(tmp_path, 0, 0)
    assert said(XDG_RUNTIME_DIR=str(tmp_path)) == [f"ok      XDG_RUNTIME_DIR: {tmp_path}"]
    assert said(PULSE_SERVER="tcp:host")[0].startswith("ok ")


@pytest.mark.parametrize(
    ("release", "has_sound", "expected"),
    [
        ("6.1.0-18-amd64", False, ["ok      WSL: this is not WSL"]),
        ("5.15.153.1-microsoft-standard-WSL2", True, ["ok      WSL: WSL 2 with WSLg"]),
        (
            "5.15.153.1-microsoft-standard-WSL2",
            False,
            [
                "warning WSL: WSLg, which brings sound, is not there",
                '          → in Windows: "wsl --update"',
            ],
        ),
        (
            "4.4.0-19041-Microsoft",
            False,
            [
                "warning WSL: WSL 1 has no sound",
                '          → in Windows: "wsl --set-version DISTRIBUTION 2"',
            ],
        ),
    ],
)
def test_windows_needs_wsl_2_with_wslg(release: str, has_sound: bool, expected: list[str]) -> None:
    assert lines(doctor_voice.wsl(release, "warning", has_sound=has_sound)) == expected


def test_loopback_alone_is_told_what_is_used_instead() -> None:
    assert doctor_voice.network("warning", is_there=True).status == "ok"
    first, fix = lines(doctor_voice.network("warning", is_there=False))
    assert first.startswith("warning network interface: only loopback")
    assert "local session" in fix


# --- LiveKit ----------------------------------------------------------------------------------------------


def server_program(folder: Path, prints: str) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    program = folder / "livekit-server"
    program.write_text(f"#!/bin/sh\n{prints}\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_our_own_server_says_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> list[str]:
        return lines(doctor_voice.own_server(tmp_path, "warning"))

    first, fix = said()
    assert first.startswith("warning LiveKit server: no livekit-server: agent-tui voice uses a local session")
    assert fix == SETUP
    kept = server_program(voice_folder(tmp_path) / "bin", "exit 1")
    assert said() == [
        f"FAILED  LiveKit server: {kept} is not a livekit-server",
        "          → agent-tui voice setup --remove, then agent-tui voice setup",
    ]
    on_path = server_program(tmp_path, "echo livekit-server version 1.9.2")
    assert said() == [
        f"warning LiveKit server: version 1.9.2, {on_path}: older than 1.12",
        f"          → replace {on_path}",
    ]
    monkeypatch.setenv("LIVEKIT_SERVER", "/nowhere/livekit-server")
    assert said() == [
        "FAILED  LiveKit server: /nowhere/livekit-server: No such file or directory",
        "          → correct or unset LIVEKIT_SERVER",
    ]
    program = server_program(tmp_path / "other", "echo livekit-server version 1.13.5")
    monkeypatch.setenv("LIVEKIT_SERVER", str(program))
    assert said() == [f"ok      LiveKit server: version 1.13.5, {program}"]


def livekit(folder: Path, *settings: str, **environ: str) -> list[str]:
    here = surroundings(folder)
    here = replace(here, environ={**here.environ, **environ})
    here.config.write_text("\n".join(["[voice]", *settings, ""]), encoding="utf-8")
    here.config.chmod(0o600)
    found = list(doctor_voice.livekit(here, load(here.config).voice, "warning"))
    assert [check.id for check in found] == ["voice.server", "voice.token"]
    assert all(check.fix for check in found if check.status == "failed")
    said = [line for check in found for line in lines(check)]
    assert not any(words in line for line in said for words in (SECRET, TOKEN, "eyJ"))
    return said


@contextmanager
def livekit_server(*, lets_in: bool = True) -> Iterator[FakeServer]:
    """A server that says of tokens what LiveKit says."""
    server = FakeServer()
    refusal = answers(f"invalid token: {TOKEN}", 401, {"Content-Type": "text/plain"})
    success = answers("success", 200, {"Content-Type": "text/plain"})
    server.on("GET", "/rtc/validate", success if lets_in else refusal)
    with in_thread(server):
        server.on("POST", "/token", answers_json({"server_url": server.url, "participant_token": TOKEN}))
        yield server


def test_nobody_names_a_server_and_the_backend_gives_tokens(tmp_path: Path) -> None:
    assert livekit(tmp_path)[-1] == "ok      LiveKit token: from the backend, which runs the server"


def test_a_token_that_lets_in_is_ok_wherever_it_is_from(tmp_path: Path) -> None:
    with livekit_server() as server:
        ways: list[tuple[str, list[str], dict[str, str]]] = [
            ("LIVEKIT_TOKEN", [], {"LIVEKIT_TOKEN": TOKEN, "LIVEKIT_URL": server.url}),
            (
                "signed with LIVEKIT_API_KEY",
                [],
                {"LIVEKIT_API_KEY": "key", "LIVEKIT_API_SECRET": SECRET, "LIVEKIT_URL": server.url},
            ),
            (
                "signed with the key of [voice]",
                [f'url = "{server.url}"', 'key_env = "MY_KEY"', 'secret_env = "MY_SECRET"'],
                {"MY_KEY": "key", "MY_SECRET": SECRET},
            ),
            (f"{server.url}/token", [f'token_url = "{server.url}/token"'], {}),
        ]
        for source, settings, environ in ways:
            assert livekit(tmp_path, *settings, **environ) == [
                f"ok      LiveKit server: {server.url.replace('http', 'ws')}",
                f"ok      LiveKit token: {source}",
            ]


def test_a_token_that_does_not_let_in_is_told_where_it_is_from(tmp_path: Path) -> None:
    with livekit_server(lets_in=False) as server:
        assert livekit(tmp_path, LIVEKIT_TOKEN=TOKEN, LIVEKIT_URL=server.url)[1:] == [
            "FAILED  LiveKit token: LIVEKIT_TOKEN: the server refuses it",
            "          → get a new token, and export LIVEKIT_TOKEN=TOKEN",
        ]
        keys = {"LIVEKIT_API_KEY": "key", "LIVEKIT_API_SECRET": SECRET, "LIVEKIT_URL": server.url}
        assert livekit(tmp_path, **keys)[1:] == [
            "FAILED  LiveKit token: signed with LIVEKIT_API_KEY: the server refuses it",
            "          → correct LIVEKIT_API_KEY and LIVEKIT_API_SECRET: they are the server's",
        ]


def test_a_server_that_is_not_there_or_is_another_is_told_so(tmp_path: Path) -> None:
    away = "http://127.0.0.1:9"
    server_line, fix, token_line = livekit(tmp_path, LIVEKIT_TOKEN=TOKEN, LIVEKIT_URL=away)
    assert server_line.startswith("FAILED  LiveKit server: ")
    assert fix == "          → start it, or correct LIVEKIT_URL"
    assert token_line == "skipped LiveKit token: LIVEKIT_TOKEN; nobody to ask"
    with in_thread(FakeServer()) as other:
        first, fix, _ = livekit(tmp_path, LIVEKIT_TOKEN=TOKEN, LIVEKIT_URL=other.url)
        assert first.endswith("that is not a LiveKit server")
        assert fix == "          → correct LIVEKIT_URL"
    assert livekit(tmp_path, f'token_url = "{away}/token"')[-1] == (
        "          → start the token endpoint, or correct [voice] token_url"
    )


def test_a_server_without_a_token_is_told_what_to_set(tmp_path: Path) -> None:
    said = livekit(tmp_path, 'url = "wss://voice.invalid"', 'key_env = "NOT_SET_HERE"')
    assert said[1] == "FAILED  LiveKit token: [voice] url: the LiveKit server needs a token"
    assert "LIVEKIT_API_KEY" in said[2]
    assert "key_env" in said[2]


# --- the agent --------------------------------------------------------------------------------------------


def agent_environment(data: Path, stamp: str) -> Path:
    """Make what ``voice setup`` makes, with empty libraries; return the folder of the packages."""
    folder = voice_folder(data) / "env"
    packages = folder / "lib" / "python3.11" / "site-packages"
    (packages / "livekit_agents-1.8.9.dist-info").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / STAMP_FILE).write_text(stamp, encoding="utf-8")
    return packages


def test_an_agent_that_was_set_up_is_told_with_its_version(tmp_path: Path) -> None:
    agent_environment(tmp_path, __version__)
    python = voice_folder(tmp_path) / "env" / "bin" / "python"
    assert lines(doctor_voice.agent(tmp_path, "warning")) == [
        f"ok      voice agent: livekit-agents 1.8.9, {python}"
    ]


def without_the_extra() -> bool:
    return doctor_voice.agent(Path("/nowhere"), "warning").status != "ok"


@pytest.mark.skipif(not without_the_extra(), reason="the extra voice-agent is installed: it is used instead")
def test_an_agent_of_another_version_or_without_a_python_fails(tmp_path: Path) -> None:
    assert lines(doctor_voice.agent(tmp_path, "warning")) == [
        "warning voice agent: its libraries are not installed",
        SETUP,
    ]
    agent_environment(tmp_path, "0.0.1")
    folder = voice_folder(tmp_path) / "env"
    assert lines(doctor_voice.agent(tmp_path, "warning")) == [
        f"FAILED  voice agent: {folder}: made by version 0.0.1, not {__version__}",
        SETUP,
    ]
    (folder / STAMP_FILE).write_text(__version__, encoding="utf-8")
    (folder / "bin" / "python").unlink()
    assert lines(doctor_voice.agent(tmp_path, "warning")) == [
        f"FAILED  voice agent: {folder}: its Python is missing",
        SETUP,
    ]


def test_models_are_compared_with_their_checksums(tmp_path: Path) -> None:
    def said() -> list[str]:
        return lines(doctor_voice.models(tmp_path, VoiceAgentConfig(), "warning"))

    packages = agent_environment(tmp_path, __version__)
    assert said() == [
        "warning voice models: not installed: agent-tui voice is a typed conversation",
        SETUP,
    ]
    for name in MODEL_FILES:
        (packages / name).parent.mkdir(parents=True)
        (packages / name).write_bytes(b"half a model")
    assert said() == [
        f"FAILED  voice models: {next(iter(MODEL_FILES))} is damaged",
        "          → agent-tui voice setup --remove, then agent-tui voice setup",
    ]


def test_models_that_are_named_and_not_there_fail(tmp_path: Path) -> None:
    def check(config: VoiceAgentConfig) -> Check:
        return doctor_voice.models(tmp_path, config, "warning")

    agent_environment(tmp_path, __version__)
    assert lines(check(VoiceAgentConfig(hearing="small"))) == [
        "FAILED  voice models: [voice.agent] hearing: small is not on this machine",
        "          → agent-tui voice setup --hearing small",
    ]
    assert check(VoiceAgentConfig(voice="de_DE-eva")).fix == "agent-tui voice setup --voice de_DE-eva"
    folder = voice_folder(tmp_path) / "models"
    (folder / "small").mkdir(parents=True)
    (folder / "small" / "model.bin").write_bytes(b"")
    (folder / "de_DE-eva").mkdir()
    (folder / "de_DE-eva" / "de_DE-eva.onnx").write_bytes(b"")
    there = VoiceAgentConfig(hearing="small", voice="de_DE-eva")
    assert check(there).status != "failed"


# --- the command ------------------------------------------------------------------------------------------


def test_what_voice_lacks_is_a_warning_only_where_voice_is_used(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        home.config.write_text("", encoding="utf-8")
        unused = voice_checks(home.main("doctor", "--json").stdout)
        home.config.write_text('[voice]\nroom = "demo"\n', encoding="utf-8")
        used = voice_checks(home.main("doctor", "--json").stdout)
    assert set(unused) == set(used)
    assert {"voice.libraries", "voice.sound_library", "voice.network", "voice.server"} <= set(used)
    assert {"voice.token", "voice.agent", "voice.models"} <= set(used)
    assert unused["voice.server"]["status"] == "skipped"
    assert used["voice.server"]["status"] == "warning"
    assert used["voice.server"]["fix"] == "agent-tui voice setup"


def test_a_config_that_cannot_be_read_leaves_the_rest_of_voice(tmp_path: Path) -> None:
    found = {check.id: check for check in doctor_voice.checks(surroundings(tmp_path), None)}
    assert found["voice.server"].detail == "the config file cannot be used"
    assert found["voice.libraries"].status == "ok"


def voice_checks(text: str) -> dict[str, dict[str, object]]:
    return {check["id"]: check for check in json.loads(text)["checks"] if check["id"].startswith("voice.")}
