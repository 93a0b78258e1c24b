from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events
from textual.binding import Binding
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen

from tests.widgets.apps import Hand, resize, running
from tests.widgets.drawing import screen_of
from tests.widgets.markdown.test_splitter import TEXTS, cut
from widgets.signs import BELOW, CARET, SCROLL_MARK
from widgets.transcript.transcript import Transcript


def lines(first: int, last: int) -> str:
    return "".join(f"- {number}\n" for number in range(first, last + 1))


def items(first: int, last: int) -> list[str]:
    return [f"   • {number}" for number in range(first, last + 1)]


def a_pane(hand: Hand, *, has_divider: bool = False) -> Transcript:
    pane = Transcript(clock=hand.clock())
    pane.canvas.has_divider = has_divider
    return pane


def without_mark(rows: list[str]) -> list[str]:
    """Return rows without the scroll mark in their margin."""
    return [row.rstrip(f" {SCROLL_MARK}") for row in rows]


async def shown(pane: Transcript, hand: Hand, pilot: Pilot[None]) -> list[str]:
    hand.turn_until_clean()
    await pilot.pause()
    return screen_of(pane)


@pytest.mark.parametrize("note", ["┄ cut at the pause", "✗ no quota"])
async def test_a_text_that_was_cut_within_a_sign_shows_it_for_it_was_said(note: str) -> None:
    hand, said = Hand(), "Take [the first, **not *p and `pay 5, ![x, _a and a[i"
    pane = a_pane(hand)
    async with running(pane, (70, 6)) as pilot:
        pane.turn_opened("a", "Ada")
        pane.text_added("a", said)
        assert f" Take the first, not p and pay 5, ![x, _a and a[i{CARET}" in await shown(pane, hand, pilot)
        pane.turn_closed("a", note)
        assert f" {said}" in await shown(pane, hand, pilot)
        pane.turn_reopened("a")
        pane.text_added("a", "]`*** to the end")
        pane.turn_closed("a")
        assert " Take [the first, not p and pay 5, ![x, _a and a[i] to the end" in await shown(
            pane, hand, pilot
        )


async def test_a_message_is_shown_with_its_title_and_its_note() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 6)) as pilot:
        pane.turn_opened("a", "● round 2")
        pane.text_added("a", "Hello **world**")
        assert await shown(pane, hand, pilot) == ["", " ● round 2", f" Hello world{CARET}", "", "", ""]
        pane.turn_closed("a", "┄ cut at the pause")
        assert await shown(pane, hand, pilot) == [
            "",
            " ● round 2",
            " Hello world",
            " ┄ cut at the pause",
            "",
            "",
        ]


async def test_messages_stand_under_one_another() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 6)) as pilot:
        for key in ("a", "b"):
            pane.turn_opened(key)
            pane.text_added(key, f"words of {key}")
            pane.turn_closed(key)
        assert await shown(pane, hand, pilot) == ["", " words of a", "", " words of b", "", ""]


async def test_text_for_a_key_that_was_never_opened_is_shown() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 3)) as pilot:
        pane.turn_closed("never")
        pane.text_added("a", "words")
        pane.text_replaced("b", "more")
        assert "more" in " ".join(await shown(pane, hand, pilot))


async def test_a_repair_replaces_the_text() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 4)) as pilot:
        pane.turn_opened("a")
        pane.text_added("a", "a gap in")
        await shown(pane, hand, pilot)
        pane.text_replaced("a", "no gap in it")
        assert await shown(pane, hand, pilot) == ["", f" no gap in it{CARET}", "", ""]
        pane.turn_closed("a")
        pane.turn_opened("a", "again")
        assert await shown(pane, hand, pilot) == ["", " again", f" no gap in it{CARET}", ""]


async def test_clearing_shows_an_empty_pane() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 3)) as pilot:
        pane.text_added("a", "words")
        await shown(pane, hand, pilot)
        pane.clear()
        assert await shown(pane, hand, pilot) == ["", "", ""]


@settings(max_examples=8)
@given(TEXTS, st.lists(st.integers(0, 400), max_size=12))
async def test_a_streamed_message_ends_as_the_same_screen_as_a_whole_one(
    text: str, places: list[int]
) -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (34, 12)) as pilot:
        pane.turn_opened("a")
        for chunk in cut(text, places):
            pane.text_added("a", chunk)
            hand.turn_until_clean()
        pane.turn_closed("a")
        streamed = await shown(pane, hand, pilot)
        pane.clear()
        pane.turn_opened("b")
        pane.text_added("b", text)
        pane.turn_closed("b")
        assert await shown(pane, hand, pilot) == streamed


async def test_scrolling_up_stops_following_and_says_what_is_new_below() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 6)) as pilot:
        pane.text_added("a", lines(1, 20))
        assert await shown(pane, hand, pilot) == [*items(15, 19), f"   • 20{CARET}"]
        await pilot.press("up", "up")
        assert not pane.follow
        assert without_mark(await shown(pane, hand, pilot)) == [*items(13, 17), f"   • 18{'':20}{BELOW}"]
        pane.text_added("a", lines(21, 23))
        assert without_mark(await shown(pane, hand, pilot)) == [
            *items(13, 17),
            f"   • 18{'':14}{BELOW} 3 new",
        ]
        await pilot.press("end")
        assert pane.follow
        assert await shown(pane, hand, pilot) == [*items(18, 22), f"   • 23{CARET}"]


async def test_reaching_the_bottom_follows_again() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 6)) as pilot:
        pane.text_added("a", lines(1, 20))
        await shown(pane, hand, pilot)
        await pilot.press("pageup", "pageup")
        assert (await shown(pane, hand, pilot))[0] == items(5, 5)[0]
        await pilot.press("pagedown", "down", "down")
        assert not pane.follow
        await pilot.press("pagedown")
        assert pane.follow


async def test_home_goes_to_the_first_row() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 6)) as pilot:
        pane.text_added("a", lines(1, 20))
        await shown(pane, hand, pilot)
        await pilot.press("home")
        assert without_mark(await shown(pane, hand, pilot))[:3] == ["", *items(1, 2)]
        assert not pane.follow


async def test_the_wheel_scrolls() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 6)) as pilot:
        pane.text_added("a", lines(1, 20))
        await shown(pane, hand, pilot)
        await pilot._post_mouse_events([events.MouseScrollUp], pane)
        assert (await shown(pane, hand, pilot))[0] == items(12, 12)[0]
        await pilot._post_mouse_events([events.MouseScrollDown], pane)
        assert pane.follow


async def test_following_can_be_set() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 6)) as pilot:
        pane.text_added("a", lines(1, 20))
        await shown(pane, hand, pilot)
        pane.follow = False
        pane.text_added("a", lines(21, 30))
        assert (await shown(pane, hand, pilot))[0] == items(15, 15)[0]
        pane.follow = True
        assert (await shown(pane, hand, pilot))[0] == items(25, 25)[0]


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 5), (3, 2), (7, 3), (8, 3), (200, 60)])
async def test_it_works_at_any_size(size: tuple[int, int]) -> None:
    hand = Hand()
    pane = a_pane(hand, has_divider=size[0] % 2 == 0)
    async with running(pane, size) as pilot:
        pane.turn_opened("a", "round 1")
        pane.text_added(
            "a", "# 标题\n\n- one 👩‍👩‍👧\n\n| a | b |\n|--|--|\n| c | d |\n\n```py\ncode\n```\n" * 3
        )
        hand.turn_until_clean()
        await pilot.press("up", "pageup", "home", "down", "pagedown")
        pane.text_added("a", "more")
        hand.turn_until_clean()
        await pilot.pause()
        strips = pane.render_lines(Region(0, 0, *size))
        assert [strip.cell_length for strip in strips] == [size[0]] * size[1]


async def test_a_pane_that_is_not_laid_out_takes_text() -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    pane.canvas.color = "#ff0000"
    pane.turn_opened("a")
    pane.text_added("a", "words before the first frame")
    hand.turn_until_clean()
    async with running(pane, (40, 3)):
        assert "words before the first frame" in screen_of(pane)[1]


async def test_a_resize_shows_what_a_fresh_pane_of_that_size_shows() -> None:
    text = "some words that wrap here and there\n\n" + lines(1, 9) + "```\ncode that is long enough\n```\n"
    hand = Hand()
    pane, fresh = a_pane(hand), a_pane(hand)
    async with running(pane, (60, 12)) as pilot:
        pane.text_added("a", text)
        await shown(pane, hand, pilot)
        await resize(pilot, 17, 9)
        resized = await shown(pane, hand, pilot)
    async with running(fresh, (17, 9)) as pilot:
        fresh.text_added("a", text)
        assert await shown(fresh, hand, pilot) == resized


async def test_a_pane_under_another_screen_is_drawn_when_it_is_uncovered() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 4)) as pilot:
        pilot.app.push_screen(Screen())
        await pilot.pause()
        pane.text_added("a", "said under the cover")
        hand.turn_until_clean()
        assert not pane.is_shown
        assert screen_of(pane)[1] == ""
        pilot.app.pop_screen()
        await pilot.pause()
        assert hand.waiting
        assert await shown(pane, hand, pilot) == ["", f" said under the cover{CARET}", "", ""]


async def test_a_pane_behind_a_dialog_goes_on() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 4)) as pilot:
        pilot.app.push_screen(ModalScreen())
        await pilot.pause()
        pane.text_added("a", "said behind")
        assert pane.is_shown
        assert await shown(pane, hand, pilot) == ["", f" said behind{CARET}", "", ""]


async def test_a_hidden_pane_is_drawn_when_it_is_shown() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 4)) as pilot:
        pane.display = False
        await pilot.pause()
        pane.text_added("a", "said in hiding")
        hand.turn_until_clean()
        pane.display = True
        await pilot.pause()
        assert await shown(pane, hand, pilot) == ["", f" said in hiding{CARET}", "", ""]


async def test_work_that_a_repaint_left_is_asked_of_the_clock() -> None:
    hand = Hand()
    pane = a_pane(hand)
    pane.text_added("a", "word " * 100_000)
    hand.turn_until_clean()
    async with running(pane, (30, 4)) as pilot:
        assert hand.waiting
        pane.text_added("a", "\n\nthe end")
        assert (await shown(pane, hand, pilot))[-1] == f" the end{CARET}"


def test_every_key_can_be_changed_by_a_keymap() -> None:
    ids = {binding.id for binding in Transcript.BINDINGS if isinstance(binding, Binding)}
    assert ids == {
        *("pane.up", "pane.down", "pane.page_up", "pane.page_down", "pane.home", "pane.follow"),
        *("pane.copy_message", "pane.copy_code", "pane.copy_selection", "pane.clear_selection"),
        *("pane.previous_message", "pane.next_message", "pane.half_up", "pane.half_down"),
    }


async def test_a_part_of_the_pane_can_be_rendered() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 4)) as pilot:
        pane.text_added("a", "abcdef")
        await shown(pane, hand, pilot)
        [strip] = pane.render_lines(Region(2, 1, 3, 1))
        assert strip.text == "bcd"
        assert pane.render_line(1).text.startswith(" abcdef")
        assert pane.render_lines(Region(0, 3, 30, 3))[-1].cell_length == 30


async def test_a_pane_that_was_removed_can_still_be_asked_for_its_rows() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 4)) as pilot:
        pane.text_added("a", "words")
        await shown(pane, hand, pilot)
        await pane.remove()
        assert [strip.cell_length for strip in pane.render_lines(Region(0, 0, 30, 2))] == [30, 30]
        pane.text_added("a", "more")
        hand.turn_until_clean()
        assert not pane.is_shown
