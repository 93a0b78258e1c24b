"""Rooms for the pictures: run by the demo model as far as they are to go."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from agent_tui.clients.rooms import RoomsClient
from agent_tui.model.events import RoomInfo
from agent_tui.wire.sse import Frame
from tui import runtime
from tui.cli.commands.connect import rooms_client
from tui.request import reach

LOOK_SECONDS: Final = 0.1
TASK: Final = "Should sessions live in Redis or PostgreSQL?"
NAMES: Final = (
    *("Mika", "Ada", "老王", "Noor", "Вера", "Juno", "Tomás", "Ines"),
    *("Kofi", "Yuki", "Лев", "Sana", "Otto", "李雷", "Rosa", "Zed"),
)
COLORS: Final = ("#e0a030", "#5b9df5", "#9ece6a", "#bb9af7", "#2ac3de", "#e59ac2", "#73daca", "#b4b98c")


def new_room(agents: int) -> None:
    """Make a room through the command line."""
    named = [word for name in NAMES[:agents] for word in ("--agent", name)]
    command = ["-P", "-m", "tui", "rooms", "new", "--task", TASK, "--mode", "parallel", *named]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)


async def many_rooms() -> None:
    """Make rooms in every state that a list shows, and leave two of them running."""
    async with rooms_client(reach(runtime.begin())) as client:
        await _room(client, "Plan the offsite in March", (3, 5))
        done = await _started(client, "Name the new service", (1, 7), max_rounds=1)
        poor = await _started(client, "Rewrite the migration guide", (4, 0), max_tokens=150)
        broken = await _started(client, "Why did the deploy fail?", (0, 6), on_error="pause", far="office")
        await _until(client, done, status="completed")
        await _until(client, poor, status="paused")
        await _until(client, broken, status="paused")
        cut = await _started(client, "Какое название понятнее всего?", (4, 10))
        await _until_spoken(client, cut)
        await client.pause(cut)
        await _until(client, cut, status="paused")
        others = (("缓存为什么总是冷的?", (2, 13)), (TASK, (0, 1, 2)))
        for task, agents in others:
            mode = "parallel" if len(agents) > 2 else "sequential"
            await _until_spoken(client, await _started(client, task, agents, execution_mode=mode))


async def rooms_to_talk_about() -> None:
    """Make a room that runs, and one that was not started."""
    async with rooms_client(reach(runtime.begin())) as client:
        await _room(client, "Redis or PostgreSQL?", (0, 1, 2))
        await _started(client, "Name the new service", (1, 7), max_rounds=9)


async def _room(
    client: RoomsClient, task: str, agents: Sequence[int], *, far: str = "", **fields: Any
) -> RoomInfo:
    described = [
        {"name": NAMES[n], "color": COLORS[n % len(COLORS)], "provider_id": far or "demo"} for n in agents
    ]
    return await client.create(task, agents=described, **{"max_rounds": 3, **fields})


async def _started(client: RoomsClient, task: str, agents: Sequence[int], **fields: Any) -> str:
    room = await _room(client, task, agents, **fields)
    async with aclosing(client.run_frames(room.id)) as frames:
        async for item in frames:
            if isinstance(item, Frame):  # it was asked and goes on, whoever reads
                break
    return room.id


async def _until(client: RoomsClient, room_id: str, **wanted: str) -> None:
    while not _has(await client.show(room_id), wanted):  # noqa: ASYNC110 - the backend is another process
        await asyncio.sleep(LOOK_SECONDS)


def _has(room: RoomInfo, wanted: Mapping[str, str]) -> bool:
    return all(getattr(room, name) == value for name, value in wanted.items())


async def _until_spoken(client: RoomsClient, room_id: str) -> None:
    while not _speaks(await client.show(room_id)):  # noqa: ASYNC110 - as above
        await asyncio.sleep(LOOK_SECONDS)


def _speaks(room: RoomInfo) -> bool:
    return room.tokens > 200 and any(agent.status in ("speaking", "streaming") for agent in room.agents)
