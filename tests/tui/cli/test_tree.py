"""Every command as a user or a script runs it: what it prints, where, and how it exits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import agent_tui
from tests.backend.voice.voice_backend import write_agent, write_server
from tests.fakes.terminal import terminal
from tests.tui.programs import PROGRAM, Home, finish, home_at, one_line, own_environ, served

pytestmark = pytest.mark.slow

TASK = "Which tea for the office?"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One backend for the whole module: tests make rooms of their own and look at nobody else's."""
    with home_at(tmp_path_factory.mktemp("cli")) as home:
        assert home.run("rooms", "list").returncode == 0  # the first command starts the backend
        yield home


# --- wrong usage -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "nonsense",
        "--nonsense",
        "rooms list extra",
        "rooms list --nonsense",
        "rooms list --output xml",
        "rooms new",
        "rooms new --task",
        "rooms new --task T --rounds 0",
        "rooms new --task T --rounds many",
        "rooms new --task T --mode sideways",
        "rooms new --task T --agent =model",
        "rooms show",
        "rooms run",
        "rooms run a-room --task T",
        "rooms run a-room --agent A",
        "rooms a-room another",
        "rooms delete",
        "backend",
        "backend nonsense",
        "backend status --output xml",
        "config",
        "config nonsense",
        "--url http://127.0.0.1:1 serve",
        "rooms list --url",
        "rooms list --url ftp://x",
        "rooms list --backend nowhere",
        "rooms list --token t",
        "chat",
        "ask",
        "voice",
        "conversations",
        "doctor extra",
        "doctor --url http://127.0.0.1:1",
        "rooms templates --token t",
        "rooms templates --output xml",
        "rooms export",
        "rooms export a-room --format pdf",
        "rooms new --from no-such-file.toml",
        "rooms run --from no-such-file.toml",
        "rooms run a-room --max-cost nan",
        "rooms new --task T --max-tokens -1",
        "rooms new --task T --max-cost nan",
        "rooms new --task T --max-cost -1",
        "rooms new --task T --on-error stop",
        "rooms new --task T --template no-such-template",
        "rooms new --task T --template=",
        "voice --text --output text --input nope",
        "voice --wav x.wav --output-device nope",
        "rooms list --url --token t",
    ],
)
def test_wrong_usage_is_one_line_on_stderr_and_exit_code_2(tmp_path: Path, command: str) -> None:
    done = Home(tmp_path, own_environ(tmp_path)).main(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done.stderr)
    assert not (tmp_path / "data").exists()  # no backend was started for it


@pytest.mark.parametrize("command", ["nonsense", "serve --nonsense", "serve --port many"])
def test_it_is_so_in_a_process_of_its_own_too(home: Home, command: str) -> None:
    done = home.run(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done.stderr)


def test_an_empty_room_or_task_is_wrong_usage(home: Home) -> None:
    for arguments in (["rooms", "show", " "], ["rooms", "new", "--task", " "], ["rooms", ""]):
        done = home.main(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert one_line(done.stderr)


def test_control_characters_of_the_command_line_are_inert_in_the_complaint(home: Home) -> None:
    done = home.main("rooms", "list", "\x1b]0;title\x07\u202e")
    assert done.returncode == 2
    assert one_line(done.stderr).isprintable()


@pytest.mark.parametrize("arguments", [[], ["rooms"], ["rooms", "a-room"], ["rooms", "--", "list"]])
def test_a_screen_without_a_terminal_is_one_line_that_says_what_to_do(
    home: Home, arguments: list[str]
) -> None:
    done = home.main(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    line = one_line(done.stderr)
    assert "terminal" in line
    assert "rooms list" in line
    assert "rooms run" in line


# --- help and version ------------------------------------------------------------------------------------


def test_version_and_help_go_to_stdout(home: Home) -> None:
    assert home.run("--version").stdout == f"agent-tui {agent_tui.__version__}\n"
    for command in ("", "rooms run", "serve"):
        done = home.run(*command.split(), "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"Usage: agent-tui {command}".rstrip())


def test_help_wins_over_what_else_is_said(home: Home) -> None:
    assert home.main("rooms", "run", "a-room", "--rounds", "3", "--help").stdout.startswith(
        "Usage: agent-tui rooms run"
    )
    assert home.main("rooms", "a-room", "--help").stdout.startswith("Usage: agent-tui rooms [ROOM]")
    assert home.run("serve", "--port", "0", "--help").returncode == 0


def test_the_console_script_is_the_same_program(home: Home) -> None:
    script = Path(sys.executable).with_name("agent-tui")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True, env=home.environ)
    assert done.stdout == home.run("--version").stdout


# --- rooms -----------------------------------------------------------------------------------------------


def test_list_as_json_is_the_body_of_the_api(home: Home) -> None:
    room_id = home.new_room(TASK, name="listed")
    body = home.answer("rooms", "list", "--output", "json")
    assert body.keys() == home.api("GET", "/api/rooms").keys()
    (room,) = [room for room in body["rooms"] if room["id"] == room_id]
    assert (room["name"], room["task"], room["status"]) == ("listed", TASK, "idle")
    assert home.answer("rooms", "show", room_id, "--output", "json") == room == home.room(room_id)


def test_list_as_text_has_a_line_for_each_room(home: Home) -> None:
    room_id = home.new_room(TASK, name="会话 listed as text")
    done = home.main("rooms", "list")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(room_id[:8])]
    assert "会话 listed as text" in line
    assert "idle" in line


def test_an_empty_list_says_what_to_do_on_stderr(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        done = home.main("rooms", "list")
        assert (done.returncode, done.stdout) == (0, "")
        assert "rooms new" in done.stderr


def test_a_budget_in_dollars_that_limits_nothing_is_told_on_stderr(tmp_path: Path) -> None:
    told = "the budget of $2.00 does not limit some-model: no price is known"
    with home_at(tmp_path) as home:
        home.config.write_text(
            '[providers.gone]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "some-model"\n',
            encoding="utf-8",
        )
        made = home.main("rooms", "new", "--task", "T", "--max-cost", "2")
        assert (made.returncode, made.stderr) == (0, f"{told}\n")
        assert told in home.main("rooms", "show", made.stdout.strip()).stdout
        assert told in home.main("rooms", "run", made.stdout.strip(), "--max-cost", "2").stderr
        assert told in home.main("rooms", "run", "--task", "T", "--max-cost", "2").stderr


def test_new_takes_name_agents_models_rounds_and_mode(home: Home) -> None:
    agents = ["--agent", "Ada=big-model", "--agent", "Bo"]
    options = ["--name", "N", *agents, "--rounds", "2", "--mode", "parallel", "--keep-running"]
    home.config.touch()
    done = home.main("rooms", "new", "--task", TASK, *options)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert done.stderr == "no provider is set up: the demo model answers in place of big-model\n"
    room = home.room(done.stdout.strip())
    assert (room["name"], room["execution_mode"], room["max_rounds"]) == ("N", "parallel", 2)
    assert [agent["name"] for agent in room["agents"]] == ["Ada", "Bo"]
    assert room["agents"][0]["model"] == "big-model"
    assert room["keep_running"] is True


def test_new_without_options_has_three_agents_in_sequence(home: Home) -> None:
    room = json.loads(home.main("rooms", "new", "--task", TASK, "--output", "json").stdout)
    assert (room["execution_mode"], room["max_rounds"], len(room["agents"])) == ("sequential", 3, 3)
    assert room["status"] == "idle"
    assert room["keep_running"] is False


def test_what_the_server_finds_out_of_range_is_wrong_usage(home: Home) -> None:
    done = home.main("rooms", "new", "--task", TASK, "--rounds", "1000000")
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done.stderr)


def test_show_as_text_tells_what_a_room_is(home: Home) -> None:
    agents = [{"name": "Ada", "model": "m1"}]
    room_id = home.new_room(TASK, name="shown", agents=agents, max_tokens=1234)
    done = home.main("rooms", "show", "shown")
    assert (done.returncode, done.stderr) == (0, "")
    for words in (room_id, "shown", TASK, "idle", "sequential", "1,234 tokens", "Ada · demo model"):
        assert words in done.stdout


def test_a_room_is_found_by_id_name_or_beginning(home: Home) -> None:
    room_id = home.new_room(TASK, name="found-by-its-name")
    for wanted in (room_id, "found-by-its-name", "found-by-", room_id[:12]):
        assert json.loads(home.main("rooms", "show", wanted, "--output", "json").stdout)["id"] == room_id


def test_a_beginning_that_fits_several_names_them(home: Home) -> None:
    ids = {home.new_room(TASK, name=f"twins-{n}") for n in ("one", "two")}
    done = home.main("rooms", "show", "twins-")
    assert (done.returncode, done.stdout) == (2, "")
    line = one_line(done.stderr)
    assert all(room_id in line for room_id in ids)
    assert "twins-one" in line


@pytest.mark.parametrize("command", ["show", "delete --yes", "pause", "resume", "run"])
def test_a_room_that_is_not_there_is_exit_code_4(home: Home, command: str) -> None:
    name, *options = command.split()
    done = home.main("rooms", name, "no-such-room-at-all", *options)
    assert (done.returncode, done.stdout) == (4, "")
    assert "no-such-room-at-all" in one_line(done.stderr)


def test_delete_needs_a_yes_where_nobody_can_be_asked(home: Home) -> None:
    room_id = home.new_room(TASK)
    done = home.main("rooms", "delete", room_id)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--yes" in one_line(done.stderr)
    assert home.room(room_id)["id"] == room_id


def test_delete_with_yes_deletes(home: Home) -> None:
    room_id = home.new_room(TASK)
    done = home.main("rooms", "delete", room_id, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert room_id in done.stdout
    assert home.room(room_id)["status"] == 404
    assert home.answer("rooms", "delete", home.new_room(TASK), "--yes", "--output", "json")["task"] == TASK


@pytest.mark.parametrize(
    ("typed", "is_gone"), [("n\r", False), ("\r", False), ("\x04", False), ("y\r", True)]
)
def test_delete_asks_on_a_terminal_and_only_a_yes_counts(home: Home, typed: str, is_gone: bool) -> None:
    room_id = home.new_room(TASK, name="asked for")
    with terminal([*PROGRAM, "rooms", "delete", room_id], home.environ, home.folder) as view:
        view.wait_for("[y/N]")
        assert "asked for" in view.text
        view.send(typed)
        assert view.wait_for_end() == 0
        assert ("deleted" if is_gone else "kept") in view.text
    assert (home.room(room_id)["status"] == 404) is is_gone


def test_ctrl_c_at_the_question_is_exit_code_3(home: Home) -> None:
    room_id = home.new_room(TASK)
    with terminal([*PROGRAM, "rooms", "delete", room_id], home.environ, home.folder) as view:
        view.wait_for("[y/N]")
        view.send("\x03")
        assert view.wait_for_end() == 3
        assert "\nagent-tui: interrupted" in view.text
    assert home.room(room_id)["id"] == room_id


def test_pause_leaves_a_room_that_does_not_run_and_resume_refuses_it(home: Home) -> None:
    room_id = home.new_room(TASK)
    paused = home.main("rooms", "pause", room_id)
    assert (paused.returncode, paused.stderr) == (0, "")
    assert paused.stdout.count("\n") == 1
    assert "idle" in paused.stdout
    resumed = home.main("rooms", "resume", room_id)
    assert (resumed.returncode, resumed.stdout) == (6, "")
    assert one_line(resumed.stderr)


def test_a_room_is_resumed_and_paused_by_name(home: Home) -> None:
    with home_at(home.folder / "slow", rate="1") as other:
        options = ("--task", TASK, "--name", "slow", "--output", "stream-json")
        run = other.start("rooms", "run", *options)
        assert run.stdout is not None
        while '"message_chunk"' not in run.stdout.readline():
            pass
        assert other.answer("rooms", "pause", "slow", "--output", "json")["name"] == "slow"
        finish(run)
        assert run.returncode == 3
        resumed = other.main("rooms", "resume", "slow", "--output", "json")
        assert json.loads(resumed.stdout)["status"] == "running"
        assert other.main("rooms", "pause", "slow").stdout.rstrip().endswith(("pausing", "paused"))


def test_hostile_names_and_tasks_never_reach_the_terminal(home: Home) -> None:
    hostile = "\x1b]52;c;aGk=\x07 \x9b31m \u202e[bold]x[/bold]"
    room_id = home.new_room(hostile, name=hostile, agents=[{"name": hostile}])
    for arguments in (["list"], ["show", room_id], ["delete", room_id, "--yes"]):
        done = home.main("rooms", *arguments)
        assert done.returncode == 0
        assert not set(done.stdout + done.stderr) & set("\x1b\x07\x9b\u202e")
        assert arguments == ["list"] or "[bold]x[/bold]" in done.stdout


def test_json_escapes_what_a_terminal_would_obey(home: Home) -> None:
    name = "\x9b31m\u202e名"
    done = home.main("rooms", "show", home.new_room(TASK, name=name), "--output", "json")
    assert done.stdout.rstrip("\n").isprintable()
    assert json.loads(done.stdout)["name"] == name


# --- servers ---------------------------------------------------------------------------------------------


def test_a_server_that_does_not_answer_is_exit_code_5(home: Home) -> None:
    done = home.main("rooms", "list", "--url", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (5, "")
    assert one_line(done.stderr)


def test_a_token_that_is_wrong_is_exit_code_6(home: Home) -> None:
    url = json.loads(home.main("backend", "status", "--output", "json").stdout)["url"]
    done = home.main("rooms", "list", "--url", url, AGENT_TUI_TOKEN="geheim")
    assert (done.returncode, done.stdout) == (6, "")
    assert "geheim" not in one_line(done.stderr)
    said = home.main("rooms", "list", "--url", url, AGENT_TUI_TOKEN="geheim", LANG="ru_RU.UTF-8").stderr
    assert one_line(said).startswith("Токен не указан или неверен. Отправьте")


WARNING = "agent-tui: --token can be read by others in the list of processes; "


def test_a_token_on_the_command_line_works_and_is_warned_about_once(home: Home) -> None:
    with served(home, "--demo-rate", "0", token="let-me-in") as (_, url):
        for arguments in (("rooms", "list"), ("rooms", "list", "--output", "json"), ("ask", "Well?")):
            done = home.main(*arguments, "--url", url, "--token", "let-me-in")
            assert done.returncode == 0
            assert [line for line in done.stderr.splitlines() if "--token" in line] == [
                line for line in done.stderr.splitlines() if line.startswith(WARNING)
            ]
            assert done.stderr.count(WARNING) == 1
            assert "--token" not in done.stdout


def test_a_token_in_a_file_or_a_variable_works_without_a_warning(home: Home) -> None:
    path = home.folder / "token"
    path.write_text("let-me-in\n", encoding="utf-8")
    with served(home, "--demo-rate", "0", token="let-me-in") as (_, url):
        for arguments, variables in (
            (("--token-file", str(path)), {}),
            ((f"--token-file={path}",), {"AGENT_TUI_TOKEN": "another"}),
            ((), {"AGENT_TUI_TOKEN": "let-me-in"}),
        ):
            done = home.main("rooms", "list", "--url", url, *arguments, **variables)
            assert (done.returncode, "--token" in done.stderr) == (0, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--url http://127.0.0.1:1 --token-file no-such-file", "cannot be read"),
        ("--url http://127.0.0.1:1 --token-file empty", "is empty"),
        ("--url http://127.0.0.1:1 --token-file full --token t", "two tokens"),
        ("--token-file full", "needs --url"),
        ("--token-file", "needs a value"),
    ],
)
def test_a_token_file_that_cannot_be_used_is_wrong_usage(home: Home, arguments: str, said: str) -> None:
    (home.folder / "empty").write_text("\n", encoding="utf-8")
    (home.folder / "full").write_text("t\n", encoding="utf-8")
    done = home.main("rooms", "list", *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert said in one_line(done.stderr)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
@pytest.mark.parametrize("form", [("--token", "geheim"), ("--token=geheim",)])
def test_a_token_does_not_stay_in_the_list_of_processes(home: Home, form: tuple[str, ...]) -> None:
    with served(home, "--demo-rate", "2", token=form) as (process, url):
        assert b"geheim" not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        run = home.start("rooms", "run", "--task", TASK, "--url", url, *form, is_new=True)
        assert run.stdout is not None
        run.stdout.readline()
        seen = Path(f"/proc/{run.pid}/cmdline").read_bytes()
        run.send_signal(signal.SIGINT)
        finish(run)
        assert (run.returncode, b"rooms\0run" in seen, b"geheim" in seen) == (3, True, False)


def test_commands_that_start_at_once_share_one_backend(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        with ThreadPoolExecutor(3) as pool:
            done = list(pool.map(lambda _: home.run("rooms", "new", "--task", TASK), range(3)))
        assert [one.returncode for one in done] == [0, 0, 0]
        listed = home.answer("rooms", "list", "--output", "json")["rooms"]
        assert {room["id"] for room in listed} == {one.stdout.strip() for one in done}


def test_a_folder_that_cannot_be_written_is_one_line_and_exit_code_2(home: Home, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    done = home.main("rooms", "list", AGENT_TUI_DATA=str(tmp_path / "file" / "data"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be" in one_line(done.stderr)


def test_a_broken_database_is_one_line_and_exit_code_2(home: Home, tmp_path: Path) -> None:
    (tmp_path / "agent-tui.db").write_bytes(b"no database " * 1000)
    done = home.main("rooms", "list", AGENT_TUI_DATA=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "agent-tui.db" in one_line(done.stderr)


# --- the embedded backend --------------------------------------------------------------------------------


def test_backend_status_and_stop(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        assert home.main("backend", "status").stdout == "not running\n"
        assert home.main("backend", "stop").stdout == "not running\n"
        assert home.answer("backend", "status", "--output", "json")["running"] is False
        home.main("rooms", "list")
        status = home.answer("backend", "status", "--output", "json")
        assert (status["running"], status["version"]) == (True, agent_tui.__version__)
        assert (status["rooms_running"], status["answers_running"]) == (0, 0)
        assert str(status["pid"]) in home.main("backend", "status").stdout
        stopped = home.main("backend", "stop")
        assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "stopped\n", "")
        assert home.main("backend", "status").stdout == "not running\n"


ROOM = ("rooms", "run", "--task")


def test_backend_status_and_stop_count_rooms_and_answers_alike(tmp_path: Path) -> None:
    with home_at(tmp_path, rate="1") as home:
        talks = [home.start(*words, "Well?", "--output", "stream-json") for words in (ROOM, ("ask",))]
        for talk in talks:
            assert talk.stdout is not None
            talk.stdout.readline()
        status = home.answer("backend", "status", "--output", "json")
        assert (status["rooms_running"], status["answers_running"]) == (1, 1)
        assert home.main("backend", "status").stdout.endswith("; 1 room and 1 answer under way\n")
        assert home.main("backend", "stop").stdout == "stopped, which cut 1 room and 1 answer\n"
        for talk in talks:
            talk.kill()
            talk.communicate()


def test_backend_status_and_stop_count_voice_rooms(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        write_agent(home.data)
        home.main("rooms", "list", LIVEKIT_SERVER=str(write_server(home.data)))  # starts it
        assert home.answer("backend", "status", "--output", "json")["voice_rooms"] == 0
        joined = home.api("POST", "/api/voice/token", {"room_name": "den"})
        assert joined["room_name"] == "den"
        assert home.answer("backend", "status", "--output", "json")["voice_rooms"] == 1
        assert home.main("backend", "status").stdout.endswith(
            "; 0 rooms, 0 answers and 1 voice room under way\n"
        )
        stopped = home.main("backend", "stop").stdout
        assert stopped == "stopped, which cut 0 rooms, 0 answers and 1 voice room\n"
