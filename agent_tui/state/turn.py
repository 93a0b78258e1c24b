"""One turn and one agent of a room, as the screen knows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from agent_tui.growing_text import GrowingText

TurnStatus = Literal["speaking", "said", "cut", "failed"]
AgentWord = Literal["waiting", "thinking", "speaking", "said", "cut", "failed"]


@dataclass(slots=True)
class Turn:
    """One contribution. ``revision`` counts how often the text was replaced instead of added to, so that a
    reader who asks ``since`` for what is new knows when to start over.
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
    revision: int = 0
    _said: GrowingText = field(default_factory=GrowingText, repr=False)

    @property
    def text(self) -> str:
        """The whole text so far. Costs its length: for ends and exports, not for every chunk."""
        return self._said.text()

    @property
    def length(self) -> int:
        """Characters of the whole text so far. O(1)."""
        return self._said.length

    def since(self, length: int) -> str:
        """Return what stands behind the first ``length`` characters. Costs what it returns, not what was
        said before.
        """
        return self._said.slice(max(0, length), self._said.length)

    @property
    def tokens(self) -> int:
        """The server's count once it said it, else the protocol's estimate (characters // 4)."""
        return self.token_count or self.length // 4

    def add(self, text: str) -> None:
        """Append a chunk."""
        self._said.append(text)

    def replace(self, text: str) -> None:
        """Take ``text`` for the whole; a longer text that begins with the known one is only added to."""
        known = self.text
        if text == known:
            return
        if text.startswith(known):
            self.add(text[len(known) :])
            return
        self._said = GrowingText()
        self._said.append(text)
        self.revision += 1

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
        return any(t.round_number == round_number and t.status in ("said", "failed") for t in self.turns)
