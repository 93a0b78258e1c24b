"""The list of chats as a person uses it, and the search in all of them."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.events import Key

from agent_tui.backend.engine.answer.asks import AskDecision
from agent_tui.backend.engine.kinds import CHATS as CHAT_ENGINE
from agent_tui.clients.records import Hit
from agent_tui.model.errors import Refused
from agent_tui.model.events import ConversationInfo
from tests.backend.engine.chat_house import call, speaks
from tests.fakes.scripted_tools import writer
from tests.tui.lists.chats_listed import chat, fake_list, real_list
from tui.chat.screen import ChatScreen
from tui.lists import feed as conversations_feed
from tui.lists.chats import ConversationsScreen
from tui.lists.chats_texts import CHATS
from tui.lists.rooms import RoomsScreen
from tui.lists.row_list import RowList
from tui.lists.search import SearchScreen, snippet_of
from tui.lists.texts import ItemMark, columns_of, row_of
from tui.screens.line_and_list import LineAndList

pytestmark = pytest.mark.slow

NASTY = "\x1b]52;c;aGk=\x07\x1b[31m\u202eevil\x00[bold]x[/] 老王\n\ttwo"


@pytest.fixture
def painted_when_read() -> None:
    """Frames are painted: how many rows a message has is known once it is."""


@pytest.fixture(autouse=True)
def _no_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(conversations_feed, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(conversations_feed, "IDLE_SECONDS", 0.05)


# --- what a row says -------------------------------------------------------------------------------------


def listed(one: ConversationInfo, cells: int = 140, mark: ItemMark | None = None) -> str:
    """Return the row of a chat, in so many cells with the cursor mark."""
    shape = columns_of(cells, CHATS.extra_cells, has_use=True, has_cost=True)
    return "".join(piece.text for piece in row_of(CHATS, one, shape, "2 min ago", mark or ItemMark()))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"status": "running"}, "● answering"),
        ({"status": "running", "asks": True, "error": "old"}, "! needs approval"),
        ({"error": "API Error: no quota", "last_words": "So far"}, "✗ API Error: no quota"),
        ({"interrupted": "stop"}, "┄ stopped by you"),
        ({"interrupted": "crash"}, "┄ cut when the backend crashed"),
        ({"interrupted": "gremlins"}, "┄ cut: gremlins"),
        ({"last_words": "Call it Ledger."}, '✓ "Call it Ledger."'),
        ({"last_words": "## So: **Call it** `Led`, 2*3*4"}, '✓ "So: Call it Led, 2*3*4"'),
        ({}, "◌ no messages yet"),
        ({"archived": True, "error": "x"}, "✗ archived"),
    ],
)
def test_a_row_says_what_goes_on_or_how_the_newest_answer_ended(fields: dict[str, Any], told: str) -> None:
    sign, _, words = told.partition(" ")
    row = listed(chat(1, **fields))
    assert row.startswith(f"{sign} Chat 1")
    assert words in row


def test_a_row_is_as_wide_as_it_has_to_be_whatever_the_title_holds() -> None:
    for cells in range(8, 140):
        for one in (chat(1), chat(2, title=NASTY * 20, model=NASTY, last_words=NASTY, cost=1.5, tokens=9999)):
            row = listed(one, cells)
            assert cell_len(row) == max(3, cells - 2 - 1), cells
            assert row.isprintable()


def test_what_is_deleted_says_how_that_is_taken_back() -> None:
    assert "deleted – f9 to undo" in listed(chat(1, error="x"), mark=ItemMark(is_deleted=True, undo="f9"))
    assert "deleted   " in listed(chat(1, error="x"), mark=ItemMark(is_deleted=True))


@pytest.mark.parametrize(
    ("mark", "fields", "told"),
    [
        (ItemMark(is_deleted=True, undo="u"), {}, "✓ deleted – u to undo · Chat 1"),
        (ItemMark(), {"archived": True}, "✓ archived · Chat 1"),
        (ItemMark(), {}, "✓ Chat 1"),
    ],
)
def test_a_row_that_has_room_for_nothing_but_the_title_says_that_it_is_put_away(
    mark: ItemMark, fields: dict[str, Any], told: str
) -> None:
    assert listed(chat(1, last_words="x", **fields), 48, mark).rstrip() == told


# --- live, over a backend --------------------------------------------------------------------------------


async def test_the_list_is_live_from_the_question_to_the_last_word(tmp_path: Path) -> None:
    model = speaks(["I will.", call("change", {"text": "x"})], ["Call it ", "Ledger."])
    async with real_list(tmp_path, model, writer()) as seen:
        chat_id = await seen.made("Name it", enabled_tools=["change"])
        await seen.until("Name it", "no messages yet")
        with seen.backend.engine.asks.attend(chat_id):
            asked = seen.pilot.app.run_worker(seen.answered(chat_id, "Which name?"))
            rows = (await seen.until("! Name it", "needs approval")).splitlines()
            assert "1 running · 2 in all" in rows[0]
            assert "Name it" in rows[2], "what is active comes first"
            message_id = (await seen.backend.engine.show(CHAT_ENGINE, chat_id)).head
            await seen.backend.engine.answer(CHAT_ENGINE, chat_id, message_id, "step-1", AskDecision("deny"))
            await seen.until(
                "✓ Name it", "Call it Ledger.", lambda: re.search(r"\d+ +now", seen.now) is not None
            )
            await asked.wait()


async def test_an_answer_that_failed_and_one_that_was_stopped_say_so(tmp_path: Path) -> None:
    model = speaks([Refused("no quota", status=403)])
    async with real_list(tmp_path, model) as seen:
        chat_id = await seen.made("Broken")
        await seen.answered(chat_id, "Well?")
        assert "no quota" in await seen.until("✗ Broken")
        model.free = False
        stopped = await seen.made("Slow")
        asked = seen.pilot.app.run_worker(seen.answered(stopped, "Well?"))
        await seen.until("● Slow", "answering")
        await seen.backend.engine.pause(CHAT_ENGINE, stopped)
        await asked.wait()
        assert "stopped by you" in await seen.until("┄ Slow")


async def test_a_chat_that_is_begun_is_listed_once_it_was_asked_something(tmp_path: Path) -> None:
    async with real_list(tmp_path, speaks(["Yes."])) as seen:
        await seen.pilot.press("n")
        while not isinstance(seen.app.screen, ChatScreen):
            await seen.pilot.pause()
        await seen.until("untitled chat", "Ask something")
        while not isinstance(seen.app.screen, ConversationsScreen):
            await seen.pilot.press("escape")
        await seen.until("1 in all")
        assert seen.cursor == "First"
        await seen.pilot.press("n")
        await seen.until("untitled chat", "Ask something")
        await seen.pilot.press(*"Why?", "enter")
        await seen.until("Yes.", "✓ ready")
        while not isinstance(seen.app.screen, ConversationsScreen):
            await seen.pilot.press("escape")
        await seen.until("2 in all")
        assert seen.cursor == "Why?"
        assert len([one for one in seen.app.screen_stack if isinstance(one, ConversationsScreen)]) == 1


async def test_a_list_that_has_archived_chats_alone_from_the_start_says_so(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1, title="Plan", archived=True)) as seen:
        assert "Everything here is archived. Press A to show it." in await seen.text()


async def test_an_archived_chat_that_is_deleted_elsewhere_is_listed_no_more(tmp_path: Path) -> None:
    gone = chat(2, title="Gone", archived=True)
    async with fake_list(tmp_path, chat(1), gone) as seen:
        await seen.pilot.press("A")
        await seen.until("with archived", "Gone", "2 in all")
        del seen.client.chats[gone.id]
        await seen.pilot.press("A", "A")
        await seen.until("with archived", "1 in all")
        assert "Gone" not in seen.now


async def test_a_title_is_changed_and_a_chat_is_put_away_and_found_again(tmp_path: Path) -> None:
    async with real_list(tmp_path, speaks([])) as seen:
        await seen.pilot.press("R", *["backspace"] * 5, *"Plan", "enter")
        await seen.until("◌ Plan")
        await seen.pilot.press("a")
        await seen.until("Everything here is archived. Press A to show it.")
        await seen.pilot.press("A")
        await seen.until("with archived", "Plan", "archived")
        await seen.pilot.press("a")
        await seen.until("no messages yet")


# --- over a server in memory -----------------------------------------------------------------------------


async def test_a_deletion_is_taken_back_and_the_server_never_heard_of_it(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), chat(2)) as seen:
        assert "deleted – u to undo" in await seen.press("d")
        assert "deleted – press u to undo" in await seen.press("enter")
        assert "deleted – u to undo" not in await seen.press("u")
        assert seen.client.asked == []


async def test_a_deletion_is_sent_when_the_program_is_left_and_not_before(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), chat(2)) as seen:
        await seen.press("d", "down")
        await seen.press("enter")
        await seen.press("escape", "escape")
        assert seen.client.asked == []
    assert seen.client.asked == [("delete", "c1")]


async def test_chats_and_rooms_are_one_key_apart(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), chat(2)) as seen:
        await seen.pilot.press("f3")
        while not isinstance(seen.app.screen, RoomsScreen):
            await seen.pilot.pause()
        await seen.pilot.press("f3")
        while not isinstance(seen.app.screen, ConversationsScreen):
            await seen.pilot.pause()
        await seen.until("Chat 2")
        assert len(seen.app.screen_stack) == 2


async def test_the_filter_lists_what_has_the_words(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), chat(2, title="Redis?")) as seen:
        text = await seen.press("slash", *"redis", "enter")
        assert "1 of 2 found" in text
        assert "Chat 1" not in text
        assert "Chat 1" in await seen.press("escape")


async def test_a_list_that_was_painted_when_it_had_no_room_yet_is_not_blank(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), chat(2)) as seen:
        rows = seen.screen.query_one(RowList)
        rows.styles.width = 0
        while rows.outer_size.width:
            await seen.pilot.pause()
        rows.notify_style_update()  # as when it is styled for the first time
        rows.look()
        rows.styles.width = 100
        assert "Chat 2" in await seen.until("Chat 1")


@pytest.mark.parametrize("size", [(80, 24), (50, 14), (24, 6)])
async def test_small_and_plain_terminals_show_hostile_titles_harmlessly(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    rows = (chat(1, title="[bold]x[/] " + NASTY, error=NASTY), chat(2, status="running", asks=True))
    async with fake_list(tmp_path, *rows, size=size, is_ascii=True) as seen:
        text = await seen.text()
        assert "[bold]x[/]" in text
        assert all(line.isascii() for line in text.splitlines() if "[bold]" not in line)
        for keys in (("down", "e"), ("escape", "s")):
            text += await seen.press(*keys)
        assert "\x1b" not in text
        assert "\u202e" not in text


# --- searching -------------------------------------------------------------------------------------------


async def test_words_are_found_wherever_they_were_said_and_opened_there(tmp_path: Path) -> None:
    model = speaks(["A cold cache is no cache."], ["Use PostgreSQL."])
    async with real_list(tmp_path, model, size=(100, 24)) as seen:
        chat_id = await seen.made("Sessions")
        await seen.answered(chat_id, "Redis?")
        await seen.answered(chat_id, "Something else?", parent_id="")  # another branch hides the first
        await seen.until("Sessions", "PostgreSQL")
        await seen.press("s", *"cold cac")
        text = await seen.until("1 found")
        assert "Sessions · answer · now" in text
        assert "A cold cache is no cache." in text
        await seen.pilot.press("enter")
        while seen.app.places.chat is None:
            await seen.pilot.pause()
        text = await seen.until("A cold cache is no cache.", "Redis?")
        assert "PostgreSQL" not in text


async def test_words_of_a_room_are_found_from_either_list_and_the_room_opened(tmp_path: Path) -> None:
    async with real_list(tmp_path, speaks(["Use PostgreSQL."]), size=(100, 24)) as seen:
        room = {"task": "Redis or not", "name": "Storage", "agents": [{"name": "Ada"}], "max_rounds": 1}
        await seen.backend.client.call("POST", "/api/rooms", room)
        for keys in ([], ["f3"]):  # the list of chats, then that of rooms
            await seen.press(*keys)
            await seen.press("s", *"storage")
            assert "Storage · room" in await seen.until("1 found")
            await seen.pilot.press("enter")
            while seen.app.places.room is None:
                await seen.pilot.pause()
            await seen.until("Ada")
            await seen.press("escape")
            assert isinstance(seen.app.screen, RoomsScreen)
            await seen.press("f3")
        await seen.app.places.link.close()


async def test_the_message_that_was_found_is_in_sight_in_a_long_chat(tmp_path: Path) -> None:
    model = speaks(["The needle."], *(["Hay.\n\n" * 30] for _ in range(3)))
    async with real_list(tmp_path, model, size=(80, 20)) as seen:
        chat_id = await seen.made("Long")
        for number in range(4):
            await seen.answered(chat_id, f"Question {number}?")
        await seen.press("s", *"needle")
        await seen.until("1 found")
        await seen.pilot.press("enter")
        while seen.app.places.chat is None:
            await seen.pilot.pause()
        await seen.until("The needle.")


@pytest.mark.parametrize("words", ["needle", "begin"])
async def test_the_message_that_was_found_is_in_sight_in_a_long_room(tmp_path: Path, words: str) -> None:
    model = speaks(["The needle."], *(["Hay.\n\n" * 30] for _ in range(5)))
    async with real_list(tmp_path, model, size=(80, 20)) as seen:
        agents = [{"name": "Ada"}, {"name": "Bo"}]
        room = {"task": "Hay or not", "name": "Barn", "agents": agents, "max_rounds": 3}
        client = seen.backend.client
        made = (await client.call("POST", "/api/rooms", room)).json
        waits = {"content": "Please begin with it"}
        await client.call("POST", f"/api/rooms/{made['id']}/messages", waits)
        async with client.open("POST", f"/api/rooms/{made['id']}/run") as stream:
            assert [frame.name async for frame in stream.frames()][-1] == "room_completed"
        await seen.press("s", *words)
        await seen.until("1 found")
        await seen.pilot.press("enter")
        while seen.app.places.room is None:
            await seen.pilot.pause()
        await seen.until("The needle." if words == "needle" else "Please begin with it")
        await seen.press("escape")
        await seen.app.places.link.close()


async def test_what_is_found_is_harmless_and_what_fits_is_marked(tmp_path: Path) -> None:
    hits = [Hit("c1", NASTY, "m", "user", f"before \x02match\x03 after {NASTY}", "2026-11-20T11:00:00+00:00")]
    async with fake_list(tmp_path, chat(1), size=(80, 20), hits=hits) as seen:
        text = await seen.press("s", "x")
        assert "before match after" in text
        assert "\x1b" not in text
        assert "[bold]x[/]" in text
        seen.client.refuse = Refused("too many questions", status=429)
        assert "too many questions" in await seen.press("y")
        await seen.press("enter")  # there is nothing to open
        assert isinstance(seen.app.screen, SearchScreen)


async def test_esc_in_one_burst_with_what_is_searched_closes_the_search(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1)) as seen:
        for key in ("s", *"redis", "escape", "s", "x", "escape"):
            seen.app.post_message(Key(key, key if len(key) == 1 else None))
        await seen.settle()
        assert isinstance(seen.app.screen, ConversationsScreen)
        assert [words for call, words in seen.client.asked if call == "search"][-1] == "x"


async def test_an_answer_that_comes_in_when_the_search_is_left_is_of_no_use(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), size=(80, 20)) as seen:
        seen.client.held = asyncio.Event()
        await seen.press("s", "x")
        screen = seen.app.screen
        assert isinstance(screen, SearchScreen)
        await seen.pilot.press("escape")
        await screen.query("*").remove()  # as while it is taken down
        seen.client.hits = [Hit("c1", "Chat 1", "m", "user", "found", "")]
        screen._search("x")
        seen.client.held.set()
        await seen.settle()
        screen.on_line_and_list_taken(LineAndList.Taken(0))  # that was under way
        await seen.settle()
        assert isinstance(seen.app.screen, ConversationsScreen)


async def test_a_hit_has_one_row_for_its_title_and_one_for_its_words_whatever_their_length(
    tmp_path: Path,
) -> None:
    hits = [
        Hit("c1", "Chat 1", "", "", "\x02Plan\x03 of it", ""),
        Hit("c1", "Chat 1 " * 8, "m", "user", "words " * 20, "2026-11-20T11:00:00+00:00"),
        Hit("c1", "Chat 1", "m", "user", "words", ""),
    ]
    async with fake_list(tmp_path, chat(1), size=(50, 20), hits=hits) as seen:
        await seen.press("s", "x")
        rows = (await seen.until("3 found", "words words")).splitlines()
        first = next(number for number, row in enumerate(rows) if "Plan of it" in row)
        margin = rows[first].index("Plan")
        listed = [row[margin:].rstrip() for row in rows[first : first + 5]]
        assert [row.split()[0] for row in listed] == ["Plan", "Chat", "words", "Chat", "words"]
        assert [row.startswith("  ") for row in listed] == [False, False, True, False, True]
        assert [row.endswith("…") for row in listed] == [False, True, True, False, False]


def test_a_snippet_keeps_its_spaces_and_survives_marks_that_are_not_closed() -> None:
    assert snippet_of("a \x02b\x03 c") == ["a ", ("b", "bold underline"), " c"]
    assert snippet_of("\x02b\x03\x02c\x03") == ["", ("b", "bold underline"), "", ("c", "bold underline"), ""]
    assert snippet_of("a \x02open") == ["a ", "open"]
    assert snippet_of("a\x03b") == ["a␃b"]
    assert snippet_of("") == [""]


def test_the_first_match_of_a_snippet_is_near_its_beginning() -> None:
    lead, match, _ = snippet_of("long ago " * 9 + "\x02b\x03 c")
    assert match == ("b", "bold underline")
    assert lead == "…" + ("long ago " * 9)[-30:]


async def test_what_the_server_lacks_is_not_offered_and_says_why(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), chat(2), lacks={"change": "…", "create": "…"}) as seen:
        hints = (await seen.text()).splitlines()[-1]
        assert "delete" in hints
        assert not {"settings", "new", "archive"} & set(hints.split())
        for key in ("e", "n", "R"):
            assert "this server does not offer it" in await seen.press(key)
        assert seen.client.asked == []
        assert isinstance(seen.app.screen, ConversationsScreen)
