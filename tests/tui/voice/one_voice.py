"""The voice screen alone, driven by events and keys, read as a person reads it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from textual.pilot import Pilot

from agent_tui.model import voice as vo
from tests.fakes.chat_link import FakeChatLink
from tests.fakes.voice.voice_client import FakeVoiceSource
from tests.tui.looks import NOON
from tests.tui.watched import Watched
from tests.widgets.apps import MayBeAscii
from tui import themes
from tui.link import ChatLink
from tui.voice.request import VoiceRequest
from tui.voice.screen import VoiceScreen
from widgets.terminal.frame_clock import FrameClock
from widgets.terminal.keys_in_order import KeysInOrder
from widgets.transcript.transcript import Transcript


class OneVoice(MayBeAscii[int], KeysInOrder[int]):
    """An app with nothing but the screen under test, in the program's colours."""

    CSS_PATH = Path(themes.__file__).with_name("app.tcss")

    def __init__(self, source: FakeVoiceSource, request: VoiceRequest, *, is_ascii: bool = False) -> None:
        super().__init__()
        self.register_theme(themes.load("dark"))
        self.theme = "dark"
        self.clock = FrameClock.for_app(self)
        self.is_ascii = is_ascii
        self.left = self.rung = 0
        self.copied: list[str] = []
        self.talk_log = FakeChatLink()
        link = cast("ChatLink", self.talk_log)
        self.voice = VoiceScreen(source, link, request, self.clock)
        self.time = 100.0
        self.voice.now = self.presses.now = lambda: self.time
        self.voice.wall_clock = lambda: NOON

    def on_mount(self) -> None:
        self.set_class(self.is_ascii, "-ascii")
        self.push_screen(self.voice)

    def on_transcript_copy_requested(self, event: Transcript.CopyRequested) -> None:
        self.copied.append(event.text)

    def bell(self) -> None:
        self.rung += 1

    def action_leave_voice(self) -> None:
        self.left += 1


class Voice(Watched[OneVoice]):
    """What a test sees and does. ``app.time`` is the screen's own, in seconds."""

    def __init__(self, app: OneVoice, source: FakeVoiceSource, pilot: Pilot[int]) -> None:
        super().__init__(app, pilot)
        self.source = source

    @property
    def is_told(self) -> bool:
        return self.source.held is not None or self.source.client.is_drained or self.source.refuse is not None

    @property
    def asked(self) -> list[str]:
        return self.source.client.asked

    @property
    def toasts(self) -> list[str]:
        return [note.message for note in self.app._notifications]

    async def send(self, *events: vo.VoiceEvent) -> str:
        self.source.client.send(*events)
        return await self.text()

    async def press(self, *keys: str) -> str:
        for key in keys:
            await self.pilot.press(key)
            self.app.time += 1.5  # longer than a held key waits before it comes again
        return await self.text()

    async def later(self, seconds: float) -> str:
        """What the screen says once time went by."""
        self.app.time += seconds
        self.app.voice._show_soon()
        return await self.text()


@asynccontextmanager
async def opened(
    *events: vo.VoiceEvent,
    size: tuple[int, int] = (100, 30),
    is_ascii: bool = False,
    source: FakeVoiceSource | None = None,
    request: VoiceRequest | None = None,
) -> AsyncGenerator[Voice, None]:
    """Show a session in which these happened."""
    source = source or FakeVoiceSource()
    app = OneVoice(source, request or VoiceRequest(), is_ascii=is_ascii)
    async with app.run_test(size=size, notifications=True) as pilot:
        voice = Voice(app, source, pilot)
        await voice.send(*events)
        yield voice
