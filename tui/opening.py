"""What the program shows until its first screen is ready, and how it retries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final, TypeVar

from textual.widgets import Static

from agent_tui.model.errors import TransportError
from agent_tui.model.inert import inert_line
from tui.request import ScreenRequest, Server
from tui.screens.localised import localised
from tui.screens.words import say

if TYPE_CHECKING:
    from tui.app import AgentTuiApp

T = TypeVar("T")
MAX_HOST_CHARACTERS: Final = 60
RETRY_SECONDS: Final = (1, 2, 4, 8)  # between tries to reach a server before there is a room to show


class Opening:
    """The line of the first frame; finds what to open."""

    def __init__(self, app: AgentTuiApp, request: ScreenRequest) -> None:
        self.is_unreachable = False  # before there is a room to show
        self._app = app
        self._request = request

    @property
    def line(self) -> str:
        """What the program is waiting for; for the home screen, its first words in their place."""
        if self._request.home:
            return f"\n\n  › {say('home.ask.room')}\n    {say('home.about.room')}"
        source = self._request.source
        if isinstance(source, Server):
            return say("link.connecting.to", host=inert_line(source.host, MAX_HOST_CHARACTERS))
        if self._request.setup:
            return ""  # a form, which needs no backend yet
        return say("link.starting" if source.is_new else "link.connecting")

    async def found(self, find: Callable[[], Awaitable[T]]) -> T:
        """Find what to open. While the server cannot be reached, says so and tries again."""
        app = self._app
        for delay in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
            try:
                found = await find()
            except TransportError as error:
                if not error.retryable or self._request.embedded:
                    raise
                self.is_unreachable = True
                await app.answer_held_keys()  # one of the keys may quit
                fields = {
                    "title": localised(inert_line(str(error))),
                    "seconds": delay,
                    "quit": app.places.how_to_quit,
                }
                line = say("link.unreachable", **fields)
                app.query_one("#starting", Static).update(line)
            else:
                self.is_unreachable = False
                return found
            await asyncio.sleep(delay)
        raise AssertionError("the tries never end")
