"""The rooms of a server, live: open, make, pause, change and delete them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from agent_tui.clients.records import Hit
from agent_tui.model.events import RoomInfo
from tui.forms.new_room import MadeRoom, NewRoomScreen
from tui.link import RoomLink
from tui.lists.acts import Deletions
from tui.lists.feed import RoomsFeed
from tui.lists.listing import Listing
from tui.lists.rooms_acts import RoomListActs
from tui.lists.rooms_texts import HINTS, ROOMS
from tui.lists.screen import ListScreen, keys_of
from tui.screens.dialog import QuestionScreen


class RoomsScreen(ListScreen[RoomInfo]):
    """The list of rooms."""

    KIND = "rooms"
    RENAMES = "name"
    HINTS = HINTS
    NEEDS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **ListScreen.NEEDS,
        "duplicate": ("create",),
        "pause": ("pause", "resume"),
        "pause_all": ("pause", "resume"),
    }
    OF_ONE = ListScreen.OF_ONE | {"pause", "duplicate"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open the room", id="rooms.open"),
        Binding("n", "new", "New room", id="rooms.new"),
        Binding("s", "search", "Search all rooms and chats", id="rooms.search"),
        Binding("p", "pause", "Pause or resume the selected room", id="rooms.pause"),
        Binding("P", "pause_all", "Pause or resume all rooms", id="rooms.pause_all"),
        Binding("c", "duplicate", "Duplicate the room", id="rooms.duplicate"),
        *keys_of("room", "Rename the room"),
    ]
    acts: RoomListActs
    _link: RoomLink

    class Opened(Message):
        """Posted when a room was chosen, or a message in it; ``start`` for a new room that begins at once."""

        def __init__(self, room: RoomInfo, message_id: str = "", *, start: bool = False) -> None:
            super().__init__()
            self.room = room
            self.message_id = message_id
            self.start = start

    def __init__(
        self, link: RoomLink, rooms: Iterable[RoomInfo] = (), deletions: Deletions | None = None
    ) -> None:
        """``rooms`` are those known already."""
        listing = Listing(ROOMS, rooms)
        feed = RoomsFeed(link)
        acts = RoomListActs(link, listing, feed, changed=self.show_all, tell=self.tell)
        super().__init__(link, listing, acts, deletions)

    # --- what can be done ------------------------------------------------------------------------------

    def action_open(self) -> None:
        room = self.one_for("open")
        if room is not None:
            self.post_message(self.Opened(room))

    def open_found(self, hit: Hit) -> None:
        self._list.go_to(hit.conversation_id)
        room = self.listing.get(hit.conversation_id) or RoomInfo(hit.conversation_id)
        self.post_message(self.Opened(room, hit.message_id))

    def action_new(self) -> None:
        if self.can("new"):
            self.app.push_screen(NewRoomScreen(self._link), self._made)

    def _made(self, made: MadeRoom | None) -> None:
        if made is None:
            return
        self.acts.seen(made.room)
        self._list.go_to(made.room.id)
        self.show_all()
        if made.start:
            self.post_message(self.Opened(made.room, start=True))

    def action_pause(self) -> None:
        room = self.one_for("pause")
        if room is not None:
            self.do(self.acts.pause_or_resume(room))

    def action_pause_all(self) -> None:
        if self.can("pause_all"):
            ask = self.app.push_screen_wait
            self.do(self.acts.pause_or_resume_all(lambda question: ask(QuestionScreen(question))))

    def action_duplicate(self) -> None:

        async def duplicate(room: RoomInfo) -> None:
            if (copy := await self.acts.duplicate(room)) is not None:
                self._list.go_to(copy.id)

        if (room := self.one_for("duplicate")) is not None:
            self.do(duplicate(room))
