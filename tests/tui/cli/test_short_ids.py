"""Lists for a person: short ids that mean one thing alone, and a table that fits the terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_tui.model.events import AgentInfo, ConversationInfo, RoomInfo
from tests.tui.programs import PROGRAM, Home, own_environ, reap
from tui.cli.commands.asking import SHORT_ID_CHARACTERS, short_ids
from tui.cli.commands.pick import find_room
from tui.cli.output import table
from tui.lists.chats_texts import CHATS
from tui.lists.listing import Listing
from tui.lists.rooms_texts import ROOMS

LONG_TITLE = "A title that is much longer than any column of a terminal has room for, and longer"


@example([("aaaaaaaaa", "aaaaaaaab"), ("b", "aaaaaaaab")])
@given(st.lists(st.tuples(st.text("ab", min_size=1, max_size=14), st.text("ab", max_size=14)), max_size=8))
def test_a_short_id_finds_what_its_row_shows_or_is_as_long_as_ids_get(named: list[tuple[str, str]]) -> None:
    rooms = [RoomInfo(id_, name=name) for id_, name in {id_: (id_, name) for id_, name in named}.values()]
    for id_, short in short_ids([(room.id, room.name) for room in rooms]).items():
        assert id_.startswith(short)
        is_hidden = any(room.id != id_ and id_ in (room.id, room.name) for room in rooms)
        is_begun = any(room.id != id_ and (room.id + " " + room.name).find(id_) >= 0 for room in rooms)
        if short != id_ and not is_hidden and not is_begun:
            assert find_room(rooms, short) == id_


def test_ids_that_begin_alike_are_as_long_as_they_must_be() -> None:
    named = [("0123456789abcdef", "One"), ("0123456789abffff", "Two"), ("f" * 32, "0123456789ab name")]
    assert short_ids(named) == {
        "0123456789abcdef": "0123456789abc",
        "0123456789abffff": "0123456789abf",
        "f" * 32: "f" * SHORT_ID_CHARACTERS,
    }


def test_a_table_is_cut_where_it_is_too_wide_and_not_to_nothing() -> None:
    rows = [("ID", "TITLE", "TOKENS"), ("0a", "会话" * 30, "7")]
    cut = table(rows, width=40, crops=1).splitlines()
    assert len(cut[1]) < 40
    assert "…" in cut[1]
    assert cut[1].endswith("7")
    assert len(table(rows, width=1, crops=1).splitlines()[0]) > 12
    assert "…" not in table(rows)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path, own_environ(tmp_path))
    yield home
    home.run("backend", "stop")
    reap(tmp_path / "data")


def on_a_terminal(home: Home, *arguments: str, columns: int = 80) -> str:
    """Return what the command writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    environ = {**home.environ, "COLUMNS": str(columns)}
    running = subprocess.Popen([*PROGRAM, *arguments], stdout=theirs, stdin=theirs, env=environ)
    os.close(theirs)
    written = b""
    with suppress(OSError):  # EIO: the other side is closed
        while piece := os.read(ours, 65536):
            written += piece
    os.close(ours)
    assert running.wait() == 0
    return written.decode()


@pytest.mark.slow
@pytest.mark.parametrize("listed", ["conversations", "rooms"])
def test_a_list_on_a_terminal_has_one_line_for_each_and_its_ids_can_be_used(home: Home, listed: str) -> None:
    if listed == "conversations":
        home.api("POST", "/api/conversations", {"title": LONG_TITLE})
    else:
        home.api("POST", "/api/rooms", {"task": "Why?", "name": LONG_TITLE})
    lines = on_a_terminal(home, listed, "list").splitlines()
    assert len(lines) == 2
    assert all(len(line) <= 80 for line in lines)
    short = lines[1].split()[0]
    assert len(short) == SHORT_ID_CHARACTERS
    whole = home.answer(listed, "list", "--output", "json")[listed][0]["id"]
    assert len(whole) == 32
    assert home.answer(listed, "show", short, "--output", "json")["id"] == whole


# --- the filter of the lists -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("done", ["done"]),
        ("completed", ["done"]),
        ("paused", ["paused"]),
        ("round 1", ["runs", "paused"]),
        ("archived", []),
    ],
)
def test_the_filter_of_rooms_finds_the_words_that_a_row_shows(words: str, found: list[str]) -> None:
    ada = AgentInfo("a", "Ada")
    rooms = [
        RoomInfo("done", task="x", status="completed", current_round=3, max_rounds=3, last_words="Agreed."),
        RoomInfo("runs", task="x", status="running", current_round=1, max_rounds=3, agents=(ada,)),
        RoomInfo("paused", task="x", status="paused", current_round=1, max_rounds=3),
    ]
    listing = Listing(ROOMS, rooms)
    listing.arrange(needle=words)
    assert {listing[at].id for at in range(len(listing))} == set(found)


def test_the_filter_of_chats_finds_the_words_that_a_row_shows() -> None:
    chats = [
        ConversationInfo("a", title="One", status="running"),
        ConversationInfo("b", title="Two", interrupted="stop"),
        ConversationInfo("c", last_words="The needle."),
    ]
    listing = Listing(CHATS, chats)
    for words, found in (("answering", "a"), ("stopped by you", "b"), ("needle", "c"), ("untitled", "c")):
        listing.arrange(needle=words)
        assert [listing[at].id for at in range(len(listing))] == [found], words
