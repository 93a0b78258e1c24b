"""The agents of a conversation, as the screen knows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from agent_tui.model.events import AgentInfo, RoomInfo, TurnFailed
from agent_tui.model.records import MAX_AGENTS
from agent_tui.state.turn import Turn

STRANGER = "?"  # the agent of turns whose speaker the server never named
MAX_OTHERS = 10_000  # ids that are counted
OTHERS = "…"  # stands for all agents after the first ``MAX_AGENTS``: several of its turns may be open

AgentWord = Literal["waiting", "thinking", "speaking", "said", "cut", "failed", "skipped"]


@dataclass(slots=True, eq=False)
class Agent:
    """One agent with its turns in order; ``word`` says what it is doing, according to what was received."""

    id: str
    name: str
    color: str = ""
    model: str = ""
    provider_id: str = ""
    turn_order: int = 0
    word: AgentWord = "waiting"
    system_prompt: str = ""
    skip_next: bool = False  # its next turn will be skipped
    skipped_round: int = 0  # the newest round in which it was skipped
    is_gone: bool = False  # it was removed from the room; what it said stays
    turns: list[Turn] = field(default_factory=list)

    @property
    def open_turn(self) -> Turn | None:
        """The current turn, if there is one."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and last.status == "speaking" else None

    @property
    def open_turns(self) -> list[Turn]:
        """All its current turns: one, or those of ``OTHERS``."""
        turns = self.turns if self.id == OTHERS else self.turns[-1:]
        return [turn for turn in turns if turn.status == "speaking"]

    def failing_turn(self, event: TurnFailed) -> Turn | None:
        """Return its current turn that failed; of those of ``OTHERS`` one with that id, or the only one with
        that name.
        """
        if self.id != OTHERS:
            return self.open_turn
        turns = self.open_turns
        if event.agent_id:
            return next((turn for turn in turns if turn.received_agent_id == event.agent_id), None)
        candidates = [turn for turn in turns if event.agent_name in ("", turn.sender_name)]
        return candidates[0] if len(candidates) == 1 else None

    @property
    def tokens(self) -> int:
        """The tokens of all its turns, estimated if they are unknown."""
        return sum(turn.estimated_tokens for turn in self.turns)

    def has_said(self, round_number: int) -> bool:
        """Whether its turn of that round is over and needs no second attempt."""
        if self.skipped_round and self.skipped_round == round_number:
            return True
        return any(turn.round_number == round_number and turn.is_finished for turn in self.turns)

    def skip(self, round_number: int) -> None:
        """Mark that it does not speak in this round."""
        self.skipped_round, self.skip_next = round_number, False
        if self.open_turn is None:
            self.word = "skipped"

    def is_due(self, room: RoomInfo) -> bool:
        """Whether it still has to speak in the current round."""
        if not self.has_said(room.current_round):
            return True
        last = self.turns[-1] if self.turns else None
        has_failed = last is not None and last.status == "failed" and last.round_number == room.current_round
        return has_failed and room.interrupted == "error"  # it will be tried again


class Agents:
    """The agents ``by_id``; a room has ``MAX_AGENTS`` here, and ``others`` has the ids of the rest, at most
    ``MAX_OTHERS``.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, Agent] = {}
        self.others: set[str] = set()

    @property
    def ordered(self) -> list[Agent]:
        """The agents in their speaking order, then those that were removed."""
        return sorted(self.by_id.values(), key=lambda agent: (agent.is_gone, agent.turn_order))

    @property
    def speaking(self) -> list[Agent]:
        """The agents that are speaking."""
        return [agent for agent in self.ordered if agent.open_turn is not None]

    def due(self, room: RoomInfo) -> list[Agent]:
        """Return who continues when the room is resumed: one agent, or all unfinished ones of a parallel
        round.
        """
        agents = [agent for agent in self.ordered if not agent.is_gone]
        waiting = [agent for agent in agents if not room.current_round or agent.is_due(room)]
        ready = [agent for agent in waiting if not agent.skip_next]
        if not ready:  # the next round: agents skipped in this one are not skipped there
            skipped = {agent.id for agent in waiting}
            ready = [agent for agent in agents if not agent.skip_next or agent.id in skipped]
        return ready if room.execution_mode == "parallel" else ready[:1]

    def of(self, agent_id: str, name: str = "") -> Agent:
        """Return the agent with that id, or a new one, or ``OTHERS`` if there are too many."""
        agent = self.by_id.get(agent_id)
        if agent is None:
            is_full = len(self.by_id.keys() - {OTHERS, STRANGER}) >= MAX_AGENTS
            if is_full and agent_id != STRANGER:
                self._count((agent_id,))
                return self.by_id.setdefault(OTHERS, Agent(OTHERS, "", is_gone=True))
            agent = self.by_id[agent_id] = Agent(agent_id, name, turn_order=len(self.by_id))
        agent.name = agent.name or name
        return agent

    def _count(self, ids: Iterable[str]) -> None:
        self.others.update(islice(ids, MAX_OTHERS - len(self.others)))

    def name_of(self, agent_id: str) -> str:
        """Return the agent's name, or its id if it is unknown."""
        agent = self.by_id.get(agent_id)
        return agent.name or agent_id if agent is not None else agent_id

    def speaker(self, agent_id: str, name: str, round_number: int) -> Agent:
        """Return who is speaking in a room. Sequential rooms send no id: then it is the first agent of that
        name that has not spoken in the round yet, so that two agents with one name are kept apart.
        """
        if agent_id:
            return self.of(agent_id, name)
        namesakes = [agent for agent in self.ordered if agent.name == name]
        for agent in namesakes:
            if not agent.has_said(round_number):
                return agent
        return namesakes[0] if namesakes else self.of(name or STRANGER, name)

    def failing(self, event: TurnFailed, round_number: int) -> Agent:
        """Return the agent whose turn failed; the event names no message, and not always the agent."""
        speaking = self.speaking
        if event.agent_id in self.by_id:
            return self.by_id[event.agent_id]
        if event.agent_id in self.others:
            return self.of(event.agent_id)
        namesakes = [agent for agent in speaking if agent.name == event.agent_name]
        if namesakes:
            return namesakes[0]
        if not event.agent_name and len(speaking) == 1:
            return speaking[0]
        return self.speaker(event.agent_id, event.agent_name, round_number)

    def take(self, infos: tuple[AgentInfo, ...]) -> None:
        """Take the current agents of a room; a removed agent stays if it said anything."""
        self._count(info.id for info in infos[MAX_AGENTS:])
        infos = infos[:MAX_AGENTS]
        for place, info in enumerate(infos):
            agent = self.by_id.setdefault(info.id, Agent(info.id, ""))
            agent.name, agent.color = info.name or agent.name, info.color or agent.color
            agent.model, agent.provider_id = info.model, info.provider_id
            agent.system_prompt, agent.skip_next = info.system_prompt, info.skip_next
            agent.turn_order, agent.is_gone = place, False
        ids = {info.id for info in infos}
        self.others -= ids
        for agent in [agent for agent in self.by_id.values() if agent.id not in ids]:
            if not agent.turns:
                del self.by_id[agent.id]
            agent.is_gone = True
