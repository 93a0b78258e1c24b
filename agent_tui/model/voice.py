"""What can happen in a voice session, as frozen plain data (protocols.md §5).

``agent_tui.clients.voice`` yields these for every transport; ``agent_tui.state.voice`` computes the screen
from them alone. Tool steps and notices that rooms and chats also have are those of
``agent_tui.model.events``. Texts are as received: hostile until they went through ``agent_tui.model.inert``.
Times are seconds of the Unix clock, lengths are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_tui.model.events import StepSet, ToolStatusChanged, Unknown

AgentWord = Literal["initializing", "idle", "listening", "thinking", "speaking"]
UserWord = Literal["speaking", "listening", "away"]
LinkWord = Literal["preparing", "connecting", "connected", "reconnecting", "ended", "failed"]
Transport = Literal["room", "console"]  # a LiveKit room, or one agent over LiveKit's console transport
Quality = Literal["unknown", "poor", "good", "excellent", "lost"]


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """How long the parts of one turn took, in seconds; ``None`` if unknown.

    ``hearing``: from the end of the speech to its text; ``end_of_turn``: until the turn counted as over;
    ``model``: to the model's first token; ``voice``: to the first sound of the voice; ``whole``: from the end
    of the person's speech to the first sound of the answer.
    """

    hearing: float | None = None
    end_of_turn: float | None = None
    model: float | None = None
    voice: float | None = None
    whole: float | None = None


@dataclass(frozen=True, slots=True)
class SpokenItem:
    """One item of the agent's history: what it heard, or what it really said.

    ``interrupted``: the person cut in, and ``text`` ends where the voice did. ``started_at`` and ``ended_at``
    say when it was spoken, if known.
    """

    id: str
    role: str  # user, assistant, system, developer
    text: str
    interrupted: bool = False
    created_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    times: TurnTimes = TurnTimes()


@dataclass(frozen=True, slots=True)
class Person:
    """A person in the room; ``is_me`` is this terminal, ``is_heard``: the agent listens to them."""

    identity: str
    name: str = ""
    is_agent: bool = False
    is_me: bool = False
    is_muted: bool = False
    is_speaking: bool = False
    is_heard: bool = False


@dataclass(frozen=True, slots=True)
class LinkMoved:
    """The state of the connection. ``detail`` is one line for a person, without tokens; ``reason`` says why
    it ended or failed, in the words of ``agent_tui.wire.voice_reasons``; ``attempt`` counts tries.
    """

    status: LinkWord
    detail: str = ""
    reason: str = ""
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class AgentJoined:
    """An agent is there. Its features decide which keys make sense."""

    identity: str
    name: str = ""
    has_session: bool = False  # it answers ``lk.agent.session``; else only transcription and attributes
    has_push_to_talk: bool = False
    takes_files: bool = False
    takes_requests: bool = False  # it can be asked to listen to somebody else in the room


@dataclass(frozen=True, slots=True)
class AgentLeft:
    """The agent is gone; not sent while reconnecting."""

    identity: str


@dataclass(frozen=True, slots=True)
class AgentStateChanged:
    """What the agent is doing now."""

    state: AgentWord


@dataclass(frozen=True, slots=True)
class UserStateChanged:
    """What the agent believes that the person is doing now."""

    state: UserWord


@dataclass(frozen=True, slots=True)
class WordsHeard:
    """What the agent hears a person say: the whole text of the segment so far, in place of the earlier."""

    segment_id: str
    text: str
    is_final: bool = False
    identity: str = ""


@dataclass(frozen=True, slots=True)
class WordsUnclear:
    """The agent takes back what it heard: it could not understand it, and does not answer."""


@dataclass(frozen=True, slots=True)
class WordsTyped:
    """A line that was typed here, shown at once: no transcript has it before the agent's history does.

    ``key`` identifies it within this terminal; ``WordsLost`` with that key says that it could not be sent.
    """

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class WordsSpoken:
    """More of what the agent says (``is_whole``: all of it so far, which replaces the earlier text)."""

    segment_id: str
    text: str
    is_final: bool = False
    is_whole: bool = False
    is_voiced: bool = True  # false: it is only text


@dataclass(frozen=True, slots=True)
class WordsLost:
    """The stream of a segment was lost: what is known of it stays, and is marked."""

    segment_id: str


@dataclass(frozen=True, slots=True)
class ItemStored:
    """The agent's history now has this item, whose text is final."""

    item: SpokenItem


@dataclass(frozen=True, slots=True)
class HistoryLoaded:
    """All items of the agent's history, after joining or coming back; replaces the known ones."""

    items: tuple[SpokenItem, ...]


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Another agent took over the conversation."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class FalseInterruption:
    """The agent stopped because of a sound that was not speech; ``resumed``: it continued."""

    resumed: bool


@dataclass(frozen=True, slots=True)
class PeopleChanged:
    """Everyone in the room, in the order in which they came."""

    people: tuple[Person, ...]


@dataclass(frozen=True, slots=True)
class LinkMeasured:
    """The quality of the connection; ``round_trip`` in seconds if known."""

    quality: Quality = "unknown"
    round_trip: float | None = None


@dataclass(frozen=True, slots=True)
class MicChanged:
    """Whether this terminal's microphone is sent: ``is_muted``, or ``is_talking`` (push to talk)."""

    is_muted: bool
    is_talking: bool = False


@dataclass(frozen=True, slots=True)
class SoundChanged:
    """Microphone and speaker of this terminal: why each is missing, if neither is meant to be, names."""

    input_problem: str = ""
    output_problem: str = ""
    is_text_only: bool = False
    input_name: str = ""
    output_name: str = ""


@dataclass(frozen=True, slots=True)
class SessionFailed:
    """The agent says that something failed; the session may continue."""

    message: str


VoiceEvent = (
    LinkMoved
    | AgentJoined
    | AgentLeft
    | AgentStateChanged
    | UserStateChanged
    | WordsHeard
    | WordsUnclear
    | WordsTyped
    | WordsSpoken
    | WordsLost
    | ItemStored
    | HistoryLoaded
    | HandedOver
    | FalseInterruption
    | PeopleChanged
    | LinkMeasured
    | MicChanged
    | SoundChanged
    | SessionFailed
    | StepSet
    | ToolStatusChanged
    | Unknown
)
