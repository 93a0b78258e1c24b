"""The agent socket (protocols.md §4) over real sockets, to clients that know that protocol alone."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from agent_tui.backend.models.model import ModelRequest, ThinkingPiece
from agent_tui.backend.tools.writing import WriteFile
from agent_tui.clients.agents.socket import AgentSocketClient
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentBusy, ModelError
from tests.backend.chat_backend import A_PATH, FULL, TOKEN, ChatBackend, chat_backend
from tests.backend.engine.chat_house import call, speaks
from tests.backend.processes import running
from tests.backend.sockets import send_all, until_closed, until_quiet
from tests.backend.wire_client import WireClient
from tests.clients.agents.agent_socket.asking import ask
from tests.fakes.agents.agent_socket_original import Busy, OriginalClient, OriginalError
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import reader, writer

SLOW = "10"  # tokens/s of the demo model
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def echoes(request: ModelRequest) -> Script:
    """Answer with the last words of the user, and how many of them there were."""
    asked = [message.content for message in request.messages if message.role == "user"]
    return [f"{len(asked)}: ", asked[-1]]


@asynccontextmanager
async def original(url: str, chat_id: int = 0) -> AsyncIterator[OriginalClient]:
    """Give a connected client as the original's."""
    client = OriginalClient(f"{url}/", chat_id)
    await client.connect()
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def socket_of(backend: ChatBackend, chat_id: str = "0") -> AsyncIterator[ClientConnection]:
    """Give a bare socket whose ``STATUS`` was read."""
    url = f"ws://127.0.0.1:{backend.client.port}/v1/agent_ws/{chat_id}/"
    async with connect(url, additional_headers=AUTHORIZED, proxy=None) as socket:
        assert json.loads(await socket.recv()) == {"type": "STATUS"}
        yield socket


def user_message(text: str, **fields: Any) -> str:
    """Return a question's frame."""
    return json.dumps({"type": "USER_MESSAGE", "text": text, **fields})


async def answer_of(socket: ClientConnection) -> list[dict[str, Any]]:
    """Return the frames up to the one that ends an answer."""
    frames = [json.loads(await socket.recv())]
    while frames[-1]["type"] not in ("AGENT_EVENT_END", "ERROR"):
        frames.append(json.loads(await socket.recv()))
    return frames


def said(frames: list[dict[str, Any]]) -> str:
    """Return the words in frames."""
    return "".join(frame.get("text", "") for frame in frames)


async def the_chat(client: WireClient) -> Any:
    """Return the one conversation there is."""
    [chat] = (await client.call("GET", A_PATH)).json["conversations"]
    return chat


async def messages(client: WireClient) -> list[tuple[str, str, str]]:
    """Return (role, text, why it was cut) of its messages."""
    answer = await client.call("GET", f"{A_PATH}/{(await the_chat(client))['id']}/messages")
    return [
        (one["role"], json.loads(one["content"])["text"], one.get("interrupted", ""))
        for one in answer.json["messages"]
    ]


def open_backend(folder: Path, *options: str, rate: str = "0") -> tuple[str, ...]:
    """Return the arguments of a `serve` that asks for no token: an original client has none."""
    database = f"sqlite:///{folder / 'rooms.db'}"
    return ("serve", "--database", database, "--no-token", "--demo-rate", rate, *options)


async def test_an_original_client_gets_an_answer_to_the_letter(tmp_path: Path) -> None:
    async with running(*open_backend(tmp_path), folder=tmp_path) as process:
        async with original(process.url) as client:
            answer = await client.ask("Redis or PostgreSQL?")
            assert answer.text
            assert answer.tokens_used > 0
            assert (await client.ask("Why?")).text
        assert (client.errors, client.orphans) == ([], [])
        told = await messages(process.client)
        assert [role for role, _, _ in told] == ["user", "assistant", "user", "assistant"]
        assert told[1][1] == answer.text
        async with original(process.url, 7) as other:
            assert (await other.ask("Hello?")).text
        assert len((await process.client.call("GET", A_PATH)).json["conversations"]) == 2


async def test_tools_and_thoughts_are_told_in_the_words_of_the_protocol(tmp_path: Path) -> None:
    script = speaks([ThinkingPiece("Hm."), "First. ", call("look", {"at": "it"})], ["It is blue."])
    async with chat_backend(tmp_path, script, reader()) as backend, socket_of(backend) as socket:
        await socket.send(user_message("What colour?"))
        frames = await answer_of(socket)
        assert said(frames) == "First. It is blue."
        calls = [frame for frame in frames if frame["type"] == "AGENT_EVENT_TOOL_CALL_CHUNK"]
        assert calls[0]["tool_name"] == "look"
        assert json.loads("".join(frame.get("args_chunk", "") for frame in calls)) == {"at": "it"}
        [result] = [frame for frame in frames if frame["type"] == "AGENT_EVENT_TOOL_RESULT"]
        assert (result["tool_name"], json.loads(result["result"])) == ("look", {"at": "it"})
        assert frames[-1]["type"] == "AGENT_EVENT_END"


async def test_our_own_client_talks_with_it_and_is_told_that_it_is_busy(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        url = f"http://127.0.0.1:{backend.client.port}/"
        client, late = (AgentSocketClient(url, authorization=f"Bearer {TOKEN}", environ={}) for _ in "ab")
        try:
            for number in (1, 2):
                heard = [event async for event in ask(client, "Well?")]
                words = "".join(event.content for event in heard if isinstance(event, ev.StepAdded))
                assert (words, type(heard[-1])) == (f"{number}: Well?", ev.TurnDone)
            with pytest.raises(AgentBusy, match=r"^the chat is busy: Another client holds it"):
                async for _ in ask(late, "Me too?"):
                    pass
        finally:
            await late.aclose()
            await client.aclose()


async def test_a_chat_has_one_client_and_the_next_one_goes_on_with_it(tmp_path: Path) -> None:
    async with running(*open_backend(tmp_path), folder=tmp_path) as process:
        async with original(process.url, 3) as first:
            with pytest.raises(Busy):  # HTTP 403
                async with original(process.url, 3):
                    pass
            async with original(process.url, 4) as other:
                assert (await other.ask("Well?")).text
            assert (await first.ask("Well?")).text
        async with original(process.url, 3) as again:
            assert (await again.ask("And?")).text


async def test_a_second_question_meanwhile_is_refused(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda _: ["one ", "two"])) as backend:
        async with socket_of(backend) as socket:
            await socket.send(user_message("Well?"))
            spoken = await backend.model.called(1)
            await socket.send(user_message("And?"))
            busy = json.loads(await socket.recv())
            assert (busy["type"], busy["code"]) == ("ERROR", "CHAT_BUSY")
            spoken.finish()
            assert said(await answer_of(socket)) == "one two"
        assert [role for role, _, _ in await messages(backend.client)] == ["user", "assistant"]


async def test_a_question_while_a_person_is_answered_there_is_refused(tmp_path: Path) -> None:
    async with (
        chat_backend(tmp_path, ScriptedModel(lambda _: ["one ", "two"])) as backend,
        socket_of(backend) as socket,
    ):
        await socket.send(user_message("Well?"))
        (await backend.model.called(1)).finish()
        await answer_of(socket)
        path = f"{A_PATH}/{(await the_chat(backend.client))['id']}/messages"
        async with backend.client.open("POST", path, {"content": "And?"}, FULL):
            spoken = await backend.model.called(2)
            await socket.send(user_message("Me too?"))
            [busy] = await answer_of(socket)
            assert busy["code"] == "CHAT_BUSY"
            spoken.finish()


async def test_an_answer_whose_client_leaves_is_stopped_and_its_words_are_kept(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda _: ["one ", "two"])) as backend:
        async with socket_of(backend) as socket:
            await socket.send(user_message("Well?"))
            (await backend.model.called(1)).release()
            assert said([json.loads(await socket.recv())]) == "one "
        await until_quiet(backend)
        assert backend.model.open_calls() == []
        assert await messages(backend.client) == [("user", "Well?", ""), ("assistant", "one ", "stop")]
        async with socket_of(backend) as socket:
            await socket.send(user_message("Again?"))
            (await backend.model.called(2)).finish()
            assert said(await answer_of(socket)) == "one two"


async def test_a_question_whose_client_leaves_at_once_is_not_answered_for_nobody(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda _: ["one ", "two"])) as backend:
        async with socket_of(backend) as socket:
            await socket.send(user_message("Well?"))
        await until_quiet(backend)
        assert backend.model.open_calls() == []


async def test_errors_are_error_frames_and_the_chat_goes_on(tmp_path: Path) -> None:
    script = speaks([ModelError("the model is gone")], ["Fine."])
    async with chat_backend(tmp_path, script) as backend, socket_of(backend) as socket:
        await socket.send(user_message("Well?"))
        [error] = await answer_of(socket)
        assert (error["type"], error["code"]) == ("ERROR", "AGENT_ERROR")
        assert error["details"].startswith("API Error: the model is gone")
        await socket.send(user_message("  "))  # nothing is asked
        assert (await answer_of(socket))[-1]["type"] == "ERROR"
        await socket.send(user_message("Again?"))
        assert said(await answer_of(socket)) == "Fine."


async def test_attachments_are_read_in_the_workspace_and_nowhere_else(tmp_path: Path) -> None:
    folder, outside = tmp_path / "work", tmp_path / "secret.txt"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "a.txt").write_text("blue")
    (folder / "binary").write_bytes(b"\xff\x00")
    (folder / "huge.txt").write_text("x" * 2_000_000)
    outside.write_text("secret")
    (folder / "link.txt").symlink_to(outside)
    model = ScriptedModel(echoes, free=True)
    async with chat_backend(tmp_path, model, workspaces=(folder,)) as backend, socket_of(backend) as socket:
        for path in ("missing.txt", "../secret.txt", str(outside), "link.txt", "notes", "", "binary",
                     "huge.txt", "a\nb", "\x1b[2J"):  # fmt: skip
            await socket.send(user_message("Read it.", attachments=["notes/a.txt", path]))
            [error] = await answer_of(socket)
            assert error["type"] == "ERROR", path
            assert "secret.txt: is" not in error["details"] or "outside" in error["details"]
        assert model.calls == []
        await socket.send(user_message("Read it.", attachments=["notes/a.txt"]))
        text = said(await answer_of(socket))
        assert text.startswith("1: Read it.")
        assert "notes/a.txt" in text
        assert "blue" in text


async def test_without_a_workspace_an_attachment_is_an_error(tmp_path: Path) -> None:
    model = ScriptedModel(echoes, free=True)
    async with chat_backend(tmp_path, model) as backend, socket_of(backend) as socket:
        await socket.send(user_message("Read it.", attachments=["a.txt"]))
        [error] = await answer_of(socket)
        assert "no workspace" in error["details"]


async def test_what_a_rule_allows_is_run_and_its_file_offered_and_the_rest_is_denied(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "out").mkdir(parents=True)
    wanted = ({"path": "./out/../a.txt", "content": "blue"}, {"path": "b.txt", "content": "red"})
    calls = [call("write_file", arguments, place) for place, arguments in enumerate(wanted)]
    async with (
        chat_backend(
            tmp_path,
            speaks(calls, ["Done."]),
            WriteFile(),
            workspaces=(folder,),
            allow=("write_file(*a.txt)",),
        ) as backend,
        socket_of(backend) as socket,
    ):
        await socket.send(user_message("Write them."))
        frames = await answer_of(socket)
    offers = [frame for frame in frames if frame["type"] == "AGENT_EVENT_SEND_FILE"]
    assert offers == [{"type": "AGENT_EVENT_SEND_FILE", "path": "a.txt"}]
    results = [frame["result"] for frame in frames if frame["type"] == "AGENT_EVENT_TOOL_RESULT"]
    assert [json.loads(one)["error"] for one in results if one.startswith("{")] == [
        "not run: nobody was there to allow it"
    ]
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["a.txt"]
    assert (folder / "a.txt").read_text() == "blue"


async def test_nobody_is_asked_what_a_tool_may_do(tmp_path: Path) -> None:
    tool = writer()
    script = speaks([call("change", {"text": "x"})], ["Then not."])
    async with chat_backend(tmp_path, script, tool) as backend, socket_of(backend) as socket:
        await socket.send(user_message("Do it."))
        frames = await answer_of(socket)
        [result] = [frame for frame in frames if frame["type"] == "AGENT_EVENT_TOOL_RESULT"]
        assert json.loads(result["result"])["success"] is False
        assert said(frames) == "Then not."
        assert tool.ran == []


async def test_a_frame_that_is_not_of_the_protocol_is_an_error_and_no_end(tmp_path: Path) -> None:
    frames: tuple[tuple[str | bytes, str], ...] = (
        ("not json", "PARSE_ERROR"),
        ("", "PARSE_ERROR"),
        ("[" * 5000, "PARSE_ERROR"),
        (b"\x00\xff", "PARSE_ERROR"),
        (b"{}", "PARSE_ERROR"),
        ("[]", "UNEXPECTED_MSG_TYPE"),
        ("{}", "UNEXPECTED_MSG_TYPE"),
        ('{"type":7}', "UNEXPECTED_MSG_TYPE"),
        ('{"type":"STATUS"}', "UNEXPECTED_MSG_TYPE"),
        ('{"type":"USER_MESSAGE"}', "UNEXPECTED_MSG_TYPE"),
        ('{"type":"USER_MESSAGE","text":7}', "UNEXPECTED_MSG_TYPE"),
        ('{"type":"USER_MESSAGE","text":"a","attachments":"a"}', "UNEXPECTED_MSG_TYPE"),
        ('{"type":"USER_MESSAGE","text":"a","attachments":[7]}', "UNEXPECTED_MSG_TYPE"),
        ('{"type":"CLIENT_TOOL_RESULT","call_id":"x","result":1}', "UNEXPECTED_MSG_TYPE"),
    )
    model = ScriptedModel(echoes, free=True)
    async with chat_backend(tmp_path, model) as backend, socket_of(backend) as socket:
        for number, (frame, code) in enumerate(frames, 1):
            await socket.send(frame)
            error = json.loads(await socket.recv())
            assert (error["type"], error["code"]) == ("ERROR", code), frame[:100]
            await socket.send(user_message("Well?"))
            assert said(await answer_of(socket)) == f"{number}: Well?"


async def test_what_is_too_large_or_too_much_ends_the_connection(tmp_path: Path) -> None:
    model = ScriptedModel(echoes, free=True)
    floods: tuple[tuple[Any, int], ...] = ((["x" * (9 * 1024 * 1024)], 1009), (["{"] * 200, 1008))
    async with chat_backend(tmp_path, model) as backend:
        for number, (sent, code) in enumerate(floods):
            async with socket_of(backend, str(number)) as socket:
                await send_all(socket, sent)
                assert (await until_closed(socket))[1] == code
        async with socket_of(backend, "2") as socket:
            await send_all(socket, [["x"] * 20_000])  # fragments
            await until_closed(socket)
        async with socket_of(backend) as socket:  # the chat is free again
            await socket.send(user_message("Well?"))
            assert said(await answer_of(socket)) == "1: Well?"


async def test_paths_that_are_no_chat_are_refused(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(echoes, free=True)) as backend:
        for path in ("/v1/agent_ws/%0a/", "/v1/agent_ws/a%20b/", "/v1/agent_ws/0", "/health", "/elsewhere"):
            with pytest.raises(InvalidStatus) as refused:
                async with connect(
                    f"ws://127.0.0.1:{backend.client.port}{path}", additional_headers=AUTHORIZED, proxy=None
                ):
                    pass
            assert refused.value.response.status_code == 404  # 403 means that the chat is busy
        long = f"/v1/agent_ws/{'x' * 20_000}/"
        async with backend.client.open("GET", long, headers=UPGRADE) as stream:
            assert 400 <= stream.status < 500


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_an_answer_that_its_process_cut_is_on_record_and_the_chat_goes_on(
    tmp_path: Path, end: signal.Signals
) -> None:
    is_killed = end == signal.SIGKILL
    async with running(*open_backend(tmp_path, rate=SLOW), folder=tmp_path) as process:
        url = process.url.replace("http", "ws", 1) + "/v1/agent_ws/5/"
        async with connect(url, proxy=None) as socket:
            assert json.loads(await socket.recv()) == {"type": "STATUS"}
            await socket.send(user_message("Redis or PostgreSQL?"))
            frames = [json.loads(await socket.recv()) for _ in range(4)]
            begun = asyncio.get_running_loop().time()
            ending = asyncio.create_task(process.end(end))
            frames += (await until_closed(socket))[0]
            await ending
            assert asyncio.get_running_loop().time() - begun < 10
            if not is_killed:
                assert frames[-2]["details"] == "Interrupted: handover"
                assert frames[-1] == {"type": "GRACEFUL_DISCONNECT"}
    async with running(*open_backend(tmp_path), folder=tmp_path) as process:
        told = await messages(process.client)
        assert [(role, cut) for role, _, cut in told] == [
            ("user", ""),
            ("assistant", "crash" if is_killed else "handover"),
        ]
        assert told[1][1].startswith(said(frames))
        async with original(process.url, 5) as client:
            assert (await client.ask("And now?")).text
        assert len(await messages(process.client)) == 4


async def test_an_idle_client_is_told_that_the_backend_stops(tmp_path: Path) -> None:
    async with running(*open_backend(tmp_path), folder=tmp_path) as process:
        async with original(process.url) as client:
            assert await process.end() == 0
        assert client.graceful
        assert client.disconnects == 1
        assert await process.complaints() == ""


async def test_a_question_fails_clearly_where_the_chat_was_deleted_meanwhile(tmp_path: Path) -> None:
    async with (
        chat_backend(tmp_path, ScriptedModel(lambda _: ["one ", "two"])) as backend,
        socket_of(backend) as socket,
    ):
        await socket.send(user_message("Well?"))
        (await backend.model.called(1)).release()
        assert said([json.loads(await socket.recv())]) == "one "
        chat = await the_chat(backend.client)
        await backend.client.call("DELETE", f"{A_PATH}/{chat['id']}")
        assert (await answer_of(socket))[-1]["type"] == "ERROR"
        backend.model.free = True
        await socket.send(user_message("Again?"))  # a new conversation
        assert said(await answer_of(socket)) == "one two"


async def test_an_original_client_reports_errors_by_their_code(tmp_path: Path) -> None:
    async with running(*open_backend(tmp_path), folder=tmp_path) as process, original(process.url) as client:
        with pytest.raises(OriginalError) as failed:
            await client.ask("Read it.", ["missing.txt"])
        assert failed.value.code == "AGENT_ERROR"
        assert (await client.ask("Well?")).text
