"""Agents of rooms that live on an agent service or an agent socket (protocols.md §3, §4), on real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.models.providers import Models
from agent_tui.backend.store.agent_sessions import StoredSessions
from tests.backend.in_process import Backend, backend
from tests.backend.processes import running, serve
from tests.backend.talk import run_to_end, until, until_said
from tests.backend.wire_client import Frame
from tests.fakes.agents.agent_service import agent_service
from tests.fakes.agents.agent_socket_server import (
    abort,
    agent_socket_server,
    call,
    end,
    error,
    file,
    forever,
    result,
    text,
    update,
)
from tests.fakes.scripted_model import ScriptedModel

pytestmark = pytest.mark.slow

WORDS = "one two three four five "
TOKEN = "far-secret-token"


def configured(folder: Path, *, tasks: str = "", socket: str = "", more: str = "") -> Path:
    """Write a config file with the agents at these addresses: ``far`` of tasks, ``wide`` of a socket."""
    path = folder / "config.toml"
    tables = []
    if tasks:
        tables.append(f'[backends.far]\nkind = "tasks"\nurl = "{tasks}"\ntoken = "{TOKEN}"\n')
    if socket:
        tables.append(f'[backends.wide]\nkind = "socket"\nurl = "{socket}"\ntoken = "{TOKEN}"\n{more}')
    path.write_text("\n".join(tables))
    return path


@asynccontextmanager
async def rooms(
    folder: Path, *, tasks: str = "", socket: str = "", more: str = "", **options: Any
) -> AsyncIterator[Backend]:
    """Give a backend whose rooms may have these agents, and demo agents."""
    config = configured(folder, tasks=tasks, socket=socket, more=more)
    model = ScriptedModel(lambda _: ["never asked"], free=True)
    async with backend(
        folder,
        model,
        models=lambda store: Models(config, demo_rate=0, demo_seed=1, sessions=StoredSessions(store)),
        **options,
    ) as given:
        yield given


async def room(given: Backend, *agents: tuple[str, str], rounds: int = 1, **fields: Any) -> str:
    """Make a room of (name, provider_id) and return its id."""
    named = [
        {"name": name, "provider_id": provider, "system_prompt": f"You judge as {name}."}
        for name, provider in agents
    ]
    body = {"task": "Redis or PostgreSQL?", "agents": named, "max_rounds": rounds, **fields}
    answer = await given.client.call("POST", "/api/rooms", body)
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


async def messages(given: Backend, room_id: str) -> list[dict[str, Any]]:
    answer = await given.client.call("GET", f"/api/rooms/{room_id}/messages")
    return list(answer.json["messages"])


def texts(stored: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return (name, words) of stored messages."""
    found = []
    for one in stored:
        content = json.loads(one["content"])
        words = [step["content"] for step in content.get("steps", ()) if step["type"] == "text"]
        found.append((one["sender_name"], content.get("text") or "\n\n".join(words)))
    return found


def logged(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*.log"))


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("rooms.db*"))


def errors(frames: list[Frame]) -> list[str]:
    return [frame.fields["error"] for frame in frames if frame.name == "agent_error"]


async def test_an_agent_on_a_service_is_told_its_role_once_and_then_what_is_new(tmp_path: Path) -> None:
    async with agent_service() as service, rooms(tmp_path, tasks=service.url) as given:
        room_id = await room(given, ("Ada", "demo"), ("Far", "backend:far"), rounds=2)
        frames = await run_to_end(given, room_id)
        assert errors(frames) == []
        first, second = service.posts
        assert first["systemPrompt"].startswith("You judge as Far.")
        assert "The other agents in this room: Ada." in first["systemPrompt"]
        assert "This is round 2 of 2" in second["systemPrompt"]
        told = texts(await messages(given, room_id))
        assert [name for name, _ in told] == ["用户", "Ada", "Far", "Ada", "Far"]
        assert first["prompt"] == f"Redis or PostgreSQL?\n\n[Ada]: {told[1][1]}"
        assert second["prompt"] == f"[Ada]: {told[3][1]}"
        assert (first.get("sessionId"), second["sessionId"]) == (None, "s1")
        assert told[2][1] == told[4][1] == WORDS


async def test_an_agent_on_a_socket_is_told_its_role_once_and_then_what_is_new(tmp_path: Path) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        server.answers = [[text("First."), end()], [text("Second."), end()]]
        room_id = await room(given, ("Ada", "demo"), ("Wide", "backend:wide"), rounds=2)
        assert errors(await run_to_end(given, room_id)) == []
        told = texts(await messages(given, room_id))
        assert [words for name, words in told if name == "Wide"] == ["First.", "Second."]
        assert server.texts[0].startswith("You judge as Wide.")
        assert server.texts[0].endswith(f"[Ada]: {told[1][1]}")
        assert server.texts[1] == f"[Ada]: {told[3][1]}"
        chats = {path.partition("?")[0] for path in server.paths}
        assert len(chats) == 1
        assert server.headers[0]["Authorization"] == f"Bearer {TOKEN}"


async def test_each_agent_has_a_session_of_its_own_also_of_one_backend(tmp_path: Path) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        agents = (("One", "backend:wide"), ("Two", "backend:wide"))
        room_id = await room(given, *agents, execution_mode="parallel", rounds=2)
        assert errors(await run_to_end(given, room_id)) == []
        assert len(set(server.paths)) == 2
        other = await room(given, *agents)
        await run_to_end(given, other)
        assert len(set(server.paths)) == 4


async def test_the_session_lasts_over_a_restart(tmp_path: Path) -> None:
    async with agent_service() as service:
        async with rooms(tmp_path, tasks=service.url) as given:
            room_id = await room(given, ("Far", "backend:far"), rounds=1)
            await run_to_end(given, room_id)
        async with rooms(tmp_path, tasks=service.url) as given:
            path = f"/api/rooms/{room_id}"
            assert (await given.client.call("PATCH", path, {"max_rounds": 2})).status == 200
            said = {"content": "And MySQL?", "when": "next"}
            assert (await given.client.call("POST", f"{path}/messages", said)).status == 202
            await run_to_end(given, room_id)
        assert [post.get("sessionId") for post in service.posts] == [None, "s1"]
        assert service.posts[1]["prompt"] == "And MySQL?"


async def test_steps_of_an_agent_on_a_service_are_steps_of_the_room(tmp_path: Path) -> None:
    async with agent_service() as service, rooms(tmp_path, tasks=service.url) as given:
        service.script = ["tools"]
        room_id = await room(given, ("Far", "backend:far"))
        frames = await run_to_end(given, room_id)
        assert errors(frames) == []
        steps = json.loads((await messages(given, room_id))[1]["content"])["steps"]
        assert [step["type"] for step in steps] == ["thinking", "tool_call", "tool_result", "text"]
        assert (steps[1]["name"], json.loads(steps[1]["arguments"])) == ("look", {"at": "it"})
        assert (steps[2]["id_ref"], steps[2]["content"]) == (steps[1]["id"], "blue")


async def test_steps_and_sub_agents_of_an_agent_on_a_socket_are_steps_of_the_room(tmp_path: Path) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        server.answers = [
            [
                text("Let me see. "),
                call("search", '{"for": '),
                call(None, '"it"}'),
                update({"status": "running", "progress": "half"}),
                text("I look. ", "tools:helper"),
                result("search", {"success": False, "error": "none"}),
                call("never"),
                text("Blue."),
                end(12),
            ]
        ]
        room_id = await room(given, ("Wide", "backend:wide"))
        frames = await run_to_end(given, room_id)
        assert errors(frames) == []
        stored = (await messages(given, room_id))[1]
        steps = json.loads(stored["content"])["steps"]
        assert [(step["type"], step.get("name", "")) for step in steps] == [
            ("text", ""),
            ("tool_call", "search"),
            ("sub_agent", "tools:helper"),
            ("tool_result", "search"),
            ("tool_call", "never"),
            ("text", ""),
            ("tool_result", "never"),
        ]
        assert json.loads(steps[1]["arguments"]) == {"for": "it"}
        assert (steps[3]["success"], steps[6]["success"]) == (False, False)
        assert texts([stored]) == [("Wide", "Let me see. \n\nBlue.")]
        assert stored["usage"]["completion_tokens"] == 12


async def test_what_an_agent_used_is_unknown_where_it_does_not_say(tmp_path: Path) -> None:
    async with agent_service() as service, rooms(tmp_path, tasks=service.url) as given:
        room_id = await room(given, ("Far", "backend:far"))
        await run_to_end(given, room_id)
        stored = (await messages(given, room_id))[1]
        assert not stored.get("usage", {}).get("completion_tokens")
        assert "cost" not in stored.get("usage", {})
        whole = (await given.client.call("GET", f"/api/rooms/{room_id}")).json
        assert whole["cost"] is None


async def cut_at(given: Backend, room_id: str, words: str, how: str) -> list[Frame]:
    """Run a room until ``words`` were said, cut that, return all frames."""
    async with given.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
        frames = stream.frames()
        seen = await until_said(frames, words)
        answer = await given.client.call("POST", f"/api/rooms/{room_id}{how}")
        assert answer.status == 202
        return seen + await until(frames, "room_completed" if "agents" in how else "room_paused")


async def agent_path(given: Backend, room_id: str) -> str:
    """Return the path of the room's first agent, within the room."""
    whole = (await given.client.call("GET", f"/api/rooms/{room_id}")).json
    return f"/agents/{whole['agents'][0]['id']}"


async def test_a_pause_cancels_the_task_and_keeps_the_words(tmp_path: Path) -> None:
    async with agent_service() as service, rooms(tmp_path, tasks=service.url) as given:
        service.script = ["slow"]
        room_id = await room(given, ("Far", "backend:far"))
        await cut_at(given, room_id, "one ", "/pause")
        await service.until(lambda one: one.cancelled == ["t1"])
        assert texts(await messages(given, room_id))[1] == ("Far", "one ")
        await run_to_end(given, room_id)
        assert service.posts[1]["sessionId"] == "s1"
        assert service.posts[1]["prompt"].startswith("[Your last message was cut off. Go on with it")
        assert "Redis" not in service.posts[1]["prompt"]
        assert service.cancelled == ["t1"]


async def test_a_pause_ends_the_answer_of_a_socket_and_keeps_the_words(tmp_path: Path) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        server.answers = [[text("Well, it is "), forever], [text("Well, it is blue."), end()]]
        room_id = await room(given, ("Wide", "backend:wide"))
        await cut_at(given, room_id, "Well, it is ", "/pause")
        await server.until(lambda one: one.closed)
        assert texts(await messages(given, room_id))[1] == ("Wide", "Well, it is ")
        await run_to_end(given, room_id)
        assert len(set(server.paths)) == 1
        assert server.texts[1].startswith("[Your last message was cut off. Go on with it")
        assert "Redis" not in server.texts[1]
        told = texts(await messages(given, room_id))
        assert "".join(words for name, words in told if name == "Wide") == "Well, it is blue."


async def test_an_answer_that_is_continued_is_asked_for_its_rest_in_words(tmp_path: Path) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        server.answers = [
            [text("Well, as I see it "), forever],
            [text("as I see it the sky is blue."), end()],
        ]
        room_id = await room(given, ("Wide", "backend:wide"))
        agent = await agent_path(given, room_id)
        await cut_at(given, room_id, "Well, as I see it ", f"{agent}/stop")
        assert (await given.client.call("POST", f"/api/rooms/{room_id}{agent}/continue")).status == 202
        await run_to_end(given, room_id)
        assert "begin with its last words, exactly as they are: Well, as I see it\n" in server.texts[1]
        assert "Redis" not in server.texts[1]
        told = texts(await messages(given, room_id))
        assert (
            "".join(words for name, words in told if name == "Wide") == "Well, as I see it the sky is blue."
        )


async def test_an_answer_that_was_cut_behind_a_tool_is_asked_for_its_rest(tmp_path: Path) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        server.answers = [
            [text("I look. "), call("look", "{}"), result("look", "blue"), text("It"), forever],
            [text("It is blue."), end()],
        ]
        room_id = await room(given, ("Wide", "backend:wide"))
        agent = await agent_path(given, room_id)
        await cut_at(given, room_id, "I look. \n\nIt", f"{agent}/stop")
        assert (await given.client.call("POST", f"/api/rooms/{room_id}{agent}/continue")).status == 202
        assert errors(await run_to_end(given, room_id)) == []
        assert server.texts[1].startswith("[Your last message was cut off.")


async def test_a_retry_asks_for_the_words_again_in_the_same_session(tmp_path: Path) -> None:
    async with agent_service() as service, rooms(tmp_path, tasks=service.url) as given:
        room_id = await room(given, ("Far", "backend:far"))
        await run_to_end(given, room_id)
        agent_id = (await given.client.call("GET", f"/api/rooms/{room_id}")).json["agents"][0]["id"]
        answer = await given.client.call("POST", f"/api/rooms/{room_id}/agents/{agent_id}/retry")
        assert answer.status == 202, answer.body
        await run_to_end(given, room_id)
        assert service.posts[1]["prompt"].startswith("[Your last message did not arrive")
        assert service.posts[1]["sessionId"] == "s1"


@pytest.mark.parametrize("busy", [403, 409, 1008])
async def test_a_busy_chat_is_told_apart_from_a_broken_one(tmp_path: Path, busy: int) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        server.busy = busy
        room_id = await room(given, ("Wide", "backend:wide"), rounds=2)
        await run_to_end(given, room_id)
        server.held.add(server.paths[0].split("/")[3])
        await given.client.call("PATCH", f"/api/rooms/{room_id}", {"max_rounds": 3})
        frames = await run_to_end(given, room_id)
        assert len(errors(frames)) == 1
        assert "busy" in errors(frames)[0]


async def test_a_chat_that_is_free_again_in_a_moment_is_asked_again(tmp_path: Path) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        server.refusals = [409]
        room_id = await room(given, ("Wide", "backend:wide"))
        assert errors(await run_to_end(given, room_id)) == []
        assert len(server.texts) == 1


async def test_a_lost_connection_keeps_the_words_and_nothing_is_told_twice(tmp_path: Path) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        server.answers = [[text("Half of "), abort], [text("The rest."), end()]]
        room_id = await room(given, ("Wide", "backend:wide"), ("Ada", "demo"), rounds=2)
        frames = await run_to_end(given, room_id)
        assert len(errors(frames)) == 1
        assert "broke off" in errors(frames)[0]
        told = texts(await messages(given, room_id))
        assert ("Wide", "Half of ") in told
        ada = next(words for name, words in told if name == "Ada")
        assert server.texts[1] == f"[Ada]: {ada}"


async def test_a_session_that_is_gone_begins_anew_with_everything(tmp_path: Path) -> None:
    async with agent_service() as service, rooms(tmp_path, tasks=service.url) as given:
        room_id = await room(given, ("Far", "backend:far"), ("Ada", "demo"), rounds=2)
        service.script = ["ok", "exit"]
        frames = await run_to_end(given, room_id)
        assert errors(frames) == []
        assert [post.get("sessionId") for post in service.posts] == [None, "s1", None]
        told = texts(await messages(given, room_id))
        again = service.posts[2]["prompt"]
        assert again.startswith(f"Redis or PostgreSQL?\n\n[Far]: {WORDS}")
        assert again.endswith(f"[Ada]: {told[2][1]}")


async def test_an_error_of_the_agent_is_its_own_and_the_room_goes_on(tmp_path: Path) -> None:
    async with agent_socket_server() as server, rooms(tmp_path, socket=server.url) as given:
        server.answers = [[error("E1", "no credit")]]
        room_id = await room(given, ("Wide", "backend:wide"), ("Ada", "demo"))
        frames = await run_to_end(given, room_id)
        assert ["no credit" in one for one in errors(frames)] == [True]
        assert texts(await messages(given, room_id))[-1][0] == "Ada"


async def test_no_address_and_no_token_stands_in_events_or_the_database(tmp_path: Path) -> None:
    async with agent_socket_server() as server:
        url = server.url
    async with rooms(tmp_path, socket=url, tasks=url) as given:
        room_id = await room(given, ("Wide", "backend:wide"), ("Far", "backend:far"))
        frames = await run_to_end(given, room_id)
        assert len(errors(frames)) == 2
        assert all("backends." in one for one in errors(frames))
        port = url.rsplit(":", 1)[1].rstrip("/")
        assert not any(port in frame.data or TOKEN in frame.data for frame in frames)
    stored = await asyncio.to_thread(on_disk, tmp_path)
    assert url.encode().rstrip(b"/") not in stored
    assert TOKEN.encode() not in stored


async def test_a_file_of_a_socket_is_saved_apart_in_the_workspace_of_the_room_only(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    ours.mkdir()
    (theirs / "plan.txt").write_text("step one")
    (tmp_path / "secret.txt").write_text("no")
    more = f'workspace = "{theirs}"\n'
    async with (
        agent_socket_server() as server,
        rooms(tmp_path, socket=server.url, more=more, workspaces=(tmp_path,)) as given,
    ):
        server.answers = [[file("plan.txt"), file("../secret.txt"), text("There."), end()]] * 2
        room_id = await room(given, ("../A/b", "backend:wide"), workspace=str(ours))
        await run_to_end(given, room_id)
        kept = ours / "received" / "_A_b"
        assert [path for path in ours.rglob("*") if path.is_file()] == [kept / "plan.txt"]
        steps = json.loads((await messages(given, room_id))[1]["content"])["steps"]
        kinds = [(step["type"], step.get("name", "")) for step in steps]
        assert ("file_offered", "plan.txt") in kinds
        assert [name for kind, name in kinds if kind == "file_saved"] == [str(kept / "plan.txt")]
        assert [kind for kind, _ in kinds].count("file_refused") == 1
        bare = await room(given, ("Wide", "backend:wide"))
        await run_to_end(given, bare)
        steps = json.loads((await messages(given, bare))[1]["content"])["steps"]
        assert [step["type"] for step in steps].count("file_saved") == 0


@pytest.mark.parametrize(
    ("provider", "why"), [("backend:nobody", "nobody"), ("backend:chats", "not an agent")]
)
async def test_a_room_takes_no_agent_that_is_not_there(tmp_path: Path, provider: str, why: str) -> None:
    config = configured(tmp_path, tasks="http://127.0.0.1:1/")
    async with rooms(tmp_path, tasks="http://127.0.0.1:1/") as given:
        config.write_text(
            config.read_text() + '[backends.chats]\nkind = "chat"\nurl = "http://127.0.0.1:1"\n'
        )
        agents = [{"name": "X", "provider_id": provider}]
        answer = await given.client.call("POST", "/api/rooms", {"task": "t", "agents": agents})
        assert answer.status == 422
        assert why in answer.body.decode()


async def test_a_killed_backend_asks_again_without_saying_anything_twice(tmp_path: Path) -> None:
    async with agent_service() as service:
        configured(tmp_path, tasks=service.url)
        service.script = ["slow"]
        async with running(*serve(tmp_path, "--no-resume"), folder=tmp_path) as process:
            agents = [{"name": "Far", "provider_id": "backend:far"}]
            fields = {"task": "Redis?", "agents": agents, "max_rounds": 1}
            room_id = (await process.client.call("POST", "/api/rooms", fields)).json["id"]
            async with process.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
                await until_said(stream.frames(), "one ")
                await process.kill()
        async with running(*serve(tmp_path, "--no-resume"), folder=tmp_path) as process:
            frames = await process.client.frames("POST", f"/api/rooms/{room_id}/run")
            assert errors(frames) == []
            assert service.cancelled == ["t1"]  # what went on there unheard
            assert service.posts[1]["sessionId"] == "s1"
            assert "Redis" not in service.posts[1]["prompt"]
            answer = await process.client.call("GET", f"/api/rooms/{room_id}/messages")
            told = texts(answer.json["messages"])
            assert "".join(words for name, words in told if name == "Far") == WORDS
            assert await process.end() == 0
        log = await asyncio.to_thread(logged, tmp_path)
        assert service.url not in log
        assert TOKEN not in log


async def test_a_killed_backend_goes_on_in_the_same_chat_of_a_socket(tmp_path: Path) -> None:
    async with agent_socket_server() as server:
        configured(tmp_path, socket=server.url)
        server.answers = [[text("Well, as I see it "), forever], [text("as I see it it is blue."), end()]]
        async with running(*serve(tmp_path, "--no-resume"), folder=tmp_path) as process:
            agents = [{"name": "Wide", "provider_id": "backend:wide"}]
            fields = {"task": "Redis?", "agents": agents, "max_rounds": 1}
            room_id = (await process.client.call("POST", "/api/rooms", fields)).json["id"]
            async with process.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
                await until_said(stream.frames(), "Well, as I see it ")
                await process.kill()
        async with running(*serve(tmp_path, "--no-resume"), folder=tmp_path) as process:
            assert errors(await process.client.frames("POST", f"/api/rooms/{room_id}/run")) == []
            answer = await process.client.call("GET", f"/api/rooms/{room_id}/messages")
            told = texts(answer.json["messages"])
            assert "".join(words for name, words in told if name == "Wide") == "Well, as I see it it is blue."
            await process.end()
        assert len(set(server.paths)) == 1
        assert "Redis" not in server.texts[1]


async def test_who_is_killed_while_the_task_is_posted_begins_a_new_session(tmp_path: Path) -> None:
    async with agent_service() as service:
        configured(tmp_path, tasks=service.url)
        service.script = ["held"]
        async with running(*serve(tmp_path, "--no-resume"), folder=tmp_path) as process:
            agents = [{"name": "Far", "provider_id": "backend:far"}]
            fields = {"task": "Redis?", "agents": agents, "max_rounds": 1}
            room_id = (await process.client.call("POST", "/api/rooms", fields)).json["id"]
            await process.client.call("POST", f"/api/rooms/{room_id}/resume")
            async with process.client.open("POST", f"/api/rooms/{room_id}/run"):
                await service.until(lambda one: len(one.posts) == 1)
                await process.kill()
        async with running(*serve(tmp_path, "--no-resume"), folder=tmp_path) as process:
            await process.client.frames("POST", f"/api/rooms/{room_id}/run")
            await process.end()
        assert service.posts[1].get("sessionId") is None
        assert service.posts[1]["prompt"] == service.posts[0]["prompt"]
        service.go_on.set()
        await asyncio.sleep(0)


async def test_the_providers_list_agents_behind_the_default(tmp_path: Path) -> None:
    async with agent_service() as service:
        configured(tmp_path, tasks=service.url, socket="ws://127.0.0.1:1/")
        async with running(*serve(tmp_path), folder=tmp_path) as process:
            listed = (await process.client.call("GET", "/api/providers")).json["providers"]
            assert [(one["id"], one["kind"]) for one in listed] == [
                ("demo", "demo"),
                ("backend:far", "tasks"),
                ("backend:wide", "socket"),
            ]
            answer = await process.client.call("GET", "/api/providers/backend%3Afar/models")
            assert answer.json == {"models": [{"id": "far"}]}
            body = b"".join([answer.body, json.dumps(listed).encode()])
            assert TOKEN.encode() not in body
            chat = {"provider_id": "backend:far"}
            chat_id = (await process.client.call("POST", "/api/conversations", chat)).json["id"]
            for question in ("Why?", "And then?"):
                path = f"/api/conversations/{chat_id}/messages"
                async with process.client.open("POST", path, {"content": question}) as stream:
                    async for chunk in stream.chunks():
                        assert b"event: error" not in chunk
        assert [post["prompt"] for post in service.posts] == ["Why?", "And then?"]
        assert [post.get("sessionId") for post in service.posts] == [None, "s1"]
