"""What goes into the store and comes out of it, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_tui.events import AgentInfo


@dataclass(frozen=True, slots=True)
class Frame:
    """One stored event; ``data`` is the JSON exactly as it goes out, without ``accumulated``."""

    room_id: str
    seq: int
    name: str
    data: str
    message_id: str


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that has no seq yet; ``message_id`` is empty where it belongs to no message."""

    name: str
    data: str
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class RoomRow:
    """A room as stored (schema.py says what the columns mean); ``agents`` are in turn order."""

    id: str
    name: str
    task: str
    execution_mode: str
    max_rounds: int
    status: str = "idle"
    desired: str = "idle"
    interrupted: str = ""
    keep_running: bool = False
    round_open: int = 0
    round_done: int = 0
    run_seq: int = 0
    last_seq: int = 0
    created_at: str = ""
    updated_at: str = ""
    agents: tuple[AgentInfo, ...] = ()

    @property
    def parallel(self) -> bool:
        return self.execution_mode == "parallel"


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One attempt at a turn as stored; ``turn_order`` says whose."""

    round: int
    turn_order: int
    attempt: int
    message_id: str
    status: str = "streaming"
    reason: str = ""
    text: str = ""
    error: str = ""
    first_seq: int = 0
    token_count: int = 0
    created_at: str = ""


# --- changes: what a write does besides appending events ----------------------------------------------


@dataclass(frozen=True, slots=True)
class RoomCreated:
    """The room and its agents."""

    room: RoomRow


@dataclass(frozen=True, slots=True)
class RoomSet:
    """Columns of the room; with ``while_running`` only if it still has the status running."""

    values: Mapping[str, str | int | bool]
    while_running: bool = False


@dataclass(frozen=True, slots=True)
class RunOpened:
    """The room runs; the write's first event is its ``room_started``."""


@dataclass(frozen=True, slots=True)
class TurnOpened:
    """A new attempt; its ``first_seq`` is the seq of the write's event number ``event``."""

    turn: TurnRow
    event: int = 0


@dataclass(frozen=True, slots=True)
class TurnClosed:
    """The attempt is over. Refused by the database when that turn was completed before."""

    message_id: str
    status: str
    text: str = ""
    token_count: int = 0
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A person's message; its ``first_seq`` is the seq of the write's event number ``event``."""

    id: str
    round: int
    text: str
    sender_name: str
    sender_color: str
    created_at: str
    event: int = 0


@dataclass(frozen=True, slots=True)
class EventsDropped:
    """The room's events up to this seq; only of a room that is being deleted."""

    up_to: int


@dataclass(frozen=True, slots=True)
class RoomDropped:
    """The room and all but its events, which are gone before."""


Change = RoomCreated | RoomSet | RunOpened | TurnOpened | TurnClosed | UserSaid | EventsDropped | RoomDropped


@dataclass(frozen=True, slots=True)
class Write:
    """What is committed as one: the events get the room's next seqs, in order."""

    room_id: str
    events: tuple[NewEvent, ...] = ()
    changes: tuple[Change, ...] = field(default=())
