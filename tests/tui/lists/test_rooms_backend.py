"""The list over our own backend: one that died is opened again."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from agent_tui.clients.records import RoomChanges
from agent_tui.model.errors import ConnectFailed
from agent_tui.model.events import LinkChanged
from tests.fakes.room_link import FakeLink
from tests.tui.lists.rooms_client import ListedClient
from tests.tui.lists.rooms_listed import listed, room
from tui.link import RoomLink
from tui.lists import feed as rooms_feed
from tui.lists.acts import Deletions
from tui.lists.feed import ListSeen
from tui.lists.rooms import RoomsScreen


def rooms_screen(fake: FakeLink) -> RoomsScreen:
    link = cast("RoomLink", fake)
    return RoomsScreen(link, (), Deletions(link))


async def test_nothing_is_said_of_what_there_is_before_the_server_has_told_it(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        link = FakeLink()
        screen = rooms_screen(link)
        await seen.app.push_screen(screen)
        text = await seen.text()
        assert "Waiting for the list…" in text
        assert "in all" not in text
        link.calls.news.put_nowait(RoomChanges((), (), "c0", True))
        text = await seen.text()
        assert "No rooms yet." in text
        assert "0 running · 0 in all" in text


async def test_an_answer_that_is_older_than_what_was_told_since_changes_nothing(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1, status="running", last_event_id=7), room(2)) as seen:
        seen.client.tell(room(1, status="paused", interrupted="pause", last_event_id=9))
        await seen.settle()
        seen.screen.acts.take(room(1, status="running", last_event_id=8))
        assert "0 running" in await seen.press("down")


async def test_our_own_backend_that_died_is_opened_again_at_once_and_that_is_said(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        link = FakeLink()
        link.calls = cast("Any", seen.client)
        screen = rooms_screen(link)
        await seen.app.push_screen(screen)
        await seen.settle()
        seen.client.lost = [ConnectFailed("cannot connect")]
        seen.client.tell(room(1))
        while seen.client.lost:
            await seen.pilot.pause()
        seen.client.tell(room(1))
        while "the backend restarted – nothing was lost" not in await seen.text():
            await seen.pilot.pause()


async def test_the_feed_notices_that_somebody_else_opened_another_backend() -> None:
    link, clients = FakeLink(), [ListedClient([room(1)]), ListedClient([room(1)])]
    link.calls = cast("Any", clients[0])
    feed = rooms_feed.RoomsFeed(cast("RoomLink", link)).follow(lambda: False)
    async with aclosing(feed) as events:
        assert (await anext(events)) == LinkChanged("live")
        assert isinstance(await anext(events), ListSeen)
        link.calls = cast("Any", clients[1])
        told = await anext(events)
        assert isinstance(told, LinkChanged)
        assert told.status == "connecting"
        clients[1].tell(room(1))
        assert (await anext(events)) == LinkChanged("live")
