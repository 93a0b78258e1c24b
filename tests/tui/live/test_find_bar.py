"""The row that asks what to find, or which message to go to."""

from __future__ import annotations

import pytest
from textual import events

from agent_tui.model import events as ev
from tests.tui.room.one_room import AGENTS, LIVE, Screen, loaded, opened, start
from tui.language import speak
from tui.live.find import MAX_ASKED_CHARACTERS, found_text
from tui.screens.words import say
from widgets.transcript.finding import FindCount

MIKA, ADA, WANG = AGENTS


@pytest.fixture
def painted_when_read() -> None:
    """A view that is shown for the first time is searched when it is painted."""


async def with_words(screen: Screen) -> str:
    return await screen.send(
        loaded(status="running", current_round=1),
        LIVE,
        start("1", MIKA),
        ev.TextAdded("1", "An apple.\n\nA pear.\n\nAnother apple, and an Apple pie." + "\n\nmore" * 50),
        start("2", ADA),
        ev.TextAdded("2", "Plums, plums and cherries."),
    )


def bar(text: str) -> str:
    return text.splitlines()[-2].strip()


async def test_what_is_typed_is_found_at_once_and_n_goes_on() -> None:
    async with opened() as screen:
        await with_words(screen)
        text = await screen.press("slash", *"apple")
        assert bar(text).startswith("/ apple")
        assert bar(text).endswith("3 found")  # all are above
        assert "Another apple" not in text
        text = await screen.press("enter")
        assert bar(text).endswith("3 of 3")
        assert "Another apple" in text
        assert bar(await screen.press("n")).endswith("1 of 3")
        assert bar(await screen.press("N")).endswith("3 of 3")
        assert "n next · N previous · esc close" in text.splitlines()[-1]


async def test_where_nothing_was_found_no_key_leads_to_the_next() -> None:
    async with opened() as screen:
        await with_words(screen)
        assert (await screen.press("slash")).splitlines()[-1].startswith(" esc close  ")
        assert (await screen.press("a")).splitlines()[-1].startswith(" ↓ next")
        for keys in ([*"grape"], ["enter"]):
            text = await screen.press(*keys)
            assert bar(text).endswith("nothing found")
            assert text.splitlines()[-1].startswith(" esc close  ")


async def test_escape_closes_it_and_finds_nothing_any_more() -> None:
    async with opened() as screen:
        await with_words(screen)
        await screen.press("slash", *"apple", "escape")
        text = await screen.text()
        assert not bar(text).startswith("/")
        assert screen.app.room._panes.active is not None
        assert screen.app.room._panes.active.reader.found == FindCount()
        assert "no search yet – press /" in await screen.press("n")


@pytest.mark.parametrize("language", ["en", "ru", "zh-CN"])
async def test_the_keys_beside_the_number_of_a_message_are_whole(language: str) -> None:
    speak(language)
    try:
        async with opened((80, 24)) as screen:
            await with_words(screen)
            assert bar(await screen.press("colon")).endswith(say("go_to.keys"))
    finally:
        speak("en")


async def test_an_empty_bar_does_not_say_to_press_the_key_that_opened_it() -> None:
    async with opened() as screen:
        await with_words(screen)
        assert "no search yet" not in await screen.press("slash", "down", "up")


async def test_keys_are_letters_while_it_is_typed() -> None:
    async with opened() as screen:
        await with_words(screen)
        text = await screen.press("slash", *"ptz1 ng", "left", "right")
        assert bar(text).startswith("/ ptz1 ng")
        assert text.splitlines()[-1].startswith(" esc close  ")
        assert "pause" not in (await screen.press("colon", "escape", "colon")).splitlines()[-1]
        assert screen.link.calls.asked == []


async def test_the_search_goes_where_the_reader_goes() -> None:
    async with opened() as screen:
        await with_words(screen)
        await screen.press("slash", *"plums", "enter")
        mika = screen.app.room._panes.active
        text = await screen.press("tab")
        assert bar(text).endswith("2") or bar(text).endswith("2 found")
        assert mika is not None
        assert mika.reader.found == FindCount()
        text = await screen.press("t")
        assert bar(text).endswith("2") or bar(text).endswith("2 found")


async def test_the_order_of_escape_is_the_order_of_opening() -> None:
    async with opened() as screen:
        await with_words(screen)
        await screen.press("t", "slash", *"pear")
        text = await screen.press("escape")
        assert "t back" in text
        assert not bar(text).startswith("/")
        assert "t back" not in await screen.press("escape")


async def test_a_message_is_gone_to_by_its_number() -> None:
    async with opened((60, 12)) as screen:
        texts = ("First", "Second", "Third", "Fourth")
        messages = tuple(
            ev.Message(str(n), "r", "assistant", "", f"{text}." + "\n\nx" * 30, "Mika", "", n, 1, "t", "a")
            for n, text in enumerate(texts, 1)
        )
        await screen.send(ev.RoomLoaded(ev.RoomInfo("r", agents=(MIKA,)), messages), LIVE)
        for keys, expected in (("3", "Third"), ("1", "First"), ("99", "Fourth")):
            assert bar(await screen.press("colon")).startswith("message 1–4")
            text = await screen.press(*keys, "enter")
            assert f"{expected}." in text
            assert "message 1–4" not in text
            assert ("there are 4 messages" in text) is (keys == "99")
        assert "First." in await screen.press("colon", "home")
        await screen.press("colon", "end")
        assert screen.app.room._panes.active is not None
        assert screen.app.room._panes.active.follow


async def test_the_number_of_a_message_is_not_looked_for_afterwards() -> None:
    async with opened() as screen:
        await with_words(screen)
        for leaves in ("enter", "escape"):
            await screen.press("colon", "1", leaves)
            assert bar(await screen.press("slash")) == "/"
            await screen.press("escape")


async def test_letters_are_no_number_of_a_message_which_is_said_and_can_be_mended() -> None:
    async with opened() as screen:
        await with_words(screen)
        text = await screen.press("colon", *"one", "enter")
        assert "enter a message number" in text
        assert bar(text).startswith("message 1–1 one")
        assert not bar(await screen.press(*["backspace"] * 3, "1", "enter")).startswith("message")


async def test_the_words_are_moved_in_as_in_vim() -> None:
    async with opened((60, 12)) as screen:
        rows = "".join(f"Row {number}\n\n" for number in range(100, 150))
        message = ev.Message("1", "r", "assistant", "", rows, "Mika", "", 1, 1, "t", "a")
        await screen.send(ev.RoomLoaded(ev.RoomInfo("r", agents=(MIKA,)), (message,)), LIVE)
        assert "Row 149" in await screen.text()
        assert "Row 100" in await screen.press("g")
        assert "Row 100" not in await screen.press("j", "j", "j")
        top = await screen.press("k", "k", "k")
        assert "Row 100" in top
        half = await screen.press("ctrl+d")
        assert half != top
        assert await screen.press("ctrl+u") == top
        assert "Row 149" in await screen.press("G")


async def test_what_is_pasted_is_harmless_and_short() -> None:
    async with opened() as screen:
        await with_words(screen)
        await screen.press("slash")
        line = screen.app.room.focused
        assert line is not None
        line.post_message(events.Paste("\x1b]52;c;aGk=\x07\u202eevil" + "x" * 5000))
        text = await screen.text()
        value = screen.app.room._find_bar._line.value
        assert "evil" in value
        assert not set(text + value) & set("\x1b\x07\u202e")
        assert len(value) == MAX_ASKED_CHARACTERS


async def test_no_size_of_the_screen_breaks_it() -> None:
    async with opened((1, 1)) as screen:
        await with_words(screen)
        for columns, rows in ((1, 1), (5, 2), (20, 5), (80, 24)):
            await screen.resize(columns, rows)
            text = await screen.press("slash", *"apple", "enter", "n", "colon", "escape", "escape")
            assert all(len(line) <= columns for line in text.splitlines()), (columns, rows)


def test_the_search_says_how_it_stands() -> None:
    assert found_text("", FindCount()) == ""
    assert found_text("x", FindCount(0, 0, is_complete=False)) == "searching…"
    assert found_text("x", FindCount(0, 0)) == "nothing found"
    assert found_text("x", FindCount(3, 12)) == "3 of 12"
    assert found_text("x", FindCount(3, 1200, is_complete=False)) == "3 of 1,200 …"
    assert found_text("x", FindCount(0, 2)) == "2 found"
