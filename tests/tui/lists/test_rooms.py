"""The list of rooms as a person uses it: live, by keys alone, over a server in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent_tui.model.errors import ConnectFailed, Refused
from agent_tui.model.events import AgentInfo
from tests.settling import settle
from tests.tui.lists.rooms_listed import agents, listed, room
from tui.lists import feed as list_feed
from tui.lists.rooms import RoomsScreen
from tui.lists.row_list import RowList
from tui.room.screen import RoomScreen


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_feed, "PACE_SECONDS", 0.0)
    monkeypatch.setattr(list_feed, "RETRY_SECONDS", (0.0,))


async def test_a_row_says_who_speaks_why_it_stands_still_and_what_was_said_last(tmp_path: Path) -> None:
    rooms = (
        room(
            1, status="running", current_round=2, agents=agents("speaking", "thinking", "said"), tokens=1300
        ),
        room(2, agents=agents("cut"), interrupted="pause"),
        room(3, status="completed", current_round=3, last_words="Call it Ledger."),
        room(4, status="error", agents=agents("said", "failed"), last_speaker="Ada", last_words="no quota"),
        room(5, interrupted="budget"),
        room(6, status="error", last_words="damaged: max_rounds"),
    )
    async with listed(tmp_path, *rooms) as seen:
        rows = (await seen.text()).splitlines()
    assert "1 running · 6 in all" in rows[0]
    assert rows[1].split() == ["ROOM", "ROUND", "STATE", "TOKENS", "ACTIVE"]
    assert "● Room 1" in rows[2]
    assert "round 2/3" in rows[2]
    assert "1.3k" in rows[2]
    assert "Mika ● Ada ◔ 老王 ✓" in rows[2]
    assert "‖ Room 2" in rows[3]
    assert "Mika cut at the pause" in rows[3]
    assert "done 3/3" in rows[4]
    assert '"Call it Ledger."' in rows[4]
    assert "✗ Room 4" in rows[5]
    assert "Ada: no quota" in rows[5]
    assert "paused – the budget" in rows[6]
    assert "✗ Room 6" in rows[7]
    assert "damaged: max_rounds" in rows[7]


async def test_a_room_in_which_a_tool_asks_says_so(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1, status="running", agents=agents("speaking"), asks=True)) as seen:
        row = (await seen.text()).splitlines()[2]
    assert "! Room 1" in row
    assert "needs approval" in row


async def test_where_there_is_room_more_of_the_room_under_the_cursor_stands_beside_the_list(
    tmp_path: Path,
) -> None:
    nasty = "Shall we?\n[red]\x1b[31m" + "why not " * 200
    rooms = room(1, task="Tabs or spaces?"), room(2, task=nasty, agents=agents("said", "failed"))
    async with listed(tmp_path, *rooms) as seen:
        assert "Tabs or spaces?" not in await seen.text()
        await seen.resize(160, 40)
        assert "Tabs or spaces?" in await seen.text()
        text = await seen.press("j")
        assert "Tabs or spaces?" not in text
        assert "Shall we?" in text
        assert "[red]" in text
        beside = "".join(line[100:] for line in text.splitlines()).split()
        assert 60 < beside.count("not") < 80, "a long task is cut"
        assert "✗ Ada" in text
        seen.client.tell(replace(room(2, task="Now what?"), agents=agents("speaking")))
        await seen.until("Now what?", "● Mika")


async def test_keys_for_the_rows_wait_for_them_unless_another_screen_is_opened_first(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), room(3), room(4)) as seen:

        async def list_late(*keys: str) -> RoomsScreen:
            seen.client.may_list.clear()
            late = RoomsScreen(seen.app.places.link, (), seen.screen.deletions)
            await seen.app.push_screen(late)
            await seen.press(*keys)
            seen.client.may_list.set()
            return late

        late = await list_late("j", "j", "k", "d")
        assert "still loading" in await seen.text()
        assert_on(late, "r2")
        late = await list_late("G", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, RoomScreen))
        assert_on(late, "r4")
        late = await list_late("j", "enter", "n", "escape")
        await seen.until(lambda: seen.app.screen is late, "Room 4")
        assert_on(late, "r1")


def assert_on(screen: RoomsScreen, room_id: str) -> None:
    item = screen.query_one(RowList).cursor
    assert item is not None
    assert item.id == room_id


async def test_what_changes_is_seen_and_the_cursor_stays_on_its_room(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), room(3)) as seen:
        await seen.press("down", "down")
        assert seen.cursor == "r3"
        seen.client.tell(replace(room(2), status="running", agents=agents("speaking")), room(4))
        rows = (await seen.text()).splitlines()
        assert "Room 2" in rows[2]
        assert "Mika ●" in rows[2]
        assert "Room 4" in rows[5]
        assert seen.cursor == "r3"
        seen.client.tell(removed=("r3",))
        assert "Room 3" not in await seen.text()
        assert seen.cursor == "r4"


async def test_the_row_is_paused_and_resumed_and_a_new_one_started(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1, status="running"), room(2, status="idle")) as seen:
        text = await seen.press("p")
        assert "‖ Room 1" in text
        await seen.press("p")
        await seen.press("down", "p")
        assert seen.client.asked == [("pause", "r1"), ("resume", "r1"), ("run", "r2")]


async def test_all_that_run_pause_at_once_and_go_on_together(tmp_path: Path) -> None:
    rooms = (room(1, status="running"), room(2, status="running"), room(3))
    async with listed(tmp_path, *rooms) as seen:
        assert "P pause all" in seen.now
        await seen.press("P")
        text = await seen.press("P")
        assert "Resume 3 rooms?" in text
        assert "enter yes · esc no" in text
        await seen.press("n")
        assert ("resume", "r1") not in seen.client.asked
        await seen.press("P", "y")
        assert sorted(seen.client.asked) == [
            ("pause", "r1"),
            ("pause", "r2"),
            ("resume", "r1"),
            ("resume", "r2"),
            ("resume", "r3"),
        ]


@pytest.mark.slow
async def test_a_deletion_is_undone_as_long_as_the_program_runs(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), room(3)) as seen:
        assert "deleted – u to undo" in await seen.press("d")
        await seen.press("down", "d")
        await settle(15.0)
        await seen.press("down", "enter")  # another room is opened, and left again
        await seen.press("escape")
        await seen.press("f3")  # to the chats, and back
        await seen.press("f3")
        assert (await seen.text()).count("deleted – u to undo") == 2
        assert seen.cursor == "r1"
        await seen.press("u")
        assert seen.cursor == "r2"
        assert "deleted – press u" in await seen.press("d", "d")
        assert "Deleted." not in await seen.press("u")  # nothing says how to undo what is undone
        assert "deleted" not in await seen.press("u")
        assert seen.client.asked == []
    assert seen.client.asked == []


@pytest.mark.parametrize("keys", [("q",), ("ctrl+c", "ctrl+c"), ("down", "enter", "q")])
async def test_a_deletion_is_sent_when_the_program_is_left(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        await seen.press("d")
        await seen.pilot.press(*keys)
    assert seen.client.asked == [("delete", "r1")]
    assert seen.app.parting == ""


async def test_a_room_that_runs_pauses_when_it_is_deleted(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1, status="running"), room(2)) as seen:
        await seen.press("d")
        assert seen.client.asked == [("pause", "r1")]
        assert "deleted – u to undo" in await seen.text()


async def test_a_deletion_that_is_refused_is_told_once_the_screen_is_gone(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        await seen.press("d")
        seen.client.refuse = Refused("not you")
    assert seen.app.parting == "1 not deleted: not you"


async def test_words_leave_only_the_rooms_that_have_them_and_escape_brings_all_back(tmp_path: Path) -> None:
    rooms = (room(1, task="Redis?"), room(2, agents=agents("said")), room(3, status="completed"))
    async with listed(tmp_path, *rooms) as seen:
        for words, found in (("redis", "Room 1"), ("mika", "Room 2"), ("compl", "Room 3")):
            text = await seen.press("slash", *words)
            assert found in text
            assert "1 of 3 found" in text
            assert "3 in all" in await seen.press("escape")
        assert "Nothing matches. Press esc to show all." in await seen.press("slash", *"nowhere", "enter")


async def test_a_room_that_is_done_is_neither_paused_nor_resumed_from_the_list(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1, status="completed")) as seen:
        assert "the room is done – open it to add a round" in await seen.press("p")


async def test_in_the_filter_only_the_keys_that_work_there_are_named_and_escape_clears_it(
    tmp_path: Path,
) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        for words in ("room", ""):
            foot = (await seen.press("slash", *words)).splitlines()[-1]
            assert foot.strip() == "enter keep · esc clear"
            assert "enter open" in (await seen.press("escape")).splitlines()[-1]
        foot = (await seen.press("slash", *"room", "enter")).splitlines()[-1]
        assert foot.strip().startswith("esc clear · enter open")
        assert "esc clear" not in await seen.press("escape")


async def test_a_room_is_renamed_archived_and_found_again(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        await seen.press("R", *" x", "enter")
        await seen.press("a")
        assert [call for call, _ in seen.client.asked] == [
            "change {'name': 'Room 1 x'}",
            "change {'archived': True}",
        ]
        text = await seen.text()
        assert "Room 1" not in text
        assert "archived – A shows it" in text
        text = await seen.press("A")
        assert "Room 1 x" in text
        assert "archived" in text


async def test_an_empty_list_offers_to_pause_nothing(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1)) as seen:
        assert "P pause all" in await seen.text()
        await seen.press("a")
        assert "P pause all" not in await seen.text()


async def test_a_connection_that_is_lost_comes_back_by_itself(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1)) as seen:
        seen.client.lost = [ConnectFailed("nobody there")] * 3
        seen.client.tell(room(2))
        assert "Room 2" in await seen.text()
        await seen.until(lambda: not seen.client.lost)
        seen.client.tell(room(3))
        text = await seen.text()
        assert "Room 3" in text
        assert "reconnecting" not in text


async def test_a_server_without_changes_is_looked_at_now_and_then(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), tells_changes=False) as seen:
        seen.client.rooms["r3"] = room(3)
        assert "Room 3" not in await seen.text()
        await seen.until("Room 3")


async def test_a_list_of_archived_rooms_alone_does_not_say_that_there_are_none(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1)) as seen:
        assert "Everything here is archived. Press A to show it." in await seen.press("a")
        await seen.press("A", "d")
        await seen.until("deleted")
        assert "archived. Press" not in await seen.text()


async def test_an_archived_room_that_is_deleted_elsewhere_is_listed_no_more(tmp_path: Path) -> None:
    gone = room(2, name="Gone", archived=True)
    async with listed(tmp_path, room(1), room(3), gone, tells_changes=False) as seen:
        await seen.press("A")
        await seen.until("Gone", "3 in all")
        del seen.client.rooms[gone.id]
        await seen.press("A", "A")
        await seen.until("with archived", "2 in all")
        assert "Gone" not in seen.now


async def test_archived_rooms_are_asked_for_as_soon_as_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_feed, "PLAIN_SECONDS", 3600.0)
    async with listed(tmp_path, room(1), room(2), room(3, archived=True), tells_changes=False) as seen:
        assert "Room 3" not in await seen.text()
        assert "Room 3" in await seen.press("A")
        assert "Room 3" not in await seen.press("A")


async def test_a_room_is_opened_and_left_again_to_the_same_row(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        await seen.press("down", "enter")
        assert isinstance(seen.app.screen, RoomScreen)
        seen.client.tell(room(3))
        await seen.press("escape")
        assert seen.app.screen_stack[-1] == seen.screen
        assert "Room 3" in await seen.text()
        assert seen.cursor == "r2"


async def test_hostile_names_move_no_cursor_and_columns_stand_straight(tmp_path: Path) -> None:
    names = (
        "\x1b]0;t\x07 \u202eevil",
        "会话放 Redis 还是 PostgreSQL?" * 3,
        "👩‍👩‍👧 family",
        "e\u0301" * 90,
        "",
    )
    rooms = [
        room(n, name=name, last_words="\x1b[31m" + name, status="completed") for n, name in enumerate(names)
    ]
    async with listed(tmp_path, *rooms, size=(120, 10)) as seen:
        text = await seen.text()
        assert "\x1b" not in text
        assert "\u202e" not in text
        strips = seen.list.render_lines(seen.list.region.at_offset((0, 0)))
    assert {strip.cell_length for strip in strips} == {120}
    assert len({cells_before(strip.text, "done 0/3") for strip in strips[:5]}) == 1


def cells_before(text: str, word: str) -> int:
    return cell_len(text.partition(word)[0])


async def test_a_thousand_rooms_paint_what_is_in_sight_and_a_change_paints_its_row(tmp_path: Path) -> None:
    rooms = [room(n) for n in range(1000)]
    async with listed(tmp_path, *rooms, size=(120, 40)) as seen:
        assert seen.list.rows_painted <= 3 * 38
        painted = seen.list.rows_painted
        seen.client.tell(replace(rooms[0], tokens=1234))
        assert "1.2k" in await seen.text()
        assert seen.list.rows_painted - painted == 1
        painted = seen.list.rows_painted
        seen.client.tell(replace(rooms[59], tokens=9))  # the last of all: out of sight
        await seen.settle()
        assert seen.list.rows_painted == painted


async def test_rooms_of_one_name_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    rooms = (room(1, name="Redis?"), room(2, name="Redis?"), room(3, name="Postgres?"))
    async with listed(tmp_path, *rooms) as seen:
        text = await seen.text()
        assert "Redis? r1 " in text
        assert "Redis? r2 " in text
        assert "Postgres? r3" not in text
        seen.client.tell(replace(rooms[1], name="Mongo?"))
        text = await seen.text()
        assert "Redis? r1 " not in text
        assert "Mongo? r2" not in text


async def test_the_list_is_moved_in_as_in_vim(tmp_path: Path) -> None:
    async with listed(tmp_path, *(room(number) for number in range(1, 60)), size=(80, 13)) as seen:
        first = seen.cursor
        await seen.press("j", "j", "k")
        second = seen.cursor
        await seen.press("k", "ctrl+d")
        assert seen.cursor not in (first, second)
        await seen.press("ctrl+u")
        assert seen.cursor == first
        await seen.press("G")
        last = seen.cursor
        await seen.press("g")
        assert (seen.cursor, first == last) == (first, False)


async def test_no_size_breaks_it(tmp_path: Path) -> None:
    rooms = (room(1, status="running", agents=agents("speaking", "said", "cut")), room(2))
    async with listed(tmp_path, *rooms, size=(1, 1)) as seen:
        for size in ((1, 1), (4, 3), (20, 5), (60, 10), (300, 4)):
            await seen.resize(*size)
            await seen.press("down", "end", "home")
            assert seen.cursor == "r1", size


async def test_rooms_are_sorted_by_the_next_column(tmp_path: Path) -> None:
    rooms = (room(1, name="b", tokens=5), room(2, name="a", tokens=9, cost=0.5), room(3, name="c", tokens=7))
    async with listed(tmp_path, *rooms) as seen:
        orders = []
        for _ in range(6):
            orders.append([one.id for one in seen.screen.listing.listed])
            await seen.press("o")
    assert orders[0] == ["r1", "r2", "r3"]
    assert orders[1] == ["r2", "r1", "r3"]
    assert orders[3] == ["r2", "r3", "r1"]
    assert orders[4][0] == "r2"
    assert orders[5] == orders[0]


async def test_the_line_above_says_the_order(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), size=(44, 8)) as seen:
        first, *_ = (await seen.press("o")).splitlines()
        assert first.split() == ["Rooms", "by", "name", "0", "running", "·", "2", "in", "all"]


async def test_a_copy_has_everything_but_what_was_said(tmp_path: Path) -> None:
    agent = AgentInfo("a", "Mika", "#e0a030", "big", system_prompt="You doubt.", provider_id="local")
    told = room(1, task="Why?", agents=(agent,), max_tokens=50, execution_mode="parallel", tokens=99)
    told = replace(told, enabled_tools=("clock",), workspace="/srv/notes", guide="ignore", view="panes")
    told = replace(told, on_error="pause", on_resume="again")
    async with listed(tmp_path, told) as seen:
        await seen.press("c")
        assert seen.cursor == "made1"
    wanted = {"name": "Mika", "color": "#e0a030", "system_prompt": "You doubt.", "model": "big"}
    assert seen.client.made == [
        {
            "task": "Why?",
            "name": "Room 1 (copy)",
            "execution_mode": "parallel",
            "max_rounds": 3,
            "on_error": "pause",
            "on_resume": "again",
            "max_tokens": 50,
            "enabled_tools": ("clock",),
            "workspace": "/srv/notes",
            "guide": "ignore",
            "view": "panes",
            "agents": [{**wanted, "provider_id": "local"}],
        }
    ]


async def test_what_the_server_lacks_is_not_offered_and_says_why(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1)) as seen:
        seen.screen.acts.missing = {"delete": "405", "create": "404"}
        text = await seen.press("d")
        assert "this server does not offer it" in text
        assert "deleted" not in text
        assert isinstance((await seen.press("n"), seen.app.screen)[1], RoomsScreen)
