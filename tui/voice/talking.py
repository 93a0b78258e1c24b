"""Push to talk with one key: held if the terminal reports releases, else pressed twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from widgets.terminal.keys_in_order import KeyPresses

TAP_SECONDS: Final = 0.35  # a shorter press is a tap: it talks until the next one


class TalkKey:
    """Turns a terminal's reports about one key into starts and stops. The repetitions of a held key are one
    press.
    """

    def __init__(
        self,
        presses: KeyPresses,
        start: Callable[[], Awaitable[bool]],
        stop: Callable[[], Awaitable[bool]],
    ) -> None:
        """``start`` returns whether it could."""
        self._presses = presses
        self._start = start
        self._stop = stop
        self._pressed_at = 0.0  # when the press that started it began
        self.is_on = False

    async def press(self) -> None:
        """The key was pressed, or repeated because it is held."""
        if not self.is_on:
            self.is_on, self._pressed_at = True, self._presses.began_at
            self.is_on = await self._start()
        elif self._presses.began_at != self._pressed_at:
            await self._end()

    async def release(self) -> None:
        """The terminal reports that the key was released."""
        if self.is_on and self._presses.now() - self._pressed_at >= TAP_SECONDS:
            await self._end()

    async def _end(self) -> None:
        self.is_on = False
        await self._stop()
