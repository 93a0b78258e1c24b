from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from operator import attrgetter
from typing import Any

import pytest

from agent_tui.clients.chat import ChatClient
from agent_tui.clients.http import Net
from agent_tui.clients.records import Hit, ToolInfo, ToolRule
from agent_tui.model.errors import ConfigError, NotFound, NotOffered, ProtocolError, Refused
from tests.fakes.servers.chat_server import LogChatServer, OriginalChatServer, user_message
from tests.fakes.servers.http_server import FakeServer, Request, answers, answers_json

ONE = "/api/conversations/c1"


@pytest.fixture
async def client(ours: LogChatServer) -> AsyncIterator[ChatClient]:
    client = ChatClient(Net(ours.url, environ={}))
    yield client
    await client.aclose()


def last(server: FakeServer) -> Request:
    return server.requests[-1]


@pytest.mark.parametrize(
    ("method", "path", "call"),
    [
        ("GET", "/api/conversations", lambda client: client.list_all()),
        ("DELETE", ONE, lambda client: client.delete("c1")),
    ],
)
async def test_a_405_names_what_is_not_offered(
    ours: LogChatServer,
    client: ChatClient,
    method: str,
    path: str,
    call: Callable[[ChatClient], Awaitable[object]],
) -> None:
    ours.on(method, path, answers_json({"detail": "Method Not Allowed"}, 405))
    with pytest.raises(NotOffered, match=r"this server does not offer .+: it answered 405"):
        await call(client)


async def test_conversations_are_listed_made_shown_changed_and_deleted(
    ours: LogChatServer, client: ChatClient
) -> None:
    assert [shown.title for shown in await client.list_all()] == ["Make"]
    assert last(ours).query == {}
    await client.list_all(archived=True)
    assert last(ours).query == {"archived": "1"}
    made = await client.create(title="New", temperature=0.2, enabled_tools=["x"], model=None)
    assert json.loads(last(ours).body) == {"title": "New", "temperature": 0.2, "enabled_tools": ["x"]}
    assert (made.title, made.enabled_tools) == ("New", ("x",))
    assert (await client.show("c1")).title == "New"
    changed = await client.change("c1", archived=True, enabled_tools=None, head="m1")
    assert json.loads(last(ours).body) == {"archived": True, "enabled_tools": None, "head": "m1"}
    assert changed.archived
    await client.delete("c1")
    assert (last(ours).method, last(ours).path) == ("DELETE", ONE)


async def test_messages_come_with_the_event_they_are_as_of(ours: LogChatServer, client: ChatClient) -> None:
    ours.messages = [user_message("m1", "Hi")]
    ours.publish(("conversation", {"id": "c1"}))
    messages, as_of = await client.messages("c1")
    assert ([message.text for message in messages], as_of) == (["Hi"], 1)
    assert await client.messages_raw("c1") == ours.messages


async def test_an_answer_is_stopped_and_a_tool_allowed_or_denied(
    ours: LogChatServer, client: ChatClient
) -> None:
    assert (await client.stop("c1")).id == "c1"
    assert last(ours).path == f"{ONE}/stop"
    await client.answer("c1", "m/2", "step-1", "always", pattern="run_command(make *)")
    assert last(ours).path == f"{ONE}/asks/m%2F2/step-1"
    assert json.loads(last(ours).body) == {"decision": "always", "pattern": "run_command(make *)"}
    await client.answer("c1", "m2", "step-1", "deny", reason="No.")
    assert json.loads(last(ours).body) == {"decision": "deny", "reason": "No."}


async def test_an_answer_that_came_too_late_says_so(ours: LogChatServer, client: ChatClient) -> None:
    ours.on("POST", f"{ONE}/asks/m2/s1", answers_json({"title": "It was answered"}, 409))
    with pytest.raises(Refused, match="answered"):
        await client.answer("c1", "m2", "s1", "once")
    assert len(ours.requests) == 1


async def test_conversations_are_searched(ours: LogChatServer, client: ChatClient) -> None:
    assert await client.search('make* OR "', limit=5) == [
        Hit("c1", "Make", snippet="the \2Makefile\3"),
    ]
    assert last(ours).query == {"q": 'make* OR "', "limit": "5", "kinds": "room,chat,voice"}


async def test_tools_rules_providers_and_models_are_listed(ours: LogChatServer, client: ChatClient) -> None:
    tool = ToolInfo("calculator", "Counts", {"type": "object"}, "read", "built-in")
    assert await client.backend.tools() == ([tool], [])
    assert await client.backend.rules() == [ToolRule("3", "run_command", "run_command(make *)")]
    await client.backend.drop_rule("3")
    assert [provider.id for provider in await client.backend.providers()] == ["demo"]
    assert await client.backend.models("demo") == ["demo"]


@pytest.mark.parametrize("answer", [[], {"x": 1}, None, "text"])
async def test_what_is_no_conversation_is_said_so(
    ours: LogChatServer, client: ChatClient, answer: object
) -> None:
    ours.on("GET", ONE, answers_json(answer))
    with pytest.raises(ProtocolError, match="not a conversation"):
        await client.show("c1")


async def test_a_list_may_be_bare_and_must_be_a_list(ours: LogChatServer, client: ChatClient) -> None:
    ours.on("GET", "/api/conversations", answers_json([{"id": "a"}, {"id": None}, 5]), answers_json({"a": 1}))
    assert [shown.id for shown in await client.list_all()] == ["a"]
    with pytest.raises(ProtocolError, match="list of conversations"):
        await client.list_all()


async def test_an_answer_that_holds_no_conversation_is_looked_at(
    ours: LogChatServer, client: ChatClient
) -> None:
    ours.on("POST", f"{ONE}/stop", answers("", 202))
    assert (await client.stop("c1")).title == "Make"


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("list_all", ()),
        ("create", ()),
        ("delete", ("c1",)),
        ("stop", ("c1",)),
        ("compact", ("c1",)),
        ("search", ("x",)),
        ("backend.tools", ()),
        ("backend.rules", ()),
        ("backend.drop_rule", ("3",)),
        ("answer", ("c1", "m1", "s1", "once")),
        ("backend.providers", ()),
    ],
)
async def test_on_an_original_server_other_calls_are_not_offered(call: str, arguments: Any) -> None:
    async with OriginalChatServer() as server:
        client = ChatClient(Net(server.url, environ={}))
        with pytest.raises(NotOffered, match="does not offer"):
            await attrgetter(call)(client)(*arguments)
        await client.aclose()


async def test_what_a_server_lacks_is_asked_once(ours: LogChatServer, client: ChatClient) -> None:
    assert await client.missing("c1") == {}
    asked = len(ours.requests)
    assert {request.method for request in ours.requests} == {"OPTIONS"}
    assert await client.missing("c2") == {}
    assert len(ours.requests) == asked


async def test_what_an_original_server_lacks_has_its_reason() -> None:
    async with OriginalChatServer() as server:
        server.on("OPTIONS", f"{ONE}/messages", answers("", 405, {"Allow": "POST"}))
        client = ChatClient(Net(server.url, environ={}))
        missing = await client.missing("c1")
        await client.aclose()
    assert "ask" not in missing
    assert missing["stop"] == "this server does not offer stopping an answer"
    assert missing["messages"] == "this server does not offer stored messages"
    assert server.posts == 0


async def test_a_conversation_that_is_not_there_is_not_a_call_that_is_missing(
    ours: LogChatServer, client: ChatClient
) -> None:
    ours.is_deleted = True
    ours.on("OPTIONS", f"{ONE}/stop", answers("", 204, {"Allow": "POST"}))
    with pytest.raises(NotFound) as caught:
        await client.stop("c1")
    assert type(caught.value) is NotFound


async def test_paths_may_be_moved_and_must_keep_their_places(server: FakeServer) -> None:
    server.on("GET", "/v2/chats/a%2Fb", answers_json({"id": "a/b"}))
    client = ChatClient(Net(server.url, environ={}), {"conversation": "/v2/chats/{id}"})
    assert (await client.show("a/b")).id == "a/b"
    with pytest.raises(NotFound):
        await client.show("")
    await client.aclose()
    with pytest.raises(ConfigError, match="step_id"):
        ChatClient(Net(server.url, environ={}), {"ask": "/asks/{id}/{message_id}"})
    with pytest.raises(ConfigError, match="not a path we use"):
        ChatClient(Net(server.url, environ={}), {"run": "/run"})
