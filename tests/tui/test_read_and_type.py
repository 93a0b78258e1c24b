"""While the words of a chat or a room are read: a sentence goes to the line, a letter alone is a key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App

from agent_tui.model import events as ev
from tests.tui import one_chat, one_room
from tests.tui.one_chat import said
from tests.tui.voice import one_voice
from tests.tui.whole_app import AGENTS, opened_app


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


def type_at_once(app: App[Any], letters: Sequence[str]) -> None:
    """Type letters, one right after the other."""
    for letter in letters:
        app.post_message(events.Key("space" if letter == " " else letter, letter))


@pytest.mark.parametrize(
    "words",
    [
        *("explain more please", "try that again", "yes", "of course", "Do it", "quick", "go on", "1 more"),
        *("continue", "now the tests", "jump", "k?!", "еще раз", "привет", "о чем это", "好的，可以"),
    ],
)
async def test_a_sentence_goes_to_the_line_of_a_chat(words: str) -> None:
    async with one_chat.opened(*said(1, "hello", "Hello.")) as chat:
        await chat.press("tab")
        before = chat.app.clipboard
        type_at_once(chat.app, words)
        await chat.text()
        assert chat.app.chat.composer.line.text == words
        assert not chat.app.chat.composer.is_editing
        assert (chat.link.questions, chat.app.clipboard, chat.app.screen) == ([], before, chat.app.chat)


@pytest.mark.parametrize("words", ["stop, all of you", "1 more thing", "2 of you", "еще раз", "zoom"])
async def test_a_sentence_goes_to_the_line_of_a_room(words: str) -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        type_at_once(screen.app, words)
        await screen.text()
        assert screen.app.room.composer.line.text == words
        assert screen.link.calls.asked == []


async def test_a_sentence_goes_to_the_line_of_a_voice_room() -> None:
    async with one_voice.opened() as voice:
        type_at_once(voice.app, "mute it")
        await voice.text()
        assert voice.app.voice.composer.line.text == "mute it"
        assert not voice.app.voice.state.mic.is_muted


async def test_a_letter_alone_is_a_key_after_a_moment() -> None:
    async with one_chat.opened(*said(1, "hello", "Hello.")) as chat:
        await chat.press("tab")
        await chat.pilot.press("e")
        assert not chat.app.chat.composer.is_editing
        await chat.until(lambda: chat.app.chat.composer.is_editing)
        assert chat.app.chat.composer.line.text == "hello"


async def test_a_letter_that_copies_does_so_after_a_moment(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.send(*one_room.speaking(AGENTS))
        await seen.pilot.press("y")
        await seen.until("copied")


async def test_a_letter_of_a_russian_keyboard_is_a_key_too() -> None:
    async with one_chat.opened(*said(1, "hello", "Hello.")) as chat:
        await chat.press("tab")
        type_at_once(chat.app, "у")  # in the place of e
        await chat.until(lambda: chat.app.chat.composer.is_editing)


async def test_keys_that_move_do_so_at_once() -> None:
    answer = "\n\n".join(f"Row {number}" for number in range(80))
    async with one_chat.opened(*said(1, "hello", answer)) as chat:
        await chat.press("tab")
        type_at_once(chat.app, "kkkjk")
        await chat.text()
        transcript = chat.app.chat._transcript
        assert (chat.app.chat.focused, chat.app.chat.composer.line.text) == (transcript, "")
        assert not transcript.follow
        type_at_once(chat.app, "G")
        await chat.text()
        assert transcript.follow


async def test_the_pause_waits_for_nothing_and_a_sentence_goes_on_in_the_line() -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        type_at_once(screen.app, "please stop")
        await screen.text()
        assert ("pause", "r") in screen.link.calls.asked
        assert screen.app.room.composer.line.text == "please stop"


async def test_a_key_right_after_the_word_paused_is_a_key() -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        await screen.pilot.press("p")
        await screen.send(ev.RunPaused("r", 1))
        await screen.press("z")
        assert "zoomed" in screen.now
        assert screen.app.room.composer.line.text == ""


async def test_a_key_right_behind_the_letter_that_opens_the_line_is_for_the_line() -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        for key in ("i", "ctrl+n"):
            screen.app.post_message(events.Key(key, key if key == "i" else None))
        await screen.until(lambda: screen.app.room.composer.when == "now")
        assert screen.app.room.composer.has_line_focus


async def test_a_sentence_resumes_no_room() -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS), ev.RunPaused("r", 1))
        type_at_once(screen.app, "please stop")
        await screen.text()
        assert screen.link.calls.asked == []
        assert screen.app.room.composer.line.text == "please stop"


async def test_p_and_q_sent_together_pause_and_quit() -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        type_at_once(screen.app, "pq")
        await screen.until(lambda: ("pause", "r") in screen.link.calls.asked)
        await screen.until(lambda: screen.app.screen is not screen.app.room)  # it asks: agents speak
        assert screen.app.room.composer.line.text == ""
