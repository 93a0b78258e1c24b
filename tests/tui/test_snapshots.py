"""Every view at three sizes, as it was looked at and found good: kept as text files that a review can read.

``uv run pytest tests/tui/test_snapshots.py --snapshot-update`` writes them anew; look at what changed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.command import CommandPalette

from agent_tui.model import events as ev
from tests.tui.looks import same
from tests.tui.room.debate import first_round, paused, second_round
from tests.tui.screen_text import ScreenFile
from tests.tui.whole_app import Seen, opened_app
from tui.live import following
from tui.room import panes as room_panes

pytestmark = pytest.mark.slow

SIZES = ((200, 60), (120, 40), (80, 24))  # one after another, as a person resizes
STILL_SECONDS = 100.0


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(ScreenFile)


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rate and no waiting time moves while a screen is looked at."""
    still = SimpleNamespace(monotonic=lambda: STILL_SECONDS)
    for module in (following, room_panes):
        monkeypatch.setattr(module, "time", still)
    monkeypatch.delenv("NO_COLOR", raising=False)


class Views:
    """Compares the screen with the files of a view, size after size."""

    def __init__(self, seen: Seen, snapshot: SnapshotAssertion) -> None:
        self.seen, self._snapshot = seen, snapshot

    async def send(self, *events: ev.Event) -> None:
        self.seen.link.send(*events)
        await self._settle()

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.seen.pilot.press(key)
            await self._settle()

    async def match(self, sizes: Sequence[tuple[int, int]] = SIZES) -> None:
        """Compare at every size."""
        await same(self.seen, self._snapshot, sizes)

    async def match_after(self, keys: Sequence[str], sizes: Sequence[tuple[int, int]] = SIZES) -> None:
        """Press keys one after another, and compare at every size."""
        await self.press(*keys)
        await self.match(sizes)

    async def _settle(self) -> None:
        """Wait until nothing changes any more."""
        await self.seen.text()
        while self._searches:
            await self.seen.text()

    @property
    def _searches(self) -> bool:
        """Whether the palette is still looking for commands."""
        app = self.seen.app
        return isinstance(app.screen, CommandPalette) and any(
            worker.node is app.screen and not worker.is_finished for worker in app.workers
        )


@asynccontextmanager
async def views(
    folder: Path, snapshot: SnapshotAssertion, *events: ev.Event, theme: str = "dark", rooms: int = 1
) -> AsyncGenerator[Views, None]:
    async with opened_app(folder, theme=theme, rooms=rooms, size=SIZES[0]) as seen:
        opened = Views(seen, snapshot)
        await opened.send(*events)
        yield opened


@pytest.mark.parametrize("agents", [1, 2, 3, 4, 7, 16])
async def test_agents_who_speak(tmp_path: Path, snapshot: SnapshotAssertion, agents: int) -> None:
    async with views(tmp_path, snapshot, *first_round(agents), *second_round(agents)) as screen:
        await screen.match()


async def test_a_paused_room(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with views(tmp_path, snapshot, *first_round(4), *second_round(4), *paused(4)) as screen:
        await screen.match()


@pytest.mark.parametrize("theme", ["light", "terminal", "contrast-dark"])
async def test_themes(tmp_path: Path, snapshot: SnapshotAssertion, theme: str) -> None:
    events = (*first_round(3), *second_round(3))
    async with views(tmp_path, snapshot, *events, theme=theme) as screen:
        await screen.match(SIZES[1:2])


@pytest.mark.parametrize("keys", [["z"], ["tab", "z"], ["t"], ["t", "home"]], ids="-".join)
async def test_zoom_and_timeline(tmp_path: Path, snapshot: SnapshotAssertion, keys: list[str]) -> None:
    async with views(tmp_path, snapshot, *first_round(4), *second_round(4)) as screen:
        await screen.press(*keys)
        await screen.match()


@pytest.mark.parametrize(
    "keys",
    [["slash", *"the"], ["t", "slash", *"the", "enter", "n", "N"], ["slash", *"nowhere"], ["colon", "1"]],
    ids=["finds", "steps", "finds-nothing", "goes-to-a-message"],
)
async def test_the_find_bar(tmp_path: Path, snapshot: SnapshotAssertion, keys: list[str]) -> None:
    async with views(tmp_path, snapshot, *first_round(4), *second_round(4)) as screen:
        await screen.press(*keys)
        await screen.match()


async def test_a_selection(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with views(tmp_path, snapshot, *first_round(2), *second_round(2)) as screen:
        await screen.press("z", "home")
        pilot = screen.seen.pilot
        await pilot.mouse_down(offset=(4, 3))
        await pilot.hover(offset=(30, 12))
        await pilot.mouse_up(offset=(30, 12))
        await screen.match()


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (["question_mark"], "help"),
        (["ctrl+p"], "palette"),
        (["ctrl+p", *"zoom"], "palette-found"),
        (["ctrl+t"], "themes"),
        (["q"], "leaving"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_dialogs(tmp_path: Path, snapshot: SnapshotAssertion, keys: list[str], name: str) -> None:
    async with views(tmp_path, snapshot, *first_round(3), *second_round(3)) as screen:
        await screen.press(*keys)
        await screen.match()


async def test_a_lost_connection(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    lost = ev.LinkChanged("waiting", "", 4.0, 3)
    async with views(tmp_path, snapshot, *first_round(4), *second_round(4), lost) as screen:
        await screen.match()
