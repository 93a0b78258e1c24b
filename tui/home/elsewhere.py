"""From a room or a chat to the home screen, to a new room or to a new chat; from these, back again."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, Literal

from tui.chat.first import NEW
from tui.chat.screen import ChatScreen
from tui.forms.new_room import MadeRoom, NewRoomScreen
from tui.lists.rooms import RoomsScreen
from tui.room.screen import RoomScreen
from tui.screens.words import say

if TYPE_CHECKING:
    from tui.app import AgentTuiApp
    from tui.places import Places

Where = Literal["home", "new_room", "new_chat"]
GROUP: Final = "lists"  # of workers: those that go from one list to another, too


class Elsewhere:
    """Leaves what is open for something else, or opens that above it."""

    def __init__(self, app: AgentTuiApp, places: Places) -> None:
        self._app = app
        self._places = places

    def is_alone(self) -> bool:
        """Return whether there is only the chat with an agent; if so, say it."""
        places = self._places
        if places.chat_link.is_agent:
            self._app.notify(say("chat.agent.no_list", quit=places.how_to_quit), markup=False)
        return places.chat_link.is_agent

    def go(self, where: Where) -> None:
        """Go there. After a chat, a new one has its model and its folder. A room stays below a new chat, and
        anything below the form of a new room.
        """
        if where == "new_chat" and isinstance(self._app.screen, ChatScreen):
            self._app.screen.begin_another()
        elif self.is_alone():
            return
        elif where == "new_chat":
            self._places.open_chat(NEW)
        elif where == "new_room":
            self._begin_room()
        else:
            self._run(self._go_home())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._app.run_worker(work, group=GROUP, exclusive=True)

    async def _go_home(self) -> None:
        await self._places.leave_for(None)
        if self._places.home.screen is None:
            await self._places.home.show()

    def _begin_room(self) -> None:
        """Open the form of a new room over what is open, unless the list knows that none can be made."""
        rooms = (screen for screen in self._app.screen_stack if isinstance(screen, RoomsScreen))
        listed = next(rooms, None)

        def made(new: MadeRoom | None) -> None:
            if new is not None:
                self._run(self._open(new))

        if listed is None or listed.can("new"):
            self._app.push_screen(NewRoomScreen(self._places.link), made)

    async def _open(self, new: MadeRoom) -> None:
        """Show a new room instead of what is open."""
        places = self._places
        if isinstance(self._app.screen, RoomScreen):
            places.leave_room()
        else:
            await places.leave_for(None if places.home.screen is not None else places.show_rooms)
        places.open_room(new.room.id, start=new.start, known=new.room)
