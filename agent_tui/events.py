"""The one vocabulary: what can happen in a conversation, as frozen plain data.

Every protocol is decoded into these (``agent_tui.wire``) and every screen is computed from them
(``agent_tui.state``). A *turn* is one agent's contribution and has the id of its message; a *run* is
what lies between starting a room and its pause or end. Texts are as received: hostile until they went
through ``agent_tui.inert``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LinkStatus = Literal["connecting", "live", "waiting", "ended", "lost", "refused"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a turn has used, in the provider's own tokens; ``first_token_seconds`` is the time to the first
    piece of its answer, ``cost`` in US dollars, None where no price is known.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    first_token_seconds: float | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A stored chat message. ``content`` is the wire's JSON text, ``text`` what a person reads."""

    id: str
    room_id: str
    role: str
    content: str
    text: str
    sender_name: str
    sender_color: str
    round_number: int
    token_count: int
    created_at: str
    agent_id: str = ""
    # Why it was cut: pause crash stop skip interject handover budget unwatched (protocols.md §1, fault 8),
    # or whatever another server sends; empty for a whole one. The same wherever ``interrupted`` stands.
    interrupted: str = ""
    status: str = ""  # "streaming" while the turn is under way (answers of GET messages only)
    error: str = ""  # why the turn failed, when it did after words were said
    to: str = ""  # id of the one agent that a whisper was for; empty: for all
    superseded: bool = False  # the turn was said again: this is what it was before
    trimmed: int = 0  # how many older messages its model was not told, for lack of room
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """One agent of a room as the server describes it. ``status`` is what it does now, in the words of
    ``state.turn.AgentWord``; ``tokens`` what its turns have used.
    """

    id: str
    name: str
    color: str = ""
    model: str = ""
    turn_order: int = 0
    system_prompt: str = ""
    provider_id: str = ""
    skip_next: bool = False  # its next turn will be skipped
    status: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A person's words that wait for the next turn; ``to`` is the agent a whisper is for."""

    id: str
    content: str
    to: str = ""
    when: str = "next"  # "now" only while a room that stands still keeps them
    sender_name: str = ""
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class RoomInfo:
    """A room as ``GET /api/rooms/{id}`` answers it (cli.md)."""

    id: str
    name: str = ""
    task: str = ""
    status: str = "idle"
    execution_mode: str = "sequential"
    current_round: int = 0
    max_rounds: int = 0
    agents: tuple[AgentInfo, ...] = ()
    last_event_id: int = 0
    created_at: str = ""
    updated_at: str = ""
    keep_running: bool = False
    interrupted: str = ""  # why it is paused, when it is
    max_tokens: int = 0  # the budget; 0: none
    max_cost: float = 0.0  # the same in the currency of the prices (US dollars); 0: none
    tokens: int = 0  # used so far by all turns, in the providers' own count where they say it
    cost: float | None = None  # of what was used; None where no price is known
    on_error: str = "continue"  # or "pause": what a turn that failed does to the room
    archived: bool = False
    last_speaker: str = ""
    last_words: str = ""  # the end of what was said last, one short line
    queue: tuple[QueuedMessage, ...] = ()


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
    """``agent_status``; ``status`` is pending, streaming, completed or whatever the server made up."""

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


@dataclass(frozen=True, slots=True)
class TextAdded:
    """``message_chunk``; ``accumulated`` (the whole text so far) only repairs a gap and is never stored."""

    turn_id: str
    text: str
    accumulated: str | None = None
    agent_id: str = ""
    progress: int | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """``message_end`` with the whole text; ``interrupted`` says why a cut turn was cut."""

    turn_id: str
    text: str
    token_count: int
    agent_id: str = ""
    interrupted: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """``agent_error``; names no message: the open turn of that agent is the one that failed."""

    error: str
    agent_id: str = ""
    agent_name: str = ""


@dataclass(frozen=True, slots=True)
class MessageStored:
    """``message``: what the server now has on record."""

    message: Message


# --- what is not said by an agent --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RoomLoaded:
    """The room and all its messages as the server has them now; replaces what was known."""

    room: RoomInfo
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class RoomChanged:
    """The room as the server describes it now, its turns left as they are (made by our clients, from the
    answer to a change; never on the wire).
    """

    room: RoomInfo


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """What is going on between this client and the server (made by our clients, never on the wire).

    ``delay`` is in seconds: how long until the next try, for ``waiting``. ``attempt`` counts tries
    since the last good byte. ``detail`` is one line for a person.
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
    | TextAdded
    | TurnEnded
    | TurnFailed
    | MessageStored
    | RoomLoaded
    | RoomChanged
    | LinkChanged
    | Unknown
)
