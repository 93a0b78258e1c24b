"""The list of rooms in the whole app, over a server in memory: what a test sees of it and does to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from textual.pilot import Pilot

from agent_tui.config.file import Config, ScreenConfig
from agent_tui.model.events import AgentInfo, RoomInfo
from tests.fakes.room_link import FakeLink
from tests.tui.lists.rooms_client import ListedClient
from tests.tui.watched import Watched
from tui.app import AgentTuiApp
from tui.link import RoomLink
from tui.lists.rooms import RoomsScreen
from tui.lists.row_list import RowList
from tui.request import ScreenRequest, Server
from tui.room.screen import RoomScreen


def room(number: int, **fields: Any) -> RoomInfo:
    """Return a room that was active ``number`` minutes before noon."""
    when = f"2026-11-20T11:{59 - number % 60:02}:00+00:00"
    known = {"name": f"Room {number}", "status": "paused", "max_rounds": 3, "updated_at": when}
    return RoomInfo(f"r{number}", created_at=when, **{**known, **fields})


def agents(*states: str) -> tuple[AgentInfo, ...]:
    names = ("Mika", "Ada", "老王")
    return tuple(AgentInfo(names[n], names[n], status=state) for n, state in enumerate(states))


class Listed(Watched[AgentTuiApp]):
    """What a test sees of the list and does to it."""

    def __init__(self, app: AgentTuiApp, client: ListedClient, pilot: Pilot[int]) -> None:
        super().__init__(app, pilot)
        self.client = client

    @property
    def is_told(self) -> bool:
        return self.client.is_told

    @property
    def screen(self) -> RoomsScreen:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, RoomsScreen))

    @property
    def list(self) -> RowList[RoomInfo]:
        return self.screen.query_one(RowList)

    @property
    def cursor(self) -> str:
        found = self.list.cursor
        return found.id if found is not None else ""


@asynccontextmanager
async def listed(
    folder: Path,
    *rooms: RoomInfo,
    size: tuple[int, int] = (100, 16),
    is_ascii: bool = False,
    keys: Mapping[str, str] | None = None,
    **options: bool,
) -> AsyncGenerator[Listed, None]:
    link = FakeLink()
    link.is_embedded = False
    client = ListedClient(list(rooms), **options)
    link.calls = cast("Any", client)
    request = ScreenRequest(
        Server("http://127.0.0.1:9"),
        None,
        Config(folder / "config.toml", screen=ScreenConfig(ascii=is_ascii), keys=keys or {}),
    )
    app = AgentTuiApp(request, cast("RoomLink", link))
    async with app.run_test(size=size, notifications=True) as pilot:
        seen = Listed(app, client, pilot)
        if len(await client.list_all()) == 1:  # it is opened at once, and the list is behind it
            while not isinstance(app.screen, RoomScreen):
                await pilot.pause()
            await pilot.press("escape")
        await seen.settle()
        yield seen
        link.end()
