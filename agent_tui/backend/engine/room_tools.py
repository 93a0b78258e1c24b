"""What agents of rooms use tools with: the tools, and who says whether they may run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path

from agent_tui.backend.engine.answer_history import steps_told
from agent_tui.backend.engine.answer_tools import ToolSource, Workshop, offered
from agent_tui.backend.engine.chat_asks import Asks, Word
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.models.model import ChatMessage, NotePiece, ToolSpec
from agent_tui.backend.store import steps as stored_steps
from agent_tui.backend.store.rows import ROOM, ConversationRow, TurnRow
from agent_tui.backend.store.store import Store
from agent_tui.backend.tools.tool import ToolPlace


class RoomTools:
    """The tools of all rooms of one store; ``asks`` are those of its chats too."""

    def __init__(self, store: Store, tools: ToolSource, asks: Asks) -> None:
        self._store = store
        self._tools = tools
        self._asks = asks

    def workshop(self, room: ConversationRow, message_id: str) -> Workshop:
        """Return what the calls of one turn are run with."""
        place = ToolPlace(Path(room.workspace) if room.workspace else None)
        return Workshop(self._tools, self._asks.gate(room.id, message_id), place, frozenset(room.tools or ()))

    async def offered(
        self,
        room: ConversationRow,
        cut: asyncio.Event,
        timing: Timing,
        tell: Callable[[NotePiece], Awaitable[None]],
    ) -> tuple[ToolSpec, ...]:
        """Return the tools that agents of the room may call; none once ``cut`` (``answer_tools.offered``)."""
        return await offered(
            self._tools, room.tools, lambda name: name in (room.tools or ()), cut, timing, tell
        )

    async def called_before(
        self, room: ConversationRow, turn: TurnRow, continued: Collection[str] = ()
    ) -> list[ChatMessage]:
        """Return what attempts at this turn that were cut called, and what came of it: who says it again has
        to know what was done. Their words it says anew. ``continued`` are the messages that it continues.
        """
        told: list[ChatMessage] = []
        for steps in await self._store.read(stored_steps.steps_before, room.id, turn, continued):
            told += steps_told([step for step in steps if step.type in ("tool_call", "tool_result")])
        return told

    def attend(self, room_id: str) -> AbstractContextManager[None]:
        """Somebody reads the room who can answer what tools ask, as long as the context is open."""
        return self._asks.attend(room_id)

    def asks_in(self, room_id: str) -> bool:
        """Return whether a tool in the room waits for somebody's word."""
        return self._asks.waits_in(room_id)

    async def answer(self, key: tuple[str, str, str], word: Word) -> None:
        """Give a person's word on a call (room, message, step).

        Raises ``Refused``: 422 for bad words, 409 when it does not ask any more; ``NotFound``.
        """
        await self._asks.answer(key, word, ROOM)

    def forget(self, room_id: str) -> None:
        """The room is gone."""
        self._asks.forget(room_id)
