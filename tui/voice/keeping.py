"""Stores what is said with another server's agent: ours does that itself.

The conversation is made with the first item. Its key is the room and the day, an item's key its own id:
several terminals in one room, or one that comes back, store everything once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Final

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.voice import SpokenItem
from tui.screens.localised import localised
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.chat import ChatClient

ROLES: Final = ("user", "assistant")
FLUSH_SECONDS: Final = 3.0


class Keeper:
    """Takes items, and stores them one after the other. ``problem`` says why nothing is stored anymore;
    ``conversation_id`` is empty as long as nothing is stored.
    """

    def __init__(
        self,
        open_client: Callable[[], Awaitable[ChatClient]],
        room: str,
        where: str,
        *,
        today: Callable[[], date] = date.today,
    ) -> None:
        """``open_client`` returns the client of our backend. ``where`` is the server, so that rooms with the
        same name on two servers are two conversations.
        """
        self.problem = self.conversation_id = ""
        self._open_client = open_client
        self._room = room
        self._key = f"voice {where} {room} {today().isoformat()}"
        self._seen: set[str] = set()
        self._storing: asyncio.Task[None] | None = None  # the newest item

    def keep(self, items: Iterable[SpokenItem], speaker: str = "") -> None:
        """Store items; ``speaker`` is the agent's name, "" if it has none."""
        for item in items:
            if item.role in ROLES and item.id and item.text.strip() and item.id not in self._seen:
                self._seen.add(item.id)
                self._storing = asyncio.create_task(self._store(item, speaker, after=self._storing))

    async def aclose(self) -> None:
        """Wait briefly for what is not stored yet."""
        if self._storing is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._storing, FLUSH_SECONDS)

    async def _store(self, item: SpokenItem, speaker: str, *, after: asyncio.Task[None] | None) -> None:
        if after is not None:
            await after
        if self.problem:
            return
        try:
            client = await self._open_client()
            if not self.conversation_id:
                made = await client.create(kind="voice", title=self._room, client_key=self._key)
                self.conversation_id = made.id
            await client.record(self.conversation_id, **_fields(item, speaker))
        except AgentTuiError as error:
            self.problem = localised(error)


def _fields(item: SpokenItem, speaker: str) -> dict[str, object]:
    times = {name: value for name, value in asdict(item.times).items() if value is not None}
    # What was typed has no start: it would have the time when it is stored, which is behind the answer's.
    started_at = item.started_at if item.started_at is not None else item.created_at
    moments = {"started_at": started_at, "ended_at": item.ended_at}
    return {
        "client_key": item.id,
        "role": item.role,
        "content": item.text,
        "speaker": (speaker or say("voice.line.agent")) if item.role == "assistant" else "",
        "interrupted": item.interrupted,
        "spoken": {**times, **{name: value for name, value in moments.items() if value is not None}},
    }
