"""From a room or a chat to the home screen, to a new room or to a new chat."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from tui.chat.first import NEW
from tui.chat.screen import ChatScreen
from tui.lists.rooms import RoomsScreen
from tui.room.screen import RoomScreen
from tui.screens.words import say

if TYPE_CHECKING:
    from tui.app import AgentTuiApp
    from tui.places import Places

Where = Literal["home", "new_room", "new_chat"]
GROUP: Final = "lists"  # of workers: those that go from one list to another, too


class Elsewhere:
    """Leaves what is open for something else."""

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
        """Go there. After a chat, a new one has its model and its folder."""
        if where == "new_chat" and isinstance(self._app.screen, ChatScreen):
            self._app.screen.begin_another()
        elif not self.is_alone():
            ways = {"home": self._go_home, "new_room": self._begin_room, "new_chat": self._begin_chat}
            self._app.run_worker(ways[where](), group=GROUP, exclusive=True)

    async def _go_home(self) -> None:
        await self._places.leave_for(None)
        if self._places.home.screen is None:
            await self._places.home.show()

    async def _begin_chat(self) -> None:
        await self._places.leave_for(partial(self._places.open_chat, NEW))

    async def _begin_room(self) -> None:
        """Make a room where that is done: in the list of rooms, or at home."""
        places = self._places
        if isinstance(self._app.screen, RoomScreen):
            places.leave_room()
        else:
            await places.leave_for(None if places.home.screen is not None else places.show_rooms)
        rooms = (screen for screen in self._app.screen_stack if isinstance(screen, RoomsScreen))
        listed = next(rooms, None) or places.home.screen
        if listed is not None:
            self._app.call_later(listed.action_new)
