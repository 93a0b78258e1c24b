"""The help overlay: made from the live bindings, found by typing, readable on every screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from rich.cells import cell_len

from tests.tui.whole_app import opened_app
from tui.forms.setup import SetupScreen
from tui.keys.actions import NUMBERED
from tui.keys.keymap import catalogue
from tui.room.queue import QueueScreen
from tui.screens.dialog import QuitScreen
from tui.screens.help import HelpScreen, Row, Section, filtered, help_text

SECTIONS = [
    Section("Room", (Row("p, space", "Pause"), Row("r", "Continue", "only after an interruption"))),
    Section("Reading", tuple(Row(f"f{n}", f"Action {n}") for n in range(9))),
    Section("Program", (Row("ctrl+q", "Quit"),)),
]


async def test_every_action_of_the_room_is_there_with_all_its_keys(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 150)) as seen:
        text = await seen.press("question_mark")
        assert isinstance(seen.app.screen, HelpScreen)
        assert "p, space, ctrl+s" in text
        words = " ".join(text.split())
        there = [entry for entry in catalogue() if entry.scope in ("app", "room", "pane", "find")]
        unnumbered = [entry for entry in there if not entry.id.startswith(NUMBERED)]
        assert [entry.id for entry in unnumbered if entry.description not in words] == []
        assert "1 … 9, 0 Go to the agent with that number" in words
        assert [title for title in ("Room", "Panes", "Reading", "Program") if title not in text] == []
        assert "Continue what was cut off – nothing was cut off here" in words


async def test_a_list_begins_with_what_it_alone_can_do_and_esc_without_a_filter_goes_back(
    tmp_path: Path,
) -> None:
    async with opened_app(tmp_path, size=(120, 60), rooms=2) as seen:
        text = await seen.press("question_mark")
        there = [text.index(words) for words in ("New room", "Duplicate the room", "Open", "Row below")]
        assert there == sorted(there)
        row = next(line for line in text.splitlines() if "Clear the filter, or go back" in line)
        assert row.split("go back")[1].strip() == ""


async def test_a_line_that_is_not_open_has_no_keys(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 60)) as seen:
        await seen.press("i", *"Wait", "enter", "tab", "u")
        assert isinstance(seen.app.screen, QueueScreen)
        text = await seen.press("question_mark")
        assert "Discard message – not now" not in text
        assert "New line" not in text
        await seen.press("escape", "e")
        assert "Discard message – not now" in await seen.press("f1")


async def test_in_a_form_the_keys_of_its_line_are_those_that_are_said(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 60)) as seen:
        assert "Quit from an empty line" in await seen.press("f1")
        await seen.press("escape", "e")
        text = await seen.press("f1")
        assert "ctrl+s             Save" in text
        assert "New line" in text
        never = ("Send", "Insert the marked entry", "Close the list", "Quit from an empty line")
        assert [words for words in never if words in text] == []
        rows = [" ".join(row.split()) for row in text.splitlines()]
        assert any("enter Save" in row for row in rows)
        assert any("tab Next" in row for row in rows)
        assert "f1                 Show the keys" in text  # "?" would be typed
        assert "Add an agent – not in this field" in text
        await seen.press("escape")
        seen.app.screen.query_one("#agents").focus()
        text = await seen.press("f1")
        assert "?, f1              Show the keys" in text
        assert "Add an agent – not in this field" not in text
        assert "Add an agent" in text


async def test_the_form_of_a_model_does_not_offer_to_open_itself(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 150)) as seen:
        assert "Connect a model" in await seen.press("f1")
        await seen.press("escape")
        client = cast("Any", seen.link.client)
        setup = SetupScreen(tmp_path / "config.toml", client, fault_of_keyring=lambda: "there is none")
        await seen.app.push_screen(setup)
        assert "Connect a model" not in await seen.press("f1")


async def test_the_question_before_quitting_does_not_say_that_its_key_to_stay_quits(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 60)) as seen:
        seen.app.push_screen(QuitScreen())
        await seen.settle()
        text = await seen.press("question_mark")
        assert "esc, q, ctrl+q  Stay" in text
        assert text.count("ctrl+q") == 1


async def test_more_of_a_form_is_offered_once(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 60)) as seen:
        await seen.press("f12")
        assert "tools – not now" not in await seen.press("f1")
        await seen.press("escape", "ctrl+o")
        assert "tools – not now" in await seen.press("f1")


async def test_the_key_of_the_help_works_on_a_screen_that_fills_the_terminal_too(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 60)) as seen:
        text = await seen.press("D", "question_mark")
        assert "Undo the change" in text
        assert "?, f1" in text
        assert "Follow new text" not in text  # the diff is shown beside a list, which has the keys
        assert "Changed files" in await seen.press("escape")
        text = await seen.press("escape", "i", *"/help", "enter", "question_mark")
        assert "Find" in text
        assert "?, f1" in text


async def test_keys_of_the_users_own_are_the_ones_that_are_shown(tmp_path: Path) -> None:
    keys = {"room.pause": "f5", "room.continue": "", "app.help": "f1"}
    async with opened_app(tmp_path, keys=keys, size=(120, 150)) as seen:
        text = await seen.press("f1")
        assert "f5, ctrl+s" in text
        assert "p, space" not in text
        assert "no key" in next(line for line in text.splitlines() if "Continue what" in line)


async def test_typing_leaves_what_fits(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("question_mark")
        text = await seen.press(*"paus")
        assert "Pause or resume the room" in text
        assert "Suspend to the shell" not in text
        assert "nothing found" in await seen.press(*"xyz")
        await seen.press("escape")
        assert not isinstance(seen.app.screen, HelpScreen)


async def test_it_closes_with_the_keys_it_names(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        for key in ("escape", "question_mark"):
            await seen.press("question_mark", key)
            assert not isinstance(seen.app.screen, HelpScreen), key


async def test_it_does_not_grow_when_its_rows_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened_app(tmp_path, size=(80, 24)) as seen:
        await seen.press("question_mark")
        complete = seen.app.screen.query_one("#help").region
        await seen.press("escape")
        monkeypatch.setattr(HelpScreen, "on_resize", lambda self: None)  # as before its first frame
        await seen.press("question_mark")
        assert seen.app.screen.query_one("#help").region == complete


async def test_a_small_screen_scrolls_to_the_last_row(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(80, 24)) as seen:
        text = await seen.press("question_mark")
        assert "Pause or resume the room" in text
        assert "Suspend to the shell" not in text
        assert "under [keys] in the config file" in text
        pages = [await seen.press("pagedown") for _ in range(5)]
        assert "Suspend to the shell" in pages[-1]
        assert await seen.press("up") != pages[-1]


async def test_no_size_of_the_screen_breaks_it(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(20, 5)) as seen:
        for size in ((20, 5), (40, 10), (1, 1), (200, 60)):
            await seen.resize(*size)
            await seen.press("question_mark")
            assert isinstance(seen.app.screen, HelpScreen), size
            await seen.press("down", "escape")


@pytest.mark.parametrize("width", [1, 10, 40, 66, 120])
def test_no_row_is_wider_than_the_screen_and_no_word_is_lost(width: int) -> None:
    rows = help_text(SECTIONS, width).plain.splitlines()
    assert max(map(cell_len, rows)) <= width or width < 10
    words = "".join("".join(rows).split())
    if width >= 40:
        assert all(word in words for word in ("p,space", "Continue", "Action8", "ctrl+q"))


def test_a_section_whose_title_is_typed_stays_whole() -> None:
    assert filtered(SECTIONS[1], "read") == SECTIONS[1]
    assert filtered(SECTIONS[0], "SPACE").rows == SECTIONS[0].rows[:1]


def test_a_section_in_which_nothing_can_be_done_says_why_once() -> None:
    rows = tuple(Row(key, f"Action {key}", "nothing needs approval") for key in "yn")
    shown = help_text([Section("Approvals", rows), *SECTIONS], 80).plain
    assert shown.startswith("Approvals – nothing needs approval\ny ")
    assert shown.count("nothing needs approval") == 1
    assert shown.count("only after an interruption") == 1  # others can be done
