"""Tells the backend that this program is open, and regularly that keys are pressed in it.

What is running continues while a program of the same person is open, on any screen. What costs money
continues only if a key is pressed every half hour (architecture.md §7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final

from agent_tui.model.errors import AgentBusy, AgentTuiError, Refused
from tui.link import EMBEDDED_PATIENCE_SECONDS, RoomLink

if TYPE_CHECKING:
    from agent_tui.clients.records import PausesSoon

REPORT_SECONDS: Final = 60.0  # between two reports of keys, at least
RETRY_SECONDS: Final = 2.0  # between tries to reach a backend that is gone


class Presence:
    """Reports that the program is open, once ``start`` is called. ``tell`` is called with what pauses soon
    because no key was pressed, and with ``None`` when one was.
    """

    def __init__(self, link: RoomLink, tell: Callable[[PausesSoon | None], None]) -> None:
        self._link = link
        self._tell = tell
        self._pressed = asyncio.Event()
        self._staying: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Report from now on."""
        self._staying = asyncio.create_task(self._stay())

    async def stop(self) -> None:
        """Stop reporting."""
        if self._staying is not None:
            self._staying.cancel()
            await asyncio.wait({self._staying})
        await self._link.close()

    def press(self) -> None:
        """Note that a key was pressed. Cheap: keys are reported later, several at once."""
        self._pressed.set()

    async def _stay(self) -> None:
        reporting = asyncio.create_task(self._report())
        try:
            await self._attend()
        finally:
            reporting.cancel()

    async def _attend(self) -> None:
        """Keep the connection open that counts this program, unless the server does not offer that."""
        patience = EMBEDDED_PATIENCE_SECONDS if self._link.is_embedded else None
        while True:
            try:
                client = await self._link.client()
                async with aclosing(client.backend.attend(give_up_seconds=patience)) as pauses:
                    async for pausing in pauses:
                        self._tell(pausing)
                return
            except AgentTuiError as error:
                if isinstance(error, Refused) and not isinstance(error, AgentBusy):
                    return  # it may not have this call
                await asyncio.sleep(RETRY_SECONDS)

    async def _report(self) -> None:
        while True:
            await self._pressed.wait()
            self._pressed.clear()
            with suppress(AgentTuiError):  # the next key is reported again
                await (await self._link.client()).backend.press()
            await asyncio.sleep(REPORT_SECONDS)
