"""Making, showing, changing and deleting rooms."""

from __future__ import annotations

import colorsys
from itertools import pairwise
from pathlib import Path

import pytest

from agent_tui.backend.engine.agents import PALETTE
from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.settings import Values
from tests.backend.engine.house import free_models, new_room, open_house, words
from tests.fakes.scripted_model import FakeModels, ScriptedModel

AGENT = {"name": "Ada"}


async def test_a_room_gets_a_name_from_its_task_and_the_default_models(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        task = "\n  Which database shall we use for sessions that must survive a restart?\nThink of costs."
        room = await house.engine.create(ROOMS, {"task": task})
        assert room.name == "Which database shall we use for sessions that must survive…"
        assert (room.status, room.execution_mode, room.current_round) == ("idle", "sequential", 0)
        assert (room.max_rounds, room.last_event_id, room.keep_running) == (3, 0, False)
        assert {(agent.provider_id, agent.model) for agent in room.agents} == {("scripts", "scripts-model")}
        assert [agent.turn_order for agent in room.agents] == [0, 1, 2]
        assert room.created_at.endswith("+00:00")
        assert await house.engine.show(ROOMS, room.id) == room
        assert await house.engine.list_all(ROOMS) == [room]


async def test_a_folder_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        for name in ("missing", "circle", "x" * 300, "a\0b"):
            with pytest.raises(Refused, match="is not a folder"):
                await house.engine.create(ROOMS, {"task": "x", "workspace": str(tmp_path / name)})


@pytest.mark.parametrize(
    ("task", "name"),
    [("Which database?", "Engineer"), ("会话放在哪里?", "工程师"), ("Где хранить сессии?", "Инженер")],
)
async def test_default_agents_speak_the_language_of_the_task(tmp_path: Path, task: str, name: str) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        agents = (await house.engine.create(ROOMS, {"task": task})).agents
        assert agents[0].name == name
        assert len({agent.name for agent in agents}) == len({agent.system_prompt for agent in agents}) == 3


async def test_agents_keep_what_they_were_given(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        named = {
            "name": "Ada",
            "color": "#ABCDEF",
            "system_prompt": "Be brief.",
            "model": "big",
            "provider_id": "local",
        }
        modelled = {"name": "Bob", "provider_id": "local"}
        agents = (await house.engine.create(ROOMS, {"task": "Talk", "agents": (named, modelled)})).agents
        ada, bob = agents
        assert (ada.color, ada.system_prompt, ada.model, ada.provider_id) == (
            "#abcdef",
            "Be brief.",
            "big",
            "local",
        )
        assert (bob.color, bob.model, bob.provider_id) == (PALETTE[0], "local-model", "local")


async def test_agents_of_one_name_get_a_number_and_a_colour_of_their_own(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        wanted = [{"name": name} for name in ("Ada", "Bob", "ada", "Ada", "x" * 100, "x" * 100)]
        room = await house.engine.create(ROOMS, {"task": "Talk", "agents": wanted})
        names = [agent.name for agent in room.agents]
        assert names == ["Ada", "Bob", "ada 2", "Ada 3", "x" * 100, "x" * 96 + " 2"]
        assert len({agent.color for agent in room.agents}) == 6
        change = [
            {"id": agent.id, **({"name": "Bob"} if agent.name == "Ada" else {})} for agent in room.agents
        ]
        changed = (await house.engine.change(ROOMS, room.id, {"agents": change})).agents
        assert [agent.name for agent in changed] == ["Bob", "Bob 2", *names[2:]]


def test_neighbours_in_the_palette_differ_in_hue_and_none_is_red() -> None:
    hues = [
        colorsys.rgb_to_hls(*(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0] for color in PALETTE
    ]
    for hue, following in pairwise(hues):
        apart = abs(hue - following)
        assert min(apart, 1 - apart) > 0.05
    assert all(0.04 < hue < 0.96 for hue in hues)


@pytest.mark.parametrize(
    ("new", "title"),
    [
        ({"task": " \n"}, "The task is empty"),
        ({"task": "x" * 100_001}, "The task is too long"),
        ({"task": "Talk", "name": "x" * 201}, "The name is too long"),
        ({"task": "Talk", "execution_mode": "both"}, "The execution_mode is unknown"),
        ({"task": "Talk", "max_rounds": 0}, "The number of rounds is out of bounds"),
        ({"task": "Talk", "max_rounds": 1001}, "The number of rounds is out of bounds"),
        ({"task": "Talk", "agents": (AGENT,) * 65}, "A room has at most 64 agents"),
        ({"task": "Talk", "agents": ({"name": " "},)}, "The name of an agent is empty"),
        ({"task": "Talk", "agents": ({"name": "x" * 101},)}, "The name of an agent is too long"),
        (
            {"task": "Talk", "agents": ({**AGENT, "system_prompt": "x" * 100_001},)},
            "A system_prompt is too long",
        ),
        ({"task": "Talk", "agents": ({**AGENT, "model": "x" * 201},)}, "The model is too long"),
    ],
)
async def test_a_room_out_of_bounds_is_refused_with_a_clear_title(
    tmp_path: Path, new: Values, title: str
) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        with pytest.raises(Refused) as refused:
            await house.engine.create(ROOMS, new)
        assert (refused.value.title, refused.value.status) == (title, 422)
        assert await house.engine.list_all(ROOMS) == []


async def test_the_largest_room_allowed_is_allowed(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        new = {
            "task": "x" * 100_000,
            "name": "x" * 200,
            "execution_mode": "parallel",
            "max_rounds": 1000,
            "agents": ({"name": "x" * 100},) * 64,
        }
        assert len((await house.engine.create(ROOMS, new)).agents) == 64


async def test_what_no_database_holds_is_replaced_in_whatever_a_caller_says(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        bad = "a\x00b\ud83dc"
        room = await house.engine.create(
            ROOMS, {"task": bad, "name": bad, "agents": ({"name": bad, "system_prompt": bad},)}
        )
        good = "a\ufffdb\ufffdc"
        assert (room.task, room.name) == (good, good)
        assert (room.agents[0].name, room.agents[0].system_prompt) == (good, good)
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"


async def test_rooms_are_listed_in_the_order_they_were_made(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        made = [await house.engine.create(ROOMS, {"task": f"Talk {number}"}) for number in range(5)]
        assert await house.engine.list_all(ROOMS) == made


async def test_a_room_can_be_changed_before_and_after_it_was_started(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        change = {
            "name": "New",
            "task": "Other task",
            "max_rounds": 1,
            "execution_mode": "parallel",
            "keep_running": True,
        }
        changed = await house.engine.change(ROOMS, room.id, change)
        assert (changed.name, changed.task, changed.max_rounds) == ("New", "Other task", 1)
        assert (changed.execution_mode, changed.keep_running) == ("parallel", True)
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        assert "parallel_start" in house.log.names(room.id)
        renamed = await house.engine.change(ROOMS, room.id, {"name": "Newer", "keep_running": False})
        assert (renamed.name, renamed.keep_running, renamed.task) == ("Newer", False, "Other task")


@pytest.mark.parametrize(
    "change",
    [
        {"name": " "},
        {"name": "x" * 201},
        {"task": ""},
        {"max_rounds": 0},
        {"execution_mode": "x"},
    ],
)
async def test_a_change_out_of_bounds_is_refused(tmp_path: Path, change: Values) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        with pytest.raises(Refused) as refused:
            await house.engine.change(ROOMS, room.id, change)
        assert refused.value.status == 422
        assert await house.engine.show(ROOMS, room.id) == room


async def test_whatever_is_asked_of_a_room_that_is_not_there_it_is_not_found(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        engine = house.engine
        for asked in (engine.show, engine.pause, engine.delete):
            with pytest.raises(NotFound):
                await asked(ROOMS, "nowhere")
        for act in (engine.rooms.run, engine.rooms.resume):
            with pytest.raises(NotFound):
                await act("nowhere")
        with pytest.raises(NotFound):
            await engine.change(ROOMS, "nowhere", {"name": "x"})
        with pytest.raises(NotFound):
            await engine.messages(ROOMS, "nowhere", None, None)


async def test_deleting_a_room_that_runs_stops_it_and_ends_its_readers(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("parallel"))
        other = await house.engine.create(ROOMS, new_room("sequential"))
        await house.engine.rooms.run(room.id)
        reader = house.hub.read(room.id, 0)
        frames = await anext(reader)
        (await model.called(3)).release()
        await house.log.seen(room.id, "message_chunk")
        deleted = await house.engine.delete(ROOMS, room.id)
        assert (deleted.id, deleted.status, deleted.interrupted) == (room.id, "paused", "stop")
        async for batch in reader:
            frames += batch
        assert [frame.seq for frame in frames] == list(range(1, deleted.last_event_id + 1))
        assert model.open_calls() == []
        assert house.engine.runs.number() == house.hub.readers() == 0
        with pytest.raises(NotFound):
            await house.engine.show(ROOMS, room.id)
        assert [left.id for left in await house.engine.list_all(ROOMS)] == [other.id]
        assert [batch async for batch in house.hub.read(room.id, 0)] == []


async def test_a_deleted_room_leaves_no_row(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        await house.engine.delete(ROOMS, room.id)
        for table in ("conversation", "agent", "turn", "user_message", "event", "searched"):
            count = await house.store.read(
                lambda connection, name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar(),  # noqa: S608 - names from above
                table,
            )
            assert count == 0, table
