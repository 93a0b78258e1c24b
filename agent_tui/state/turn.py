"""One turn and one agent of a room, as the screen knows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from agent_tui.model.chains import BETWEEN_STEPS, sum_of
from agent_tui.model.events import Step, StepAdded, StepSet, ToolStatusChanged, TurnNoted, Usage
from agent_tui.state.notes import take_note
from agent_tui.state.steps import Steps
from agent_tui.state.told_text import ToldText

StepEvent = StepSet | StepAdded | ToolStatusChanged

TurnStatus = Literal["speaking", "said", "cut", "failed"]
AgentWord = Literal["waiting", "thinking", "speaking", "said", "cut", "failed", "skipped"]

# Why a turn was cut that counts as finished: whoever cut it wants no second attempt.
FINISHED_BY = frozenset({"stop", "skip", "length"})
FIRST_STEP = "step-0"  # where the words came before anybody named their step


@dataclass(slots=True)
class Turn:
    """One contribution; its text as ``ToldText`` has it.

    Attempts that continue it are parts of it: ``part_id`` is the id of the newest, ``parts`` their number.
    """

    id: str
    agent_id: str = ""
    role: str = "assistant"
    sender_name: str = ""
    sender_color: str = ""
    round_number: int = 0
    attempt: int = 1
    status: TurnStatus = "speaking"
    interrupted: str = ""
    error: str = ""
    token_count: int = 0
    created_at: str = ""
    superseded: bool = False  # it was said again, by a newer turn
    to: str = ""  # id of the agent a whisper is for
    to_name: str = ""  # its name, or its id where nobody has that
    usage: Usage | None = None
    trimmed: int = 0  # how many older messages its model was not told
    is_loading: bool = False  # its model is being loaded, and has said nothing yet
    has_no_tools: bool = False  # its model takes none, and was asked without
    waits_for: str = ""  # the MCP servers that are waited for
    missing: tuple[str, ...] = ()  # MCP servers whose tools its model was not offered, and why
    steps: Steps | None = None  # once it did more than speak
    waits: TurnNoted | None = None  # since it said its last words
    part_id: str = ""
    parts: int = 1
    _before: str = field(default="", repr=False)  # the words of the parts before the newest one
    _used: dict[str, tuple[int, Usage | None]] = field(default_factory=dict, repr=False)  # by part
    _said: ToldText = field(default_factory=ToldText, repr=False)
    _step_id: str = ""  # of the text step that grows

    def __post_init__(self) -> None:
        self.part_id = self.part_id or self.id

    @property
    def revision(self) -> int:
        """How often the text was replaced instead of added to."""
        return self._said.revision

    @property
    def text(self) -> str:
        """The whole text so far. Costs its length: for ends and exports, not for every chunk."""
        return self._said.text

    @property
    def length(self) -> int:
        """Characters of the whole text so far. O(1)."""
        return self._said.length

    def since(self, length: int) -> str:
        """Return what stands behind the first ``length`` characters. Costs what it returns, not what was
        said before.
        """
        return self._said.since(length)

    @property
    def tokens(self) -> int:
        """What it said, in the provider's count where that is known, else as the server or the protocol
        (characters // 4) estimates it.
        """
        if self.usage is not None and self.usage.completion_tokens and self.status != "speaking":
            return self.usage.completion_tokens
        return self.token_count if self.token_count and self.parts == 1 else self.length // 4

    @property
    def spent(self) -> int:
        """Tokens it cost: the provider's count of both sides where that is known, else ``token_count``."""
        if self.usage is not None:
            return self.usage.prompt_tokens + self.usage.completion_tokens
        return 0 if self.role == "user" else self.token_count

    @property
    def cost(self) -> float | None:
        """US dollars, ``None`` where no price is known."""
        return self.usage.cost if self.usage is not None else None

    @property
    def is_finished(self) -> bool:
        """Whether it is over and needs no second attempt."""
        if self.superseded or self.status == "speaking":
            return False
        return self.status != "cut" or self.interrupted in FINISHED_BY

    def go_on(self, part_id: str) -> None:
        """A message begins that continues this one."""
        self.part_id, self.parts = part_id, self.parts + 1
        self.status, self.interrupted, self.error = "speaking", "", ""
        self._before, self._step_id = self.text, ""
        if self.steps is not None:
            self.steps.go_on()

    def account(self, part_id: str, token_count: int, usage: Usage | None) -> None:
        """Take what a part has used, once however often it is told."""
        known = self._used.get(part_id, (0, None))
        self._used[part_id] = token_count, usage or known[1]
        self.token_count = sum(count for count, _ in self._used.values())
        self.usage = None
        for _, used in self._used.values():
            self.usage = sum_of(self.usage, used)

    def add(self, text: str, step_id: str = "") -> None:
        """Append a chunk of that text step."""
        self.is_loading = False
        self.waits = None
        if self.steps is not None:
            self._add_to_step(self.steps, text, step_id or self._step_id)
        self._step_id = step_id or self._step_id
        self._said.add(text)

    def apply(self, event: StepEvent) -> None:
        """Take what is told of a step. The words that were said before the first one are a step too."""
        self.is_loading = False
        self.waits = None
        if self.steps is None:
            self.steps = Steps()
            if self.length:
                self.steps.apply(StepAdded(self.id, self._step_id or FIRST_STEP, self.text))
        step = self.steps.apply(event)
        self._step_id = step.id if step.type == "text" else ""

    def note(self, event: TurnNoted) -> None:
        """Take what happens to it besides words."""
        take_note(self, event, has_begun=bool(self.length))

    def take_steps(self, steps: Iterable[Step]) -> None:
        """Take the steps of the newest part as they are stored."""
        for step in steps:
            if self.steps is None:
                self.steps = Steps()
                if self._before:
                    self.steps.apply(StepAdded(self.id, FIRST_STEP, self._before))
                    self.steps.go_on()
            self.steps.apply(StepSet(self.id, step))
            self._step_id = step.id if step.type == "text" else ""

    def _add_to_step(self, steps: Steps, text: str, step_id: str) -> None:
        step_id = step_id or f"said-{len(steps)}"
        if step_id not in steps.all and self.length:
            text = text.removeprefix(BETWEEN_STEPS)
        steps.apply(StepAdded(self.id, step_id, text))
        self._step_id = step_id

    def replace(self, text: str) -> None:
        """Take ``text`` for all of the newest part; one that begins with the known text is only added to."""
        self._said.replace(self._before + text)

    def compact(self) -> None:
        """Let the text take as little memory as it can: the turn is over."""
        self._said.compact()


@dataclass(slots=True)
class Agent:
    """One agent with its turns in order; ``word`` says what it is doing, as far as it was received."""

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
    is_gone: bool = False  # it was taken out of the room; what it said is still here
    turns: list[Turn] = field(default_factory=list)

    @property
    def open_turn(self) -> Turn | None:
        """The turn under way, if there is one."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and last.status == "speaking" else None

    @property
    def tokens(self) -> int:
        """Tokens of all its turns, by the protocol's count."""
        return sum(turn.tokens for turn in self.turns)

    def has_said(self, round_number: int) -> bool:
        """Whether its turn of that round is over and needs no second attempt."""
        if self.skipped_round and self.skipped_round == round_number:
            return True
        return any(turn.round_number == round_number and turn.is_finished for turn in self.turns)
