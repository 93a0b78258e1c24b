"""The rooms of a server, live: open, make, pause, change and delete them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from agent_tui.events import RoomInfo
from tui.link import RoomLink
from tui.screens import rooms_texts as texts
from tui.screens.list_screen import ListScreen
from tui.screens.list_texts import Hint
from tui.screens.new_room import Made, NewRoomScreen
from tui.screens.rooms_acts import RoomActs
from tui.screens.rooms_feed import RoomsFeed
from tui.screens.rooms_list import RoomList
from tui.screens.rooms_listing import RoomListing

# What a server must offer for an action, in the words of ``RoomsClient.missing``.
_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "rooms.new": ("create",),
    "rooms.duplicate": ("create",),
    "rooms.pause": ("pause", "resume"),
    "rooms.pause_all": ("pause", "resume"),
    "rooms.delete": ("delete",),
    "rooms.rename": ("change",),
    "rooms.archive": ("change",),
}
_OF_A_ROOM: Final = frozenset(
    {"rooms.open", "rooms.pause", "rooms.delete", "rooms.duplicate", "rooms.rename", "rooms.archive"}
)


class RoomsScreen(ListScreen[RoomInfo]):
    """The list of rooms."""

    KIND = "rooms"
    RENAMES = "name"
    NEEDS: ClassVar[Mapping[str, tuple[str, ...]]] = _NEEDS
    OF_ONE: ClassVar[frozenset[str]] = _OF_A_ROOM
    HINTS: ClassVar[tuple[Hint, ...]] = texts.HINTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open the room", id="rooms.open"),
        Binding("n", "new", "Make a room", id="rooms.new"),
        Binding("p", "pause", "Pause or resume the room of this row", id="rooms.pause"),
        Binding("P", "pause_all", "Pause all rooms, or resume them", id="rooms.pause_all"),
        Binding("d", "delete", "Delete the room", id="rooms.delete"),
        Binding("u", "undo", "Take the deletion back", id="rooms.undo"),
        Binding("c", "duplicate", "Make a room like this one", id="rooms.duplicate"),
        Binding("R,f2", "rename", "Rename the room", id="rooms.rename"),
        Binding("a", "archive", "Archive the room, or take it back", id="rooms.archive"),
        Binding("A", "show_archived", "Show archived rooms, or hide them", id="rooms.show_archived"),
        Binding("o", "sort", "Sort by the next column", id="rooms.sort"),
        Binding("slash", "filter", "List only rooms with some words", id="rooms.filter"),
        Binding("escape", "clear", "List all rooms again", id="rooms.clear"),
        Binding("up", "move(-1)", "Room above", id="rooms.up", show=False),
        Binding("down", "move(1)", "Room below", id="rooms.down", show=False),
        Binding("pageup", "move_pages(-1)", "A page up", id="rooms.page_up", show=False),
        Binding("pagedown", "move_pages(1)", "A page down", id="rooms.page_down", show=False),
        Binding("home", "move(-1000000)", "First room", id="rooms.first", show=False),
        Binding("end", "move(1000000)", "Last room", id="rooms.last", show=False),
    ]

    class Opened(Message):
        """A room was chosen; ``start`` when it is new and shall begin at once."""

        def __init__(self, room_id: str, *, start: bool = False) -> None:
            super().__init__()
            self.room_id = room_id
            self.start = start

    def __init__(self, link: RoomLink, rooms: Iterable[RoomInfo] = (), *, ascii_only: bool) -> None:
        """``rooms`` are the ones known already."""
        self.listing = RoomListing(rooms)
        self.acts = RoomActs(link, self.listing, changed=self.show_all, tell=self.tell)
        rows = RoomList(self.listing, self.acts.marks, ascii_only=ascii_only, id="list")
        super().__init__(link, self.listing, self.acts, RoomsFeed(link), rows, ascii_only=ascii_only)
        self._link = link

    # --- what can be done ------------------------------------------------------------------------------

    def action_open(self) -> None:
        """Open the room under the cursor."""
        room = self.one_for("rooms.open")
        if room is not None:
            self._open(room.id)

    def _open(self, room_id: str, *, start: bool = False) -> None:
        self.do(self.deletions.settle())
        self.post_message(self.Opened(room_id, start=start))

    def action_new(self) -> None:
        """Make a room."""
        if self.can("rooms.new"):
            self.app.push_screen(NewRoomScreen(self._link, ascii_only=self._ascii_only), self._made)

    def _made(self, made: Made | None) -> None:
        if made is None:
            return
        self.acts.seen(made.room)
        self._list.go_to(made.room.id)
        self.show_all()
        if made.start:
            self._open(made.room.id, start=True)

    def action_pause(self) -> None:
        """Pause or resume the room under the cursor."""
        room = self.one_for("rooms.pause")
        if room is not None:
            self.do(self.acts.pause_or_resume(room))

    def action_pause_all(self) -> None:
        """Pause all rooms, or resume them."""
        if self.can("rooms.pause_all"):
            self.do(self.acts.pause_or_resume_all())

    def action_duplicate(self) -> None:
        """Make a room like the one under the cursor."""
        room = self.one_for("rooms.duplicate")
        if room is not None:
            self.do(self._duplicate(room))

    async def _duplicate(self, room: RoomInfo) -> None:
        copy = await self.acts.duplicate(room)
        if copy is not None:
            self._list.go_to(copy.id)
