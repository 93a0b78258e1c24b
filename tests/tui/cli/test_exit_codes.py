"""One test for each exit code of cli.md's table; in a process of its own where that matters."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.servers.http_server import answers_json, streams
from tests.fakes.servers.room_frames import frame
from tests.fakes.servers.rooms_server import (
    LogRoom,
    LogRoomsServer,
    OriginalRoomsServer,
    in_thread,
    run_events,
)
from tests.tui.programs import PROGRAM, Home, answer_of, finish, one_line, own_environ, served

pytestmark = pytest.mark.slow

TASK = ("--task", "Which tea?", "--agent", "Ada", "--rounds", "1")
STREAM = ("--output", "stream-json")
FIRST_CHUNKS = 6


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, own_environ(tmp_path))  # no command here starts a backend of this home


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a server whose demo model talks as fast as it goes."""
    folder = tmp_path_factory.mktemp("fast")
    with served(Home(folder, own_environ(folder)), "--demo-rate", "0") as (_, url):
        yield url


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a server whose demo model talks for a minute, unless it is stopped."""
    folder = tmp_path_factory.mktemp("slow")
    with served(Home(folder, own_environ(folder)), "--demo-rate", "2") as (_, url):
        yield url


@pytest.fixture(scope="module")
def keyless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a server whose only provider lacks its key."""
    folder = tmp_path_factory.mktemp("keyless")
    home = Home(folder, own_environ(folder))
    settings = 'kind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\napi_key_env = "NOT_SET_HERE"\n'
    home.config.write_text(f"[providers.gone]\n{settings}", encoding="utf-8")
    with served(home) as (_, url):
        yield url


def end_of(text: str) -> dict[str, Any]:
    last = json.loads(text.splitlines()[-1])
    assert (last["id"], last["event"], set(last["data"])) == (None, "end", {"reason", "text", "detail"})
    data: dict[str, Any] = last["data"]
    return data


def problem(status: int, title: str) -> Any:
    return answers_json({"title": title, "status": status}, status, kind="application/problem+json")


def test_0_a_room_that_is_completed(home: Home, fast: str) -> None:
    done = home.run("rooms", "run", *TASK, "--url", fast, *STREAM)
    assert done.returncode == 0
    assert end_of(done.stdout)["reason"] == "completed"


def test_0_also_when_a_turn_failed(home: Home) -> None:
    events = [*run_events()[:FIRST_CHUNKS], ("agent_error", {"agent": "Mika", "error": "no luck"})]
    with in_thread(OriginalRoomsServer([*events, ("room_completed", {"room_id": "r1"})])) as server:
        done = home.main("rooms", "run", "r1", "--url", server.url, *STREAM)
    assert (done.returncode, end_of(done.stdout)["reason"]) == (0, "completed")
    assert "Mika: no luck" in done.stderr.splitlines()


def test_1_a_bug_of_ours_is_one_line_and_its_place_is_in_the_log(home: Home) -> None:
    home.folder.joinpath("sitecustomize.py").write_text(
        "import tui.cli.commands.config\ntui.cli.commands.config.config_path = lambda: 1 / 0\n",
        encoding="utf-8",
    )
    path = f"{home.folder}:{Path(__file__).parents[3]}"
    done = home.run("config", "path", PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (1, "")
    assert one_line(done.stderr).startswith("internal error, ZeroDivisionError: the log says where: ")
    log = Path(done.stderr.strip().rsplit(": ", 1)[1]).read_text(encoding="utf-8")
    assert "sitecustomize.py:2 in <lambda>" in log
    assert "division" not in log  # what an exception says may be words of a conversation


@pytest.mark.parametrize(
    "command",
    ["rooms run", "rooms run r1 --rounds 2", "rooms run --task T --rounds 0", "doctor --nonsense"],
)
def test_2_wrong_usage(home: Home, command: str) -> None:
    done = home.main(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done.stderr)


@pytest.mark.parametrize(
    "command",
    [
        "ask hello --workspace {}",
        "rooms new --task T --workspace {}",
        "rooms list --url http://127.0.0.1:9 --token-file {}",
        "voice --agent {}.py",
        "serve --workspace {}",
    ],
)
def test_2_a_path_of_somebody_who_is_not_there(home: Home, command: str) -> None:
    done = home.run(*command.format("~nobody-is-called-so/x").split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no path ~nobody-is-called-so/x" in one_line(done.stderr)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("config check", "AGENT_TUI_CONFIG"),
        ("rooms list", "AGENT_TUI_CONFIG"),
        ("backend status", "AGENT_TUI_DATA"),
        ("doctor", "AGENT_TUI_DATA"),
    ],
)
def test_2_a_folder_of_somebody_who_is_not_there(home: Home, command: str, name: str) -> None:
    done = home.run(*command.split(), **{name: "~nobody-is-called-so/x"})
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done.stderr) == f"{name}: there is no path ~nobody-is-called-so/x"


def test_2_a_wrong_config_file_and_what_a_server_finds_out_of_range(home: Home, fast: str) -> None:
    home.config.write_text("[backends.work]\nkind = 3\n", encoding="utf-8")
    wrong = home.main("rooms", "list", "--backend", "work")
    ranged = home.main("rooms", "new", "--task", "T", "--rounds", "1000000", "--url", fast)
    for done in (wrong, ranged):
        assert (done.returncode, done.stdout) == (2, "")
        assert one_line(done.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_3_a_room_that_is_paused_by_a_signal(home: Home, slow: str, number: signal.Signals) -> None:
    name = f"after signal {number}"
    run = home.start("rooms", "run", *TASK, "--name", name, "--url", slow, *STREAM)
    assert run.stdout is not None
    while json.loads(run.stdout.readline())["event"] != "message_chunk":
        pass
    run.send_signal(number)
    out, err = finish(run)
    assert status_of(slow, name) == "paused"
    assert run.returncode == 3
    assert [json.loads(line)["event"] for line in out.splitlines()[-2:]] == ["room_paused", "end"]
    end = end_of(out)
    assert end["reason"] == "interrupted"
    assert end["text"]
    assert "pausing the room; ctrl+c leaves at once" in err.splitlines()


def status_of(url: str, name: str) -> str:
    """Return the state of the room of that name."""
    rooms = answer_of(url, "GET", "/api/rooms")["rooms"]
    (status,) = [room["status"] for room in rooms if room["name"] == name]
    return str(status)


def until_running(url: str, name: str) -> None:
    """Wait until the room of that name runs, which may not have been made yet."""
    cursor = ""
    while True:
        news = answer_of(url, "GET", f"/api/rooms?after={cursor}&wait=20")
        if any(room["name"] == name and room["status"] == "running" for room in news["rooms"]):
            return
        cursor = news["cursor"]


def test_0_a_run_under_nohup_goes_on_when_its_terminal_is_gone(home: Home) -> None:
    with served(home, "--demo-rate", "400") as (_, url):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            run = home.start("rooms", "run", *TASK, "--url", url, *STREAM, is_new=True)
        finally:
            signal.signal(signal.SIGHUP, before)
        assert run.stdout is not None
        run.stdout.readline()
        run.send_signal(signal.SIGHUP)
        out, _ = finish(run)
    assert (run.returncode, end_of(out)["reason"]) == (0, "completed")


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_3_a_room_whose_reader_has_left_is_paused(home: Home, slow: str, form: str) -> None:
    name = f"without a reader of {form}"
    run = home.start("rooms", "run", *TASK, "--name", name, "--url", slow, "--output", form)
    assert run.stdout is not None
    assert run.stderr is not None
    if form != "json":
        assert run.stdout.readline()
    until_running(slow, name)
    run.stdout.close()
    with run.stderr:
        err = run.stderr.read()
    assert run.wait(60) == 3
    assert "agent-tui: " not in err
    assert status_of(slow, name) == "paused"


@pytest.mark.parametrize("form", ["text", "stream-json"])
def test_4_a_room_whose_output_a_full_disk_does_not_take_is_paused(home: Home, slow: str, form: str) -> None:
    name = f"full disk for {form}"
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [*PROGRAM, "rooms", "run", *TASK, "--name", name, "--url", slow, "--output", form],
            env=home.environ,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.returncode == 4
    last = run.stderr.splitlines()[-1]
    assert last == "agent-tui: the output cannot be written: No space left on device"
    assert status_of(slow, name) == "paused"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("budget", "paused (budget): its budget is used up"),
        ("stop\x1b[31m", "paused (stop␛[31m)"),
        ("", "paused"),
    ],
)
def test_3_a_room_that_pauses_says_why_on_stderr(home: Home, reason: str, said: str) -> None:
    paused = {"room_id": "r1", **({"interrupted": reason} if reason else {})}
    with in_thread(OriginalRoomsServer([*run_events()[:FIRST_CHUNKS], ("room_paused", paused)])) as server:
        done = home.main("rooms", "run", "r1", "--url", server.url, *STREAM)
    assert done.returncode == 3
    assert (end_of(done.stdout)["reason"], end_of(done.stdout)["detail"]) == ("paused", reason or None)
    assert done.stderr.splitlines()[-1].startswith(said)


def test_3_at_the_ceiling_of_the_budget_6_until_it_is_raised_and_0_then(home: Home, fast: str) -> None:
    new = ("--task", "Which tea?", "--name", "ceiling", "--agent", "Ada", "--agent", "Bo", "--rounds", "1")
    first = home.main("rooms", "run", *new, "--max-tokens", "10", "--url", fast, *STREAM)
    again = home.main("rooms", "run", "ceiling", "--url", fast, *STREAM)
    raised = home.main("rooms", "run", "ceiling", "--max-tokens", "1000000", "--url", fast, *STREAM)
    assert (first.returncode, again.returncode, raised.returncode) == (3, 6, 0)
    assert (end_of(first.stdout)["reason"], end_of(first.stdout)["detail"]) == ("paused", "budget")
    assert first.stderr.splitlines()[-1].startswith("paused (budget): ")
    assert "budget" in (end_of(again.stdout)["detail"] or "")
    assert end_of(raised.stdout)["reason"] == "completed"


@pytest.mark.parametrize(
    "options", [("--on-error", "pause"), ("--rounds", "9"), ("--rounds", "9", "--mode", "parallel")]
)
def test_4_a_room_that_pauses_because_its_turns_failed(
    home: Home, keyless: str, options: tuple[str, ...]
) -> None:
    done = home.main("rooms", "run", *TASK, *options, "--url", keyless, *STREAM)
    end = end_of(done.stdout)
    assert (done.returncode, end["reason"], end["text"]) == (4, "error", "")
    assert end["detail"].startswith("Ada: the environment variable NOT_SET_HERE is not set")
    assert "agent-tui backend stop" in end["detail"]
    *_, paused, last = done.stderr.splitlines()
    assert paused.startswith("paused (error): ")
    assert last == f"agent-tui: {end['detail']}"
    assert done.stderr.count("Ada: ") == 2  # the turn that failed, and why the command did


def test_4_a_room_that_fails_is_not_there_or_breaks_off(home: Home, fast: str) -> None:
    failed = [*run_events()[:FIRST_CHUNKS], ("error", {"content": "the quota is gone"})]
    with in_thread(OriginalRoomsServer(failed)) as server:
        error = home.main("rooms", "run", "r1", "--url", server.url, *STREAM)
    with in_thread(OriginalRoomsServer(stop_after=FIRST_CHUNKS, then="end")) as server:
        lost = home.main("rooms", "run", "r1", "--url", server.url, *STREAM)
    nowhere = home.main("rooms", "run", "no-such-room", "--url", fast, *STREAM)
    for done, reason in ((error, "error"), (lost, "lost"), (nowhere, "error")):
        assert (done.returncode, end_of(done.stdout)["reason"]) == (4, reason)
        assert done.stderr.splitlines()[-1].startswith("agent-tui: ")


def test_4_a_server_that_says_nothing_in_time(home: Home) -> None:
    config = '[backends.slow]\nkind = "rooms"\nurl = "{}"\ntimeout = 0.5\n'
    with socket.create_server(("127.0.0.1", 0)) as silent:
        home.config.write_text(config.format(f"http://127.0.0.1:{silent.getsockname()[1]}"), encoding="utf-8")
        done = home.main("rooms", "run", "r1", "--backend", "slow", *STREAM)
    assert (done.returncode, end_of(done.stdout)["reason"]) == (4, "timeout")


@pytest.mark.parametrize("has_ids", [False, True])
def test_4_a_run_that_falls_silent_though_its_log_is_there(home: Home, has_ids: bool) -> None:
    """Only where a timeout is set: else a room may think as long as it wants."""
    begun = [frame(*event, 5 + at if has_ids else None) for at, event in enumerate(run_events()[:6])]
    with in_thread(LogRoomsServer(LogRoom("r1", next_id=11))) as server:
        server.on("POST", "/api/rooms/r1/run", streams(*begun, then="stay"))
        server.on("GET", "/api/rooms/r1/events", streams(then="stay"))
        config = f'[backends.slow]\nkind = "rooms"\nurl = "{server.url}"\ntimeout = 1.5\n'
        home.config.write_text(config, encoding="utf-8")
        done = home.main("rooms", "run", "r1", "--backend", "slow", *STREAM)
    end = end_of(done.stdout)
    assert (done.returncode, end["reason"], end["text"]) == (4, "timeout", "Short answer: ")


def test_5_a_server_that_is_not_there(home: Home) -> None:
    done = home.main("rooms", "run", "r1", "--url", "http://127.0.0.1:9", *STREAM)
    assert (done.returncode, end_of(done.stdout)["reason"]) == (5, "lost")
    assert done.stderr.splitlines()[-1].startswith("agent-tui: ")


@pytest.mark.parametrize(("status", "reason"), [(401, "refused"), (403, "refused"), (409, "busy")])
def test_6_refused_or_busy(home: Home, status: int, reason: str) -> None:
    with in_thread(LogRoomsServer(LogRoom("r1"))) as server:
        server.on("POST", "/api/rooms/r1/run", problem(status, "Not now"))
        done = home.main("rooms", "run", "r1", "--url", server.url, *STREAM)
    assert done.returncode == 6
    assert end_of(done.stdout)["reason"] in (reason, "refused")
    assert done.stderr.splitlines()[-1].startswith("agent-tui: ")
