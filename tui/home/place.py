"""The home screen among the others, and the ways from a room or a chat to it, or to something new."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tui.chat.first import NEW
from tui.chat.screen import ChatScreen
from tui.forms.new_room import MadeRoom, NewRoomScreen
from tui.found import find
from tui.home.screen import HomeScreen
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
        find_here = partial(find, self._request.config.path)
        await self._app.push_screen(HomeScreen(self._places, find_here))

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
        """Open the form of a new room over what is open."""

        def made(new: MadeRoom | None) -> None:
            if new is not None:
                self._run(self._open(new))

        self._app.push_screen(NewRoomScreen(self._places.link), made)

    async def _open(self, new: MadeRoom) -> None:
        """Show a new room instead of what is open."""
        places = self._places
        if isinstance(self._app.screen, RoomScreen):
            places.leave_room()
        else:
            await places.leave_for(None if self.screen is not None else places.show_rooms)
        places.open_room(new.room.id, start=new.start, known=new.room)
