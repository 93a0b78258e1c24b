"""``agent-tui rooms list|new|show|delete|pause|resume``: one answer each, as text or as JSON."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Literal, TypeVar

from agent_tui.clients.rooms import RoomsClient
from agent_tui.config import DEMO_PROVIDER
from agent_tui.errors import ConfigError
from agent_tui.events import AgentInfo, RoomInfo
from agent_tui.inert import inert_line
from agent_tui.wire.rooms import decode_room, decode_rooms
from agent_tui.wire.rooms_encode import room_fields
from tui import connect, exits, output
from tui.new_room import NewRoom
from tui.request import Source, reach
from tui.screens.words import count, say

OutputFormat = Literal["text", "json"]
Answer = TypeVar("Answer")
MAX_NAME_CHARACTERS = 60
NO_ROOMS = 'no rooms yet; agent-tui rooms new --task "…" makes one, agent-tui rooms shows a demo'


def list_rooms(source: Source, output_format: OutputFormat) -> int:
    """Print the rooms; as JSON the body of ``GET /api/rooms`` as it was answered."""
    body = _ask(source, lambda client: client.list_raw())
    if output_format == "json":
        output.write_json(body)
        return exits.DONE
    rooms = decode_rooms(body)
    if rooms:
        now = datetime.now(UTC)
        head = ("ID", "NAME", "STATUS", "ROUND", "AGENTS", "CHANGED")
        output.say(output.table([head, *(_row(room, now) for room in rooms)]))
    else:
        output.notice(NO_ROOMS)
    return exits.DONE


def new_room(source: Source, new: NewRoom, output_format: OutputFormat) -> int:
    """Make a room and print its id."""
    room = _ask(source, lambda client: connect.create(client, new))
    if output_format == "json":
        output.write_json(room_fields(room))
    else:
        output.say(inert_line(room.id))
    return exits.DONE


def show_room(source: Source, wanted: str, output_format: OutputFormat) -> int:
    """Print one room; as JSON the body of ``GET /api/rooms/{id}`` as it was answered."""

    async def show(client: RoomsClient) -> object:
        return await client.show_raw(await connect.room_id(client, wanted))

    body = _ask(source, show)
    if output_format == "json":
        output.write_json(body)
    else:
        output.say(_described(decode_room(body), datetime.now(UTC)))
    return exits.DONE


def delete_room(source: Source, wanted: str, yes: bool, output_format: OutputFormat) -> int:
    """Delete a room, asking first; raises ``ConfigError`` when nobody can be asked."""
    if not yes and not sys.stdin.isatty():
        raise ConfigError("deleting needs --yes where nobody can be asked")

    async def delete(client: RoomsClient) -> RoomInfo | None:
        room_id = await connect.room_id(client, wanted)
        room = await client.show(room_id)
        if not yes and not output.agrees(f"delete {_called(room)} and everything said in it?"):
            return None
        await client.delete(room_id)
        return room

    room = _ask(source, delete)
    if room is None:
        output.notice("kept")
    elif output_format == "json":
        output.write_json(room_fields(room))
    else:
        output.say(f"deleted {_called(room)}")
    return exits.DONE


def pause_room(source: Source, wanted: str, output_format: OutputFormat) -> int:
    """Pause a room and print what it answered; a room that does not run is left as it is."""

    async def pause(client: RoomsClient) -> RoomInfo:
        return await client.pause(await connect.room_id(client, wanted))

    room = _ask(source, pause)
    # The answer may come before the words are cut: "paused" is said only of a room that is.
    return _print_status(room, "pausing" if room.status == "running" else room.status, output_format)


def resume_room(source: Source, wanted: str, output_format: OutputFormat) -> int:
    """Let a room go on; raises ``Refused`` for one that is completed or was never started."""

    async def resume(client: RoomsClient) -> RoomInfo:
        return await client.resume(await connect.room_id(client, wanted))

    room = _ask(source, resume)
    return _print_status(room, room.status, output_format)


def _ask(source: Source, question: Callable[[RoomsClient], Awaitable[Answer]]) -> Answer:
    """Return what the server answers; the embedded backend is waited for first."""
    server = reach(source)

    async def ask() -> Answer:
        async with connect.rooms_client(server) as client:
            return await question(client)

    return asyncio.run(ask())


# --- how rooms read --------------------------------------------------------------------------------------


def _print_status(room: RoomInfo, status: str, output_format: OutputFormat) -> int:
    if output_format == "json":
        output.write_json(room_fields(room))
    else:
        output.say(f"{_called(room)}: {inert_line(status)}")
    return exits.DONE


def _called(room: RoomInfo) -> str:
    name = inert_line(room.name, MAX_NAME_CHARACTERS)
    return f"{inert_line(room.id)} ({name})" if name else inert_line(room.id)


def _row(room: RoomInfo, now: datetime) -> tuple[str, ...]:
    name = inert_line(room.name or room.task, MAX_NAME_CHARACTERS)
    rounds = f"{room.current_round}/{room.max_rounds}"
    return room.id, name, room.status, rounds, str(len(room.agents)), age(room.updated_at, now)


def _described(room: RoomInfo, now: datetime) -> str:
    status = f"{room.status} ({room.interrupted})" if room.interrupted else room.status
    facts = [
        ("id", room.id),
        ("name", room.name),
        ("task", room.task),
        ("status", status),
        ("mode", room.execution_mode),
        ("round", f"{room.current_round} of {room.max_rounds}"),
        ("events", count(room.last_event_id)),
        ("made", age(room.created_at, now)),
        ("changed", age(room.updated_at, now)),
    ]
    agents = [(f"agent {n}", _spoken_for(agent)) for n, agent in enumerate(room.agents, 1)]
    return output.table([(label, text) for label, text in facts + agents if text])


def _spoken_for(agent: AgentInfo) -> str:
    """Return "Ada · some-model"; whatever model was wished for, the demo is called the demo."""
    model = "demo model" if agent.provider_id == DEMO_PROVIDER else inert_line(agent.model)
    return f"{inert_line(agent.name)} · {model}" if model else inert_line(agent.name)


def age(written: str, now: datetime) -> str:
    """Return how long ago a time was, in words up to a day, then as a date; nothing for no time."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return ""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    minutes = (now - moment).total_seconds() // 60
    if minutes < 1:
        return say("time.now")
    if minutes < 60:
        return say("time.minutes", minutes=int(minutes))
    if minutes < 24 * 60:
        return say("time.hours", hours=int(minutes // 60))
    return moment.astimezone().strftime("%Y-%m-%d")
