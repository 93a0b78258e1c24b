"""Tells the backend that this program is open, and now and then that keys are pressed in it.

What runs goes on as long as a program of its person is open, on whatever screen; what costs money only while
somebody presses a key every half an hour (architecture.md §7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final

from agent_tui.model.errors import AgentTuiError, Refused
from tui.link import EMBEDDED_PATIENCE_SECONDS, RoomLink

if TYPE_CHECKING:
    from agent_tui.clients.records import PausesSoon

REPORT_SECONDS: Final = 60.0  # between two reports of keys, at least
RETRY_SECONDS: Final = 2.0  # between tries to reach a backend that is gone


class Presence:
    """``start`` it once there is a server. ``tell`` is called with what pauses soon because no key was
    pressed, and with ``None`` once one was.
    """

    def __init__(self, link: RoomLink, tell: Callable[[PausesSoon | None], None]) -> None:
        self._link = link
        self._tell = tell
        self._pressed = asyncio.Event()
        self._staying: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Be there from now on."""
        self._staying = asyncio.create_task(self._stay())

    async def stop(self) -> None:
        """Leave."""
        if self._staying is not None:
            self._staying.cancel()
            await asyncio.wait({self._staying})
        await self._link.close()

    def press(self) -> None:
        """A person pressed a key. Costs nothing: it is reported later, with those that follow."""
        self._pressed.set()

    async def _stay(self) -> None:
        reporting = asyncio.create_task(self._report())
        try:
            await self._attend()
        finally:
            reporting.cancel()

    async def _attend(self) -> None:
        """Be there until the server says that it does not count this program."""
        patience = EMBEDDED_PATIENCE_SECONDS if self._link.is_embedded else None
        while True:
            try:
                client = await self._link.client()
                async with aclosing(client.backend.attend(give_up_seconds=patience)) as told:
                    async for pausing in told:
                        self._tell(pausing)
                return
            except Refused:  # it may not even know the call
                return
            except AgentTuiError:
                await asyncio.sleep(RETRY_SECONDS)

    async def _report(self) -> None:
        while True:
            await self._pressed.wait()
            self._pressed.clear()
            with suppress(AgentTuiError):  # the next key is reported again
                await (await self._link.client()).backend.press()
            await asyncio.sleep(REPORT_SECONDS)
