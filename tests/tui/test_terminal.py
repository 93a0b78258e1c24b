"""The program in a real terminal, with its real backend: what a person sees, types and survives."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from agent_tui.voice_parts import find_agent_python
from agent_tui.wire.content import content_text
from tests.fakes.servers.rooms_server import OriginalRoomsServer, in_thread
from tests.fakes.terminal import ENTERS_SCREEN, LEAVES_SCREEN, Terminal, terminal
from tests.tui.programs import PROGRAM, Home, home_at

pytestmark = pytest.mark.slow

SLOW = "40"  # tokens/s: slow enough to act in the middle of a turn


@pytest.fixture
def new_home(tmp_path: Path) -> Iterator[Home]:
    """A home in which nothing was started yet."""
    with home_at(tmp_path, rate=SLOW) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with home_at(tmp_path_factory.mktemp("home"), rate=SLOW) as opened:
        yield opened


@pytest.fixture
def home(shared: Home) -> Home:
    """A home without rooms, whose backend may be running since an earlier test."""
    shared.clear()
    return shared


def screen(
    home: Home, *arguments: str, columns: int = 120, rows: int = 30, **environ: str
) -> AbstractContextManager[Terminal]:
    environ = {**home.environ, **environ}
    return terminal([*PROGRAM, *arguments], environ, home.folder, columns=columns, rows=rows)


def backend_pid(home: Home) -> int:
    pid: int = json.loads((home.data / "backend.json").read_text())["pid"]
    return pid


def test_a_first_start_shows_a_live_demo_room_that_one_key_pauses_and_another_day_resumes(
    new_home: Home,
) -> None:
    with screen(new_home, "rooms") as view:
        view.wait_for("● live")
        view.wait_for(lambda text: text.count("demo model") >= 3 and text.count("tok/s") == 3)
        view.wait_for("Redis")
        view.send("p")
        view.wait_for("‖ paused by you")
        view.wait_for(lambda text: text.count("cut at the pause") >= 3)
        view.send("q")
        assert view.wait_for_end() == 0
        assert view.is_as_before()
    new_home.stop()
    with screen(new_home, "rooms") as view:
        view.wait_for("‖ paused")
        view.send(" ")
        view.wait_for("● live")
        view.wait_for("cut at the pause")  # the cut attempts stay in sight, above the new ones
        view.send("\x13")  # ctrl+s
        view.wait_for("paused by you")
    rooms = new_home.answer("rooms", "list", "--output", "json")["rooms"]
    assert [room["status"] for room in rooms] == ["paused"]


def said_in(home: Home) -> list[dict[str, Any]]:
    """Return the agents' messages of the one room that have words by now."""
    room_id = home.answer("rooms", "list", "--output", "json")["rooms"][0]["id"]
    messages = home.api("GET", f"/api/rooms/{room_id}/messages")["messages"][1:]  # behind the task
    return [message for message in messages if content_text(message["content"])]


def test_a_killed_backend_is_started_again_and_the_room_goes_on_with_the_cut_turns(new_home: Home) -> None:
    with screen(new_home, "rooms") as view:
        view.wait_for(lambda text: text.count("tok/s") == 3)
        os.kill(backend_pid(new_home), signal.SIGKILL)
        view.wait_for("the backend crashed, nothing was lost")
        view.wait_for("cut when the backend crashed")
        view.send("p")
        view.wait_for("● live")
        view.wait_for(lambda _: len(said_in(new_home)) == 6)  # whatever still stands on the screen
        view.send("p")
        view.wait_for("paused by you")
    said = said_in(new_home)
    assert {message["round_number"] for message in said} == {1}
    assert [message["interrupted"] for message in said] == ["crash"] * 3 + ["pause"] * 3


def test_a_second_terminal_sees_the_same_live_room(home: Home) -> None:
    with screen(home, "rooms") as first:
        first.wait_for("● live")
        with screen(home, "rooms", columns=80, rows=24) as second:
            second.wait_for("● live")
            second.send("p")
            second.wait_for("paused by you")
            first.wait_for("‖ paused by you")
    assert len(home.answer("rooms", "list", "--output", "json")["rooms"]) == 1


def test_leaving_while_agents_speak_asks_and_can_keep_the_room_running(home: Home) -> None:
    with screen(home, "rooms") as view:
        view.wait_for("● live")
        view.send("q")
        view.wait_for("Agents are still running.")
        view.send("k")
        assert view.wait_for_end() == 0
    room = home.answer("rooms", "list", "--output", "json")["rooms"][0]
    assert (room["status"], room["keep_running"]) == ("running", True)


def test_a_signal_ends_the_program_and_restores_the_terminal(home: Home) -> None:
    with screen(home, "rooms") as view:
        view.wait_for("● live")
        view.kill(signal.SIGHUP)
        assert view.wait_for_end() == 3
        assert LEAVES_SCREEN in view.raw
        assert b"\x1b[?25h" in view.raw[view.raw.rindex(LEAVES_SCREEN) :]
        assert view.is_as_before()


def test_ctrl_z_gives_the_terminal_back_until_the_program_is_continued(home: Home) -> None:
    with screen(home, "rooms") as view:
        view.wait_for("● live")
        view.send("\x1a")
        view.wait_for_stop()
        view.wait_for_bytes(LEAVES_SCREEN)
        before = len(view.raw)
        view.kill(signal.SIGCONT)
        view.wait_for_bytes(ENTERS_SCREEN, before)
        view.send("p")
        view.wait_for("paused by you")
        assert view.text.count("demo model") >= 3  # the whole screen is there again


def test_a_bug_leaves_one_line_and_a_usable_terminal(home: Home) -> None:
    broken = (
        "import sys, tui.room.screen as room\n"
        "def boom(self): raise RuntimeError('secret words of a conversation')\n"
        "room.RoomScreen._show_lines = boom\n"
        "from tui.__main__ import main\n"
        "sys.argv = ['agent-tui', 'rooms']\n"
        "sys.exit(main())\n"
    )
    with terminal([sys.executable, "-P", "-c", broken], home.environ, home.folder) as view:
        assert view.wait_for_end() == 1
        after = bytes(view.raw[view.raw.rindex(LEAVES_SCREEN) :]).decode()
        assert "agent-tui: internal error, RuntimeError" in after
        assert "Traceback" not in after
        assert "secret words" not in after
        assert view.is_as_before()
    logged = (home.data / "agent-tui.log").read_text()
    assert "in boom" in logged
    assert "secret words" not in logged


def test_a_server_with_only_run_that_drops_says_so_and_is_asked_again_only_by_a_person(home: Home) -> None:
    with (
        in_thread(OriginalRoomsServer(stop_after=6, then="reset")) as server,
        screen(home, "rooms", "r1", "--url", server.url) as view,
    ):
        view.wait_for("only while it is running")
        assert server.posts == 0
        view.send("p")
        # The line and the words come with the same frame, but in two writes.
        view.wait_for(lambda text: "interrupted – c to continue" in text and "Short" in text)
        assert server.posts == 1
        server.stop_after = None
        view.send("c")
        view.wait_for("✓ done")
        assert server.posts == 2


def test_a_server_that_is_not_there_is_said_and_ends_with_5_when_left(home: Home) -> None:
    with in_thread(OriginalRoomsServer()) as server:
        url = server.url
    with screen(home, "rooms", "r1", "--url", url) as view:
        view.wait_for("reconnecting")
        view.send("q")
        assert view.wait_for_end() == 5


def test_small_terminals_and_resizing_never_break_the_screen(home: Home) -> None:
    with screen(home, "rooms", columns=20, rows=5) as view:
        view.wait_for(lambda text: "live" in text or "Should" in text)
        view.resize(120, 30)
        view.wait_for(lambda text: text.count("tok/s") == 3)
        view.resize(80, 24)
        view.wait_for("● live")
        view.resize(20, 5)
        view.send("pq")
        view.resize(60, 10)
        assert view.wait_for_end() == 0


def test_help_and_palette_name_every_action_and_close_again(home: Home) -> None:
    with screen(home, "rooms", COLORTERM="truecolor") as view:
        view.wait_for("● live")
        view.send("\x03")  # ctrl+c
        view.wait_for("press ctrl+c again to quit")
        view.send("?")
        view.wait_for("Pause or resume the room")
        assert "p, space, ctrl+s" in view.text
        view.send("\x1b")
        view.wait_for(lambda text: "Pause or resume the room" not in text)
        view.send("\x10")  # ctrl+p
        view.wait_for("Search for commands")
        view.send("choose a theme")
        view.wait_for(lambda text: "Choose a theme" in text and "Quit" not in text)
        view.send("\r")
        view.wait_for(lambda text: "Search for commands" not in text and "dark" in text)
        view.send("light")
        view.wait_for(lambda text: "light" in text and "nord" not in text)
        view.send("\r")
        view.wait_for_bytes(b"48;2;251;250;247")  # the light theme's paper
        view.send("p")
        view.wait_for("paused by you")


def test_many_rooms_are_listed_and_one_is_opened_and_left_again(home: Home) -> None:
    for task in ("First task", "第二个任务", "Третья задача"):
        home.new_room(task, agents=[{"name": "Ada"}])
    with screen(home, "rooms") as view:
        names = ("Firsttask", "第二个任务", "Третьязадача")
        view.wait_for(lambda text: all(name in text.replace(" ", "") for name in names))
        view.send("\r")
        view.wait_for("not started – p to start")
        view.send("\x1b")
        view.wait_for("in all")
        view.send("q")
        assert view.wait_for_end() == 0


def test_a_room_that_is_not_there_is_one_line_and_code_4(home: Home) -> None:
    with screen(home, "rooms", "nowhere") as view:
        assert view.wait_for_end() == 4
        assert 'there is no room "nowhere"' in view.text


def test_an_editor_that_is_not_there_or_fails_says_so_and_one_that_writes_gives_the_line_its_words(
    home: Home,
) -> None:
    editor = home.folder / "editor"
    with screen(home, "chat", EDITOR=str(editor)) as view:
        view.wait_for("✓ ready")
        view.send("my own words\x05")  # ctrl+e
        view.wait_for("editor could not be used: No such file or directory")
        editor.write_text("#!/bin/sh\nexit 3\n")
        editor.chmod(0o700)
        view.send("\x05")
        view.wait_for("editor could not be used: it exited with code 3")
        view.wait_for("› my own words")
        editor.write_text('#!/bin/sh\necho "and more" >> "$1"\n')
        view.send("\x05")
        view.wait_for("and more")
        view.send("\x11")  # ctrl+q
        assert view.wait_for_end() == 0


def test_what_voice_lacks_is_got_on_the_terminal_and_the_screen_comes_back_also_after_ctrl_c(
    home: Home,
) -> None:
    if find_agent_python() is not None:
        pytest.skip("the extra voice-agent is installed: nothing is missing")
    with screen(home, "voice") as view:
        view.wait_for("Get all of it? [Y/n]")
        view.send("n\rn\rn\r")  # what is asked once, before the first screen
        view.wait_for("s get what is missing")
        view.send("s")
        view.wait_for("Get all of it? [Y/n]")
        view.send("\x03")
        view.wait_for("Press enter to go back.")
        view.send("\r")
        view.wait_for(lambda text: "s get what is missing" in text and "Press enter" not in text)
        view.send("\x11")  # ctrl+q
        view.wait_for_end()
