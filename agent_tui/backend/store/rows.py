"""What goes into the store and comes out of it, as plain data. ``schema`` makes its tables of these rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_tui.backend.models.model import AgentSession
from agent_tui.model.events import AgentInfo, Event, Note, QueuedMessage, Step, ToolAsk, Usage
from agent_tui.model.records import FileChange
from agent_tui.wire import log

Value = str | int | float | bool | None
RuleScope = Literal["exact", "wide", "suspended"]

ROOM = ("room",)
VOICE = "voice"  # a chat that is spoken
CHATS = ("chat", VOICE)
KINDS = (*ROOM, *CHATS)


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
class ConversationRow:
    """A conversation as stored. Its ``kind`` (room, chat, voice) says only what comes next in it.

    A room goes round by round; in a chat each answer is a round of its own, with one agent.
    """

    id: str
    name: str
    task: str = ""
    execution_mode: str = "sequential"
    max_rounds: int = 0  # 0: no end
    status: str = "idle"  # what is: idle | running | paused | completed | error
    desired: str = "idle"  # what is wanted, on record before it is done: idle | running | paused | deleted
    interrupted: str = ""  # why it is paused or about to be
    keep_running: bool = False
    round_open: int = 0  # the newest round that began
    round_done: int = 0  # the newest that ended; they differ while a round is under way
    run_seq: int = 0  # seq of the newest ``room_started``, 0 where there is none
    last_seq: int = 0
    created_at: str = ""
    updated_at: str = ""
    round_mode: str = ""  # how the newest round is spoken, whatever ``execution_mode`` is by now
    max_tokens: int = 0  # the budget; 0: none
    max_cost: float = 0.0
    on_error: str = "continue"
    archived: bool = False
    used_tokens: int = 0
    used_cost: float | None = None  # None: no price is known
    last_speaker: str = ""
    last_words: str = ""
    kind: str = "room"
    tools: tuple[str, ...] | None = ()  # names that may be used; None: those that need not be allowed
    workspace: str = ""  # the folder of these tools, empty for none
    answer_tokens: int = 0  # the most that one answer may have; 0: what the provider says
    on_resume: str = "continue"  # what becomes of a turn that was cut: continue | again
    temperature: float | None = None  # None: the model's own
    thinking: bool | None = None
    head: str = ""  # the last message of the branch that is shown; empty where there are no branches
    on_full: str = (
        "summarise"  # of a chat: what becomes of what its model cannot be told: summarise | leave_out
    )
    guide: str = "tell"  # whether models are told the AGENTS.md of the folder: tell | ignore
    view: str = "auto"  # what a screen opens a room with: auto | timeline | panes
    is_named: bool = False  # a person gave it its name; else that is the beginning of what was said first
    synthesis: bool = False  # the last round ends with one agent's synthesis
    # What is stored elsewhere.
    agents: tuple[AgentInfo, ...] = ()  # those that take turns, in turn order
    queue: tuple[QueuedMessage, ...] = ()  # what people said and no turn has taken yet
    cut: str = ""  # why the answer at the head was cut or failed
    error: str = ""
    damaged: str = ""  # the field that cannot be read, of one that can only be deleted

    @property
    def parallel(self) -> bool:
        """Whether the newest round is spoken all at once (the next one follows ``execution_mode``)."""
        return (self.round_mode or self.execution_mode) == "parallel"

    @property
    def agent(self) -> AgentInfo:
        """The one agent of a chat."""
        return self.agents[0] if self.agents else AgentInfo("", "")


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One attempt at a turn as stored; ``agent_id`` says whose.

    Its ``text`` is stored once it is closed (that of all its text steps); until then the log is the record.
    """

    round: int
    agent_id: str
    attempt: int  # counts the attempts of that agent in that round, or the answers to that ``parent``
    message_id: str
    status: str = "streaming"  # … | completed | interrupted | failed | skipped | superseded
    reason: str = ""  # why it was cut
    text: str = ""
    error: str = ""
    first_seq: int = 0  # the place of its first event in the log, and so its place among the messages
    created_at: str = ""
    sender_name: str = ""  # the agent's as they were then
    sender_color: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    first_token_seconds: float | None = None
    cost: float | None = None
    trimmed: int = 0
    supersedes: str = ""  # the attempt that this one says again
    again: bool = False  # a retry was requested
    parent: str = ""  # the message that it answers, where messages form a tree
    model: str = ""
    seconds: float | None = None  # how long it took
    client_key: str = ""  # what the asker called the question, empty for none
    continues: str = ""  # the attempt whose text precedes its own; empty: it begins anew
    to_continue: bool = False  # its rest was requested
    spoken: str = ""  # how it was spoken, as JSON; empty for what was not
    notes: str = ""  # what stays true of how its model was asked, a JSON list; empty for nothing
    context: int = (
        0  # tokens that its model has in mind once it is over, and the most that it can; 0: unknown
    )
    context_limit: int = 0

    @property
    def usage(self) -> Usage | None:
        """What it used; None where its model does not say."""
        if not (self.prompt_tokens or self.completion_tokens):
            return None
        return Usage(
            self.prompt_tokens,
            self.completion_tokens,
            self.first_token_seconds,
            self.cost,
            self.context,
            self.context_limit,
        )


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A person's message; as a change, its ``first_seq`` is the seq of the write's event number ``event``."""

    id: str
    round: int
    text: str
    sender_name: str
    sender_color: str
    created_at: str
    to_agent: str = ""  # the one agent that is told, empty for all
    parent: str = ""  # the answer that it follows, where messages form a tree
    attachments: str = ""  # JSON, and so is spoken
    spoken: str = ""
    event: int = 0


@dataclass(frozen=True, slots=True)
class ToolRule:
    """Calls that run without being asked for; ``conversation_id`` empty: in every conversation.

    ``scope`` is "exact" for the one call of ``pattern`` in ``folder`` ("" for calls that work in none),
    "wide" for a glob of an earlier version that a person confirmed, "suspended" for one that covers nothing.
    """

    id: str
    tool: str
    pattern: str
    created_at: str
    conversation_id: str = ""
    folder: str = ""
    scope: RuleScope = "exact"


@dataclass(frozen=True, slots=True)
class Link:
    """A message's place in the tree of its conversation; ``role`` is user or assistant."""

    id: str
    parent: str
    role: str
    first_seq: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A message, or a title (no ``message_id``), in which words were found; ``snippet`` has them between
    U+0002 and U+0003.
    """

    conversation_id: str
    title: str
    message_id: str
    role: str
    snippet: str
    created_at: str
    kind: str


# --- changes: what a write does besides appending events ----------------------------------------------


@dataclass(frozen=True, slots=True)
class ConversationCreated:
    """The conversation and its agents."""

    row: ConversationRow


@dataclass(frozen=True, slots=True)
class ConversationSet:
    """Fields of the row; with ``while_running`` only if it still has the status running."""

    values: Mapping[str, Value | tuple[str, ...]]
    while_running: bool = False


@dataclass(frozen=True, slots=True)
class RunOpened:
    """It runs; the write's first event is its ``room_started``."""


@dataclass(frozen=True, slots=True)
class ConversationUsed:
    """The conversation, and this agent of it, used so much more; ``cost`` None: no price is known."""

    tokens: int
    cost: float | None = None
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentsSet:
    """The agents from now on, in this order; those that are missing take no more turns."""

    agents: tuple[AgentInfo, ...]


@dataclass(frozen=True, slots=True)
class AgentSkips:
    """Whether the agent's next turn is skipped."""

    agent_id: str
    skip_next: bool


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
    """The attempt is over, and is ``turn`` now. Refused by the database when it was completed before."""

    turn: TurnRow


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
class SpokenSet:
    """How a message was spoken; refused for one that is not on record."""

    message_id: str
    spoken: str


@dataclass(frozen=True, slots=True)
class AgentSessionPut:
    """What an agent on another server knows of us by now."""

    agent_id: str
    session: AgentSession


@dataclass(frozen=True, slots=True)
class InboxPut:
    """A person's words wait for the next turn; ``client_key`` is what the sender called them."""

    id: str
    content: str
    to_agent: str
    when_: str
    sender_name: str
    client_key: str
    created_at: str


@dataclass(frozen=True, slots=True)
class InboxSet:
    """Columns of words that still wait; refused when one of them does not.

    With the state taken they are said, and the same write has their ``UserSaid``.
    """

    ids: tuple[str, ...]
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StepPut:
    """A step of the answer is recorded, in place of what was there before."""

    message_id: str
    step: Step
    started_at: str = ""


@dataclass(frozen=True, slots=True)
class StepStands:
    """The state of a call, and what it asks if it asks; refused for one that is not recorded."""

    message_id: str
    place: int
    status: str
    seconds: float | None = None
    success: bool = True
    ask: ToolAsk | None = None


@dataclass(frozen=True, slots=True)
class FileChanged(FileChange):
    """What the call at ``place`` among the steps of its message did to a file of ``folder``."""

    message_id: str
    place: int
    folder: str
    created_at: str


@dataclass(frozen=True, slots=True)
class RulePut:
    """Such calls run from now on; nothing new if that rule is there."""

    rule: ToolRule


@dataclass(frozen=True, slots=True)
class RuleConfirmed:
    """A suspended rule holds again, as wide as it is."""

    id: str


@dataclass(frozen=True, slots=True)
class RuleDropped:
    """The rule does not hold any more."""

    id: str


@dataclass(frozen=True, slots=True)
class Searchable:
    """The message is found by its words from now on."""

    message_id: str
    role: str
    text: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Unsearchable:
    """At most so many messages of the conversation are not found any more."""

    most: int


@dataclass(frozen=True, slots=True)
class EventsDropped:
    """The events up to this seq; only of a conversation that is being deleted."""

    up_to: int


@dataclass(frozen=True, slots=True)
class ConversationDropped:
    """The conversation and all but its events, which are gone before."""


RuleChange = RulePut | RuleConfirmed | RuleDropped
Change = (
    ConversationCreated
    | ConversationSet
    | ConversationUsed
    | ConversationDropped
    | RunOpened
    | AgentsSet
    | AgentSkips
    | AgentSessionPut
    | TurnOpened
    | TurnClosed
    | TurnAgain
    | TurnNotePut
    | SpokenSet
    | UserSaid
    | InboxPut
    | InboxSet
    | StepPut
    | StepStands
    | FileChanged
    | RuleChange
    | Searchable
    | Unsearchable
    | EventsDropped
)


@dataclass(frozen=True, slots=True)
class Write:
    """What is committed as one: the events get the conversation's next seqs, in order."""

    room_id: str
    events: tuple[NewEvent, ...] = ()
    changes: tuple[Change, ...] = field(default=())
