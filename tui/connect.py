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

# What an agent is told that has only a name: without it a model would not know whose turn it takes.
AGENT_PROMPT = (
    "You are {name}, one of several who talk a task through. Answer what the others said, by name, add what "
    "is new, and be brief. Speak the language of the task."
)


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
        agents = [_agent(name, model) for name, model in new.agents]
    return await client.create(
        task=new.task,
        name=new.name,
        execution_mode=new.mode,
        max_rounds=new.rounds,
        agents=agents,
        keep_running=new.keep_running or None,
    )


def _agent(name: str, model: str) -> dict[str, str]:
    fields = {"name": name, "system_prompt": AGENT_PROMPT.format(name=name)}
    return {**fields, "model": model} if model else fields
