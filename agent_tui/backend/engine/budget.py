"""The budget of a conversation: compared with its usage before each turn and during it."""

from __future__ import annotations

from agent_tui.backend.engine.resources import ModelSource
from agent_tui.backend.models.prices import cost_of, unknown_cost
from agent_tui.backend.store.rows import ConversationRow
from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.budget import ceilings, limit_reached
from agent_tui.model.errors import Refused


def used_up(room: ConversationRow, more_tokens: int = 0, more_cost: float = 0.0) -> bool:
    """Return whether the room, including current usage, has reached a limit of its budget."""
    return bool(limit_reached(room, room.used_tokens + more_tokens, (room.used_cost or 0.0) + more_cost))


def check(room: ConversationRow) -> None:
    """Raise ``Refused`` (409) for a room that used up its budget; its detail names the setting to raise."""
    ceiling = limit_reached(room, room.used_tokens, room.used_cost)
    if not ceiling:
        return
    tokens, cost = ceilings(room)
    detail = (
        f"It used {room.used_tokens:,} of {tokens:,} tokens: raise its budget in tokens (max_tokens) first."
    )
    if ceiling != "max_tokens":
        used = f"{room.used_cost or 0.0:.4f} of {cost or 0.0:.4f}"
        detail = f"It used {used} US dollars: raise its budget in dollars (max_cost) first."
    raise Refused("The budget is used up", detail, status=409)


async def unpriced_models(row: ConversationRow, models: ModelSource) -> tuple[str, ...]:
    """Return the models whose price is unknown, if there is a budget in dollars: it does not limit them."""
    names: dict[str, None] = {}
    for agent in row.agents if row.max_cost else ():
        terms = models.terms(agent.provider_id, agent.model)
        if agent.provider_id != DEMO_PROVIDER and await cost_of(terms, agent.model) is unknown_cost:
            names[agent.model or agent.provider_id] = None
    return tuple(names)
