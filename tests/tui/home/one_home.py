"""What tests of the first screen see of it and do to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from textual import events
from textual.screen import Screen

from agent_tui.clients.records import ProviderInfo
from agent_tui.config.file import Config
from agent_tui.config.presets import PRESETS
from agent_tui.model.events import ConversationInfo, RoomInfo
from tests.fakes.chat_link import FakeChatLink
from tests.fakes.room_link import FakeLink
from tests.settling import settle
from tests.tui.lists.chats_listed import ListedChats
from tests.tui.lists.rooms_client import ListedClient
from tests.tui.watched import FRAMES_SECONDS, Watched
from tui.app import AgentTuiApp
from tui.found import FoundModels
from tui.home import place
from tui.home.screen import HomeScreen
from tui.keys.first_letter import HOLD_SECONDS
from tui.link import ChatLink, RoomLink
from tui.request import ScreenRequest, Server
from tui.room.screen import RoomScreen

TASK = "Should sessions live in Redis?"
DEMO = ProviderInfo("demo", "Demo", "demo", "demo")
LOCAL = FoundModels(PRESETS["lmstudio"], "http://127.0.0.1:1234/v1", models=3)
KEY = FoundModels(PRESETS["groq"], PRESETS["groq"].base_url, "GROQ_API_KEY")


class Home(Watched[AgentTuiApp]):
    """What a test sees of the first screen and does to it."""

    rooms: ListedClient
    chats: ListedChats
    chat_link: FakeChatLink

    async def key(self, letter: str) -> str:
        """Press a letter, and nothing for as long as it takes to see that it begins no text."""
        await self.pilot.press(letter)
        await settle(HOLD_SECONDS + FRAMES_SECONDS)
        return await self.text()

    async def write(self, words: str) -> str:
        keys = {" ": "space", "?": "question_mark"}
        return await self.press(*(keys.get(letter, letter) for letter in words))

    async def open_room(self, name: str) -> Screen[Any]:
        """Open the first row, which is the room of that name; return its screen."""
        await self.until(name)
        await self.press("enter")
        await self.at(RoomScreen)
        return self.app.screen

    async def at(self, kind: type[Any]) -> None:
        await self.until(lambda: isinstance(self.app.screen, kind))


@asynccontextmanager
async def home(
    folder: Path,
    rooms: Sequence[RoomInfo] = (),
    chats: Sequence[ConversationInfo] = (),
    *,
    size: tuple[int, int] = (100, 30),
    found: Sequence[FoundModels] = (),
    typed_early: str = "",
) -> AsyncGenerator[Home, None]:
    """Show it over servers in memory; ``found`` is the models here, whatever this machine has,
    ``typed_early`` what is typed while the first frame stands.
    """
    link, chat_link = FakeLink(), FakeChatLink()
    client, chat_client = ListedClient(list(rooms)), ListedChats(chats)
    client.known_providers = [DEMO]
    link.calls, chat_link.calls = cast("Any", client), cast("Any", chat_client)
    config = Config(folder / "config.toml")
    request = ScreenRequest(Server("http://127.0.0.1:9"), None, config, home=True)
    app = AgentTuiApp(request, cast("RoomLink", link), cast("ChatLink", chat_link))

    async def find(_: Path) -> list[FoundModels]:
        return list(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, "find", find)
        async with app.run_test(size=size, notifications=True) as pilot:
            for letter in typed_early:
                app.post_message(events.Key("space" if letter == " " else letter, letter))
            seen = Home(app, pilot)
            seen.rooms, seen.chats, seen.chat_link = client, chat_client, chat_link
            await seen.at(HomeScreen)
            await seen.settle()
            yield seen
            link.end()
            chat_link.end()
