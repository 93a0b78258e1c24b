"""From a command to its server: one client, opened for as long as the command runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from agent_tui.clients.net import Net
from agent_tui.clients.rooms import RoomsClient
from agent_tui.errors import NotFound, NotOffered
from agent_tui.events import RoomInfo
from tui.new_room import NewRoom
from tui.pick import find_room
from tui.request import Server


@asynccontextmanager
async def rooms_client(server: Server) -> AsyncGenerator[RoomsClient, None]:
    """Give a client of ``server`` and close it at the end; raises ``ConfigError`` for an unusable address."""
    async with Net(server.url, token=server.token, timeout=server.timeout) as net:
        yield RoomsClient(net, server.paths)


async def room_id(client: RoomsClient, wanted: str) -> str:
    """Return the id of the room that the user means; a server without a list takes ``wanted`` for the id.

    Raises what ``find_room`` and the client raise.
    """
    try:
        rooms: Sequence[RoomInfo] = await client.list()
    except (NotFound, NotOffered):
        return wanted
    return find_room(rooms, wanted)


async def create(client: RoomsClient, new: NewRoom) -> RoomInfo:
    """Make the room that the command line describes."""
    agents = None
    if new.agents is not None:
        agents = [{"name": name, **({"model": model} if model else {})} for name, model in new.agents]
    return await client.create(
        task=new.task,
        name=new.name,
        execution_mode=new.mode,
        max_rounds=new.rounds,
        agents=agents,
        keep_running=new.keep_running or None,
    )
