"""The rows of the store, as plain data. ``schema`` makes its tables from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_tui.backend.models.model import AgentSession
from agent_tui.model.events import AgentInfo, Event, Note, QueuedMessage, Step, ToolAsk, Usage
from agent_tui.model.records import FileChange
from agent_tui.wire import log

Value = str | int | float | bool | None

ROOM = ("room",)
VOICE = "voice"  # a spoken chat
CHATS = ("chat", VOICE)
KINDS = (*ROOM, *CHATS)


@dataclass(frozen=True, slots=True)
class StoredFrame:
    """One stored event in the form of the log (``wire.log``), or in a dialect made from that."""

    room_id: str
    seq: int
    name: str
    data: str
    message_id: str
    written: Event | None = field(default=None, compare=False, repr=False)  # just written

    @property
    def event(self) -> Event:
        """The event of a frame in the form of the log."""
        return log.decode(self.name, self.data) if self.written is None else self.written

    @property
    def as_sent(self) -> tuple[str, str] | None:
        """The frame that an earlier version sent for it, if no dialect would write the same."""
        return log.as_sent(self.data) if self.written is None else None


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event without a seq yet; ``message_id`` is empty if it belongs to no message."""

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
    """A conversation as stored. Its ``kind`` (room, chat, voice) only decides what comes next in it.

    A room goes round by round; in a chat each answer is a round of its own, with one agent.
    """

    id: str
    name: str
    task: str = ""
    execution_mode: str = "sequential"
    max_rounds: int = 0  # 0: no end
    status: str = "idle"  # the state: idle | running | paused | completed | error
    desired: str = "idle"  # the wanted state, stored before it is reached: idle | running | paused | deleted
    interrupted: str = ""  # why it is paused or about to be
    keep_running: bool = False
    round_open: int = 0  # the newest round that began; unlike ``round_done`` during a round
    round_done: int = 0  # the newest round that ended
    run_seq: int = 0  # seq of the newest ``room_started``, 0 if there is none
    last_seq: int = 0
    created_at: str = ""
    updated_at: str = ""
    round_mode: str = ""  # the mode of the newest round, whatever ``execution_mode`` is now
    max_tokens: int = 0  # the budget; 0: none
    max_cost: float = 0.0
    on_error: str = "continue"
    archived: bool = False
    used_tokens: int = 0
    used_cost: float | None = None  # ``None``: a price is unknown
    last_speaker: str = ""
    last_words: str = ""
    kind: str = "room"
    tools: tuple[str, ...] | None = ()  # names that may be used; ``None``: those that need no permission
    workspace: str = ""  # the folder of these tools, empty for none
    answer_tokens: int = 0  # the most tokens of one answer; 0: the provider's limit
    on_resume: str = "continue"  # what happens to an interrupted turn: continue | again
    temperature: float | None = None  # ``None``: the model's own
    thinking: bool | None = None
    head: str = ""  # the last message of the shown branch; empty if there are no branches
    on_full: str = "summarise"  # of a chat: messages that its model has no room for: summarise | leave_out
    guide: str = "tell"  # whether models get the AGENTS.md of the folder: tell | ignore
    view: str = "auto"  # how screens show a room at first: auto | timeline | panes
    is_named: bool = False  # a person chose its name; else it is the beginning of the first message
    synthesis: bool = False  # the last round ends with one agent's synthesis
    # Stored in other tables:
    agents: tuple[AgentInfo, ...] = ()  # the active ones, in turn order
    queue: tuple[QueuedMessage, ...] = ()  # messages of people that no turn has taken yet
    cut: str = ""  # why the answer at the head was interrupted or failed
    error: str = ""
    damaged: str = ""  # the unreadable field, if it can only be deleted

    @property
    def parallel(self) -> bool:
        """Whether the newest round is parallel (the next one follows ``execution_mode``)."""
        return (self.round_mode or self.execution_mode) == "parallel"

    @property
    def agent(self) -> AgentInfo:
        """The one agent of a chat."""
        return self.agents[0] if self.agents else AgentInfo("", "")


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One attempt at a turn as stored; ``agent_id`` is its agent.

    Its ``text`` (of all its text steps) is stored when it is closed; until then only the log has it.
    """

    round: int
    agent_id: str
    attempt: int  # the number of the agent's attempt in that round, or of the answer to that ``parent``
    message_id: str
    status: str = "streaming"  # … | completed | interrupted | failed | skipped | superseded
    reason: str = ""  # why it was interrupted
    text: str = ""
    error: str = ""
    first_seq: int = 0  # the place of its first event in the log, and so the message's place in the order
    created_at: str = ""
    sender_name: str = ""  # the agent's at that time
    sender_color: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    first_token_seconds: float | None = None
    cost: float | None = None
    trimmed: int = 0
    supersedes: str = ""  # the attempt that it repeats
    again: bool = False  # a retry was requested
    parent: str = ""  # the message that it answers, if messages form a tree
    model: str = ""
    seconds: float | None = None  # how long it took
    client_key: str = ""  # the asker's key for the question, empty for none
    continues: str = ""  # the attempt whose text precedes its own; empty for none
    to_continue: bool = False  # its rest was requested
    spoken: str = ""  # how it was spoken, as JSON; empty if it was not
    notes: str = ""  # notes about how its model was asked, a JSON list; empty for none
    context: int = 0  # tokens in its model's context at its end; 0: unknown
    context_limit: int = 0  # the most that fit there; 0: unknown

    @property
    def usage(self) -> Usage | None:
        """Its usage; ``None`` if its model does not report it."""
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
    """A person's message, as a row and as a change: its ``first_seq`` is that of the write's event number
    ``event``.
    """

    id: str
    round: int
    text: str
    sender_name: str
    sender_color: str
    created_at: str
    to_agent: str = ""  # the only agent that gets it, empty for all
    parent: str = ""  # the answer that it follows, if messages form a tree
    attachments: str = ""  # JSON
    spoken: str = ""  # JSON
    event: int = 0


@dataclass(frozen=True, slots=True)
class StoredRule:
    """Calls that run without asking: those of ``pattern`` in ``folder`` ("" for calls that work in none)."""

    id: str
    tool: str
    pattern: str
    created_at: str
    conversation_id: str = ""  # empty: in every conversation
    folder: str = ""


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A message's place in the tree of its conversation; ``role`` is user or assistant."""

    id: str
    parent: str
    role: str
    first_seq: int


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message, or a title (without ``message_id``), that matches a search; the words that match are between
    U+0002 and U+0003 in ``snippet``.
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
    """A new conversation and its agents."""

    row: ConversationRow


@dataclass(frozen=True, slots=True)
class ConversationSet:
    """New values of the row; with ``while_running`` only if its status is still running."""

    values: Mapping[str, Value | tuple[str, ...]]
    while_running: bool = False


@dataclass(frozen=True, slots=True)
class RunOpened:
    """The run begins; the write's first event is its ``room_started``."""


@dataclass(frozen=True, slots=True)
class ConversationUsed:
    """More usage of the conversation and of this agent; ``cost`` ``None``: a price is unknown."""

    tokens: int
    cost: float | None = None
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentsSet:
    """The agents from now on, in this order; missing ones take no more turns."""

    agents: tuple[AgentInfo, ...]


@dataclass(frozen=True, slots=True)
class AgentSkips:
    """Whether the agent's next turn is to be skipped."""

    agent_id: str
    skip_next: bool


@dataclass(frozen=True, slots=True)
class TurnOpened:
    """A new attempt; its ``first_seq`` is the seq of the write's event number ``event``.

    The attempt that it ``supersedes`` becomes superseded, and so do those which that one continues. Requests
    to repeat or continue that agent's turn in that round end. Refused by the database if the attempt that it
    ``continues`` has a current or completed continuation.
    """

    turn: TurnRow
    event: int = 0


@dataclass(frozen=True, slots=True)
class TurnClosed:
    """The attempt is over, and is ``turn`` now. Refused by the database if it was completed before."""

    turn: TurnRow


@dataclass(frozen=True, slots=True)
class TurnAgain:
    """A request to repeat the turn when it is over; with ``rest``, only to continue it."""

    message_id: str
    rest: bool = False


@dataclass(frozen=True, slots=True)
class TurnNotePut:
    """A note about how the attempt's model was asked; no change if it has that note."""

    message_id: str
    note: Note


@dataclass(frozen=True, slots=True)
class SpokenSet:
    """How a message was spoken; refused for one that is not stored."""

    message_id: str
    spoken: str


@dataclass(frozen=True, slots=True)
class AgentSessionPut:
    """What an agent on another server knows about us."""

    agent_id: str
    session: AgentSession


@dataclass(frozen=True, slots=True)
class InboxPut:
    """A person's message waits for the next turn; ``client_key`` is the sender's key for it."""

    id: str
    content: str
    to_agent: str
    when_: str
    sender_name: str
    client_key: str
    created_at: str


@dataclass(frozen=True, slots=True)
class InboxSet:
    """New values for messages that still wait; refused if one does not.

    A write that sets the state "taken" also has their ``UserSaid``.
    """

    ids: tuple[str, ...]
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StepPut:
    """A step of the answer, which replaces its earlier state."""

    message_id: str
    step: Step
    started_at: str = ""


@dataclass(frozen=True, slots=True)
class StepStatus:
    """The state of a call, and what it asks if it asks; refused for one that is not stored."""

    message_id: str
    place: int
    status: str
    seconds: float | None = None
    success: bool = True
    ask: ToolAsk | None = None


@dataclass(frozen=True, slots=True)
class FileChanged(FileChange):
    """What the call at ``place`` among the steps of its message did to a file in ``folder``."""

    message_id: str
    place: int
    folder: str
    created_at: str


@dataclass(frozen=True, slots=True)
class RulePut:
    """Such calls run without asking from now on; no change if the rule exists."""

    rule: StoredRule


@dataclass(frozen=True, slots=True)
class RuleDropped:
    """The rule is removed."""

    id: str


@dataclass(frozen=True, slots=True)
class Searchable:
    """The message is searchable from now on."""

    message_id: str
    role: str
    text: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Unsearchable:
    """At most this many messages of the conversation are no longer searchable."""

    most: int


@dataclass(frozen=True, slots=True)
class EventsDropped:
    """The events up to this seq are removed; only for a conversation that is being deleted."""

    up_to: int


@dataclass(frozen=True, slots=True)
class ConversationDropped:
    """The conversation and everything except its events, which are gone before."""


RuleChange = RulePut | RuleDropped
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
    | StepStatus
    | FileChanged
    | RuleChange
    | Searchable
    | Unsearchable
    | EventsDropped
)


@dataclass(frozen=True, slots=True)
class Write:
    """What is committed as a whole: the events get the conversation's next seqs, in order."""

    room_id: str
    events: tuple[NewEvent, ...] = ()
    changes: tuple[Change, ...] = field(default=())
