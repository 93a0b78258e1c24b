"""Deletions from a list, which can be undone as long as the program runs."""

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
    """What is to be deleted on one server. It hears of that only when the program is left in order: after a
    crash everything is still there. All lists of its kind, one after the other, share one.
    """

    def __init__(self, link: Link[Any]) -> None:
        self._link = link
        self._marked: dict[str, None] = {}  # newest last

    def __len__(self) -> int:
        return len(self._marked)

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._marked

    def __iter__(self) -> Iterator[str]:
        return iter(self._marked)

    def add(self, item_id: str) -> None:
        """Delete one when the program is left."""
        self._marked[item_id] = None

    def undo(self) -> str:
        """Keep the newest after all; return which one that was, "" if there was none."""
        return self._marked.popitem()[0] if self._marked else ""

    async def settle(self) -> str:
        """Delete everything now: the program is left. Return what went wrong, as a line; "" for nothing."""
        failed, reason = 0, ""
        while self._marked:
            item_id = next(iter(self._marked))
            try:
                await (await self._link.client()).delete(item_id)
            except NotFound:
                pass  # another client did
            except AgentTuiError as error:
                failed, reason = failed + 1, localised(inert_line(str(error), MAX_ERROR_CHARACTERS))
            self._marked.pop(item_id, None)
        return say("list.not_deleted", count=count(failed), reason=reason) if failed else ""
