"""The first screen: what goes on, a line that becomes a room or a chat, and what is offered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from rich.style import Style
from textual import events
from textual._compositor import Compositor
from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from agent_tui.clients.records import ProviderInfo
from agent_tui.config.agent_templates import templates
from agent_tui.config.file import Config
from agent_tui.config.presets import PRESETS
from agent_tui.model.errors import Refused
from agent_tui.model.events import ConversationInfo, RoomInfo
from tests.fakes.chat_link import FakeChatLink
from tests.fakes.room_link import FakeLink
from tests.settling import settle
from tests.state.chat_events import loaded
from tests.tui.chats_listed import ListedChats, chat
from tests.tui.one_chat import LIVE
from tests.tui.rooms_client import ListedClient
from tests.tui.rooms_listed import room
from tests.tui.watched import FRAMES_SECONDS, Watched
from tests.tui.whole_app import opened_app
from tui.app import AgentTuiApp
from tui.chat.screen import ChatScreen
from tui.forms.new_room import NewRoomScreen
from tui.forms.new_room_fields import AGENTS
from tui.found import FoundModels
from tui.home.screen import HomeScreen, Ways
from tui.keys.first_letter import HOLD_SECONDS
from tui.keys.palette import fit
from tui.language import KEY as OF_KEYS
from tui.language import speak, translated
from tui.link import ChatLink, RoomLink
from tui.lists.chats import ConversationsScreen
from tui.lists.rooms import RoomsScreen
from tui.request import ScreenRequest, Server
from tui.room.screen import RoomScreen
from tui.screens.choose import ChooseScreen
from tui.screens.help import HelpScreen
from tui.screens.words import say

TASK = "Should sessions live in Redis?"
DEMO = ProviderInfo("demo", "Demo", "demo", "demo")


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


class Home(Watched[AgentTuiApp]):
    """What a test sees of the first screen and does to it."""

    LOOKS = 4
    rooms: ListedClient
    chats: ListedChats
    chat_link: FakeChatLink

    async def key(self, letter: str) -> str:
        """Press a letter, and nothing for as long as it takes to see that it begins no text."""
        await self.press(letter)
        await settle(HOLD_SECONDS + FRAMES_SECONDS)
        return await self.text()

    async def write(self, words: str) -> str:
        keys = {" ": "space", "?": "question_mark"}
        return await self.press(*(keys.get(letter, letter) for letter in words))

    async def open_room(self, name: str) -> Screen[Any]:
        """Open the first row, which is the room of that name; return its screen."""
        await self.until(name)
        await self.press("enter")
        await self.at(RoomScreen)
        return self.app.screen

    async def at(self, kind: type[Any]) -> None:
        await self.until(lambda: isinstance(self.app.screen, kind))


@asynccontextmanager
async def home(
    folder: Path,
    rooms: Sequence[RoomInfo] = (),
    chats: Sequence[ConversationInfo] = (),
    *,
    size: tuple[int, int] = (100, 30),
    found: Sequence[FoundModels] | None = None,
    typed_early: str = "",
) -> AsyncGenerator[Home, None]:
    """Show it over servers in memory; ``found`` is the models here (``None``: whatever this machine has),
    ``typed_early`` what is typed while the first frame stands.
    """
    link, chat_link = FakeLink(), FakeChatLink()
    client, chat_client = ListedClient(list(rooms)), ListedChats(chats)
    client.known_providers = [DEMO]
    link.calls, chat_link.calls = cast("Any", client), cast("Any", chat_client)
    config = Config(folder / "config.toml")
    request = ScreenRequest(Server("http://127.0.0.1:9"), None, config, home=True)
    app = AgentTuiApp(request, cast("RoomLink", link), cast("ChatLink", chat_link))

    async def find() -> list[FoundModels]:
        return list(found or ())

    async with app.run_test(size=size, notifications=True) as pilot:
        for letter in typed_early:
            app.post_message(events.Key("space" if letter == " " else letter, letter))
        seen = Home(app, pilot)
        seen.rooms, seen.chats, seen.chat_link = client, chat_client, chat_link
        await seen.at(HomeScreen)
        if found is not None:
            links = cast("RoomLink", link), cast("ChatLink", chat_link)
            places = app.places
            home = places.home
            ways = Ways(places.is_deleted, find, home.open, home.ask, places.set_up)
            screen = HomeScreen(*links, ways)
            screen.key_of = app.places.key_names
            await app.push_screen(screen)
        await seen.text()
        yield seen
        link.end()
        chat_link.end()


# --- what goes on ------------------------------------------------------------------------------------------


async def test_rooms_and_chats_stand_in_one_list_and_who_waits_for_a_person_stands_first(
    tmp_path: Path,
) -> None:
    rooms = [room(1, name="Done", status="completed"), room(9, name="Talks", status="running")]
    chats = [chat(5, title="Waits", status="running", asks=True), chat(3, title="Rests", last_words="Yes.")]
    async with home(tmp_path, rooms, chats) as seen:
        text = await seen.until("Done", "Waits")
        places = [text.index(name) for name in ("Continue", "Waits", "Talks", "Done", "Rests", "Try")]
        assert places == sorted(places)
        assert "needs" in text or "asks" in text or "waits" in text


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
        await seen.press("ctrl+p", *"home screen", "enter")
        await seen.at(HomeScreen)
        await seen.press("down", "enter")
        await seen.at(RoomScreen)
        await seen.press("ctrl+p", *"new chat", "enter")
        await seen.at(ChatScreen)
        await seen.press("f12")
        await seen.at(NewRoomScreen)


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
        await seen.text()
        assert painted
        assert not any(isinstance(root, HomeScreen) for root in painted)


async def test_a_placeholder_does_not_look_typed(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1)]) as seen:
        asks = await _style_of(seen, "What should they talk about?")
        await seen.key("l")
        await seen.at(RoomsScreen)
        await seen.press("slash")
        filters = await _style_of(seen, say("rooms.filter"))
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


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (200, 60)])
async def test_at_every_size_the_line_and_the_keys_are_in_sight(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    rooms = [room(number, name="会话应该放在哪里?" * 4) for number in range(30)]
    async with home(tmp_path, rooms, size=size) as seen:
        text = await seen.until("会话")
        assert "What should they talk about?" in text
        assert "n new room" in text.splitlines()[-1]


# --- the line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "language"), [(TASK, "en"), ("会话应该放在哪里?", "zh"), ("Где хранить сессии?", "ru")]
)
async def test_who_types_makes_a_room_of_three_agents_who_speak_the_language_of_the_task(
    tmp_path: Path, task: str, language: str
) -> None:
    known = {template.id: template for template in templates()}
    async with home(tmp_path) as seen:
        assert task in await seen.write(task)
        await seen.press("enter")
        await seen.at(RoomScreen)
        (made,) = seen.rooms.made
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


@pytest.mark.parametrize("again", ["letter", "paste", "up"])
async def test_that_the_line_was_cleared_is_said_until_there_is_another_text(
    tmp_path: Path, again: str
) -> None:
    async with home(tmp_path) as seen:
        await seen.write("What now")
        assert "cleared – ↑ brings it back" in await seen.press("ctrl+c")
        if again == "paste":
            seen.app.post_message(events.Paste("Then"))
        else:
            await seen.press("T" if again == "letter" else "up")
        text = await seen.text()
        assert "cleared" not in text
        assert say("home.about.room")[:30] in text


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


@pytest.mark.parametrize(
    "task",
    ["quick wins for our onboarding?", "let us name it", "vLLM or llama.cpp?", "3 ideas", "ok", "just do it"],
)
async def test_a_task_may_begin_with_a_letter_that_is_a_key(tmp_path: Path, task: str) -> None:
    async with home(tmp_path, [room(1), room(2)]) as seen:
        assert f"› {task}" in await seen.write(task)
        assert isinstance(seen.app.screen, HomeScreen)


async def test_a_letter_of_a_russian_keyboard_is_a_key_and_may_begin_a_text_too(tmp_path: Path) -> None:
    async with home(tmp_path, [room(1), room(2)]) as seen:
        assert "› давай" in await seen.write("давай")  # its first letter is in the place of l
        await seen.press("ctrl+c")
    async with home(tmp_path) as seen:
        assert "› Тест" in await seen.write("тТест")  # n
        await seen.press("ctrl+c")
    async with home(tmp_path) as seen:
        await seen.key("й")  # q
        assert seen.app.return_value == 0


async def test_a_mark_of_chinese_input_is_a_key(tmp_path: Path) -> None:
    async with home(tmp_path) as seen:
        seen.app.post_message(events.Key("fullwidth_question_mark", "？"))
        await seen.at(HelpScreen)


@pytest.mark.parametrize("task", ["Should we?", "会话应该放在哪里?"])
async def test_a_key_and_the_task_at_once_is_a_key_and_the_task(tmp_path: Path, task: str) -> None:
    async with home(tmp_path) as seen:
        assert "enter start a chat" in await seen.write(f"c{task}")
        assert f"› {task}" in seen.now


async def test_keys_that_move_do_so_at_once_and_any_key_ends_the_wait(tmp_path: Path) -> None:
    async with home(tmp_path, [room(number, name=f"Plan {number}") for number in range(4)]) as seen:
        await seen.until("Plan 0", "Plan 3")
        text = await seen.press("j", "j", "k", "j", "j")
        assert [line.split()[2:4] for line in text.splitlines() if "▸" in line] == [["Plan", "2"]]
        await seen.press("j", "k", "q", "escape")
        assert seen.app.return_value == 0


@pytest.mark.parametrize("task", ["just do it", "keep it short", "know-how"])
async def test_a_task_begins_with_every_letter_where_keys_move_at_once(tmp_path: Path, task: str) -> None:
    async with home(tmp_path, [room(1), room(2)]) as seen:
        await seen.key("j")
        assert f"› {task}" in await seen.write(task)


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


@pytest.mark.parametrize(
    ("language", "typed", "does"),
    [
        *(("en", typed, "Start a room with a task") for typed in ("new room", "start room", "create room")),
        *(("en", typed, "Ask one agent in a chat") for typed in ("new chat", "create chat")),
        ("en", "help", "Show the keys"),
        ("en", "theme", "Choose a theme"),
        ("en", "theme dracula", ""),
        ("en", "dracula", ""),
        *(("zh-CN", typed, "Start a room with a task") for typed in ("新房间", "新建房间", "创建房间")),
        *(("zh-CN", typed, "Ask one agent in a chat") for typed in ("新对话", "新建对话", "创建对话")),
        ("zh-CN", "帮助", "Show the keys"),
        ("zh-CN", "主题", "Choose a theme"),
        ("ru", "новая комната", "Start a room with a task"),
        *(("ru", typed, "Ask one agent in a chat") for typed in ("новый чат", "создать чат")),
        ("ru", "тема", "Choose a theme"),
    ],
)
async def test_the_palette_finds_first_what_is_meant_by_the_words_of_this_screen(
    tmp_path: Path, language: str, typed: str, does: str
) -> None:
    speak(language)
    try:
        async with home(tmp_path, found=[]) as seen:
            rows = seen.app.places.palette.entries(seen.app.screen)
            first = max(rows, key=lambda row: fit(typed.split(), row)[0])
            assert first.title == (translated(OF_KEYS, does) if does else say("theme.use", name="dracula"))
    finally:
        speak("en")


# --- models ------------------------------------------------------------------------------------------------

LOCAL = FoundModels(PRESETS["lmstudio"], "http://127.0.0.1:1234/v1", models=3)
KEY = FoundModels(PRESETS["groq"], PRESETS["groq"].base_url, "GROQ_API_KEY")


async def test_one_thing_that_was_found_is_offered_by_one_key(tmp_path: Path) -> None:
    async with home(tmp_path, found=[LOCAL]) as seen:
        await seen.until("Found on this machine: LM Studio (3 models) – o uses it")
        text = " ".join((await seen.key("o")).split())
        assert say("setup.foreign")[:24] in text  # the server of this test is not our own


async def test_of_several_one_is_chosen(tmp_path: Path) -> None:
    async with home(tmp_path, found=[LOCAL, KEY]) as seen:
        await seen.until("LM Studio (3 models) · Groq (key in GROQ_API_KEY) – o chooses one")
        await seen.key("o")
        await seen.until("Found on this machine", "Groq (key in GROQ_API_KEY)")
        assert not isinstance(await seen.press("down", "enter"), ChooseScreen)
        await seen.at(HomeScreen)


async def test_who_has_a_provider_is_told_which_and_offered_none(tmp_path: Path) -> None:
    async with home(tmp_path, found=[LOCAL]) as seen:
        await seen.until("Found on this machine")
        seen.rooms.known_providers = [ProviderInfo("work", "Work", "openai", "big"), DEMO]
        await seen.press("question_mark", "escape")  # what stood above it may have changed that
        await seen.until("Work · big", lambda: "Found on" not in seen.now)


async def test_who_has_a_provider_can_still_set_up_what_is_here(tmp_path: Path) -> None:
    async with home(tmp_path, found=[LOCAL, KEY]) as seen:
        seen.rooms.known_providers = [ProviderInfo("work", "Work", "openai", "big"), DEMO]
        await seen.press("question_mark", "escape")
        await seen.until("Work · big", lambda: "Found on" not in seen.now)
        await seen.key("o")
        await seen.until("Found on this machine", "LM Studio (3 models)", "Groq (key in GROQ_API_KEY)")


async def test_the_palette_lists_an_action_once_whatever_its_keys_and_what_cannot_be_done_last(
    tmp_path: Path,
) -> None:
    async with home(tmp_path, found=[]) as seen:
        commands = seen.app.places.palette.entries(seen.app.screen)
        titles = [command.title for command in commands]
        assert len(titles) == len(set(titles))
        assert next(one.help for one in commands if one.title == "Talk in a voice room") == "v, f6"
        assert "not now" in commands[-1].help
