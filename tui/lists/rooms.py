"""The rooms of a server, live: open, make, pause, change and delete them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from agent_tui.clients.records import Hit
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.records import NAME
from agent_tui.model.settings import settings_of
from tui.forms.new_room import MadeRoom, NewRoomScreen
from tui.link import RoomLink
from tui.lists.acts import Deletions, ListActs
from tui.lists.feed import RoomsFeed
from tui.lists.listing import Listing
from tui.lists.rooms_texts import ROOMS, name_of
from tui.lists.screen import ListScreen, may
from tui.room.running import start_room
from tui.screens.dialog import QuestionScreen
from tui.screens.words import say, say_count

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient  # noqa: F401 - named in quotes below


class RoomListActs(ListActs["RoomsClient", RoomInfo]):
    """Asks for changes of rooms."""

    async def pause_or_resume(self, room: RoomInfo) -> None:
        """Pause a running room; resume any other."""
        if room.id in self.marks:
            return  # asked already, or deleted
        match room.status:
            case "running":
                await self._ask(room, "pausing", lambda client: client.pause(room.id))
            case "paused":
                await self._ask(room, "resuming", lambda client: client.resume(room.id))
            case "completed":
                self._tell(say("list.completed"), False)
            case _:
                await self._ask(room, "starting", lambda client: start_room(client, room.id))

    async def pause_or_resume_all(self, is_sure: Callable[[str], Awaitable[bool]]) -> None:
        """Pause all running rooms. If none is running, resume all that are paused and can continue, if
        ``is_sure`` says so of the question.
        """
        rooms = [room for room in self.listing.items if room.id not in self.marks and not room.archived]
        running = [room for room in rooms if room.status == "running"]
        paused = [room for room in rooms if room.status == "paused" and room.interrupted != "budget"]
        if not running and not paused:
            self._tell(say("list.all.none"), False)
        elif running or await is_sure(say_count("list.all.resume", len(paused))):
            for room in running or paused:
                await self.pause_or_resume(room)

    async def duplicate(self, room: RoomInfo, made: Callable[[RoomInfo], None]) -> None:
        """Make a room like ``room`` that was never started, and pass it to ``made``."""
        try:
            client = await self._link.client()
            whole = await client.show(room.id)
            name = say("list.copy", name=name_of(whole))
            copy = await client.create(whole.task, **{**copied_fields(whole), "name": name[:NAME]})
        except AgentTuiError as error:
            self.failed(error, room)
        else:
            made(copy)

    async def rest(self, item: RoomInfo) -> None:
        """Pause a room that was deleted: it costs nothing while that can be undone."""
        if item.status == "running":
            with suppress(AgentTuiError):
                await (await self._link.client()).pause(item.id)


def copied_fields(room: RoomInfo) -> dict[str, Any]:
    """Return the settings of a room and of its agents, as ``RoomsClient.create`` takes them."""
    agents = [
        {name: value for name in settings_of(AgentInfo) if (value := getattr(agent, name))}
        for agent in sorted(room.agents, key=lambda agent: agent.turn_order)
    ]
    settings = (field.name for field in settings_of(RoomInfo).values() if field.in_new and not field.empty)
    fields = {name: value for name in settings if (value := getattr(room, name))}
    return {**fields, "agents": agents} if agents else fields


class RoomsScreen(ListScreen[RoomInfo]):
    KIND = "rooms"
    RENAMES = "name"
    HINTS = (
        ("list.open", "list.hint.open", 0),
        ("rooms.new", "list.hint.new", 1),
        ("rooms.pause", "list.hint.pause", 2),
        ("list.search", "list.hint.search", 5),
        ("rooms.pause_all", "list.hint.pause_all", 6),
        ("list.delete", "list.hint.delete", 4),
        ("list.undo", "hint.undo", 3),
        ("list.archive", "list.hint.archive", 9),
        ("app.lists", "list.hint.chats", 10),
        ("app.help", "hint.help", 2),
        ("app.quit.quick", "hint.quit", 6),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "New room", id="rooms.new"),
        Binding("p", "pause", "Pause or resume the selected room", id="rooms.pause"),
        Binding("P", "pause_all", "Pause or resume all rooms", id="rooms.pause_all"),
        Binding("c", "duplicate", "Duplicate the room", id="rooms.duplicate"),
    ]
    acts: RoomListActs

    def __init__(self, link: RoomLink, rooms: Iterable[RoomInfo], deletions: Deletions) -> None:
        """``rooms`` are those known already."""
        listing = Listing(ROOMS, rooms)
        acts = RoomListActs(link, listing, RoomsFeed(link), changed=self.show_all, tell=self.tell)
        super().__init__(acts, deletions)
        self._link = link

    def open_found(self, hit: Hit) -> None:
        self._list.go_to(hit.conversation_id)
        room = self.listing.get(hit.conversation_id) or RoomInfo(hit.conversation_id)
        self.post_message(self.Opened(room, hit.message_id))

    def action_duplicate(self) -> None:
        if (room := self.item_for("duplicate")) is not None:
            self.do(self.acts.duplicate(room, self.go_to))

    def action_new(self) -> None:
        if may(self, "new"):
            self.app.push_screen(NewRoomScreen(self._link), self._on_made)

    def _on_made(self, made: MadeRoom | None) -> None:
        if made is None:
            return
        self.go_to(made.room)
        if made.start:
            self.post_message(self.Opened(made.room, start=True))

    def action_pause(self) -> None:
        if (room := self.item_for("pause")) is not None:
            self.do(self.acts.pause_or_resume(room))

    def action_pause_all(self) -> None:
        ask = self.app.push_screen_wait
        if may(self, "pause_all"):
            self.do(self.acts.pause_or_resume_all(lambda question: ask(QuestionScreen(question))))
