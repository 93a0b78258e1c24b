"""The chat screen with agents that others run: over their protocols, on real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui.config.file import BackendConfig, Config
from agent_tui.model.errors import AgentBusy
from tests.fakes.agents import agent_socket_server as at_socket
from tests.fakes.agents.agent_service import agent_service
from tests.fakes.agents.agent_socket_server import AgentSocketServer, agent_socket_server
from tests.tui.chat.one_chat import OneChat
from tests.tui.watched import Watched
from tui.app import AgentTuiApp
from tui.link import ChatLink
from tui.request import ScreenRequest, Server

pytestmark = pytest.mark.timeout(60)


class Chat(Watched[OneChat]):
    """A chat screen with an agent."""

    @property
    def told(self) -> str:
        """What passed by."""
        return "\n".join(note.message for note in self.app._notifications)

    async def ask(self, words: str) -> None:
        self.app.chat.composer.line.put(words)
        self.app.chat.composer.open()
        await self.pilot.press("enter")


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))


@asynccontextmanager
async def opened(kind: str, url: str, wanted: str = "", **fields: Any) -> AsyncGenerator[Chat, None]:
    link = ChatLink(Server(url, agent=BackendConfig("them", kind, url, **fields)))
    app = OneChat(link, chat=await link.open(wanted))
    try:
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            chat = Chat(app, pilot)
            await chat.until("chat " if kind == "socket" else "session", "ready")
            yield chat
    finally:
        await link.close()


@pytest.fixture
async def agent() -> AsyncGenerator[AgentSocketServer, None]:
    async with agent_socket_server() as running:
        yield running


# --- an agent service ------------------------------------------------------------------------------------


async def test_questions_to_a_service_are_tasks_of_one_session_and_stay_on_the_screen() -> None:
    async with agent_service() as service, opened("tasks", service.url) as chat:
        await chat.until("new session")
        service.script = ["tools", "ok"]
        await chat.ask("Which colour?")
        await chat.until("Blue.", "look", "thinking", "session s1", "them")
        await chat.ask("Count.")
        shown = await chat.until("one two three four five", "ready")
        assert "Which colour?" in shown
        assert [post.get("sessionId") for post in service.posts] == [None, "s1"]
        assert "not yours" not in shown


async def test_no_key_for_a_model_is_offered_where_the_agent_has_its_own() -> None:
    async with agent_service() as service, opened("tasks", service.url) as chat:
        hints = (await chat.until("new session", "ctrl+e editor")).splitlines()[-1]
        assert "ctrl+l" not in hints


async def test_stopping_an_answer_cancels_its_task_and_keeps_the_words() -> None:
    async with agent_service() as service, opened("tasks", service.url, "s9") as chat:
        await chat.until("session s9")
        service.script = ["slow"]
        await chat.ask("Count.")
        await chat.until("one", "answering")
        await chat.pilot.press("escape")
        await chat.until("stopped", "ready")
        await service.until(lambda one: one.cancelled == ["t1"])
        assert service.posts[0]["sessionId"] == "s9"


async def test_a_task_can_be_stopped_before_its_first_word() -> None:
    async with agent_service() as service, opened("tasks", service.url) as chat:
        service.script = ["silent"]
        await chat.ask("Count.")
        await chat.until("session s1")
        await chat.pilot.press("escape")
        await chat.until("stopped", "ready")
        await service.until(lambda one: one.cancelled == ["t1"])


async def test_an_answer_that_breaks_off_is_cut_and_the_next_question_connects_again() -> None:
    async with agent_service() as service, opened("tasks", service.url) as chat:
        service.script = ["cut", "ok"]
        await chat.ask("Count.")
        await chat.until(
            "one two", "Connection lost", lambda: "Your next question will reconnect" in chat.told
        )
        await chat.ask("Again.")
        await chat.until("three four five", "ready")


async def test_an_error_of_the_agent_is_the_end_of_its_answer() -> None:
    async with agent_service() as service, opened("tasks", service.url) as chat:
        service.script = ["abort", "ok"]
        await chat.ask("Count.")
        await chat.until("the session was Aborted", "ready")
        await chat.ask("Again.")
        await chat.until("three four five", "session s2")


async def test_a_task_that_is_not_taken_stays_in_the_line() -> None:
    async with agent_service() as service, opened("tasks", service.url) as chat:
        service.script = ["500"]
        await chat.ask("Count.")
        await chat.until("not sent: the server failed (500)", "enter sends it again")
        assert chat.app.chat.composer.line.text == "Count."


# --- an agent socket -------------------------------------------------------------------------------------


async def test_tools_sub_agents_progress_and_files_of_a_socket_are_shown(
    agent: AgentSocketServer, tmp_path: Path
) -> None:
    (tmp_path / "report.txt").write_text("made", encoding="utf-8")
    goes_on = asyncio.Event()
    agent.answers = [
        [
            at_socket.text("Looking."),
            at_socket.update({"status": "reading page 3"}),
            at_socket.waits(goes_on),
            at_socket.call("look", '{"at": "it"}'),
            at_socket.text("I dig deeper", "tools:digger"),
            at_socket.result("look", "blue"),
            at_socket.file("report.txt"),
            at_socket.text("Done."),
            at_socket.end(),
        ]
    ]
    async with opened("socket", agent.url, workspace=str(tmp_path)) as chat:
        await chat.ask("Look")
        await chat.until("Looking.", "reading page 3")
        goes_on.set()
        shown = await chat.until("Done.", "look", "tools:digger", "I dig deeper", "saved", "ready")
        assert "report.txt" in shown
        assert (tmp_path / "Downloads" / "report.txt").exists()
        assert "chat 0" in shown


async def test_a_stopped_answer_is_left_and_the_next_question_waits_for_its_rest(
    agent: AgentSocketServer,
) -> None:
    goes_on = asyncio.Event()
    agent.answers = [
        [at_socket.text("one "), at_socket.waits(goes_on), at_socket.text("late"), at_socket.end()]
    ]
    async with opened("socket", agent.url, "7") as chat:
        await chat.until("chat 7")
        await chat.ask("Count")
        await chat.until("one", "answering")
        await chat.pilot.press("escape")
        await chat.until("stopped", "ready")
        await chat.ask("And?")
        await chat.look()
        assert agent.texts == ["Count"]
        goes_on.set()
        shown = await chat.until("You said: And?", "ready")
        assert "late" not in shown
        assert agent.paths == ["/v1/agent_ws/7/"]


async def test_a_chat_that_somebody_holds_is_not_opened(agent: AgentSocketServer) -> None:
    agent.held = {"0"}
    with pytest.raises(AgentBusy, match="busy"):
        async with opened("socket", agent.url):
            pass


async def test_a_question_that_meets_a_busy_chat_waits_until_enter(agent: AgentSocketServer) -> None:
    agent.answers = [[at_socket.text("Bye."), at_socket.end(), at_socket.close(1001, "restart")]]
    async with opened("socket", agent.url) as chat:
        await chat.ask("Hi")
        await chat.until("Bye.", lambda: "restart" in chat.told)
        agent.refusals = [409]
        await chat.ask("Still there?")
        await chat.until("The agent is busy", "Still there?")
        await chat.pilot.press("enter")
        await chat.until("You said: Still there?")


@pytest.mark.slow
async def test_what_is_not_offered_says_why(agent: AgentSocketServer) -> None:
    async with opened("socket", agent.url) as chat:
        await chat.ask("Hi")
        await chat.until("You said: Hi")
        screen = chat.app.chat
        assert screen.why_not("settings") == "this agent has its own settings"
        assert screen.why_not("edit") == "this server keeps only one version of each message"
        assert screen.why_not("again") == ""  # it is asked anew
        assert screen.why_not("continue")
        assert screen.why_not("version")
        await chat.ask("/title Another")
        await chat.until(lambda: "this server does not offer changing conversations" in chat.told)
        await chat.ask("/new")
        await chat.until("restart the program for another")
        assert chat.app.opened == []


async def test_a_file_is_attached_through_the_workspace(agent: AgentSocketServer, tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    mount.mkdir()
    notes = tmp_path / "notes.txt"
    notes.write_text("read me", encoding="utf-8")
    async with opened("socket", agent.url, workspace=str(mount)) as chat:
        await chat.ask(f"Read @{notes}")
        await chat.until("You said: Read")
        assert agent.received[0]["attachments"] == ["attachments/notes.txt"]
        assert (mount / "attachments" / "notes.txt").read_text(encoding="utf-8") == "read me"


async def test_without_a_workspace_attaching_says_what_to_set(
    agent: AgentSocketServer, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("read me", encoding="utf-8")
    async with opened("socket", agent.url) as chat:
        await chat.ask(f"Read @{notes}")
        await chat.until("workspace = DIR")
        assert agent.received == []


async def test_what_comes_unasked_is_shown_in_passing(agent: AgentSocketServer) -> None:
    behind = [at_socket.text("By the way"), at_socket.error("LATE", "it broke"), at_socket.file("late.txt")]
    agent.answers = [[at_socket.text("Done."), at_socket.end(), *behind, at_socket.GOODBYE]]
    async with opened("socket", agent.url) as chat:
        await chat.ask("Hi")
        await chat.until(
            "Done.",
            lambda: "outside any answer: By the way" in chat.told,
            lambda: "outside any answer: LATE: it broke" in chat.told,
            lambda: "late.txt was not saved" in chat.told,
            lambda: "Connection lost: the agent is about to stop" in chat.told,
        )


# --- the whole program -----------------------------------------------------------------------------------


@asynccontextmanager
async def program(url: str, folder: Path, kind: str = "socket") -> AsyncGenerator[Watched[AgentTuiApp], None]:
    server = Server(url, agent=BackendConfig("them", kind, url))
    app = AgentTuiApp(ScreenRequest(server, None, Config(folder / "config.toml"), chat=""))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        yield Watched(app, pilot)


async def test_there_is_no_list_to_go_back_to_and_what_was_said_stays(
    agent: AgentSocketServer, tmp_path: Path
) -> None:
    async with program(agent.url, tmp_path) as seen:
        await seen.until("chat 0", "ready")
        await seen.pilot.press("H", "i", "enter")
        await seen.until("You said: Hi", "ready")
        await seen.press("escape", "escape")
        await seen.until("this agent keeps no chats", "You said: Hi")
        await seen.press("f3")
        assert "You said: Hi" in seen.now
        assert agent.paths == ["/v1/agent_ws/0/"]
        await seen.press("ctrl+q")
    assert seen.app.return_value == 0


async def test_an_agent_that_is_not_there_is_waited_for_and_leaving_says_so(tmp_path: Path) -> None:
    async with program("http://127.0.0.1:9/", tmp_path) as seen:
        await seen.until("cannot connect to", "reconnecting in")
        await seen.press("q")
    assert seen.app.return_value == 5


async def test_leaving_while_an_agent_answers_cancels_its_task(tmp_path: Path) -> None:
    async with agent_service() as service:
        async with program(service.url, tmp_path, "tasks") as seen:
            await seen.until("new session", "ready")
            service.script = ["slow"]
            await seen.pilot.press("H", "i", "enter")
            await seen.until("one", "answering")
            await seen.press("ctrl+q")
            await seen.until("The rest will be lost")
            await seen.pilot.press("y")
        await service.until(lambda one: one.cancelled == ["t1"])


async def test_an_agent_that_went_away_is_the_exit_code_of_leaving(tmp_path: Path) -> None:
    async with agent_socket_server() as agent, program(agent.url, tmp_path) as seen:
        await seen.until("chat 0", "ready")
        agent.refusals = [503]
        agent.answers = [[at_socket.close(1012)]]
        await seen.pilot.press("H", "i", "enter")
        await seen.until("Connection lost")
        await seen.pilot.press("S", "o", "enter")
        await seen.until("not sent:")
        await seen.press("ctrl+q")
    assert seen.app.return_value == 5


async def test_what_was_said_with_an_agent_can_be_exported(tmp_path: Path) -> None:
    async with agent_service() as service, opened("tasks", service.url) as chat:
        service.script = ["tools"]
        await chat.ask("Which colour?")
        await chat.until("Blue.", "ready")
        page, raw = tmp_path / "said.md", tmp_path / "said.json"
        await chat.ask(f"/export {page}")
        await chat.until(lambda: page.exists())
        await chat.ask(f"/export {raw}")
        await chat.until(lambda: raw.exists())
        assert "Which colour?" in page.read_text()
        assert "Blue." in page.read_text()
        asked, answered = json.loads(raw.read_text())["messages"]
        assert (asked["role"], json.loads(asked["content"])["text"]) == ("user", "Which colour?")
        steps = json.loads(answered["content"])["steps"]
        assert [step["type"] for step in steps] == ["thinking", "tool_call", "tool_result", "text"]


async def test_r_asks_an_agent_the_question_anew_whose_answer_broke_off() -> None:
    async with agent_service() as service, opened("tasks", service.url) as chat:
        service.script = ["cut", "ok"]
        await chat.ask("Count.")
        await chat.until("one two", "Connection lost")
        await chat.pilot.press("escape")
        await chat.until("r retry")
        await chat.pilot.press("r")
        await chat.until("one two three four five", "ready")
        assert [post["prompt"] for post in service.posts] == ["Count.", "Count."]
