"""The tools about rooms: which room is meant, what is done to it, what the model is told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agent_tui.backend.tools.rooms import ACTING, LOOKING, room_meant, room_tools
from agent_tui.backend.tools.tool import NamingTool, ToolError, ToolPlace
from agent_tui.model.errors import Refused
from agent_tui.model.events import AgentInfo, RoomInfo

REDIS = RoomInfo(
    "a1",
    "Redis or PostgreSQL?",
    "Should sessions live in Redis or in PostgreSQL?",
    "running",
    current_round=2,
    max_rounds=3,
    agents=(AgentInfo("x", "Mika"), AgentInfo("y", "Ada\x1b[2J")),
    updated_at="2026-01-02",
    last_words="numbers say otherwise.",
)
MAIL = RoomInfo("b2", "Rewrite the mail", "The onboarding mail", "paused", updated_at="2026-01-03")
NAME = RoomInfo("c3", "Name the service", "A name for the backup service", updated_at="2026-01-01")


class FewRooms:
    """Rooms that do what they are told at once, and keep what they were told."""

    def __init__(self, *rooms: RoomInfo) -> None:
        self.all = {room.id: room for room in rooms}
        self.told: list[tuple[str, str]] = []

    async def rooms(self) -> list[RoomInfo]:
        return list(self.all.values())

    async def pause(self, room_id: str) -> RoomInfo:
        self.told.append(("pause", room_id))
        return replace(self.all[room_id], status="running")  # it stops when its turn is cut

    async def resume(self, room_id: str) -> RoomInfo:
        self.told.append(("resume", room_id))
        if room_id == "c3":
            raise Refused("The budget is used up", "Raise it first.", status=409)
        return self.all[room_id]

    async def begin(self, task: str) -> RoomInfo:
        self.told.append(("begin", task))
        return RoomInfo("d4", task, task, "running")


@pytest.fixture
def few() -> FewRooms:
    return FewRooms(REDIS, MAIL, NAME)


async def called(few: FewRooms, name: str, **arguments: Any) -> dict[str, Any]:
    tool = next(tool for tool in room_tools(few) if tool.spec.name == name)
    output = await tool.run(arguments, ToolPlace())
    assert output.success
    found = json.loads(output.content)
    assert isinstance(found, dict)
    return found


async def test_rooms_are_listed_with_those_that_run_first(few: FewRooms) -> None:
    listed = await called(few, "list_rooms")
    assert [(room["number"], room["id"], room["status"]) for room in listed["rooms"]] == [
        (1, "a1", "running"),
        (2, "b2", "paused"),
        (3, "c3", "idle"),
    ]
    assert listed["more"] == 0


async def test_what_a_room_is_about_is_told_harmless(few: FewRooms) -> None:
    about = await called(few, "room_about", room="redis")
    assert (about["task"], about["round"], about["last_words"]) == (REDIS.task, 2, "numbers say otherwise.")
    assert "\x1b" not in json.dumps(about, ensure_ascii=False)


async def test_a_room_is_paused_once_and_resumed_and_one_is_begun(few: FewRooms) -> None:
    assert (await called(few, "pause_room", room="1"))["status"] == "paused"
    assert (await called(few, "pause_room", room="the mail"))["changed"] is False
    assert (await called(few, "resume_room", room="b2"))["status"] == "running"
    assert (await called(few, "start_room", task="Name it"))["id"] == "d4"
    assert few.told == [("pause", "a1"), ("resume", "b2"), ("begin", "Name it")]


@pytest.mark.parametrize("said", ["2", "the mail", "b2c4e6f8a1c3"])
async def test_a_person_is_asked_about_a_name_and_an_id_whatever_the_model_calls_the_room(said: str) -> None:
    few = FewRooms(REDIS, replace(MAIL, id="b2c4e6f8a1c3"), NAME)
    tool = next(tool for tool in room_tools(few) if tool.spec.name == "resume_room")
    assert isinstance(tool, NamingTool)
    arguments = await tool.resolve({"room": said})
    assert arguments == {"room": "b2c4e6f8a1c3"}
    assert tool.ask(arguments, ToolPlace()).call == "resume_room Rewrite the mail (b2c4e6f8)"


async def test_what_the_engine_refuses_is_a_failed_call(few: FewRooms) -> None:
    with pytest.raises(ToolError, match="budget is used up"):
        await called(few, "resume_room", room="c3")


def test_only_what_may_cost_money_asks(few: FewRooms) -> None:
    asks = {tool.spec.name: tool.permission for tool in room_tools(few)}
    assert asks == {
        **dict.fromkeys((*LOOKING, "pause_room"), "read"),
        **dict.fromkeys(("resume_room", "start_room"), "ask"),
    }
    assert set(asks) == {*LOOKING, *ACTING}
    (start,) = (tool for tool in room_tools(few) if tool.spec.name == "start_room")
    assert start.ask({"task": "Name\nit"}, ToolPlace()).call == "start_room Name it"


@pytest.mark.parametrize(
    ("said", "room_id"),
    [
        ("a1", "a1"),
        ("Redis or PostgreSQL", "a1"),
        ("redis", "a1"),
        ("the mail room", "b2"),
        ("onboarding", "b2"),
        ("first", "a1"),
        ("the second one", "b2"),
        ("number 3", "c3"),
        ("3rd", "c3"),
        ("backup service", "c3"),
    ],
)
def test_a_room_is_meant_by_id_number_name_or_words(said: str, room_id: str) -> None:
    assert room_meant([NAME, MAIL, REDIS], said).id == room_id


def test_an_id_means_its_room_whatever_another_is_called() -> None:
    assert room_meant([replace(NAME, name="b2"), MAIL], "b2") is MAIL


@pytest.mark.parametrize(
    ("said", "why"),
    [("number 7", "no room number 7"), ("kafka", "no such room"), ("or", "no such room"), ("the", "no such")],
)
def test_what_means_no_room_says_which_there_are(said: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        room_meant([NAME, MAIL], said)


@pytest.mark.parametrize("said", ["the first one", "number 1", "kafka"])
def test_where_there_are_no_rooms_that_is_what_is_said(said: str) -> None:
    with pytest.raises(ToolError, match="there are no rooms yet"):
        room_meant([], said)


def test_what_means_several_rooms_names_them() -> None:
    with pytest.raises(ToolError, match=r"several rooms fit.*Name the service.*Name the dog"):
        room_meant([NAME, replace(NAME, id="d4", name="Name the dog", task="A dog")], "name")
