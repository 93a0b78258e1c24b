"""What a person could continue: the newest rooms, chats and voice sessions, in one list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agent_tui.model.events import ConversationInfo, RoomInfo
from tui.lists import chats_texts, rooms_texts
from tui.lists.feed import ListSeen
from tui.lists.listing import Listing
from tui.lists.order import Place, by_activity
from tui.lists.texts import ListKind
from tui.screens.words import say

Conversation = RoomInfo | ConversationInfo
EXTRA_CELLS: Final = (12, 10, 5, 0)  # of the round, or the kind, by the width of a row
VOICE: Final = "voice"  # the kind of a spoken chat


def _kind(item: Conversation) -> ListKind[Any]:
    """Return how the list of such items shows them."""
    return rooms_texts.ROOMS if isinstance(item, RoomInfo) else chats_texts.CHATS


def _place(item: Conversation) -> Place:
    """Return the sort key: what needs a person first, then what is running, then the newest."""
    place = by_activity(item)
    return (-1, *place[1:]) if item.status == "running" and item.asks else place


def _extra(item: Conversation, cells: int) -> str:
    if isinstance(item, RoomInfo):
        return rooms_texts.round_text(item, cells)
    return say("home.voice" if item.kind == VOICE else "home.chat")


RECENT: Final[ListKind[Any]] = ListKind(
    name_of=lambda item: _kind(item).name_of(item),
    words_of=lambda item: _kind(item).words_of(item),
    sign_of=lambda item: _kind(item).sign_of(item),
    extra_of=_extra,
    state_of=lambda item, cells: _kind(item).state_of(item, cells),
    extra_cells=EXTRA_CELLS,
    place_of=_place,
    has_use=False,
)


class Recent(Listing[Any]):
    """The newest rooms and chats, as they are shown, without those for which ``is_deleted``."""

    def __init__(self, is_deleted: Callable[[str], bool]) -> None:
        super().__init__(RECENT)
        self._is_deleted = is_deleted

    @property
    def known(self) -> list[Conversation]:
        return [item for item in super().known if not self._is_deleted(item.id)]

    def take(self, seen: ListSeen[Any], kind: type[Conversation]) -> None:
        """Take the rooms, or the chats, from a server."""
        gone = set(seen.removed)
        if seen.is_all:
            ids = {item.id for item in seen.items}
            gone |= {item.id for item in self.items if isinstance(item, kind)} - ids
        for item_id in gone:
            self.remove(item_id)
        for item in seen.items:
            self.put(item)
