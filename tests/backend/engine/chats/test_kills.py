"""A process that dies at any commit of an answer: the next one closes what is open, and runs nothing."""

from __future__ import annotations

from pathlib import Path

from agent_tui.backend.engine.answer.asks import AskDecision
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.hub import StoredFrame, translated
from agent_tui.backend.models.model import ThinkingPiece
from agent_tui.backend.store import reads
from agent_tui.wire import chat_encode
from tests.backend.engine.chat_house import ENDS, call, open_chats, results, speaks, statuses
from tests.backend.engine.house import crash_copy
from tests.fakes.scripted_tools import crash, hang, reader, writer


async def killed_everywhere(tmp_path: Path) -> tuple[str, list[Path]]:
    """Answer with words, and calls that run, fail and ask; return the chat and a copy of each commit."""
    copies: list[Path] = []

    def copy(_frames: list[StoredFrame]) -> None:
        copies.append(crash_copy(tmp_path / "a.db", tmp_path / f"dead-{len(copies)}.db"))

    model = speaks(
        [ThinkingPiece("Hm"), "I look.", call("look"), call("broken", index=1), call("change", index=2)],
        ["Again.", call("look"), call("nothing", index=1)],
        ["So it is."],
    )
    tools = reader(), reader("broken", crash), writer()
    async with open_chats(tmp_path / "a.db", model, *tools, enabled=("look", "broken", "change")) as house:
        house.log.watchers.append(copy)
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.engine.answer(
                CHATS, house.id, answer_id, (await house.asks())["id"], AskDecision("once")
            )
            await house.ended(answer_id)
        return house.id, copies


async def test_a_call_whose_turn_had_not_come_did_not_run(tmp_path: Path) -> None:
    model = speaks([call("look"), call("change", index=1)], ["Done."])
    async with open_chats(tmp_path / "a.db", model, reader(does=hang), writer()) as house:
        with house.engine.chats.attend(house.id):
            await house.begin()
            await house.stands("waits")
            dead = crash_copy(tmp_path / "a.db", tmp_path / "dead.db")
        id_ = house.id
    async with open_chats(dead, model, reader(), writer(), new=False) as house:
        house.id = id_
        assert statuses(await house.last()) == ["unknown", "cut"]


async def test_whenever_it_is_killed_the_answer_has_an_end_and_every_call_one_result(tmp_path: Path) -> None:
    id_, copies = await killed_everywhere(tmp_path)
    assert len(copies) > 8
    seen: set[str] = set()
    for dead in copies:
        look, change, model = reader(), writer(), speaks(["Yes."])
        async with open_chats(dead, model, look, change, new=False) as house:
            house.id = id_
            frames = translated(await house.store.read(reads.frames, id_, 0, 10_000), chat_encode.frame)
            answer = await house.last()
            assert [frame.seq for frame in frames] == list(range(1, len(frames) + 1))
            assert (frames[-1].name in ENDS, answer.status) == (True, "")
            assert sum(frame.name in ENDS for frame in frames) == 1
            calls = [step.id for step in answer.steps if step.type == "tool_call"]
            assert sorted(step.id_ref for step in answer.steps if step.type == "tool_result") == sorted(calls)
            assert [step.id for step in answer.steps] == [f"step-{n}" for n in range(len(answer.steps))]
            assert not {"waits", "asks", "running", ""} & set(statuses(answer))
            assert len(results(answer)) == len(calls)
            assert (look.ran, change.ran, model.calls) == ([], [], [])
            seen |= set(statuses(answer))
            await house.ask("And now?")  # it goes on from there
            told = model.calls[0].request.messages
            asked = [one.id for message in told for one in message.calls]
            assert [message.call_id for message in told if message.role == "tool"] == asked
    assert {"unknown", "done", "failed"} <= seen
