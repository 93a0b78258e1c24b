"""The live list of a server: what changed, and the state of the connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic

from agent_tui.model.errors import AgentTuiError, NotFound, NotOffered, TransportError
from agent_tui.model.events import ConversationInfo, LinkChanged, RoomInfo
from tui.link import C, Link
from tui.lists.texts import T
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.chat import ChatClient
    from agent_tui.clients.conversations import Conversations
    from agent_tui.clients.rooms import RoomsClient

RETRY_SECONDS: Final = (1.0, 2.0, 4.0, 8.0)
WAIT_SECONDS: Final = 25.0  # how long one request waits for news
PLAIN_SECONDS: Final = 5.0  # between requests to servers without news
PACE_SECONDS: Final = 0.5  # between two requests at least, so that several changes come in one answer
BUSY_SECONDS: Final = 2.0  # between two requests while something is answering
IDLE_SECONDS: Final = 10.0  # and while nothing is: another terminal may ask something


@dataclass(frozen=True, slots=True)
class ListSeen(Generic[T]):
    """The items that changed, as they are now, and the ids of those that are gone. ``is_all``: there are no
    others; with ``has_archived``, no archived ones either.
    """

    items: tuple[T, ...]
    removed: tuple[str, ...] = ()
    is_all: bool = False
    has_archived: bool = False


class ListFeed(Generic[C, T]):
    """Follows a list. When it is followed again, it continues where it stopped."""

    def __init__(self, link: Link[C]) -> None:
        """An embedded backend that is gone is started again."""
        self._link = link
        self._attempt = 0

    async def follow(self, archived: Callable[[], bool]) -> AsyncGenerator[ListSeen[T] | LinkChanged, None]:
        """Yield changes from where it stopped, without end; ``archived`` says whether to list such ones."""
        asked: C | None = None
        while True:
            try:
                client = await self._link.client()
                if self._link.is_embedded and asked is not None and client is not asked:
                    yield LinkChanged("connecting", say("link.starting"))  # another caller found it gone
                asked = client
                seen, pause = await self._ask(client, archived())
            except AgentTuiError as error:
                is_gone = isinstance(error, TransportError)
                if is_gone and self._link.is_embedded and not self._attempt:
                    self._attempt = 1
                    yield LinkChanged("connecting", say("link.starting"))
                    await self._link.close(asked)
                    continue
                delay = RETRY_SECONDS[min(self._attempt, len(RETRY_SECONDS) - 1)]
                self._attempt += 1
                status = "waiting" if is_gone else "refused"
                yield LinkChanged(status, str(error), delay, self._attempt)  # type: ignore[arg-type]  # both are
                if is_gone and self._link.is_embedded:
                    await self._link.close(asked)
                await asyncio.sleep(delay)
                continue
            self._attempt = 0
            yield LinkChanged("live")
            if seen.is_all or seen.items or seen.removed:
                yield seen
            await asyncio.sleep(pause)

    async def _ask(self, client: C, archived: bool) -> tuple[ListSeen[T], float]:
        """Return what changed and how many seconds to wait before the next request."""
        raise NotImplementedError


class RoomsFeed(ListFeed["RoomsClient", RoomInfo]):
    """Follows the list of rooms; uses the server's changes if it offers them."""

    _cursor: str | None = None
    _is_plain = False  # the server offers no changes: all rooms are requested again and again

    async def _ask(self, client: RoomsClient, archived: bool) -> tuple[ListSeen[RoomInfo], float]:
        if not self._is_plain:
            try:
                changes = await client.changes(self._cursor, WAIT_SECONDS)
            except (NotFound, NotOffered):
                self._is_plain = True
            else:
                self._cursor = changes.cursor or None
                self._is_plain = not changes.cursor
                seen = ListSeen(
                    tuple(changes.rooms),
                    tuple(changes.removed),
                    changes.is_all or self._is_plain,
                    has_archived=changes.is_all and not self._is_plain,  # protocol: all means all
                )
                return seen, PLAIN_SECONDS if self._is_plain else PACE_SECONDS
        return await _all_of(client, archived), PLAIN_SECONDS


class ConversationsFeed(ListFeed["ChatClient", ConversationInfo]):
    """Follows the list of chats."""

    async def _ask(self, client: ChatClient, archived: bool) -> tuple[ListSeen[ConversationInfo], float]:
        seen: ListSeen[ConversationInfo] = await _all_of(client, archived)
        is_busy = any(chat.status == "running" for chat in seen.items)
        return seen, BUSY_SECONDS if is_busy else IDLE_SECONDS


async def _all_of(client: Conversations[Any], archived: bool) -> ListSeen[T]:
    """Return all items; where there are none, the archived ones: an empty list says that they are there."""
    items = await client.list_all(archived)
    if not items and not archived:
        archived, items = True, await client.list_all(archived=True)
    return ListSeen(tuple(items), is_all=True, has_archived=archived)
