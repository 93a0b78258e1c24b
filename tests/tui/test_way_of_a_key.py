"""How many calls of ours a key takes to what it shows: "p" in a running room to "pausing…" above it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import cast

import pytest

import agent_tui
from tests.fakes.room_link import FakeLink
from tests.fakes.servers.rooms_server import LogRoom, LogRoomsServer
from tests.tui.room.one_room import OneRoom
from tests.tui.watched import rows_of, until
from tui.link import RoomLink
from tui.request import Server
from widgets.status_line import StatusLine

AGENTS = [{"id": name, "name": name} for name in ("Mika", "Ada", "Noor")]
MAX_CALLS = 200
OURS = Path(agent_tui.__file__).parent.parent
FOLDERS = tuple(str(OURS / name) for name in ("agent_tui", "tui", "widgets"))


@pytest.fixture
def painted_when_read() -> None:
    """The way of a key ends with a frame that is painted."""


async def test_the_key_to_pause_takes_few_calls_to_the_line_that_says_pausing() -> None:
    calls: list[str] = []
    is_over = False
    async with LogRoomsServer(LogRoom("r", status="running", agents=AGENTS)) as server:
        link = RoomLink(Server(server.url))
        app = OneRoom(cast("FakeLink", link))
        async with app.run_test(size=(120, 30)) as pilot:
            await until(lambda: "● live" in rows_of(app), app)
            top = app.room.query_one("#top", StatusLine)

            def look(frame: FrameType, what: str, _: object) -> None:
                nonlocal is_over
                code = frame.f_code
                if is_over or not code.co_filename.startswith(FOLDERS):
                    return
                name = f"{Path(code.co_filename).relative_to(OURS)} {code.co_qualname}"
                if what == "call":
                    calls.append(name)
                elif what == "return" and code.co_name == "render_lines" and frame.f_locals["self"] is top:
                    is_over = any("RoomRun" in call for call in calls)

            sys.setprofile(look)
            try:
                await pilot.press("p")
                await until(lambda: is_over, app)
            finally:
                sys.setprofile(None)
            assert "pausing" in rows_of(app)
        await link.close()
    assert len(calls) <= MAX_CALLS, "\n".join(calls)
