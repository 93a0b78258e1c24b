"""The agent service (protocols.md §3) over real sockets, to clients that know that protocol alone."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message
from starlette.websockets import WebSocket
from websockets.exceptions import InvalidStatus

from agent_tui.backend.http.agent_tasks import AgentService
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.models.model import ModelRequest, ThinkingPiece
from agent_tui.clients.agents.tasks import AgentTasksClient
from agent_tui.model import events as ev
from agent_tui.model.errors import ModelError
from agent_tui.wire.agent_tasks import AgentTask, subscribe
from tests.backend.chat_backend import A_PATH, FULL, TOKEN, ChatBackend, chat_backend
from tests.backend.engine.chat_house import call, speaks
from tests.backend.processes import TOKEN as PROCESS_TOKEN
from tests.backend.processes import Process, running, serve
from tests.backend.sockets import send_all, until_closed, until_quiet
from tests.fakes.agents.agent_tasks_original import VOICE_TYPES, NotTaken, OriginalTasks, TaskAnswer
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import reader, writer

pytestmark = pytest.mark.slow

LOOKS: Script = [ThinkingPiece("Let me look."), "First. ", call("look", {"at": "it"})]
SLOW = "10"  # tokens/s of the demo model


def original(backend: ChatBackend, **fields: Any) -> OriginalTasks:
    """Return a client of the backend."""
    return OriginalTasks(f"http://127.0.0.1:{backend.client.port}", f"Bearer {TOKEN}", **fields)


def echoes(request: ModelRequest) -> Script:
    """Answer with the last words of the user, and how many of them there were."""
    asked = [message.content for message in request.messages if message.role == "user"]
    return [f"{len(asked)}: ", asked[-1]]


async def stored(backend: ChatBackend, chat_id: str) -> list[tuple[str, str, str]]:
    """Return (role, text, why it was cut) of the messages of a chat."""
    answer = await backend.client.call("GET", f"{A_PATH}/{chat_id}/messages")
    return [
        (one["role"], json.loads(one["content"])["text"], one.get("interrupted", ""))
        for one in answer.json["messages"]
    ]


@pytest.mark.parametrize("voice", [True, False])
async def test_an_original_client_gets_an_answer_to_the_letter(tmp_path: Path, voice: bool) -> None:
    async with chat_backend(tmp_path, speaks(LOOKS, ["It is blue."]), reader()) as backend:
        client = original(backend)
        answer = await client.ask("What colour?", voice=voice)
        assert answer.error is None
        assert answer.text == "First. \n\nIt is blue."
        if voice:
            assert set(answer.types) <= VOICE_TYPES
        else:
            assert answer.types == ["thinking", "text", "tool_use", "tool_result", "text", "completed"]
            use = next(event for event in answer.events if event["type"] == "tool_use")
            result = next(event for event in answer.events if event["type"] == "tool_result")
            assert (use["name"], use["input"], result["id"]) == ("look", {"at": "it"}, use["id"])
            assert (json.loads(result["content"]), result["success"]) == ({"at": "it"}, True)
        told = await stored(backend, client.session_id)
        assert [role for role, _, _ in told] == ["user", "assistant"]


async def test_our_own_client_talks_with_it(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        client = AgentTasksClient(
            f"http://127.0.0.1:{backend.client.port}", authorization=f"Bearer {TOKEN}", environ={}
        )
        try:
            for number in (1, 2):
                heard = [event async for event in client.ask(AgentTask("Well?"))]
                said = "".join(event.content for event in heard if isinstance(event, ev.StepAdded))
                assert (said, type(heard[-1])) == (f"{number}: Well?", ev.TurnDone)
        finally:
            await client.aclose()


async def test_a_session_lasts_from_task_to_task(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        client = original(backend)
        assert (await client.ask("one")).text == "1: one"
        first = client.session_id
        assert (await client.ask("two", voice=True)).text == "2: two"
        assert client.session_id == first
        other = original(backend)
        assert (await other.ask("one")).text == "1: one"
        assert other.session_id != first


async def test_a_session_that_nobody_knows_begins_anew_under_its_name(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        client = original(backend, session_id="sess-of/another service")
        async with client.socket() as socket:
            await client.subscribe(socket, client.session_id)  # before there is one
            await (await socket.ping())
            session_id, task_id = await client.post("one")
            assert session_id == "sess-of/another service"
            assert (await client.read(socket, task_id)).text == "1: one"
        assert (await client.ask("two")).text == "2: two"


async def test_who_subscribes_late_gets_the_whole_task_once(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda _: ["one ", "two ", "three"])) as backend:
        client = original(backend)
        session_id, task_id = await client.post("Count.")
        spoken = await backend.model.called(1)
        spoken.release(2)
        async with client.socket() as early, client.socket() as late:
            await client.subscribe(early, session_id)  # in the middle of it
            heard = TaskAnswer(task_id)
            while heard.text != "one two ":
                assert not await client.next(early, heard)
            await client.subscribe(early, session_id, task_id)  # what was told is not told again
            spoken.finish()
            while not await client.next(early, heard):
                pass
            assert heard.text == "one two three"
            await client.subscribe(late, session_id, task_id)  # after its end
            assert (await client.read(late, task_id)).text == "one two three"


async def test_what_a_slow_client_is_being_sent_while_it_names_the_task_arrives_once(tmp_path: Path) -> None:
    said, received = list[dict[str, Any]](), asyncio.Queue[Message]()
    is_asked, may_send, is_over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def send(message: Message) -> None:
        if message["type"] == "websocket.send":
            is_asked.set()
            await may_send.wait()
            said.append(json.loads(message["text"])["data"])
            if said[-1]["type"] == "completed":
                is_over.set()

    async with chat_backend(tmp_path, ScriptedModel(lambda _: ["one ", "two ", "three"])) as backend:
        session_id, task_id = await original(backend).post("Count.")
        spoken = await backend.model.called(1)
        spoken.release(2)
        service = AgentService(backend.engine, backend.hub, Workspaces(()))
        socket = WebSocket({"type": "websocket", "headers": []}, received.get, send)
        listening = asyncio.create_task(service.listen(socket))
        received.put_nowait({"type": "websocket.connect"})
        received.put_nowait({"type": "websocket.receive", "text": subscribe(session_id)})
        await is_asked.wait()
        received.put_nowait({"type": "websocket.receive", "text": subscribe(session_id, task_id)})
        received.put_nowait({"type": "websocket.receive", "text": "taken after that"})
        while not received.empty():  # noqa: ASYNC110 - nothing tells us
            await asyncio.sleep(0)
        may_send.set()
        spoken.finish()
        await is_over.wait()
        assert "".join(one.get("content", "") for one in said) == "one two three"
        received.put_nowait({"type": "websocket.disconnect"})
        await listening


async def test_two_tasks_in_one_session_are_told_apart(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["You said ", request.messages[-1].content])
    async with chat_backend(tmp_path, model) as backend:
        client = original(backend)
        session_id, first = await client.post("one")
        _, second = await client.post("two", attachments=[{"name": "a.txt", "content": "a file"}])
        async with client.socket() as one, client.socket() as two, client.socket() as both:
            await client.subscribe(one, session_id, first)
            await client.subscribe(two, session_id, second)
            await client.subscribe(both, session_id)
            for number in (1, 2):
                (await model.called(number)).finish()
            # ``read`` fails for a frame of another task.
            assert (await client.read(one, first)).text == "You said one"
            whole = (await client.read(two, second)).text
            assert whole.startswith("You said two")
            assert "a file" in whole
            texts = [answer.text for answer in await client.read_all(both, first, second)]
            assert texts == ["You said one", whole]
        assert [text for _, text, _ in await stored(backend, session_id)][:3] == [
            "one",
            "You said one",
            "two",
        ]


async def test_one_socket_may_follow_a_task_after_the_other(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["You said ", request.messages[-1].content])
    async with chat_backend(tmp_path, model) as backend:
        client = original(backend)
        session_id, first = await client.post("one")
        _, second = await client.post("two")
        async with client.socket() as socket:
            await client.subscribe(socket, session_id, first)
            (await model.called(1)).finish()
            assert (await client.read(socket, first)).text == "You said one"
            (await model.called(2)).finish()
            while (await stored(backend, session_id))[-1][1] != "You said two":
                pass
            await client.subscribe(socket, session_id, second)  # it is over by now
            assert (await client.read(socket, second)).text == "You said two"


@pytest.mark.parametrize("is_queued", [False, True])
async def test_a_cancelled_task_ends_and_the_session_goes_on(tmp_path: Path, is_queued: bool) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda _: ["one ", "two"])) as backend:
        client = original(backend)
        session_id, first = await client.post("Well?")
        task_id = first
        (await backend.model.called(1)).release()
        if is_queued:
            _, task_id = await client.post("And?")
        async with client.socket() as socket:
            await client.subscribe(socket, session_id, task_id)
            if not is_queued:
                heard = TaskAnswer(task_id)
                assert not await client.next(socket, heard)
            assert await client.cancel(task_id) == 200
            answer = await client.read(socket, task_id)
            assert answer.error == "Stopped"
        assert await client.cancel(task_id) == 404
        assert await client.cancel("nothing") == 404
        backend.model.free = True
        backend.model.calls[0].finish()
        async with client.socket() as socket:
            await client.subscribe(socket, session_id, first)
            await client.read(socket, first)
        assert (await client.ask("Again?")).text == "one two"
        told = await stored(backend, session_id)
        assert ("assistant", "one ", "stop") in told or is_queued
        assert ("user", "And?", "") not in told


async def test_the_system_prompt_of_a_task_governs_that_task_alone(tmp_path: Path) -> None:
    def says(request: ModelRequest) -> Script:
        return ["|".join(one.content for one in request.messages if one.role == "system") or "none"]

    async with chat_backend(tmp_path, ScriptedModel(says, free=True)) as backend:
        client = original(backend)
        assert (await client.ask("one", voice=True, systemPrompt="Be brief.")).text == "Be brief."
        assert (await client.ask("two")).text == "none"


async def test_files_alone_are_a_question(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        client = original(backend)
        files = [{"name": "a.txt", "type": "text/plain", "content": "words"}]
        text = (await client.ask("(see attachments)", attachments=files)).text
        assert "a.txt" in text
        assert "words" in text
        assert "see attachments" not in text


async def test_nobody_is_asked_what_a_tool_may_do_also_when_a_person_reads_along(tmp_path: Path) -> None:
    tool = writer()
    script = speaks(["Hm."], [call("change", {"text": "x"})], ["Then not."])
    async with chat_backend(tmp_path, script, tool) as backend:
        client = original(backend)
        await client.ask("one")
        path = f"{A_PATH}/{client.session_id}/events?follow=1"
        async with backend.client.open("GET", path, headers=FULL):
            answer = await client.ask("two")
        assert answer.text == "Then not."
        result = next(event for event in answer.events if event["type"] == "tool_result")
        assert result["success"] is False
        assert tool.ran == []


async def test_errors_are_told_and_end_no_session_by_their_words(tmp_path: Path) -> None:
    script = speaks([ModelError("the connection was ABORTED", "process exited")], ["Fine."])
    async with chat_backend(tmp_path, script) as backend:
        client = original(backend)
        answer = await client.ask("one")
        assert answer.error is not None
        assert answer.error.startswith("API Error: the connection was broken off")
        session_id = client.session_id
        assert session_id
        assert (await client.ask("two")).text == "Fine."
        assert client.session_id == session_id


async def test_a_deleted_conversation_ends_the_session(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda _: ["one ", "two"])) as backend:
        client = original(backend)
        session_id, task_id = await client.post("Well?")
        async with client.socket() as socket:
            await client.subscribe(socket, session_id, task_id)
            (await backend.model.called(1)).release()
            heard = TaskAnswer(task_id)
            assert not await client.next(socket, heard)
            await backend.client.call("DELETE", f"{A_PATH}/{session_id}")
            assert (await client.read(socket, task_id)).error
        backend.model.free = True
        assert (await client.ask("Again?")).error is None


async def test_a_used_up_budget_is_told(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, speaks(LOOKS, ["six"]), reader()) as backend:
        path = await backend.chat(max_tokens=1)
        client = original(backend, session_id=path.rpartition("/")[2])
        answer = await client.ask("one")
        assert answer.error == "The budget is used up"
        with pytest.raises(NotTaken) as refused:
            await client.ask("two")
        assert refused.value.status == 409


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"prompt": "  "}, 422),
        ({"prompt": 1}, 422),
        ({"prompt": "a", "voiceMode": "yes"}, 422),
        ({"prompt": "a", "sessionId": 1}, 422),
        ({"prompt": "a", "sessionId": "x" * 201}, 422),
        ({"prompt": "a", "attachments": "a.txt"}, 422),
        ({"prompt": "a", "attachments": ["a.txt"]}, 422),
        ({"prompt": "a", "attachments": [{"name": "a.txt"}]}, 422),
        ({"prompt": "a", "systemPrompt": []}, 422),
        (b"{", 400),
        (b"[]", 422),
    ],
)
async def test_what_is_no_task_is_refused(tmp_path: Path, body: Any, status: int) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        answer = await backend.post("/api/v1/agent/tasks", body)
        assert answer.status == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert (await backend.client.call("GET", A_PATH)).json["conversations"] == []


async def test_hostile_frames_are_skipped_or_end_their_own_socket(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        client = original(backend)
        session_id, task_id = await client.post("Well?")
        async with client.socket() as socket, client.socket() as huge, client.socket() as pieces:
            for frame in (
                "not json", "[]", "null", "7", "[" * 5000, '{"event":"subscribe_session"}',
                '{"event":"subscribe_session","data":[]}', '{"event":"other","data":{"sessionId":"x"}}',
                '{"event":"subscribe_session","data":{"sessionId":7}}',
                json.dumps({"event": "subscribe_session", "data": {"sessionId": "x" * 300}}),
                '{"event":"subscribe_session","data":{"sessionId":"\\ud800","taskId":"\\u0000"}}',
                b"\x00\xff", b"{}",
            ):  # fmt: skip
                await socket.send(frame)
            await send_all(huge, ["x" * (9 * 1024 * 1024)])
            assert (await until_closed(huge))[1] == 1009
            await send_all(pieces, [["x"] * 20_000])
            await until_closed(pieces)
            frame = json.loads(await socket.recv())  # the one for an unknown task
            assert frame["data"]["type"] == "error"
            await client.subscribe(socket, session_id, task_id)
            assert (await client.read(socket, task_id)).text == "1: Well?"


async def test_a_socket_has_a_bound_of_subscriptions(tmp_path: Path) -> None:
    async with (
        chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend,
        original(backend).socket() as socket,
    ):
        await send_all(socket, (subscribe(f"session-{number}") for number in range(200)))
        assert (await until_closed(socket))[1] == 1008


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "X-Large": "x" * 8000}, 0),
    ],
)
async def test_handshakes_pass_the_same_guard_as_calls(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        for path in ("/ws/agent", "/v1/agent_ws/0/"):
            upgrade = {
                "connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
                "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "authorization": "-",
            }  # fmt: skip
            named = {name.lower(): value for name, value in headers.items()}
            async with backend.client.open("GET", path, headers=upgrade | named) as stream:
                assert stream.status == (status or 101)


async def test_original_clients_send_no_token_with_the_socket(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        client = original(backend, on_socket=False)
        with pytest.raises(InvalidStatus) as refused:
            await client.ask("Well?")
        assert refused.value.response.status_code == 401
    database = f"sqlite:///{tmp_path / 'open.db'}"
    options = ("serve", "--database", database, "--no-token", "--demo-rate", "0")
    async with running(*options, folder=tmp_path) as process:
        answer = await OriginalTasks(process.url).ask("Well?")
        assert answer.error is None
        assert answer.text


def of_process(process: Process, session_id: str = "") -> OriginalTasks:
    """Return a client of a backend process."""
    return OriginalTasks(process.url, f"Bearer {PROCESS_TOKEN}", session_id=session_id)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_a_task_that_its_process_cut_is_on_record_and_the_session_goes_on(
    tmp_path: Path, end: signal.Signals
) -> None:
    async with running(*serve(tmp_path, rate=SLOW), folder=tmp_path) as process:
        client = of_process(process)
        async with client.socket() as socket:
            session_id, task_id = await client.post("Redis or PostgreSQL?", voice=True)
            _, queued = await client.post("And then?")
            await client.subscribe(socket, session_id, task_id)
            heard = TaskAnswer(task_id)
            while len(heard.events) < 3:
                assert not await client.next(socket, heard)
            before = heard.text
            begun = asyncio.get_running_loop().time()
            await process.end(end)
            assert asyncio.get_running_loop().time() - begun < 10
            for frame in (await until_closed(socket))[0]:
                heard.take(frame["data"])
            assert (heard.error or "") == ("Interrupted: handover" if end == signal.SIGTERM else "")
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        client = of_process(process, session_id)
        async with client.socket() as socket:
            await client.subscribe(socket, session_id, task_id)
            again = await client.read(socket, task_id)
            assert set(again.types) <= VOICE_TYPES
            assert again.text.startswith(before)
            assert again.error == f"Interrupted: {'crash' if end == signal.SIGKILL else 'handover'}"
            await client.subscribe(socket, session_id, queued)
            lost = await client.read(socket, queued)
            assert lost.error is not None
            assert "no such task" in lost.error
        answer = await client.ask("And now?")
        assert (answer.error, client.session_id) == (None, session_id)
        messages = (await process.client.call("GET", f"{A_PATH}/{session_id}/messages")).json["messages"]
        assert [one["role"] for one in messages] == ["user", "assistant", "user", "assistant"]
        assert json.loads(messages[1]["content"])["text"] == again.text


async def test_a_task_of_the_embedded_backend_goes_on_while_somebody_subscribes(tmp_path: Path) -> None:
    quick = ("--idle-seconds", "3", "--unwatched-seconds", "1", "--demo-rate", SLOW)
    async with running("embedded", "--data", str(tmp_path), *quick, folder=tmp_path) as process:
        token = json.loads((tmp_path / "backend.json").read_text())["token"]
        client = OriginalTasks(process.url, f"Bearer {token}")
        async with client.socket() as socket:
            session_id, task_id = await client.post("Redis or PostgreSQL?")
            await client.subscribe(socket, session_id, task_id)
            heard = TaskAnswer(task_id)
            while len(heard.events) < 20:  # two seconds
                assert not await client.next(socket, heard)
        assert await process.child.wait() == 0  # it was cut as soon as nobody was there
    async with running("embedded", "--data", str(tmp_path), folder=tmp_path) as process:
        token = json.loads((tmp_path / "backend.json").read_text())["token"]
        client = OriginalTasks(process.url, f"Bearer {token}")
        async with client.socket() as socket:
            await client.subscribe(socket, session_id, task_id)
            assert (await client.read(socket, task_id)).error == "Interrupted: unwatched"


async def test_many_sockets_come_and_go(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        client = original(backend)
        await client.ask("one")
        for _ in range(20):
            async with client.socket() as socket:
                await client.subscribe(socket, client.session_id)
                await (await socket.ping())
        await until_quiet(backend)
