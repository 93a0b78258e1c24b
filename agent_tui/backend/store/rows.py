"""What goes into the store and comes out of it, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_tui.backend.models.model import AgentSession
from agent_tui.backend.store.chat_rows import ChatChange
from agent_tui.model.events import AgentInfo, Event, Note, QueuedMessage, Usage
from agent_tui.wire import log


@dataclass(frozen=True, slots=True)
class Frame:
    """One stored event in the form of the log (``wire.log``), or in a dialect that was made of that."""

    room_id: str
    seq: int
    name: str
    data: str
    message_id: str
    written: Event | None = field(default=None, compare=False, repr=False)  # what was written just now

    @property
    def event(self) -> Event:
        """The event, of a frame in the form of the log."""
        return log.decode(self.name, self.data) if self.written is None else self.written

    @property
    def as_sent(self) -> tuple[str, str] | None:
        """What an earlier version sent for it, where no dialect would write the same."""
        return log.as_sent(self.data) if self.written is None else None


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that has no seq yet; ``message_id`` is empty where it belongs to no message."""

    event: Event
    name: str
    data: str
    message_id: str = ""

    @classmethod
    def of(cls, event: Event, message_id: str = "") -> NewEvent:
        """Return ``event`` in the form of the log."""
        return cls(event, *log.encode(event), message_id)


@dataclass(frozen=True, slots=True)
class RoomRow:
    """A room as stored (schema.py says what the columns mean).

    ``agents`` are those that take turns, in turn order; ``queue`` is what people said and waits.
    """

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
    round_mode: str = ""
    max_tokens: int = 0
    max_cost: float = 0.0
    on_error: str = "continue"
    archived: bool = False
    used_tokens: int = 0
    used_cost: float | None = None
    last_speaker: str = ""
    last_words: str = ""
    kind: str = "room"
    tools: tuple[str, ...] = ()
    workspace: str = ""
    answer_tokens: int = 0
    on_resume: str = "continue"
    agents: tuple[AgentInfo, ...] = ()
    queue: tuple[QueuedMessage, ...] = ()
    damaged: str = ""  # the field that cannot be read, of a room that can only be deleted

    @property
    def parallel(self) -> bool:
        """Whether the newest round is spoken all at once (the next one follows ``execution_mode``)."""
        return (self.round_mode or self.execution_mode) == "parallel"


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One attempt at a turn as stored; ``agent_id`` says whose."""

    round: int
    agent_id: str
    attempt: int
    message_id: str
    status: str = "streaming"
    reason: str = ""
    text: str = ""
    error: str = ""
    first_seq: int = 0
    token_count: int = 0
    created_at: str = ""
    sender_name: str = ""
    sender_color: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    first_token_seconds: float | None = None
    cost: float | None = None
    trimmed: int = 0
    supersedes: str = ""
    again: bool = False
    parent: str = ""
    model: str = ""
    seconds: float | None = None
    client_key: str = ""
    continues: str = ""
    to_continue: bool = False
    spoken: str = ""
    notes: str = ""

    @property
    def usage(self) -> Usage | None:
        """What it used; None where its model does not say."""
        if not (self.prompt_tokens or self.completion_tokens):
            return None
        return Usage(self.prompt_tokens, self.completion_tokens, self.first_token_seconds, self.cost)


# --- changes: what a write does besides appending events ----------------------------------------------


@dataclass(frozen=True, slots=True)
class RoomCreated:
    """The room and its agents."""

    room: RoomRow


@dataclass(frozen=True, slots=True)
class RoomSet:
    """Columns of the room; with ``while_running`` only if it still has the status running."""

    values: Mapping[str, str | int | float | bool | None]
    while_running: bool = False


@dataclass(frozen=True, slots=True)
class RunOpened:
    """The room runs; the write's first event is its ``room_started``."""


@dataclass(frozen=True, slots=True)
class TurnOpened:
    """A new attempt; its ``first_seq`` is the seq of the write's event number ``event``.

    The turn that it ``supersedes`` becomes superseded with it, and so do the attempts which that one
    continues. No turn of that agent in that round is asked for any more. Refused by the database when the
    attempt that it ``continues`` has a continuation under way or completed.
    """

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
    prompt_tokens: int = 0
    completion_tokens: int = 0
    first_token_seconds: float | None = None
    cost: float | None = None
    seconds: float | None = None
    trimmed: int = 0


@dataclass(frozen=True, slots=True)
class TurnAgain:
    """The turn is to be said again, as soon as it is over; with ``rest`` only what is missing of it."""

    message_id: str
    rest: bool = False


@dataclass(frozen=True, slots=True)
class TurnNotePut:
    """Something that stays true of how the model of the attempt was asked; nothing new if it is there."""

    message_id: str
    note: Note


@dataclass(frozen=True, slots=True)
class RoomUsed:
    """The room, and this agent of it, used so much more; ``cost`` None: no price is known."""

    tokens: int
    cost: float | None = None
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentsSet:
    """The room's agents from now on, in this order; those that are missing take no more turns."""

    agents: tuple[AgentInfo, ...]


@dataclass(frozen=True, slots=True)
class AgentSkips:
    """Whether the agent's next turn is skipped."""

    agent_id: str
    skip_next: bool


@dataclass(frozen=True, slots=True)
class AgentSessionPut:
    """What an agent of somebody else knows of us by now."""

    agent_id: str
    session: AgentSession


@dataclass(frozen=True, slots=True)
class InboxPut:
    """A person's words wait for the next turn."""

    id: str
    content: str
    to_agent: str
    when_: str
    sender_name: str
    client_key: str
    created_at: str


@dataclass(frozen=True, slots=True)
class InboxSet:
    """Columns of words that still wait; refused when they do not."""

    id: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class InboxTaken:
    """These words are said; the same write has their ``UserSaid``. Refused when they do not wait."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A person's message; its ``first_seq`` is the seq of the write's event number ``event``."""

    id: str
    round: int
    text: str
    sender_name: str
    sender_color: str
    created_at: str
    to_agent: str = ""
    parent: str = ""
    attachments: str = ""
    spoken: str = ""
    event: int = 0


@dataclass(frozen=True, slots=True)
class EventsDropped:
    """The room's events up to this seq; only of a room that is being deleted."""

    up_to: int


@dataclass(frozen=True, slots=True)
class RoomDropped:
    """The room and all but its events, which are gone before."""


Change = (
    RoomCreated
    | RoomSet
    | RoomUsed
    | RunOpened
    | AgentsSet
    | AgentSkips
    | AgentSessionPut
    | TurnOpened
    | TurnClosed
    | TurnAgain
    | TurnNotePut
    | InboxPut
    | InboxSet
    | InboxTaken
    | UserSaid
    | EventsDropped
    | RoomDropped
    | ChatChange
)


@dataclass(frozen=True, slots=True)
class Write:
    """What is committed as one: the events get the room's next seqs, in order."""

    room_id: str
    events: tuple[NewEvent, ...] = ()
    changes: tuple[Change, ...] = field(default=())
