"""A room as the screen knows it: ``RoomState.apply`` takes every event, in any order a server may send.

Tolerant of every fault that protocols.md §1 lists: doubled starts, chunks for unknown turns or after the
end, ``agent_error`` that names no message, runs that end with turns left open, events nobody knows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from agent_tui import events as ev
from agent_tui.state.turn import Agent, Turn, TurnStatus

MAX_KEPT_UNKNOWN = 200
STRANGER = "?"  # the agent of words whose speaker the server never named


@dataclass(slots=True)
class RoomState:
    """Everything a room screen draws.

    ``changed`` holds the ids of agents whose pane must be looked at again; who draws, empties it.
    ``generation`` counts how often everything was loaded anew: panes then start over.
    """

    id: str = ""
    name: str = ""
    task: str = ""
    status: str = "idle"
    mode: str = "sequential"
    round: int = 0
    max_rounds: int = 0
    pause_reason: str = ""
    run_error: str = ""
    keep_running: bool = False
    agents: dict[str, Agent] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    link: ev.LinkChanged = field(default_factory=lambda: ev.LinkChanged("connecting"))
    loaded: bool = False
    unknown_count: int = 0
    unknown: deque[ev.Unknown] = field(default_factory=lambda: deque(maxlen=MAX_KEPT_UNKNOWN))
    changed: set[str] = field(default_factory=set)
    generation: int = 0

    # --- what screens ask ------------------------------------------------------------------------------

    @property
    def ordered_agents(self) -> list[Agent]:
        """The agents in the order they speak."""
        return sorted(self.agents.values(), key=lambda agent: agent.turn_order)

    @property
    def speaking(self) -> list[Agent]:
        """The agents with a turn under way."""
        return [agent for agent in self.ordered_agents if agent.open_turn is not None]

    @property
    def due(self) -> list[Agent]:
        """Who goes on when the room is resumed: one agent, or all unfinished ones of a parallel round."""
        waiting = [agent for agent in self.ordered_agents if not agent.has_said(self.round)]
        if not waiting or self.round == 0:
            waiting = self.ordered_agents
        return waiting if self.mode == "parallel" else waiting[:1]

    @property
    def tokens(self) -> int:
        """Tokens of all turns, by the protocol's count."""
        return sum(agent.tokens for agent in self.agents.values())

    def whole_text(self) -> str:
        """Every agent's words in order of their start, cut ones included, joined by a blank line."""
        texts = (turn.text for turn in self.turns.values() if turn.role != "user")
        return "\n\n".join(text for text in texts if text)

    # --- the only way in -------------------------------------------------------------------------------

    def apply(self, event: ev.Event) -> None:
        """Take one event. Never raises for what a server may send."""
        match event:
            case ev.TextAdded():
                self._text_added(event)
            case ev.TurnStarted():
                self._turn_started(event)
            case ev.TurnEnded():
                self._turn_ended(event)
            case ev.TurnFailed():
                self._turn_failed(event)
            case ev.MessageStored(message):
                self._message_stored(message)
            case ev.AgentStatusChanged():
                self._agent_status(event)
            case ev.RunStarted() | ev.RunPaused() | ev.RunCompleted() | ev.RunFailed():
                self._run_changed(event)
            case ev.RoundStarted(round_number, most):
                self._round_started(round_number, most)
            case ev.ParallelStarted():
                self._parallel_started(event)
            case ev.ParallelEnded() | ev.RoundEnded():
                pass  # what the turns of the round said already shows that it is over
            case ev.RoomLoaded(room, messages):
                self._loaded(room, messages)
            case ev.RoomChanged(room):
                self._changed(room)
            case ev.LinkChanged():
                self.link = event
            case ev.Unknown():
                self._count(event)

    # --- runs and rounds -------------------------------------------------------------------------------

    def _run_changed(self, event: ev.RunStarted | ev.RunPaused | ev.RunCompleted | ev.RunFailed) -> None:
        match event:
            case ev.RunStarted(room_id, task):
                self.id = self.id or room_id
                self.task = task or self.task
                self.status, self.pause_reason, self.run_error = "running", "", ""
            case ev.RunPaused(_, round_number, reason):
                self.status, self.pause_reason = "paused", reason
                self.round = round_number or self.round
                self._close_open_turns("cut", reason or "pause")
            case ev.RunCompleted(_, total):
                self.status = "completed"
                self.max_rounds = max(self.max_rounds, total)
                self._close_open_turns("cut", "lost")
            case ev.RunFailed(content):
                self.status, self.run_error = "error", content
                self._close_open_turns("failed", content)

    def _close_open_turns(self, status: TurnStatus, why: str) -> None:
        for agent in self.agents.values():
            turn = agent.open_turn
            if turn is not None:
                self._close(turn, status, why)

    def _round_started(self, round_number: int, most: int) -> None:
        self.round = round_number
        self.max_rounds = most or self.max_rounds
        for agent in self.agents.values():
            if agent.open_turn is None:
                agent.word = "waiting"
                self.changed.add(agent.id)

    def _parallel_started(self, event: ev.ParallelStarted) -> None:
        self.mode = "parallel"
        self.round = event.round
        self.max_rounds = event.max_rounds or self.max_rounds
        for info in event.agents:
            self._agent(info.id, info.name)

    def _agent_status(self, event: ev.AgentStatusChanged) -> None:
        agent = self._agent(event.agent_id, event.agent_name)
        if agent.open_turn is None and event.status in ("pending", "streaming"):
            agent.word = "waiting" if event.status == "pending" else "thinking"
            self.changed.add(agent.id)

    # --- turns -----------------------------------------------------------------------------------------

    def _turn_started(self, event: ev.TurnStarted) -> None:
        turn = self.turns.get(event.turn_id)
        if turn is not None:  # told twice, or late: fill in what an orphan chunk could not know
            turn.sender_name = turn.sender_name or event.sender_name
            turn.round_number = turn.round_number or event.round_number
            if turn.agent_id == STRANGER:
                self._claim(turn, self._speaker(event.agent_id, event.sender_name, event.round_number))
            return
        turn = Turn(
            event.turn_id,
            role=event.role,
            sender_name=event.sender_name,
            sender_color=event.sender_color,
            round_number=event.round_number,
            attempt=event.attempt,
        )
        agent = self._speaker(event.agent_id, event.sender_name, event.round_number)
        agent.color = agent.color or event.sender_color
        self._keep(turn, agent)
        agent.word = "thinking"

    def _text_added(self, event: ev.TextAdded) -> None:
        turn = self.turns.get(event.turn_id) or self._orphan(event.turn_id, event.agent_id)
        if turn.status != "speaking":
            self._count(ev.Unknown("message_chunk", event.text, "a chunk after its turn's end"))
            return
        whole = event.accumulated
        if whole is not None and len(whole) != turn.length + len(event.text):
            turn.replace(whole)
        else:
            turn.add(event.text)
        agent = self.agents[turn.agent_id]
        if turn.length:
            agent.word = "speaking"
        self.changed.add(agent.id)

    def _turn_ended(self, event: ev.TurnEnded) -> None:
        turn = self.turns.get(event.turn_id) or self._orphan(event.turn_id, event.agent_id)
        if event.text:  # an end without content never takes away what was said
            turn.replace(event.text)
        turn.token_count = event.token_count
        if turn.status == "speaking":
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
        turn = self.turns.get(message.id)
        if turn is None:
            turn = self._stored_turn(message)
        if message.text:
            turn.replace(message.text)
        turn.token_count, turn.created_at = message.token_count, message.created_at
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
            self.turns[turn.id] = turn
        else:
            sender = (message.agent_id, message.sender_name, message.round_number)
            self._keep(turn, self._speaker(*sender))
        return turn

    def _close(self, turn: Turn, status: TurnStatus, why: str) -> None:
        turn.status = status
        if status == "failed":
            turn.error = why
        else:
            turn.interrupted = why
        turn.compact()
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

    # --- the rest --------------------------------------------------------------------------------------

    def _loaded(self, room: ev.RoomInfo, messages: tuple[ev.Message, ...]) -> None:
        self.id, self.name, self.task = room.id, room.name, room.task or self.task
        self.status, self.pause_reason = room.status, room.interrupted
        self.mode, self.round = room.execution_mode, room.current_round
        self.max_rounds, self.keep_running = room.max_rounds, room.keep_running
        self.run_error = ""
        known = self.turns
        self.agents, self.turns = {}, {}
        for place, info in enumerate(room.agents):
            self.agents[info.id] = Agent(info.id, info.name, info.color, info.model, info.provider_id, place)
        for message in messages:
            self._message_stored(message)
        self._keep_unstored(known)
        if room.status != "running":
            self._close_open_turns("cut", room.interrupted or "lost")
        self.loaded = True
        self.generation += 1
        self.changed.update(self.agents)

    def _changed(self, room: ev.RoomInfo) -> None:
        """Take what the room is called and what it may do; what was said stays what was received."""
        self.name, self.task = room.name or self.name, room.task or self.task
        self.mode, self.max_rounds, self.keep_running = (
            room.execution_mode,
            room.max_rounds,
            room.keep_running,
        )

    def _keep_unstored(self, known: dict[str, Turn]) -> None:
        """Keep words that were received and that the server has no record of: they are lost only there."""
        for turn in known.values():
            if turn.id in self.turns or turn.role == "user" or not turn.length:
                continue
            if turn.status == "speaking":
                turn.status, turn.interrupted = "cut", "lost"
            self._keep(turn, self._speaker("", turn.sender_name, turn.round_number))

    def _count(self, event: ev.Unknown) -> None:
        self.unknown_count += 1
        self.unknown.append(event)
