"""What tests of screens do: press keys, wait until nothing changes any more, and read the rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from time import perf_counter
from typing import Any, Generic, TypeVar, cast

from textual.app import App
from textual.pilot import Pilot

from agent_tui.model.events import Event
from tests.fakes.event_link import EventLink
from tests.settling import settle
from tests.widgets.apps import resize

PATIENCE_SECONDS = 30.0  # of real time, for what other threads and processes do
FRAMES_SECONDS = 0.08  # of virtual time: two frames
LOOKS = 100  # after which a screen is read though words go on coming

A = TypeVar("A", bound=App[int])
L = TypeVar("L", bound=EventLink[Any])


def rows_of(app: App[Any]) -> str:
    """Return all rows of the screen as they are, without the blanks at their ends."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips(app.size))


async def until(condition: Callable[[], bool], app: App[Any]) -> None:
    """Wait until ``condition`` holds; raise ``AssertionError`` with the screen's text when it never does."""
    start = perf_counter()
    while not condition():
        assert perf_counter() - start < PATIENCE_SECONDS, f"it never came, the screen says:\n{rows_of(app)}"
        await settle(FRAMES_SECONDS)


class Watched(Generic[A]):
    """An app with a ``clock`` on a screen of the test."""

    def __init__(self, app: A, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def now(self) -> str:
        """All rows as they are."""
        return rows_of(self.app)

    @property
    def is_told(self) -> bool:
        """Whether the screen has taken everything that was sent."""
        return True

    async def look(self) -> str:
        """Let everything go on for a moment; return all rows."""
        await settle(FRAMES_SECONDS)
        return self.now

    async def text(self) -> str:
        """Return all rows, once everything that was sent is drawn."""
        await self.settle()
        return self.now

    async def settle(self) -> None:
        """Wait until everything that was sent is drawn."""
        start = perf_counter()
        for look in count(1):
            await settle(FRAMES_SECONDS)
            if self.is_told and (cast("Any", self.app).clock.is_clean or look >= LOOKS):
                break
            if perf_counter() - start > PATIENCE_SECONDS:  # modules that are imported first take their time
                break
        await self.app.animator.wait_until_complete()
        await settle()
        assert self.is_told, f"the screen has not taken all that was sent:\n{self.now}"

    async def resize(self, columns: int, rows: int) -> str:
        await resize(self.pilot, columns, rows)
        return await self.text()

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        return await self.text()

    async def until(self, *parts: str | Callable[[], bool]) -> str:
        """Wait until all of these are on the screen, or true; return all rows if words are awaited.

        Raises ``AssertionError`` with what is on the screen when they never are.
        """
        words = [part for part in parts if isinstance(part, str)]
        rows = ""

        def are_there() -> bool:
            nonlocal rows
            rows = self.now if words else ""
            return all(word in rows for word in words) and all(part() for part in parts if callable(part))

        await until(are_there, self.app)
        return rows


class Fed(Watched[A], Generic[A, L]):
    """An app whose events the test sends through its link."""

    def __init__(self, app: A, link: L, pilot: Pilot[int]) -> None:
        super().__init__(app, pilot)
        self.link = link

    @property
    def is_told(self) -> bool:
        return self.link.is_drained

    async def send(self, *events: Event) -> str:
        self.link.send(*events)
        return await self.text()
