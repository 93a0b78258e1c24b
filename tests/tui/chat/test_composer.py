"""Writing in a chat: the list over the line, what was asked before, the editor."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from agent_tui.model import events as ev
from tests.state.chat_events import started
from tests.tui.chat.one_chat import opened, said
from tests.tui.chat.project import begin_project, composer_text
from tui.live.drafts import draft_path, read_kept, write_kept
from widgets.choices import ChoiceList


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return begin_project(tmp_path, monkeypatch)


async def test_enter_runs_the_command_that_is_marked_and_tab_only_writes_it() -> None:
    async with opened() as chat:
        assert "▸ /help" in await chat.write("/he")
        assert composer_text(chat) == "/he"
        await chat.press("tab")
        assert composer_text(chat) == "/help "
        await chat.press("backspace", "backspace")
        assert "Commands" in await chat.press("enter")


async def test_arrows_and_ctrl_n_mark_another_one_and_esc_closes_the_list_until_another_word() -> None:
    async with opened() as chat:
        assert "▸ /help" in await chat.write("/")
        assert "▸ /model" in await chat.press("down")
        assert "▸ /new" in await chat.press("ctrl+n")
        assert "▸ /model" in await chat.press("up")
        assert "▸ /help" in await chat.press("up")
        text = await chat.press("escape")
        assert "/model" not in text
        assert composer_text(chat) == "/"
        assert "/model" not in await chat.write("m")
        await chat.press("backspace", "backspace")
        assert "▸ /model" in await chat.write("/m")


async def test_a_list_is_clicked() -> None:
    async with opened() as chat:
        await chat.write("/")
        await chat.pilot.click(ChoiceList, offset=(5, 1))
        await chat.settle()
        assert composer_text(chat) == "/model "


async def test_what_is_listed_lies_above_the_line_on_a_small_screen_too() -> None:
    async with opened(size=(40, 8)) as chat:
        lines = (await chat.write("/")).splitlines()
        assert [line[1:7] for line in lines if "/" in line][:2] == ["▸ /hel", "  /mod"]
        assert lines[-2].startswith(" › /")


async def test_what_was_asked_before_comes_back_by_arrow_and_by_search() -> None:
    async with opened() as chat:
        await chat.write("first thing", "enter")
        await chat.send(started("a1"), ev.TurnDone("a1", "a1"))
        await chat.write("second thing", "enter")
        await chat.send(started("a2"), ev.TurnDone("a2", "a2"))
        await chat.press("up", "up")
        assert composer_text(chat) == "first thing"
        await chat.press("down", "down")
        text = await chat.press("ctrl+r")
        assert text.index("second thing") < text.rindex("first thing")
        await chat.press(*"first", "enter")
        assert composer_text(chat) == "first thing"


async def test_without_an_editor_or_a_terminal_of_its_own_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with opened() as chat:
        assert "set EDITOR" in await chat.press("ctrl+e")
        monkeypatch.setenv("EDITOR", "true")
        assert "a terminal of its own" in await chat.press("ctrl+e")


async def test_an_editor_whose_file_cannot_be_written_is_an_error_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    async with opened() as chat:
        await chat.write("a question")
        assert "No such file or directory" in await chat.press("ctrl+e")
        assert composer_text(chat) == "a question"


def test_a_draft_as_long_as_a_question_may_be_is_kept() -> None:
    longest = "长" * 1_000_000
    assert write_kept(draft_path("c1"), longest)
    assert read_kept(draft_path("c1")) == longest


async def test_on_a_low_screen_the_line_makes_room_once_it_is_left() -> None:
    async with opened(*said(1, "What?", "That."), size=(60, 9)) as chat:
        assert " › " in await chat.press("i")
        assert " › " not in await chat.press("tab")
        assert " › " in await chat.press("i")


async def test_on_a_small_screen_the_line_is_as_high_as_in_a_room() -> None:
    async with opened(size=(80, 24)) as chat:
        await chat.press(*"one", *["ctrl+j", "x"] * 9)
        assert chat.app.chat.composer.line.size.height == 4
        await chat.press("tab")
        assert chat.app.chat.composer.line.size.height == 1
