"""Searching in chats, their tools, and what is none of their calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.backend.chat_backend import A_PATH, ChatBackend, chat_backend, refused
from tests.backend.engine.chat_house import call, speaks
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import reader, writer


@pytest.fixture
async def chatting(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    """A backend whose model looks, then says something, again and again."""
    rounds: list[Script] = [[call("look", {"at": "it"})], ["It is ", "blue."]] * 20
    async with chat_backend(tmp_path, speaks(*rounds), reader(), writer()) as running:
        yield running


# --- searching, tools ----------------------------------------------------------------------------------


async def test_words_are_found_in_all_conversations_newest_first(chatting: ChatBackend) -> None:
    one, two = await chatting.chat(title="One"), await chatting.chat(title="Two")
    await chatting.ask(one, "Why is the sea salty?")
    await chatting.ask(two, "红色的苹果和 sea?")
    found = (await chatting.client.call("GET", "/api/search?q=sea")).json["hits"]
    assert [(hit["title"], hit["role"]) for hit in found] == [("Two", "user"), ("One", "user")]
    assert found[1] == {
        "conversation_id": one.removeprefix(f"{A_PATH}/"),
        "title": "One",
        "message_id": (await chatting.client.call("GET", f"{one}/messages")).json["messages"][0]["id"],
        "role": "user",
        "snippet": "Why is the \x02sea\x03 salty?",
        "created_at": found[1]["created_at"],
        "kind": "chat",
    }
    assert len((await chatting.client.call("GET", "/api/search?q=sea&limit=1")).json["hits"]) == 1
    hits = (await chatting.client.call("GET", "/api/search?q=%E8%8B%B9%E6%9E%9C")).json["hits"]
    assert [hit["title"] for hit in hits] == ["Two"]
    for strange in ("", "%22", "*", "a%20OR%20b%20NEAR(", "%00", "-", "NOT"):
        assert (await chatting.client.call("GET", f"/api/search?q={strange}")).status == 200
    await refused(chatting, "GET", "/api/search", None, 400)
    await refused(chatting, "GET", "/api/search?q=x&limit=0", None, 400)


async def test_words_of_rooms_are_found_where_they_are_asked_for(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, ScriptedModel(lambda _: ["Yes."], free=True)) as chatting:
        await _find_in_rooms(chatting)


async def _find_in_rooms(chatting: ChatBackend) -> None:
    await chatting.chat(title="Sea")
    room = {"task": "Why is the sea salty?", "agents": [{"name": "Ada"}], "max_rounds": 1}
    made = (await chatting.client.call("POST", "/api/rooms", room)).json
    searched = "/api/search?q=sea&kinds=room,chat,voice"
    before = (await chatting.client.call("GET", searched)).json["hits"]
    assert [(hit["kind"], hit["title"], hit["message_id"]) for hit in before] == [
        ("room", "Why is the sea salty?", ""),  # nobody said anything yet
        ("chat", "Sea", ""),
    ]
    await chatting.all_frames("POST", f"/api/rooms/{made['id']}/run")
    said = (await chatting.client.call("GET", f"/api/rooms/{made['id']}/messages")).json["messages"]
    found = (await chatting.client.call("GET", searched)).json["hits"]
    assert [(hit["kind"], hit["title"]) for hit in found] == [("chat", "Sea"), ("room", room["task"])]
    assert found[1] == {
        "conversation_id": made["id"],
        "title": room["task"],
        "message_id": said[0]["id"],
        "role": "user",
        "snippet": "Why is the \x02sea\x03 salty?",
        "created_at": said[0]["created_at"],
        "kind": "room",
    }
    answer = (await chatting.client.call("GET", "/api/search?q=Yes&kinds=room")).json["hits"]
    assert [(hit["message_id"], hit["role"]) for hit in answer] == [(said[1]["id"], "assistant")]
    only = (await chatting.client.call("GET", "/api/search?q=sea")).json["hits"]  # as ever
    assert [hit["kind"] for hit in only] == ["chat"]
    await refused(chatting, "GET", "/api/search?q=x&kinds=room,letter", None, 400)
    await chatting.client.call("PATCH", f"/api/rooms/{made['id']}", {"name": "Salt in the sea"})
    named = (await chatting.client.call("GET", searched)).json["hits"]
    assert [hit["message_id"] for hit in named] == ["", "", said[0]["id"]]
    await chatting.client.call("DELETE", f"/api/rooms/{made['id']}")
    assert [hit["kind"] for hit in (await chatting.client.call("GET", searched)).json["hits"]] == ["chat"]


async def test_tools_are_listed_with_what_they_may_do_and_where_they_are_from(chatting: ChatBackend) -> None:
    listed = (await chatting.client.call("GET", "/api/tools")).json["tools"]
    assert listed[0] == {
        "name": "look",
        "description": "What look does.",
        "parameters": {"type": "object"},
        "permission": "read",
        "source": "built-in",
        "only_if_named": False,
    }
    assert [(tool["name"], tool["permission"]) for tool in listed] == [("look", "read"), ("change", "ask")]


# --- ids, methods --------------------------------------------------------------------------------------


async def test_a_list_of_rooms_hears_nothing_of_conversations(chatting: ChatBackend) -> None:
    cursor = (await chatting.client.call("GET", "/api/rooms")).json["cursor"]
    path = await chatting.chat()
    await chatting.ask(path)
    await chatting.client.call("PATCH", path, {"title": "Sky"})
    news = (await chatting.client.call("GET", f"/api/rooms?after={cursor}&wait=0")).json
    assert (news["cursor"], news["rooms"]) == (cursor, [])


async def test_what_is_no_conversation_is_a_404_everywhere(chatting: ChatBackend) -> None:
    for chat_id in ("nobody", "a%2Fb", "..%2F..", "x" * 300, "%00", "%C3%A4"):
        path = f"{A_PATH}/{chat_id}"
        for method, at, body in (
            ("GET", "", None),
            ("PATCH", "", {"title": "x"}),
            ("DELETE", "", None),
            ("GET", "/messages", None),
            ("POST", "/messages", {"content": "x"}),
            ("GET", "/events", None),
            ("GET", "/events?follow=1", None),
            ("POST", "/stop", None),
            ("POST", "/asks/m/step-0", {"decision": "once"}),
        ):
            await refused(chatting, method, f"{path}{at}", body, 404)
        await refused(chatting, "DELETE", f"/api/tools/rules/{chat_id}", None, 404)


async def test_the_id_of_a_room_is_no_conversations_and_the_other_way_round(chatting: ChatBackend) -> None:
    call = chatting.client.call
    room_id = (await call("POST", "/api/rooms", {"task": "Tea?"})).json["id"]
    chat = await chatting.chat()
    chat_id = chat.removeprefix(f"{A_PATH}/")
    await chatting.ask(chat)
    assert [room["id"] for room in (await call("GET", "/api/rooms")).json["rooms"]] == [room_id]
    assert [one["id"] for one in (await call("GET", A_PATH)).json["conversations"]] == [chat_id]
    for method, at, body in (
        ("GET", "", None),
        ("PATCH", "", {"max_tokens": 1}),
        ("DELETE", "", None),
        ("GET", "/messages", None),
        ("POST", "/messages", {"content": "x"}),
        ("GET", "/events", None),
    ):
        await refused(chatting, method, f"{A_PATH}/{room_id}{at}", body, 404)
        await refused(chatting, method, f"/api/rooms/{chat_id}{at}", body, 404)
    for act in ("run", "pause", "resume"):
        await refused(chatting, "POST", f"/api/rooms/{chat_id}/{act}", None, 404)
    await refused(chatting, "POST", f"{A_PATH}/{room_id}/stop", None, 404)
    assert (await call("GET", f"/api/rooms/{room_id}")).status == 200
    assert (await call("GET", chat)).status == 200


async def test_a_wrong_method_is_a_405_that_names_the_right_ones(chatting: ChatBackend) -> None:
    path = await chatting.chat()
    for method, at, allowed in (
        ("PUT", A_PATH, {"GET", "HEAD", "POST"}),
        ("POST", path, {"GET", "HEAD", "PATCH", "DELETE"}),
        ("DELETE", f"{path}/messages", {"GET", "HEAD", "POST"}),
        ("POST", f"{path}/events", {"GET", "HEAD"}),
        ("GET", f"{path}/stop", {"POST"}),
        ("GET", f"{path}/asks/m/s", {"POST"}),
        ("POST", "/api/search", {"GET", "HEAD"}),
        ("POST", "/api/tools", {"GET", "HEAD"}),
        ("DELETE", "/api/tools/rules", {"GET", "HEAD"}),
        ("GET", "/api/tools/rules/r", {"DELETE"}),
        ("OPTIONS", f"{path}/messages", {"GET", "HEAD", "POST"}),
    ):
        answer = await chatting.client.call(method, at)
        assert answer.status == 405, (method, at)
        assert set(answer.headers["allow"].split(", ")) == allowed
    for at in (A_PATH, path, f"{path}/messages", f"{path}/events"):
        assert (await chatting.client.call("HEAD", at)).body == b""


async def test_without_the_token_no_call_is_answered(chatting: ChatBackend) -> None:
    path = await chatting.chat()
    for method, at in (("GET", A_PATH), ("POST", f"{path}/messages"), ("GET", "/api/search?q=x")):
        answer = await chatting.client.call(method, at, headers={"authorization": "-"})
        assert answer.status == 401
