"""What tests of screens do: press keys, wait until nothing changes any more, and read the rows."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar, cast

from textual.app import App
from textual.pilot import Pilot

from agent_tui.events import Event
from tests.fakes.event_link import EventLink
from tests.widgets.apps import resize

A = TypeVar("A", bound=App[int])
L = TypeVar("L", bound=EventLink[Any])


def rows_of(app: App[Any]) -> str:
    """Return all rows of the screen as they are, without the blanks at their ends."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips(app.size))


class Watched(Generic[A]):
    """An app with a ``clock`` on a screen of the test."""

    LOOKS: ClassVar[int] = 3  # that find the same: nothing changes any more

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
        await self.pilot.pause()
        cast("Any", self.app).clock.tick()  # what it would do a frame later
        return self.now

    async def text(self) -> str:
        """Return all rows, once everything that was sent is drawn and nothing changes any more."""
        seen: list[str] = []
        while len(seen) < self.LOOKS or len({*seen[-self.LOOKS :]}) > 1 or not self.is_told:
            seen.append(await self.look())
        return seen[-1]

    async def resize(self, columns: int, rows: int) -> str:
        await resize(self.pilot, columns, rows)
        return await self.text()

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        return await self.text()

    async def until(self, *parts: str) -> str:
        """Wait until all of these are on the screen."""
        while not all(part in self.now for part in parts):
            await self.look()
        return self.now


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
