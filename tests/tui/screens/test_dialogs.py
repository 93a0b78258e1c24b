"""Dialogs above others: one that closes by itself meanwhile, and what is seen of the screen below."""

from __future__ import annotations

from pathlib import Path

from agent_tui.model import events as ev
from tests.tui.lists.rooms_listed import listed, room
from tests.tui.room.one_room import AGENTS, LIVE, Screen, loaded, opened
from tests.tui.whole_app import opened_app
from tui.forms.fields import Line
from tui.forms.new_room import NewRoomScreen
from tui.forms.settings import SettingsScreen
from tui.room.screen import RoomScreen
from tui.screens.dialog import QuestionScreen


async def save_slowly(screen: Screen) -> None:
    """Change the rounds of a room, and have the answer wait until ``may_change``."""
    await screen.send(loaded(status="running", current_round=1), LIVE)
    await screen.press("e")
    screen.app.screen.query_one("#max_rounds", Line).value = "5"
    screen.link.calls.changed = ev.RoomInfo("r", max_rounds=5, agents=AGENTS)
    screen.link.calls.may_change.clear()
    await screen.press("enter")
    assert isinstance(screen.app.screen, SettingsScreen)


async def test_the_question_about_a_form_goes_away_with_it_when_it_is_saved_meanwhile() -> None:
    async with opened((120, 40)) as screen:
        await save_slowly(screen)
        assert "Discard changes?" in await screen.press("escape")
        screen.link.calls.may_change.set()
        assert "round 1 of 5" in await screen.text()
        assert isinstance(screen.app.screen, RoomScreen)


async def test_a_form_that_is_saved_below_another_screen_closes_with_that() -> None:
    async with opened((120, 40)) as screen:
        await save_slowly(screen)
        above = QuestionScreen("Something else?")
        await screen.app.push_screen(above)
        screen.link.calls.may_change.set()
        assert "Something else?" in await screen.text()
        await screen.press("y")
        assert screen.app.screen_stack[-1] is screen.app.room


async def test_esc_while_a_room_is_made_makes_no_second_one(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        await seen.press("n", *"Why")
        seen.client.may_make.clear()
        await seen.press("ctrl+n")
        assert "Discard changes?" in await seen.press("escape")
        seen.client.may_make.set()
        await seen.until(lambda: not isinstance(seen.app.screen, NewRoomScreen | QuestionScreen))
        assert seen.app.screen is seen.screen
        assert len(seen.client.made) == 1


async def test_only_the_dialog_in_front_has_a_line_above_it(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(80, 24)) as seen:
        text = await seen.press("e", "x", "escape")
        assert "Room settings" in text
        assert "Discard changes?" in text
        assert sum("▔" in row for row in text.splitlines()) == 1
        assert sum("▔" in row for row in (await seen.press("n")).splitlines()) == 1


async def test_what_fills_the_terminal_hides_the_room_below_in_the_terminals_own_colours(
    tmp_path: Path,
) -> None:
    async with opened_app(tmp_path, theme="terminal", size=(80, 24)) as seen:
        for keys in (["D"], ["f12"], ["i", *"/help", "enter"]):
            assert "Mika" in seen.now
            text = await seen.press(*keys)
            assert [words for words in ("Mika", "Say something") if words in text] == [], keys
            assert "esc back" in text.splitlines()[-1] + text.splitlines()[-2], keys  # hints of two rows
            await seen.press("escape")
