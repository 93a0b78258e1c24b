"""A chat as the screen knows it: ``ConversationState.apply`` takes every event, in any order.

Shown is one branch of the conversation, from its beginning to its newest message. A message that follows
an earlier one than the last begins a new branch there.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from agent_tui.model import events as ev
from agent_tui.model.chains import sum_of
from agent_tui.state.notes import take_note, take_stored
from agent_tui.state.steps import Steps, StepState

MAX_KEPT_UNKNOWN = 200
STOPPED = "Stopped"  # the ``error`` of an answer that somebody stopped (ours)
INTERRUPTED = "Interrupted: "  # before the reason of one that was cut otherwise (ours)

ChatStatus = Literal["speaking", "said", "cut", "failed"]
StepEvent = ev.StepSet | ev.StepAdded | ev.ToolStatusChanged


@dataclass(slots=True)
class ChatTurn:
    """One message of either side; ``text`` is a person's, an answer has ``steps``.

    Answers that continue it are parts of it: ``part_id`` is the id of the newest, ``parts`` their number.
    """

    id: str
    role: str = "assistant"
    parent_id: str = ""
    text: str = ""
    attachments: tuple[ev.Attachment, ...] = ()
    versions: tuple[str, ...] = ()
    model: str = ""
    attempt: int = 1
    status: ChatStatus = "speaking"
    interrupted: str = ""  # why it was cut
    error: str = ""  # why it failed
    token_count: int = 0
    usage: ev.Usage | None = None
    seconds: float | None = None
    created_at: str = ""
    trimmed: int = 0  # how many older messages its model was not told
    is_loading: bool = False  # its model is being loaded, and has said nothing yet
    has_no_tools: bool = False  # its model takes none, and was asked without
    waits_for: str = ""  # the MCP servers that are waited for
    missing: tuple[str, ...] = ()  # MCP servers whose tools its model was not offered, and why
    progress: str = ""  # what its agent told of how far it is, outside of a tool
    waits: ev.TurnNoted | None = None  # since it said its last words
    spoken: ev.Spoken | None = None  # in a voice session
    steps: Steps = field(default_factory=Steps)
    part_id: str = ""
    parts: int = 1
    _used: dict[str, tuple[int, ev.Usage | None, float | None]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.part_id = self.part_id or self.id

    def go_on(self, part_id: str) -> None:
        """An answer begins that continues this one."""
        self.part_id, self.parts = part_id, self.parts + 1
        self.status, self.interrupted, self.error = "speaking", "", ""
        self.steps.go_on()

    def account(
        self, part_id: str, token_count: int, usage: ev.Usage | None, seconds: float | None = None
    ) -> None:
        """Take what a part has used and how long it took, once however often it is told."""
        count, known, took = self._used.get(part_id, (0, None, None))
        took = seconds if seconds is not None else took
        self._used[part_id] = token_count or count, usage or known, took
        self.token_count = sum(count for count, _, _ in self._used.values())
        times = [seconds for _, _, seconds in self._used.values() if seconds is not None]
        self.seconds = sum(times) if times else None
        self.usage = None
        for _, used, _ in self._used.values():
            self.usage = sum_of(self.usage, used)

    @property
    def said(self) -> str:
        """The words of this message, thoughts and tools left out. Costs their length."""
        return self.text if self.role == "user" else self.steps.text

    @property
    def tokens(self) -> int:
        """What it said, in the provider's count; 0 where that is unknown."""
        return self.usage.completion_tokens if self.usage is not None else self.token_count

    @property
    def spent(self) -> int:
        """Tokens it cost: the provider's count of both sides where that is known, else ``token_count``."""
        if self.usage is not None:
            return self.usage.prompt_tokens + self.usage.completion_tokens
        return 0 if self.role == "user" else self.token_count

    @property
    def is_local(self) -> bool:
        """Whether its id is our own, because its server names none."""
        return self.id.startswith(ev.LOCAL_ID)


@dataclass(slots=True)
class ConversationState:
    """Everything a chat screen draws.

    ``changed`` holds the ids of turns that must be looked at again (``ChatTurn.steps.changed`` says which
    steps); who draws, empties both. ``generation`` counts how often turns were taken away or loaded anew:
    a transcript then starts over.
    """

    conversation: ev.ConversationInfo = field(default_factory=lambda: ev.ConversationInfo(""))
    turns: dict[str, ChatTurn] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    generation: int = 0
    loaded: bool = False
    run_error: str = ""  # why the last answer is not whole, where a server said so of none
    link: ev.LinkChanged = field(default_factory=lambda: ev.LinkChanged("connecting"))
    unknown_count: int = 0
    unknown: deque[ev.Unknown] = field(default_factory=lambda: deque(maxlen=MAX_KEPT_UNKNOWN))
    _asking: dict[tuple[str, str], None] = field(default_factory=dict)
    _open: str = ""  # id of the turn under way
    _tells_parents: bool = False  # does the server say which message follows which
    _heads: dict[str, str] = field(default_factory=dict)  # id of what continues an answer → the answer's
    counts_prompts: bool = False  # what was spent counts prompts, too, as the providers do
    _loaded_tokens: int = 0
    _loaded_cost: float | None = None
    _spent_tokens: int = 0  # since it was loaded
    _spent_cost: float | None = None

    # --- what screens ask ------------------------------------------------------------------------------

    @property
    def open_turn(self) -> ChatTurn | None:
        """The answer under way, if there is one."""
        return self.turns.get(self._open)

    @property
    def asking(self) -> list[tuple[str, str]]:
        """The calls that ask a person, as (turn id, step id), oldest first."""
        return list(self._asking)

    @property
    def last_turn(self) -> ChatTurn | None:
        """The newest message of the branch that is shown."""
        return self.turns[next(reversed(self.turns))] if self.turns else None

    @property
    def used_tokens(self) -> int:
        """What the budget counts: what the server said last, or more where answers cost more since."""
        return max(self.conversation.tokens, self._loaded_tokens + self._spent_tokens)

    @property
    def cost(self) -> float | None:
        """The same in US dollars, ``None`` where no price is known."""
        ours = [cost for cost in (self._loaded_cost, self._spent_cost) if cost is not None]
        known = [cost for cost in (self.conversation.cost, sum(ours) if ours else None) if cost is not None]
        return max(known) if known else None

    def step(self, turn_id: str, step_id: str) -> StepState | None:
        """Return one step, ``None`` where there is none."""
        turn = self.turn_of(turn_id)
        return turn.steps.all.get(step_id) if turn is not None else None

    def turn_of(self, message_id: str) -> ChatTurn | None:
        """Return the turn that the message is, or part of; ``None`` where there is none."""
        return self.turns.get(self._heads.get(message_id, message_id))

    def whole_text(self) -> str:
        """Every answer's words in order, cut ones included, joined by a blank line."""
        texts = (turn.said for turn in self.turns.values() if turn.role != "user")
        return "\n\n".join(text for text in texts if text)

    # --- the only way in -------------------------------------------------------------------------------

    def apply(self, event: ev.Event) -> None:
        """Take one event. Never raises for what a server may send."""
        match event:
            case ev.StepAdded() | ev.StepSet() | ev.ToolStatusChanged():
                self._step_told(event)
            case ev.TurnStarted():
                self._turn_started(event)
            case ev.TurnNoted():
                self._turn_noted(event)
            case ev.TurnEnded():
                self._turn_ended(event)
            case ev.TurnDone():
                self._turn_done(event)
            case ev.RunFailed(content):
                self._failed(content)
            case ev.MessageStored(message):
                self._message_stored(message)
            case ev.MessageSpoken(message_id, spoken):
                if (turn := self.turn_of(message_id)) is not None:
                    turn.spoken = spoken
                    self.changed.add(turn.id)
            case ev.ConversationLoaded(conversation, messages):
                self._loaded(conversation, messages)
            case ev.ConversationChanged(conversation):
                self.conversation = conversation
            case ev.LinkChanged():
                self.link = event
            case ev.Unknown():
                self._count(event)
            case (
                ev.RunStarted()
                | ev.RunPaused()
                | ev.RunCompleted()
                | ev.RoundStarted()
                | ev.ParallelStarted()
                | ev.ParallelEnded()
                | ev.RoundEnded()
                | ev.AgentStatusChanged()
                | ev.TextAdded()
                | ev.TurnFailed()
                | ev.RoomLoaded()
                | ev.RoomChanged()
            ):
                pass  # of rooms

    # --- an answer -------------------------------------------------------------------------------------

    def _turn_started(self, event: ev.TurnStarted) -> None:
        turn = self.turn_of(event.turn_id)
        if turn is None and (gone_on := self._gone_on(event.continues, event.turn_id)):
            turn = gone_on
        elif turn is not None:  # told twice, or late: fill in what an orphan step could not know
            turn.parent_id = turn.parent_id or event.parent_id
            turn.model, turn.attempt = event.sender_name or turn.model, event.attempt
        else:
            turn = ChatTurn(event.turn_id, event.role, event.parent_id, model=event.sender_name)
            turn.attempt = event.attempt
            self._begin(turn)
        self.changed.add(turn.id)

    def _turn_noted(self, event: ev.TurnNoted) -> None:
        turn = self.turn_of(event.turn_id)
        if turn is None or turn.status != "speaking":
            return
        if event.note.startswith("file_"):  # it stands where it was told
            place = len(turn.steps)
            shared = ev.Step(f"{event.note} {place}", place, event.note, name=event.about)
            turn.steps.apply(ev.StepSet(turn.id, shared))
        elif event.note == "progress":
            turn.progress = ": ".join(filter(None, (event.agent_name, event.about)))
        else:
            take_note(turn, event, has_begun=bool(turn.steps.all))
        self.changed.add(turn.id)

    def _gone_on(self, continues: str, message_id: str) -> ChatTurn | None:
        """Let the answer that ``continues`` names go on, if it is the last of the branch; return it."""
        turn = self.turn_of(continues) if continues else None
        if turn is None or turn is not self.last_turn or turn.role == "user":
            return None
        if turn.status == "speaking":
            self._close(turn, "cut", "lost")
        self._heads[message_id] = turn.id
        turn.go_on(message_id)
        self._open, self.run_error = turn.id, ""
        return turn

    def _begin(self, turn: ChatTurn) -> None:
        self._branch(turn)
        if (older := self.open_turn) is not None:  # one answer at a time: the older one lost its end
            self._close(older, "cut", "lost")
        self.turns[turn.id] = turn
        self._open, self.run_error = turn.id, ""

    def _branch(self, turn: ChatTurn) -> None:
        """Make room for ``turn`` behind its parent: what followed that belongs to another branch."""
        last = self.last_turn
        self._tells_parents = self._tells_parents or bool(turn.parent_id)
        parent_id = self._heads.get(turn.parent_id, turn.parent_id)
        if last is None or last.id == parent_id or not self._tells_parents:
            return
        ids = list(self.turns)
        if parent_id in self.turns:
            gone = ids[ids.index(parent_id) + 1 :]
        elif turn.parent_id:
            return  # nobody knows where it belongs: it is shown last
        else:
            gone = ids  # another beginning
        sibling = self.turns[gone[0]]
        turn.versions = turn.versions or (*(sibling.versions or (sibling.id,)), turn.id)
        if (older := self.open_turn) is not None and older.id in gone:
            self._close(older, "cut", "lost")
        for id_ in gone:
            del self.turns[id_]
            self.changed.discard(id_)
        self.generation += 1

    def _step_told(self, event: StepEvent) -> None:
        turn = self.turn_of(event.turn_id)
        if turn is None:
            turn = ChatTurn(event.turn_id)  # never announced: its steps are kept
            self._begin(turn)
        elif turn.status != "speaking" and (
            not isinstance(event, ev.ToolStatusChanged) or event.status == "asks"
        ):
            self._count(ev.Unknown("process_step", repr(event), "a step after its answer's end"))
            return
        turn.is_loading, turn.progress = False, ""
        turn.waits = None
        step = turn.steps.apply(event)
        self._note_asking(turn, step)
        if step.call_id:
            self._note_asking(turn, turn.steps.all[step.call_id])
        self.changed.add(turn.id)

    def _note_asking(self, turn: ChatTurn, step: StepState) -> None:
        if step.status == "asks":
            self._asking[turn.id, step.id] = None
        elif self._asking:
            self._asking.pop((turn.id, step.id), None)

    def _turn_ended(self, event: ev.TurnEnded) -> None:
        turn = self.turn_of(event.turn_id)
        if turn is None:
            turn = ChatTurn(event.turn_id)
            self._begin(turn)
        self._account(turn, event.turn_id, event.token_count, event.usage, event.seconds)
        if event.turn_id != turn.part_id:
            return
        if event.error:
            self._close(turn, "failed", event.error)
        elif event.interrupted:
            self._close(turn, "cut", event.interrupted)
        else:
            self._close(turn, "said")

    def _turn_done(self, event: ev.TurnDone) -> None:
        turn = self.turn_of(event.turn_id) or self.turn_of(event.message_id) or self.open_turn
        if turn is None:
            self._count(ev.Unknown("done", event.message_id, "the end of an answer that never began"))
            return
        self._account(turn, turn.part_id, event.token_count, event.usage)
        self._close(turn, "said")

    def _failed(self, content: str) -> None:
        turn = self.open_turn
        if turn is None:
            last = self.last_turn  # it may have been told why already
            is_told = last is not None and last.status in ("cut", "failed")
            self.run_error = "" if is_told else content
        elif content == STOPPED:
            self._close(turn, "cut", "stop")
        elif content.startswith(INTERRUPTED):
            self._close(turn, "cut", content.removeprefix(INTERRUPTED))
        else:
            self._close(turn, "failed", content)

    def _account(
        self,
        turn: ChatTurn,
        part_id: str,
        token_count: int,
        usage: ev.Usage | None,
        seconds: float | None = None,
    ) -> None:
        """Take what a part of an answer has used, once however often it is told."""
        tokens, cost = turn.spent, turn.usage.cost if turn.usage else None
        turn.account(part_id, token_count, usage, seconds)
        self.counts_prompts = self.counts_prompts or bool(usage and usage.prompt_tokens)
        self._spent_tokens += turn.spent - tokens
        if turn.usage is not None and turn.usage.cost is not None:
            self._spent_cost = (self._spent_cost or 0.0) + turn.usage.cost - (cost or 0.0)

    def _close(self, turn: ChatTurn, status: ChatStatus, why: str = "") -> None:
        """End a turn, once: what was told first stays true."""
        if turn.id == self._open:
            self._open = ""
        if turn.status == "speaking":
            turn.status = status
            turn.error, turn.interrupted = (why, "") if status == "failed" else ("", why)
            turn.steps.close("unknown" if status == "said" or why == "crash" else "cut")
            self._asking = {asking: None for asking in self._asking if asking[0] != turn.id}
        self.changed.add(turn.id)

    # --- what is stored --------------------------------------------------------------------------------

    def _message_stored(self, message: ev.Message) -> None:
        turn = self.turn_of(message.id) or self._gone_on(message.continues, message.id)
        if turn is None:
            turn = ChatTurn(message.id, message.role, message.parent_id, versions=message.versions)
            if message.role == "user":
                turn.status = "said"
                self._branch(turn)
                self.turns[turn.id] = turn
            else:
                self._begin(turn)
        if message.id == turn.id:
            turn.parent_id = message.parent_id or turn.parent_id
            turn.versions = message.versions or turn.versions
            turn.created_at = message.created_at or turn.created_at
            turn.spoken = message.spoken or turn.spoken
        if message.role == "user":
            turn.text, turn.attachments = message.text, message.attachments
        else:
            self._answer_stored(turn, message)
        self.changed.add(turn.id)

    def _answer_stored(self, turn: ChatTurn, message: ev.Message) -> None:
        turn.model = message.sender_name or turn.model
        take_stored(turn, message)
        self._account(turn, message.id, message.token_count, message.usage, message.seconds)
        if message.id != turn.part_id:
            return
        for step in message.steps:
            self._note_asking(turn, turn.steps.apply(ev.StepSet(turn.id, step)))
        if message.error or message.status == "failed":
            self._close(turn, "failed", message.error)
        elif message.interrupted:
            self._close(turn, "cut", message.interrupted)
        elif message.status != "streaming":
            self._close(turn, "said")

    def _loaded(self, conversation: ev.ConversationInfo, messages: tuple[ev.Message, ...]) -> None:
        known = self.turns
        self.conversation, self.turns, self._heads = conversation, {}, {}
        self.counts_prompts = False
        self._asking, self._open, self.run_error, self._tells_parents = {}, "", "", False
        for message in messages:
            self._message_stored(message)
        self._keep_unstored(known)
        self._loaded_tokens, self._loaded_cost = conversation.tokens, conversation.cost
        self._spent_tokens, self._spent_cost = 0, None
        self.generation += 1
        self.loaded = True
        self.changed = set(self.turns)

    def _keep_unstored(self, known: dict[str, ChatTurn]) -> None:
        """Keep words that a server without ids of ours has no record of: they are lost only there."""
        stored = {(turn.role, turn.said) for turn in self.turns.values()}
        for turn in known.values():
            if turn.is_local and turn.said and (turn.role, turn.said) not in stored:
                self._close(turn, "cut", "lost")
                self.turns[turn.id] = turn

    def _count(self, event: ev.Unknown) -> None:
        self.unknown_count += 1
        self.unknown.append(event)
