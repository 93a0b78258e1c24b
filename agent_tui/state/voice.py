"""A voice session as the screen knows it: ``VoiceState.apply`` takes every event, in any order.

It has two parts: the phase of the session, from a table of transitions, and the transcript in
``voice_lines``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from agent_tui.model import voice as vo
from agent_tui.model.events import Unknown
from agent_tui.state.voice_lines import VoiceLine, VoiceLines

MAX_KEPT_UNKNOWN: Final = 200

Phase = Literal[
    "idle",
    "preparing",
    "connecting",
    "waiting_agent",
    "initializing",
    "listening",
    "user_speaking",
    "thinking",
    "speaking",
    "ended",
    "failed",
]
Overlay = Literal[
    "muted", "talking", "reconnecting", "away", "no_audio", "text_only", "not_linked", "agent_left"
]
WITH_AGENT: Final = ("initializing", "listening", "user_speaking", "thinking", "speaking")


def _moves() -> Mapping[tuple[Phase, str], Phase]:
    """Return the table: from a phase, by a signal, to the next phase."""
    moves: dict[tuple[Phase, str], Phase] = {}

    def add(phases: str, signals: Mapping[str, Phase | None]) -> None:
        """Add transitions; ``None``: the phase stays."""
        for name in phases.split():
            phase: Phase = name  # type: ignore[assignment]
            for signal, next_phase in signals.items():
                moves[phase, signal] = next_phase or phase

    begin: Mapping[str, Phase | None] = {"link preparing": "preparing", "link connecting": "connecting"}
    end: Mapping[str, Phase | None] = {"link ended": "ended", "link failed": "failed"}
    words: Mapping[str, Phase | None] = {
        "agent initializing": "initializing",
        "agent idle": "listening",
        "agent listening": "listening",
        "agent thinking": "thinking",
        "agent speaking": "speaking",
    }
    stays: Mapping[str, Phase | None] = {
        "link connected": None,
        "link reconnecting": None,
        "user speaking": None,
        "user listening": None,
        "user away": None,
    }
    add("idle", {**begin, **end})
    add("preparing", {**begin, **end, "link connected": "waiting_agent"})
    add(
        "connecting",
        {**begin, **end, **words, "agent joined": "initializing", "link connected": "waiting_agent"},
    )
    add("connecting", {"link reconnecting": None})
    add(
        "waiting_agent",
        {**begin, **end, **stays, **words, "agent joined": "initializing", "agent left": None},
    )
    add(
        "initializing listening user_speaking thinking speaking",
        {**begin, **end, **stays, **words, "agent joined": None, "agent left": "waiting_agent"},
    )
    add("listening", {"user speaking": "user_speaking"})
    add("user_speaking", {"user listening": "listening", "user away": "listening"})
    add("ended", {**begin, "link ended": None})
    add("failed", {**begin, "link failed": None, "link ended": None})
    return MappingProxyType(moves)


MOVES: Final = _moves()


@dataclass(slots=True)
class VoiceState:
    """Everything that a voice screen draws. ``lines`` is the transcript.

    ``joined_at``: when this session began, in seconds of the Unix clock, 0 if it does not matter.
    Signals that make no sense in their phase are ignored.
    """

    phase: Phase = "idle"
    joined_at: float = 0.0
    lines: VoiceLines = field(default_factory=VoiceLines)
    link: vo.LinkMoved = field(default_factory=lambda: vo.LinkMoved("preparing"))
    agent: vo.AgentJoined | None = None
    agent_left: str = ""  # the identity of an agent that left
    people: tuple[vo.Person, ...] = ()
    heard_left: vo.Person | None = None  # the person to whom the agent listened, if it listens to nobody now
    mic: vo.MicChanged = field(default_factory=lambda: vo.MicChanged(is_muted=False))
    sound: vo.SoundChanged = field(default_factory=vo.SoundChanged)
    measured: vo.LinkMeasured = field(default_factory=vo.LinkMeasured)
    is_reconnecting: bool = False
    unknown_count: int = 0
    unknown: deque[Unknown] = field(default_factory=lambda: deque(maxlen=MAX_KEPT_UNKNOWN))
    _agent_word: vo.AgentWord | None = None
    _user_word: vo.UserWord = "listening"
    _has_people: bool = False
    _names: dict[str, str] = field(default_factory=dict)  # of all who were ever in the room

    # --- what screens ask ------------------------------------------------------------------------------

    @property
    def has_agent(self) -> bool:
        """Whether an agent is there and the session is not over."""
        return self.phase in WITH_AGENT

    @property
    def is_over(self) -> bool:
        """Whether the session has ended, well or badly."""
        return self.phase in ("ended", "failed")

    @property
    def heard(self) -> vo.Person | None:
        """The person to whom the agent listens, if known."""
        return next((person for person in self.people if person.is_heard), None)

    @property
    def overlays(self) -> frozenset[Overlay]:
        """What else is true, in any phase."""
        overlays: set[Overlay] = set()
        if self.sound.is_text_only:
            overlays.add("text_only")
        elif self.sound.input_problem:
            overlays.add("no_audio")
        elif self.mic.is_talking:
            overlays.add("talking")
        elif self.mic.is_muted:
            overlays.add("muted")
        if self.is_reconnecting:
            overlays.add("reconnecting")
        if self._user_word == "away":
            overlays.add("away")
        heard = self.heard
        if self.heard_left is not None or (heard is not None and not heard.is_me):
            overlays.add("not_linked")
        if self.agent_left and self.phase == "waiting_agent":
            overlays.add("agent_left")
        return frozenset(overlays)

    def is_earlier(self, line: VoiceLine) -> bool:
        """Whether a line is older than this session: it came with the agent's history."""
        return line.is_loaded and line.at is not None and line.at < self.joined_at

    # --- the only way in -------------------------------------------------------------------------------

    def apply(self, event: vo.VoiceEvent) -> None:
        """Take one event; its cost does not depend on the history. Never raises, whatever is sent."""
        match event:
            case vo.LinkMoved():
                self._link_moved(event)
            case vo.AgentJoined():
                self._agent_joined(event)
            case vo.AgentLeft():
                self._agent_gone(event)
            case vo.AgentStateChanged(state):
                self._agent_word = state
                self._move(f"agent {state}")
                self._take_user_word()
            case vo.UserStateChanged(state):
                self._user_word = state
                self._move(f"user {state}")
            case vo.PeopleChanged(people):
                self._people_changed(people)
            case vo.LinkMeasured():
                self.measured = event
            case vo.MicChanged():
                self.mic = event
            case vo.SoundChanged():
                self.sound = event
            case Unknown():
                self.unknown_count += 1
                self.unknown.append(event)
            case _:
                self.lines.apply(event)

    # --- where the session stands ----------------------------------------------------------------------

    def _move(self, signal: str) -> bool:
        phase = MOVES.get((self.phase, signal))
        if phase is None:
            return False
        self.phase = phase
        return True

    def _take_user_word(self) -> None:
        """Note that a person is already speaking when the agent listens again."""
        if self.phase == "listening" and self._user_word == "speaking":
            self._move("user speaking")

    def _link_moved(self, event: vo.LinkMoved) -> None:
        if not self._move(f"link {event.status}"):
            return
        was_reconnecting, self.link = self.is_reconnecting, event
        self.is_reconnecting = event.status == "reconnecting"
        match event.status:
            case "preparing" | "connecting":  # anew: those who were there before are not there yet
                self.lines.close()
                self.agent, self._agent_word, self._user_word = None, None, "listening"
                self.people, self.heard_left, self._has_people = (), None, False
            case "connected":
                if was_reconnecting:
                    self.lines.notice("reconnected")
                self._see_agent()
            case "ended" | "failed":
                self.lines.close()
            case "reconnecting":
                pass

    def _see_agent(self) -> None:
        """Take what is known about an agent before the session could have one."""
        if self.phase == "waiting_agent" and self.agent is not None:
            self._move("agent joined")
        if self.phase in ("waiting_agent", "initializing") and self._agent_word is not None:
            self._move(f"agent {self._agent_word}")
            self._take_user_word()

    def _agent_joined(self, event: vo.AgentJoined) -> None:
        left, self.agent_left = self.agent_left, ""
        self.agent = event
        if self.link.status == "connected" and self.link.reason:  # the connection had been given up
            self.link = vo.LinkMoved("connected")
        self._move("agent joined")
        self._see_agent()
        if left:
            self.lines.notice(
                "agent_back" if left == event.identity else "joined", event.name or event.identity
            )

    def _agent_gone(self, event: vo.AgentLeft) -> None:
        if self.agent is None or self.agent.identity != event.identity:
            return  # repeated, or from an agent that was replaced
        self.lines.notice("agent_left", self.agent.name or self.agent.identity)
        self.lines.close()
        self.agent, self._agent_word, self.agent_left = None, None, event.identity
        self.heard_left = None
        self._move("agent left")

    # --- people ----------------------------------------------------------------------------------------

    def _people_changed(self, people: tuple[vo.Person, ...]) -> None:
        heard = self.heard
        if any(person.is_heard for person in people):
            self.heard_left = None
        elif heard is not None and self.agent is not None:
            self.heard_left = heard
        before = {person.identity: person for person in self.people}
        now = {person.identity: person for person in people}
        if self._has_people:
            for person in people:
                if person.identity not in before and not (person.is_me or person.is_agent):
                    self.lines.notice("joined", person.name or person.identity)
            for person in before.values():
                if person.identity not in now and not (person.is_me or person.is_agent):
                    self.lines.notice("left", person.name or person.identity)
        self.people, self._has_people = people, True
        self._names.update((person.identity, person.name) for person in people)

    def name_of(self, identity: str) -> str:
        """Return the name of a person or agent who is or was in the room; the identity if unknown."""
        return self._names.get(identity) or identity
