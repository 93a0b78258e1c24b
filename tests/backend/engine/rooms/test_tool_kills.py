"""A process that dies at any commit of a room with tools: nothing runs again, and the room goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.hub import StoredFrame
from agent_tui.backend.models.model import ModelRequest, ThinkingPiece
from tests.backend.engine.chat_house import call, statuses
from tests.backend.engine.house import MODES, crash_copy, open_house
from tests.backend.engine.invariants import check_room
from tests.backend.engine.rooms.test_tools import QUICK, a_room, models, said
from tests.fakes.scripted_model import Script
from tests.fakes.scripted_tools import ScriptedBox, crash, reader, writer


async def killed_everywhere(tmp_path: Path, mode: str) -> tuple[str, list[Path]]:
    """Run a room with words, and calls that run, fail and ask; return it and a copy of each commit."""
    copies: list[Path] = []

    def copy(_frames: list[StoredFrame]) -> None:
        copies.append(crash_copy(tmp_path / "a.db", tmp_path / f"dead-{len(copies)}.db"))

    def says(request: ModelRequest) -> Script:
        if request.messages[-1].role == "tool":
            return ["So it is."]
        return [
            ThinkingPiece("Hm"),
            "I look.",
            call("look"),
            call("broken", index=1),
            call("change", index=2),
        ]

    box = ScriptedBox(reader(), reader("broken", crash), writer(), allow=("change",))
    async with open_house(tmp_path / "a.db", models(says), box=box, timing=QUICK) as house:
        tools = ("look", "broken", "change")
        room = await house.engine.create(ROOMS, a_room(mode, enabled_tools=tools))
        house.log.watchers.append(copy)
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        await check_room(house, room.id)
    return room.id, copies


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
async def test_whenever_it_is_killed_nothing_runs_again_and_the_room_goes_on(
    tmp_path: Path, mode: str
) -> None:
    id_, copies = await killed_everywhere(tmp_path, mode)
    assert len(copies) > 12
    seen: set[str] = set()
    for dead in copies:
        look, change = reader(), writer()
        source = models(lambda request: ["Yes."])
        box = ScriptedBox(look, change)
        async with open_house(dead, source, box=box, timing=QUICK) as house:
            await house.load(id_)
            await check_room(house, id_)
            room = await house.engine.show(ROOMS, id_)
            assert (look.ran, change.ran, source.model.calls) == ([], [], [])  # type: ignore[attr-defined]
            for message in await said(house, id_):
                calls = [step.id for step in message.steps if step.type == "tool_call"]
                answered = sorted(step.id_ref for step in message.steps if step.type == "tool_result")
                assert answered == sorted(calls)
                assert not {"waits", "asks", "running", ""} & set(statuses(message))
                seen |= set(statuses(message))
            if room.status != "completed":
                await house.engine.rooms.resume(id_)
                await house.log.until(id_, lambda h=house: h.log.of(id_)[-1].name == "room_completed")  # type: ignore[misc]
            await check_room(house, id_)
            assert (look.ran, change.ran) == ([], [])
    assert {"unknown", "done", "failed"} <= seen
