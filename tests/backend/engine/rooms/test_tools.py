"""Agents of rooms that use tools: their turns are answers like a chat's, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.answer.asks import AskDecision
from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.hub import StoredFrame
from agent_tui.backend.models.model import ModelRequest
from agent_tui.backend.models.prices import Terms
from agent_tui.backend.store import reads
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.config.file import Config
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import Message
from agent_tui.model.settings import Values
from tests.backend.engine.chat_house import call, kinds, results, statuses
from tests.backend.engine.house import MODES, House, data, open_house
from tests.backend.engine.invariants import check_room
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel
from tests.fakes.scripted_tools import ScriptedBox, echo, hang, reader, writer

QUICK = Timing(retries=(0.0, 0.0), grace=0.05, tool_grace=0.05)


def looks_first(request: ModelRequest) -> Script:
    """Look, then say what came of it."""
    if request.messages and request.messages[-1].role == "tool":
        return ["So it ", "is."]
    return ["I look.", call("look", {"at": request.speaker})]


class HangsOnce:
    """What a tool does that never ends the first time."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def __call__(self, arguments: Mapping[str, Any]) -> str:
        if self.begun.is_set():
            return await echo(arguments)
        self.begun.set()
        return await hang(arguments)


def models(says: Any = looks_first) -> FakeModels:
    return FakeModels(ScriptedModel(says, free=True))


def a_room(mode: str = "sequential", names: str = "Ada Bob", rounds: int = 1, **fields: Any) -> Values:
    agents = tuple({"name": name} for name in names.split())
    return {
        "task": "Talk",
        "execution_mode": mode,
        "max_rounds": rounds,
        "agents": agents,
        "enabled_tools": ("look", "change"),
        **fields,
    }


async def said(house: House, room_id: str) -> list[Message]:
    page = await house.engine.messages(ROOMS, room_id, None, None)
    return [message for message in page.messages if message.role == "assistant"]


async def stands(house: House, room_id: str, status: str) -> tuple[str, str]:
    """Wait until a call stands so; return its message and step."""

    def found() -> list[tuple[str, str]]:
        told = [(frame.message_id, data(frame).get("tool_status")) for frame in house.log.of(room_id)]
        return [(message, one["id"]) for message, one in told if one and one["status"] == status]

    await house.log.until(room_id, lambda: bool(found()))
    return found()[-1]


def original_view(frames: list[StoredFrame]) -> dict[str, str]:
    """Return what a client that knows nothing of steps shows of each message: its chunks, joined."""
    shown: dict[str, str] = {}
    for frame in frames:
        fields = data(frame)
        if frame.name == "message_chunk":
            assert isinstance(fields["content"], str)
            shown[fields["id"]] = shown.get(fields["id"], "") + fields["content"]
        elif frame.name == "message_end":
            assert shown.get(fields["id"], "") == fields["content"]
    return shown


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_looks_and_then_says_what_it_saw(tmp_path: Path, mode: str) -> None:
    look = reader()
    async with open_house(tmp_path / "a.db", models(), box=ScriptedBox(look), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room(mode))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        await check_room(house, room.id)
        ada, bob = await said(house, room.id)
        assert kinds(ada) == ["text", "tool_call", "tool_result", "text"]
        assert (ada.text, statuses(ada)) == ("I look.\n\nSo it is.", ["done"])
        assert results(bob) == [('{"at": "Bob"}', True)]
        names = {frame.name for frame in house.log.of(room.id)}
        assert not names & {"process_step", "process_step_delta", "tool_status"}
        assert original_view(house.log.of(room.id)) == {ada.id: ada.text, bob.id: bob.text}
        chunks = [data(f) for f in house.log.of(room.id) if f.name == "message_chunk"]
        assert all(("agent_id" in one, "progress" in one) == (mode == "parallel",) * 2 for one in chunks)


async def test_a_room_that_allows_no_tools_is_as_ever(tmp_path: Path) -> None:
    says = models(lambda request: ["Words."])
    async with open_house(tmp_path / "a.db", says, box=ScriptedBox(reader()), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room(enabled_tools=()))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        await check_room(house, room.id)
        assert says.model.calls[0].request.tools == ()  # type: ignore[attr-defined]
        chunk = next(data(frame) for frame in house.log.of(room.id) if frame.name == "message_chunk")
        assert set(chunk) == {"id", "content"}
        assert (await said(house, room.id))[0].steps == ()


async def test_only_tools_that_the_room_allows_are_offered_and_run(tmp_path: Path) -> None:
    other = reader("other")

    def says(request: ModelRequest) -> Script:
        return ["Well."] if request.messages[-1].role == "tool" else [call("other")]

    source = models(says)
    async with open_house(tmp_path / "a.db", source, box=ScriptedBox(reader(), other), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room(names="Ada", enabled_tools=("look",)))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        request = source.model.calls[0].request  # type: ignore[attr-defined]
        assert [spec.name for spec in request.tools] == ["look"]
        (ada,) = await said(house, room.id)
        assert (statuses(ada), other.ran) == (["failed"], [])
        assert "is not enabled" in results(ada)[0][0]
        await house.engine.change(ROOMS, room.id, {"enabled_tools": (), "max_rounds": 2})
        assert (await house.engine.show(ROOMS, room.id)).enabled_tools == ()


# --- pauses, stops ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
async def test_a_pause_inside_a_tool_cuts_it_and_the_turn_is_said_again(tmp_path: Path, mode: str) -> None:
    once = HangsOnce()
    look = reader(does=once)
    source = models()
    async with open_house(tmp_path / "a.db", source, box=ScriptedBox(look), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room(mode, names="Ada"))
        await house.engine.rooms.run(room.id)
        await once.begun.wait()
        await house.engine.pause(ROOMS, room.id)
        assert await house.log.ended(room.id) == "room_paused"
        await check_room(house, room.id)
        (cut,) = await said(house, room.id)
        assert (cut.interrupted, statuses(cut), cut.text) == ("pause", ["cut"], "I look.")
        assert "cut: the answer was stopped" in results(cut)[0][0]
        assert (len(look.ran), look.ended) == (1, ["cancelled"])

        await house.engine.rooms.resume(room.id)
        await house.log.until(room.id, lambda: house.log.of(room.id)[-1].name == "room_completed")
        await check_room(house, room.id)
        again = (await said(house, room.id))[-1]
        starts = [data(frame) for frame in house.log.of(room.id) if frame.name == "message_start"]
        assert [one.get("attempt", 1) for one in starts] == [1, 2]
        # It was told what had been called: here it has nothing left to look at.
        assert (again.text, len(look.ran)) == ("So it is.", 1)
        told = source.model.calls[1].request.messages  # type: ignore[attr-defined]
        assert [message.role for message in told] == ["system", "user", "assistant", "tool"]
        assert told[-1].call_id == told[-2].calls[0].id


async def test_a_pause_while_a_call_asks_ends_it_unrun(tmp_path: Path) -> None:
    change = writer()

    def says(request: ModelRequest) -> Script:
        return [call("change")]

    async with open_house(tmp_path / "a.db", models(says), box=ScriptedBox(change), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room(names="Ada"))
        with house.engine.asks.attend(room.id):
            await house.engine.rooms.run(room.id)
            message_id, step_id = await stands(house, room.id, "asks")
            await house.engine.pause(ROOMS, room.id)
            assert await house.log.ended(room.id) == "room_paused"
            await check_room(house, room.id)
            (cut,) = await said(house, room.id)  # it said nothing, but what it called can be seen
            assert (cut.text, statuses(cut), change.ran) == ("", ["cut"], [])
            with pytest.raises(Refused) as refused:
                await house.engine.answer(ROOMS, room.id, message_id, step_id, AskDecision("once"))
            assert refused.value.status == 409


@pytest.mark.parametrize(("act", "rest"), [("stop", "room_completed"), ("skip", "room_completed")])
async def test_an_agent_that_is_stopped_inside_a_tool_keeps_what_it_said(
    tmp_path: Path, act: str, rest: str
) -> None:
    look = reader(does=hang)
    async with open_house(tmp_path / "a.db", models(), box=ScriptedBox(look), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room(names="Ada"))
        await house.engine.rooms.run(room.id)
        await stands(house, room.id, "running")
        agent = room.agents[0].id
        await (house.engine.rooms.stop_agent if act == "stop" else house.engine.rooms.skip_agent)(
            room.id, agent
        )
        assert await house.log.ended(room.id) == rest
        await check_room(house, room.id)
        (cut,) = await said(house, room.id)
        assert (cut.interrupted, statuses(cut)) == (act, ["cut"])


async def test_words_that_are_said_now_cut_a_tool_and_the_agent_speaks_again(tmp_path: Path) -> None:
    once = HangsOnce()
    look = reader(does=once)
    async with open_house(tmp_path / "a.db", models(), box=ScriptedBox(look), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room(names="Ada"))
        await house.engine.rooms.run(room.id)
        await once.begun.wait()
        await house.engine.rooms.say(room.id, "Look there!", when="now")
        assert await house.log.ended(room.id) == "room_completed"
        await check_room(house, room.id)
        assert [message.interrupted for message in await said(house, room.id)] == ["interject", ""]


async def test_a_turn_that_uses_up_the_budget_in_its_loop_is_cut(tmp_path: Path) -> None:
    look = reader()
    source = models(lambda request: ["Words " * 100, call("look")])
    source.charged = Terms()
    async with open_house(tmp_path / "a.db", source, box=ScriptedBox(look), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room(names="Ada", max_tokens=400))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_paused"
        await check_room(house, room.id)
        assert (await house.engine.show(ROOMS, room.id)).interrupted == "budget"
        assert 1 <= len(look.ran) < 5


async def test_an_agent_that_never_stops_calling_fails_and_the_room_goes_on(tmp_path: Path) -> None:
    def says(request: ModelRequest) -> Script:
        return [call("look")] if request.speaker == "Ada" else ["Enough."]

    async with open_house(tmp_path / "a.db", models(says), box=ScriptedBox(reader()), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room())
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        await check_room(house, room.id)
        ada, bob = await said(house, room.id)
        assert (ada.error, len(results(ada))) == ("Exceeded maximum tool call iterations", 20)
        assert bob.text == "Enough."


# --- asks -------------------------------------------------------------------------------------------------


async def test_a_tool_that_asks_waits_for_a_word_and_one_word_may_allow_the_rest(tmp_path: Path) -> None:
    change = writer()

    def says(request: ModelRequest) -> Script:
        return ["Done."] if request.messages[-1].role == "tool" else [call("change", {"by": "us"})]

    async with open_house(tmp_path / "a.db", models(says), box=ScriptedBox(change), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room())
        with house.engine.asks.attend(room.id):
            await house.engine.rooms.run(room.id)
            message_id, step_id = await stands(house, room.id, "asks")
            assert change.ran == []
            page = await house.engine.messages(ROOMS, room.id, None, None)
            (step,) = page.messages[-1].steps
            assert (page.messages[-1].status, step.status) == ("streaming", "asks")
            assert step.ask is not None
            assert step.ask.call == 'change {"by": "us"}'
            with pytest.raises(NotFound):
                await house.engine.answer(ROOMS, room.id, message_id, "step-9", AskDecision("once"))
            await house.engine.answer(ROOMS, room.id, message_id, step_id, AskDecision("conversation"))
            assert await house.log.ended(room.id) == "room_completed"
        await check_room(house, room.id)
        assert len(change.ran) == 2  # Ada's and Bob's
        other = await house.engine.create(ROOMS, a_room(names="Ada"))
        await house.engine.rooms.run(other.id)
        await house.log.ended(other.id)
        (ada,) = await said(house, other.id)  # the rule was of the first room, and nobody is there to ask
        assert statuses(ada) == ["denied"]
        assert "nobody was there" in results(ada)[0][0]


async def test_a_deleted_room_takes_its_steps_and_rules_with_it(tmp_path: Path) -> None:
    async with open_house(tmp_path / "a.db", models(), box=ScriptedBox(reader()), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room(names="Ada"))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        await house.engine.delete(ROOMS, room.id)
        with pytest.raises(NotFound):
            await house.engine.answer(ROOMS, room.id, "m", "s", AskDecision("once"))


async def test_what_is_under_way_is_listed_with_its_steps_so_far(tmp_path: Path) -> None:
    look = reader(does=hang)
    async with open_house(tmp_path / "a.db", models(), box=ScriptedBox(look), timing=QUICK) as house:
        room = await house.engine.create(ROOMS, a_room("parallel", names="Ada"))
        await house.engine.rooms.run(room.id)
        await stands(house, room.id, "running")
        (ada,) = await said(house, room.id)
        assert (ada.status, ada.text, kinds(ada), statuses(ada)) == (
            "streaming",
            "I look.",
            ["text", "tool_call"],
            ["running"],
        )
        frames = await house.store.read(reads.frames, room.id, 0, 1000)
        assert all(json.loads(frame.data) for frame in frames)


# --- the tools of the house -------------------------------------------------------------------------------


async def test_the_tools_of_the_house_work_in_the_folder_of_the_room(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("one\n")

    def says(request: ModelRequest) -> Script:
        if request.messages[-1].role == "tool":
            return ["Read."]
        return [call("read_file", {"path": "notes.txt"}), call("read_file", {"path": "../a.db"}, 1)]

    box = Toolbox(lambda: Config(tmp_path / "config.toml"))
    async with open_house(tmp_path / "a.db", models(says), box=box, timing=QUICK) as house:
        room = await house.engine.create(
            ROOMS, a_room(names="Ada", enabled_tools=("read_file",), workspace=str(folder))
        )
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        (ada,) = await said(house, room.id)
        assert sorted(statuses(ada)) == ["done", "failed"]
        assert any("one" in content for content, success in results(ada) if success)
    await box.aclose()


@pytest.mark.parametrize(
    "fields",
    [{"workspace": "work"}, {"workspace": "/no/such/folder"}, {"enabled_tools": ("",)}],
)
async def test_bad_tools_and_folders_are_refused(tmp_path: Path, fields: dict[str, Any]) -> None:
    async with open_house(tmp_path / "a.db", models(), box=ScriptedBox(), timing=QUICK) as house:
        with pytest.raises(Refused) as refused:
            await house.engine.create(ROOMS, a_room(**fields))
        assert refused.value.status == 422
        room = await house.engine.create(ROOMS, a_room())
        with pytest.raises(Refused):
            await house.engine.change(ROOMS, room.id, {**fields})
