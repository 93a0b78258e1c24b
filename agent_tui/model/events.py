"""The one vocabulary: what can happen in a conversation, as frozen plain data.

Every protocol is decoded into these (``agent_tui.wire``) and every screen is computed from them
(``agent_tui.state``). A *turn* is one agent's contribution and has the id of its message; a *run* is
what lies between starting a room and its pause or end. Texts are as received: hostile until they went
through ``agent_tui.model.inert``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_tui.model.records import (
    AgentInfo as AgentInfo,
    Attachment as Attachment,
    ChangedFile as ChangedFile,
    ConversationInfo as ConversationInfo,
    Message as Message,
    Note as Note,
    QueuedMessage as QueuedMessage,
    RoomInfo as RoomInfo,
    SpeechRecord as SpeechRecord,
    Step as Step,
    ToolAsk as ToolAsk,
    Usage as Usage,
)

LinkStatus = Literal["connecting", "live", "waiting", "ended", "lost", "refused"]

# Notes that are stored with a turn ("trimmed" is, too, in ``Message.trimmed``).
WAITS = "waits"  # the status of a call while calls before it are under way
UNDONE = "undone"  # the status of a call whose file change was undone by a person
GUIDE_NOTES = frozenset({"guide", "guide_cut", "guide_unread"})
SHORTENED = "shortened"  # the note about results that its model got shortened
COUNTED_NOTES = GUIDE_NOTES | {"summary", SHORTENED}  # those that keep their number
LASTING_NOTES = COUNTED_NOTES | {"no_tools", "no_images", "server_missing", "form_declined", "synthesis"}
LOCAL_ID = "local-"  # the beginning of ids that our clients make for messages without one


# --- a run -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunStarted:
    """``room_started``."""

    room_id: str
    task: str
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class RunPaused:
    """``room_paused``; ``interrupted`` says why, where the server does."""

    room_id: str
    round: int | None = None
    interrupted: str = ""


@dataclass(frozen=True, slots=True)
class RunCompleted:
    """``room_completed``."""

    room_id: str
    total_rounds: int


@dataclass(frozen=True, slots=True)
class RunFailed:
    """``error``: the run as a whole failed."""

    content: str


# --- rounds ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """``round_start``."""

    round: int
    max_rounds: int


@dataclass(frozen=True, slots=True)
class ParallelStarted:
    """``parallel_start``: all ``agents`` (id, name) of the round speak at once."""

    round: int
    max_rounds: int
    agents: tuple[AgentInfo, ...]


@dataclass(frozen=True, slots=True)
class ParallelEnded:
    """``parallel_end``."""

    round: int
    agent_count: int


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """``round_end``."""

    round: int


# --- a turn ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentStatusChanged:
    """``agent_status``; ``status`` is pending, streaming, completed, skipped (ours, a field beside
    ``completed``) or whatever the server made up.
    """

    agent_id: str
    agent_name: str
    status: str


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """``message_start``; ``agent_id`` is empty where the server does not send it (sequential rooms)."""

    turn_id: str
    room_id: str
    role: str
    sender_name: str
    sender_color: str
    round_number: int
    agent_id: str = ""
    attempt: int = 1
    supersedes: str = ""  # id of the turn that is said again by this one
    trimmed: int = 0  # see ``Message``
    parent_id: str = ""  # chat: the message it answers (its ``sender_name`` is the model's name)
    continues: str = ""  # see ``Message``


@dataclass(frozen=True, slots=True)
class TurnNoted:
    """What happens to a turn besides words. Ours: ``agent_status`` with a ``note``, in chats ``answer_note``.

    ``note`` is one of these; ``about``, ``count`` and the others are set where they are named:

    - "loading": the server of its model loads it.
    - "no_tools", "no_images": its model takes none, and was asked without.
    - "trimmed", "shortened": its model lacks the ``count`` oldest messages, or got ``count`` results cut.
    - "rate_limit": its provider is asked again at ``until`` (ISO 8601 with offset), in ``seconds``.
    - "servers_wait": the MCP servers ``about`` are waited for; empty: none any more.
    - "server_missing": the model does not get the tools of a server; ``about``: its name and what is wrong.
    - "form_declined": a server's form was declined without a person; ``about``: whose and why.
    - "guide", "guide_cut": it got ``count`` bytes of the file ``about`` of its folder, or of its beginning.
    - "guide_unread": it did not get that file; ``about``: why.
    - "summarising": ``count`` older messages are summarised first.
    - "summary": its step ``about``, a thought, replaces ``count`` messages from then on.
    - "synthesis": it is the turn that sums up its room.
    """

    turn_id: str
    note: str
    count: int = 0
    agent_id: str = ""
    agent_name: str = ""
    until: str = ""
    seconds: float = 0.0
    about: str = ""

    @property
    def lasting(self) -> Note | None:
        """The note as it is stored with the turn; ``None`` if it is only for the moment."""
        if self.note not in LASTING_NOTES:
            return None
        return Note(self.note, self.about, self.count if self.note in COUNTED_NOTES else 0)


@dataclass(frozen=True, slots=True)
class TextAdded:
    """``message_chunk``; ``accumulated`` (the whole text so far) only repairs a gap and is never stored."""

    turn_id: str
    text: str
    accumulated: str | None = None
    agent_id: str = ""
    percent: int | None = None  # the turn's ``progress``
    step_id: str = ""  # of the text step that it adds to, where a turn has several


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """``message_end`` with the whole text; ``interrupted`` says why a turn was interrupted.

    Also ``answer_ended`` of a chat, which has no text but may have ``error`` and ``seconds``.
    """

    turn_id: str
    text: str
    token_count: int
    agent_id: str = ""
    interrupted: str = ""
    usage: Usage | None = None
    error: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """``agent_error``; names no message: it is about the open turn of that agent."""

    error: str
    agent_id: str = ""
    agent_name: str = ""


@dataclass(frozen=True, slots=True)
class MessageStored:
    """``message``: what the server now has on record."""

    message: Message


@dataclass(frozen=True, slots=True)
class MessageSpoken:
    """``message_spoken`` (ours): how a stored message was spoken."""

    message_id: str
    spoken: SpeechRecord


# --- steps of a turn -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StepSet:
    """``process_step``: a new step, or the new state of a known one. ``agent_id`` and ``percent`` are set
    only in parallel rounds, as in ``TextAdded``.
    """

    turn_id: str
    step: Step
    agent_id: str = ""
    percent: int | None = None


@dataclass(frozen=True, slots=True)
class StepAdded:
    """``process_step_delta``: more of a step's content or arguments."""

    turn_id: str
    step_id: str
    content: str = ""
    arguments: str = ""
    agent_id: str = ""
    percent: int | None = None


@dataclass(frozen=True, slots=True)
class ToolStatusChanged:
    """The state of a call: waits (for calls before it), asks (``ask`` says what), running, done, failed,
    denied, unknown (the program ended while it ran), cut, undone (a person undid its changes); ``seconds``
    once it is over.

    ``progress`` is one line about how far a running call is, or the last lines of what it writes.
    """

    turn_id: str
    step_id: str
    status: str
    seconds: float | None = None
    ask: ToolAsk | None = None
    progress: str = ""
    agent_id: str = ""
    percent: int | None = None


@dataclass(frozen=True, slots=True)
class TurnDone:
    """``done`` of a chat: the answer is whole. ``message_id`` is empty where the server's means nothing."""

    turn_id: str
    message_id: str
    token_count: int = 0
    usage: Usage | None = None


# --- what is not said by an agent --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConversationLoaded:
    """The conversation and the messages of its branch as the server has them; replaces what was known."""

    conversation: ConversationInfo
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class ConversationChanged:
    """The conversation as the server describes it now; its messages are left as they are."""

    conversation: ConversationInfo


@dataclass(frozen=True, slots=True)
class RoomLoaded:
    """The room and all its messages as the server has them now; replaces what was known."""

    room: RoomInfo
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class RoomChanged:
    """The room as the server describes it now; its turns do not change (made by our clients, from the answer
    to a change; never on the wire).
    """

    room: RoomInfo


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """A message to the room was queued, changed or discarded, or (not in the log) the room's settings were
    changed: who shows the room reads it again. It has no words, so that what was discarded is in no log.
    """

    room_id: str


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """The state of the connection to the server (made by our clients, never on the wire).

    ``delay`` is the seconds until the next try, for ``waiting``. ``attempt`` counts tries since the last good
    byte. ``detail`` is one line for a person.
    """

    status: LinkStatus
    detail: str = ""
    delay: float = 0.0
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Unknown:
    """A frame that is not in the protocol or does not fit it: kept and counted, never dropped silently."""

    name: str
    data: str
    reason: str = ""


Event = (
    RunStarted
    | RunPaused
    | RunCompleted
    | RunFailed
    | RoundStarted
    | ParallelStarted
    | ParallelEnded
    | RoundEnded
    | AgentStatusChanged
    | TurnStarted
    | TurnNoted
    | TextAdded
    | TurnEnded
    | TurnFailed
    | MessageStored
    | MessageSpoken
    | StepSet
    | StepAdded
    | ToolStatusChanged
    | TurnDone
    | ConversationLoaded
    | ConversationChanged
    | RoomLoaded
    | RoomChanged
    | QueueChanged
    | LinkChanged
    | Unknown
)
