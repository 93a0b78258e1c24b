"""Dialogs and forms name the keys that are in force, and the help and the set-up open above them."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import OptionList, Static

from tests.fakes.terminal import terminal
from tests.tui.programs import PROGRAM, home_at
from tests.tui.whole_app import Seen, opened_app
from tui.forms.fields import Choice, Line
from tui.forms.new_room import NewRoomScreen
from tui.forms.settings import SettingsScreen
from tui.keys.actions import offers
from tui.live.key_hints import Hints, key_of, keys_of, with_keys
from tui.screens.choose import ChooseScreen
from tui.screens.dialog import Dialog, QuestionScreen, QuitScreen
from tui.screens.help import HelpScreen

pytestmark = pytest.mark.slow

F2, F4 = "\x1bOQ", "\x1bOS"
REMAPPED = {
    "settings.add": "ctrl+a",
    "settings.earlier": "",
    "settings.later": "",
    "settings.back": "f9",
    "question.yes": "j",
    "quit.pause": "ctrl+x",
    "choose.back": "f7",
    "choose.up": "ctrl+y",
    "app.help.anywhere": "f10",
}


def foot(seen: Seen) -> str:
    """The last line that the dialog on top has about its keys."""
    hint: Static = seen.app.screen.query(".hint").last(Static)
    return str(hint.content)


async def test_a_form_names_the_keys_in_force_and_leaves_out_what_has_none(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys=REMAPPED) as seen:
        await seen.press("e")
        assert isinstance(seen.app.screen, SettingsScreen)
        assert foot(seen) == (
            "enter save · tab next · on an agent: enter edit · ctrl+a add · d remove · f9 back · f10 help"
        )
        await seen.press("x", "f9")
        assert isinstance(seen.app.screen, QuestionScreen)
        assert foot(seen) == "j yes · esc no"
        await seen.press("j")
        assert not isinstance(seen.app.screen, Dialog)


@pytest.mark.parametrize("is_ascii", [False, True])
async def test_a_key_and_what_it_does_stand_on_one_line_at_every_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ascii: bool
) -> None:
    if is_ascii:
        monkeypatch.setenv("AGENT_TUI_ASCII", "1")
    async with opened_app(tmp_path) as seen:
        await seen.press("e")
        for columns in (120, 60, 90, 50, 40):
            await seen.pilot.resize_terminal(columns, 24)
            text = await seen.text()
            hints = seen.app.screen.query_one(Hints)
            parts = str(hints.content).split(" · ")
            assert len(parts) > 5
            assert (" · " in text) is not is_ascii
            assert [part for part in parts if columns > 40 and part not in text] == []
            assert hints.region.bottom < seen.app.size.height


async def test_the_help_names_the_key_that_closes_it(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys={"help.close": "f9"}) as seen:
        assert "f9 close · change keys under [keys]" in await seen.press("question_mark")


async def test_the_question_before_leaving_and_the_themes_name_the_keys_in_force(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys=REMAPPED) as seen:
        await seen.press("ctrl+t")
        assert isinstance(seen.app.screen, ChooseScreen)
        assert foot(seen) == "ctrl+y ↓ choose · enter select · f7 back"
        await seen.press("f7")
        seen.app.push_screen(QuitScreen())
        text = await seen.text()
        assert "ctrl+x pause the room and quit" in text
        assert "k keep it running and quit" in text


async def test_keys_that_nothing_was_written_for_are_the_default_ones(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("e")
        screen = seen.app.screen
        assert keys_of(screen, "settings.remove") == ("d", "delete")
        assert key_of(screen, "composer.new_line") == "alt+enter"  # of a field
        assert key_of(screen, "app.setup") == "f4"  # of the program
        assert key_of(screen, "settings.earlier") == "ctrl+↑"
        assert str(with_keys(screen, "{form.previous} {form.next} turn")).startswith("← space")
        assert str(with_keys(screen, "{pane.up} {pane.down} lost · {form.previous} turn")) == "← turn"
        assert str(with_keys(screen, "{settings.earlier} {no.such} move · {no.such} lost")) == "ctrl+↑ move"


async def test_an_ascii_terminal_gets_the_names_of_arrows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TUI_ASCII", "1")
    async with opened_app(tmp_path) as seen:
        await seen.press("e")
        assert key_of(seen.app.screen, "settings.earlier") == "ctrl+up"


async def test_a_key_that_was_written_for_another_screen_is_not_named_here(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys={"chat.open_step": "f7", "room.pause": "f8"}) as seen:
        assert keys_of(seen.app.screen, "chat.open_step") == ()
        assert keys_of(seen.app.screen, "room.pause") == ("f8",)


async def test_the_help_opens_above_a_form_and_the_same_key_closes_it(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 40)) as seen:
        await seen.press("e")
        form = seen.app.screen
        form.query_one(Choice).focus()  # no letter is text here
        for key in ("f1", "question_mark"):
            text = await seen.press(key)
            assert isinstance(seen.app.screen, HelpScreen)
            assert "Add an agent" in text
            assert "Next choice" in text
            assert "?, f1" in text
            await seen.press(key)
            assert seen.app.screen is form


async def test_where_a_question_mark_is_text_only_f1_opens_the_help(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("e", "question_mark")
        form = seen.app.screen
        assert isinstance(form, SettingsScreen)
        assert form.query_one("#name", Line).value.endswith("?")
        await seen.press("f1")
        assert isinstance(seen.app.screen, HelpScreen)


async def test_what_acts_on_a_field_says_so_where_another_has_the_focus(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("e")

        def reason() -> str:
            there = offers(seen.app.screen, seen.app.places.keymap)
            return next(offer.reason for offer in there if "form.next" in offer.ids)

        assert reason() == "not in this field"
        seen.app.screen.query_one(Choice).focus()
        await seen.settle()
        assert reason() == ""


async def test_a_form_of_a_new_room_names_the_keys_in_force(tmp_path: Path) -> None:
    keys = {"form.mark": "ctrl+x", "new.start": "", "app.help.anywhere": "f10"}
    async with opened_app(tmp_path, rooms=2, keys=keys) as seen:
        text = await seen.press("n", "ctrl+o")
        assert isinstance(seen.app.screen, NewRoomScreen)
        assert "tab next field · ctrl+x choose · ctrl+n create · esc back · f10 help" in text
        assert isinstance(seen.app.screen.query_one("#agents"), OptionList)


def test_a_provider_that_is_set_up_above_a_form_is_offered_in_it_and_what_was_written_stays(
    tmp_path: Path,
) -> None:
    with home_at(tmp_path) as home, terminal([*PROGRAM, "rooms"], home.environ, home.folder) as view:
        view.wait_for("✓ done")  # leaving it before would ask
        view.send("\x1b")
        view.wait_for("enter open")
        view.send("n")
        view.wait_for("New room")
        view.send("half a task")
        view.wait_for("half a task")
        view.send("\x0f")  # ctrl+o: the provider is one of the other options
        view.wait_for("rounds")
        view.send(F4)
        view.wait_for("Connect a model")
        view.send(F4)  # it is there already
        view.send("\x1b[C")  # the next kind, Ollama, needs no key
        view.wait_for("http://127.0.0.1:11434")
        view.send(F2)
        view.wait_for("not tested")
        view.wait_for("half a task")
        view.wait_for("default (ollama)")


def test_the_set_up_takes_the_place_of_the_help_that_names_it(tmp_path: Path) -> None:
    with home_at(tmp_path) as home, terminal([*PROGRAM, "rooms"], home.environ, home.folder) as view:
        view.wait_for(lambda text: "live" in text or "done" in text)
        view.send("?")
        view.wait_for("type to search")
        view.send(F4)
        view.wait_for("Connect a model")
        view.send("\x1b")
        view.wait_for(lambda text: "Connect a model" not in text and "type to search" not in text)
