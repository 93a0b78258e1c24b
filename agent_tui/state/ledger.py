"""The usage of a conversation: the server's count, or ours if it is higher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_tui.model.budget import HasLimits, ceilings, limit_reached
from agent_tui.model.events import RoomInfo, Usage
from agent_tui.state.turn import Turn


@dataclass(slots=True)
class Ledger:
    """``counts_prompts``: the usage includes prompts, as the providers count."""

    counts_prompts: bool = False
    _server_tokens: int = 0
    _server_cost: float | None = None
    _tokens: int = 0  # what was known when the conversation was loaded, and what was used since
    _cost: float | None = None
    _reached: tuple[int, float | None] | None = None  # the limits when the room was paused because of them

    @property
    def tokens(self) -> int:
        """What the budget counts: what the server said last, or more if turns have used more since."""
        return max(self._server_tokens, self._tokens)

    @property
    def cost(self) -> float | None:
        """The cost in US dollars, ``None`` if a price is unknown."""
        return max((cost for cost in (self._server_cost, self._cost) if cost is not None), default=None)

    def paused(self, room: RoomInfo | None) -> None:
        """Note why the room was paused: because its budget was used up, or (``None``) for another reason."""
        self._reached = None if room is None else ceilings(room)

    def is_used_up(self, room: RoomInfo) -> bool:
        """Return whether the room is paused for its budget, or done and without any left, and that was not
        raised since.
        """
        if room.status == "completed":
            return bool(self.limit_reached(room))
        if room.status != "paused" or room.interrupted != "budget":
            return False
        if self._reached == ceilings(room):
            return True  # whatever is counted here: the server that paused it knows better
        return bool(self.limit_reached(room))

    def limit_reached(self, limits: HasLimits) -> Literal["", "max_tokens", "max_cost"]:
        """Return the setting whose limit is reached by what was used, "" for neither."""
        return limit_reached(limits, self.tokens, self.cost)

    def take(self, tokens: int, cost: float | None) -> None:
        """Take the server's current count."""
        self._server_tokens, self._server_cost = tokens, cost

    def loaded(self, tokens: int, cost: float | None, *, counts_turns: bool) -> None:
        """Take the server's count from when the conversation was loaded: what current turns still use is
        added. ``counts_turns``: use the sum of the stored turns if it is higher.
        """
        self.take(tokens, cost)
        self._tokens, self._cost = (self.tokens, self.cost) if counts_turns else (tokens, cost)

    def account(
        self, turn: Turn, part_id: str, token_count: int, usage: Usage | None, seconds: float | None = None
    ) -> None:
        """Count what a part of a turn used, once, however often it is sent."""
        tokens, cost = turn.spent, turn.cost or 0.0
        turn.account(part_id, token_count, usage, seconds)
        self.counts_prompts = self.counts_prompts or bool(usage and usage.prompt_tokens)
        self.spend(turn, tokens, cost)

    def spend(self, turn: Turn, tokens: int = 0, cost: float = 0.0) -> None:
        """Count what ``turn`` used beyond what was counted already."""
        self._tokens += turn.spent - tokens
        if turn.cost is not None:
            self._cost = (self._cost or 0.0) + turn.cost - cost
