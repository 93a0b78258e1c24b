"""What is closed is gone, and what went out of sight is not kept as it was painted."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast
from weakref import WeakSet

import pytest
from textual._styles_cache import StylesCache
from textual.widget import Widget

from agent_tui.config.file import Config
from agent_tui.model import events as ev
from agent_tui.model.events import RoomInfo
from tests.fakes.chat_link import FakeChatLink
from tests.fakes.event_link import EventLink
from tests.fakes.room_link import FakeLink
from tests.state.chat_events import loaded, message
from tests.tui.watched import Fed
from tests.tui.whole_app import AGENTS, ListingClient
from tui.app import AgentTuiApp
from tui.link import ChatLink, RoomLink
from tui.request import ScreenRequest, Server
from widgets.layout import PaintedLine, PaintedStrip

pytestmark = pytest.mark.slow

Seen = Fed[AgentTuiApp, EventLink[Any]]
TIMES = 3
LIVE = ev.LinkChanged("live")
WORDS = "One word after the other, as they come. "


@asynccontextmanager
async def lists(folder: Path) -> AsyncGenerator[tuple[Seen, FakeChatLink]]:
    """Show the list of two rooms."""
    link, chat_link = FakeLink(), FakeChatLink()
    link.calls = ListingClient([RoomInfo(f"r{number}", task="Should we?") for number in range(2)])
    request = ScreenRequest(Server("http://127.0.0.1:9"), None, Config(folder / "config.toml"))
    app = AgentTuiApp(request, cast("RoomLink", link), cast("ChatLink", chat_link))
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        seen = Seen(app, link, pilot)
        await seen.until("Should we?")
        yield seen, chat_link
        link.end()


def objects_of(kind: type) -> int:
    return sum(type(one) is kind for one in gc.get_objects())


async def opened_and_closed(
    seen: Seen, open_it: Callable[[], object], events: Sequence[ev.Event], link: EventLink[Any]
) -> list[Widget]:
    """Open a screen, look at it and close it again; return which of its widgets are still there."""
    below = seen.app.screen
    open_it()
    link.send(*events)
    await seen.settle()
    assert seen.app.screen is not below
    widgets = WeakSet([*seen.app.screen.walk_children(Widget), seen.app.screen])
    assert len(widgets) > 3
    await seen.app.pop_screen()
    await seen.settle()
    assert seen.app.screen is below
    for _ in range(TIMES):
        seen.app.call_later(list)  # Textual keeps the last message that an app handled, and so its sender
        await seen.settle()
        gc.collect()
        if not widgets:
            break  # else what was handled last may have come later, from the widget that lost the focus
    return list(widgets)


@pytest.mark.parametrize("what", ["room", "chat", "help", "themes"])
async def test_a_screen_that_was_closed_leaves_nothing(tmp_path: Path, what: str) -> None:
    async with lists(tmp_path) as (seen, chat_link):
        info = RoomInfo("r0", task="Should we?", max_rounds=3, agents=AGENTS, status="completed")
        stored = ev.Message("m0", "", "assistant", "", WORDS * 99, "Mika", "#e0a030", 1, 9, "", "a")
        places = seen.app.places
        in_room: list[ev.Event] = [ev.RoomLoaded(info, (stored,)), LIVE]
        in_chat: list[ev.Event] = [loaded(message("q1", "Look.")), LIVE]
        opened: dict[str, tuple[Callable[[], object], list[ev.Event], EventLink[Any]]] = {
            "room": (partial(places.open_room, "r0"), in_room, seen.link),
            "chat": (partial(places.open_chat, "c"), in_chat, chat_link),
            "help": (places.show_help, [], seen.link),
            "themes": (places.theme.choose, [], seen.link),
        }
        await opened_and_closed(seen, *opened[what])  # what is made once and stays
        before = objects_of(StylesCache), objects_of(PaintedStrip)
        for _ in range(TIMES):
            assert await opened_and_closed(seen, *opened[what]) == []
        assert (objects_of(StylesCache), objects_of(PaintedStrip)) == before


async def test_rows_that_went_out_of_sight_are_not_kept_as_painted(tmp_path: Path) -> None:
    async with lists(tmp_path) as (seen, _):
        info = RoomInfo("r0", task="Should we?", max_rounds=3, agents=AGENTS, status="running")
        seen.app.places.open_room("r0")
        await seen.send(ev.RoomLoaded(info, ()), LIVE)
        counts: list[int] = []
        for number in range(12):
            turn = f"turn-{number}"
            await seen.send(ev.TurnStarted(turn, "", "assistant", "Mika", "#e0a030", number + 1, "a"))
            await seen.send(*[ev.TextAdded(turn, WORDS * 3 + "\n\n", agent_id="a") for _ in range(5)])
            await seen.send(ev.TurnEnded(turn, (WORDS * 3 + "\n\n") * 5, 100, agent_id="a"))
            counts.append(objects_of(PaintedLine))
        rows = sum(pane.size.height for pane in seen.app.screen.query("Transcript"))
        assert max(counts) <= 4 * rows
