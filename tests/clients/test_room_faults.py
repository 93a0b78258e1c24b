"""What careless servers do to turns that are said again, whispers, skips and budgets: socket to state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest

from agent_tui.clients.http import Net
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model.errors import StreamLost
from agent_tui.model.events import AgentInfo, RoomInfo, RoomLoaded
from agent_tui.state.conversation import ConversationState
from agent_tui.wire.rooms import RoomOfStream
from tests.fakes.servers.http_server import FakeServer, streams
from tests.fakes.servers.room_frames import Event, frame, person, stored
from tests.fakes.servers.rooms_server import OriginalRoomsServer

AGENTS = (AgentInfo("a", "Mika"), AgentInfo("b", "Ada", turn_order=1))
STARTED: Event = ("room_started", {"room_id": "r1", "task": "t"})
PAUSED: Event = ("room_paused", {"room_id": "r1", "interrupted": "budget"})


def begun(turn_id: str, agent: str = "a", **fields: Any) -> Event:
    names = {"a": "Mika", "b": "Ada"}
    start = {"id": turn_id, "role": "assistant", "sender_name": names[agent], "round_number": 1}
    return "message_start", {**start, "agent_id": agent, **fields}


def said(turn_id: str, text: str, **fields: Any) -> Event:
    return "message_chunk", {"id": turn_id, "content": text, **fields}


def ended(turn_id: str, text: str, **fields: Any) -> Event:
    return "message_end", {"id": turn_id, "content": text, "token_count": 1, **fields}


# A whole turn, and the beginning of the one that says it again.
AGAIN: list[Event] = [
    STARTED,
    ("round_start", {"round": 1, "max_rounds": 2}),
    begun("1"),
    said("1", "old"),
    ended("1", "old"),
    begun("2", attempt=2, supersedes="1", trimmed=3),
    said("2", "ne"),
]


async def shown(server: FakeServer) -> tuple[ConversationState, bool]:
    """Return the room after one run, and whether it was lost."""
    state = ConversationState(RoomInfo(""))
    state.apply(RoomLoaded(RoomInfo("r1", agents=AGENTS, max_rounds=2), ()))
    async with Net(server.url, environ={}) as net:
        try:
            async with aclosing(RoomsClient(net).follow_run("r1")) as events:
                async for event in events:
                    state.apply(event)
        except StreamLost:
            return state, True
    return state, False


async def served(
    events: Sequence[Event], **fields: Any
) -> tuple[ConversationState, bool, OriginalRoomsServer]:
    async with OriginalRoomsServer(events, **fields) as server:
        return (*await shown(server), server)


@pytest.mark.parametrize("then", ["drop", "reset", "end"])
async def test_a_run_that_breaks_off_in_a_second_attempt_is_lost_and_never_posted_again(then: str) -> None:
    state, is_lost, server = await served(AGAIN, stop_after=len(AGAIN), then=then)
    assert is_lost
    assert server.posts == 1
    assert (state.turns["1"].superseded, state.turns["2"].text) == (True, "ne")
    assert state.room.status == "running"  # nobody said that it is not


async def test_a_run_paused_by_its_budget_is_done_and_says_so() -> None:
    end = ended("2", "ne", interrupted="budget", usage={"prompt_tokens": 40, "completion_tokens": 2})
    state, is_lost, _ = await served([*AGAIN, end, PAUSED])
    assert not is_lost
    assert (state.room.status, state.room.interrupted, state.ledger.tokens) == ("paused", "budget", 43)
    turn = state.turns["2"]
    assert (turn.status, turn.interrupted, turn.attempt, turn.trimmed) == ("cut", "budget", 2, 3)
    assert [agent.id for agent in state.members.due(state.room)] == ["a"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("message_start", {"id": "9", "supersedes": {"id": "1"}, "trimmed": "many"}),
        ("message_start", {"id": "9", "attempt": "second"}),
        ("message_end", {"id": "2", "content": "ne", "token_count": []}),
        ("message", {"id": "2", "superseded": "perhaps"}),
        ("agent_status", {"agent_id": "a"}),
        ("agent_skipped", {"agent_id": "a"}),
    ],
)
async def test_new_fields_of_the_wrong_type_are_counted_and_leave_the_turn_as_it_is(
    name: str, data: dict[str, Any]
) -> None:
    state, _, _ = await served([*AGAIN, (name, data), said("2", "w"), ended("2", "new"), PAUSED])
    assert state.unknown_count == 1
    assert [turn.text for turn in state.agents["a"].turns] == ["old", "new"]


@pytest.mark.parametrize("usage", [7, "much", [], {"prompt_tokens": "many"}, {"cost": {}}, None])
async def test_a_usage_that_is_none_costs_no_words(usage: object) -> None:
    state, _, _ = await served([*AGAIN, ended("2", "new", usage=usage), PAUSED])
    assert (state.turns["2"].text, state.turns["2"].usage, state.unknown_count) == ("new", None, 0)


@pytest.mark.parametrize(
    "data",
    ["not json", "[1]", "17", '{"id":', "[" * 1000, '{"id":"9","trimmed":NaN}', '{"id":9,"attempt":1e999}'],
)
async def test_rubbish_between_the_chunks_of_a_second_attempt_is_counted(
    server: FakeServer, data: str
) -> None:
    rubbish = f"event: message_start\ndata: {data}\n\n".encode()
    rest = [said("2", "w"), ended("2", "new"), PAUSED]
    pieces = [frame(*e) for e in AGAIN] + [rubbish] + [frame(*e) for e in rest]
    server.on("POST", "/api/rooms/r1/run", streams(*pieces))
    state, is_lost = await shown(server)
    assert (is_lost, state.unknown_count) == (False, 1)
    assert [turn.text for turn in state.agents["a"].turns] == ["old", "new"]


async def test_turns_that_supersede_nothing_known_and_words_for_nobody_are_tolerated() -> None:
    whisper = person({"id": "w", "content": "psst", "to": "nobody"})
    events: list[Event] = [
        *AGAIN,
        begun("2", supersedes="1"),  # told twice
        ended("2", "new"),
        said("2", "late"),
        begun("3", "b", supersedes="never was"),
        said("3", "hi"),
        begun("4", "b", supersedes="4"),  # itself; and the one before has lost its end
        ("message", whisper),
        ("agent_status", {"agent_id": "gone", "agent_name": "Zed", "status": "skipped"}),
        said("unknown", "orphan"),
        ended("other", "another"),
        PAUSED,
    ]
    state, is_lost, _ = await served(events)
    assert not is_lost
    assert [(t.text, t.superseded) for t in state.agents["a"].turns] == [("old", True), ("new", False)]
    assert [(t.text, t.superseded) for t in state.agents["b"].turns] == [("hi", False), ("", False)]
    assert (state.turns["w"].to, state.turns["w"].to_name) == ("nobody", "nobody")
    assert (state.agents["gone"].word, state.unknown_count) == ("skipped", 1)
    assert (state.turns["unknown"].text, state.turns["other"].text) == ("orphan", "another")


async def test_what_was_accumulated_repairs_a_second_attempt_and_not_the_first() -> None:
    state, _, _ = await served([*AGAIN, said("2", "!", accumulated="newer!"), PAUSED])
    assert [turn.text for turn in state.agents["a"].turns] == ["old", "newer!"]


async def test_a_stored_turn_stays_superseded_when_it_is_told_again_without_that() -> None:
    again: Event = ("message", stored("1", "old", "Mika", 1))
    state, _, _ = await served([*AGAIN, again, PAUSED])
    assert state.turns["1"].superseded


async def test_frames_of_another_room_neither_speak_nor_end_the_run() -> None:
    other: list[Event] = [
        ("room_paused", {"room_id": "r2"}),
        ("room_completed", {"room_id": "r2", "total_rounds": 1}),
        said("9", "not here", room_id="r2"),
        ("message", stored("8", "nor here", "Mika", 1, "r2")),
    ]
    mine = [STARTED, begun("1"), said("1", "one "), *other, said("1", 'two "room_id"'), PAUSED]
    async with OriginalRoomsServer(mine) as server:
        state, _ = await shown(server)
    assert [turn.text for turn in state.turns.values()] == ['one two "room_id"']
    assert (state.room.status, state.room.interrupted) == ("paused", "budget")
    assert [one.name for one in state.unknown] == [f"{name} of another" for name, _ in other]


def test_a_room_may_have_another_id_in_its_frames_than_in_its_address() -> None:
    is_ours = RoomOfStream("address")
    data = [json.dumps({"room_id": room_id}) for room_id in ("r1", "r1", "address", "r2", "")]
    assert [is_ours(one) for one in data] == [True, True, True, False, True]
    is_ours = RoomOfStream("address")
    assert [is_ours(one) for one in (data[2], data[0])] == [True, False]


async def test_an_emoji_that_comes_in_two_halves_is_one() -> None:
    mine = [
        STARTED,
        begun("1"),
        begun("2", "b"),
        said("1", "so \ud83d"),
        said("2", "in\ud83d"),
        said("1", "\ude00"),
    ]
    events = [*mine, said("2", " between"), PAUSED]
    async with FakeServer() as server:
        sent = [f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in events]
        server.on("POST", "/api/rooms/r1/run", streams(*sent))
        state, _ = await shown(server)
    assert [turn.text for turn in state.turns.values()] == ["so \U0001f600", "in\ufffd between"]
    assert not state.unknown
