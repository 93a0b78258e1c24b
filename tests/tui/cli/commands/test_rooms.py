"""``agent-tui rooms list``."""

from __future__ import annotations

from pathlib import Path

from agent_tui.wire.rooms_encode import room_fields
from tests.fakes.servers.chat_server import LogChatServer
from tests.fakes.servers.http_server import answers_json
from tests.fakes.servers.rooms_server import LogRoom, LogRoomsServer, in_thread
from tests.tui.lists.rooms_listed import room
from tests.tui.programs import Home, own_environ
from tui.lists.listing import Listing
from tui.lists.rooms_texts import ROOMS


def test_rooms_are_listed_in_the_order_of_the_screen(tmp_path: Path) -> None:
    rooms = [
        room(1, name="idles", status="idle"),
        room(2, name="runs", status="running", asks=True),
        room(3, name="waits"),
        room(4, name="begins", status="running", updated_at="2026-11-20T12:00:00+00:00"),
    ]
    with in_thread(LogChatServer("c1")) as server:
        server.on("GET", "/api/rooms", answers_json({"rooms": [room_fields(one) for one in rooms]}))
        done = Home(tmp_path, own_environ(tmp_path)).main("rooms", "list", "--url", server.url)
    on_screen = Listing(ROOMS, rooms)
    names = [on_screen[at].name for at in range(len(on_screen))]
    assert names == ["runs", "begins", "idles", "waits"]
    rows = done.stdout.splitlines()[1:]
    assert [row.split()[1] for row in rows] == names
    assert ["needs approval" in row for row in rows] == [True, False, False, False]


def test_an_archived_room_is_found_by_its_name_and_where_all_are_archived_that_is_said(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    with in_thread(LogRoomsServer(LogRoom("r1", fields={"archived": True}))) as server:
        shown = home.main("rooms", "show", "room r1", "--url", server.url)
        listed = home.main("rooms", "list", "--url", server.url)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "room r1" in shown.stdout
    assert listed.stdout == ""
    assert listed.stderr == "all rooms are archived; agent-tui rooms shows them\n"
