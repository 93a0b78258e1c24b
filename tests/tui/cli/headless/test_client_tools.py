"""Tools that an agent socket has run on this machine: on real sockets, with a backend process of our own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from websockets.asyncio.server import ServerConnection

from agent_tui.config.file import BackendConfig
from tests.fakes.agents import agent_socket_server as at_socket
from tests.fakes.agents.agent_socket_server import Action, AgentSocketServer, agent_socket_server
from tests.tui.chat.one_chat import OneChat
from tests.tui.chat.test_agents import Chat
from tests.tui.cli.headless.test_plain import plain
from tests.tui.programs import Home, home_at, own_environ
from tui.link import ChatLink
from tui.request import Server

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]


def wants(server: AgentSocketServer, *calls: tuple[str, object]) -> list[Action]:
    """Return an answer that calls tools of the client one after the other, with the results waited for."""
    actions: list[Action] = []
    for number, (name, args) in enumerate(calls):
        call_id = f"c{number}"

        async def answered(socket: ServerConnection, call_id: str = call_id) -> None:
            await server.until(lambda _: call_id in results(server))

        actions += [at_socket.client_call(call_id, name, args), answered]
    return [*actions, at_socket.text("Thanks."), at_socket.end()]


def results(server: AgentSocketServer) -> dict[str, dict[str, Any]]:
    """Return what came of calls, by their ids."""
    return {one["call_id"]: one for one in server.received if one["type"] == "CLIENT_TOOL_RESULT"}


# --- without a screen ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """Give an event loop in a thread of its own: commands block this one."""
    with start_blocking_portal() as started:
        yield started


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with home_at(tmp_path / "home") as home:
        yield home


@pytest.fixture
def agent(portal: BlockingPortal, home: Home) -> Iterator[AgentSocketServer]:
    with portal.wrap_async_context_manager(agent_socket_server()) as running:
        (home.folder / "work").mkdir()
        lines = ["[backends.them]", 'kind = "socket"', f'url = "{running.url}"', 'workspace = "~/work"']
        home.config.write_text("\n".join(lines), encoding="utf-8")
        home.config.chmod(0o600)
        yield running


def ask(home: Home, *options: str) -> Any:
    return home.main("ask", "Do it", "--backend", "them", *options)


def test_ask_runs_what_allow_names_and_denies_all_else(home: Home, agent: AgentSocketServer) -> None:
    (home.folder / "work" / "a.txt").write_text("blue\n")
    agent.answers = [
        wants(
            agent,
            ("read_file", {"path": "a.txt"}),
            ("write_file", {"path": "b.txt", "content": "red"}),
            ("run_command", {"command": "touch c.txt"}),
        )
    ]
    done = ask(home, "--allow", "read_file(*)", "--allow", "write_file(b.txt)")
    assert (done.returncode, done.stdout) == (0, "Thanks.\n"), done
    assert agent.paths == ["/v1/agent_ws/0/?client_tools=1"]
    came = results(agent)
    assert "blue" in came["c0"]["result"]
    assert "result" in came["c1"]
    assert (home.folder / "work" / "b.txt").read_text() == "red"
    assert "denied by the user" in came["c2"]["error"]
    assert "nobody can be asked" in came["c2"]["error"]
    assert not (home.folder / "work" / "c.txt").exists()
    notices = [line for line in done.stderr.splitlines() if "touch c.txt" in line]
    assert len(notices) == 1, done.stderr
    assert "not allowed: touch c.txt; --allow" in notices[0]


def test_in_lines_a_person_is_asked(home: Home, agent: AgentSocketServer) -> None:
    agent.answers = [wants(agent, *(("run_command", {"command": f"touch {name}.txt"}) for name in "ab"))]
    with plain(home, "chat", "--plain", "--backend", "them") as program:
        program.until("Type a question")
        program.type("Do it")
        program.until("them needs approval: touch a.txt")
        program.type("y")
        program.until("them needs approval: touch b.txt")
        program.type("n not that")
        program.until("Thanks.")
        program.type("/quit")
        assert program.ended() == 0
    program.check_bytes()
    assert [path.name for path in (home.folder / "work").iterdir()] == ["a.txt"]
    assert "not that" in results(agent)["c1"]["error"]


def test_hostile_calls_bring_an_error_and_reach_nothing_outside(home: Home, agent: AgentSocketServer) -> None:
    work, secret = home.folder / "work", home.folder / "secret.txt"
    secret.write_text("hidden")
    (work / "link").symlink_to(secret)
    bells = "\x1b]52;c;aGk=\x07\u202e"
    agent.answers = [
        wants(
            agent,
            ("read_file", {"path": "../secret.txt"}),
            ("read_file", {"path": str(secret)}),
            ("read_file", {"path": "link"}),
            ("write_file", {"path": "../out.txt", "content": "x"}),
            ("no_such_tool", {}),
            ("read_file", [1]),
            ("read_file", "{not json"),
            ("write_file", {"path": "big.txt", "content": "x" * 2_100_000}),
            ("run_command", {"command": f"echo {bells}"}),
            ("start_room", {"task": "x"}),
            ("n" * 300, {}),
        )
    ]
    done = ask(home, "--allow", "write_file", "--allow", "read_file")
    assert (done.returncode, done.stdout) == (0, "Thanks.\n"), done
    came = results(agent)
    assert len(came) == 11
    assert all(one.get("error") for one in came.values()), came
    assert "hidden" not in json.dumps(came)
    assert "there are: " in came["c4"]["error"]
    assert "characters" in came["c7"]["error"]
    assert sorted(path.name for path in work.iterdir()) == ["link"]
    assert not (home.folder / "out.txt").exists()
    assert "\x1b" not in done.stderr
    assert "\u202e" not in done.stderr


def test_allow_speaks_of_what_runs_and_not_of_what_was_streamed_before(
    home: Home, agent: AgentSocketServer
) -> None:
    streamed = at_socket.call("run_command", '{"command": "echo fine"}')
    more = at_socket.call(None, " ")
    runs = wants(agent, ("run_command", {"command": "touch c.txt"}))
    agent.answers = [[streamed, runs[0], more, *runs[1:]]]
    done = ask(home, "--allow", "run_command(echo fine)")
    assert done.returncode == 0, done
    assert "denied" in results(agent)["c0"]["error"]
    assert "touch c.txt" in done.stderr
    assert not (home.folder / "work" / "c.txt").exists()


def test_without_a_workspace_no_tools_are_announced_and_allow_is_refused(
    home: Home, agent: AgentSocketServer
) -> None:
    home.config.write_text(home.config.read_text().replace('workspace = "~/work"', ""))
    assert ask(home).returncode == 0
    assert agent.paths == ["/v1/agent_ws/0/"]
    refused = ask(home, "--allow", "run_command")
    assert refused.returncode == 2
    assert "--allow is not for" in refused.stderr
    assert not (home.data / "backend.json").exists()  # nothing needed our own backend


# --- with a screen ---------------------------------------------------------------------------------------


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    """Give the workspace; the backend that a test starts ends with it."""
    folder = tmp_path / "work"
    folder.mkdir()
    yield folder
    Home(tmp_path, own_environ(tmp_path)).stop()


@asynccontextmanager
async def chat_of(server: AgentSocketServer, work: Path, wanted: str = "") -> AsyncGenerator[Chat, None]:
    link = ChatLink(
        Server(server.url, agent=BackendConfig("them", "socket", server.url, workspace=str(work)))
    )
    app = OneChat(link, chat=await link.open(wanted))
    try:
        async with app.run_test(size=(100, 40), notifications=True) as pilot:
            chat = Chat(app, pilot)
            await chat.until("chat ", "ready")
            yield chat
    finally:
        await link.close()


async def press(chat: Chat, *keys: str) -> None:
    """Answer what asks, once it could be read."""
    await chat.until("needs approval")
    while "y once" not in await chat.look():
        await chat.pilot.press("tab")  # to the next part; the question may have taken the focus by itself
    for key in keys:
        chat.app.presses.now = _later(chat.app.presses.now)
        await chat.pilot.press(key)


def _later(now: Callable[[], float]) -> Callable[[], float]:
    return lambda: now() + 1.0


async def test_the_card_shows_the_change_and_it_is_made_after_a_yes(work: Path) -> None:
    async with agent_socket_server() as server, chat_of(server, work) as chat:
        (work / "a.txt").write_text("blue\n")
        server.answers = [wants(server, ("write_file", {"path": "a.txt", "content": "red\n"}))]
        await chat.ask("Change it")
        await chat.until("needs approval", "-blue", "+red", "all changes to this file")
        assert (work / "a.txt").read_text() == "blue\n"
        assert not results(server)
        await press(chat, "y")
        await chat.until("Thanks.", "ready")
        assert (work / "a.txt").read_text() == "red\n"
        assert "result" in results(server)["c0"]


async def test_a_no_gives_the_agent_the_reason_and_nothing_runs(work: Path) -> None:
    async with agent_socket_server() as server, chat_of(server, work) as chat:
        server.answers = [wants(server, ("run_command", {"command": "touch c.txt"}))]
        await chat.ask("Do it")
        await press(chat, "n")
        await chat.until("Why")
        await chat.pilot.press(*"later", "enter")
        await chat.until("Thanks.", "denied", "ready")
        assert results(server)["c0"]["error"] == "denied by the user: later"
        assert not (work / "c.txt").exists()


async def test_a_file_that_changed_since_its_diff_was_shown_is_not_written(work: Path) -> None:
    async with agent_socket_server() as server, chat_of(server, work) as chat:
        (work / "a.txt").write_text("blue\n")
        server.answers = [wants(server, ("write_file", {"path": "a.txt", "content": "red\n"}))]
        await chat.ask("Change it")
        await chat.until("-blue")
        (work / "a.txt").write_text("green\n")
        await press(chat, "y")
        await chat.until("Thanks.", "ready")
        assert "something else than the user was shown" in results(server)["c0"]["error"]
        assert (work / "a.txt").read_text() == "green\n"


async def test_in_this_conversation_holds_in_this_chat_and_in_no_other(work: Path) -> None:
    runs = ("run_command", {"command": "echo x >> c.txt"})
    async with agent_socket_server() as server:
        async with chat_of(server, work) as chat:
            server.answers = [wants(server, runs, runs)]
            await chat.ask("Do it twice")
            await press(chat, "c")
            await chat.until("Thanks.", "ready")
            assert (work / "c.txt").read_text() == "x\nx\n"
        server.received.clear()
        async with chat_of(server, work, "1") as chat:
            server.answers = [wants(server, runs)]
            await chat.ask("Once more")
            await chat.until("Allow this?")
            assert not results(server)


async def test_always_keeps_the_very_call_that_was_shown(work: Path) -> None:
    runs = ("run_command", {"command": "echo x >> c.txt"})
    async with agent_socket_server() as server, chat_of(server, work) as chat:
        server.answers = [wants(server, runs, runs, ("run_command", {"command": "echo y >> c.txt"}))]
        await chat.ask("Do it")
        await press(chat, "a")
        await chat.until("Always allow this?")
        chat.app.presses.now = _later(chat.app.presses.now)
        await chat.pilot.press("enter")
        await chat.until("echo y", "Allow this?")
        assert (work / "c.txt").read_text() == "x\nx\n"


async def test_stopping_the_answer_takes_the_question_back(work: Path) -> None:
    async with agent_socket_server() as server, chat_of(server, work) as chat:
        server.answers = [wants(server, ("run_command", {"command": "touch c.txt"}))]
        await chat.ask("Do it")
        await chat.until("Allow this?")
        await chat.pilot.press("escape")
        await chat.until("stopped", "ready")
        await server.until(lambda _: "c0" in results(server))
        assert "nobody waits" in results(server)["c0"]["error"]
        assert "y once" not in chat.now
        assert not (work / "c.txt").exists()


async def test_a_connection_that_is_lost_ends_the_command_that_runs(work: Path) -> None:
    async with agent_socket_server() as server, chat_of(server, work) as chat:
        leave = asyncio.Event()
        command = "echo $$ > pid; exec sleep 1000"
        call = at_socket.client_call("c0", "run_command", {"command": command})
        server.answers = [[call, at_socket.waits(leave), at_socket.abort]]
        await chat.ask("Do it")
        await press(chat, "y")
        await chat.until(lambda: (work / "pid").exists() and bool((work / "pid").read_text().strip()))
        pid = int((work / "pid").read_text())
        leave.set()
        await chat.until(lambda: not _is_alive(pid))
        await chat.until("connection")


async def test_a_backend_of_ours_that_dies_fails_the_call_and_the_next_one_starts_another(work: Path) -> None:
    async with agent_socket_server() as server, chat_of(server, work) as chat:
        command = ("run_command", {"command": "touch began; sleep 1000"})
        server.answers = [wants(server, command), wants(server, ("list_files", {}))]
        await chat.ask("Do it")
        await press(chat, "y")
        await chat.until(lambda: (work / "began").exists())
        runtime = json.loads((work.parent / "data" / "backend.json").read_text())
        os.kill(runtime["pid"], signal.SIGKILL)
        await chat.until("Thanks.", "ready")
        assert "it may have run" in results(server)["c0"]["error"]
        server.received.clear()
        await chat.ask("Look")
        await press(chat, "y")
        await server.until(lambda _: "c0" in results(server))
        assert "began" in results(server)["c0"]["result"]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
