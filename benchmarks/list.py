"""The list of a thousand rooms: how soon it is there, and what it costs to keep it live."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

from agent_tui.config.file import Config
from agent_tui.model.events import AgentInfo, RoomInfo
from benchmarks.table import row
from tests.fakes.room_link import FakeLink
from tests.tui.lists.rooms_client import ListedClient
from tui.app import AgentTuiApp
from tui.link import RoomLink
from tui.lists.row_list import RowList
from tui.request import ScreenRequest, Server

ROOMS: Final = 1_000
RUNNING: Final = 10
SECONDS: Final = 6


def rooms() -> list[RoomInfo]:
    """Return the rooms, ten of them running with three agents each."""
    now = datetime.now(UTC)
    agents = tuple(AgentInfo(name, name, status="speaking") for name in ("Mika", "Ada", "Noor"))
    return [
        RoomInfo(
            f"r{number}",
            f"Room {number}",
            status="running" if number < RUNNING else "completed",
            agents=agents,
            last_words="So be it.",
            created_at=(now - timedelta(minutes=number)).isoformat(),
            updated_at=(now - timedelta(minutes=number)).isoformat(),
        )
        for number in range(ROOMS)
    ]


async def measured(known: Sequence[RoomInfo]) -> tuple[float, float]:
    """Return the seconds from the start of the app to the painted rows, and the share of a core live."""
    client, link = ListedClient(list(known)), FakeLink()
    link.calls = cast("Any", client)
    with tempfile.TemporaryDirectory() as folder:
        request = ScreenRequest(Server("http://127.0.0.1:9"), None, Config(Path(folder) / "config.toml"))
        app = AgentTuiApp(request, cast("RoomLink", link))
        began = time.perf_counter()
        async with app.run_test(size=(120, 40)) as pilot:
            while not any(found.rows_painted for found in app.screen.query(RowList)):
                await pilot.pause()
            opened = time.perf_counter() - began
            await asyncio.sleep(1)
            cpu = time.process_time()
            for second in range(SECONDS):
                client.tell(*(replace(room, tokens=100 * second + 1) for room in known[:RUNNING]))
                await asyncio.sleep(1)
            return opened, (time.process_time() - cpu) / SECONDS


def main() -> None:
    """Print both figures."""
    opened, share = asyncio.run(measured(rooms()))
    row(f"a list of {ROOMS:,} rooms opens", "≤ 0.5 s", f"{opened:.2f} s")
    row(f"the same live, {RUNNING} rooms streaming, of a core", "≤ 2 %", f"{share:.1%}")
