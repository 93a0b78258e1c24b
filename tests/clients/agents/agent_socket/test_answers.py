"""One answer of an agent socket: every frame, a reader that pauses, and whatever a server sends."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import aclosing
from typing import Any

import pytest

from agent_tui.clients.agents.socket import AgentSocketClient
from agent_tui.model import events as ev
from agent_tui.model.errors import StreamLost
from agent_tui.state.conversation import ConversationState
from tests.clients.agents.agent_socket.asking import Told, ask, asked, events_of, words
from tests.fakes.agents import agent_socket_server as fake
from tests.fakes.agents.agent_socket_server import AgentSocketServer

pytestmark = pytest.mark.timeout(60)


async def test_a_question_goes_out_to_the_letter_and_its_answer_comes_back(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    events = await asked(client)
    assert words(events) == "You said: Hi"
    assert events[-1] == ev.TurnDone("t1", "", 7)
    assert server.received == [{"type": "USER_MESSAGE", "text": "Hi", "attachments": []}]
    assert server.paths == ["/v1/agent_ws/0/"]
    await asked(client, "Again")
    assert (len(server.paths), server.texts) == (1, ["Hi", "Again"])
    assert (told.errors, told.orphans) == ([], [])


async def test_every_frame_of_an_answer_is_handed_on_as_it_came(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    sent = [
        fake.text("I look"),
        fake.call("read", '{"a":1}'),
        fake.update({"progress": 1}),
        fake.result("read", {"b": [2]}),
        fake.text("sub", "tools:1"),
        {"type": "AGENT_EVENT_DANCE", "n": 1},
        fake.file("a.txt"),
        fake.end(3),
    ]
    server.answers = [sent]
    async with aclosing(client.answer("Hi")) as answer:
        assert [one.data async for one in answer if one.name] == sent


async def test_the_whole_text_is_the_main_agents_and_a_sub_agent_is_shown_by_its_source(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.text("I "), fake.text("secretly", "tools:9"), fake.text("answer."), fake.end()]]
    state = ConversationState()
    for event in await asked(client):
        state.apply(event)
    (turn,) = state.turns.values()
    assert (state.whole_text(), turn.status) == ("I answer.", "said")
    assert [(step.name, step.content.text) for step in turn.steps.all.values() if step.name] == [
        ("tools:9", "secretly")
    ]


async def test_an_unknown_type_is_kept_and_the_answer_goes_on(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[{"type": "AGENT_EVENT_DANCE"}, fake.text("Hi"), fake.end()]]
    events = await asked(client)
    assert isinstance(events[0], ev.Unknown)
    assert words(events) == "Hi"


async def test_a_frame_without_a_type_is_reported_kept_and_the_answer_goes_on(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.answers = [["[1]", fake.text("Hi"), fake.end()]]
    events = await asked(client)
    assert (isinstance(events[0], ev.Unknown), words(events)) == (True, "Hi")
    assert told.codes == ["UNEXPECTED_MSG_TYPE"]


async def test_an_error_frame_ends_the_request_and_goes_to_the_callback_too(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.answers = [[fake.text("So f"), fake.error("RATE_LIMIT", "slow down")]]
    events = await asked(client)
    assert (words(events), events[-1]) == ("So f", ev.RunFailed("RATE_LIMIT: slow down"))
    assert told.errors == [("RATE_LIMIT", "slow down")]
    assert words(await asked(client)) == "You said: Hi"
    assert len(server.paths) == 1


async def test_an_error_without_a_request_is_an_orphan_too(
    server: AgentSocketServer, client: AgentSocketClient, told: Told
) -> None:
    early = [fake.error("LOW_DISK", "soon full"), fake.text("orphan")]
    server.greetings = [[fake.STATUS, *early]]
    await client.connect()
    assert told.errors == [("LOW_DISK", "soon full")]
    assert [frame.data() for frame in told.orphans] == early
    assert words(await asked(client)) == "You said: Hi"


@pytest.mark.parametrize("odd", ["not json", "", b"\xff\xfe\x00", '{"type": '])
async def test_what_is_not_json_is_a_parse_error_and_the_answer_goes_on(
    client: AgentSocketClient, server: AgentSocketServer, told: Told, odd: str | bytes
) -> None:
    server.answers = [[fake.text("So f"), odd, fake.text("ar"), fake.end()]]
    assert words(await asked(client)) == "So far"
    assert (told.codes, told.orphans) == (["PARSE_ERROR"], [])


async def test_what_is_not_json_is_reported_when_nothing_was_asked(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [[fake.STATUS, "not json", fake.text("orphan")]]
    await client.connect()
    await told.until(lambda one: one.orphans)
    assert told.codes == ["PARSE_ERROR"]


async def test_a_binary_frame_of_json_is_read(client: AgentSocketClient, server: AgentSocketServer) -> None:
    server.answers = [[json.dumps(fake.text("Hi")).encode(), fake.end()]]
    assert words(await asked(client)) == "Hi"


@pytest.mark.slow
async def test_a_frame_in_thousands_of_pieces_is_one_frame_and_in_more_a_loss_that_says_why(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.fragments(fake.text("x" * 40_000), 4_000), fake.end()]]
    assert words(await asked(client)) == "x" * 40_000
    server.answers = [[fake.text("So f"), fake.fragments(fake.text("x" * 40_000), 10_000), fake.end()]]
    events, error = await events_of(ask(client, "Hi"))
    assert (words(events), type(error)) == ("So f", StreamLost)
    assert "too many fragments" in str(error)


ODDS: tuple[fake.Action, ...] = (
    "[]",
    "5",
    "{}",
    '{"type": ["AGENT_EVENT_END"]}',
    '{"type": "AGENT_EVENT_TEXT_CHUNK"}',
    '{"type": "AGENT_EVENT_TOOL_RESULT", "result": 5, "tool_name": {}}',
    '{"type": "AGENT_EVENT_CLIENT_TOOL_CALL", "call_id": 1}',
    '{"type": "AGENT_EVENT_SEND_FILE", "path": null}',
    '{"type": "AGENT_EVENT_TEXT_CHUNK", "text": "\\ud800", "source": 7}',
    fake.STATUS,
    fake.call(None, "pieces of nothing"),
    fake.call("f", "{"),
    fake.result("f", None),
    fake.update({"a": {"b": [1]}}, "tools:1"),
    fake.client_call("c", "f", None),
    fake.fragments(fake.text("in pieces"), 9),
    json.dumps(fake.text("binary")).encode(),
    "not json",
    b"\xff",
)


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_a_server_sends_the_chat_can_be_asked_again(
    client: AgentSocketClient, server: AgentSocketServer, seed: int
) -> None:
    chooser = random.Random(seed)
    server.answers = [[*(chooser.choice(ODDS) for _ in range(40)), fake.end()]]
    events = await asked(client)
    state = ConversationState()
    for event in events:
        state.apply(event)
    assert events[-1] == ev.TurnDone("t1", "", 7)
    assert words(await asked(client)) == "You said: Hi"
    assert len(server.paths) == 1


async def test_a_paused_reader_kills_no_connection_and_misses_nothing(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    """The reader takes nothing while the server's pings, behind all it sent, are answered at once."""
    all_read = asyncio.Event()

    async def pinged(socket: Any) -> None:
        for _ in range(3):
            await (await socket.ping())
        all_read.set()

    chunks = [f"{number} " for number in range(5000)]
    server.answers = [[*(fake.text(chunk) for chunk in chunks), pinged, fake.text("end"), fake.end()]]
    async with aclosing(ask(client, "Hi")) as answer:
        await anext(answer)
        await all_read.wait()
        events = [event async for event in answer]
    assert words(events) == "".join(chunks) + "end"
    assert told.disconnects == []
