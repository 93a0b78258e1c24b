"""One line under a list while there is only the demo model."""

from __future__ import annotations

from typing import Any

from textual import work
from textual.widgets import Static

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.errors import AgentTuiError
from tui.link import Link
from tui.screens.words import say


class SetupOffer(Static):
    """Says which key connects a model, as long as there is none; takes no row otherwise."""

    DEFAULT_CSS = (
        "SetupOffer { height: auto; padding: 0 1; display: none; } SetupOffer.-shown { display: block; }"
    )

    def __init__(self, link: Link[Any]) -> None:
        super().__init__(markup=False)
        self._link = link

    @work(group="offer", exclusive=True)
    async def look(self, key: str) -> None:
        """Ask the backend for its providers; ``key`` is the one that connects a model, "" if there is
        none.
        """
        try:
            providers = await (await self._link.client()).backend.providers()
        except AgentTuiError:
            return  # unknown; the next look may tell
        is_needed = bool(key) and all(provider.kind == DEMO_PROVIDER for provider in providers)
        self.update(say("list.only_demo", press=key) if is_needed else "")
        self.set_class(is_needed, "-shown")
