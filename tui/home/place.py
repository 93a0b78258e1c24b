"""The home screen among the others, and the ways from a room or a chat to it, or to something new."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from agent_tui.model.events import RoomInfo
from tui.chat.first import NEW
from tui.chat.screen import ChatScreen
from tui.forms.new_room import MadeRoom, NewRoomScreen
from tui.found import find
from tui.home.recent import Conversation
from tui.home.screen import HomeScreen, Ways
from tui.lists.rooms import RoomsScreen
from tui.lists.screen import ListScreen
from tui.request import ScreenRequest
from tui.room.screen import RoomScreen
from tui.screens.words import say

if TYPE_CHECKING:
    from tui.app import AgentTuiApp
    from tui.places import Places

Where = Literal["home", "new_room", "new_chat"]


class HomePlace:
    """Shows the home screen and opens what is chosen there; leaves what is open for that or something new."""

    def __init__(self, app: AgentTuiApp, places: Places, request: ScreenRequest) -> None:
        self._app = app
        self._places = places
        self._request = request

    @property
    def screen(self) -> HomeScreen | None:
        """The home screen, if all other screens are above it."""
        return next((screen for screen in self._app.screen_stack if isinstance(screen, HomeScreen)), None)

    async def show(self) -> None:
        """Show it, ready for keys; it stays below all other screens."""
        places = self._places
        find_here = partial(find, self._request.config.path)
        ways = Ways(places.is_deleted, find_here, self.open, self.ask, places.set_up)
        await self._app.push_screen(HomeScreen(places.link, places.chat_link, ways))

    def open(self, item: Conversation, start: bool) -> None:
        """Open a room or chat, unless another screen was opened since."""
        if not isinstance(self._app.screen, HomeScreen):
            return
        if isinstance(item, RoomInfo):
            self._places.open_room(item.id, start=start, known=item)
        else:
            self._places.open_chat(item.id, known=item)

    def ask(self, question: str) -> None:
        """Open a new chat, and ask its first question."""
        if isinstance(self._app.screen, HomeScreen):
            self._places.open_chat(NEW, question=question)

    def leave_list(self) -> None:
        """Come back from a list, if it was opened from here."""
        if isinstance(self._app.screen, ListScreen) and self.screen is not None:
            self._run(self._places.leave_for(None))

    # --- from a room or a chat -------------------------------------------------------------------------

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
        """Go from one screen to another, which ends an earlier wish to go elsewhere."""
        self._app.run_worker(work, group="lists", exclusive=True)

    async def _go_home(self) -> None:
        await self._places.leave_for(None)
        if self.screen is None:
            await self.show()

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
            await places.leave_for(None if self.screen is not None else places.show_rooms)
        places.open_room(new.room.id, start=new.start, known=new.room)
