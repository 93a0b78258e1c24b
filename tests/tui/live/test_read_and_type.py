"""While the words of a chat or a room are read: a key acts at once, other letters go to the line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App

from tests.tui.chat import one_chat
from tests.tui.chat.one_chat import said
from tests.tui.room import one_room
from tests.tui.voice import one_voice


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


def type_at_once(app: App[Any], letters: Sequence[str]) -> None:
    """Type letters, one right after the other."""
    for letter in letters:
        app.post_message(events.Key("space" if letter == " " else letter, letter))


SENTENCES = ("Hello, you", "Мы хотим", "好的，可以")


async def test_a_sentence_whose_first_letter_is_no_key_goes_to_the_line() -> None:
    async with one_chat.opened(*said(1, "hello", "Hello.")) as chat:
        for words in SENTENCES:
            chat.app.chat.composer.line.put("")
            await chat.press("tab")
            assert not chat.app.chat.composer.has_line_focus
            type_at_once(chat.app, words)
            await chat.settle()
            assert chat.app.chat.composer.line.text == words
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        for words in SENTENCES:
            screen.app.room.composer.line.put("")
            await screen.press("escape")
            assert not screen.app.room.composer.has_line_focus
            type_at_once(screen.app, words)
            await screen.settle()
            assert screen.app.room.composer.line.text == words
        assert screen.link.calls.asked == []
    async with one_voice.opened() as voice:
        for words in SENTENCES:
            voice.app.voice.composer.line.put("")
            await voice.press("escape")
            assert not voice.app.voice.composer.has_line_focus
            type_at_once(voice.app, words)
            await voice.settle()
            assert voice.app.voice.composer.line.text == words


@pytest.mark.parametrize("letter", ["e", "у"])  # the second one is in its place on a Russian keyboard
async def test_a_letter_that_is_a_key_acts_at_once(letter: str) -> None:
    async with one_chat.opened(*said(1, "hello", "Hello.")) as chat:
        await chat.press("tab")
        type_at_once(chat.app, letter)
        await chat.settle()
        assert chat.app.chat.composer.is_editing
        assert chat.app.chat.composer.line.text == "hello"


async def test_keys_that_move_do_so_one_after_the_other() -> None:
    answer = "\n\n".join(f"Row {number}" for number in range(80))
    async with one_chat.opened(*said(1, "hello", answer)) as chat:
        await chat.press("tab")
        type_at_once(chat.app, "kkkjk")
        await chat.settle()
        transcript = chat.app.chat._transcript
        assert (chat.app.chat.focused, chat.app.chat.composer.line.text) == (transcript, "")
        assert not transcript.follow
        type_at_once(chat.app, "G")
        await chat.settle()
        assert transcript.follow


async def test_a_key_right_behind_the_letter_that_opens_the_line_is_for_the_line() -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        for key in ("i", "ctrl+n"):
            screen.app.post_message(events.Key(key, key if key == "i" else None))
        await screen.until(lambda: screen.app.room.composer.when == "now")
        assert screen.app.room.composer.has_line_focus


async def test_p_and_q_sent_together_pause_and_quit() -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        type_at_once(screen.app, "pq")
        await screen.until(lambda: ("pause", "r") in screen.link.calls.asked)
        await screen.until(lambda: screen.app.screen is not screen.app.room)  # it asks: agents speak
        assert screen.app.room.composer.line.text == ""
