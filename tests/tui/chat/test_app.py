"""The whole program with a chat: which one is opened, what its keys are, how it is left."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from textual import events

from agent_tui.config.file import Config
from agent_tui.model import events as ev
from agent_tui.model.errors import ConfigError, NotFound, NotOffered
from tests.fakes.chat_link import FakeChatLink
from tests.fakes.room_link import FakeLink
from tests.state.chat_events import loaded, message, started
from tests.tui.watched import Fed
from tui.app import AgentTuiApp
from tui.chat.first import NEW, fields_here, first_chat
from tui.chat.screen import ChatScreen
from tui.cli.exits import FAILED
from tui.keys.keymap import resolve
from tui.link import ChatLink, RoomLink
from tui.request import ScreenRequest, Server
from tui.screens.dialog import QuestionScreen

LIVE = ev.LinkChanged("live")


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def linked(link: FakeChatLink) -> ChatLink:
    return cast("ChatLink", link)


Program = Fed[AgentTuiApp, FakeChatLink]


@asynccontextmanager
async def program(
    folder: Path, chat: str = "", *, typed_early: str = "", **keys: str
) -> AsyncGenerator[Program, None]:
    """Open a chat; ``typed_early`` is typed while the first frame stands."""
    link = FakeChatLink()
    config = Config(
        folder / "config.toml", keys={name.replace("_", ".", 1): key for name, key in keys.items()}
    )
    request = ScreenRequest(Server("http://127.0.0.1:9"), None, config, chat=chat)
    app = AgentTuiApp(request, cast("RoomLink", FakeLink()), linked(link))
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        for letter in typed_early:
            app.post_message(events.Key(letter, letter))
        seen = Program(app, link, pilot)
        link.send(loaded(message("q1", "Look."), title="Make"), LIVE)
        await seen.settle()
        yield seen


async def test_the_newest_chat_is_opened_or_the_one_that_was_named() -> None:
    link = FakeChatLink()
    link.calls.chats = [ev.ConversationInfo("c1", title="Newest"), ev.ConversationInfo("c2", title="Older")]
    assert await first_chat(linked(link), "") == "c1"
    assert await first_chat(linked(link), "Old") == "c2"
    assert await first_chat(linked(link), "c2") == "c2"
    link.calls.chats.insert(0, ev.ConversationInfo("a1", title="Put away", archived=True))
    assert await first_chat(linked(link), "Put away") == "a1"
    assert await first_chat(linked(link), "") == "c1"
    with pytest.raises(NotFound):
        await first_chat(linked(link), "none of them")
    with pytest.raises(ConfigError):
        await first_chat(linked(link), "c")


async def test_without_one_or_when_asked_a_new_one_is_opened_that_works_in_this_folder(
    tmp_path: Path,
) -> None:
    link = FakeChatLink()
    assert await first_chat(linked(link), "", is_new=True) == NEW
    link.calls.chats = []
    assert await first_chat(linked(link), "") == NEW
    assert set(link.calls.asked) == {"conversations"}  # nothing is stored
    assert fields_here(linked(link)) == {"workspace": str(tmp_path)}
    link.is_embedded = False  # another machine's folders are not ours
    assert fields_here(linked(link)) == {}


async def test_a_server_without_a_list_opens_the_one_that_is_named() -> None:
    link = FakeChatLink()
    link.calls.refuse = NotOffered("no such call")
    assert await first_chat(linked(link), "c7") == "c7"
    with pytest.raises(NotOffered, match="Open one"):
        await first_chat(linked(link), "")


async def test_a_chat_that_is_not_there_ends_the_program_with_its_code(tmp_path: Path) -> None:
    request = ScreenRequest(
        Server("http://127.0.0.1:9"), None, Config(tmp_path / "config.toml"), chat="nothing like it"
    )
    app = AgentTuiApp(request, cast("RoomLink", FakeLink()), linked(FakeChatLink()))
    async with app.run_test() as pilot:
        while app.return_value is None:
            await pilot.pause()
    assert app.return_value == FAILED


async def test_what_is_typed_before_the_chat_is_there_is_written_into_its_line(tmp_path: Path) -> None:
    async with program(tmp_path, typed_early="quick") as seen:
        await seen.until(lambda: seen.app.places.chat is not None)
        assert seen.app.places.chat is not None
        line = seen.app.places.chat.composer.line
        await seen.until(lambda: line.text == "quick")


async def test_the_program_is_left_at_once_while_no_answer_comes(tmp_path: Path) -> None:
    async with program(tmp_path) as seen:
        assert isinstance(seen.app.screen, ChatScreen)
        await seen.pilot.press("ctrl+q")
        assert seen.app.return_value == 0


async def test_in_mid_answer_it_is_asked_first(tmp_path: Path) -> None:
    async with program(tmp_path) as seen:
        seen.link.send(started("a1", "q1"))
        assert "An answer is still running" in await seen.press("ctrl+q")
        await seen.press("escape")
        assert isinstance(seen.app.screen, ChatScreen)
        await seen.press("ctrl+q", "enter")
        assert seen.app.return_value == 0


async def test_ctrl_c_clears_the_line_then_twice_quits(tmp_path: Path) -> None:
    async with program(tmp_path) as seen:
        await seen.press("tab", "i", *"half a question")
        assert "cleared – ↑ brings it back" in await seen.press("ctrl+c")
        assert "press ctrl+c again to quit" in await seen.press("ctrl+c")
        await seen.press("ctrl+c")
        assert seen.app.return_value == 0


async def test_what_is_said_of_a_cleared_line_goes_when_it_is_written_in(tmp_path: Path) -> None:
    async with program(tmp_path) as seen:
        await seen.press("tab", "i", *"half a question")
        assert "cleared – ↑ brings it back" in await seen.press("ctrl+c")
        assert "cleared" not in await seen.press("a")


async def test_ctrl_c_in_mid_answer_says_how_to_stop_it_and_a_third_press_leaves(
    tmp_path: Path,
) -> None:
    async with program(tmp_path) as seen:
        seen.link.send(started("a1", "q1"))
        assert "again to quit · esc stops the answer" in " ".join((await seen.press("ctrl+c")).split())
        assert "An answer is still running" in await seen.press("ctrl+c")
        await seen.press("ctrl+c")
        assert seen.app.return_value == 0


async def test_help_and_palette_have_what_a_chat_can_do_and_why_not(tmp_path: Path) -> None:
    async with program(tmp_path) as seen:
        await seen.press("tab")
        text = await seen.press("question_mark")
        assert "Choose the model" in text
        assert "Find in the transcript" in await seen.press(*"find in")
        assert "Pause or resume the room" not in await seen.press("ctrl+c", *"pause or")
        await seen.press("escape")
        commands = {
            command.title: command.help for command in seen.app.places.palette.entries(seen.app.screen)
        }
        assert commands["Queued questions"] == "u – nothing is queued"
        assert commands["Find in the transcript"] == "/"


async def test_the_models_name_the_key_that_connects_one_and_have_it_then(tmp_path: Path) -> None:
    async with program(tmp_path) as seen:
        assert "f4 connect a model" in await seen.press("ctrl+l")
        asked = seen.link.calls.asked.count("models local")
        await seen.press("f1", "escape")  # as the form of a model's provider would be opened and left
        assert seen.link.calls.asked.count("models local") == asked + 1


async def test_keys_of_ones_own_hold_in_chats_and_are_named_there(tmp_path: Path) -> None:
    async with program(tmp_path, chat_say="f9", pane_find="f10") as seen:
        text = await seen.press("tab")
        assert "f9 write" in text
        await seen.press("f10", "L", "o", "o", "k")
        assert "1 found" in await seen.text() or "1 of 1" in await seen.text()


async def test_what_ends_early_names_the_key_that_opens_all_of_it(tmp_path: Path) -> None:
    steps = (
        ev.Step("step-0", 0, "tool_call", name="read_file", status="done"),
        ev.Step("step-1", 1, "tool_result", id_ref="step-0", content="line\n" * 300),
    )
    async with program(tmp_path, chat_open_step="f7") as seen:
        seen.link.send(loaded(message("q1", "Look."), message("a1", role="assistant", steps=steps)), LIVE)
        await seen.settle()
        assert "… 100 more lines – f7 to show all" in await seen.press("tab", "space", "end")


def test_a_key_that_a_chat_needs_twice_is_a_complaint() -> None:
    assert resolve({"chat.fold": "Y"}).problems == (
        "keys.chat.fold: takes Y from pane.copy_code, which has no key now",
    )


async def test_a_question_before_leaving_is_left_by_the_same_key(tmp_path: Path) -> None:
    async with program(tmp_path) as seen:
        seen.link.send(started("a1", "q1"))
        await seen.press("ctrl+q")
        assert isinstance(seen.app.screen, QuestionScreen)
        await seen.press("ctrl+q")
        assert isinstance(seen.app.screen, ChatScreen)
