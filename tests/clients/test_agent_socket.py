"""The client of an agent socket (protocols.md §4), against a server that was written from there alone."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_tui.clients.agents.link import SocketHooks, SocketTimes, Tell
from agent_tui.clients.agents.socket import (
    LINGER_SECONDS,
    AgentSocketClient,
    socket_urls,
)
from agent_tui.clients.announced import announced
from agent_tui.config.tools import TOOL_HEADER, TOOL_VARIABLE
from agent_tui.model import events as ev
from agent_tui.model.errors import (
    AgentBusy,
    AgentTuiError,
    ConfigError,
    ConnectFailed,
    NotFound,
    ProtocolError,
    Refused,
    StreamLost,
    TimedOut,
    Unauthorized,
)
from agent_tui.state.conversation import ConversationState
from agent_tui.wire.agent_socket import ClientToolCall, ClientToolResult, SocketFrame
from tests.fakes import agent_socket_server as fake
from tests.fakes.agent_socket_server import AgentSocketServer, agent_socket_server
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.timeout(60)
SOON = SocketTimes(status=0.2, drain=0.2, reconnect=0.0)


@dataclass(slots=True)
class Told:
    """What a client told besides answers."""

    orphans: list[SocketFrame] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    disconnects: list[AgentTuiError | None] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def codes(self) -> list[str]:
        return [code for code, _ in self.errors]

    def hooks(self, **more: Any) -> SocketHooks:
        return SocketHooks(self._orphan, self._error, self._disconnect, **more)

    async def until(self, holds: Callable[[Told], object]) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: holds(self))

    def _orphan(self, frame: SocketFrame) -> None:
        self.orphans.append(frame)
        self._notify()

    def _error(self, code: str, details: str) -> None:
        self.errors.append((code, details))

    def _disconnect(self, reason: AgentTuiError | None) -> None:
        self.disconnects.append(reason)
        self._notify()

    def _notify(self) -> None:
        notifying = asyncio.ensure_future(self._notified())
        notifying.add_done_callback(lambda done: done.result())

    async def _notified(self) -> None:
        async with self.changed:
            self.changed.notify_all()


@pytest.fixture
async def server() -> AsyncIterator[AgentSocketServer]:
    async with agent_socket_server() as running:
        yield running


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def client(server: AgentSocketServer, told: Told) -> AsyncIterator[AgentSocketClient]:
    made = AgentSocketClient(server.url, hooks=told.hooks(), times=SOON, environ={})
    yield made
    await made.aclose()


async def events_of(answer: AsyncGenerator[ev.Event, None]) -> tuple[list[ev.Event], AgentTuiError | None]:
    """Return what an answer said, and what it broke off with."""
    events: list[ev.Event] = []
    try:
        async with aclosing(answer):
            async for event in answer:
                events.append(event)  # noqa: PERF401 - what came before it failed counts
    except AgentTuiError as error:
        return events, error
    return events, None


async def asked(client: AgentSocketClient, text: str = "Hi") -> list[ev.Event]:
    events, error = await events_of(client.ask(text, turn_id="t1"))
    if error is not None:
        raise error
    return events


def words(events: list[ev.Event]) -> str:
    return "".join(event.content for event in events if isinstance(event, ev.StepAdded))


# --- addresses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "chat", "url"),
    [
        ("http://h:1/", "0", "ws://h:1/v1/agent_ws/0/"),
        ("http://h:1", "0", "ws://h:1/v1/agent_ws/0/"),
        ("https://h/agents/", "7", "wss://h/agents/v1/agent_ws/7/"),
        ("https://h/agents", "7", "wss://h/v1/agent_ws/7/"),  # as urljoin does: the last part is lost
        ("ws://h:1/a/b?token=1#x", "0", "ws://h:1/a/v1/agent_ws/0/"),
        ("wss://h/", "a/../b ?", "wss://h/v1/agent_ws/a%2F..%2Fb%20%3F/"),
    ],
)
def test_the_address_of_a_chat_is_joined_as_urljoin_does(base: str, chat: str, url: str) -> None:
    assert socket_urls(base, chat)[0] == url


def test_the_fixed_address_of_an_older_server_is_used_as_given() -> None:
    assert socket_urls("http://h:1/old/ws?v=2", "3", "") == ("ws://h:1/old/ws?v=2",)
    assert socket_urls("http://h:1/old/ws?v=2")[1] == "ws://h:1/old/ws?v=2"


def test_a_path_of_ones_own_and_the_announcement_of_client_tools() -> None:
    assert socket_urls("http://h/", "3", "chats/{chat_id}")[0] == "ws://h/chats/3"
    assert socket_urls("http://h/", client_tools=True) == (
        "ws://h/v1/agent_ws/0/?client_tools=1",
        "ws://h/",
    )
    assert socket_urls("http://h/", "3", "c?id={chat_id}", client_tools=True)[0].endswith(
        "?id=3&client_tools=1"
    )


@pytest.mark.parametrize("base", ["", "h:1", "ftp://h/", "http://", "ws://me:secret@h/"])
def test_what_is_no_address_is_a_mistake_in_the_configuration(base: str) -> None:
    with pytest.raises(ConfigError) as raised:
        socket_urls(base)
    assert "secret" not in str(raised.value)


# --- one answer --------------------------------------------------------------------------------------


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
    events, error = await events_of(client.ask("Hi"))
    assert (words(events), type(error)) == ("So f", StreamLost)
    assert "too many fragments" in str(error)


# --- STATUS ------------------------------------------------------------------------------------------


def test_the_times_of_the_protocol() -> None:
    times = SocketTimes()
    assert (times.status, times.heartbeat, LINGER_SECONDS) == (5.0, 30.0, 0.2)


async def test_no_status_in_time_is_no_connection(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [[fake.forever]]
    with pytest.raises(ConnectFailed, match=r"no STATUS within 0.2 s"):
        await client.connect()
    assert told.codes == ["TIMEOUT"]
    await server.until(lambda one: one.closed)
    assert (server.open, told.disconnects) == (0, [])


@pytest.mark.parametrize("first", [fake.text("Hi"), fake.GOODBYE, {"type": "?"}, {"no": "type"}])
async def test_a_first_frame_that_is_not_status_is_an_error(
    client: AgentSocketClient, server: AgentSocketServer, told: Told, first: dict[str, Any]
) -> None:
    server.greetings = [[first, fake.STATUS]]
    with pytest.raises(ProtocolError, match="did not begin with STATUS"):
        await client.connect()
    assert told.codes == ["INVALID_STATUS"]


async def test_a_first_frame_that_is_not_json_is_a_parse_error(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [["hello"]]
    with pytest.raises(ProtocolError, match="not JSON"):
        await client.connect()
    assert told.codes == ["PARSE_ERROR"]


async def test_an_error_before_status_says_why(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [[fake.error("NO_MODEL", "none is configured")], [fake.error("CHAT_BUSY", "another")]]
    with pytest.raises(ProtocolError, match="NO_MODEL: none is configured"):
        await client.connect()
    with pytest.raises(AgentBusy):
        await client.connect()
    assert told.codes == ["NO_MODEL", "CHAT_BUSY"]


async def test_status_twice_does_no_harm(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [[fake.STATUS, fake.STATUS]]
    server.answers = [[fake.STATUS, fake.text("Hi"), fake.STATUS, fake.end()]]
    assert words(await asked(client)) == "Hi"
    assert (told.orphans, told.errors) == ([], [])


# --- busy, refused, not there ------------------------------------------------------------------------


@pytest.mark.parametrize("how", [403, 409, 1008])
async def test_a_chat_that_another_client_holds_is_busy(
    client: AgentSocketClient, server: AgentSocketServer, told: Told, how: int
) -> None:
    server.held, server.busy = {"0"}, how
    with pytest.raises(AgentBusy):
        await client.connect()
    assert told.codes == ["CHAT_BUSY"]
    server.held.clear()
    assert words(await asked(client)) == "You said: Hi"


async def test_a_busy_chat_says_the_reason_of_its_close(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.held, server.busy = {"0"}, 1008
    with pytest.raises(AgentBusy, match="chat 0 is busy"):
        await client.connect()


async def test_a_server_that_begins_and_then_finds_the_chat_busy_is_busy_too(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.close(1008, "held by another")]]
    with pytest.raises(AgentBusy, match="held by another"):
        await asked(client)


async def test_a_close_with_1008_in_mid_answer_is_a_loss(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.text("So f"), fake.close(1008, "thrown out")]]
    with pytest.raises(StreamLost, match="thrown out"):
        await asked(client)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, ProtocolError),
        (401, Unauthorized),
        (410, Refused),
        (429, ConnectFailed),
        (503, ConnectFailed),
    ],
)
async def test_another_refusal_is_not_busy(
    client: AgentSocketClient, server: AgentSocketServer, told: Told, status: int, kind: type[AgentTuiError]
) -> None:
    server.refusals = [status]
    with pytest.raises(kind) as raised:
        await client.connect()
    assert not isinstance(raised.value, AgentBusy)
    assert told.codes == ["CONNECTION_ERROR"]


async def test_nobody_at_the_address_cannot_be_connected_to(told: Told) -> None:
    client = AgentSocketClient("http://127.0.0.1:9/", hooks=told.hooks(), environ={})
    with pytest.raises(ConnectFailed):
        await client.connect()
    assert (told.codes, told.disconnects) == (["CONNECTION_ERROR"], [])
    await client.aclose()


async def test_an_older_server_without_chat_ids_is_found_at_its_fixed_address(told: Told) -> None:
    async with agent_socket_server(fixed="/old/ws") as server:
        base = f"{server.url}old/ws"
        client = AgentSocketClient(base, "5", hooks=told.hooks(), environ={})
        assert words(await asked(client)) == "You said: Hi"
        assert server.paths == ["/old/v1/agent_ws/5/", "/old/ws"]
        await client.aclose()
        told_to = AgentSocketClient(base, chat_path="", environ={})
        assert words(await asked(told_to)) == "You said: Hi"
        assert server.paths[2:] == ["/old/ws"]
        await told_to.aclose()
    assert told.errors == []


async def test_where_neither_address_answers_there_is_no_such_agent(told: Told) -> None:
    async with agent_socket_server(fixed="/elsewhere") as server:
        client = AgentSocketClient(server.url, hooks=told.hooks(), environ={})
        with pytest.raises(NotFound):
            await client.connect()
        assert server.paths == ["/v1/agent_ws/0/", "/"]
        assert told.codes == ["CONNECTION_ERROR"]
        await client.aclose()


async def test_a_busy_older_server_is_busy(told: Told) -> None:
    async with agent_socket_server(fixed="/ws") as server:
        server.refusals = [0, 403]
        client = AgentSocketClient(f"{server.url}ws", hooks=told.hooks(), environ={})
        with pytest.raises(AgentBusy):
            await client.connect()
        await client.aclose()


async def test_the_whole_header_goes_out_and_says_when_a_tool_asks(server: AgentSocketServer) -> None:
    client = AgentSocketClient(server.url, authorization="Basic c2VjcmV0", environ={TOOL_VARIABLE: "1"})
    await client.connect()
    (headers,) = server.headers
    assert (headers["Authorization"], headers[TOOL_HEADER]) == ("Basic c2VjcmV0", "1")
    await client.aclose()


# --- one request at a time ---------------------------------------------------------------------------


async def test_a_second_question_is_refused_here_and_the_first_goes_on(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    go_on = asyncio.Event()
    server.answers = [[fake.text("A"), fake.waits(go_on), fake.text("B"), fake.end()]]
    async with aclosing(client.ask("one")) as first:
        await anext(first)
        with pytest.raises(AgentBusy):
            await asked(client, "two")
        go_on.set()
        assert words([event async for event in first]) == "AB"
    assert server.texts == ["one"]


async def test_of_two_questions_at_once_one_is_asked(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    both = await asyncio.gather(asked(client, "one"), asked(client, "two"), return_exceptions=True)
    assert [isinstance(one, AgentBusy) for one in both] == [False, True]
    assert server.texts == ["one"]


async def test_leaving_early_drains_the_rest_and_frees_the_chat(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    go_on = asyncio.Event()
    server.answers = [[fake.text("A"), fake.waits(go_on), fake.text("B"), fake.end()]]
    async with aclosing(client.ask("one")) as first:
        await anext(first)
    go_on.set()
    assert words(await asked(client, "two")) == "You said: two"
    assert (len(server.paths), told.orphans, told.disconnects) == (1, [], [])


async def test_an_answer_that_was_left_and_fails_frees_the_chat_too(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    go_on = asyncio.Event()
    server.answers = [[fake.text("A"), fake.waits(go_on), fake.error("X", "y")]]
    async with aclosing(client.ask("one")) as first:
        await anext(first)
    go_on.set()
    assert words(await asked(client, "two")) == "You said: two"
    assert (len(server.paths), told.codes) == (1, ["X"])


async def test_a_left_answer_without_an_end_costs_its_connection_before_the_next_question(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.answers = [[fake.text("A"), fake.forever]]
    async with aclosing(client.ask("one")) as first:
        await anext(first)
    assert words(await asked(client, "two")) == "You said: two"
    assert (len(server.paths), len(told.disconnects)) == (2, 1)


async def test_a_request_that_is_cancelled_while_it_connects_leaves_nothing_behind(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.greetings = [[fake.forever]]
    asking = asyncio.create_task(asked(client))
    await server.until(lambda one: one.open)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await server.until(lambda one: one.closed)
    assert words(await asked(client)) == "You said: Hi"


# --- orphans and ends --------------------------------------------------------------------------------


async def test_events_without_a_request_go_to_the_callback(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    early = [fake.text("a reminder"), {"type": "AGENT_EVENT_DANCE"}, fake.file("x")]
    server.greetings = [[fake.STATUS, *early]]
    await client.connect()
    await told.until(lambda one: len(one.orphans) == 3)
    assert [frame.data() for frame in told.orphans] == early


async def test_what_was_sent_before_the_question_is_not_taken_as_its_answer(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    old = [fake.text("the end of another answer"), fake.end()]
    server.greetings = [[fake.STATUS, *old]]
    assert words(await asked(client)) == "You said: Hi"
    assert [frame.data() for frame in told.orphans] == old


async def test_a_server_that_answers_no_ping_does_not_delay_the_first_question(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.greetings = [[fake.STATUS, fake.deaf, fake.forever]]
    async with asyncio.timeout(SocketTimes().status / 2):
        await client.connect()


async def test_what_comes_after_the_end_is_an_orphan_and_a_second_end_too(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.answers = [[fake.text("Hi"), fake.end(), fake.text("PS"), fake.end(), fake.close(1000)]]
    assert words(await asked(client)) == "Hi"
    await client.linger(30)
    assert [frame.data() for frame in told.orphans] == [fake.text("PS"), fake.end()]


async def test_who_asks_once_listens_no_longer_than_it_is_told(client: AgentSocketClient) -> None:
    await client.linger()
    await asked(client)
    await client.linger(0.01)
    assert client.is_connected


async def test_graceful_disconnect_in_mid_answer_is_a_loss_that_keeps_the_words(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.answers = [[fake.text("So f"), fake.GOODBYE, fake.text("ar"), fake.end()]]
    state = ConversationState()
    answer = announced(client.ask("Hi", turn_id="t1"), "t1", "Hi")
    events, error = await events_of(answer)
    for event in events:
        state.apply(event)
    assert isinstance(error, StreamLost)
    assert "about to stop" in str(error)
    assert [(turn.text, turn.status, turn.interrupted) for turn in state.turns.values()] == [
        ("Hi", "said", ""),
        ("So f", "cut", "lost"),
    ]
    await server.until(lambda one: one.closed)
    assert server.closed == [1000]
    assert (told.disconnects, told.codes) == ([error], [])


@pytest.mark.parametrize("goodbye", [fake.GOODBYE, fake.close(1001), fake.close(1012), fake.close(1013)])
async def test_after_a_server_said_that_it_stops_the_next_connection_waits_a_little(
    server: AgentSocketServer, told: Told, goodbye: fake.Action
) -> None:
    clock = FakeClock()
    client = AgentSocketClient(server.url, hooks=told.hooks(), clock=clock, environ={})
    server.greetings = [[fake.STATUS, goodbye]]
    await client.connect()
    await told.until(lambda one: one.disconnects)
    asking = asyncio.create_task(asked(client))
    await clock.asked_again(clock.asked)
    assert len(server.paths) == 1
    await clock.advance(1.0)
    assert words(await asking) == "You said: Hi"
    await client.aclose()


@pytest.mark.parametrize(
    ("action", "said", "is_retryable"),
    [
        (fake.close(1000), "before the end", True),
        (fake.close(1001), "shutting down", True),
        (fake.close(1011, "oops"), "the server failed: oops", True),
        (fake.close(1012), "restarts", True),
        (fake.close(1013, "later"), "try again later: later", True),
        (fake.close(4321, "own code"), "own code", True),
        (fake.close(1009), "takes no message of this size", False),
        (fake.abort, "broke off", True),
        (fake.not_utf8(), "not UTF-8", False),
    ],
)
async def test_a_close_in_mid_answer_is_a_loss_and_says_why(
    client: AgentSocketClient,
    server: AgentSocketServer,
    told: Told,
    action: fake.Action,
    said: str,
    is_retryable: bool,
) -> None:
    server.answers = [[fake.text("So f"), action]]
    events, error = await events_of(client.ask("Hi"))
    assert words(events) == "So f"
    assert isinstance(error, StreamLost)
    assert said in str(error)
    assert error.retryable is is_retryable
    assert (told.codes, told.disconnects) == (["CONNECTION_ERROR"], [error])


@pytest.mark.parametrize("code", [1000, 1011, 1013])
async def test_a_close_before_status_is_no_connection(
    client: AgentSocketClient, server: AgentSocketServer, told: Told, code: int
) -> None:
    server.greetings = [[fake.close(code)]]
    with pytest.raises(ConnectFailed):
        await client.connect()
    assert (told.codes, told.disconnects) == (["CONNECTION_ERROR"], [])


async def test_a_message_that_is_too_large_names_the_limit(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.text("So f"), fake.text("x" * (16 * 1024 * 1024 + 1)), fake.end()]]
    events, error = await events_of(client.ask("Hi"))
    assert words(events) == "So f"
    assert isinstance(error, StreamLost)
    assert "too large" in str(error)
    assert "16777216" in str(error)


async def test_a_server_that_stops_answering_pings_is_noticed(server: AgentSocketServer, told: Told) -> None:
    times = SocketTimes(heartbeat=0.1, pong=0.1, close=0.1)
    client = AgentSocketClient(server.url, hooks=told.hooks(), times=times, environ={})
    server.answers = [[fake.text("So f"), fake.deaf, fake.forever]]
    with pytest.raises(StreamLost, match="stopped answering"):
        await asked(client)
    await client.aclose()


async def test_an_answer_that_falls_silent_times_out_where_that_is_wanted(
    server: AgentSocketServer, told: Told
) -> None:
    times = SocketTimes(silence=0.2)
    client = AgentSocketClient(server.url, hooks=told.hooks(), times=times, environ={})
    server.answers = [[fake.text("So f"), fake.forever]]
    with pytest.raises(TimedOut, match=r"0.2 s without a frame"):
        await asked(client)
    await client.aclose()


async def test_a_tool_may_be_silent_for_longer_than_the_agent(server: AgentSocketServer, told: Told) -> None:
    times = SocketTimes(silence=0.1)
    client = AgentSocketClient(server.url, hooks=told.hooks(), times=times, environ={})
    is_built = asyncio.Event()
    server.answers = [
        [fake.call("build", "{}"), fake.waits(is_built), fake.result("build", "done"), fake.forever]
    ]
    heard: list[str] = []

    async def listen() -> None:
        async with aclosing(client.answer("Build it")) as answer:
            async for one in answer:
                heard.append(one.name)  # noqa: PERF401 - what came before it fails counts

    listening = asyncio.create_task(listen())
    done, _ = await asyncio.wait({listening}, timeout=5 * (times.silence or 0))
    assert not done
    is_built.set()
    with pytest.raises(TimedOut):
        await listening
    assert heard == ["", "AGENT_EVENT_TOOL_CALL_CHUNK", "AGENT_EVENT_TOOL_RESULT"]
    await client.aclose()


async def test_a_server_that_takes_no_message_times_out_and_the_connection_is_given_up(
    server: AgentSocketServer, told: Told
) -> None:
    times = SocketTimes(status=0.5, send=0.2, drain=0.1)
    client = AgentSocketClient(server.url, hooks=told.hooks(), times=times, environ={})
    server.greetings = [[fake.STATUS, fake.deaf]]
    await client.connect()
    with pytest.raises(TimedOut, match="takes no message"):
        await asked(client, "x" * 30_000_000)
    await client.linger(20)
    assert (client.is_connected, len(told.disconnects)) == (False, 1)
    await client.aclose()


async def test_the_connection_is_told_to_be_over_once_and_found_again_by_the_next_question(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [[fake.STATUS, fake.close(1001)]]
    await client.connect()
    await told.until(lambda one: one.disconnects)
    assert not client.is_connected
    assert words(await asked(client)) == "You said: Hi"
    await client.aclose()
    assert [type(reason) for reason in told.disconnects] == [StreamLost, type(None)]
    assert server.texts == ["Hi"]


async def test_a_question_after_the_close_is_not_connected(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    await client.aclose()
    with pytest.raises(ConnectFailed, match="was closed"):
        await asked(client)
    assert (told.codes, server.paths) == (["NOT_CONNECTED"], [])


async def test_closing_ends_the_answer_under_way(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.text("So f"), fake.forever]]
    answer = client.ask("Hi")
    await anext(answer)
    await client.aclose()
    events, error = await events_of(answer)
    assert (words(events), type(error)) == ("So f", StreamLost)


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


# --- a reader that pauses ----------------------------------------------------------------------------


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
    async with aclosing(client.ask("Hi")) as answer:
        await anext(answer)
        await all_read.wait()
        events = [event async for event in answer]
    assert words(events) == "".join(chunks) + "end"
    assert len(events) < 1000  # what waited was put together
    assert told.disconnects == []


# --- tools that run here -----------------------------------------------------------------------------


async def picked(call: ClientToolCall, _: Tell) -> ClientToolResult:
    return ClientToolResult(call.call_id, {"picked": call.args})


async def refused(call: ClientToolCall, _: Tell) -> ClientToolResult:
    return ClientToolResult(call.call_id, error="the person said no")


async def broken(call: ClientToolCall, _: Tell) -> ClientToolResult:
    raise ValueError("secret words")


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (picked, {"result": {"picked": {"kind": "png"}}}),
        (refused, {"error": "the person said no"}),
        (broken, {"error": "the tool failed: ValueError"}),
    ],
)
async def test_a_client_tool_is_announced_run_when_allowed_and_answered(
    server: AgentSocketServer, told: Told, tool: Any, said: dict[str, Any]
) -> None:
    client = AgentSocketClient(server.url, hooks=told.hooks(client_tools=tool), environ={})
    answered = asyncio.Event()
    asks = fake.client_call("c1", "pick", {"kind": "png"})
    server.answers = [[asks, fake.waits(answered), fake.text("Thanks"), fake.end()]]
    asking = asyncio.create_task(asked(client))
    await server.until(lambda one: len(one.received) == 2)
    answered.set()
    events = await asking
    assert server.paths == ["/v1/agent_ws/0/?client_tools=1"]
    assert server.received[1] == {"type": "CLIENT_TOOL_RESULT", "call_id": "c1", **said}
    shown = [event.step.type for event in events if isinstance(event, ev.StepSet)]
    assert shown == ["tool_call", "tool_result", "text"]
    await client.aclose()


async def test_a_client_that_announced_no_tools_runs_none(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    answered = asyncio.Event()
    server.answers = [[fake.client_call("c1", "pick", {}), fake.waits(answered), fake.end()]]
    asking = asyncio.create_task(asked(client))
    await server.until(lambda one: len(one.received) == 2)
    answered.set()
    await asking
    assert server.received[1]["error"] == "this client runs no tools"
    assert server.paths == ["/v1/agent_ws/0/"]


async def test_a_tool_of_an_answer_that_was_left_is_given_up_and_answered(
    server: AgentSocketServer, told: Told
) -> None:
    was_given_up = asyncio.Event()

    async def slow(call: ClientToolCall, _: Tell) -> ClientToolResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_given_up.set()
            raise
        return ClientToolResult(call.call_id)

    client = AgentSocketClient(server.url, hooks=told.hooks(client_tools=slow), environ={})
    server.answers = [[fake.client_call("c1", "pick", {}), fake.forever]]
    async with aclosing(client.ask("Hi")) as answer:
        await anext(answer)
    await was_given_up.wait()
    await server.until(lambda one: len(one.received) == 2)
    assert server.received[1]["call_id"] == "c1"
    assert "nobody waits" in server.received[1]["error"]
    await client.aclose()


async def test_a_client_tool_that_nobody_asked_for_is_not_run(server: AgentSocketServer, told: Told) -> None:
    async def never(call: ClientToolCall, _: Tell) -> ClientToolResult:
        raise AssertionError

    client = AgentSocketClient(server.url, hooks=told.hooks(client_tools=never), environ={})
    server.greetings = [[fake.STATUS, fake.client_call("c1", "pick", {})]]
    await client.connect()
    await server.until(lambda one: one.received)
    assert server.received[0]["error"] == "nobody waits for this answer"
    assert len(told.orphans) == 1
    await client.aclose()


async def test_one_call_that_is_asked_for_twice_is_run_once(server: AgentSocketServer, told: Told) -> None:
    runs: list[str] = []
    go_on = asyncio.Event()

    async def counted(call: ClientToolCall, _: Tell) -> ClientToolResult:
        runs.append(call.call_id)
        await go_on.wait()
        return ClientToolResult(call.call_id, 1)

    client = AgentSocketClient(server.url, hooks=told.hooks(client_tools=counted), environ={})
    asks = fake.client_call("c1", "pick", {})
    server.answers = [[asks, asks, fake.text("x"), fake.waits(go_on), fake.end()]]
    async with aclosing(client.ask("Hi")) as answer:
        async for event in answer:
            if isinstance(event, ev.StepAdded):
                go_on.set()
    assert runs == ["c1"]
    assert told.codes == ["UNEXPECTED_MSG_TYPE"]
    await client.aclose()
