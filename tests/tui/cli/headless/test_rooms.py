"""``rooms run`` against our own backend: formats, ends, signals, a server that goes and comes back."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.tui.programs import SECONDS, Home, finish, home_at, one_line, served

pytestmark = pytest.mark.slow

TASK = "Which tea for the office?"
PAIR = ("--agent", "Ada", "--agent", "Bo")
SHORT = ("--task", TASK, *PAIR, "--rounds", "2")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A backend whose demo model talks as fast as it goes."""
    with home_at(tmp_path_factory.mktemp("fast"), begun=True) as home:
        yield home


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A backend whose demo model talks for hours, unless it is stopped."""
    with home_at(tmp_path_factory.mktemp("slow"), rate="2", begun=True) as home:
        yield home


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def end_of(text: str) -> dict[str, Any]:
    """Return the data of the last line, which is the only one called ``end``."""
    found = lines(text)
    assert [line["event"] == "end" for line in found] == [False] * (len(found) - 1) + [True]
    assert found[-1]["id"] is None
    data: dict[str, Any] = found[-1]["data"]
    assert set(data) == {"reason", "text", "detail"}
    return data


def words_in(found: list[dict[str, Any]]) -> str:
    """Return what the agents said, from the ends of their messages in the order of their starts."""
    starts = [line["data"]["id"] for line in found if line["event"] == "message_start"]
    ends = {line["data"]["id"]: line["data"]["content"] for line in found if line["event"] == "message_end"}
    return "\n\n".join(ends[message_id] for message_id in starts if message_id in ends)


def until(process: subprocess.Popen[str], event: str) -> list[str]:
    """Read lines up to the first one of that event."""
    assert process.stdout is not None
    read = []
    for line in process.stdout:
        read.append(line)
        if json.loads(line)["event"] == event:
            return read
    pytest.fail(f"no {event}: {read[-3:]}")


# --- formats ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_stream_json_is_every_event_with_its_id_and_one_last_line(home: Home, mode: str) -> None:
    done = home.main("rooms", "run", *SHORT, "--mode", mode, "--output", "stream-json")
    assert done.returncode == 0, done.stderr
    found = lines(done.stdout)
    ids = [int(line["id"]) for line in found[:-1]]
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    names = [line["event"] for line in found]
    assert (names[0], names[1], names[-2:]) == ("room_started", "message", ["room_completed", "end"])
    assert names.count("message_end") == 4
    assert all("accumulated" not in line["data"] for line in found)
    end = end_of(done.stdout)
    assert (end["reason"], end["detail"], end["text"]) == ("completed", None, words_in(found))
    room = home.room(found[0]["data"]["room_id"])
    assert (room["status"], room["last_event_id"]) == ("completed", ids[-1])


def test_json_is_one_object_with_the_room_and_its_messages(home: Home) -> None:
    done = home.main("rooms", "run", *SHORT, "--output", "json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    value = json.loads(done.stdout)
    assert set(value) == {"reason", "text", "detail", "room", "messages"}
    room_id = value["room"]["id"]
    assert value["room"] == home.room(room_id)
    assert value["messages"] == home.api("GET", f"/api/rooms/{room_id}/messages")["messages"]
    said = [json.loads(m["content"])["steps"][0]["content"] for m in value["messages"][1:]]
    assert (value["reason"], value["text"]) == ("completed", "\n\n".join(said))


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_text_has_every_name_before_its_words(home: Home, mode: str) -> None:
    done = home.main("rooms", "run", *SHORT, "--name", f"text {mode}", "--mode", mode)
    assert done.returncode == 0, done.stderr
    (room,) = [r for r in home.api("GET", "/api/rooms")["rooms"] if r["name"] == f"text {mode}"]
    messages = home.api("GET", f"/api/rooms/{room['id']}/messages")["messages"][1:]
    for message in messages:
        words = json.loads(message["content"])["steps"][0]["content"]
        assert f"{message['sender_name']}:\n{words}" in done.stdout
    names = [line for line in done.stdout.splitlines() if line in ("Ada:", "Bo:")]
    assert len(names) == len(messages) == 4
    assert room["id"] in done.stderr
    assert "round 2 of 2" in done.stderr
    assert "round 2 of 2" not in done.stdout


def test_a_completed_room_gives_what_is_stored_and_stores_nothing(home: Home) -> None:
    first = json.loads(home.main("rooms", "run", *SHORT, "--output", "json").stdout)
    room_id = first["room"]["id"]
    again = home.main("rooms", "run", room_id, "--output", "stream-json")
    assert again.returncode == 0
    assert [line["event"] for line in lines(again.stdout)] == ["room_completed", "end"]
    assert end_of(again.stdout)["text"] == first["text"]
    text = home.main("rooms", "run", room_id)
    assert (text.returncode, text.stdout.count("Ada:\n")) == (0, 2)
    assert home.room(room_id) == first["room"]


def test_a_room_is_run_by_its_name_and_told_to_go_on_unwatched(home: Home) -> None:
    room_id = home.new_room(TASK, name="run me by name", max_rounds=1, agents=[{"name": "Ada"}])
    done = home.main("rooms", "run", "run me", "--keep-running", "--output", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["room"]["id"] == room_id
    assert home.room(room_id)["keep_running"] is True


def test_hostile_names_and_words_are_inert_in_text_and_escaped_in_json(home: Home) -> None:
    hostile = "\x1b]52;c;aGk=\x07\x9b31m\u202e"
    agents = ("--agent", f"A{hostile}", "--rounds", "1")
    text = home.main("rooms", "run", "--task", hostile, *agents)
    assert text.returncode == 0
    assert not set(text.stdout + text.stderr) & set(hostile) - set("]52;caGk=31m")
    streamed = home.main("rooms", "run", "--task", hostile, *agents, "--output", "stream-json")
    assert all(line.isprintable() for line in streamed.stdout.splitlines())
    assert lines(streamed.stdout)[0]["data"]["task"] == hostile


# --- ends ------------------------------------------------------------------------------------------------


def test_a_room_without_agents_is_an_error_with_code_4(home: Home) -> None:
    room_id = home.new_room(TASK, agents=[])
    done = home.main("rooms", "run", room_id, "--output", "stream-json")
    assert done.returncode == 4
    assert end_of(done.stdout)["reason"] == "error"
    assert "No agents in room" in (end_of(done.stdout)["detail"] or "")
    assert "No agents in room" in done.stderr.splitlines()[-1]


def test_a_room_that_is_not_there_has_its_end_in_json_too(home: Home) -> None:
    done = home.main("rooms", "run", "no-such-room", "--output", "stream-json")
    assert done.returncode == 4
    assert end_of(done.stdout) | {"detail": ""} == {"reason": "error", "text": "", "detail": ""}
    assert "no-such-room" in one_line(done.stderr)
    file = home.main("rooms", "run", "no-such.toml")
    assert (file.returncode, 'no room "no-such.toml", nor such a file' in one_line(file.stderr)) == (4, True)
    value = json.loads(home.main("rooms", "run", "no-such-room", "--output", "json").stdout)
    assert (value["reason"], value["room"], value["messages"]) == ("error", None, [])


GONE = '[providers.gone]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\napi_key_env = "NOT_SET_HERE"\n'


def test_a_turn_that_fails_is_one_line_on_stderr_and_the_room_completes(tmp_path: Path) -> None:
    room_file = tmp_path / "tea.toml"
    agents = '[[agents]]\nname = "Ada"\nprovider = "gone"\n[[agents]]\nname = "Bo"\nprovider = "demo"\n'
    room_file.write_text(f'task = "{TASK}"\nrounds = 2\n{agents}', encoding="utf-8")
    with home_at(tmp_path / "home", rate="0") as home:
        home.config.write_text(GONE, encoding="utf-8")
        done = home.main("rooms", "run", str(room_file))
    assert (done.returncode, "Bo:\n" in done.stdout, "Ada:\n" in done.stdout) == (0, True, False)
    failed = [line for line in done.stderr.splitlines() if "NOT_SET_HERE" in line]
    assert [line.split(":")[0] for line in failed] == ["Ada", "Ada"]


def test_a_round_in_which_every_turn_fails_pauses_the_room_and_ends_with_code_4(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        home.config.write_text(GONE, encoding="utf-8")
        done = home.main("rooms", "run", "--task", TASK, *PAIR, "--rounds", "9", "--output", "json")
    value = json.loads(done.stdout)
    assert (done.returncode, value["reason"], value["text"]) == (4, "error", "")
    room = value["room"]
    assert (room["status"], room["interrupted"], room["current_round"]) == ("paused", "error", 1)
    assert [line.split(":")[0] for line in done.stderr.splitlines() if "NOT_SET_HERE" in line] == [
        "Ada",
        "Bo",
        "agent-tui",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_pauses_the_room_and_ends_with_code_3(slow: Home, number: int) -> None:
    run = slow.start("rooms", "run", *SHORT, "--output", "stream-json")
    read = until(run, "message_chunk")
    run.send_signal(number)
    out, _ = finish(run)
    found = lines("".join(read) + out)
    assert run.returncode == 3
    assert [line["event"] for line in found[-4:]] == ["message_end", "message", "room_paused", "end"]
    end = found[-1]["data"]
    assert (end["reason"], end["text"]) == ("interrupted", words_in(found))
    assert end["text"]
    assert slow.room(found[0]["data"]["room_id"])["status"] == "paused"


def test_a_run_goes_on_with_the_very_turn_that_was_cut(slow: Home) -> None:
    first = slow.start("rooms", "run", *SHORT, "--output", "stream-json")
    read = until(first, "message_chunk")
    first.send_signal(signal.SIGINT)
    out, _ = finish(first)
    before = lines("".join(read) + out)
    room_id = before[0]["data"]["room_id"]
    second = slow.start("rooms", "run", room_id, "--output", "stream-json")
    after = lines("".join(until(second, "message_chunk")))
    second.send_signal(signal.SIGINT)
    finish(second)
    assert (after[0]["event"], after[0]["data"]["resumed"]) == ("room_started", True)
    assert int(after[0]["id"]) > int(before[-2]["id"])
    (started,) = [line["data"] for line in before if line["event"] == "message_start"]
    (again,) = [line["data"] for line in after if line["event"] == "message_start"]
    assert (again["sender_name"], again["round_number"]) == (started["sender_name"], started["round_number"])
    assert again["id"] != started["id"]


def test_text_that_was_cut_is_written_whole(slow: Home) -> None:
    run = slow.start("rooms", "run", *SHORT, "--name", "cut text")
    assert run.stdout is not None
    name, first = run.stdout.readline(), run.stdout.read(4)
    run.send_signal(signal.SIGINT)
    rest, err = finish(run)
    assert (run.returncode, name) == (3, "Ada:\n")
    (room,) = [r for r in slow.api("GET", "/api/rooms")["rooms"] if r["name"] == "cut text"]
    messages = slow.api("GET", f"/api/rooms/{room['id']}/messages")["messages"]
    assert first + rest.removesuffix("\n") == json.loads(messages[-1]["content"])["steps"][0]["content"]
    assert "paused" in err


def test_a_room_that_somebody_else_pauses_ends_as_paused(slow: Home) -> None:
    run = slow.start("rooms", "run", *SHORT, "--output", "stream-json")
    read = until(run, "message_chunk")
    room_id = json.loads(read[0])["data"]["room_id"]
    slow.api("POST", f"/api/rooms/{room_id}/pause")
    out, _ = finish(run)
    assert run.returncode == 3
    assert end_of("".join(read) + out)["reason"] == "paused"


def test_a_room_that_somebody_deletes_while_it_runs_is_not_there(slow: Home) -> None:
    run = slow.start("rooms", "run", *SHORT, "--output", "stream-json")
    read = until(run, "message_chunk")
    slow.api("DELETE", f"/api/rooms/{json.loads(read[0])['data']['room_id']}")
    out, _ = finish(run)
    end = end_of("".join(read) + out)
    assert (run.returncode, end["reason"]) == (4, "error")
    assert end["detail"].startswith("There is no room ")


def test_two_who_run_the_same_room_share_its_run(slow: Home) -> None:
    first = slow.start("rooms", "run", *SHORT, "--output", "stream-json")
    read = until(first, "message_chunk")
    room_id = json.loads(read[0])["data"]["room_id"]
    second = slow.start("rooms", "run", room_id, "--output", "stream-json")
    read_again = until(second, "message_chunk")
    assert read_again == read
    first.send_signal(signal.SIGINT)
    out, _ = finish(first)
    out_again, _ = finish(second)
    assert (first.returncode, second.returncode) == (3, 3)
    assert (read + out.splitlines(True))[:-1] == (read_again + out_again.splitlines(True))[:-1]
    assert end_of("".join(read_again) + out_again)["reason"] == "paused"


def test_a_second_signal_leaves_at_once(slow: Home) -> None:
    run = slow.start("rooms", "run", *SHORT, "--output", "stream-json")
    read = until(run, "message_chunk")
    pid = json.loads((slow.data / "backend.json").read_text(encoding="utf-8"))["pid"]
    os.kill(pid, signal.SIGSTOP)  # nobody will answer the pause
    try:
        run.send_signal(signal.SIGINT)
        assert run.stderr is not None
        while "ctrl+c leaves at once" not in run.stderr.readline():
            pass
        run.send_signal(signal.SIGINT)
        out, _ = finish(run)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert run.returncode == 3
    assert end_of("".join(read) + out)["reason"] == "interrupted"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can make a pipe small")
def test_signals_end_a_run_whose_output_nobody_reads(home: Home) -> None:
    run = home.start("rooms", "run", *SHORT[:-1], "50", "--output", "stream-json")
    assert run.stdout is not None
    assert run.stderr is not None
    fcntl.fcntl(run.stdout, fcntl.F_SETPIPE_SZ, 4096)
    room_id = json.loads(run.stdout.readline())["data"]["room_id"]
    while home.room(room_id)["last_event_id"] < 200:  # far more than the pipe holds: it stands in a write
        pass
    with run.stdout, run.stderr:
        while run.poll() is None:
            run.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                run.wait(timeout=0.2)
        assert "agent-tui: interrupted" in run.stderr.read()
    home.api("POST", f"/api/rooms/{room_id}/pause")  # it was left running
    assert run.returncode == 3


def test_a_reader_that_leaves_ends_the_run_quietly(slow: Home) -> None:
    run = slow.start("rooms", "run", *SHORT, "--output", "stream-json")
    until(run, "message_chunk")
    assert run.stdout is not None
    assert run.stderr is not None
    run.stdout.close()
    run.wait(timeout=SECONDS)
    err = run.stderr.read()
    run.stderr.close()
    assert run.returncode == 3
    assert "agent-tui:" not in err


# --- servers that go and come back -----------------------------------------------------------------------


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_restarted_is_followed_to_the_end(tmp_path: Path, number: int) -> None:
    home = Home(tmp_path, dict(os.environ) | {"AGENT_TUI_DATA": str(tmp_path / "data")})
    port = str(free_port())
    with served(home, "--port", port, "--demo-rate", "20") as (server, url):
        run = home.start("rooms", "run", *SHORT, "--url", url, "--output", "stream-json")
        read = until(run, "message_chunk")
        server.send_signal(number)
        server.wait(timeout=SECONDS)
        with served(home, "--port", port, "--demo-rate", "0"):
            out, err = finish(run)
    assert run.returncode == 0, err
    found = lines("".join(read) + out)
    ids = [int(line["id"]) for line in found[:-1]]
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    assert end_of("".join(read) + out)["reason"] == "completed"
    names = [line["event"] for line in found]
    assert names.count("room_paused") == 1
    assert names.count("message_end") == 5  # four turns, and the one that was cut


def test_a_server_that_stays_away_is_given_up_with_code_5(tmp_path: Path) -> None:
    home = Home(tmp_path, dict(os.environ) | {"AGENT_TUI_DATA": str(tmp_path / "data")})
    with served(home, "--demo-rate", "20") as (server, url):
        run = home.start("rooms", "run", *SHORT, "--url", url, "--output", "stream-json")
        read = until(run, "message_chunk")
        server.kill()
        out, err = finish(run)
    assert run.returncode == 5, err
    end = end_of("".join(read) + out)
    assert end["reason"] == "lost"
    assert end["text"]
    assert err.splitlines()[-1].startswith("agent-tui: ")


def test_a_server_that_never_was_there_is_code_5(home: Home) -> None:
    done = home.main("rooms", "run", "a-room", "--url", "http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (5, "")
    assert one_line(done.stderr)
