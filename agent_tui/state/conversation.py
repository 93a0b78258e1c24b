"""A conversation as the screen knows it: ``ConversationState.apply`` takes every event, in any order.

A room has several agents, whose turns are also listed by agent; a chat has one. If the server says which
message follows which, one branch is shown, from its beginning to its newest message: a message that follows
an earlier one than the last begins a new branch there. Tolerates every fault that protocols.md lists:
repeated starts, words of unknown turns or after the end, errors without a message, unknown events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from agent_tui.model import events as ev
from agent_tui.state.agents import OTHERS, STRANGER, Agent, Agents
from agent_tui.state.ledger import Ledger
from agent_tui.state.steps import StepState
from agent_tui.state.turn import StepEvent, Turn, TurnStatus

MAX_KEPT_UNKNOWN = 200
STOPPED = "Stopped"  # the ``error`` of an answer that was stopped (ours)
INTERRUPTED = "Interrupted: "  # before the reason of one that was interrupted otherwise (ours)
_priced = attrgetter("max_cost", "provider_id", "model")  # what decides whether a budget in dollars limits it


@dataclass(slots=True)
class ConversationState:
    """Everything that the screen of a room or a chat draws; ``info`` says which it is.

    ``changed`` has the ids of turns to look at again (``Turn.steps.changed`` says which steps); whoever draws
    empties both. ``generation`` counts how often turns were removed or loaded again: then a view starts over.
    A message that continues another belongs to that one's turn.
    """

    info: ev.RoomInfo | ev.ConversationInfo = field(default_factory=lambda: ev.ConversationInfo(""))
    members: Agents = field(default_factory=Agents)
    turns: dict[str, Turn] = field(default_factory=dict)
    queue: tuple[ev.QueuedMessage, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    run_error: str = ""  # why the run failed; in a chat, why no answer began
    link: ev.LinkChanged = field(default_factory=lambda: ev.LinkChanged("connecting"))
    loaded: bool = False
    changed: set[str] = field(default_factory=set)
    generation: int = 0
    unknown_count: int = 0
    unknown: deque[ev.Unknown] = field(default_factory=lambda: deque(maxlen=MAX_KEPT_UNKNOWN))
    _heads: dict[str, str] = field(default_factory=dict)  # id of a message that continues a turn → the turn's
    _guide: ev.Note | None = None  # what the newest model with a folder got about it
    _has_parents: bool = False  # whether the server says which message follows which

    # --- what screens ask ------------------------------------------------------------------------------

    @property
    def is_room(self) -> bool:
        """Whether it is a room, with several agents and rounds."""
        return isinstance(self.info, ev.RoomInfo)

    @property
    def room(self) -> ev.RoomInfo:
        """The room, if it is one."""
        assert isinstance(self.info, ev.RoomInfo)
        return self.info

    @property
    def conversation(self) -> ev.ConversationInfo:
        """The chat, if it is one."""
        assert isinstance(self.info, ev.ConversationInfo)
        return self.info

    @property
    def is_known(self) -> bool:
        """Whether anything was received of it: from a list, or when it was loaded."""
        return self.loaded or self.info != type(self.info)(self.info.id)

    @property
    def round(self) -> int:
        """The current round, or the last one; 0 in a chat."""
        return self.info.current_round if isinstance(self.info, ev.RoomInfo) else 0

    @property
    def agents(self) -> dict[str, Agent]:
        """The agents by id; a chat has one without an id."""
        return self.members.by_id

    @property
    def open_turn(self) -> Turn | None:
        """The current turn, if there is one; in a room the first of them."""
        return next((turn for agent in self.agents.values() if (turn := agent.open_turn)), None)

    @property
    def last_turn(self) -> Turn | None:
        """The newest turn; in a chat, of the shown branch."""
        return self.turns[next(reversed(self.turns))] if self.turns else None

    @property
    def asking(self) -> list[tuple[str, str]]:
        """The calls that ask for permission, as (turn id, step id), in the order of their agents, oldest
        first.
        """
        turns = [agent.open_turn for agent in self.members.speaking]
        return [(turn.id, step_id) for turn in turns if turn is not None for step_id in turn.steps.asking]

    def turn_of(self, message_id: str) -> Turn | None:
        """Return the turn to which the message belongs; ``None`` if there is none."""
        return self.turns.get(self._heads.get(message_id, message_id))

    def step(self, turn_id: str, step_id: str) -> StepState | None:
        """Return one step, ``None`` if there is none."""
        turn = self.turn_of(turn_id)
        return turn.steps.all.get(step_id) if turn is not None else None

    def whole_text(self) -> str:
        """Return every agent's words in the order of their start, interrupted ones included, joined by a
        blank line.
        """
        texts = (turn.text for turn in self.turns.values() if turn.role != "user")
        return "\n\n".join(text for text in texts if text)

    # --- the only way in -------------------------------------------------------------------------------

    def take_listed(self, info: ev.RoomInfo | ev.ConversationInfo) -> None:
        """Take what a list knows about it, until it is loaded."""
        self.info = info
        self.ledger.take(info.tokens, info.cost)

    def apply(self, event: ev.Event) -> None:
        """Take one event. Never raises, whatever a server sends."""
        match event:
            case ev.TextAdded() | ev.StepAdded() | ev.StepSet() | ev.ToolStatusChanged():
                self._add_to_turn(event)
            case ev.TurnStarted():
                self._turn_started(event)
            case ev.TurnNoted():
                self._turn_noted(event)
            case ev.TurnEnded():
                self._turn_ended(event)
            case ev.TurnDone():
                self._turn_done(event)
            case ev.TurnFailed():
                self._turn_failed(event)
            case ev.MessageStored() | ev.MessageSpoken():
                self._apply_to_message(event)
            case ev.RunStarted() | ev.RunPaused() | ev.RunCompleted() | ev.RunFailed():
                self._run_changed(event)
            case ev.AgentStatusChanged() | ev.RoundStarted() | ev.ParallelStarted():
                self._apply_to_round(event)
            case ev.RoomLoaded(info, messages) | ev.ConversationLoaded(info, messages):
                self._load(info, messages)
            case ev.RoomChanged() | ev.ConversationChanged():
                self._take_changed(event)
            case ev.LinkChanged():
                self.link = event
            case ev.Unknown():
                self._count(event)
            case ev.ParallelEnded() | ev.RoundEnded():
                pass  # the turns of the round have shown already that it is over
            case ev.QueueChanged():
                pass  # it does not say how: who shows the queue reads it

    # --- runs and rounds -------------------------------------------------------------------------------

    def _run_changed(self, event: ev.RunStarted | ev.RunPaused | ev.RunCompleted | ev.RunFailed) -> None:
        if isinstance(event, ev.RunFailed):
            last = self.last_turn  # a chat's last turn may already say why
            is_shown_already = not self.is_room and last is not None and last.status != "said"
            self.run_error = "" if is_shown_already else event.content
            self._close_open_turns(*_failed_status(event.content))
        if not isinstance(self.info, ev.RoomInfo):
            return
        room = self.info
        match event:
            case ev.RunStarted(room_id, task):
                self.run_error = ""
                room = replace(room, id=room.id or room_id, task=task or room.task)
                self.info = replace(room, status="running", interrupted="")
            case ev.RunPaused(_, round_number, reason):
                self.info = replace(
                    room, status="paused", interrupted=reason, current_round=round_number or self.round
                )
                self.ledger.paused(room if reason == "budget" else None)
                self._close_open_turns("cut", reason or "pause")
            case ev.RunCompleted(_, total):
                self.info = replace(room, status="completed", max_rounds=max(room.max_rounds, total))
                self._close_open_turns("cut", "lost")
                self.queue = ()  # a room is completed only when nothing waits
            case ev.RunFailed():
                self.info = replace(room, status="error")

    def _close_open_turns(self, status: TurnStatus, why: str) -> None:
        for agent in self.agents.values():
            for turn in agent.open_turns:
                self._close(turn, status, why)

    def _apply_to_round(self, event: ev.AgentStatusChanged | ev.RoundStarted | ev.ParallelStarted) -> None:
        if not isinstance(self.info, ev.RoomInfo):
            return
        match event:
            case ev.AgentStatusChanged(agent_id, name, status):
                agent = self.members.of(agent_id, name)
                if status == "skipped":
                    agent.skip(self.round)
                elif agent.open_turn is None and status in ("pending", "streaming"):
                    agent.word = "waiting" if status == "pending" else "thinking"
            case ev.RoundStarted(number, most):
                self.info = replace(self.info, current_round=number, max_rounds=most or self.info.max_rounds)
                for agent in self.agents.values():
                    if agent.open_turn is None and not agent.is_gone:
                        agent.word = "waiting"
            case ev.ParallelStarted(number, most, agents):
                most = most or self.info.max_rounds
                self.info = replace(
                    self.info, current_round=number, max_rounds=most, execution_mode="parallel"
                )
                for info in agents:
                    self.members.of(info.id, info.name)

    # --- turns -----------------------------------------------------------------------------------------

    def _turn_started(self, event: ev.TurnStarted) -> None:
        turn = self.turn_of(event.turn_id)
        if turn is None and self._continue_turn(event.continues, event.turn_id):
            return
        older = self.turn_of(event.supersedes) if event.supersedes != event.turn_id else None
        speaker_id = event.agent_id or (older.agent_id if older is not None else "")
        if older is not None:
            older.superseded = True  # for good
            self.changed.add(older.id)
        if turn is not None:  # repeated, or late: fill in what orphaned words could not know
            turn.sender_name = event.sender_name or turn.sender_name
            turn.received_agent_id = turn.received_agent_id or event.agent_id
            turn.parent_id = turn.parent_id or event.parent_id
            turn.round_number = turn.round_number or event.round_number
            turn.trimmed = turn.trimmed or event.trimmed
            turn.attempt = event.attempt
            self.changed.add(turn.id)
            if turn.agent_id == STRANGER:
                self._claim(turn, self._speaker(speaker_id, event.sender_name, event.round_number))
            return
        turn = _new_turn(event.turn_id, event)
        turn.attempt, turn.trimmed = event.attempt, event.trimmed
        agent = self._speaker(speaker_id, event.sender_name, event.round_number)
        agent.color = agent.color or event.sender_color
        self._begin(turn, agent)
        agent.word = "thinking"

    def _continue_turn(self, continues: str, message_id: str) -> bool:
        """Continue the turn that ``continues`` names; return whether that was its agent's last one."""
        turn = self.turn_of(continues) if continues else None
        agent = self.agents.get(turn.agent_id) if turn is not None else None
        if turn is None or agent is None or turn not in agent.turns:
            return False
        later = [
            other
            for other in agent.turns[agent.turns.index(turn) + 1 :]
            if agent.id != OTHERS or other.received_agent_id == turn.received_agent_id
        ]
        if any(other.steps.all for other in later) or not (self.is_room or turn is self.last_turn):
            return False
        self._remove(later)  # attempts that failed before a word
        if turn.status == "speaking":
            self._close(turn, "cut", "lost")
        self._heads[message_id] = turn.id
        turn.go_on(message_id)
        agent.word, self.run_error = "thinking", ""
        self.changed.add(turn.id)
        return True

    def _turn_noted(self, event: ev.TurnNoted) -> None:
        turn = self.turn_of(event.turn_id)
        if turn is not None and turn.status == "speaking":
            turn.note(event)
            self._guide = turn.compare_guide(self._guide)
            self.changed.add(turn.id)

    def _add_to_turn(self, event: ev.TextAdded | StepEvent) -> None:
        turn = self.turns.get(event.turn_id) or self.turn_of(event.turn_id)
        is_late_status = isinstance(event, ev.ToolStatusChanged) and event.status != "asks"
        if turn is None and isinstance(event, ev.ToolStatusChanged) and event.status == ev.UNDONE:
            return  # it belongs to a branch that is not shown
        turn = turn or self._orphan(event.turn_id, event.agent_id)
        if turn.status != "speaking" and not is_late_status:
            name = "message_chunk" if isinstance(event, ev.TextAdded) else "process_step"
            self._count(ev.Unknown(name, repr(event), "more of a turn after its end"))
            return
        self.changed.add(turn.id)
        if not isinstance(event, ev.TextAdded):
            turn.apply(event)
            return
        whole = event.accumulated
        if whole is not None and len(whole) != turn.length + len(event.text):
            turn.replace(whole)
        elif event.text:
            turn.add(event.text, event.step_id)
        if event.text:
            self.agents[turn.agent_id].word = "speaking"

    def _turn_ended(self, event: ev.TurnEnded) -> None:
        turn = self.turn_of(event.turn_id) or self._orphan(event.turn_id, event.agent_id)
        is_newest = turn.part_id == event.turn_id
        if event.text and is_newest:  # an end without content never removes what was said
            turn.replace(event.text)
        self.ledger.account(turn, event.turn_id, event.token_count, event.usage, event.seconds)
        self.changed.add(turn.id)
        if is_newest:
            self._close(turn, *_ending(event))

    def _turn_done(self, event: ev.TurnDone) -> None:
        turn = self.turn_of(event.turn_id) or self.turn_of(event.message_id) or self.open_turn
        if turn is None:
            self._count(ev.Unknown("done", event.message_id, "the end of an answer that never began"))
            return
        self.ledger.account(turn, turn.part_id, event.token_count, event.usage)
        self._close(turn, "said")

    def _turn_failed(self, event: ev.TurnFailed) -> None:
        agent = self.members.failing(event, self.round)
        turn = agent.failing_turn(event)
        if turn is None:
            name = agent.name or event.agent_name
            turn = Turn(f"failed-{len(self.turns)}", round_number=self.round, sender_name=name)
            self._begin(turn, agent)
        self._close(turn, "failed", event.error)

    def _message_stored(self, message: ev.Message) -> None:
        turn = self.turn_of(message.id)
        if turn is None and self._continue_turn(message.continues, message.id):
            turn = self.turn_of(message.id)
        if turn is None:
            turn = self._stored_turn(message)
        is_newest = turn.part_id == message.id
        if is_newest:
            turn.take(message)
            self._guide = turn.compare_guide(self._guide)
        self.ledger.account(turn, message.id, message.token_count, message.usage, message.seconds)
        if message.id == turn.id:
            turn.parent_id = message.parent_id or turn.parent_id
            turn.versions = message.versions or turn.versions
            turn.created_at = message.created_at or turn.created_at
            turn.spoken = message.spoken or turn.spoken
        turn.sender_name = message.sender_name or turn.sender_name
        turn.attachments = message.attachments
        turn.superseded = turn.superseded or message.superseded
        if self.queue:
            self.queue = tuple(queued for queued in self.queue if queued.id != message.id)
        self.changed.add(turn.id)
        if not is_newest or turn.status != "speaking":
            return
        if message.status == "streaming":
            self.agents[turn.agent_id].word = "speaking" if turn.length else "thinking"
        elif message.status == "failed":
            self._close(turn, "failed", message.error)
        else:
            self._close(turn, *_ending(message))

    def _apply_to_message(self, event: ev.MessageStored | ev.MessageSpoken) -> None:
        if isinstance(event, ev.MessageStored):
            self._message_stored(event.message)
        elif (turn := self.turn_of(event.message_id)) is not None:
            turn.spoken = event.spoken
            self.changed.add(turn.id)

    def _stored_turn(self, message: ev.Message) -> Turn:
        turn = _new_turn(message.id, message)
        turn.versions = message.versions
        if message.role == "user":
            turn.status = "said"
            turn.to, turn.to_name = message.to, self.members.name_of(message.to)
            self._branch(turn)
            self.turns[turn.id] = turn
        else:
            self._begin(turn, self._speaker(message.agent_id, message.sender_name, message.round_number))
        return turn

    def _begin(self, turn: Turn, agent: Agent) -> None:
        self._branch(turn)
        self._keep(turn, agent)

    def _keep(self, turn: Turn, agent: Agent) -> None:
        # Nobody speaks twice at once: the end of the older turn is missing.
        if agent.open_turn is not None and agent.id != OTHERS:
            self._close(agent.open_turn, "cut", "lost")
        turn.agent_id, self.run_error = agent.id, ""
        turn.missing_before = agent.turns[-1].missing if agent.turns else ()
        self.turns[turn.id] = turn
        agent.turns.append(turn)
        self.changed.add(turn.id)

    def _branch(self, turn: Turn) -> None:
        """Make room for ``turn`` after its parent: remove what followed there and belongs to another
        branch.
        """
        last = self.last_turn
        self._has_parents = self._has_parents or bool(turn.parent_id)
        parent_id = self._heads.get(turn.parent_id, turn.parent_id)
        if last is None or last.id == parent_id or not self._has_parents:
            return
        ids = list(self.turns)
        if parent_id in self.turns:
            removed = ids[ids.index(parent_id) + 1 :]
        elif turn.parent_id:
            return  # its place is unknown: it is shown last
        else:
            removed = ids  # a different beginning
        sibling = self.turns[removed[0]]
        turn.versions = turn.versions or (*(sibling.versions or (sibling.id,)), turn.id)
        self._remove([self.turns[id_] for id_ in removed])

    def _remove(self, turns: Sequence[Turn]) -> None:
        self.generation += bool(turns)
        for turn in turns:
            del self.turns[turn.id]
            if turn.agent_id in self.agents and turn.role != "user":
                self.agents[turn.agent_id].turns.remove(turn)
            self.changed.discard(turn.id)

    def _close(self, turn: Turn, status: TurnStatus, why: str = "") -> None:
        """End a turn, once: the first end counts."""
        if turn.status == "speaking":
            turn.close(status, why)
            if (agent := self.agents.get(turn.agent_id)) is not None:
                agent.word = "said" if status == "said" else "cut" if status == "cut" else "failed"
        self.changed.add(turn.id)

    def _speaker(self, agent_id: str, name: str, round_number: int) -> Agent:
        return self.members.speaker(agent_id, name, round_number) if self.is_room else self.members.of("")

    def _claim(self, turn: Turn, agent: Agent) -> None:
        """Give a turn with an unknown speaker to its agent, now that it is known."""
        stranger = self.agents[STRANGER]
        if agent is stranger:
            return
        stranger.turns.remove(turn)
        if not stranger.turns:
            del self.agents[STRANGER]
        self._keep(turn, agent)
        if turn.status == "speaking":
            agent.word = "speaking"

    def _orphan(self, turn_id: str, agent_id: str) -> Turn:
        """Keep words of a turn that was never announced, under the agent if it is named."""
        agent = self.members.of((agent_id or STRANGER) if self.is_room else "")
        turn = Turn(turn_id, received_agent_id=agent_id, round_number=self.round, sender_name=agent.name)
        self._begin(turn, agent)
        return turn

    # --- the conversation ------------------------------------------------------------------------------

    def _load(self, info: ev.RoomInfo | ev.ConversationInfo, messages: tuple[ev.Message, ...]) -> None:
        earlier, task = self.turns, self.room.task if self.is_room else ""
        self.info, self.members, self.turns, self._heads = info, Agents(), {}, {}
        self.ledger, self.run_error, self._has_parents, self._guide = Ledger(), "", False, None
        agents = info.agents if isinstance(info, ev.RoomInfo) else ()
        self.members.take(agents)
        for message in messages:
            self._message_stored(message)
        self._keep_unstored(earlier)
        self.ledger.loaded(info.tokens, info.cost, counts_turns=self.is_room)  # a chat's are of one branch
        if isinstance(info, ev.RoomInfo):
            self.info = replace(info, task=info.task or task)
            if agents:
                self.members.take(agents)  # again: agents that spoke and were removed
            for agent in agents:
                if agent.status == "skipped" and agent.id in self.agents:
                    self.agents[agent.id].skip(self.round)
                    self.agents[agent.id].skip_next = agent.skip_next
            self.take_queue(info.queue)
            if info.status != "running":
                self._close_open_turns("cut", info.interrupted or "lost")
        self.loaded = True
        self.generation += 1
        self.changed = set(self.turns)

    def _keep_unstored(self, earlier: dict[str, Turn]) -> None:
        """Keep words that were received but not stored by the server: they are lost only there."""
        stored = {(turn.role, turn.text) for turn in self.turns.values() if not self.is_room}
        for turn in earlier.values():
            if turn.id in self.turns or not turn.steps.all:
                continue
            if self.is_room:
                is_kept = turn.role != "user"
            else:  # the others may belong to another branch
                is_kept = turn.is_local and (turn.role, turn.text) not in stored
            if not is_kept:
                continue
            self._close(turn, "cut", "lost")
            if turn.role == "user":
                self.turns[turn.id] = turn
            else:
                self._keep(turn, self._speaker("", turn.sender_name, turn.round_number))
                self.ledger.spend(turn)

    def _take_changed(self, event: ev.RoomChanged | ev.ConversationChanged) -> None:
        """Take the name, the agents and the settings; what was said stays as received."""
        if isinstance(event, ev.ConversationChanged):
            info, before = event.conversation, self.info
            if isinstance(before, ev.ConversationInfo) and _priced(info) == _priced(before):
                info = replace(info, unpriced=info.unpriced or before.unpriced)  # events do not have it
            self.info = info
            self.ledger.take(self.info.tokens, self.info.cost)
            return
        room, current = event.room, self.info
        if room == ev.RoomInfo(room.id) or not isinstance(current, ev.RoomInfo):
            return  # a server that answered nothing and has no list of rooms
        if room.agents:
            self.members.take(room.agents)
            for turn in self.turns.values():
                if turn.to in self.agents:
                    turn.to_name = self.members.name_of(turn.to)
        self.info = replace(
            room,
            id=current.id,
            name=room.name or current.name,
            task=room.task or current.task,
            status=current.status,
            interrupted=current.interrupted,
            current_round=current.current_round,
            max_rounds=room.max_rounds or current.max_rounds,
        )
        if current.status == "completed" and room.status == "paused" and room.max_rounds > current.max_rounds:
            # Rounds were added: there is no event for that.
            self.info = replace(self.info, status="paused", interrupted=room.interrupted)
        self.ledger.take(room.tokens, room.cost)
        self.take_queue(room.queue)

    def take_queue(self, queue: Iterable[ev.QueuedMessage]) -> None:
        """Take the messages that wait for the next turn; some may have been sent meanwhile."""
        self.queue = tuple(queued for queued in queue if queued.id not in self.turns)

    def _count(self, event: ev.Unknown) -> None:
        self.unknown_count += 1
        self.unknown.append(event)


def _new_turn(id_: str, source: ev.TurnStarted | ev.Message) -> Turn:
    return Turn(
        id_,
        received_agent_id=source.agent_id,
        role=source.role,
        sender_name=source.sender_name,
        sender_color=source.sender_color,
        round_number=source.round_number,
        parent_id=source.parent_id,
    )


def _ending(source: ev.TurnEnded | ev.Message) -> tuple[TurnStatus, str]:
    if source.error:
        return "failed", source.error
    return ("cut", source.interrupted) if source.interrupted else ("said", "")


def _failed_status(content: str) -> tuple[TurnStatus, str]:
    if content == STOPPED:
        return "cut", "stop"
    if content.startswith(INTERRUPTED):
        return "cut", content.removeprefix(INTERRUPTED)
    return "failed", content
