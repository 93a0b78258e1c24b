"""The line of the first screen: what is written there becomes a room or a chat."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.geometry import Offset

from agent_tui.config.agent_templates import templates
from agent_tui.model.errors import Refused
from tests.settling import settle
from tests.state.chat_events import loaded
from tests.tui.chat.one_chat import LIVE
from tests.tui.home.one_home import TASK, home
from tests.tui.lists.rooms_listed import room
from tests.tui.watched import FRAMES_SECONDS
from tui.chat.screen import ChatScreen
from tui.forms.new_room_fields import AGENTS, quick_room
from tui.home.screen import HomeScreen
from tui.keys.first_letter import HOLD_SECONDS
from tui.lists.rooms import RoomsScreen
from tui.room.screen import RoomScreen
from tui.screens.help import HelpScreen


async def test_who_types_makes_a_room(tmp_path: Path) -> None:
    task = "Где сессии?"
    async with home(tmp_path) as seen:
        assert task in await seen.write(task)
        await seen.press("enter")
        await seen.at(RoomScreen)
        assert seen.rooms.made == [quick_room(task)]


@pytest.mark.parametrize(
    ("task", "language"), [(TASK, "en"), ("会话应该放在哪里?", "zh"), ("Где хранить сессии?", "ru")]
)
def test_its_room_has_three_agents_who_speak_the_language_of_the_task(task: str, language: str) -> None:
    known = {template.id: template for template in templates()}
    made = quick_room(task)
    assert made["task"] == task
    assert [agent["name"] for agent in made["agents"]] == [known[one].names[language] for one in AGENTS]
    assert len({agent["color"] for agent in made["agents"]}) == len(AGENTS)
    assert not any("provider_id" in agent for agent in made["agents"])  # the default one speaks
    assert made["synthesis"] is True


async def test_what_is_pasted_becomes_the_task_whole(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        await seen.key("n")
        seen.app.post_message(events.Paste("One line.\nAnother \x1b[31mline."))
        await seen.until("Another")
        await seen.press("enter")
        await seen.at(RoomScreen)
    assert seen.rooms.made[0]["task"].startswith("One line.\nAnother")
    assert "\x1b" not in seen.rooms.made[0]["task"]


async def test_a_line_that_was_cleared_comes_back(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        await seen.write("What now")
        assert "cleared – ↑ brings it back" in await seen.press("ctrl+c")
        assert "› What now" in await seen.press("up")


async def test_a_room_that_could_not_be_made_is_said_and_the_task_stays(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        await seen.until("demo mode")
        seen.rooms.refuse = Refused("no more rooms", "delete one")
        await seen.write(TASK)
        assert TASK in await seen.press("enter")
        await seen.until("no more rooms")
        seen.rooms.refuse = None
        await seen.press("enter")
        await seen.at(RoomScreen)


async def test_tab_makes_a_chat_of_it_whose_first_question_is_asked_at_once(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        await seen.key("c")
        assert "enter start a chat" in await seen.until("What do you want to ask?")
        await seen.press("tab")
        assert "enter start a room" in await seen.until("What should they talk about?")
        await seen.press("tab", "W", "h", "y", "enter")
        await seen.at(ChatScreen)
        seen.chat_link.send(loaded(), LIVE)
        await seen.until(lambda: bool(seen.chat_link.questions))
        assert [question.content for question in seen.chat_link.questions] == ["Why"]
        assert seen.rooms.made == []


async def test_in_the_line_letters_are_letters_and_esc_leaves_it(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        await seen.key("n")
        assert "qncvol" in await seen.write("qncvol")
        assert "n new room" in await seen.press("escape")
        await seen.key("q")
        assert seen.app.return_value == 0


@pytest.mark.parametrize("task", ["quick?", "let us see", "vLLM", "3 ideas", "ok", "just do it"])
async def test_a_task_may_begin_with_a_letter_that_is_a_key(tmp_path: Path, task: str) -> None:
    async with home(tmp_path, [room(1), room(2)]) as seen:
        assert f"› {task}" in await seen.write(task)
        assert isinstance(seen.app.screen, HomeScreen)


async def test_a_letter_typed_long_before_the_next_is_a_key_however_late_both_are_seen(
    tmp_path: Path,
) -> None:
    async with home(tmp_path) as seen:
        first = events.Key("c", "c")
        first.time -= 2 * HOLD_SECONDS
        seen.app.post_message(first)
        seen.app.post_message(events.Key("w", "w"))
        assert "enter start a chat" in await seen.until("› w")


async def test_a_letter_of_a_russian_keyboard_is_a_key_and_may_begin_a_text_too(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1), room(2)]) as seen:
        assert "› давай" in await seen.write("давай")  # its first letter is in the place of l
        await seen.press("ctrl+c")
    async with home(tmp_path) as seen:
        await seen.key("й")  # q
        assert seen.app.return_value == 0


async def test_a_mark_of_chinese_input_is_a_key(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        seen.app.post_message(events.Key("fullwidth_question_mark", "？"))
        await seen.at(HelpScreen)


async def test_in_the_list_letters_are_keys_at_once(tmp_path: Path) -> None:
    async with home(tmp_path, [room(number, name=f"Plan {number}") for number in range(4)]) as seen:
        await seen.until("Plan 0", "Plan 3")
        text = await seen.press("j", "j", "k", "j", "j")
        assert [line.split()[2:4] for line in text.splitlines() if "▸" in line] == [["Plan", "2"]]
        await seen.press("q")
        assert seen.app.return_value == 0


async def test_in_the_list_a_letter_that_is_no_key_begins_a_task(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1), room(2)]) as seen:
        await seen.key("j")
        assert "› Redis or not" in await seen.write("Redis or not")


async def test_what_was_not_sent_is_there_at_the_next_start_and_what_was_sent_is_one_key_away(
    tmp_path: Path,
) -> None:
    async with home(tmp_path) as seen:
        await seen.write("Sort the backlog")
        await seen.press("escape", "q")
        await settle(HOLD_SECONDS + FRAMES_SECONDS)
    async with home(tmp_path) as seen:
        assert "› Sort the backlog" in await seen.text()
        await seen.press("tab", "enter")
        await seen.at(RoomScreen)
    async with home(tmp_path) as seen:
        assert "› Sort the backlog" not in await seen.text()
        assert "› Sort the backlog" in await seen.press("tab", "up")


async def test_a_second_window_in_which_nothing_was_written_leaves_the_draft(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        async with home(tmp_path) as second:
            await second.write("Sort the backlog")
        await seen.press("escape")
    async with home(tmp_path) as seen:
        assert "› Sort the backlog" in await seen.text()


async def test_an_example_is_tried_with_one_key_or_a_click(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        await seen.key("1")
        await seen.at(RoomScreen)
        await seen.press("escape")
        await seen.at(HomeScreen)
        row = next(y for y, line in enumerate(seen.now.splitlines()) if "Plan the launch" in line)
        await seen.pilot.click(offset=Offset(10, row))
        await seen.at(RoomScreen)
    tasks = [made["task"] for made in seen.rooms.made]
    assert tasks[0] == "Should we keep user sessions in Redis or in PostgreSQL?"
    assert tasks[1].startswith("Plan the launch")


async def test_a_command_of_rooms_and_chats_is_no_task_and_no_question(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        for key, command, words in (("n", "/help", "type to search"), ("c", "/themes", "Theme")):
            await seen.key(key)
            await seen.write(command)
            assert words in await seen.press("enter")
            await seen.press("escape", "escape")
        await seen.key("n")
        await seen.write("/pause")
        assert "/pause does nothing here" in await seen.press("enter")
        assert "› /pause" in seen.now
        await seen.press("ctrl+c")
        await seen.write("/rooms")
        await seen.press("enter")
        await seen.at(RoomsScreen)
    assert seen.rooms.made == []
