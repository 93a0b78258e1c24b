"""The rooms of a server, live: what changed, and how the connection is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent_tui.errors import AgentTuiError, NotFound, NotOffered, TransportError
from agent_tui.events import LinkChanged, RoomInfo
from tui.link import RoomLink
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

WAIT_SECONDS: Final = 25.0  # how long one question waits for news
PLAIN_SECONDS: Final = 5.0  # between looks where the server has no news
PACE_SECONDS: Final = 0.5  # between two questions at least: what changes meanwhile comes in one answer
RETRY_SECONDS: Final = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True)
class RoomsSeen:
    """Rooms as they are now, ids of those that are gone; ``is_all``: there are no others."""

    rooms: tuple[RoomInfo, ...]
    removed: tuple[str, ...] = ()
    is_all: bool = False


class RoomsFeed:
    """Follows the list of rooms; what was seen is not asked for again when it goes on."""

    def __init__(self, link: RoomLink, *, is_embedded: bool) -> None:
        """An embedded backend that is gone is started again."""
        self._link = link
        self._is_embedded = is_embedded
        self._cursor: str | None = None
        self._is_plain = False
        self._attempt = 0

    async def follow(self, archived: Callable[[], bool]) -> AsyncGenerator[RoomsSeen | LinkChanged, None]:
        """Yield what changes, from what was seen last, without an end; ``archived`` says whether archived
        rooms are wanted too.
        """
        asked = None
        while True:
            try:
                client = await self._link.client()
                if self._is_embedded and asked is not None and client is not asked:
                    yield LinkChanged("connecting", say("link.starting"))  # somebody else found it gone
                asked = client
                seen, pause = await self._ask(client, archived())
            except AgentTuiError as error:
                is_gone = isinstance(error, TransportError)
                if is_gone and self._is_embedded and not self._attempt:
                    self._attempt = 1
                    yield LinkChanged("connecting", say("link.starting"))
                    await self._link.close()
                    continue
                delay = RETRY_SECONDS[min(self._attempt, len(RETRY_SECONDS) - 1)]
                self._attempt += 1
                status = "waiting" if is_gone else "refused"
                yield LinkChanged(status, str(error), delay, self._attempt)  # type: ignore[arg-type]  # both are
                if is_gone and self._is_embedded:
                    await self._link.close()
                await asyncio.sleep(delay)
                continue
            self._attempt = 0
            yield LinkChanged("live")
            if seen.is_all or seen.rooms or seen.removed:
                yield seen
            await asyncio.sleep(pause)

    async def _ask(self, client: RoomsClient, archived: bool) -> tuple[RoomsSeen, float]:
        """Return what changed and how long to wait before the next question, in seconds."""
        if not self._is_plain:
            try:
                changes = await client.changes(self._cursor, WAIT_SECONDS)
            except (NotFound, NotOffered):
                self._is_plain = True
            else:
                self._cursor = changes.cursor or None
                self._is_plain = not changes.cursor
                seen = RoomsSeen(
                    tuple(changes.rooms), tuple(changes.removed), changes.is_all or self._is_plain
                )
                return seen, PLAIN_SECONDS if self._is_plain else PACE_SECONDS
        rooms = await (client.list(archived=True) if archived else client.list())
        return RoomsSeen(tuple(rooms), is_all=True), PLAIN_SECONDS
