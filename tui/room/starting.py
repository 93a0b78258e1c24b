"""How a room is started or resumed."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from agent_tui.model.errors import NotOffered
from agent_tui.model.events import LinkChanged

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient


async def start_room(client: RoomsClient, room_id: str) -> None:
    """Start a room that never ran. ``run`` is a stream; closing it never stops the room (cli.md)."""
    async with aclosing(client.run_frames(room_id)) as frames:
        async for frame in frames:
            if not isinstance(frame, LinkChanged):
                return


async def resume_room(client: RoomsClient, room_id: str) -> None:
    """Resume a paused room, also on a server that only runs rooms: ``run`` starts or resumes."""
    try:
        await client.resume(room_id)
    except NotOffered:
        await start_room(client, room_id)
