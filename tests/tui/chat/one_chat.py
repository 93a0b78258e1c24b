"""The chat screen alone, driven by events and keys, read as a person reads it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from textual.events import Paste
from textual.pilot import Pilot

from agent_tui.model import events as ev
from tests.fakes.chat_link import FakeChatLink
from tests.state.chat_events import loaded, message
from tests.tui.watched import Fed
from tests.widgets.apps import MayBeAscii
from tui import themes
from tui.chat.first import NewChat
from tui.chat.screen import ChatScreen
from tui.keys.layout import read_as_latin
from tui.link import ChatLink
from widgets.terminal.frame_clock import FrameClock
from widgets.terminal.keys_in_order import KeysInOrder

LIVE = ev.LinkChanged("live")
DARK = themes.load("dark")


class OneChat(MayBeAscii[int], KeysInOrder[int]):
    """An app with nothing but the screen under test."""

    def __init__(
        self, link: FakeChatLink | ChatLink, *, chat: str | NewChat = "c", is_ascii: bool = False
    ) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.theme = "dark"
        self.clock = FrameClock.for_app(self)
        self.read_key = partial(read_as_latin, app=self)
        self.rung = 0  # how often the terminal's bell was asked for
        self.opened: list[tuple[str, dict[str, Any]]] = []  # other chats: id and fields of a new one
        self.is_ascii = is_ascii
        self.chat = ChatScreen(cast("ChatLink", link), chat, self.clock, open_chat=self.open_chat)

    def on_mount(self) -> None:
        self.push_screen(self.chat)

    def bell(self) -> None:
        self.rung += 1

    def open_chat(self, chat_id: str, message_id: str = "", fields: dict[str, Any] | None = None) -> None:
        self.opened.append((chat_id, fields or {}))


class Chat(Fed[OneChat, FakeChatLink]):
    """What a test sees and does. ``time`` is the screen's own, in seconds."""

    def __init__(self, app: OneChat, link: FakeChatLink, pilot: Pilot[int]) -> None:
        super().__init__(app, link, pilot)
        self.time = 100.0
        app.chat.now = app.presses.now = lambda: self.time

    @property
    def asked(self) -> list[str]:
        return self.link.calls.asked

    @property
    def told(self) -> list[str]:
        return [note.message for note in self.app._notifications]

    async def press(self, *keys: str) -> str:
        for key in keys:
            await self.pilot.press(key)
            letter = self.app.chat._approvals.bar.keys.letter
            if letter.held:
                await letter.act()  # time went by, and no other letter followed
                await self.settle()
            self.time += 1.5  # longer than a held key waits before it comes again
        return await self.text()

    async def write(self, words: str, *keys: str) -> str:
        """Write into the line, then press keys."""
        self.app.chat.composer.open()
        for letter in words:
            await self.pilot.press("space" if letter == " " else letter)
        return await self.press(*keys)

    async def later(self) -> str:
        """What the screen says once time went by."""
        self.app.chat._show_soon()
        return await self.text()

    async def paste(self, text: str) -> str:
        self.app.post_message(Paste(text))
        return await self.text()


@asynccontextmanager
async def opened(
    *messages: ev.Message, size: tuple[int, int] = (100, 30), is_ascii: bool = False, **fields: object
) -> AsyncGenerator[Chat, None]:
    """Show a chat that has these messages."""
    link = FakeChatLink()
    app = OneChat(link, is_ascii=is_ascii)
    async with app.run_test(size=size, notifications=True) as pilot:
        chat = Chat(app, link, pilot)
        about = {"title": "Make", "model": "some-model", "provider_id": "local", **fields}
        link.send(loaded(*messages, **about), LIVE)
        await chat.settle()
        yield chat
        link.end()


def said(number: int, question: str, answer: str, parent: str = "", **fields: object) -> list[ev.Message]:
    """Return a question and its answer."""
    asked = message(f"q{number}", question, parent_id=parent)
    told = message(f"a{number}", answer, "assistant", parent_id=f"q{number}", **fields)
    return [asked, told]


def own_data(folder: Path) -> dict[str, str]:
    """Return the environment in which drafts are kept in ``folder``."""
    return {"AGENT_TUI_DATA": str(folder / "data")}
