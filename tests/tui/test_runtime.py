"""Finding and starting the embedded backend."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

import agent_tui
from agent_tui.model.errors import AgentBusy, ConfigError, ConnectFailed
from tests.fakes.terminal import terminal
from tests.tui.programs import PROGRAM, Home, finish, impatient, one_line, own_environ, reap
from tui import runtime

pytestmark = pytest.mark.slow


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


@pytest.fixture(autouse=True)
def backends_are_forked() -> None:
    """Start each as a new process: that is what is tested here."""


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_a_backend_is_started_found_again_and_stopped(data: Path) -> None:
    assert runtime.find() is None
    started = runtime.begin().wait()
    assert started.pid == runtime._children[-1].pid
    assert started.version == agent_tui.__version__
    again = runtime.begin().wait()
    assert again == started
    assert runtime.find() == again
    assert runtime.under_way(again) == runtime.Work()
    assert started.token not in repr(started)
    assert runtime.stop() == runtime.Work()
    assert runtime.find() is None
    assert runtime.stop() is None


def test_those_who_start_at_once_share_one_backend(data: Path) -> None:
    starting = [runtime.begin() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        endpoints = list(pool.map(lambda start: start.wait(), starting))
    assert len({endpoint.pid for endpoint in endpoints}) == 1


def test_a_program_whose_backend_came_too_late_starts_another_when_the_first_is_gone(data: Path) -> None:
    first, second = runtime.begin(), runtime.begin()
    late = runtime._children[-1]
    late.send_signal(signal.SIGSTOP)
    running = first.wait()
    assert second.wait() == running
    late.send_signal(signal.SIGCONT)
    assert late.wait(runtime.STOP_SECONDS) == -signal.SIGTERM
    kill(running.pid)
    assert second.wait().pid == runtime._children[-1].pid


def test_threads_that_wait_for_one_start_get_one_backend(data: Path) -> None:
    starting = runtime.begin()
    for _ in range(3):
        kill(starting.wait().pid)  # each of them finds none, and may start one
        with ThreadPoolExecutor(8) as pool:
            endpoints = list(pool.map(lambda _: starting.wait(), range(8)))
        assert len({endpoint.pid for endpoint in endpoints}) == 1


def test_threads_that_wait_for_one_start_get_one_error(data: Path) -> None:
    data.mkdir(parents=True)
    (data / "agent-tui.db").write_text("not a database", encoding="utf-8")
    starting = runtime.begin()

    def wait(_: int) -> str:
        with pytest.raises(ConfigError) as caught:
            starting.wait()
        return str(caught.value)

    with ThreadPoolExecutor(8) as pool:
        told_at_once = set(pool.map(wait, range(8)))
    assert told_at_once == {wait(0)}  # and again


def test_a_file_left_by_a_killed_backend_is_not_believed(data: Path) -> None:
    killed = runtime.begin().wait()
    kill(killed.pid)
    assert told(data)["pid"] == killed.pid
    assert runtime.find() is None
    assert runtime.begin().wait().pid != killed.pid


# --- two versions at once --------------------------------------------------------------------------------


# What every command does before it asks the backend something.
STARTS = [sys.executable, "-P", "-c", "from tui import runtime; runtime.begin().wait()"]


def other_version(folder: Path, version: str, protocol: int) -> str:
    """Return a PYTHONPATH with which our programs are of another version."""
    folder.mkdir(exist_ok=True)
    changes = f"agent_tui.__version__, agent_tui.BACKEND_PROTOCOL = {version!r}, {protocol}\n"
    (folder / "sitecustomize.py").write_text(f"import agent_tui\n{changes}", encoding="utf-8")
    return os.pathsep.join([str(folder), str(Path(agent_tui.__file__).parents[1])])


@dataclass
class OtherVersion:
    """The home of a person who has a backend of another version running."""

    home: Home
    path: str
    pid: int

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command of the other version."""
        return self.home.start(*arguments, PYTHONPATH=self.path)

    def begin_work(self, *command: str) -> subprocess.Popen[str]:
        """Start something that takes long, and return once it speaks."""
        work = self.start(*command)
        assert work.stdout is not None
        assert work.stdout.readline()
        return work


@pytest.fixture
def another(tmp_path: Path) -> Iterator[Callable[[str, int], OtherVersion]]:
    """Give what starts a backend of another version with another protocol."""
    home = Home(tmp_path / "home", own_environ(tmp_path / "home", rate="3"))

    def started(version: str, protocol: int) -> OtherVersion:
        path = other_version(tmp_path / "other", version, protocol)
        subprocess.run(STARTS, env={**home.environ, "PYTHONPATH": path}, check=True)
        assert (told(home.data)["version"], told(home.data)["protocol"]) == (version, protocol)
        return OtherVersion(home, path, int(str(told(home.data)["pid"])))

    yield started
    home.stop()


OURS = agent_tui.BACKEND_PROTOCOL
RUN = ("rooms", "run", "--task", "Which tea?", "--rounds", "3", "--output", "stream-json")
ASK = ("ask", "Which tea?", "--output", "stream-json")


def interrupted(work: subprocess.Popen[str]) -> str:
    """End a command as ctrl+c does; return how it ended, as its last line says."""
    assert work.poll() is None
    work.send_signal(signal.SIGINT)
    out, _ = finish(work)
    return str(json.loads(out.splitlines()[-1])["data"]["reason"])


@pytest.mark.parametrize(("version", "command"), [("0.0.1", ASK), ("999.0", RUN)])
def test_a_backend_at_work_is_used_as_it_is_when_its_protocol_fits(
    another: Callable[[str, int], OtherVersion], version: str, command: tuple[str, ...]
) -> None:
    other = another(version, OURS)
    work = other.begin_work(*command)
    done = other.home.main("rooms", "list")
    assert (done.returncode, told(other.home.data)["pid"]) == (0, other.pid)
    assert interrupted(work) == "interrupted"


@pytest.mark.parametrize(
    ("version", "command"), [("0.0.1", RUN), ("999.0", ASK)], ids=["older, a room", "newer, an answer"]
)
def test_a_backend_at_work_whose_protocol_does_not_fit_is_waited_for_and_never_ended(
    another: Callable[[str, int], OtherVersion],
    version: str,
    command: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime, "BUSY_SECONDS", 0.5)
    other = another(version, OURS + 1)
    work = other.begin_work(*command)
    busy = "1 answer" if command is ASK else "1 room"
    done = other.home.main("rooms", "list")
    assert (done.returncode, done.stdout) == (6, "")
    first, last = done.stderr.splitlines()
    assert first == f"waiting for {busy} of agent-tui {version}"
    assert last.startswith(f"agent-tui: {busy} of agent-tui {version} under way: ")
    assert told(other.home.data)["pid"] == other.pid
    assert interrupted(work) == "interrupted"


def test_a_newcomer_that_waits_goes_on_when_the_work_is_done(
    another: Callable[[str, int], OtherVersion],
) -> None:
    other = another("0.0.1", OURS + 1)
    work = other.begin_work(*RUN)
    newcomer = other.home.start("rooms", "list", "--output", "json")
    assert newcomer.stderr is not None
    assert newcomer.stderr.readline() == "waiting for 1 room of agent-tui 0.0.1\n"
    assert interrupted(work) == "interrupted"
    out, err = finish(newcomer)
    assert (newcomer.returncode, err) == (0, "")
    assert [room["status"] for room in json.loads(out)["rooms"]] == ["paused"]
    assert told(other.home.data)["version"] == agent_tui.__version__


@pytest.mark.parametrize("protocol", [OURS, OURS + 1])
def test_an_older_backend_that_is_idle_is_replaced(
    another: Callable[[str, int], OtherVersion], protocol: int
) -> None:
    other = another("0.0.1", protocol)
    assert other.home.main("rooms", "list").returncode == 0
    assert (told(other.home.data)["pid"] != other.pid, told(other.home.data)["version"]) == (
        True,
        agent_tui.__version__,
    )


@pytest.mark.parametrize(("protocol", "code"), [(OURS, 0), (OURS + 1, 6)])
def test_a_newer_backend_that_is_idle_is_never_replaced(
    another: Callable[[str, int], OtherVersion], protocol: int, code: int
) -> None:
    other = another("999.0", protocol)
    done = other.home.main("rooms", "list")
    assert (done.returncode, told(other.home.data)["pid"]) == (code, other.pid)
    if code:
        assert "the backend of a newer agent-tui (999.0) is running" in one_line(done.stderr)


@pytest.mark.parametrize(("letter", "reason"), [("q", "interrupted"), ("s", "error")])
def test_a_screen_asks_what_to_do_about_the_work_of_another_version(
    another: Callable[[str, int], OtherVersion], letter: str, reason: str
) -> None:
    other = another("0.0.1", OURS + 1)
    work = other.begin_work(*ASK)
    with terminal(PROGRAM, other.home.environ, other.home.folder) as screen:
        screen.wait_for("1 answer of agent-tui 0.0.1 under way, which this program cannot show.")
        screen.send(f"{letter}\r")
        if letter == "q":
            assert screen.wait_for_end() == 0
            assert interrupted(work) == reason
            return
        screen.wait_for("Which tea?")
        out, _ = finish(work)
        assert json.loads(out.splitlines()[-1])["data"]["reason"] == reason
        assert told(other.home.data)["version"] == agent_tui.__version__


# --- two config files ------------------------------------------------------------------------------------


def test_an_idle_backend_with_another_config_file_is_replaced(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = runtime.begin().wait()
    (data / "link").symlink_to(first.config)
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(data / "link"))
    assert runtime.begin().wait().pid == first.pid
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(data / "other.toml"))
    second = runtime.begin().wait()
    assert (second.pid != first.pid, second.config) == (True, str(data / "other.toml"))


def test_a_backend_with_another_config_file_is_never_ended_at_work(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", own_environ(tmp_path / "home", rate="3"))
    other = str(tmp_path / "other.toml")
    path = impatient(tmp_path, "runtime.BUSY_SECONDS")
    with home.start(*ASK) as work:
        assert work.stdout is not None
        assert work.stdout.readline()
        assert home.run("conversations", "list", AGENT_TUI_CONFIG=other).returncode == 0
        done = home.run("models", AGENT_TUI_CONFIG=other, PYTHONPATH=path)
        assert (done.returncode, done.stdout) == (6, "")
        first, last = done.stderr.splitlines()
        assert first == f"waiting for 1 answer with the config file {home.config}"
        assert last.startswith(f"agent-tui: 1 answer with the config file {home.config} under way: ")
        assert interrupted(work) == "interrupted"
    home.stop()


def test_a_backend_with_another_config_file_stays_while_a_program_is_open_on_it(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = runtime.begin().wait()
    program = http.client.HTTPConnection(first.url.removeprefix("http://"))
    program.request("GET", "/api/presence", headers={"Authorization": f"Bearer {first.token}"})
    with program.getresponse(), monkeypatch.context() as elsewhere:
        elsewhere.setenv("AGENT_TUI_CONFIG", str(data / "other.toml"))
        elsewhere.setattr("tui.runtime.BUSY_SECONDS", 0)
        said: list[str] = []
        for waiting in (runtime.begin().wait, runtime.begin().in_the_way):
            with pytest.raises(
                AgentBusy, match=f"open with another config file, {first.config}: close it first"
            ):
                waiting(said.append)
        assert said == [f"waiting for a program with the config file {first.config}"] * 2
        assert runtime.begin(any_config=True).wait().pid == first.pid
    program.close()
    assert runtime.begin().wait().pid == first.pid


def test_a_backend_with_another_config_file_is_replaced_once_no_command_uses_it(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = runtime.begin()
    first = command.wait()
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(data / "other.toml"))
    with monkeypatch.context() as impatience:
        impatience.setattr("tui.runtime.BUSY_SECONDS", 0)
        with pytest.raises(AgentBusy):
            runtime.begin().wait()
    assert command.is_at(first.url)
    del command
    assert runtime.begin().wait().config == str(data / "other.toml")


class Stranger:
    """Another program on the port of a backend that is gone, or one that is stopping; keeps what it got."""

    def __init__(self, instance: str = "another") -> None:
        self.received: list[bytes] = []
        self._instance = instance
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        body = json.dumps({"status": "ok", "version": "0.1.0", "instance": self._instance}).encode()
        head = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.received.append(connection.recv(65536))
                is_get = self.received[-1].startswith(b"GET ")
                connection.sendall(b"HTTP/1.1 %d Said\r\n" % (200 if is_get else 503) + head + body)

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


def test_a_program_that_answers_for_a_killed_backend_is_not_believed(data: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stranger = Stranger("ours")
    try:
        url = f"http://127.0.0.1:{stranger.port}"
        fields = {"url": url, "port": stranger.port, "token": "geheim", "pid": ended.pid}
        tell(data, fields | {"version": agent_tui.__version__, "instance": "ours"})
        assert runtime.find() is None
        assert runtime.begin().wait().url != url
    finally:
        stranger.close()
    assert not any(b"geheim" in request for request in stranger.received)


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


def test_a_program_in_a_locale_without_utf_8_knows_the_config_file_of_one_with_it(data: Path) -> None:
    tell(data, GOOD | {"config": "/家/config.toml"})
    program = (
        "import os; from tui import runtime; from agent_tui.config.file import data_path;"
        "print(ascii(os.fsencode(runtime._read_runtime(data_path()).config).decode()))"
    )
    environ = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{'/家/config.toml'!a}\n", done


def test_a_folder_in_place_of_the_file_is_not_believed(data: Path) -> None:
    (data / runtime.RUNTIME_FILE).mkdir(parents=True)
    assert runtime.find() is None


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


def test_a_backend_that_brings_its_database_up_to_date_is_waited_for(data: Path) -> None:
    data.mkdir(parents=True)
    late = 0.0
    lines: list[str] = []
    with (data / runtime.LOCK_FILE).open("w", encoding="utf-8") as lock:
        lock.write("1 embedded upgrading\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)

        def monotonic() -> float:
            """Return the time, at each look a quarter of the patience later, until ten times that is over."""
            nonlocal late
            if late < 10 * runtime.START_SECONDS:
                late += runtime.START_SECONDS / 4
            else:
                fcntl.flock(lock, fcntl.LOCK_UN)
            return time.monotonic() + late

        with pytest.MonkeyPatch.context() as hurried:
            clock = SimpleNamespace(**{**vars(time), "monotonic": monotonic})
            hurried.setattr(runtime, "time", clock)
            started = runtime.begin().wait(lines.append)
    assert started.pid == runtime._children[-1].pid
    assert lines == ["bringing the database up to date"]


def test_a_backend_that_ended_by_itself_before_anybody_asked_is_started_again(data: Path) -> None:
    starting = runtime.begin()
    while runtime.find() is None:
        pass
    assert runtime.stop()
    child = runtime._children[-1]
    assert child.wait(runtime.STOP_SECONDS) == 0
    assert starting.wait().pid == runtime._children[-1].pid != child.pid


def test_a_backend_that_others_stop_has_ended_when_another_one_has_the_database(data: Path) -> None:
    stopping = Stranger()
    data.mkdir(exist_ok=True)
    try:
        fields = {"url": f"http://127.0.0.1:{stopping.port}", "port": stopping.port, "token": "t"}
        tell(data, fields | {"pid": os.getpid(), "version": agent_tui.__version__, "instance": "another"})
        with (data / runtime.LOCK_FILE).open("w") as lock:
            lock.write("1 embedded")
            lock.flush()
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert runtime.stop() == runtime.Work()
    finally:
        stopping.close()
        (data / runtime.RUNTIME_FILE).unlink()
