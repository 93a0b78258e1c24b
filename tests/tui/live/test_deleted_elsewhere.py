"""What is shown is deleted in another terminal: the screen says so, with the key that begins a new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.model.errors import NotFound
from tests.state.chat_events import message
from tests.tui.chat import one_chat
from tests.tui.room import one_room

GONE = NotFound("There is no conversation c", status=404)
CHAT_DELETED = "this chat was deleted in another terminal – f9 begins a new one"
ROOM_DELETED = "this room was deleted in another terminal – f12 begins a new one"


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


async def test_a_question_in_a_deleted_chat_is_kept_and_says_why_it_was_not_sent() -> None:
    async with one_chat.opened(message("q1", "Well?")) as chat:
        chat.link.refuse, chat.link.calls.is_deleted = GONE, True
        text = await chat.write("more", "enter")
        assert CHAT_DELETED in text
        assert "not sent" not in text
        assert chat.app.chat.composer.line.text == "more"


async def test_something_else_that_is_not_there_deletes_no_chat() -> None:
    async with one_chat.opened(message("q1", "Well?")) as chat:
        chat.link.refuse = NotFound("There is no message q1 in this conversation", status=404)
        text = await chat.write("more", "enter")
        assert "not sent: There is no message q1" in text


async def test_a_chat_says_that_it_was_deleted_before_anything_is_asked() -> None:
    async with one_chat.opened(message("q1", "Well?")) as chat:
        chat.link.end(GONE)
        assert CHAT_DELETED in await chat.text()


async def test_a_room_says_that_it_was_deleted() -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        screen.link.calls.refuse = NotFound("There is no room r", status=404)
        screen.app.room.composer.open()
        text = await screen.press(*"well", "enter")
        assert ROOM_DELETED in text
        assert screen.app.room.composer.line.text == "well"


async def test_a_room_says_so_before_anything_is_said() -> None:
    async with one_room.opened() as screen:
        await screen.send(*one_room.speaking(one_room.AGENTS))
        assert "p pause" in await screen.text()
        screen.link.end(NotFound("There is no room r", status=404))
        text = await screen.text()
        assert ROOM_DELETED in text
        assert "✗ deleted" in text.splitlines()[0]
        assert "p pause" not in text
