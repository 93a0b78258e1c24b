"""The whole app on a screen of the test, with a link whose events the test sends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from agent_tui.config.file import Config
from agent_tui.model import events as ev
from agent_tui.model.events import RoomInfo
from tests.fakes.room_link import FakeClient, FakeLink
from tests.tui.watched import Fed
from tui.app import AgentTuiApp
from tui.link import RoomLink
from tui.request import ScreenRequest, Server

AGENTS = (
    ev.AgentInfo("a", "Mika", "#e0a030", "some-model"),
    ev.AgentInfo("b", "Ada", "#5b9df5", "demo", 1, provider_id="demo"),
)


class ListingClient(FakeClient):
    """Also says which rooms there are."""

    def __init__(self, rooms: Sequence[RoomInfo]) -> None:
        super().__init__()
        self._rooms = list(rooms)

    async def list_all(self, archived: bool = False) -> list[RoomInfo]:
        return self._rooms

    async def changed_files(self, room_id: str) -> list[ev.ChangedFile]:
        return []


Seen = Fed[AgentTuiApp, FakeLink]


@asynccontextmanager
async def opened_app(
    folder: Path,
    *,
    keys: Mapping[str, str] | None = None,
    rooms: int = 1,
    size: tuple[int, int] = (120, 30),
    theme: str = "",
) -> AsyncGenerator[Seen, None]:
    """Show the app under a config file with these ``keys``; a single room is opened at once."""
    config = Config(folder / "config.toml", theme=theme, keys=keys or {})
    link = FakeLink()
    link.calls = ListingClient([RoomInfo(f"r{number}", task="Should we?") for number in range(rooms)])
    app = AgentTuiApp(
        ScreenRequest(Server("http://127.0.0.1:9"), "r0" if rooms == 1 else None, config),
        cast("RoomLink", link),
    )
    async with app.run_test(size=size, notifications=True) as pilot:
        seen = Seen(app, link, pilot)
        if rooms == 1:
            info = RoomInfo(
                "r0", task="Should we?", max_rounds=3, agents=AGENTS, status="running", view="panes"
            )
            link.send(ev.RoomLoaded(info, ()), ev.LinkChanged("live"))
        await seen.settle()
        yield seen
        link.end()
