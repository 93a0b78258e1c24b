"""The list of chats in the whole app: over a real backend on a socket, or over a server in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from agent_tui.backend.engine.chats.fields import QuestionFields
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.clients.records import Hit, ModelInfo, ProviderInfo, ToolInfo, ToolServer
from agent_tui.config.file import Config, ScreenConfig
from agent_tui.model.errors import AgentTuiError, NotOffered
from agent_tui.model.events import ConversationInfo, Message
from tests.backend.chat_backend import TOKEN, ChatBackend, chat_backend
from tests.fakes.chat_link import FakeChatLink
from tests.fakes.own_backend import OwnBackend
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.scripted_tools import ScriptedTool
from tests.tui.watched import Watched
from tui.app import AgentTuiApp
from tui.link import ChatLink
from tui.lists.chats import ConversationsScreen
from tui.lists.row_list import RowList
from tui.request import ScreenRequest, Server

Size = tuple[int, int]


def chat(number: int, **fields: Any) -> ConversationInfo:
    """Return a chat that was active ``number`` minutes before noon."""
    when = f"2026-11-20T11:{59 - number % 60:02}:00+00:00"
    known = {"title": f"Chat {number}", "model": "big", "updated_at": when}
    return ConversationInfo(f"c{number}", created_at=when, **{**known, **fields})


class ListedChats(OwnBackend):
    """What the list, the search and the settings call; ``refuse`` is raised instead of an answer."""

    def __init__(self, chats: Sequence[ConversationInfo], **fields: Any) -> None:
        """``fields`` are what else it says."""
        self.chats = {one.id: one for one in chats}
        self.asked: list[tuple[str, str]] = []
        self.refuse: AgentTuiError | None = None
        self.lacks: Mapping[str, str] = {}
        self.hits: list[Hit] = []
        self.held: asyncio.Event | None = None  # set when what takes its time shall be answered
        self.has_tools = True
        self.known_tools = [
            ToolInfo("read_file", "Reads a file.", {}, "read"),
            ToolInfo("run_command", "Runs a command.", {}, "ask"),
            ToolInfo("pause_room", "Pauses a room.", {}, "read", only_if_named=True),
        ]
        for name, value in fields.items():
            setattr(self, name, value)

    async def list_all(self, archived: bool = False) -> list[ConversationInfo]:
        return [one for one in self.chats.values() if archived or not one.archived]

    async def missing(self, conversation_id: str) -> Mapping[str, str]:
        return self.lacks

    async def messages(self, conversation_id: str) -> tuple[list[Message], int | None]:
        return [], 1

    async def create(self, **fields: Any) -> ConversationInfo:
        self._note("create", str(fields))
        made = replace(chat(0), id="made", title="")
        self.chats["made"] = made
        return made

    async def change(self, conversation_id: str, **fields: Any) -> ConversationInfo:
        self._note(f"change {fields}", conversation_id)
        changed = self.chats[conversation_id] = replace(self.chats[conversation_id], **fields)
        return changed

    async def delete(self, conversation_id: str) -> None:
        self._note("delete", conversation_id)
        del self.chats[conversation_id]

    async def search(self, words: str, limit: int = 50) -> list[Hit]:
        self._note("search", words)
        await self._in_time()
        return self.hits

    async def tools(self) -> tuple[list[ToolInfo], list[ToolServer]]:
        await self._in_time()
        if not self.has_tools:
            raise NotOffered("this server does not offer a list of tools")
        return self.known_tools, []

    async def providers(self) -> list[ProviderInfo]:
        await self._in_time()
        return [ProviderInfo("demo", "Demo", "demo", "demo"), ProviderInfo("local", "Local", "openai", "big")]

    async def models(self, provider_id: str) -> list[str]:
        return [model.id for model in await self.list_models(provider_id)]

    async def list_models(self, provider_id: str) -> list[ModelInfo]:
        return [ModelInfo("big", 128_000, 2.5, 10.0), ModelInfo("small")]

    async def _in_time(self) -> None:
        if self.held is not None:
            await self.held.wait()

    def _note(self, call: str, subject: str) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.asked.append((call, subject))


class Chats(Watched[AgentTuiApp]):
    """What a test sees of the list and does to it."""

    @property
    def screen(self) -> ConversationsScreen:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, ConversationsScreen))

    @property
    def cursor(self) -> str:
        found = self.screen.query_one(RowList).cursor
        return found.title if found is not None else ""


class Fake(Chats):
    """The list over a server in memory."""

    client: ListedChats


class Real(Chats):
    """The list over a backend."""

    backend: ChatBackend

    async def made(self, title: str, **fields: Any) -> str:
        """Make a chat; return its id."""
        path = await self.backend.chat(title=title, **fields)
        return path.rpartition("/")[2]

    async def answered(self, chat_id: str, content: str, **fields: Any) -> str:
        """Ask, and return the id of the answer once it is there."""
        asked = await self.backend.engine.chats.ask(chat_id, QuestionFields(content, **fields))
        while (await self.backend.engine.show(CHATS, chat_id)).status == "running":
            await self.pilot.pause()
        return asked.message_id


def app_over(link: ChatLink, folder: Path, server: Server, *, is_ascii: bool = False) -> AgentTuiApp:
    """Return the program over ``link``."""
    config = Config(folder / "config.toml", screen=ScreenConfig(ascii=is_ascii))
    return AgentTuiApp(ScreenRequest(server, None, config, chat=""), chat_link=link)


def app_in_memory(client: ListedChats, folder: Path, *, is_ascii: bool) -> tuple[AgentTuiApp, FakeChatLink]:
    """Return the program over a server in memory, and its link."""
    link = FakeChatLink()
    link.calls = cast("Any", client)
    server = Server("http://127.0.0.1:9")
    return app_over(cast("ChatLink", link), folder, server, is_ascii=is_ascii), link


@asynccontextmanager
async def fake_list(
    folder: Path, *chats: ConversationInfo, size: Size = (100, 16), is_ascii: bool = False, **fields: Any
) -> AsyncIterator[Fake]:
    """Show the list over a server in memory; ``fields`` are what else it says."""
    client = ListedChats(chats, **fields)
    app, link = app_in_memory(client, folder, is_ascii=is_ascii)
    link.is_embedded = False
    async with app.run_test(size=size, notifications=True) as pilot:
        seen = Fake(app, pilot)
        seen.client = client
        await _to_the_list(seen, len([one for one in chats if not one.archived]))
        yield seen
        link.end()


@asynccontextmanager
async def real_list(
    folder: Path, model: ScriptedModel, *tools: ScriptedTool, size: Size = (100, 16), **options: Any
) -> AsyncIterator[Real]:
    """Show the list over a backend that has one chat, called "First"."""
    async with chat_backend(folder, model, *tools, **options) as backend:
        server = Server(f"http://127.0.0.1:{backend.client.port}", TOKEN)
        link = ChatLink(server)
        await backend.chat(title="First")
        app = app_over(link, folder, server)
        try:
            async with app.run_test(size=size, notifications=True) as pilot:
                seen = Real(app, pilot)
                seen.backend = backend
                await _to_the_list(seen, 1)
                yield seen
        finally:
            await link.close()


async def _to_the_list(seen: Chats, listed: int) -> None:
    """Go back from the chat that is opened first, to a list with so many rows in sight."""
    while seen.app.places.chat is None:
        await seen.pilot.pause()
    while seen.app.places.chat is not None:
        await seen.pilot.press("escape")
    rows = seen.screen.query_one(RowList)
    while listed and (not len(seen.screen.listing) or rows not in seen.screen._compositor.visible_widgets):
        await seen.pilot.pause()
    await seen.settle()
