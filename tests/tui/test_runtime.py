"""Finding and starting the embedded backend."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import agent_tui
from agent_tui.errors import AgentBusy, ConfigError, ConnectFailed
from tests.tui.programs import own_environ, reap
from tui import runtime


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, value in own_environ(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "home" / "data"
    yield folder
    runtime.stop()
    reap(folder)


def told(data: Path) -> dict[str, object]:
    value: dict[str, object] = json.loads((data / runtime.RUNTIME_FILE).read_text(encoding="utf-8"))
    return value


def tell(data: Path, value: object) -> None:
    """Write a runtime file as a backend would."""
    data.mkdir(parents=True, exist_ok=True)
    path = data / runtime.RUNTIME_FILE
    path.write_text(json.dumps(value), encoding="utf-8")
    path.chmod(0o600)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_a_backend_is_started_found_again_and_stopped(data: Path) -> None:
    assert runtime.find() is None
    started = runtime.begin().wait()
    assert started.started_by_us
    assert started.version == agent_tui.__version__
    again = runtime.begin().wait()
    assert (again.pid, again.token, again.started_by_us) == (started.pid, started.token, False)
    assert runtime.find() == again
    assert runtime.under_way(again) == (0, 0)
    assert started.token not in repr(started)
    assert runtime.stop() == (0, 0)
    assert runtime.find() is None
    assert runtime.stop() is None


def test_those_who_start_at_once_share_one_backend(data: Path) -> None:
    starting = [runtime.begin() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        endpoints = list(pool.map(lambda start: start.wait(), starting))
    assert len({endpoint.pid for endpoint in endpoints}) == 1
    assert sum(endpoint.started_by_us for endpoint in endpoints) == 1


def test_a_file_left_by_a_killed_backend_is_not_believed(data: Path) -> None:
    killed = runtime.begin().wait()
    kill(killed.pid)
    assert told(data)["pid"] == killed.pid
    assert runtime.find() is None
    assert runtime.begin().wait().pid != killed.pid


def test_a_backend_of_another_version_is_asked_to_go_and_replaced(data: Path) -> None:
    older = runtime.begin().wait()
    tell(data, told(data) | {"version": "0.0.1"})
    newer = runtime.begin().wait()
    assert newer.pid != older.pid
    assert newer.version == agent_tui.__version__
    assert told(data)["pid"] == newer.pid


class Stranger:
    """Another program on the port of a backend that is gone; keeps what it was sent."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        body = b'{"status":"ok","version":"0.1.0","instance":"another"}'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.received.append(connection.recv(65536))
                connection.sendall(head + body)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def test_another_program_on_its_port_never_gets_the_token(data: Path) -> None:
    stranger = Stranger()
    try:
        url = f"http://127.0.0.1:{stranger.port}"
        fields = {"url": url, "port": stranger.port, "token": "geheim", "pid": os.getpid()}
        tell(data, fields | {"version": agent_tui.__version__, "instance": "ours"})
        assert runtime.find() is None
        assert not runtime.stop()
        assert runtime.begin().wait().url != url
    finally:
        stranger.close()
    assert stranger.received
    assert all(b"geheim" not in request for request in stranger.received)


GOOD = {"url": "http://127.0.0.1:1", "token": "t", "version": "1", "pid": 1, "instance": "i"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        GOOD | {"url": "http://192.0.2.1:80"},
        GOOD | {"url": "http://127.0.0.1:1@192.0.2.1:80"},
        GOOD | {"token": ""},
        GOOD | {"pid": "1"},
        GOOD | {"pid": -1},
        GOOD | {"instance": None},
    ],
)
def test_a_file_that_is_not_well_formed_is_not_believed(data: Path, value: object) -> None:
    tell(data, value)
    assert runtime._read_runtime(data) is None


def test_a_file_that_others_may_read_or_that_is_a_link_is_not_believed(data: Path) -> None:
    tell(data, GOOD)
    assert runtime._read_runtime(data) is not None
    path = data / runtime.RUNTIME_FILE
    path.chmod(0o644)
    assert runtime._read_runtime(data) is None
    path.chmod(0o600)
    path.rename(data / "elsewhere")
    path.symlink_to(data / "elsewhere")
    assert runtime._read_runtime(data) is None


def test_a_folder_that_cannot_be_made_is_a_configuration_error(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(data / "file" / "sub"))
    data.mkdir(parents=True)
    (data / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be written"):
        runtime.begin()
    monkeypatch.setenv("AGENT_TUI_DATA", str(data))


def test_what_the_backend_says_at_its_end_becomes_the_error(data: Path) -> None:
    data.mkdir(parents=True)
    (data / "agent-tui.db").write_bytes(b"this is no database at all, but long enough to be one" * 100)
    with pytest.raises(ConfigError) as caught:
        runtime.begin().wait()
    assert "agent-tui.db" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not str(caught.value).startswith("agent-tui:")


def test_a_database_that_serve_has_is_busy(data: Path) -> None:
    data.mkdir(parents=True)
    command = [sys.executable, "-P", "-m", "agent_tui.backend", "serve", "--no-token"]
    held = subprocess.Popen(
        [*command, "--database", f"sqlite:///{data / 'agent-tui.db'}"], stdout=subprocess.PIPE
    )
    try:
        assert held.stdout is not None
        assert held.stdout.readline().startswith(b"listening")
        with pytest.raises(AgentBusy, match="serve"):
            runtime.begin().wait()
    finally:
        held.terminate()
        held.communicate()


def test_a_backend_that_does_not_answer_is_given_up(data: Path) -> None:
    endpoint = runtime.begin().wait()
    os.kill(endpoint.pid, signal.SIGSTOP)
    try:
        with pytest.MonkeyPatch.context() as shorter:
            shorter.setattr(runtime, "START_SECONDS", 0.3)
            shorter.setattr(runtime, "ANSWER_SECONDS", 0.1)
            with pytest.raises(ConnectFailed, match="does not answer"):
                runtime.begin().wait()
    finally:
        os.kill(endpoint.pid, signal.SIGCONT)


def test_a_backend_that_ended_by_itself_before_anybody_asked_is_started_again(data: Path) -> None:
    starting = runtime.begin()
    while runtime.find() is None:
        pass
    assert runtime.stop()
    child = runtime._children[-1]
    assert child.wait(runtime.STOP_SECONDS) == 0
    assert starting.wait().started_by_us
