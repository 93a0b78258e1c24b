"""A key that a line names is bold, in every language: "o" alone reads as a word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.content import Content

from agent_tui.audio.sound import SoundStatus
from tests.state.voice_talk import JOINED
from tests.tui.home.one_home import KEY, home
from tests.tui.looks import bold
from tests.tui.voice.one_voice import opened as voice_opened
from tests.tui.whole_app import opened_app
from tui.language import LANGUAGES, speak
from tui.lists.rooms import RoomsScreen
from tui.live.key_hints import Hints
from tui.screens.dialog import QuitScreen
from tui.screens.words import say


@pytest.fixture(autouse=True, params=LANGUAGES)
def _language(request: pytest.FixtureRequest) -> Iterator[None]:
    speak(request.param)
    yield
    speak("en")


async def test_at_the_foot_of_dialogs_which_name_enter_and_tab_themselves(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("e")
        foot = seen.app.screen.query_one(Hints).content
        assert isinstance(foot, Content)
        marked = ["enter", "tab", "enter", "a", "d", "ctrl+↑", "ctrl+↓", "esc", "f1"]
        assert [foot.plain[span.start : span.end] for span in foot.spans] == marked
        seen.app.push_screen(QuitScreen())
        await seen.until(say("quit.title"), lambda: {"p", "k"} <= set(bold(seen.app)))


async def test_beside_models_that_were_found(tmp_path: Path) -> None:
    async with home(tmp_path, found=[KEY]) as seen:
        await seen.until("GROQ_API_KEY")
        assert "o" in bold(seen.app)


async def test_in_an_empty_list(tmp_path: Path) -> None:
    async with home(tmp_path, found=[]) as seen:
        await seen.key("l")
        await seen.at(RoomsScreen)
        await seen.until("f3")
        marked = bold(seen.app)
        assert [marked.count(key) for key in ("f3", "f4")] == [2, 1]


async def test_on_the_card_of_a_voice_session(tmp_path: Path) -> None:
    async with voice_opened(*JOINED[1:]) as seen:
        assert {"space", "tab"} <= set(bold(seen.app))
        seen.source.sound.status = SoundStatus("", "The microphone is gone", "Headset")
        await seen.later(1.0)
        await seen.until(say("voice.card.devices"))
        assert bold(seen.app).count("d") == 2
