"""One test for each exit code of the commands about chats; in a process of its own where that matters."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.servers.chat_server import LogChatServer, OriginalChatServer, text
from tests.fakes.servers.http_server import Reply, Request, Responder, answers_json
from tests.fakes.servers.rooms_server import in_thread
from tests.tui.programs import SECONDS, Home, answer_of, finish, impatient, one_line, own_environ, served

pytestmark = pytest.mark.slow

STREAM = ("--output", "stream-json")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, own_environ(tmp_path))  # no command here starts a backend of this home


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a server whose demo model talks for a minute, unless it is stopped."""
    folder = tmp_path_factory.mktemp("slow")
    with served(Home(folder, own_environ(folder)), "--demo-rate", "2") as (_, url):
        yield url


def end_of(written: str) -> dict[str, Any]:
    last = json.loads(written.splitlines()[-1])
    assert (last["id"], last["event"], set(last["data"])) == (None, "end", {"reason", "text", "detail"})
    data: dict[str, Any] = last["data"]
    return data


def problem(status: int, title: str = "Not now") -> Responder:
    return answers_json({"title": title, "status": status}, status, kind="application/problem+json")


def test_0_an_answer_that_is_whole_and_everything_that_is_done_with_it(home: Home) -> None:
    with served(home, "--demo-rate", "0") as (_, url):
        asked = home.run("ask", "Which tea?", "--url", url, *STREAM)
        assert (asked.returncode, end_of(asked.stdout)["reason"]) == (0, "completed")
        for command in (
            "conversations export Which",
            "conversations delete Which --yes",
            "tools list",
        ):
            ran = home.main(*command.split(), "--url", url)
            assert ran.returncode == 0, ran


def test_1_a_bug_of_ours_is_one_line_and_its_traceback_is_in_the_log(home: Home) -> None:
    home.folder.joinpath("sitecustomize.py").write_text(
        "import tui.cli.headless.ask_input\ntui.cli.headless.ask_input.read_question = lambda *_: 1 / 0\n",
        encoding="utf-8",
    )
    ran = home.run("ask", "x", PYTHONPATH=f"{home.folder}:{Path(__file__).parents[3]}")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert one_line(ran.stderr).startswith("internal error, ZeroDivisionError: ")


@pytest.mark.parametrize("command", ["ask", "ask x --chat-id 1", "conversations export", "tools forget"])
def test_2_wrong_usage(home: Home, command: str) -> None:
    ran = home.main(*command.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    assert one_line(ran.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_3_an_answer_that_is_stopped_by_a_signal(home: Home, slow: str, number: signal.Signals) -> None:
    path = impatient(home.folder, "ask.PATIENCE_SECONDS")  # test_headless.py waits the whole ten seconds
    run = home.start("ask", "Which tea?", "--url", slow, *STREAM, PYTHONPATH=path)
    assert run.stdout is not None
    while json.loads(run.stdout.readline())["event"] != "process_step":
        pass
    run.send_signal(number)
    out, err = finish(run)
    assert (run.returncode, end_of(out)["reason"]) == (3, "interrupted")
    assert [json.loads(line)["event"] for line in out.splitlines()[-2:]] == ["error", "end"]
    assert end_of(out)["text"]
    assert "stopping the answer; ctrl+c leaves at once" in err.splitlines()


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_3_an_answer_whose_reader_has_left_is_stopped(home: Home, slow: str, form: str) -> None:
    question = f"Which tea in {form}?"

    def status() -> str:
        chats = answer_of(slow, "GET", "/api/conversations")["conversations"]
        return next((str(chat["status"]) for chat in chats if chat["title"] == question), "")

    run = home.start("ask", question, "--url", slow, "--output", form)
    assert run.stdout is not None
    assert run.stderr is not None
    said = run.stderr.readline()  # before anything is asked
    while status() != "running":
        pass
    run.stdout.close()
    with run.stderr:
        said += run.stderr.read()
    assert run.wait(60) == 3
    assert "agent-tui: " not in said
    assert status() == "idle"


def test_3_a_signal_before_anything_was_asked(home: Home) -> None:
    asked = threading.Event()

    async def stays(request: Request, reply: Reply) -> None:
        asked.set()
        await reply.stay()

    with in_thread(LogChatServer()) as server:
        server.on("POST", "/api/conversations", stays)
        run = home.start("ask", "Which tea?", "--url", server.url, *STREAM)
        assert asked.wait(SECONDS)
        run.send_signal(signal.SIGINT)
        out, _ = finish(run)
    assert (run.returncode, end_of(out)["reason"], out.count("\n")) == (3, "interrupted", 1)


def test_4_an_answer_that_fails_breaks_off_or_is_of_no_conversation(home: Home) -> None:
    failed = [text("It "), ("error", {"content": "Exceeded maximum tool call iterations"})]
    with in_thread(OriginalChatServer(failed)) as server:
        error = home.main("ask", "x", "--conversation", "7", "--url", server.url, *STREAM)
    with in_thread(OriginalChatServer(stop_after=5, then="end")) as server:
        lost = home.main("ask", "x", "--conversation", "7", "--url", server.url, *STREAM)
    with in_thread(LogChatServer("c1")) as server:
        nowhere = home.main("ask", "x", "--conversation", "zz", "--url", server.url, *STREAM)
    for ran, reason, said in ((error, "error", "It "), (lost, "lost", "It "), (nowhere, "error", "")):
        end = end_of(ran.stdout)
        assert (ran.returncode, end["reason"], end["text"]) == (4, reason, said)
        assert ran.stderr.splitlines()[-1].startswith("agent-tui: ")


@pytest.mark.parametrize(("sent", "timeout"), [(0, 0.5), (5, 3)])  # a busy machine takes its time to say some
def test_4_a_server_that_says_nothing_in_time(home: Home, sent: int, timeout: float) -> None:
    with in_thread(OriginalChatServer(stop_after=sent, then="stay")) as server:
        config = f'[backends.slow]\nkind = "chat"\nurl = "{server.url}"\ntimeout = {timeout}\n'
        home.config.write_text(config, encoding="utf-8")
        ran = home.main("ask", "x", "--conversation", "7", "--backend", "slow", *STREAM)
    end = end_of(ran.stdout)
    assert (ran.returncode, end["reason"], end["text"]) == (4, "timeout", "It " if sent else "")


def test_5_a_server_that_is_not_there(home: Home) -> None:
    url = "http://127.0.0.1:9"
    ran = home.main("ask", "x", "--url", url, *STREAM)
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (5, "lost")
    listed = home.main("conversations", "list", "--url", url)
    assert (listed.returncode, listed.stdout) == (5, "")
    for line in (ran.stderr, listed.stderr):
        assert one_line(line)


def test_5_a_server_that_goes_and_does_not_come_back(home: Home) -> None:
    with served(home, "--demo-rate", "2") as (server, url):
        path = impatient(home.folder, "ask.PATIENCE_SECONDS")  # test_headless.py waits the whole ten seconds
        run = home.start("ask", "Which tea?", "--url", url, *STREAM, PYTHONPATH=path)
        assert run.stdout is not None
        while json.loads(run.stdout.readline())["event"] != "process_step":
            pass
        server.kill()
        server.wait()
        out, err = finish(run)
    assert (run.returncode, end_of(out)["reason"]) == (5, "lost")
    assert err.count("reconnecting: ") == 1


def test_4_a_question_that_another_server_finds_invalid(home: Home) -> None:
    with in_thread(LogChatServer("c1")) as server:
        server.on("POST", "/api/conversations/c1/messages", problem(422))
        ran = home.main("ask", "x", "--conversation", "c1", "--url", server.url, *STREAM)
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (4, "error")
    assert one_line(ran.stderr)


@pytest.mark.parametrize(("status", "reason"), [(401, "refused"), (403, "refused"), (409, "busy")])
def test_6_refused_or_busy(home: Home, status: int, reason: str) -> None:
    with in_thread(LogChatServer("c1")) as server:
        server.fields = {"status": "running"}
        server.on("POST", "/api/conversations/c1/messages", problem(status))
        ran = home.main("ask", "x", "--conversation", "c1", "--url", server.url, *STREAM)
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (6, reason)
    assert ran.stderr.splitlines()[-1].startswith("agent-tui: ")


def test_6_a_token_that_is_not_taken(home: Home) -> None:
    with in_thread(LogChatServer("c1")) as server:
        server.on("GET", "/api/conversations", problem(401))
        ran = home.main("conversations", "list", "--url", server.url)
    assert (ran.returncode, ran.stdout) == (6, "")
    assert one_line(ran.stderr)
