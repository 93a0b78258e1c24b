"""What conversations need to run: their store, their models, their tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agent_tui.backend.engine.answer.asks import Asks
from agent_tui.backend.engine.answer.tools import ToolSource
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.models.model import Model
from agent_tui.backend.models.prices import Terms
from agent_tui.backend.store.store import Store


class ModelSource(Protocol):
    """The source of models (models/providers.py)."""

    def default_provider(self) -> str:
        """Return the provider of agents that name none; raise ``ModelError`` while it is unknown."""
        ...

    def default_model(self, provider_id: str) -> str: ...

    def check(self, provider_id: str) -> None:
        """Raise ``ModelError`` for a provider that is known not to exist."""
        ...

    def open(self, provider_id: str, model: str) -> tuple[Model, int]:
        """Return (model, max_tokens of an answer, 0: the provider's limit); raises ``ModelError`` if there is
        none.
        """
        ...

    def terms(self, provider_id: str, model: str = "") -> Terms:
        """Return the context size and the prices of the provider's model. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Resources:
    """What one store and one event loop share. ``asks`` holds the calls and rules of all conversations."""

    store: Store
    models: ModelSource
    timing: Timing
    tools: ToolSource
    asks: Asks

    def now(self) -> str:
        """Return the current time for stored things (ISO 8601)."""
        return self.timing.now().isoformat()

    async def write(self, conversation_id: str, written: ChangeSet) -> int:
        """Commit ``written`` as a whole; return the seq of its first event. Raises ``StoreError``."""
        return await self.store.append(conversation_id, written.events, written.changes)
