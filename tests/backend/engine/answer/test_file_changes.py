"""What tools did to files is kept, shown, and undone as long as the file is as they left it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.kinds import CHATS, ROOMS
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.config.file import Config
from agent_tui.config.tools import ToolsConfig
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import ChangedFile
from tests.backend.engine.chat_house import ChatHouse, call, open_chats, speaks, statuses, told
from tests.backend.engine.house import new_room, open_house
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel

TOOLS = ("write_file", "patch_file", "run_command")
ALLOWED = ToolsConfig(allow=("write_file(*)", "patch_file(*)", "run_command(*)"))


def writes(path: str, content: str, index: int = 0) -> Any:
    """Return a call that writes a file."""
    return call("write_file", {"path": path, "content": content}, index=index)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a working folder with a file."""
    made = tmp_path / "work"
    made.mkdir()
    (made / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    return made


@asynccontextmanager
async def changing(tmp_path: Path, folder: Path, *rounds: Script) -> AsyncIterator[ChatHouse]:
    """Yield a house whose model was asked, and changed files; it may without being asked."""
    box = Toolbox(lambda: CONFIG)
    try:
        async with open_chats(tmp_path / "a.db", speaks(*rounds, ["Done."]), box=box, enabled=TOOLS) as house:
            await house.engine.change(CHATS, house.id, {"workspace": str(folder)})
            await house.ask()
            yield house
    finally:
        await box.aclose()


CONFIG = Config(Path("config.toml"), tools=ALLOWED)


async def changes(house: ChatHouse) -> list[ChangedFile]:
    """Return what was changed, newest first."""
    return await house.engine.files.list_changes(CHATS, house.id)


async def undo(house: ChatHouse, change: ChangedFile) -> None:
    """Undo one change."""
    await house.engine.files.undo(CHATS, house.id, change.message_id, change.step_id)


def brief(found: list[ChangedFile]) -> list[tuple[str, int, int, bool, str]]:
    """Return what a list says of changes."""
    return [(one.path, one.added, one.removed, one.is_new, one.status) for one in found]


async def test_a_change_is_listed_with_its_diff_and_undone_to_the_byte(tmp_path: Path, folder: Path) -> None:
    edits = [{"search": "two", "replace": "zwei\ndrei"}]
    script = [call("patch_file", {"path": "./a.txt", "edits": edits}), writes("new/b.txt", "b\n", 1)]
    async with changing(tmp_path, folder, script) as house:
        found = await changes(house)
        assert brief(found) == [("new/b.txt", 1, 0, True, "made"), ("a.txt", 2, 1, False, "made")]
        assert "-two" in found[1].diff
        assert "+zwei" in found[1].diff
        assert found[1].folder == str(folder)
        assert found[0].diff.startswith("--- /dev/null\n+++ b/new/b.txt\n")
        for change in found:
            await undo(house, change)
        assert (folder / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
        assert not (folder / "new" / "b.txt").exists()
        assert [one.status for one in await changes(house)] == ["undone", "undone"]


async def test_that_it_was_undone_is_on_record_and_told_to_the_model(tmp_path: Path, folder: Path) -> None:
    model = speaks([writes("a.txt", "x")], ["Done."])
    box = Toolbox(lambda: CONFIG)
    async with open_chats(tmp_path / "a.db", model, box=box, enabled=TOOLS) as house:
        await house.engine.change(CHATS, house.id, {"workspace": str(folder)})
        answer_id = await house.ask()
        (change,) = await changes(house)
        await undo(house, change)
        name, fields = house.end()
        assert name == "tool_status"
        assert (fields["message_id"], fields["id"], fields["status"]) == (answer_id, "step-0", "undone")
        assert statuses((await house.messages())[1]) == ["undone"]
        await house.ask("And now?")
        result = next(text for role, text in told(model.calls[-1].request) if role == "tool")
        assert "The user has undone this change since" in result


async def test_what_is_not_as_the_tool_left_it_stays_and_says_why(tmp_path: Path, folder: Path) -> None:
    script = [writes("a.txt", "x"), writes("b.txt", "y", 1), writes("c.txt", "z", 2)]
    async with changing(tmp_path, folder, script) as house:
        (folder / "a.txt").write_text("mine")
        (folder / "b.txt").unlink()
        (folder / "c.txt").unlink()
        (folder / "c.txt").mkdir()
        found = {one.path: one for one in await changes(house)}
        stands = {path: one.status for path, one in found.items()}
        assert stands == {"a.txt": "changed", "b.txt": "gone", "c.txt": "unreadable"}
        for path, why in {"a.txt": "was changed since", "b.txt": "is gone", "c.txt": "be read"}.items():
            with pytest.raises(Refused, match=why) as refused:
                await undo(house, found[path])
            assert refused.value.status == 409
        assert (folder / "a.txt").read_text() == "mine"


async def test_all_of_an_answer_is_undone_newest_first_and_what_stays_is_named(
    tmp_path: Path, folder: Path
) -> None:
    rounds = [writes("a.txt", "x"), writes("b.txt", "y", 1)], [writes("a.txt", "xx")]
    async with changing(tmp_path, folder, *rounds) as house:
        (folder / "b.txt").write_text("mine")
        found = await changes(house)
        assert brief(found)[-2:] == [("b.txt", 1, 0, True, "changed"), ("a.txt", 1, 2, False, "changed")]
        done = await house.engine.files.undo(CHATS, house.id, found[0].message_id)
        assert [one.path for one in done.undone] == ["a.txt", "a.txt"]
        assert brief(done.left) == [("b.txt", 1, 0, True, "changed")]
        assert (folder / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
        with pytest.raises(Refused):
            await house.engine.files.undo(CHATS, house.id, found[0].message_id)


async def test_an_undone_change_is_not_undone_twice(tmp_path: Path, folder: Path) -> None:
    async with changing(tmp_path, folder, [writes("a.txt", "x")]) as house:
        (change,) = await changes(house)
        await undo(house, change)
        (folder / "a.txt").write_text("x")
        with pytest.raises(Refused, match="already undone"):
            await undo(house, change)
        assert (folder / "a.txt").read_text() == "x"


async def test_nothing_is_undone_through_a_link_that_leads_out(tmp_path: Path, folder: Path) -> None:
    async with changing(tmp_path, folder, [writes("sub/a.txt", "x")]) as house:
        (change,) = await changes(house)
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "a.txt").write_text("x")
        (folder / "sub" / "a.txt").unlink()
        (folder / "sub").rmdir()
        (folder / "sub").symlink_to(tmp_path / "out")
        assert [one.status for one in await changes(house)] == ["unreadable"]
        with pytest.raises(Refused):
            await undo(house, change)
        assert (tmp_path / "out" / "a.txt").exists()


async def test_what_commands_do_is_not_listed_and_a_call_that_changed_nothing_neither(
    tmp_path: Path, folder: Path
) -> None:
    same = (folder / "a.txt").read_bytes().decode()
    script = [call("run_command", {"command": "touch c.txt"}), writes("a.txt", same, 1)]
    async with changing(tmp_path, folder, script) as house:
        assert (folder / "c.txt").exists()
        assert await changes(house) == []
        with pytest.raises(NotFound):
            await house.engine.files.undo(CHATS, house.id, "nothing")


async def test_nothing_is_undone_while_an_answer_is_under_way(tmp_path: Path, folder: Path) -> None:
    model = ScriptedModel(lambda request: ["So"])
    async with open_chats(tmp_path / "a.db", model, enabled=()) as house:
        answer_id = await house.begin()
        await model.called(1)
        with pytest.raises(Refused, match="running"):
            await house.engine.files.undo(CHATS, house.id, answer_id)


async def test_a_room_lists_and_undoes_changes_as_well(tmp_path: Path, folder: Path) -> None:
    model = speaks([writes("a.txt", "x")], ["Done."])
    box = Toolbox(lambda: CONFIG)
    async with open_house(tmp_path / "a.db", FakeModels(model), box=box) as house:
        new = {**new_room("sequential", rounds=1, names="Ada"), "workspace": str(folder)}
        room = await house.engine.create(ROOMS, {**new, "enabled_tools": TOOLS})
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        (change,) = await house.engine.files.list_changes(ROOMS, room.id)
        await house.engine.files.undo(ROOMS, room.id, change.message_id, change.step_id)
        assert (folder / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
        said = (await house.engine.messages(ROOMS, room.id, None, None)).messages
        assert statuses(said[-1]) == ["undone"]
        await house.engine.delete(ROOMS, room.id)
