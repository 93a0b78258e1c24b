from __future__ import annotations

import pytest

from tests.widgets.apps import Hand
from tests.widgets.drawing import screen_of
from tests.widgets.transcript.test_selection import Mouse, Reader
from widgets.transcript.transcript import Transcript

CODE = "".join(f"line {number}\n" for number in range(1, 41))


def a_pane(*texts: str) -> tuple[Transcript, Hand]:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    for number, text in enumerate(texts, 1):
        pane.turn_opened(str(number), f"round {number}")
        pane.text_added(str(number), text)
        pane.turn_closed(str(number))
    return pane, hand


def signed(pane: Transcript) -> list[str]:
    """Return the rows that have the sign of the message the reader chose."""
    return [row.rstrip(" ▐") for row in screen_of(pane) if row.startswith("▸")]


async def test_the_current_message_is_the_newest_in_sight_until_the_reader_chooses_one() -> None:
    pane, hand = a_pane("one", "two", "three")
    app = Reader(pane)
    async with app.run_test(size=(30, 9)) as pilot:
        hand.turn_until_clean()
        assert (pane.reader.message_count, pane.reader.current_message) == (3, 3)
        assert signed(pane) == []
        await pilot.press("y")
        await Mouse(pilot, pane, hand).click(3, 5)
        assert pane.reader.current_message == 2
        assert signed(pane) == ["▸round 2"]
        await pilot.press("y")
        assert app.copies == [("three", "message"), ("two", "message")]
        await pilot.press("end")
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.reader.current_message == 3
        assert signed(pane) == []


async def test_keys_go_from_message_to_message() -> None:
    pane, hand = a_pane(*["- words\n" * 5] * 6)
    async with Reader(pane).run_test(size=(30, 9)) as pilot:
        hand.turn_until_clean()
        seen = []
        for key in ("shift+up", "shift+up", "shift+up", "shift+down"):
            await pilot.press(key)
            hand.turn_until_clean()
            await pilot.pause()
            seen.append((pane.reader.current_message, signed(pane)))
        assert seen == [(number, [f"▸round {number}"]) for number in (5, 4, 3, 4)]
        assert not pane.follow


async def test_the_first_step_up_in_a_long_message_goes_to_its_beginning() -> None:
    pane, hand = a_pane("one", "- words\n" * 50)
    async with Reader(pane).run_test(size=(30, 9)) as pilot:
        hand.turn_until_clean()
        await pilot.press("shift+up")
        hand.turn_until_clean()
        await pilot.pause()
        assert signed(pane) == ["▸round 2"]
        await pilot.press("shift+up")
        assert pane.reader.current_message == 1


@pytest.mark.parametrize(("number", "expected"), [(-3, 1), (2, 2), (999, 4)])
async def test_one_can_go_to_any_message(number: int, expected: int) -> None:
    pane, hand = a_pane(*["words"] * 4)
    async with Reader(pane).run_test(size=(30, 4)) as pilot:
        hand.turn_until_clean()
        pane.reader.go_to_message(number)
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.reader.current_message == expected
        assert signed(pane) == [f"▸round {expected}"]


async def test_an_empty_pane_has_nothing_to_go_to_and_nothing_to_copy() -> None:
    pane, hand = a_pane()
    app = Reader(pane)
    async with app.run_test(size=(30, 4)) as pilot:
        hand.turn_until_clean()
        pane.reader.go_to_message(1)
        pane.reader.find("words")
        pane.reader.find_step(1)
        await pilot.press("shift+up", "y", "Y")
        await Mouse(pilot, pane, hand).drag((1, 1), (4, 2))
        assert pane.reader.current_message == 0
        assert app.copies == [("", "message"), ("", "code")]


async def test_a_message_is_copied_as_it_was_sent_also_what_is_not_split_yet() -> None:
    text = "# One\n\n> **two**\n\n" + "word " * 100_000
    pane, hand = a_pane(text)
    async with Reader(pane).run_test(size=(30, 4)):
        hand.turn()
        assert pane.reader.message_text() == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("```py\nx = 1\n\n\ty\n```", "x = 1\n\n\ty", id="fence"),
        pytest.param(f"```\n{CODE}```", CODE.rstrip(), id="in many pieces"),
        pytest.param("> ```\n> one\n>\n> two\n> ```", "one\n\ntwo", id="in a quote"),
        pytest.param("- item\n\n  ```\n  one\n    two\n  ```", "one\n  two", id="in a list"),
        pytest.param("~~~\none\n~~~\n\n~~~\ntwo\n~~~", "two", id="the newest of two"),
        pytest.param("```\none\n```\n```\ntwo\n```", "two", id="one right behind the other"),
        pytest.param("    one\n    two\n\nwords", "one\ntwo", id="indented"),
        pytest.param("```\n" + "x" * 9000 + "\ny\n```", "x" * 9000 + "\ny", id="a very long line"),
        pytest.param("```\nstill growing", "still growing", id="open"),
        pytest.param("no code", "", id="none"),
    ],
)
async def test_a_code_block_is_copied_without_what_stands_around_it(text: str, code: str) -> None:
    pane, hand = a_pane(text)
    async with Reader(pane).run_test(size=(60, 12)):
        hand.turn_until_clean()
        assert pane.reader.code_text() == code


async def test_the_code_block_that_was_clicked_or_found_is_the_one_that_is_copied() -> None:
    pane, hand = a_pane("```\nfirst\n```\n\n```\nsecond\n```\n\n```\nthird\n```")
    app = Reader(pane)
    async with app.run_test(size=(30, 14)) as pilot:
        hand.turn_until_clean()
        await pilot.press("Y")
        row = next(index for index, row in enumerate(screen_of(pane)) if "first" in row)
        await Mouse(pilot, pane, hand).click(5, row)
        await pilot.press("Y")
        pane.reader.find("second")
        hand.turn_until_clean()
        pane.reader.find_step(1)
        await pilot.press("Y")
        assert app.copies == [("third", "code"), ("first", "code"), ("second", "code")]
