"""The calls about chats, their messages, searching them and their tools (protocols.md §2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.http.chat_requests import MAX_QUESTION_BYTES
from agent_tui.backend.models.model import CutPiece, ModelRequest, UsagePiece
from agent_tui.backend.store.messages import MAX_PAGE_CHARACTERS
from agent_tui.wire.chat import decode_conversation, decode_messages
from tests.backend.chat_backend import A_PATH, FULL, ChatBackend, chat_backend, names, refused
from tests.backend.engine.chat_house import call, speaks
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel
from tests.fakes.scripted_tools import reader, writer


@pytest.fixture
async def chatting(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    """A backend whose model looks, then says something, again and again."""
    rounds: list[Script] = [[call("look", {"at": "it"})], ["It is ", "blue."]] * 20
    async with chat_backend(tmp_path, speaks(*rounds), reader(), writer()) as running:
        yield running


# --- conversations -------------------------------------------------------------------------------------


async def test_a_conversation_is_made_shown_changed_listed_and_deleted(
    chatting: ChatBackend, tmp_path: Path
) -> None:
    client = chatting.client
    wished = {
        "title": "Sky",
        "system_prompt": "Be brief.",
        "model": "big",
        "provider_id": "local",
        "temperature": 0.2,
        "thinking_enabled": True,
        "enabled_tools": ["look"],
        "workspace": str(tmp_path),
        "max_tokens": 5000,
        "max_cost": 1.5,
        "answer_tokens": 900,
        "on_resume": "again",
    }
    made = await client.call("POST", A_PATH, {**wished, "unknown": {"ignored": True}})
    assert made.status == 201
    assert made.headers["content-type"] == "application/json"
    chat = made.json
    assert wished.items() <= chat.items()
    assert {"status": "idle", "archived": False, "head": "", "tokens": 0, "last_event_id": 0}.items() <= (
        chat.items()
    )
    for time in (chat["created_at"], chat["updated_at"]):
        assert datetime.fromisoformat(time).utcoffset() is not None
    assert decode_conversation(chat).id == chat["id"]
    path = f"{A_PATH}/{chat['id']}"
    assert (await client.call("GET", path)).json == chat
    changes = {"title": "Sea", "temperature": None, "enabled_tools": None, "workspace": "", "model": None}
    changes["on_resume"] = "continue"
    changed = (await client.call("PATCH", path, changes)).json
    assert (changed["title"], changed["temperature"], changed["enabled_tools"]) == ("Sea", None, None)
    assert (changed["workspace"], changed["model"], changed["thinking_enabled"]) == ("", "big", True)
    assert changed["on_resume"] == "continue"
    await refused(chatting, "PATCH", path, {"on_resume": "explode"}, 422)
    assert changed.pop("unpriced") == ["big"]  # its budget does not limit it; no list says so
    assert (await client.call("GET", A_PATH)).json == {"conversations": [changed]}
    deleted = await client.call("DELETE", path)
    assert (deleted.status, deleted.json["id"]) == (200, chat["id"])
    await refused(chatting, "GET", path, None, 404)
    assert (await client.call("GET", A_PATH)).json == {"conversations": []}


async def test_nothing_at_all_is_enough_for_a_conversation(chatting: ChatBackend) -> None:
    for body in (None, {}, {"title": None, "enabled_tools": None, "temperature": None}):
        made = (await chatting.post(A_PATH, body)).json
        assert (made["title"], made["enabled_tools"], made["temperature"]) == ("", None, None)
        assert (made["provider_id"], made["model"]) == ("scripts", "scripts-model")


async def test_a_provider_that_is_not_configured_is_refused_but_where_it_was_before(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: ["Hm."])
    models = FakeModels(model)
    async with chat_backend(tmp_path, model, models=models) as chatting:
        path = await chatting.chat(provider_id="gone", model="old")
        models.configured = {"scripts"}
        for method, where in (("POST", A_PATH), ("PATCH", await chatting.chat())):
            detail = await refused(chatting, method, where, {"provider_id": "gone"}, 422)
            assert detail.endswith("no provider called 'gone': the config file has: scripts")
        kept = (await chatting.client.call("PATCH", path, {"provider_id": "gone", "model": "new"})).json
        assert (kept["provider_id"], kept["model"]) == ("gone", "new")
        moved = (await chatting.client.call("PATCH", path, {"provider_id": "scripts", "model": "any"})).json
        assert (moved["provider_id"], moved["model"]) == ("scripts", "any")


async def test_the_newest_activity_is_listed_first_and_the_archive_only_on_request(
    chatting: ChatBackend,
) -> None:
    first, second, third = [await chatting.chat(title=title) for title in ("a", "b", "c")]
    await chatting.ask(first)
    await chatting.client.call("PATCH", second, {"archived": True})

    async def listed(query: str = "") -> list[str]:
        answer = await chatting.client.call("GET", f"{A_PATH}{query}")
        return [f"{A_PATH}/{chat['id']}" for chat in answer.json["conversations"]]

    assert await listed() == [first, third]
    assert sorted(await listed("?archived=1")) == sorted([first, second, third])
    assert "archived" in await refused(chatting, "POST", f"{second}/messages", {"content": "x"}, 409)


async def test_what_a_conversation_cannot_be_is_a_422_that_names_the_field(
    chatting: ChatBackend, tmp_path: Path
) -> None:
    path = await chatting.chat()
    wrong: list[tuple[str, Any]] = [
        ("title", 1),
        ("title", "x" * 1000),
        ("system_prompt", ["x"]),
        ("temperature", "warm"),
        ("temperature", 9),
        ("temperature", True),
        ("thinking_enabled", "yes"),
        ("enabled_tools", "look"),
        ("enabled_tools[0]", [1]),
        ("enabled_tools", [""]),
        ("workspace", "relative/folder"),
        ("workspace", str(tmp_path / "missing")),
        ("workspace", str(tmp_path / "chats.db")),
        ("workspace", "/tmp\x00"),
        ("workspace", "/" + "x" * 5000),
        ("workspace", "/\ud800"),
        ("max_tokens", -1),
        ("max_tokens", "many"),
        ("max_cost", -0.1),
        ("max_cost", 10**400),
    ]
    for field, value in wrong:
        body = {field.removesuffix("[0]"): value}
        assert field in await refused(chatting, "POST", A_PATH, body, 422)
        assert field in await refused(chatting, "PATCH", path, body, 422)
    assert "title" in await refused(chatting, "PATCH", path, {"title": " "}, 422)
    assert "archived" in await refused(chatting, "PATCH", path, {"archived": "yes"}, 422)
    assert len((await chatting.client.call("GET", A_PATH)).json["conversations"]) == 1


async def test_a_server_lets_tools_work_below_its_own_folder_only(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "root-but-not"
    (root / "inside").mkdir(parents=True)
    outside.mkdir()
    (root / "way-out").symlink_to(outside)
    (root / "circle").symlink_to(root / "circle")
    (tmp_path / "way-in").symlink_to(root)
    async with chat_backend(tmp_path, speaks(["x"]), workspaces=(tmp_path / "way-in",)) as running:
        for allowed in (root, root / "inside", tmp_path / "way-in" / "inside", root / "inside" / ".."):
            made = await running.post(A_PATH, {"workspace": str(allowed)})
            assert (made.status, made.json["workspace"]) == (201, str(allowed.resolve()))
        path = await running.chat(workspace="")
        for denied in (
            outside,
            tmp_path,
            root / "way-out",
            root / "circle",
            root / ".." / "root-but-not",
            root / "missing",
            "inside",
            "\x00",
            "/\ud800",
            "/" + "x" * 5000,
        ):
            assert "workspace" in await refused(running, "POST", A_PATH, {"workspace": str(denied)}, 422)
            assert "workspace" in await refused(running, "PATCH", path, {"workspace": str(denied)}, 422)
        assert (await running.client.call("PATCH", path, {"workspace": str(root)})).status == 200


async def test_a_server_without_a_folder_has_no_place_for_tools(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, speaks(["x"]), workspaces=()) as running:
        assert "--workspace" in await refused(running, "POST", A_PATH, {"workspace": str(tmp_path)}, 422)
        assert (await running.post(A_PATH, {"workspace": ""})).status == 201


# --- questions -----------------------------------------------------------------------------------------


async def test_what_no_question_can_be_is_refused_and_nothing_is_asked(chatting: ChatBackend) -> None:
    path = await chatting.chat()
    file = {"name": "a.txt", "content": "a"}
    wrong: list[tuple[dict[str, Any], int, str]] = [
        ({}, 422, "empty"),
        ({"content": " \n"}, 422, "empty"),
        ({"content": ["x"]}, 422, "content"),
        ({"content": "x", "attachments": {}}, 422, "attachments"),
        ({"content": "x", "attachments": ["a.txt"]}, 422, "attachments[0]"),
        ({"content": "x", "attachments": [file, {"name": "b"}]}, 422, "attachments[1].content"),
        ({"content": "x", "attachments": [{"content": "b"}]}, 422, "attachments[0].name"),
        ({"attachments": [{**file, "name": " \n"}]}, 422, "needs a name"),
        ({"content": "x", "enabled_tools": [""]}, 422, "1 to 100 characters"),
        ({"content": "x", "attachments": [{**file, "content": 1}]}, 422, "attachments[0].content"),
        ({"content": "x", "attachments": [{**file, "type": 1}]}, 422, "attachments[0].type"),
        ({"content": "x", "attachments": [file] * 21}, 422, "attachments"),
        ({"content": "x", "thinking_enabled": 1}, 422, "thinking_enabled"),
        ({"content": "x", "enabled_tools": [None]}, 422, "enabled_tools[0]"),
        ({"content": "x", "parent_id": "nobody"}, 404, "nobody"),
        ({"again": "nobody"}, 404, "nobody"),
        ({"again": "nobody", "content": "x"}, 422, "retried"),
        ({"content": "x", "client_key": 1}, 422, "client_key"),
    ]
    for body, status, words in wrong:
        assert words in await refused(chatting, "POST", f"{path}/messages", body, status)
    assert "JSON" in await refused(chatting, "POST", f"{path}/messages", b"{", 400)
    assert "object" in await refused(chatting, "POST", f"{path}/messages", [], 422)
    assert chatting.model.calls == []
    assert (await chatting.client.call("GET", f"{path}/messages")).json["messages"] == []


@pytest.mark.slow
async def test_a_question_may_have_eight_mebibytes_and_other_bodies_one(chatting: ChatBackend) -> None:
    path = await chatting.chat()
    text = "x" * (MAX_QUESTION_BYTES - 1000)
    frames = await chatting.ask(path, "What is in it?", attachments=[{"name": "big.txt", "content": text}])
    assert names(frames)[-1] == "done"
    told = chatting.model.calls[0].request.messages[-1].content
    assert (text in told, "big.txt" in told) == (True, True)
    large = b'{"content": "' + b"x" * MAX_QUESTION_BYTES + b'"}'
    assert "8,388,608" in await refused(chatting, "POST", f"{path}/messages", large, 413)
    assert "1,048,576" in await refused(chatting, "PATCH", path, large, 413)


async def test_while_an_answer_is_under_way_another_question_is_refused(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda request: ["Yes", "."])) as running:
        path = await running.chat()
        asking = asyncio.create_task(running.ask(path))
        answering = await running.model.called(1)
        assert "under way" in await refused(running, "POST", f"{path}/messages", {"content": "And?"}, 409)
        assert (await running.client.call("GET", path)).json["status"] == "running"
        await refused(running, "PATCH", path, {"archived": True}, 409)
        await refused(running, "PATCH", path, {"head": "x"}, 409)
        assert (await running.client.call("PATCH", path, {"title": "Still"})).json["title"] == "Still"
        answering.finish()
        assert names(await asking)[-1] == "done"


async def test_a_spent_budget_refuses_the_next_question(chatting: ChatBackend) -> None:
    path = await chatting.chat(max_tokens=1)
    assert (await chatting.ask(path))[-1].fields == {"content": "The budget is used up"}
    assert "budget" in await refused(chatting, "POST", f"{path}/messages", {"content": "And?"}, 409)


async def test_stopping_is_idempotent_and_keeps_what_was_said(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda request: ["Yes, ", "but"])) as running:
        path = await running.chat()
        assert (await running.post(f"{path}/stop")).status == 202
        async with running.client.open("POST", f"{path}/messages", {"content": "Well?"}) as stream:
            (await running.model.called(1)).release()
            frames = stream.frames()
            assert (await anext(frames)).fields["step"]["content"] == "Yes, "
            for _ in range(2):
                stopped = await running.post(f"{path}/stop")
                assert (stopped.status, f"{A_PATH}/{stopped.json['id']}") == (202, path)
            assert (await anext(frames)).fields == {"content": "Stopped"}
            assert [frame async for frame in frames] == []
        page = (await running.client.call("GET", f"{path}/messages")).json
        last = page["messages"][-1]
        assert (last["interrupted"], json.loads(last["content"])["text"]) == ("stop", "Yes, ")


# --- messages ------------------------------------------------------------------------------------------


async def test_messages_are_the_shown_branch_page_by_page(chatting: ChatBackend) -> None:
    path = await chatting.chat()
    file = {"name": "a.txt", "type": "text/plain", "content": "目标"}
    first = await chatting.ask(path, "One?", attachments=[file])
    await chatting.ask(path, "Two?")
    whole = (await chatting.client.call("GET", f"{path}/messages")).json
    question, answer, *_ = whole["messages"]
    assert json.loads(question["content"]) == {"text": "One?", "attachments": [file]}
    assert (question["role"], question["parent_id"]) == ("user", "")
    content = json.loads(answer["content"])
    assert [step["type"] for step in content["steps"]] == ["tool_call", "tool_result", "text"]
    assert content["steps"] == [
        frame.fields["step"]
        for frame in first[:-1]
        if frame.fields["step"].get("content") != "It is "  # the newest of each
    ]
    assert (content["text"], content["tool_calls"][0]["name"]) == ("It is blue.", "look")
    assert (answer["role"], answer["parent_id"], answer["id"]) == (
        "assistant",
        question["id"],
        first[-1].fields["message_id"],
    )
    assert answer["calls"]["step-0"]["status"] == "done"
    assert answer["conversation_id"] == path.removeprefix(f"{A_PATH}/")
    assert len(decode_messages(whole)) == 4
    assert whole["as_of"] == (await chatting.client.call("GET", path)).json["last_event_id"]
    pages, after = [], ""
    while True:
        page = (await chatting.client.call("GET", f"{path}/messages?limit=3{after}")).json
        pages += page["messages"]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert pages == whole["messages"]
    for query, status in (("after=nobody", 404), ("after=a/b", 404), ("limit=0", 400), ("limit=x", 400)):
        await refused(chatting, "GET", f"{path}/messages?{query}", None, status)


@pytest.mark.slow
async def test_large_messages_come_on_pages_that_a_client_can_take(chatting: ChatBackend) -> None:
    path = await chatting.chat()
    for number in range(3):
        await chatting.ask(path, attachments=[{"name": f"{number}.txt", "content": "x" * 3_000_000}])
    sizes, after = [], ""
    while True:
        page = (await chatting.client.call("GET", f"{path}/messages{after}")).json
        sizes.append([len(message["content"]) for message in page["messages"]])
        if page["next"] is None:
            break
        after = f"?after={page['next']}"
    assert [len(page) for page in sizes] == [4, 2]
    assert all(sum(page) <= MAX_PAGE_CHARACTERS for page in sizes)


async def test_another_branch_is_shown_after_an_edit_and_again_after_going_back(
    chatting: ChatBackend,
) -> None:
    path = await chatting.chat()
    await chatting.ask(path, "Badly put?")
    old = (await chatting.client.call("GET", f"{path}/messages")).json["messages"]
    await chatting.ask(path, "Well put?", parent_id="")
    new = (await chatting.client.call("GET", f"{path}/messages")).json["messages"]
    assert json.loads(new[0]["content"])["text"] == "Well put?"
    assert new[0]["versions"] == [old[0]["id"], new[0]["id"]]
    shown = (await chatting.client.call("PATCH", path, {"head": old[0]["id"]})).json
    assert shown["head"] == old[1]["id"]
    again = await chatting.ask(path, "", again=old[0]["id"])
    messages = (await chatting.client.call("GET", f"{path}/messages")).json["messages"]
    assert messages[1]["versions"] == [old[1]["id"], again[-1].fields["message_id"]]
    await refused(chatting, "PATCH", path, {"head": "nobody"}, 404)


async def test_the_answer_under_way_is_among_the_messages(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda request: ["Yes, ", "but"])) as running:
        path = await running.chat()
        async with running.client.open("POST", f"{path}/messages", {"content": "Well?"}) as stream:
            answering = await running.model.called(1)
            answering.release()
            await anext(stream.frames())
            page = (await running.client.call("GET", f"{path}/messages")).json
            said = page["messages"][-1]
            assert (said["status"], json.loads(said["content"])["text"]) == ("streaming", "Yes, ")
            answering.finish()
        rest = await running.all_frames("GET", f"{path}/events?after={page['as_of']}", headers=FULL)
        assert rest[0].fields == {"id": "step-0", "content": "but"}


async def test_an_answer_that_ran_out_of_tokens_is_finished_by_a_question_that_continues_it(
    tmp_path: Path,
) -> None:
    def parts(request: ModelRequest) -> Script:
        if request.continues:
            return [" and on.", UsagePiece(20, 3)]
        return ["So far", CutPiece("length"), UsagePiece(10, 2)]

    async with chat_backend(tmp_path, ScriptedModel(parts, free=True)) as running:
        path = await running.chat()
        frames = await running.ask(path)
        assert (frames[-1].name, "ran out of tokens" in frames[-1].fields["content"]) == ("error", True)
        cut = (await running.client.call("GET", f"{path}/messages")).json["messages"][-1]
        assert (cut["interrupted"], cut["token_count"], "error" in cut) == ("length", 2, False)
        rest = await running.ask(path, "", continues=cut["id"])
        assert (rest[-1].name, rest[-1].fields["token_count"]) == ("done", 3)
        told = (await running.client.call("GET", f"{path}/messages")).json["messages"][-1]
        assert (told["continues"], told["token_count"], told["usage"]["prompt_tokens"]) == (cut["id"], 3, 20)
        assert json.loads(told["content"])["text"] == " and on."
        assert "complete" in await refused(running, "POST", f"{path}/messages", {"continues": cut["id"]}, 409)
        assert "nobody" in await refused(running, "POST", f"{path}/messages", {"continues": "nobody"}, 404)


async def test_a_message_without_a_count_of_its_provider_has_none(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, speaks(["Without a count."])) as running:
        path = await running.chat()
        frames = await running.ask(path)
        assert frames[-1].fields["token_count"] == 0
        assert (await running.client.call("GET", f"{path}/messages")).json["messages"][-1]["token_count"] == 0
