"""The connection of a screen to the server of its room or chat, across restarts of the embedded backend."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from agent_tui.model.events import Event, LinkChanged
from tui.request import Server, Source, reach
from tui.runtime import begin
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.backend import BackendClient
    from agent_tui.clients.chat import ChatClient, Question
    from agent_tui.clients.conversations import Conversations
    from agent_tui.clients.log_stream import Item
    from agent_tui.clients.log_stream import Source as FollowedSource
    from agent_tui.clients.rooms import RoomsClient  # noqa: F401  named below in quotes

# How long a screen waits for its own backend before it looks whether that died and starts another.
EMBEDDED_PATIENCE_SECONDS = 1.0


C = TypeVar("C", bound="Conversations[Any]")


class Link(Generic[C]):
    """One screen's connection, opened on first use and closed at the end.

    An embedded backend that is gone is looked for, and started, again; other servers are waited for.
    """

    _MODULE: ClassVar[str]  # of the client, and its class
    _CLASS: ClassVar[str]

    def __init__(self, source: Source) -> None:
        self.is_embedded = not isinstance(source, Server)  # our own backend, which has every feature
        self._source = source
        self._client: C | None = None
        self.url = ""  # of the server; another one after our own backend was started again
        self._opening = asyncio.Lock()

    @property
    def is_agent(self) -> bool:
        """Whether it is an agent on another server, which has no list, no history and no settings."""
        return isinstance(self._source, Server) and self._source.agent is not None

    async def client(self) -> C:
        """Return the client. It is opened once, and again if our own backend has ended (which it does when it
        gets no requests for a while, such as while a form is filled in). Raises what finding or starting the
        backend raises.
        """
        async with self._opening:
            is_gone = not isinstance(self._source, Server) and not self._source.is_at(self.url)
            if self._client is not None and is_gone:
                await self._client.aclose()
                self._client = None
            if self._client is None:
                self._client = await self._open()
            return self._client

    async def _open(self) -> C:
        # The clients need httpx and pydantic (200 ms): they load in a thread while the first frame
        # is shown and the backend starts (architecture.md §3.7).
        clients, server = await asyncio.gather(
            asyncio.to_thread(importlib.import_module, self._MODULE), asyncio.to_thread(reach, self._source)
        )
        from agent_tui.clients.http import Net  # the clients have brought it

        self.url = server.url
        net = Net(server.url, token=server.token, timeout=server.timeout)
        client: C = getattr(clients, self._CLASS)(net, server.paths)
        return client

    async def close(self, failed: C | None = None) -> None:
        """Close the client; the next use opens another. With ``failed``: only if that one is still in use."""
        async with self._opening:
            if self._client is not None and failed in (None, self._client):
                await self._client.aclose()
                self._client = None

    async def follow(self, id_: str) -> AsyncGenerator[Event, None]:
        """Yield everything that happens in the room or chat, beginning with its current state.

        Ends only for servers without events. An embedded backend that died is started again.
        """
        patience = EMBEDDED_PATIENCE_SECONDS if self.is_embedded else None
        await self.client()  # loads the clients in a thread: none is loaded before the first frame
        from agent_tui.clients.log_stream import follow

        client: C | None = None

        async def reach() -> FollowedSource:
            nonlocal client
            if client is not None:  # it failed
                await self.close(client)
            client = await self.client()
            return client.source(id_, patience)

        return follow(reach, say("link.starting") if self.is_embedded else "")


class RoomLink(Link["RoomsClient"]):
    """The connection of a screen of rooms."""

    _MODULE, _CLASS = "agent_tui.clients.rooms", "RoomsClient"

    async def run(self, room_id: str) -> AsyncGenerator[Event, None]:
        """Yield one run's events, where a room is shown only while it runs. Sends exactly one POST."""
        return (await self.client()).follow_run(room_id)


class ChatLink(Link["ChatClient"]):
    """The connection of a screen of chats."""

    _MODULE, _CLASS = "agent_tui.clients.chat", "ChatClient"
    _own: OwnBackend | None = None  # runs what an agent on another server wants to run on this machine

    async def _open(self) -> ChatClient:
        source = self._source
        if not isinstance(source, Server) or source.agent is None:
            return await super()._open()
        agents = await asyncio.to_thread(importlib.import_module, "agent_tui.clients.agents.chats")
        self._own = OwnBackend()
        made: ChatClient = agents.AgentChats(source.agent, reach=self._own.reach)
        return made

    async def close(self, failed: ChatClient | None = None) -> None:
        await super().close(failed)
        if self._own is not None and self._client is None:
            await self._own.close()

    async def follow(self, id_: str) -> AsyncGenerator[Event, None]:
        """Yield everything that happens in the chat; for other agents, only what is not part of an answer."""
        if not self.is_agent:
            return await super().follow(id_)
        return (await self.client()).follow(id_)

    async def open(self, wanted: str) -> str:
        """Connect to an agent's session or chat, "" for a new session or chat 0; return its id on screens."""
        client: Any = await self.client()
        info = await client.open(wanted)
        return str(info.id)

    async def ask(self, conversation_id: str, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the events of an answer, from servers that show it only there. Sends exactly one POST."""
        return (await self.client()).ask(conversation_id, question)

    async def begin(self, conversation_id: str, question: Question) -> None:
        """Ask, and return when the answer began; ``follow`` yields it. Leaving never stops the answer."""
        client = await self.client()
        frames: AsyncGenerator[Item, None] = client.ask_frames(conversation_id, question)
        async with aclosing(frames):
            async for item in frames:
                if not isinstance(item, LinkChanged):
                    return


class OwnBackend:
    """The embedded backend beside an agent on another server, found or started when first needed."""

    def __init__(self) -> None:
        self._link: ChatLink | None = None
        self._starting = asyncio.Lock()

    async def reach(self) -> BackendClient:
        """Return its client; raises what finding or starting the backend raises."""
        async with self._starting:
            if self._link is None:
                self._link = ChatLink(await asyncio.to_thread(begin))
        return (await self._link.client()).backend

    async def close(self) -> None:
        """Close the client, if there is one; the backend keeps running."""
        if self._link is not None:
            await self._link.close()
