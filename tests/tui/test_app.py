"""What the app itself does: copies what a reader asked for, wears themes, keeps to the config file."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input, Static
from textual.widgets._toast import Toast

from agent_tui.config.file import Config, ScreenConfig
from tests.tui.whole_app import opened_app
from tui.app import config_wants_ascii
from tui.request import Server
from tui.screens.choose import ChooseScreen
from widgets.transcript.transcript import Transcript


@pytest.fixture(autouse=True)
def _no_clipboard_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "STY", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_CONNECTION", "1 2 3 4")


async def test_what_is_asked_for_is_copied_and_the_screen_says_so(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        pane = seen.app.screen.query(Transcript).first()
        pane.post_message(Transcript.CopyRequested(pane, "one\ntwo", "message"))
        assert "copied 2 lines" in await seen.text()


async def test_nothing_to_copy_is_said_too(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        pane = seen.app.screen.query(Transcript).first()
        pane.post_message(Transcript.CopyRequested(pane, "", "code"))
        assert "no code block in view" in await seen.text()


async def test_what_is_told_again_stands_there_once_and_as_long_as_if_it_were_new(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        for text in ("one thing", "another", "one thing", "one thing"):
            seen.app.notify(text, severity="warning", markup=False)
            await seen.settle()
        assert [toast.render().plain for toast in seen.app.screen.query(Toast)] == ["another", "one thing"]
        assert seen.now.count("one thing") == 1


async def test_the_first_frame_says_which_server_it_connects_to(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        first = seen.app.screen_stack[0].query_one("#starting", Static)
        assert str(first.content) == "connecting to 127.0.0.1:9…"


def test_a_server_is_named_without_the_login_of_its_address() -> None:
    assert Server("https://me:secret@rooms.example:8443/api").host == "rooms.example:8443"


async def test_a_theme_is_chosen_by_its_key_and_kept(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+t")
        assert isinstance(seen.app.screen, ChooseScreen)
        await seen.press(*"ember")
        assert seen.app.theme == "ember"
        await seen.press("enter")
        while isinstance(seen.app.screen, ChooseScreen):  # it is written in a thread
            await seen.pilot.pause()
        assert 'theme = "ember"' in (tmp_path / "config.toml").read_text(encoding="utf-8")


async def test_a_theme_that_is_not_there_is_one_notice_and_the_automatic_one_is_worn(tmp_path: Path) -> None:
    async with opened_app(tmp_path, theme="neon", size=(160, 30)) as seen:
        assert "theme 'neon' is not known" in " ".join((await seen.text()).split())
        assert seen.app.theme == "dark"


@pytest.mark.parametrize(
    ("variable", "named", "is_ascii"),
    [("", True, True), ("", False, False), ("1", False, True)],
)
def test_the_environment_decides_about_signs_and_then_the_file(
    monkeypatch: pytest.MonkeyPatch, variable: str, named: bool, is_ascii: bool
) -> None:
    monkeypatch.setenv("AGENT_TUI_ASCII", variable)
    assert config_wants_ascii(Config(Path("x"), screen=ScreenConfig(ascii=named))) is is_ascii


async def test_what_is_typed_in_one_burst_behind_the_key_that_opens_a_line_stands_in_it(
    tmp_path: Path,
) -> None:
    async with opened_app(tmp_path) as seen:
        for character in "/pause zoom":
            key = {"/": "slash", " ": "space"}.get(character, character)
            seen.app.post_message(events.Key(key, character))
        await seen.settle()
        assert isinstance(seen.app.focused, Input)
        assert seen.app.focused.value == "pause zoom"
        assert seen.link.calls.asked == []


async def test_in_a_small_terminal_wide_dialogs_leave_nothing_of_the_screen_beside_them(
    tmp_path: Path,
) -> None:
    async with opened_app(tmp_path, size=(80, 24)) as seen:
        for key in ("e", "question_mark"):
            await seen.press(key)
            assert seen.app.screen.query_one(".dialog").region.width == 80
            await seen.press("escape")
