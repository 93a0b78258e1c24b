"""The settings of a chat: only what is different is sent, and what cannot be says why."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.events import Key

from agent_tui.backend.engine.kinds import CHATS
from agent_tui.model.errors import Refused
from tests.backend.engine.chat_house import speaks
from tests.fakes.scripted_tools import writer
from tests.tui.lists.chats_listed import Fake, chat, fake_list, real_list
from tui.chat.screen import ChatScreen
from tui.forms.chat import SETTINGS
from tui.forms.fields import Choice, Line
from tui.forms.settings import SettingsScreen
from tui.forms.values import folder_of, read_value
from tui.lists.chats import ConversationsScreen
from tui.screens.choose import ChooseScreen
from widgets.composer import Composer

pytestmark = pytest.mark.slow

SIZE = (100, 36)


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


def line(seen: Fake, name: str) -> Line:
    return seen.app.screen.query_one(f"#{name}", Line)


async def test_only_what_is_different_is_sent_in_one_call(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1, temperature=0.5, max_tokens=1_000_000), size=SIZE) as seen:
        text = await seen.press("e")
        assert "1000000" in text
        line(seen, "name").value = "Plan"
        line(seen, "temperature").value = "0,7"
        line(seen, "max_tokens").value = "50,000"
        line(seen, "max_cost").value = "2.50"
        line(seen, "answer_tokens").value = "4 000"
        line(seen, "workspace").value = "/srv/work"
        seen.app.screen.query_one("#prompt", Composer).put("Be brief.")
        seen.app.screen.query_one("#thinking", Choice).choose("on")
        seen.app.screen.query_one("#on_resume", Choice).choose("again")
        await seen.press("ctrl+s")
        sent = (
            "change {'title': 'Plan', 'system_prompt': 'Be brief.', 'temperature': 0.7, "
            "'thinking_enabled': True, 'workspace': '/srv/work', 'max_tokens': 50000, 'max_cost': 2.5, "
            "'answer_tokens': 4000, 'on_resume': 'again'}"
        )
        assert seen.client.asked == [(sent, "c1")]
        assert "Plan" in await seen.text()


async def test_nothing_is_sent_where_nothing_was_touched_however_strange_it_is(tmp_path: Path) -> None:
    strange = chat(1, title="\x1b[31mred", model="\x00m", workspace="/a\nb", enabled_tools=("gone",))
    async with fake_list(tmp_path, strange, size=SIZE) as seen:
        assert "gone · not available now" in await seen.press("e")
        await seen.press("ctrl+s")
        assert seen.client.asked == []
        assert isinstance(seen.app.screen, ConversationsScreen)


async def test_what_is_wrong_is_said_below_it_and_nothing_is_sent(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), size=SIZE) as seen:
        await seen.press("e")
        wrong = {
            "name": " ",
            "temperature": "hot",
            "workspace": "here",
            "max_tokens": "many",
            "max_cost": "-1",
        }
        for name, value in wrong.items():
            line(seen, name).value = value
        text = await seen.press("ctrl+s")
        assert "a chat needs a title" in text
        assert "enter a number from 0 to 2, or leave it empty" in text
        assert "enter a full path" in text
        assert "enter a whole number, such as 50,000" in text
        assert "enter an amount, such as 2.50" in text
        assert seen.client.asked == []
        assert seen.app.screen.focused is line(seen, "name")


async def test_a_model_is_picked_from_what_its_provider_offers(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), size=SIZE) as seen:
        await seen.press("e")
        seen.app.screen.query_one("#provider", Choice).focus()
        assert "‹ Local ›" in await seen.press("right", "right")
        assert "Models of Local" in await seen.press("tab", "down")
        assert isinstance(seen.app.screen, ChooseScreen)
        await seen.press(*"small", "enter", "ctrl+s")
        assert seen.client.asked == [("change {'provider_id': 'local', 'model': 'small'}", "c1")]


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        (("space",), ()),
        (("down", "down", "space"), ("read_file",)),
        (("down", "down", "down", "space"), ("read_file", "run_command", "pause_room")),
    ],
    ids=["none", "one less than by default", "one more than by default"],
)
async def test_tools_are_chosen_one_by_one(
    tmp_path: Path, keys: tuple[str, ...], sent: tuple[str, ...]
) -> None:
    async with fake_list(tmp_path, chat(1), size=SIZE) as seen:
        text = await seen.press("e")
        assert "☑ read_file · never asks · Reads a file." in text  # what is sent by default
        assert "☑ run_command · asks first · Runs a command." in text
        assert "☐ pause_room · never asks · Pauses a room." in text  # it has to be marked
        seen.app.screen.query_one("#tools").focus()
        text = await seen.press(*keys)
        assert [name for name in ("read_file", "run_command", "pause_room") if f"☑ {name}" in text] == list(
            sent
        )
        await seen.press("ctrl+s")
        assert seen.client.asked == [(f"change {{'enabled_tools': {sent}}}", "c1")]


async def test_tools_go_back_to_those_that_the_server_gives(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1, enabled_tools=("read_file",)), size=SIZE) as seen:
        assert "☑ read_file" in await seen.press("e")
        seen.app.screen.query_one("#tools").focus()
        await seen.press("home", "space", "ctrl+s")
        assert seen.client.asked == [("change {'enabled_tools': None}", "c1")]


async def test_keys_of_one_burst_reach_the_fields_that_they_were_typed_for(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1, title=""), size=SIZE) as seen:
        for key in ("e", *"Plax", "backspace", "n", "tab", *"Be", "tab", "tab", "tab", *"0.5", "ctrl+s", "s"):
            seen.app.post_message(Key(key, key if len(key) == 1 else None))
        while not seen.client.asked:
            await seen.pilot.pause()
        sent = "change {'title': 'Plan', 'system_prompt': 'Be', 'temperature': 0.5}"
        assert seen.client.asked == [(sent, "c1")]


async def test_tools_and_providers_that_come_late_undo_nothing_that_was_typed_or_chosen(
    tmp_path: Path,
) -> None:
    async with fake_list(tmp_path, chat(1, provider_id="old"), size=SIZE) as seen:
        seen.client.held = asyncio.Event()
        await seen.press("e")
        line(seen, "model").value = "my-own"
        seen.app.screen.query_one("#tools").focus()
        await seen.press("space")
        seen.client.held.set()
        text = await seen.until("‹ old ›")
        assert "my-own" in text
        assert "☑" not in text
        await seen.press("ctrl+s")
        sent = "change {'model': 'my-own', 'enabled_tools': ()}"
        assert seen.client.asked == [(sent, "c1")]


async def test_answers_that_come_in_when_the_form_is_left_are_of_no_use(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), size=SIZE) as seen:
        seen.client.held = asyncio.Event()
        await seen.press("e")
        form = seen.app.screen
        assert isinstance(form, SettingsScreen)
        await form.query("*").remove()  # as while it is taken down
        seen.client.held.set()
        await seen.settle()
        form.dismiss()
        form.dismiss()  # the answer to what was kept, behind esc
        await seen.settle()
        assert isinstance(seen.app.screen, ConversationsScreen)


async def test_where_the_server_lists_no_tools_none_can_be_marked_and_that_is_said(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), size=SIZE, has_tools=False) as seen:
        assert "this server does not offer a list of tools" in await seen.press("e")
        assert seen.app.screen.query_one("#tools").disabled


async def test_what_the_server_refuses_is_said_and_what_was_written_stays(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), size=SIZE) as seen:
        await seen.press("e")
        line(seen, "name").value = "Plan"
        line(seen, "temperature").value = "1"
        seen.client.refuse = Refused("An answer is under way", "Wait for its end.", status=409)
        assert "An answer is under way" in await seen.press("ctrl+s")
        assert isinstance(seen.app.screen, SettingsScreen)
        seen.client.refuse = Refused("title must be shorter", status=422)
        assert "title must be shorter" in await seen.press("ctrl+s")
        await seen.press("escape")
        assert seen.client.asked == []


async def test_the_form_fits_a_small_terminal_and_its_last_line_stays(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), size=(50, 14), is_ascii=True) as seen:
        text = await seen.press("e")
        assert text.isascii()
        assert "enter save" in text
        seen.app.screen.query_one("#tools").focus()
        text = await seen.text()
        assert "read_file" in text
        assert text.isascii()


async def test_settings_hold_in_a_real_backend_and_open_in_the_chat_too(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    async with real_list(tmp_path, speaks([]), writer(), size=SIZE, workspaces=(allowed,)) as seen:
        await seen.pilot.press("enter")
        while not isinstance(seen.app.screen, ChatScreen):
            await seen.pilot.pause()
        await seen.until("First", "✓ ready")
        await seen.pilot.press("ctrl+o")
        await seen.until("Chat settings", "change · asks first")
        form = seen.app.screen
        form.query_one("#workspace", Line).value = "/"
        form.query_one("#name", Line).value = "Second"
        await seen.pilot.press("ctrl+s")
        await seen.until("must be a folder in one that the server allows")
        form.query_one("#workspace", Line).value = str(allowed)
        await seen.pilot.press("ctrl+s")
        while seen.app.screen is form:
            await seen.pilot.pause()
        await seen.until("Second", "✓ ready")
        stored = (await seen.backend.engine.list_all(CHATS))[0]
        assert (stored.title, stored.workspace) == ("Second", str(allowed.resolve()))


def test_a_temperature_and_a_folder_are_read_as_people_write_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert read_value(SETTINGS["temperature"], "") is None
    assert read_value(SETTINGS["temperature"], "1,5") == 1.5
    assert folder_of("~/work") == "/home/somebody/work"
    for wrong in ("2.1", "-1", "nan", "warm"):
        with pytest.raises(ValueError, match="from 0 to 2"):
            read_value(SETTINGS["temperature"], wrong)
    with pytest.raises(ValueError, match="full path"):
        folder_of("work")
