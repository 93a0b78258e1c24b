"""A voice session that is followed by a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from agent_tui.clients.voice.client import VoiceClient
from agent_tui.clients.voice.room import RoomClient
from agent_tui.clients.voice.tokens import StaticToken
from agent_tui.model.voice import (
    AgentJoined,
    AgentStateChanged,
    ItemStored,
    LinkMoved,
    SpokenItem,
    VoiceEvent,
)
from tests.clients.voice import rooms
from tests.fakes.voice.sound import FedSound

PATIENCE_SECONDS = 60.0
E = TypeVar("E")


class Followed:
    """All events of a session so far."""

    def __init__(self) -> None:
        self.events: list[VoiceEvent] = []
        self.is_over = False
        self._changed = asyncio.Event()

    async def follow(self, client: VoiceClient) -> None:
        """Take every event until the session ends."""
        async with aclosing(client.events()) as events:
            async for event in events:
                self.events.append(event)
                self._changed.set()
        self.is_over = True
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when ``condition`` holds; it is looked at with every event."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            events = "\n".join(str(event) for event in self.events[-40:])
            raise AssertionError(f"it never came; the last events:\n{events}") from None

    async def first(self, kind: type[E], after: int = 0, *, like: Callable[[E], bool] = lambda _: True) -> E:
        """Return the first event of a ``kind`` at or behind the place ``after``, waiting for it."""

        def matching() -> list[E]:
            return [event for event in self.events[after:] if isinstance(event, kind) and like(event)]

        await self.until(lambda: bool(matching()))
        return matching()[0]

    async def link(self, status: str, after: int = 0) -> LinkMoved:
        """Return when the link has that status."""
        return await self.first(LinkMoved, after, like=lambda event: event.status == status)

    def all(self, kind: type[E]) -> list[E]:
        """Return the events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def item(self, role: str, text: str, after: int = 0) -> SpokenItem:
        """Return the stored item of a ``role`` that has ``text`` in it."""
        stored = await self.first(
            ItemStored, after, like=lambda event: event.item.role == role and text in event.item.text
        )
        return stored.item


async def eventually(condition: Callable[[], bool]) -> None:
    """Return when ``condition`` holds, of something that tells nobody when it changes."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)


@asynccontextmanager
async def following(client: VoiceClient) -> AsyncIterator[Followed]:
    """Follow a session; leave it at the end."""
    followed = Followed()
    task = asyncio.create_task(followed.follow(client))
    try:
        yield followed
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error


def session_of(
    livekit: rooms.LiveKit, sound: FedSound, folder: Path, identity: str = "alice", **more: object
) -> RoomClient:
    """Return the client of a person in the room."""
    token = StaticToken(livekit.url, livekit.token(identity, rooms.ROOM))
    return RoomClient(token, sound, log_path=folder / f"{identity}.log", **more)  # type: ignore[arg-type]


async def listening(session: Followed, after: int = 0) -> None:
    """Return when the agent listens and its session is known."""
    await session.first(AgentJoined, like=lambda event: event.has_session)
    await session.first(AgentStateChanged, after, like=lambda event: event.state == "listening")
