"""``ask`` of agent services and agent sockets, on real sockets: formats, what is asked, how it ends."""

from __future__ import annotations

import json
import logging
import signal
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from agent_tui.config.file import load
from tests.fakes.agents import agent_socket_server as at_socket
from tests.fakes.agents.agent_service import AgentService, agent_service
from tests.fakes.agents.agent_socket_server import AgentSocketServer, agent_socket_server
from tests.tui.cli.test_exit_codes_chat import end_of
from tests.tui.programs import Home, finish, one_line, own_environ
from tui.cli.doctor import servers as doctor_servers

STREAM = ("--output", "stream-json")
HOSTILE = "\x1b]52;c;aGk=\x07\x9b31m\u202e"
WORDS = "one two three four five "
T = TypeVar("T")


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """Give an event loop in a thread of its own: commands block this one."""
    with start_blocking_portal() as started:
        yield started


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, own_environ(tmp_path))  # no command here starts a backend


def served(portal: BlockingPortal, server: AbstractAsyncContextManager[T]) -> Any:
    return portal.wrap_async_context_manager(server)


@pytest.fixture
def service(portal: BlockingPortal, home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentService]:
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "propagate", False)  # not into our log
    with served(portal, agent_service()) as running:
        configure(home, "tasks", running.url)
        yield running


@pytest.fixture
def agent(portal: BlockingPortal, home: Home) -> Iterator[AgentSocketServer]:
    with served(portal, agent_socket_server()) as running:
        configure(home, "socket", running.url)
        yield running


def configure(home: Home, kind: str, url: str, *more: str) -> None:
    """Name the server "them"."""
    lines = ["[backends.them]", f'kind = "{kind}"', f'url = "{url}"', 'token = "secret"', *more]
    home.config.write_text("\n".join(lines), encoding="utf-8")
    home.config.chmod(0o600)


def ask(home: Home, *arguments: str, **changes: str) -> Any:
    return home.main("ask", *arguments, "--backend", "them", **changes)


def lines(written: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.splitlines()]


# --- an agent service ------------------------------------------------------------------------------------


def test_a_task_is_answered_as_text_and_its_session_goes_on(home: Home, service: AgentService) -> None:
    ran = ask(home, "Hi")
    assert (ran.returncode, ran.stdout) == (0, f"{WORDS}\n")
    assert ran.stderr == "conversation s1\n"
    (home.folder / "notes.txt").write_text("read me", encoding="utf-8")
    again = ask(home, "And?", "--conversation", "s1", "-f", "notes.txt")
    assert (again.returncode, again.stderr) == (0, "conversation s1\n")
    first, second = service.posts
    assert first == {"prompt": "Hi", "engineType": "claude_api", "voiceMode": False}
    assert second["sessionId"] == "s1"
    assert second["attachments"] == [{"name": "notes.txt", "type": "text/plain", "content": "read me"}]
    assert set(service.headers) == {("post", "Bearer secret"), ("socket", "Bearer secret")}


def test_frames_of_a_task_are_named_by_their_type(home: Home, service: AgentService) -> None:
    service.script = ["tools"]
    ran = ask(home, "Hi", *STREAM)
    *frames, last = lines(ran.stdout)
    assert [(one["id"], one["event"]) for one in frames] == [
        (None, name) for name in ("thinking", "tool_use", "tool_result", "text", "completed")
    ]
    called = {"taskId": "t1", "type": "tool_use", "id": "c1", "name": "look", "input": {"at": "it"}}
    assert frames[1]["data"] == called
    end = {"reason": "completed", "text": "Blue.", "detail": None}
    assert last == {"id": None, "event": "end", "data": end}
    assert ran.stderr.splitlines() == ["conversation s1", "look it"]


def test_a_task_as_json_names_its_session(home: Home, service: AgentService) -> None:
    ran = ask(home, "Hi", "--output", "json")
    (told,) = lines(ran.stdout)
    assert (told["reason"], told["text"], told["conversation"]) == ("completed", WORDS, {"id": "s1"})
    assert [message["role"] for message in told["messages"]] == ["user", "assistant"]


def test_a_session_of_a_service_is_talked_with_in_lines(home: Home, service: AgentService) -> None:
    service.script = ["ok", "error", "ok"]
    ran = home.main("chat", "--plain", "--backend", "them", stdin="Hi\nAnd?\nWell?\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[0] == "new session – model: them"
    assert ran.stdout.count(WORDS) == 2
    assert ran.stdout.count("conversation s1") == 1
    assert [post.get("sessionId") for post in service.posts] == [None, "s1", "s1"]


def test_a_chat_on_a_socket_is_talked_with_in_lines(home: Home, agent: AgentSocketServer) -> None:
    agent.answers = [
        [at_socket.text("One."), at_socket.end()],
        [at_socket.text(f"Two.{HOSTILE}"), at_socket.end()],
    ]
    ran = home.main("chat", "7", "--plain", "--backend", "them", stdin="Hi\nAnd?\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[0] == "conversation 7 – model: them"
    assert "One." in ran.stdout
    assert "Two." in ran.stdout
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(ran.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "code", "reason"),
    [
        ("error", 4, "error"),
        ("abort", 4, "aborted"),
        ("exit", 4, "aborted"),
        ("cut", 4, "lost"),
        ("500", 4, "error"),
        ("404", 4, "error"),
        ("nameless", 4, "error"),
        ("401", 6, "refused"),
        ("403", 6, "refused"),
        ("ws 401", 6, "refused"),
        ("ws 409", 6, "busy"),
    ],
)
def test_how_a_task_ends(home: Home, service: AgentService, script: str, code: int, reason: str) -> None:
    service.script = [script] * 3
    ran = ask(home, "Hi", *STREAM)
    end = end_of(ran.stdout)
    assert (ran.returncode, end["reason"]) == (code, reason)
    assert end["text"] == ("one two " if script == "cut" else "")
    assert ran.stderr.splitlines()[-1].startswith("agent-tui: ")


def test_a_task_that_takes_too_long_is_a_timeout(home: Home, service: AgentService) -> None:
    configure(home, "tasks", service.url, "total_timeout = 0.5")
    service.script = ["silent"]
    ran = ask(home, "Hi", *STREAM)
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (4, "timeout")
    assert service.cancelled == ["t1"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tasks", "socket"])
def test_an_agent_that_is_not_there_cannot_be_connected_to(home: Home, kind: str) -> None:
    configure(home, kind, "http://127.0.0.1:9/")
    ran = ask(home, "Hi", *STREAM)
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (5, "lost")
    assert one_line(ran.stderr)


@pytest.mark.parametrize("has_cancel", [True, False])
def test_a_signal_cancels_the_task(
    home: Home, service: AgentService, portal: BlockingPortal, has_cancel: bool
) -> None:
    service.script, service.has_cancel = ["slow"], has_cancel
    run = home.start("ask", "Hi", "--backend", "them", *STREAM)
    assert run.stdout is not None
    first = json.loads(run.stdout.readline())
    assert first["data"]["content"] == "one "
    run.send_signal(signal.SIGINT)
    out, err = finish(run)
    end = end_of(out)
    assert (run.returncode, end["reason"], end["text"]) == (3, "interrupted", "one ")
    assert service.cancelled == (["t1"] if has_cancel else [])
    assert ("the task could not be cancelled" in err) is not has_cancel


# --- an agent socket -------------------------------------------------------------------------------------


def test_a_question_on_a_socket_goes_to_its_chat(home: Home, agent: AgentSocketServer) -> None:
    ran = ask(home, "Hi")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "You said: Hi\n", "")
    ask(home, "Hi", "--chat-id", "7")
    assert agent.paths == ["/v1/agent_ws/0/", "/v1/agent_ws/7/"]
    assert {headers["Authorization"] for headers in agent.headers} == {"Bearer secret"}


def test_frames_of_a_socket_are_named_by_their_type_and_only_the_main_agent_answers(
    home: Home, agent: AgentSocketServer
) -> None:
    told = [
        at_socket.text("Looking. "),
        at_socket.call("look", '{"at": "it"}'),
        at_socket.update({"status": "running", "progress": 40}),
        at_socket.text("I am the other one", "tools:look"),
        at_socket.result("look", "blue"),
        {"type": "AGENT_EVENT_NEWS", "what": "new"},
        at_socket.text("Blue."),
        at_socket.end(7),
    ]
    agent.answers = [told, told]
    ran = ask(home, "Hi", *STREAM)
    *frames, last = lines(ran.stdout)
    assert [(one["event"], one["data"]) for one in frames] == [(one["type"], one) for one in told]
    assert last["data"] == {"reason": "completed", "text": "Looking. \n\nBlue.", "detail": None}
    as_text = ask(home, "Hi")
    assert as_text.stdout == "Looking. \n\nBlue.\n"
    assert "the agent sent an unknown event: AGENT_EVENT_NEWS" in as_text.stderr.splitlines()
    assert "look it" in as_text.stderr.splitlines()


@pytest.mark.parametrize(
    ("told", "code", "reason"),
    [
        ([at_socket.text("It "), at_socket.error("BOOM", "no more")], 4, "error"),
        ([at_socket.text("It "), at_socket.error("CHAT_BUSY", "wait")], 6, "busy"),
        ([at_socket.text("It "), at_socket.GOODBYE], 4, "lost"),
        ([at_socket.text("It "), at_socket.close(1011)], 4, "lost"),
        ([at_socket.text("It "), at_socket.abort], 4, "lost"),
        ([at_socket.text("It "), at_socket.forever], 4, "timeout"),
    ],
)
def test_how_an_answer_on_a_socket_ends(
    home: Home, agent: AgentSocketServer, told: list[Any], code: int, reason: str
) -> None:
    configure(home, "socket", agent.url, "timeout = 1")
    agent.answers = [told]
    ran = ask(home, "Hi", *STREAM)
    end = end_of(ran.stdout)
    assert (ran.returncode, end["reason"], end["text"]) == (code, reason, "It ")


@pytest.mark.parametrize("busy", [403, 409, 1008])
def test_a_chat_that_another_client_holds_is_busy(home: Home, agent: AgentSocketServer, busy: int) -> None:
    agent.held, agent.busy = {"7"}, busy
    ran = ask(home, "Hi", "--chat-id", "7", *STREAM)
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (6, "busy")
    assert "busy" in one_line(ran.stderr)


def test_a_token_that_the_socket_does_not_take_is_refused(home: Home, agent: AgentSocketServer) -> None:
    agent.refusals = [401]
    ran = ask(home, "Hi", *STREAM)
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (6, "refused")


def test_a_first_frame_that_is_not_status_is_an_error(home: Home, agent: AgentSocketServer) -> None:
    agent.greetings = [[at_socket.text("hello")]]
    ran = ask(home, "Hi", *STREAM)
    assert (ran.returncode, end_of(ran.stdout)["reason"]) == (4, "error")


def test_files_go_both_ways_through_the_workspace(home: Home, agent: AgentSocketServer) -> None:
    workspace = home.folder / "mount"
    (workspace / "out").mkdir(parents=True)
    (workspace / "out" / "report.txt").write_text("made", encoding="utf-8")
    (home.folder / "picture").write_bytes(b"\x89PNG\0")
    configure(home, "socket", agent.url, f'workspace = "{workspace}"')
    agent.answers = [[at_socket.file("out/report.txt"), at_socket.file("../config.toml"), at_socket.end()]]
    ran = ask(home, "Look", "-f", "picture", stdin="piped in")
    assert ran.returncode == 0, ran
    assert agent.received == [
        {"type": "USER_MESSAGE", "text": "Look\n\npiped in", "attachments": ["attachments/picture"]}
    ]
    assert (workspace / "attachments" / "picture").read_bytes() == b"\x89PNG\0"
    saved = home.folder / "Downloads" / "report.txt"
    assert saved.read_text(encoding="utf-8") == "made"
    assert f"saved {saved}" in ran.stderr.splitlines()
    assert "leads out of the agent's workspace" in ran.stderr


def test_without_a_workspace_attaching_is_wrong_usage_and_offered_files_are_named(
    home: Home, agent: AgentSocketServer
) -> None:
    (home.folder / "a").write_text("a", encoding="utf-8")
    ran = ask(home, "Look", "-f", "a", *STREAM)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "workspace = DIR" in one_line(ran.stderr)
    assert agent.received == []
    agent.answers = [[at_socket.file("out/report.txt"), at_socket.end()]]
    ran = ask(home, "Look", *STREAM)
    assert [one["event"] for one in lines(ran.stdout)] == ["AGENT_EVENT_SEND_FILE", "AGENT_EVENT_END", "end"]
    assert "the agent offers a file: out/report.txt" in ran.stderr.splitlines()
    assert "workspace = DIR" in ran.stderr


def test_what_comes_behind_the_end_is_a_notice(home: Home, agent: AgentSocketServer) -> None:
    agent.answers = [[at_socket.text("Done."), at_socket.end(), at_socket.text("By the way")]]
    ran = ask(home, "Hi", *STREAM)
    assert ran.returncode == 0
    assert end_of(ran.stdout)["text"] == "Done."
    assert "the agent says, outside any answer: By the way" in ran.stderr.splitlines()


def test_what_is_not_json_is_a_notice_and_the_answer_goes_on(home: Home, agent: AgentSocketServer) -> None:
    agent.answers = [[at_socket.text("So f"), "not json", at_socket.text("ar"), at_socket.end()]]
    ran = ask(home, "Hi", *STREAM)
    assert (ran.returncode, end_of(ran.stdout)["text"]) == (0, "So far")
    assert "the agent sent something that is not JSON" in ran.stderr


def test_whatever_comes_behind_the_end_is_a_line_that_can_be_read(
    home: Home, agent: AgentSocketServer
) -> None:
    behind = [
        at_socket.update({"status": "indexing", "progress": 50}),
        at_socket.call("grep", '{"q":1}'),
        at_socket.result("grep", ["a"]),
        at_socket.error("LATE", "it broke"),
        {"type": "AGENT_EVENT_NEW", "mood": "good"},
        at_socket.end(12),
        at_socket.file("out/late.txt"),
    ]
    agent.answers = [[at_socket.text("Done."), at_socket.end(), *behind]]
    ran = ask(home, "Hi", *STREAM)
    said = [line.partition("outside any answer: ")[2] for line in ran.stderr.splitlines()]
    assert ran.returncode == 0
    assert [line for line in said if line] == [
        "status: indexing, progress: 50",
        'grep {"q":1}',
        'grep: ["a"]',
        "LATE: it broke",
        "AGENT_EVENT_NEW good",
        "AGENT_EVENT_END tokens_used: 12",
    ]
    assert "the agent offers a file: out/late.txt" in ran.stderr.splitlines()
    assert "out/late.txt was not saved: Set workspace = DIR" in ran.stderr


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_nothing_hostile_reaches_the_terminal(home: Home, agent: AgentSocketServer, form: str) -> None:
    agent.answers = [
        [
            at_socket.call(f"l{HOSTILE}ook", "{}"),
            at_socket.update({"status": HOSTILE}),
            at_socket.result(f"l{HOSTILE}ook", {"success": False, "error": HOSTILE}),
            at_socket.file(f"a{HOSTILE}b"),
            {"type": f"NEW{HOSTILE}", "x": HOSTILE},
            at_socket.text(f"Bl{HOSTILE}ue."),
            at_socket.end(),
            at_socket.text(HOSTILE),
        ]
    ]
    ran = ask(home, "Hi", "--output", form)
    assert ran.returncode == 0
    for written in (ran.stdout, ran.stderr):
        assert not any(sign in written for sign in "\x1b\x07\x9b\u202e"), written


def test_a_signal_closes_the_socket(home: Home, agent: AgentSocketServer, portal: BlockingPortal) -> None:
    agent.answers = [[at_socket.text("It "), at_socket.forever]]
    run = home.start("ask", "Hi", "--backend", "them", *STREAM)
    assert run.stdout is not None
    assert json.loads(run.stdout.readline())["event"] == "AGENT_EVENT_TEXT_CHUNK"
    run.send_signal(signal.SIGINT)
    out, _ = finish(run)
    end = end_of(out)
    assert (run.returncode, end["reason"], end["text"]) == (3, "interrupted", "It ")
    portal.call(agent.until, lambda one: one.closed == [1000])


def test_a_second_signal_is_not_needed_before_the_question_is_taken(
    home: Home, agent: AgentSocketServer, portal: BlockingPortal
) -> None:
    agent.greetings = [[at_socket.forever]]
    run = home.start("ask", "Hi", "--backend", "them", *STREAM)
    portal.call(agent.until, lambda one: one.open == 1)
    run.send_signal(signal.SIGINT)
    out, _ = finish(run)
    assert (run.returncode, end_of(out)["reason"], out.count("\n")) == (3, "interrupted", 1)
    assert agent.received == []


# --- what is asked before --------------------------------------------------------------------------------


def doctored(home: Home) -> list[str]:
    (backend,) = load(home.config).backends.values()
    check = doctor_servers.server_check({}, backend)
    return [check.status, check.detail]


def test_the_doctor_connects_to_agents(home: Home, service: AgentService, portal: BlockingPortal) -> None:
    assert doctored(home) == ["ok", "it takes tasks; as an agent of rooms its provider is backend:them"]
    service.script = ["ws 401"]
    assert doctored(home) == ["failed", "the token is refused"]
    assert service.posts == []
    with served(portal, agent_socket_server()) as agent:
        configure(home, "socket", agent.url)
        assert doctored(home) == [
            "ok",
            "its agent is ready; as an agent of rooms its provider is backend:them",
        ]
        portal.call(agent.until, lambda one: one.closed)
        agent.held = {"0"}
        status, detail = doctored(home)
        assert status == "ok"
        assert "busy" in detail
        agent.held = set()
        agent.greetings = [[at_socket.text("hello")]]
        assert doctored(home)[0] == "failed"
        assert agent.received == []
    assert doctored(home)[0] == "failed"


@pytest.mark.parametrize(("token", "header"), [("Basic c2VjcmV0", "Basic c2VjcmV0"), ("abc", "Bearer abc")])
def test_a_token_of_two_words_is_the_whole_header(
    home: Home, agent: AgentSocketServer, token: str, header: str
) -> None:
    ran = ask(home, "Hi", AGENT_TUI_TOKEN=token)
    assert ran.returncode == 0
    assert agent.headers[0]["Authorization"] == header


def test_a_server_of_before_has_one_chat_at_its_own_address(home: Home, portal: BlockingPortal) -> None:
    with served(portal, agent_socket_server("/agent")) as agent:
        configure(home, "socket", f"{agent.url}agent", 'chat_path = ""')
        assert ask(home, "Hi").stdout == "You said: Hi\n"
        configure(home, "socket", f"{agent.url}agent")
        assert ask(home, "Hi").stdout == "You said: Hi\n"
        assert agent.paths == ["/agent", "/v1/agent_ws/0/", "/agent"]
