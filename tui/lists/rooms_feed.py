"""The rooms of a server, live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tui.model.errors import NotFound, NotOffered
from agent_tui.model.events import RoomInfo
from tui.lists.feed import ListFeed, ListSeen

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

WAIT_SECONDS: Final = 25.0  # how long one question waits for news
PLAIN_SECONDS: Final = 5.0  # between looks where the server has no news
PACE_SECONDS: Final = 0.5  # between two questions at least: what changes meanwhile comes in one answer


class RoomsFeed(ListFeed["RoomsClient", RoomInfo]):
    """Follows the list of rooms, told of changes where the server tells them."""

    _cursor: str | None = None
    _is_plain = False  # it tells no changes: all are asked for again and again

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
        rooms = await client.listed(archived)
        return ListSeen(tuple(rooms), is_all=True, has_archived=archived), PLAIN_SECONDS
