"""A room as the screen knows it: ``RoomState.apply`` takes every event, in any order a server may send.

Its turns and agents are in ``Books``; here is what is true of the room as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent_tui.model import events as ev
from agent_tui.state.books import STRANGER as STRANGER
from agent_tui.state.books import Books
from agent_tui.state.turn import Agent, Turn, TurnStatus


@dataclass(slots=True)
class RoomState(Books):
    """Everything a room screen draws.

    ``changed`` holds the ids of agents whose pane must be looked at again; who draws, empties it.
    """

    id: str = ""
    name: str = ""
    task: str = ""
    status: str = "idle"
    mode: str = "sequential"
    max_rounds: int = 0
    pause_reason: str = ""
    run_error: str = ""
    keep_running: bool = False
    max_tokens: int = 0
    max_cost: float = 0.0
    answer_tokens: int = 0
    on_error: str = "continue"
    enabled_tools: tuple[str, ...] = ()
    workspace: str = ""
    link: ev.LinkChanged = field(default_factory=lambda: ev.LinkChanged("connecting"))
    loaded: bool = False
    _reached: tuple[int, float] | None = None  # the ceilings when the room was paused for them
    _told_tokens: int = 0
    _told_cost: float | None = None

    # --- what screens ask ------------------------------------------------------------------------------

    @property
    def due(self) -> list[Agent]:
        """Who goes on when the room is resumed: one agent, or all unfinished ones of a parallel round."""
        agents = [agent for agent in self.ordered_agents if not agent.is_gone]
        waiting = [agent for agent in agents if not self.round or self._is_unfinished(agent)]
        ready = [agent for agent in waiting if not agent.skip_next]
        if not ready:  # the next round: whoever waits in this one is skipped there no more
            skipped = {agent.id for agent in waiting}
            ready = [agent for agent in agents if not agent.skip_next or agent.id in skipped]
        return ready if self.mode == "parallel" else ready[:1]

    def _is_unfinished(self, agent: Agent) -> bool:
        if not agent.has_said(self.round):
            return True
        last = agent.turns[-1] if agent.turns else None
        failed_here = last is not None and last.status == "failed" and last.round_number == self.round
        return failed_here and self.pause_reason == "error"  # it is said again

    @property
    def used_tokens(self) -> int:
        """What the budget counts: what the server said last, or more where its turns said more since."""
        return max(self._told_tokens, self._spent_tokens)

    @property
    def cost(self) -> float | None:
        """The same in US dollars, ``None`` where no price is known."""
        known = [cost for cost in (self._told_cost, self._spent_cost) if cost is not None]
        return max(known) if known else None

    @property
    def is_over_budget(self) -> bool:
        """Whether it is paused for its budget, and that was not raised since."""
        if self.status != "paused" or self.pause_reason != "budget":
            return False
        if self._reached == (self.max_tokens, self.max_cost):
            return True  # whatever is counted here: who paused it counts better
        is_cost_spent = bool(self.max_cost) and self.cost is not None and self.cost >= self.max_cost
        return is_cost_spent or 0 < self.max_tokens <= self.used_tokens

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
            case ev.TextAdded() | ev.TurnNoted() | ev.StepSet() | ev.StepAdded() | ev.ToolStatusChanged():
                self._told(event)
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
            case ev.RoomLoaded(room, messages):
                self._loaded(room, messages)
            case ev.RoomChanged(room):
                self._changed(room)
            case ev.LinkChanged():
                self.link = event
            case ev.Unknown():
                self._count(event)
            case ev.ParallelEnded() | ev.RoundEnded():
                pass  # what the turns of the round said already shows that it is over
            case ev.TurnDone() | ev.MessageSpoken() | ev.ConversationLoaded() | ev.ConversationChanged():
                pass  # of chats

    # --- runs and rounds -------------------------------------------------------------------------------

    def _run_changed(self, event: ev.RunStarted | ev.RunPaused | ev.RunCompleted | ev.RunFailed) -> None:
        match event:
            case ev.RunStarted(room_id, task):
                self.id = self.id or room_id
                self.task = task or self.task
                self.status, self.pause_reason, self.run_error = "running", "", ""
            case ev.RunPaused(_, round_number, reason):
                self.status, self.pause_reason = "paused", reason
                self._reached = (self.max_tokens, self.max_cost) if reason == "budget" else None
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
            if agent.open_turn is None and not agent.is_gone:
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
        if event.status == "skipped":
            self._skipped(agent)
        elif agent.open_turn is None and event.status in ("pending", "streaming"):
            agent.word = "waiting" if event.status == "pending" else "thinking"
            self.changed.add(agent.id)

    def _skipped(self, agent: Agent) -> None:
        agent.skipped_round, agent.skip_next = self.round, False
        if agent.open_turn is None:
            agent.word = "skipped"
        self.changed.add(agent.id)

    # --- the room --------------------------------------------------------------------------------------

    def _loaded(self, room: ev.RoomInfo, messages: tuple[ev.Message, ...]) -> None:
        self.id, self.name, self.task = room.id, room.name, room.task or self.task
        self.status, self.pause_reason = room.status, room.interrupted
        self.mode, self.round = room.execution_mode, room.current_round
        self.max_rounds = room.max_rounds
        self.run_error = ""
        known = self.turns
        self.agents, self.turns, self._heads = {}, {}, {}
        self.counts_prompts = False
        self._spent_tokens, self._spent_cost = 0, None
        self._take_agents(room.agents)
        for message in messages:
            self._message_stored(message)
        self._keep_unstored(known)
        if room.agents:
            self._take_agents(room.agents)  # again: those who spoke and are no longer there
        for info in room.agents:
            if info.status == "skipped":
                self._skipped(self.agents[info.id])
                self.agents[info.id].skip_next = info.skip_next
        self._take_limits(room)
        if room.status != "running":
            self._close_open_turns("cut", room.interrupted or "lost")
        self.loaded = True
        self.generation += 1
        self.changed.update(self.agents)

    def _changed(self, room: ev.RoomInfo) -> None:
        """Take what the room is called, who is in it and what it may do; what was said stays as received."""
        if room == ev.RoomInfo(room.id):
            return  # a server that answered nothing and shows no rooms
        self.name, self.task = room.name or self.name, room.task or self.task
        self.mode = room.execution_mode
        if room.agents:
            self._take_agents(room.agents)
        self._take_limits(room)
        if self.status == "completed" and room.status == "paused" and room.max_rounds > self.max_rounds:
            self.status, self.pause_reason = "paused", room.interrupted  # rounds were added: no event says so
        self.max_rounds = room.max_rounds or self.max_rounds

    def _take_limits(self, room: ev.RoomInfo) -> None:
        self.keep_running, self.on_error = room.keep_running, room.on_error
        self.max_tokens, self.max_cost = room.max_tokens, room.max_cost
        self.answer_tokens = room.answer_tokens
        self.enabled_tools, self.workspace = room.enabled_tools, room.workspace
        self._told_tokens, self._told_cost = room.tokens, room.cost
        self.queue = tuple(queued for queued in room.queue if queued.id not in self.turns)

    def _keep_unstored(self, known: dict[str, Turn]) -> None:
        """Keep words that were received and that the server has no record of: they are lost only there."""
        for turn in known.values():
            if turn.id in self.turns or turn.role == "user" or not (turn.length or turn.steps):
                continue
            if turn.status == "speaking":
                turn.status, turn.interrupted = "cut", "lost"
            self._keep(turn, self._speaker("", turn.sender_name, turn.round_number))
            self._spend(turn)
