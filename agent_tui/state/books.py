"""Who said what: the turns and agents of a room, and how each event about a turn changes them.

Tolerant of every fault that protocols.md §1 lists: doubled starts, chunks for unknown turns or after the
end, ``agent_error`` that names no message, events nobody knows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from agent_tui.model import events as ev
from agent_tui.state.notes import take_stored
from agent_tui.state.turn import Agent, StepEvent, Turn, TurnStatus

MAX_KEPT_UNKNOWN = 200
STRANGER = "?"  # the agent of words whose speaker the server never named


@dataclass(slots=True)
class Books:
    """All agents and turns by id. ``changed`` holds the ids of agents whose pane must be looked at again.
    ``generation`` counts how often turns were taken away or loaded anew: panes then start over.
    ``counts_prompts``: what was spent counts prompts, too, as the providers do.

    A message that continues another is part of that one's turn.
    """

    round: int = 0
    agents: dict[str, Agent] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    queue: tuple[ev.QueuedMessage, ...] = ()
    unknown_count: int = 0
    unknown: deque[ev.Unknown] = field(default_factory=lambda: deque(maxlen=MAX_KEPT_UNKNOWN))
    changed: set[str] = field(default_factory=set)
    generation: int = 0
    counts_prompts: bool = False
    _heads: dict[str, str] = field(default_factory=dict)  # id of a message that continues a turn → the turn's
    _spent_tokens: int = 0
    _spent_cost: float | None = None

    @property
    def ordered_agents(self) -> list[Agent]:
        """The agents in the order they speak, then those who were taken out."""
        return sorted(self.agents.values(), key=lambda agent: (agent.is_gone, agent.turn_order))

    @property
    def speaking(self) -> list[Agent]:
        """The agents with a turn under way."""
        return [agent for agent in self.ordered_agents if agent.open_turn is not None]

    @property
    def asking(self) -> list[tuple[str, str]]:
        """The calls that ask a person, as (turn id, step id), in the order of their agents. Costs the
        number of steps of the turns under way.
        """
        turns = [agent.open_turn for agent in self.speaking]
        return [
            (turn.id, step.id)
            for turn in turns
            if turn is not None and turn.steps is not None
            for step in turn.steps.all.values()
            if step.status == "asks"
        ]

    # --- turns -----------------------------------------------------------------------------------------

    def turn_of(self, message_id: str) -> Turn | None:
        """Return the turn that the message is, or part of; None where there is none."""
        return self.turns.get(self._heads.get(message_id, message_id))

    def _turn_started(self, event: ev.TurnStarted) -> None:
        turn = self.turn_of(event.turn_id)
        if turn is None and self._gone_on(event.continues, event.turn_id):
            return
        older = self.turn_of(event.supersedes) if event.supersedes != event.turn_id else None
        speaker_id = event.agent_id or (older.agent_id if older is not None else "")
        if older is not None:
            self._supersede(older)
        if turn is not None:  # told twice, or late: fill in what an orphan chunk could not know
            turn.sender_name = turn.sender_name or event.sender_name
            turn.round_number = turn.round_number or event.round_number
            turn.trimmed = turn.trimmed or event.trimmed
            if turn.agent_id == STRANGER:
                self._claim(turn, self._speaker(speaker_id, event.sender_name, event.round_number))
            return
        turn = Turn(
            event.turn_id,
            role=event.role,
            sender_name=event.sender_name,
            sender_color=event.sender_color,
            round_number=event.round_number,
            attempt=event.attempt,
            trimmed=event.trimmed,
        )
        agent = self._speaker(speaker_id, event.sender_name, event.round_number)
        agent.color = agent.color or event.sender_color
        self._keep(turn, agent)
        agent.word = "thinking"

    def _turn_noted(self, event: ev.TurnNoted) -> None:
        turn = self.turn_of(event.turn_id)
        if turn is not None and turn.status == "speaking":
            turn.note(event)
            self.changed.add(turn.agent_id)

    def _gone_on(self, continues: str, message_id: str) -> Turn | None:
        """Let the turn that ``continues`` names go on, if it is the last that its agent said; return it."""
        turn = self.turn_of(continues) if continues else None
        agent = self.agents.get(turn.agent_id) if turn is not None else None
        if turn is None or agent is None or turn not in agent.turns:
            return None
        later = agent.turns[agent.turns.index(turn) + 1 :]
        if any(other.length or other.steps for other in later):
            return None
        for other in later:  # tries that failed before a word
            agent.turns.remove(other)
            del self.turns[other.id]
            self.generation += 1
        if turn.status == "speaking":
            self._close(turn, "cut", "lost")
        self._heads[message_id] = turn.id
        turn.go_on(message_id)
        agent.word = "thinking"
        self.changed.add(agent.id)
        return turn

    def _text_added(self, event: ev.TextAdded) -> None:
        turn = self.turn_of(event.turn_id) or self._orphan(event.turn_id, event.agent_id)
        if turn.status != "speaking":
            self._count(ev.Unknown("message_chunk", event.text, "a chunk after its turn's end"))
            return
        whole = event.accumulated
        if whole is not None and len(whole) != turn.length + len(event.text):
            turn.replace(whole)
        else:
            turn.add(event.text, event.step_id)
        agent = self.agents[turn.agent_id]
        if turn.length:
            agent.word = "speaking"
        self.changed.add(agent.id)

    def _told(self, event: ev.TextAdded | ev.TurnNoted | StepEvent) -> None:
        if isinstance(event, ev.TurnNoted):
            self._turn_noted(event)
            return
        if isinstance(event, ev.TextAdded):
            self._text_added(event)
            return
        turn = self.turn_of(event.turn_id) or self._orphan(event.turn_id, "")
        is_late_status = isinstance(event, ev.ToolStatusChanged) and event.status != "asks"
        if turn.status != "speaking" and not is_late_status:
            self._count(ev.Unknown("process_step", repr(event), "a step after its turn's end"))
            return
        turn.apply(event)
        self.changed.add(turn.agent_id)

    def _turn_ended(self, event: ev.TurnEnded) -> None:
        turn = self.turn_of(event.turn_id) or self._orphan(event.turn_id, event.agent_id)
        is_newest = turn.part_id == event.turn_id
        if event.text and is_newest:  # an end without content never takes away what was said
            turn.replace(event.text)
        self._account(turn, event.turn_id, event.token_count, event.usage)
        if is_newest and turn.status == "speaking":
            self._close(turn, "cut" if event.interrupted else "said", event.interrupted)
        self.changed.add(turn.agent_id)

    def _turn_failed(self, event: ev.TurnFailed) -> None:
        agent = self._failing(event)
        turn = agent.open_turn
        if turn is None:
            turn = Turn(f"failed-{len(self.turns)}", round_number=self.round, sender_name=agent.name)
            self._keep(turn, agent)
        self._close(turn, "failed", event.error)

    def _failing(self, event: ev.TurnFailed) -> Agent:
        speaking = self.speaking
        if event.agent_id in self.agents:
            return self.agents[event.agent_id]
        named = [agent for agent in speaking if agent.name == event.agent_name]
        if named:
            return named[0]
        if not event.agent_name and len(speaking) == 1:
            return speaking[0]
        return self._speaker(event.agent_id, event.agent_name, self.round)

    def _message_stored(self, message: ev.Message) -> None:
        turn = self.turn_of(message.id) or self._gone_on(message.continues, message.id)
        if turn is None:
            turn = self._stored_turn(message)
        if turn.part_id == message.id:
            if message.text:
                turn.replace(message.text)
            turn.take_steps(message.steps)
        self._account(turn, message.id, message.token_count, message.usage)
        turn.created_at = message.created_at
        take_stored(turn, message)
        self.queue = tuple(queued for queued in self.queue if queued.id != message.id)
        if message.superseded:
            self._supersede(turn)
        if turn.part_id != message.id:
            return
        if message.status == "streaming" and turn.status == "speaking":
            self.agents[turn.agent_id].word = "speaking" if turn.length else "thinking"
        elif turn.status == "speaking":
            if message.error or message.status == "failed":
                self._close(turn, "failed", message.error)
            else:
                self._close(turn, "cut" if message.interrupted else "said", message.interrupted)

    def _stored_turn(self, message: ev.Message) -> Turn:
        turn = Turn(
            message.id,
            role=message.role,
            sender_name=message.sender_name,
            sender_color=message.sender_color,
            round_number=message.round_number,
        )
        if message.role == "user":
            turn.status = "said"
            turn.to, turn.to_name = message.to, self._name_of(message.to)
            self.turns[turn.id] = turn
            self.changed.update([turn.to] if turn.to in self.agents else self.agents)
        else:
            sender = (message.agent_id, message.sender_name, message.round_number)
            self._keep(turn, self._speaker(*sender))
        return turn

    def _supersede(self, turn: Turn) -> None:
        """Note that ``turn`` is said again; nothing takes that back."""
        turn.superseded = True
        self.changed.add(turn.agent_id)

    def _account(self, turn: Turn, part_id: str, token_count: int, usage: ev.Usage | None) -> None:
        """Take what a part of a turn has used, once however often it is told."""
        tokens, cost = turn.spent, turn.cost or 0.0
        turn.account(part_id, token_count, usage)
        self.counts_prompts = self.counts_prompts or bool(usage and usage.prompt_tokens)
        self._spend(turn, tokens, cost)

    def _spend(self, turn: Turn, tokens: int = 0, cost: float = 0.0) -> None:
        """Count what ``turn`` cost beyond what was counted of it before."""
        self._spent_tokens += turn.spent - tokens
        if turn.cost is not None:
            self._spent_cost = (self._spent_cost or 0.0) + turn.cost - cost

    def _close(self, turn: Turn, status: TurnStatus, why: str) -> None:
        turn.status = status
        if status == "failed":
            turn.error = why
        else:
            turn.interrupted = why
        turn.compact()
        if turn.steps is not None:
            turn.steps.close("unknown" if status == "said" or why == "crash" else "cut")
        agent = self.agents.get(turn.agent_id)
        if agent is not None:
            agent.word = "said" if status == "said" else "cut" if status == "cut" else "failed"
            self.changed.add(agent.id)

    def _keep(self, turn: Turn, agent: Agent) -> None:
        if agent.open_turn is not None:  # nobody speaks twice at once: the older turn lost its end
            self._close(agent.open_turn, "cut", "lost")
        turn.agent_id = agent.id
        self.turns[turn.id] = turn
        agent.turns.append(turn)
        self.changed.add(agent.id)

    def _claim(self, turn: Turn, agent: Agent) -> None:
        """Give a turn whose speaker was unknown to the agent that turned out to be it."""
        stranger = self.agents[STRANGER]
        if agent is stranger:
            return
        stranger.turns.remove(turn)
        if not stranger.turns:
            del self.agents[STRANGER]
        self._keep(turn, agent)
        if turn.status == "speaking":
            agent.word = "speaking"
        self.changed.add(STRANGER)

    def _orphan(self, turn_id: str, agent_id: str) -> Turn:
        """Words for a turn that was never announced: kept, under the agent if it was named."""
        agent = self._agent(agent_id or STRANGER, "")
        turn = Turn(turn_id, round_number=self.round, sender_name=agent.name)
        self._keep(turn, agent)
        return turn

    # --- agents ----------------------------------------------------------------------------------------

    def _agent(self, agent_id: str, name: str) -> Agent:
        agent = self.agents.get(agent_id)
        if agent is None:
            agent = Agent(agent_id, name, turn_order=len(self.agents))
            self.agents[agent_id] = agent
            self.changed.add(agent_id)
        agent.name = agent.name or name
        return agent

    def _name_of(self, agent_id: str) -> str:
        """Return the agent's name, its id where nobody has that."""
        agent = self.agents.get(agent_id)
        return agent.name or agent_id if agent is not None else agent_id

    def _take_agents(self, infos: tuple[ev.AgentInfo, ...]) -> None:
        """Take the agents of a room as they are now; who was taken out stays if it said anything."""
        for place, info in enumerate(infos):
            agent = self.agents.setdefault(info.id, Agent(info.id, ""))
            known = _looks(agent)
            agent.name, agent.color = info.name or agent.name, info.color or agent.color
            agent.model, agent.provider_id = info.model, info.provider_id
            agent.system_prompt, agent.skip_next = info.system_prompt, info.skip_next
            agent.turn_order, agent.is_gone = place, False
            if _looks(agent) != known:
                self.changed.add(agent.id)
        here = {info.id for info in infos}
        for agent in [agent for agent in self.agents.values() if agent.id not in here]:
            if not agent.turns:
                del self.agents[agent.id]
            if not agent.is_gone:
                self.changed.add(agent.id)
            agent.is_gone = True
        for turn in self.turns.values():
            if turn.to:
                turn.to_name = self._name_of(turn.to) if turn.to in self.agents else turn.to_name

    def _speaker(self, agent_id: str, name: str, round_number: int) -> Agent:
        """The agent who speaks. Sequential rooms name no id: then it is the first of that name who has
        not yet spoken in the round, so that two agents of one name stay apart.
        """
        if agent_id:
            return self._agent(agent_id, name)
        namesakes = [agent for agent in self.ordered_agents if agent.name == name]
        for agent in namesakes:
            if not agent.has_said(round_number):
                return agent
        return namesakes[0] if namesakes else self._agent(name or STRANGER, name)

    def _count(self, event: ev.Unknown) -> None:
        self.unknown_count += 1
        self.unknown.append(event)


def _looks(agent: Agent) -> tuple[object, ...]:
    """Return what of an agent its room decides."""
    decided = (agent.name, agent.color, agent.model, agent.provider_id, agent.system_prompt)
    return (*decided, agent.turn_order, agent.skip_next, agent.is_gone)
