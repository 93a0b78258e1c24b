"""What a server lists, live: what changed, and how the connection is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Final, Generic

from agent_tui.model.errors import AgentTuiError, TransportError
from agent_tui.model.events import LinkChanged
from tui.link import C, Link
from tui.lists.listing import T
from tui.screens.words import say

RETRY_SECONDS: Final = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True)
class ListSeen(Generic[T]):
    """Those that changed as they are now, ids of those that are gone; ``is_all``: there are no others, and
    with ``has_archived`` no archived ones either.
    """

    items: tuple[T, ...]
    removed: tuple[str, ...] = ()
    is_all: bool = False
    has_archived: bool = False


class ListFeed(Generic[C, T]):
    """Follows a list; what was seen is not asked for again when it goes on."""

    def __init__(self, link: Link[C]) -> None:
        """An embedded backend that is gone is started again."""
        self._link = link
        self._attempt = 0

    async def follow(self, archived: Callable[[], bool]) -> AsyncGenerator[ListSeen[T] | LinkChanged, None]:
        """Yield what changes, from what was seen last, without an end; ``archived`` says whether archived
        ones are wanted too.
        """
        asked: C | None = None
        while True:
            try:
                client = await self._link.client()
                if self._link.is_embedded and asked is not None and client is not asked:
                    yield LinkChanged("connecting", say("link.starting"))  # somebody else found it gone
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
        """Return what changed and how long to wait before the next question, in seconds."""
        raise NotImplementedError
