"""``agent-tui rooms list|new|show|delete|pause|resume``: one answer each, as text or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Final

from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.inert import inert_line
from agent_tui.wire.rooms_encode import room_fields
from tui.cli import output
from tui.cli.commands import asking, connect
from tui.cli.commands.new_room import NewRoom
from tui.cli.output import OutputFormat
from tui.lists.order import ago, by_activity
from tui.live.texts import model_name, unpriced_text
from tui.request import Server, Source
from tui.screens.localised import localised
from tui.screens.words import count, say, text_if_any

HEAD = ("ID", "NAME", "STATUS", "ROUND", "AGENTS", "CHANGED")
NO_ROOMS = 'no rooms yet; agent-tui rooms new --task "…" makes one, agent-tui rooms shows a demo'
ALL_ARCHIVED = "all rooms are archived; agent-tui rooms shows them"


def list_rooms(source: Source, output_format: OutputFormat) -> None:
    """Print the rooms in the order of the screen; as JSON the body of ``GET /api/rooms``."""
    if output_format == "json":
        output.write_json(ROOMS.ask(source, lambda client: client.list_raw()))
    else:
        everything = ROOMS.ask(source, lambda client: client.list_all(archived=True))
        short = asking.short_ids([(room.id, room.name) for room in everything])
        rooms = sorted((room for room in everything if not room.archived), key=by_activity)
        nothing = ALL_ARCHIVED if everything else NO_ROOMS
        asking.print_table(HEAD, [_row(room, short) for room in rooms], nothing)


def new_room(source: Source, new: NewRoom, output_format: OutputFormat) -> None:
    """Make a room and print its id."""
    embedded = not isinstance(source, Server)
    room = ROOMS.ask(source, lambda client: connect.create(client, new, embedded=embedded))
    asking.print_one(inert_line(room.id), room_fields(room), output_format)


def pause_room(source: Source, wanted: str, output_format: OutputFormat) -> None:
    """Pause a room and print its answer; a room that is not running stays as it is."""
    room = ROOMS.of_one(source, wanted, lambda client, room_id: client.pause(room_id))
    # The answer may come before the words are interrupted: "paused" is only said about a paused room.
    _tell_status(room, "pausing" if room.status == "running" else room.status, output_format)


def resume_room(source: Source, wanted: str, output_format: OutputFormat) -> None:
    """Resume a room; raises ``Refused`` for one that is completed or was never started."""
    room = ROOMS.of_one(source, wanted, lambda client, room_id: client.resume(room_id))
    _tell_status(room, room.status, output_format)


# --- how rooms read --------------------------------------------------------------------------------------


def _tell_status(room: RoomInfo, status: str, output_format: OutputFormat) -> None:
    asking.print_one(f"{ROOMS.title_of(room)}: {inert_line(status)}", room_fields(room), output_format)


def _row(room: RoomInfo, short: Mapping[str, str]) -> tuple[str, ...]:
    name = inert_line(room.name or room.task, asking.MAX_NAME_CHARACTERS)
    rounds = f"{room.current_round}/{room.max_rounds}"
    status = asking.standing(room, room.status)
    return short[room.id], name, status, rounds, str(len(room.agents)), ago(room.updated_at)


def _facts(room: RoomInfo) -> str:
    facts = [
        ("id", room.id),
        ("name", room.name),
        ("task", room.task),
        ("status", asking.standing(room, asking.status_of(room))),
        ("mode", text_if_any(f"export.is.{room.execution_mode}") or room.execution_mode),
        ("round", say("export.round.of", round=room.current_round, most=room.max_rounds)),
        ("used", asking.spent(room.tokens, room.cost)),
        ("budget", " · ".join(filter(None, (asking.budget(room), unpriced_text(room))))),
        ("events", count(room.last_event_id)),
        ("created", ago(room.created_at)),
        ("changed", ago(room.updated_at)),
    ]
    agents = [(f"{localised('agent')} {n}", _spoken_for(agent)) for n, agent in enumerate(room.agents, 1)]
    return output.table([(localised(label), text) for label, text in facts + agents if text])


def _spoken_for(agent: AgentInfo) -> str:
    """Return "Ada · some-model"."""
    model = model_name(agent.model, agent.provider_id)
    return f"{inert_line(agent.name)} · {model}" if model else inert_line(agent.name)


ROOMS: Final = asking.CommandKind(
    connect.rooms_client, connect.room_id, attrgetter("name"), _facts, room_fields
)
show_room: Final = ROOMS.show
delete_room: Final = ROOMS.delete
