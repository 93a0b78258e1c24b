"""Push to talk with one key: held if the terminal reports releases, else pressed twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from textual.timer import Timer

from widgets.terminal.keys_in_order import KeyPresses

RELEASED_SECONDS: Final = 0.6  # a held key without a repetition for this long was released
TAP_SECONDS: Final = 0.35  # a shorter press is a tap: it talks until the next one


class TalkKey:
    """Turns a terminal's reports about one key into starts and stops.

    Some terminals report when a key is released. Others repeat a key while it is held: then the end of the
    repetitions is the release. With neither there is a tap to start and a tap to stop, which works
    everywhere.
    """

    def __init__(
        self,
        presses: KeyPresses,
        later: Callable[[float, Callable[[], Awaitable[None]]], Timer],
        start: Callable[[], Awaitable[bool]],
        stop: Callable[[], Awaitable[None]],
    ) -> None:
        """``later(seconds, callback)`` calls back once; ``start`` returns whether it could."""
        self._presses = presses
        self._later = later
        self._start = start
        self._stop = stop
        self._timer: Timer | None = None
        self._pressed_at = 0.0  # when the press that started it began
        self._tells_releases = False
        self.is_on = False

    async def press(self) -> None:
        """The key was pressed, or repeated because it is held."""
        if not self.is_on:
            self.is_on, self._pressed_at = True, self._presses.began_at
            self.is_on = await self._start()
        elif self._presses.began_at != self._pressed_at:
            await self.end()
        elif not self._tells_releases:
            self._cancel()
            self._timer = self._later(RELEASED_SECONDS, self.end)

    async def release(self) -> None:
        """The terminal reports that the key was released."""
        self._tells_releases = True
        if self.is_on and self._presses.now() - self._pressed_at >= TAP_SECONDS:
            await self.end()

    async def end(self) -> None:
        """Stop talking, whatever the key does."""
        self._cancel()
        if self.is_on:
            self.is_on = False
            await self._stop()

    def forget(self) -> None:
        """Note that it was stopped elsewhere."""
        self._cancel()
        self.is_on = False

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
