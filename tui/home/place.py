"""The home screen among the others: what opens from it, and how to come back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent_tui.model.events import RoomInfo
from tui.chat.first import NEW
from tui.found import find
from tui.home.recent import Conversation
from tui.home.screen import HomeScreen, Ways
from tui.lists.screen import ListScreen
from tui.request import ScreenRequest

if TYPE_CHECKING:
    from tui.app import AgentTuiApp
    from tui.places import Places


class HomePlace:
    """Shows the home screen, and opens what is chosen there."""

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
        screen = HomeScreen(places.link, places.chat_link, ways)
        screen.key_of = places.key_names
        await self._app.push_screen(screen)

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
            self._app.run_worker(self._places.leave_for(None), group="lists", exclusive=True)
