"""What a conversation has used: the server's count, or ours where more is known."""

from __future__ import annotations

from dataclasses import dataclass

from agent_tui.model.budget import ceilings, reached
from agent_tui.model.events import RoomInfo, Usage
from agent_tui.state.turn import Turn


@dataclass(slots=True)
class Ledger:
    """``counts_prompts``: what was spent counts prompts, too, as the providers do."""

    counts_prompts: bool = False
    _told_tokens: int = 0
    _told_cost: float | None = None
    _tokens: int = 0  # what was told or counted when the conversation was loaded, and what was spent since
    _cost: float | None = None
    _reached: tuple[int, float | None] | None = None  # the ceilings when it was paused for them

    @property
    def tokens(self) -> int:
        """What the budget counts: what the server said last, or more where turns cost more since."""
        return max(self._told_tokens, self._tokens)

    @property
    def cost(self) -> float | None:
        """The same in US dollars, ``None`` where no price is known."""
        return max((cost for cost in (self._told_cost, self._cost) if cost is not None), default=None)

    def paused(self, room: RoomInfo | None) -> None:
        """The room was paused: because what it may use was used, or (``None``) for something else."""
        self._reached = None if room is None else ceilings(room)

    def is_used_up(self, room: RoomInfo) -> bool:
        """Say whether the room is paused for its budget, and that was not raised since."""
        if room.status != "paused" or room.interrupted != "budget":
            return False
        if self._reached == ceilings(room):
            return True  # whatever is counted here: who paused it counts better
        return bool(reached(room, self.tokens, self.cost))

    def tell(self, tokens: int, cost: float | None) -> None:
        """Take what the server says now."""
        self._told_tokens, self._told_cost = tokens, cost

    def loaded(self, tokens: int, cost: float | None, *, counts_turns: bool) -> None:
        """Take what the server said when the conversation was loaded: what turns under way still use comes
        on top. ``counts_turns``: what the stored turns used counts where that is more.
        """
        self.tell(tokens, cost)
        self._tokens, self._cost = (self.tokens, self.cost) if counts_turns else (tokens, cost)

    def account(
        self, turn: Turn, part_id: str, token_count: int, usage: Usage | None, seconds: float | None = None
    ) -> None:
        """Take what a part of a turn has used, once however often it is told."""
        tokens, cost = turn.spent, turn.cost or 0.0
        turn.account(part_id, token_count, usage, seconds)
        self.counts_prompts = self.counts_prompts or bool(usage and usage.prompt_tokens)
        self.spend(turn, tokens, cost)

    def spend(self, turn: Turn, tokens: int = 0, cost: float = 0.0) -> None:
        """Count what ``turn`` cost beyond what was counted of it before."""
        self._tokens += turn.spent - tokens
        if turn.cost is not None:
            self._cost = (self._cost or 0.0) + turn.cost - cost
