"""The rooms of a server, live: open, make, pause, change and delete them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from agent_tui.errors import AgentTuiError
from agent_tui.events import LinkChanged, RoomInfo
from agent_tui.inert import inert_line
from tui.link import RoomLink
from tui.screens import rooms_texts as texts
from tui.screens import signs
from tui.screens.new_room import Made, NewRoomScreen
from tui.screens.rename import RenameScreen
from tui.screens.rooms_acts import RoomActs
from tui.screens.rooms_deleting import Deletions
from tui.screens.rooms_feed import RoomsFeed
from tui.screens.rooms_list import RoomList
from tui.screens.rooms_listing import SORT_KEYS, Listing, name_of
from tui.screens.rooms_offer import SetupOffer
from tui.screens.words import say
from widgets.signs import twin
from widgets.status_line import Part, StatusLine

AGE_SECONDS: Final = 20.0  # how often "2 min ago" is looked at
MAX_NEEDLE_CHARACTERS: Final = 200
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


class RoomsScreen(Screen[None]):
    """The list. It stays below the rooms that are opened from it and goes on when they are left."""

    CSS_PATH = "rooms.tcss"
    AUTO_FOCUS = "RoomList"
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)  # see ``RoomScreen``
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

    def __init__(
        self,
        link: RoomLink,
        rooms: Iterable[RoomInfo] = (),
        *,
        ascii_only: bool,
        is_embedded: bool = False,
    ) -> None:
        """``rooms`` are the ones known already."""
        super().__init__()
        self.listing = Listing(rooms)
        self.missing: Mapping[str, str] = {}  # what this server does not offer, and why
        self.key_of: Callable[[str], str] = lambda _binding_id: ""  # its key now, for a person
        self._link = link
        self._ascii_only = ascii_only
        self._is_embedded = is_embedded
        self._feed = RoomsFeed(link, is_embedded=is_embedded)
        self.acts = RoomActs(link, self.listing, changed=self._show, tell=self._tell)
        self.deletions = Deletions(self, self.acts, self._delete)
        self._state = LinkChanged("live")
        self._list = RoomList(self.listing, self.acts.marks, ascii_only=ascii_only, id="list")
        # Held, not looked for: an answer may come in while the screen is being taken down.
        self._empty = Static("", id="empty", classes="-hidden", markup=False)
        self._offer = SetupOffer(link)
        self._top = StatusLine(id="top", ascii_only=ascii_only)
        self._bottom = StatusLine(id="bottom", ascii_only=ascii_only, is_dim=True)

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._list
        yield self._empty
        with Horizontal(id="filter-bar", classes="-hidden"):
            yield Static(say("find.label"), markup=False)
            words = twin(say("list.filter")) if self._ascii_only else say("list.filter")
            line = Input(placeholder=words, id="filter", compact=True, select_on_focus=False)
            line.max_length = MAX_NEEDLE_CHARACTERS
            yield line
        yield self._offer
        yield self._bottom

    def on_mount(self) -> None:
        """Show what is known, and follow."""
        self.set_interval(AGE_SECONDS, self._list.look)
        self._show()
        if not self._is_embedded:
            self._look_for_gaps()

    def on_screen_resume(self) -> None:
        """Go on where it stopped when a room was opened."""
        self._follow()
        if self._is_embedded:
            self._offer.look(self.key_of("app.setup"))

    def on_screen_suspend(self) -> None:
        """Ask for nothing while nobody looks."""
        self.workers.cancel_group(self, "follow")

    # --- what comes in ---------------------------------------------------------------------------------

    @work(group="follow", exclusive=True)
    async def _follow(self) -> None:
        events: AsyncGenerator[Any, None] = self._feed.follow(lambda: self.listing.shows_archived)
        async with aclosing(events):
            async for event in events:
                if isinstance(event, LinkChanged):
                    self._take_link(event)
                    continue
                if event.is_all:
                    self.acts.seen_all(event.rooms)
                for room in event.rooms:
                    self.acts.seen(room)
                for room_id in event.removed:
                    self.acts.gone(room_id)
                self._show()

    def _take_link(self, link: LinkChanged) -> None:
        if link.status == "live" and self._state.status != "live" and self._is_embedded:
            self._tell(say("link.restarted"), False)
        self._state = link
        self._show_lines()

    @work(group="gaps", exclusive=True)
    async def _look_for_gaps(self) -> None:
        """Learn what this server does not offer, once there is a room to ask about."""
        try:
            if len(self.listing):
                client = await self._link.client()
                self.missing = await client.missing(self.listing[0].room.id)
        except AgentTuiError:
            return  # nobody knows: whoever asks for something will hear
        self._show_lines()

    # --- what is shown ---------------------------------------------------------------------------------

    def _show(self) -> None:
        if not self.is_attached:
            return
        self._list.look()
        self._show_lines()

    def _show_lines(self) -> None:
        listing = self.listing
        middle = [say(f"list.sort.{listing.sort}")] if listing.sort != "activity" else []
        if listing.shows_archived:
            middle.append(say("list.with_archived"))
        self._top.show(
            [say("rooms.title")],
            [Part(text, rank) for rank, text in enumerate(middle, 1)],
            [self._link_text() or texts.heading(listing, self.key_of("rooms.filter"))],
        )
        hints = []
        for hint in texts.HINTS:
            key = self.key_of(hint.binding_id)
            if key and not self.why(hint.binding_id):
                hints.append(Part(say(f"list.hint.{hint.word}"), hint.rank, key))
        self._bottom.show(hints)
        self._empty.set_class(len(listing) > 0, "-hidden")
        self._list.set_class(len(listing) == 0, "-hidden")
        if not len(listing):
            keys = {"new": self.key_of("rooms.new"), "clear": self.key_of("rooms.clear")}
            self._empty.update(say("list.nothing" if listing.needle else "list.empty", **keys))

    def _link_text(self) -> str:
        state = self._state
        if state.status == "connecting":
            return state.detail
        if state.status == "waiting":
            return say("list.waiting", title=inert_line(state.detail), seconds=round(state.delay))
        if state.status == "refused":
            return f"{signs.FAILED} {say('link.refused', detail=inert_line(state.detail))}"
        return ""

    def _tell(self, line: str, is_bad: bool) -> None:
        self.app.notify(line, severity="error" if is_bad else "information", markup=False)

    def on_room_list_moved(self) -> None:
        """Say what can be done with the room under the cursor."""
        self._show_lines()

    # --- what can be done ------------------------------------------------------------------------------

    def why(self, binding_id: str) -> str:
        """Say why an action cannot be done now, as a word of "help.why"; "" if it can."""
        if binding_id in _OF_A_ROOM and self._list.cursor is None:
            return "no_room"
        if binding_id == "rooms.undo" and not self.deletions:
            return "no_undo"
        if binding_id == "rooms.clear" and not self.listing.needle:
            return "no_filter"
        if any(call in self.missing for call in _NEEDS.get(binding_id, ())):
            return "list_not_offered"
        return ""

    def _can(self, binding_id: str) -> bool:
        """Whether an action can be done now; says why not."""
        why = self.why(binding_id)
        if why:
            self._tell(say(f"help.why.{why}"), False)
        return not why

    def _room_for(self, binding_id: str) -> RoomInfo | None:
        """Return the room under the cursor, if the action can be done with it; else say why not."""
        room = self._list.cursor
        if not self._can(binding_id) or room is None:
            return None
        if room.id in self.deletions:
            self._tell(say("list.is_deleted", press=self.key_of("rooms.undo")), False)
            return None
        return room

    @work(group="ask")
    async def _do(self, act: Coroutine[Any, Any, object]) -> None:
        await act

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._list.move(rows)

    def action_move_pages(self, pages: int) -> None:
        """Move it by screens."""
        self._list.move_pages(pages)

    def action_open(self) -> None:
        """Open the room under the cursor."""
        room = self._room_for("rooms.open")
        if room is not None:
            self._open(room.id)

    def _open(self, room_id: str, *, start: bool = False) -> None:
        self._do(self.deletions.settle())
        self.post_message(self.Opened(room_id, start=start))

    def on_room_list_chosen(self) -> None:
        """Open the room that was clicked."""
        self.action_open()

    def action_new(self) -> None:
        """Make a room."""
        if self._can("rooms.new"):
            self.app.push_screen(NewRoomScreen(self._link, ascii_only=self._ascii_only), self._made)

    def _made(self, made: Made | None) -> None:
        if made is None:
            return
        self.acts.seen(made.room)
        self._list.go_to(made.room.id)
        self._show()
        if made.start:
            self._open(made.room.id, start=True)

    def action_pause(self) -> None:
        """Pause or resume the room under the cursor."""
        room = self._room_for("rooms.pause")
        if room is not None:
            self._do(self.acts.pause_or_resume(room))

    def action_pause_all(self) -> None:
        """Pause all rooms, or resume them."""
        if self._can("rooms.pause_all"):
            self._do(self.acts.pause_or_resume_all())

    def action_duplicate(self) -> None:
        """Make a room like the one under the cursor."""
        room = self._room_for("rooms.duplicate")
        if room is not None:
            self._do(self._duplicate(room))

    async def _duplicate(self, room: RoomInfo) -> None:
        copy = await self.acts.duplicate(room)
        if copy is not None:
            self._list.go_to(copy.id)

    def action_rename(self) -> None:
        """Ask for another name."""
        room = self._room_for("rooms.rename")
        if room is not None:
            self.app.push_screen(RenameScreen(name_of(room)), partial(self._rename, room))

    def _rename(self, room: RoomInfo, name: str | None) -> None:
        if name:
            self._do(self.acts.change(room, name=name))

    def action_archive(self) -> None:
        """Archive the room, or take it back."""
        room = self._room_for("rooms.archive")
        if room is not None:
            self._do(self.acts.change(room, archived=not room.archived))

    def action_show_archived(self) -> None:
        """Show archived rooms, or hide them."""
        self.listing.arrange(archived=not self.listing.shows_archived)
        if self.listing.shows_archived:
            self._do(self.acts.show_archived())
        self._show()

    def action_sort(self) -> None:
        """Sort by the next column."""
        following = (SORT_KEYS.index(self.listing.sort) + 1) % len(SORT_KEYS)
        self.listing.arrange(sort=SORT_KEYS[following])
        self._show()

    # --- deleting, which can be taken back ---------------------------------------------------------------

    def action_delete(self) -> None:
        """Delete the room in ten seconds, unless that is taken back."""
        room = self._room_for("rooms.delete")
        if room is not None:
            self.deletions.add(room.id)
            self._show()

    def action_undo(self) -> None:
        """Take the last deletion back."""
        if self._can("rooms.undo"):
            self._list.go_to(self.deletions.undo())
            self._show()

    def _delete(self, room_id: str) -> None:
        self._do(self.acts.delete(room_id))

    # --- looking for rooms -------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Ask for the words that rooms shall have."""
        self.query_one("#filter-bar").set_class(False, "-hidden")
        self.query_one("#filter", Input).focus()

    @on(Input.Changed, "#filter")
    def filter_changed(self, event: Input.Changed) -> None:
        """List what fits while it is typed."""
        event.stop()
        self.listing.arrange(needle=event.value)
        self._show()

    @on(Input.Submitted, "#filter")
    def filter_kept(self, event: Input.Submitted) -> None:
        """Go back to the rooms that were found."""
        event.stop()
        self._close_filter(keep=True)

    def action_clear(self) -> None:
        """List all rooms again."""
        self._close_filter(keep=False)

    def _close_filter(self, *, keep: bool) -> None:
        line = self.query_one("#filter", Input)
        if not keep:
            line.value = ""
        self.query_one("#filter-bar").set_class(not line.value, "-hidden")
        self._list.focus()
