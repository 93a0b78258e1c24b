"""Deletions from a list. They can be undone as long as the program runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_tui.model.errors import AgentTuiError, NotFound
from agent_tui.model.inert import inert_line
from tui.link import Link
from tui.screens.localised import localised
from tui.screens.words import count, say

MAX_ERROR_CHARACTERS = 300


class Deletions:
    """What is going to be deleted on one server. The server is told only when the program is left normally;
    after a crash everything is still there. All lists of one kind share one object.
    """

    def __init__(self, link: Link[Any]) -> None:
        self._link = link
        self.resting: set[str] = set()  # what was stopped only for that, and goes on when it is undone
        self._marked: dict[str, None] = {}  # newest last

    def __len__(self) -> int:
        return len(self._marked)

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._marked

    def __iter__(self) -> Iterator[str]:
        return iter(self._marked)

    def add(self, item_id: str) -> None:
        """Delete an item when the program is left."""
        self._marked[item_id] = None

    def undo(self) -> str:
        """Keep the item that was deleted last; return its id, "" if there was none."""
        return self._marked.popitem()[0] if self._marked else ""

    async def settle(self) -> str:
        """Delete everything now, since the program is left; return what went wrong, as a line, or ""."""
        failed, reason = 0, ""
        while self._marked:
            item_id = next(iter(self._marked))
            try:
                await (await self._link.client()).delete(item_id)
            except NotFound:
                pass  # another client deleted it
            except AgentTuiError as error:
                failed, reason = failed + 1, localised(inert_line(str(error), MAX_ERROR_CHARACTERS))
            self._marked.pop(item_id, None)
        return say("list.not_deleted", count=count(failed), reason=reason) if failed else ""
