from __future__ import annotations

import json

import pytest

from agent_tui.clients.chat import Question
from agent_tui.clients.clock import TICK_SECONDS
from agent_tui.model import events as ev
from agent_tui.model.errors import (
    AgentBusy,
    ConnectFailed,
    NotFound,
    NotOffered,
    Refused,
    StreamLost,
    TimedOut,
)
from agent_tui.state.conversation import ConversationState
from agent_tui.wire.sse import Frame
from tests.clients.chat_reading import (
    ASK,
    EVENTS,
    after,
    asked,
    client_of,
    our_answer,
    publish_when_asked,
    told,
)
from tests.fakes.clock import FakeClock
from tests.fakes.collector import Collector
from tests.fakes.servers.chat_server import (
    QUESTION,
    Event,
    LogChatServer,
    OriginalChatServer,
    answer_events,
    call,
    done,
    frame,
    result,
    text,
)
from tests.fakes.servers.http_server import FakeServer, answers, answers_json, streams

# --- a server of the original -----------------------------------------------------------------------------


async def test_an_answer_of_an_original_server_comes_through(clock: FakeClock) -> None:
    async with OriginalChatServer() as server:
        reading = await asked(server, clock, thinking_enabled=True)
    assert reading.error is None
    state = after(reading.items)
    assert told(state) == [("user", QUESTION, "said"), ("assistant", "It has one target: 目标", "said")]
    answer = list(state.turns.values())[1]
    assert [step.type for step in answer.steps.all.values()] == [
        "thinking",
        "tool_call",
        "tool_result",
        "text",
    ]
    assert answer.steps.all["step-1"].status == "done"
    assert answer.usage == ev.Usage(10, 5)
    assert all(turn.is_local for turn in state.turns.values())
    assert [(request.method, request.path) for request in server.requests] == [("POST", ASK)]
    assert json.loads(server.requests[0].body) == {"content": QUESTION, "thinking_enabled": True}
    assert server.requests[0].headers["accept"] == "text/event-stream; deltas=1; full=1"


async def test_two_answers_of_one_client_stay_apart(clock: FakeClock) -> None:
    async with OriginalChatServer([text("One."), done()]) as server:
        client = client_of(server, clock)
        state = ConversationState()
        for _ in range(2):
            async with Collector(client.ask("c1", Question(QUESTION))) as reading:
                await reading.end()
            for event in reading.items:
                state.apply(event)
        await client.aclose()
    assert [turn.text for turn in state.turns.values()] == [QUESTION, "One."] * 2


@pytest.mark.parametrize("then", ["drop", "reset", "end"])
@pytest.mark.parametrize("stop_after", [0, 1, 4, 6])
async def test_a_break_without_ids_is_lost_and_the_question_is_never_repeated(
    clock: FakeClock, then: str, stop_after: int
) -> None:
    async with OriginalChatServer(stop_after=stop_after, then=then) as server:
        reading = await asked(server, clock)
    assert isinstance(reading.error, StreamLost)
    assert reading.error.title == "broke off"
    assert server.posts == len(server.requests) == 1
    state = after(reading.items)
    assert state.open_turn is None
    if then != "reset":  # a reset may overtake what was sent before it
        assert [turn.status for turn in state.turns.values()] == ["said", "cut"]
        assert list(state.turns.values())[1].interrupted == "lost"


async def test_an_error_after_words_keeps_them(clock: FakeClock) -> None:
    async with OriginalChatServer([text("So far"), ("error", {"content": "API Error: 500"})]) as server:
        reading = await asked(server, clock)
    assert reading.error is None
    assert told(after(reading.items))[1] == ("assistant", "So far", "failed")


@pytest.mark.parametrize("first", [[], [text("So far")]], ids=["at once", "after words"])
async def test_thirty_seconds_without_a_byte_are_a_time_out(clock: FakeClock, first: list[Event]) -> None:
    async with OriginalChatServer(first, stop_after=9, then="stay") as server:
        client = client_of(server, clock)
        async with Collector(client.ask("c1", Question(QUESTION))) as reading:
            await reading.until(lambda items: len(items) >= (5 if first else 2))
            for _ in range(int(28 / TICK_SECONDS)):
                await clock.advance(TICK_SECONDS)
            assert not reading.done
            await clock.advance(TICK_SECONDS * 2)
            await reading.end()
        await client.aclose()
    assert isinstance(reading.error, TimedOut)
    assert "30 s" in reading.error.title
    answer = list(after(reading.items).turns.values())[1]
    assert (answer.text, answer.status, answer.interrupted) == ("So far" if first else "", "cut", "timeout")
    assert server.posts == 1


async def test_what_follows_the_last_event_is_not_waited_for(clock: FakeClock) -> None:
    async with OriginalChatServer([text("One."), done()], stop_after=2, then="stay") as server:
        reading = await asked(server, clock)
        assert reading.error is None
        await server.until(lambda: server.open == 0)


async def test_malformed_and_unknown_frames_are_counted_and_the_answer_goes_on(clock: FakeClock) -> None:
    async with FakeServer() as server:
        rubbish = b'event: process_step\ndata: {"step"\n\nevent: nonsense\ndata: {}\n\n: beat\ndata:\n\n'
        good = b"".join(frame(*event) for event in [text("One."), done()])
        server.on("POST", ASK, streams(rubbish, good))
        reading = await asked(server, clock)
    state = after(reading.items)
    assert told(state)[1] == ("assistant", "One.", "said")
    assert state.unknown_count == 2


async def test_a_broken_done_ends_the_answer(clock: FakeClock) -> None:
    async with FakeServer() as server:
        server.on("POST", ASK, streams(frame(*text("One.")), b"event: done\ndata: {\n\n", then="stay"))
        reading = await asked(server, clock)
    assert told(after(reading.items))[1] == ("assistant", "One.", "said")


async def test_results_without_calls_and_calls_without_results_come_through(clock: FakeClock) -> None:
    events = [
        result(0, "step-9"),
        result(1, "step-2", '{"success": 0}', success=None),
        call(2),
        call(3),
        done(),
    ]
    async with OriginalChatServer(events) as server:
        reading = await asked(server, clock)
    steps = list(after(reading.items).turns.values())[1].steps.all
    assert [(step.id, step.call_id, step.status) for step in steps.values()] == [
        ("step-0", "", ""),
        ("step-1", "step-2", ""),
        ("step-2", "", "failed"),
        ("step-3", "", "unknown"),
    ]


async def test_hostile_text_comes_through_unharmed(clock: FakeClock) -> None:
    hostile = "\x1b]0;title\x07 \u202e [bold] \u2028 \x85 ```"
    async with OriginalChatServer([text(hostile), text(hostile * 2), done()]) as server:
        reading = await asked(server, clock)
    assert told(after(reading.items))[1][1] == hostile * 2


# --- a server of ours -------------------------------------------------------------------------------------


async def test_an_answer_of_ours_names_everything_itself(ours: LogChatServer, clock: FakeClock) -> None:
    client = client_of(ours, clock)
    file = ev.Attachment("a.md", "# A", "text/markdown")
    async with Collector(client.ask("c1", Question(QUESTION, [file], parent_id="", client_key="k"))) as read:
        await publish_when_asked(ours, *our_answer())
        await read.end()
    await client.aclose()
    state = after(read.items)
    assert list(state.turns) == ["m1", "m2"]
    assert told(state) == [("user", QUESTION, "said"), ("assistant", "One.", "said")]
    assert (state.turns["m2"].sender_name, state.turns["m2"].seconds) == ("demo", 0.5)
    assert json.loads(ours.requests[0].body) == {
        "content": QUESTION,
        "attachments": [{"name": "a.md", "type": "text/markdown", "content": "# A"}],
        "parent_id": "",
        "client_key": "k",
    }


async def test_a_question_that_is_answered_again_has_no_words(ours: LogChatServer, clock: FakeClock) -> None:
    client = client_of(ours, clock)
    async with Collector(client.ask("c1", Question("", again="m1", enabled_tools=[]))) as read:
        await publish_when_asked(ours, *our_answer()[1:])
        await read.end()
    await client.aclose()
    assert json.loads(ours.requests[0].body) == {"again": "m1", "enabled_tools": []}
    assert list(after(read.items).turns) == ["m2"]


@pytest.mark.parametrize("drop_after", range(1, len(our_answer())))
async def test_a_break_in_the_middle_is_read_on_and_each_event_comes_once(
    clock: FakeClock, drop_after: int
) -> None:
    async with LogChatServer(drop_after=drop_after) as server:
        client = client_of(server, clock)
        async with Collector(client.ask_frames("c1", Question(QUESTION))) as read:
            await publish_when_asked(server, *our_answer())
            await read.end()
        await client.aclose()
    assert read.error is None
    assert [item.id for item in read.items if isinstance(item, Frame)] == [
        str(n + 1) for n in range(len(our_answer()))
    ]
    assert [request.method for request in server.requests] == ["POST", "GET"]
    assert server.requests[1].path == EVENTS
    assert server.requests[1].query == {"after": str(drop_after)}
    assert server.requests[1].headers["accept"] == "text/event-stream; deltas=1; full=1"


async def test_a_break_that_cannot_be_read_on_is_lost(clock: FakeClock) -> None:
    for answer in (answers("", 404), answers("", 204), answers("", 405)):
        async with LogChatServer(drop_after=4) as server:
            server.on("GET", EVENTS, answer)
            client = client_of(server, clock)
            async with Collector(client.ask("c1", Question(QUESTION))) as read:
                await publish_when_asked(server, *our_answer())
                await read.end()
            await client.aclose()
        assert isinstance(read.error, StreamLost)
        state = after(read.items)
        assert (state.turns["m2"].text, state.turns["m2"].interrupted) == ("O", "lost")


async def test_while_an_answer_is_under_way_a_question_is_refused_as_busy(
    ours: LogChatServer, clock: FakeClock
) -> None:
    ours.fields = {"status": "running"}
    reading = await asked(ours, clock)
    assert isinstance(reading.error, AgentBusy)
    assert len(ours.asked("POST", ASK)) == 1
    assert [event for event in reading.items if not isinstance(event, ev.LinkChanged)] == []


async def test_other_conflicts_are_not_called_busy(ours: LogChatServer, clock: FakeClock) -> None:
    ours.fields = {"archived": True}
    reading = await asked(ours, clock)
    assert type(reading.error) is Refused
    assert "archived" in reading.error.title


async def test_a_conflict_of_a_server_that_shows_nothing_is_called_busy(
    server: FakeServer, clock: FakeClock
) -> None:
    server.on("POST", ASK, answers_json({"detail": "Busy"}, 409))
    assert isinstance((await asked(server, clock)).error, AgentBusy)


@pytest.mark.parametrize(
    ("body", "shown"), [({}, {"status": "idle"}), ({}, {}), ({"detail": "Busy"}, {"title": "t"})]
)
async def test_a_conflict_for_which_nothing_else_is_told_is_called_busy(
    server: FakeServer, clock: FakeClock, body: dict[str, str], shown: dict[str, str]
) -> None:
    server.on("POST", ASK, answers_json(body, 409))
    server.on("GET", ASK.removesuffix("/messages"), answers_json({"id": "c1", **shown}))
    assert isinstance((await asked(server, clock)).error, AgentBusy)


@pytest.mark.parametrize("status", [500, 503, 429, 422, 302])
async def test_no_refusal_makes_a_second_question(server: FakeServer, clock: FakeClock, status: int) -> None:
    server.on("POST", ASK, answers("", status, {"Location": "/elsewhere"}))
    reading = await asked(server, clock)
    assert reading.error is not None
    assert len(server.asked("POST", ASK)) == len(server.requests) == 1
    assert after(reading.items).turns == {}


async def test_a_server_that_is_not_there_is_said_at_once(clock: FakeClock) -> None:
    async with FakeServer() as server:
        pass
    assert isinstance((await asked(server, clock)).error, ConnectFailed)


async def test_a_missing_conversation_is_told_from_a_missing_call(
    ours: LogChatServer, server: FakeServer, clock: FakeClock
) -> None:
    ours.is_deleted = True
    ours.on("OPTIONS", ASK, answers("", 204, {"Allow": "GET, POST"}))
    assert type((await asked(ours, clock)).error) is NotFound
    assert isinstance((await asked(server, clock)).error, NotOffered)


async def test_leaving_an_answer_closes_its_connection(ours: LogChatServer, clock: FakeClock) -> None:
    client = client_of(ours, clock)
    async with Collector(client.ask("c1", Question(QUESTION))) as read:
        await publish_when_asked(ours, *our_answer()[:3])
        await read.until(lambda items: any(isinstance(item, ev.StepSet) for item in items))
    await ours.until(lambda: ours.open == 0)
    await client.aclose()
    assert len(ours.requests) == 1


async def test_steps_are_read_in_the_form_without_names_too(server: FakeServer, clock: FakeClock) -> None:
    begun = {"id": "step-0", "type": "tool_call", "name": "x", "arguments": ""}
    events: list[Event] = [
        ("process_step", {"step": begun}),
        ("process_step_delta", {"id": "step-0", "arguments": '{"a"'}),
        ("process_step_delta", {"id": "step-0", "arguments": ":1}"}),
        ("process_step", {"step": {**begun, "arguments": '{"a":1}'}}),
        done(),
    ]
    server.on("POST", ASK, streams(*[frame(name, data, n + 1) for n, (name, data) in enumerate(events)]))
    state = after((await asked(server, clock)).items)
    answer = list(state.turns.values())[1]
    assert answer.is_local
    assert answer.steps.all["step-0"].arguments.text == '{"a":1}'
    assert answer.steps.all["step-0"].revision == 0


async def test_a_whole_answer_cut_into_single_bytes_is_the_same(server: FakeServer, clock: FakeClock) -> None:
    whole = b"".join(frame(name, data) for name, data in answer_events())
    server.on("POST", ASK, streams(*[whole[n : n + 1] for n in range(len(whole))]))
    state = after((await asked(server, clock)).items)
    assert state.whole_text() == "It has one target: 目标"
