"""The first screen: what goes on, and the ways from it and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.style import Style
from textual._compositor import Compositor
from textual.widget import Widget
from textual.widgets import Static

from tests.state.chat_events import loaded
from tests.tui.chat.one_chat import LIVE
from tests.tui.home.one_home import Home, home
from tests.tui.lists.chats_listed import chat
from tests.tui.lists.rooms_listed import room
from tests.tui.whole_app import opened_app
from tui.chat.screen import ChatScreen
from tui.forms.new_room import NewRoomScreen
from tui.home.screen import HomeScreen
from tui.lists.chats import ConversationsScreen
from tui.lists.rooms import RoomsScreen
from tui.room.screen import RoomScreen
from tui.screens.words import say


async def test_rooms_and_chats_stand_in_one_list_and_who_waits_for_a_person_stands_first(
    tmp_path: Path,
) -> None:
    rooms = [room(1, name="Done", status="completed"), room(9, name="Talks", status="running")]
    chats = [chat(5, title="Waits", status="running", asks=True), chat(3, title="Rests", last_words="Yes.")]
    async with home(tmp_path, rooms, chats) as seen:
        text = await seen.until("Done", "Waits")
        places = [text.index(name) for name in ("Continue", "Waits", "Talks", "Done", "Rests", "Try")]
        assert places == sorted(places)
        assert "needs approval" in next(row for row in text.splitlines() if "Waits" in row)


async def test_at_80_columns_a_name_of_thirty_cells_is_whole(tmp_path: Path) -> None:
    name = "Should sessions live in Redis?"
    async with home(tmp_path, [room(1, name=name, tokens=41_000)], size=(80, 24)) as seen:
        assert "41k" not in await seen.until(name)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_first_frame_says_at_once_what_the_line_is_for_where_it_will_be(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with home(tmp_path, size=size) as seen:
        shown = (await seen.text()).splitlines()
        first = seen.app.screen_stack[0].query_one("#starting", Static)
        said = str(first.content).splitlines()
        assert say("home.ask.room") in said[2]
        for row, line in enumerate(said, first.content_region.y):
            if words := line.strip():
                assert shown[row].index(words) == first.content_region.x + line.index(words)


async def test_in_a_large_terminal_it_stands_in_the_middle(tmp_path: Path) -> None:
    async with home(tmp_path, size=(200, 60)) as seen:
        body = seen.app.screen.query_one("#body").region
        assert body.width == 120
        assert body.x == 200 - body.right


async def test_what_is_typed_before_the_line_is_there_is_written_into_it(tmp_path: Path) -> None:
    async with home(tmp_path, typed_early="no key") as seen:
        await seen.until("› no key")


async def test_what_changes_is_shown_and_what_is_gone_is_not(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1, name="Plan"), room(2, name="Other")]) as seen:
        await seen.until("Plan", "Other")
        seen.rooms.tell(room(1, name="Better plan"), removed=("r2",))
        await seen.until("Better plan", lambda: "Other" not in seen.now)


async def test_what_was_deleted_in_a_list_is_not_offered_until_that_is_undone(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1, name="Zebra"), room(2, name="Other")]) as seen:
        await seen.until("Zebra", "Other")
        await seen.key("l")
        await seen.at(RoomsScreen)
        await seen.press("d", "escape")
        await seen.at(HomeScreen)
        await seen.until("Other", lambda: "Zebra" not in seen.now)
        await seen.key("l")
        await seen.at(RoomsScreen)
        await seen.press("u", "escape")
        await seen.until("Continue", "Other", "Zebra")


async def test_an_empty_store_has_no_rows_to_go_on_with_but_something_to_try(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        text = await seen.until("demo mode")
        assert "Continue" not in text
        assert "enter open" not in text
        assert "1  Should we keep user sessions in Redis or in PostgreSQL?" in text


async def test_the_help_says_that_nothing_is_listed_that_could_be_opened(tmp_path: Path) -> None:
    async with home(tmp_path, size=(100, 60)) as seen:
        help_shown = await seen.press("question_mark")
        rows = [line for line in help_shown.splitlines() if "nothing is listed" in line]
        assert len(rows) == 4
        assert "Open the selected room or chat" in rows[0]


async def test_a_row_is_opened_and_left_again(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1, name="Plan")], [chat(2, title="Why")]) as seen:
        await seen.until("Plan", "Why")
        await seen.press("enter")
        await seen.at(RoomScreen)
        await seen.press("escape")
        await seen.at(HomeScreen)
        await seen.press("down", "down", "enter")
        await seen.at(ChatScreen)
        seen.chat_link.send(loaded(), LIVE)
        await seen.press("escape", "escape")  # the line, then the chat
        await seen.at(HomeScreen)


async def test_the_lists_are_opened_from_it_and_esc_leads_back(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1), room(2)], [chat(3)]) as seen:
        await seen.key("l")
        await seen.at(RoomsScreen)
        await seen.press("f3")
        await seen.at(ConversationsScreen)
        await seen.press("escape")
        await seen.at(HomeScreen)
        await seen.key("q")
        assert seen.app.return_value == 0


async def test_the_palette_of_a_room_and_of_a_chat_leads_home_and_to_something_new(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1, name="Plan")]) as seen:
        await seen.until("Plan")
        await seen.press("enter")
        await seen.at(RoomScreen)
        assert "New room" in await seen.press("ctrl+p", *"new")
        await seen.press(*" chat", "enter")
        await seen.at(ChatScreen)
        seen.chat_link.send(loaded(), LIVE)
        first = seen.app.screen
        await seen.press("ctrl+p", *"new chat", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, ChatScreen) and seen.app.screen is not first)
        await seen.press("f12")
        await seen.at(NewRoomScreen)
        await seen.press("escape")
        await seen.at(ChatScreen)
        await seen.press("ctrl+p", *"home s", "enter")
        await seen.at(HomeScreen)


async def test_from_a_new_chat_and_from_the_form_of_a_new_room_one_comes_back_to_the_room(
    tmp_path: Path,
) -> None:
    async with home(tmp_path, [room(1, name="Plan")]) as seen:
        opened = await seen.open_room("Plan")
        await seen.press("f9")
        await seen.at(ChatScreen)
        seen.chat_link.send(loaded(), LIVE)
        await seen.press("f12")
        await seen.at(NewRoomScreen)
        await seen.until("What should they talk about?")  # in the empty task
        await seen.press("escape")
        await seen.at(ChatScreen)
        await seen.press("escape", "escape")
        await seen.until(lambda: seen.app.screen is opened)
        await seen.press("i", *"/new", "enter")
        await seen.at(NewRoomScreen)
        await seen.press("escape")
        assert seen.app.screen is opened


@pytest.mark.parametrize("from_chat", [False, True])
async def test_a_room_that_is_made_in_a_room_or_a_chat_is_opened_instead(
    tmp_path: Path, from_chat: bool
) -> None:
    async with home(tmp_path, [room(1, name="Plan")]) as seen:
        opened = await seen.open_room("Plan")
        if from_chat:
            await seen.press("f9")
            await seen.at(ChatScreen)
        await seen.press("f12", *"Tea", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, RoomScreen) and seen.app.screen is not opened)
        assert seen.rooms.made[0]["task"] == "Tea"
        await seen.press("escape")
        await seen.at(HomeScreen)


async def test_from_one_list_to_the_other_home_is_not_shown_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with home(tmp_path, [room(1)], [chat(1)]) as seen:
        await seen.press("f3")
        await seen.at(RoomsScreen)
        painted: list[Widget | None] = []

        def paint(compositor: Compositor, *args: object, **kwargs: object) -> None:
            painted.append(compositor.root)

        monkeypatch.setattr(Compositor, "render_update", paint)
        await seen.press("f3")
        await seen.at(ConversationsScreen)
        await seen.settle()
        assert painted
        assert not any(isinstance(root, HomeScreen) for root in painted)


async def test_a_placeholder_does_not_look_typed(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1)]) as seen:
        asks = await _style_of(seen, "What should they talk about?")
        await seen.key("l")
        await seen.at(RoomsScreen)
        await seen.press("slash")
        filters = await _style_of(seen, say("list.filter"))
        assert asks.italic
        assert filters.italic


async def _style_of(seen: Home, words: str) -> Style:
    """Return the style of what is shown of these words after their first letter, where the cursor may be."""
    await seen.until(words)
    strips = seen.app.screen._compositor.render_strips(seen.app.size)
    parts = [part for strip in strips for part in strip if part.text.strip() and part.text.strip() in words]
    style = max(parts, key=lambda part: len(part.text)).style
    assert style is not None
    return style


async def test_a_room_opens_with_what_its_row_knew(tmp_path: Path) -> None:
    waits = room(1, name="Plan", task="", status="running", current_round=2, tokens=1284)
    async with home(tmp_path, [waits]) as seen:
        await seen.open_room("Plan")
        text = await seen.text()
        assert all(known in text for known in ("Plan", "round 2 of 3", "● live", "1,284 tokens"))
        assert "p pause" not in text  # the key does nothing yet


async def test_a_room_of_which_nothing_is_known_says_nothing_of_it(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        seen.app.places.open_room("r1")
        await seen.at(RoomScreen)
        text = await seen.text()
        assert "connecting" in text
        assert all(guessed not in text for guessed in ("untitled", "start", "0 tokens", "round"))


async def test_a_chat_opens_with_what_its_row_knew(tmp_path: Path) -> None:
    async with home(tmp_path, chats=[chat(1, title="Why so slow?", model="some-model", tokens=1284)]) as seen:
        await seen.until("Why so slow?")
        await seen.press("enter")
        await seen.at(ChatScreen)
        text = await seen.text()
        assert all(known in text for known in ("Why so slow?", "some-model", "1,284 tokens"))


async def test_who_began_elsewhere_comes_home_too(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("f2")
        await seen.until(lambda: isinstance(seen.app.screen, HomeScreen))


async def test_at_every_size_the_line_and_the_keys_are_in_sight(tmp_path: Path) -> None:
    rooms = [room(number, name="会话应该放在哪里?" * 4) for number in range(30)]
    async with home(tmp_path, rooms, size=(60, 16)) as seen:
        await seen.until("会话")
        for size in ((60, 16), (80, 24), (200, 60)):
            text = await seen.resize(*size)
            assert "What should they talk about?" in text, size
            assert "n new room" in text.splitlines()[-1], size


async def test_in_a_narrow_terminal_hints_and_examples_are_cut_with_a_sign(tmp_path: Path) -> None:
    async with home(tmp_path, size=(40, 10)) as seen:
        text = await seen.press("tab")
        assert text.splitlines()[-1].strip() == "enter start a room · esc back"
        seen.app.screen.scroll_end(animate=False)  # there is a scroll bar
        text = await seen.until("Plan the launch")
        assert [
            row.rstrip(" ▁▂▃▄▅▆▇█")[-1] for row in text.splitlines() if row.startswith(("   1", "   2"))
        ] == [
            "…",
            "…",
        ]
