"""An agent of a service or a socket, used like the chats of a server: what its errors may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.clients.agents.chats import AgentChats
from agent_tui.config.file import SOCKET, TASKS, BackendConfig
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import TurnNoted
from tests.fakes.agents import agent_socket_server as fake
from tests.fakes.agents.agent_socket_server import agent_socket_server
from tests.fakes.servers.http_server import FakeServer, Reply, Request

TOKEN = "tok-en~SECRET"


def of(url: str, kind: str, notes: list[TurnNoted]) -> AgentChats:
    return AgentChats(BackendConfig("far", kind, url, token=TOKEN), note=notes.append)


async def test_a_socket_that_repeats_the_token_has_it_hidden() -> None:
    notes: list[TurnNoted] = []
    async with agent_socket_server() as server:
        server.answers = [[fake.error("X", f"bad Bearer {TOKEN}")], [fake.close(1011, f"no {TOKEN}")]]
        agent = of(server.url, SOCKET, notes)
        told = [one async for one in agent.answer_frames("Hi", (), (), "t1")]
        assert "bad Bearer ********" in repr(told)
        with pytest.raises(AgentTuiError, match=r"no [*]{8}") as caught:
            [one async for one in agent.answer_frames("Hi", (), (), "t2")]
        await agent.aclose()
    assert TOKEN not in f"{told}{caught.value!r}{notes}"


async def test_a_service_that_repeats_the_token_has_it_hidden() -> None:
    async def echo(request: Request, reply: Reply) -> None:
        await reply.head(400, {"Content-Type": "text/plain"})
        await reply.send(f"bad {request.headers['authorization']}".encode())
        await reply.end()

    async with FakeServer() as server:
        server.on("GET", "/ws/agent", echo)
        agent = of(server.url, TASKS, [])
        with pytest.raises(AgentTuiError, match=r"bad Bearer [*]{8}") as caught:
            await agent.open("")
        await agent.aclose()
    assert TOKEN not in repr(caught.value)


async def test_a_file_that_is_offered_after_the_answer_is_saved_too(tmp_path: Path) -> None:
    workspace, downloads = tmp_path / "mount", tmp_path / "downloads"
    workspace.mkdir()
    (workspace / "late.txt").write_text("from the agent")
    notes: list[TurnNoted] = []
    async with agent_socket_server() as server:
        offers = [fake.file("late.txt"), fake.file("../late.txt")]
        server.answers = [[fake.text("Done."), fake.end(), *offers, fake.GOODBYE]]
        backend = BackendConfig("far", SOCKET, server.url, workspace=str(workspace))
        agent = AgentChats(backend, note=notes.append, downloads=downloads)
        [one async for one in agent.answer_frames("Hi", (), (), "t1")]
        await agent.linger()
        await agent.aclose()
    said = {note.note: note.about for note in notes}
    assert (downloads / "late.txt").read_text() == "from the agent"
    assert said["file_saved"] == str(downloads / "late.txt")
    assert "leads out of" in said["file_refused"]


async def test_only_a_file_that_was_offered_is_said_to_be_unsaved() -> None:
    async with agent_socket_server() as server:
        nameless = {"type": "AGENT_EVENT_SEND_FILE"}
        server.answers = [[nameless, {**nameless, "path": 5}, fake.file("a.txt"), fake.end()]]
        agent = of(server.url, SOCKET, [])
        told = [one async for one in agent.answer_frames("Hi", (), (), "t1")]
        await agent.aclose()
    notes = [event for frame in told for event in frame.events if isinstance(event, TurnNoted)]
    assert [note.note for note in notes] == ["file_offered", "file_refused"]
    assert notes[1].about.startswith("a.txt was not saved")
