from __future__ import annotations

import pytest

from tests.widgets.apps import Hand
from tests.widgets.drawing import screen_of
from tests.widgets.transcript.test_selection import Mouse, Reader
from widgets.transcript.transcript import Transcript

STEPS = 10_000


def a_pane(count: int = 4, lines: int = 3, *, is_folded: bool = True) -> tuple[Transcript, Hand]:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    for number in range(count):
        add_step(pane, number, lines, is_folded=is_folded)
    return pane, hand


def add_step(pane: Transcript, number: int, lines: int = 3, *, is_folded: bool = True) -> None:
    key = str(number)
    kind = "read" if number % 2 else "think"
    pane.step_opened(key, title=f"{kind}  about {number}", summary="1 s", sign="✓", is_folded=is_folded)
    pane.text_replaced(key, "```\n" + "".join(f"line {number}.{at}\n" for at in range(lines)) + "```")
    pane.turn_closed(key)


def rows_of(pane: Transcript) -> list[str]:
    """Return the rows without the scroll bar."""
    return [row.rstrip("▐ ") for row in screen_of(pane)]


def heads(pane: Transcript) -> list[str]:
    """Return the fold and the number of each step whose head row is in sight."""
    rows = [row for row in screen_of(pane) if "about" in row]
    return [row[1] + row.split("about ")[1].split()[0] for row in rows]


async def test_a_click_on_a_head_row_folds_and_unfolds_the_step() -> None:
    pane, hand = a_pane()
    app = Reader(pane)
    async with app.run_test(size=(40, 12)) as pilot:
        hand.turn_until_clean()
        mouse = Mouse(pilot, pane, hand)
        await mouse.click(5, 1)
        assert heads(pane) == ["▸0", "▾1", "▸2", "▸3"]
        assert screen_of(pane)[2:5] == [" │ line 1.0", " │ line 1.1", " │ line 1.2"]
        assert pane.folds.step_at_reader() == "1"
        await mouse.click(5, 3)  # its body
        assert not pane.folds.is_folded("1")
        await mouse.click(5, 1)
        await mouse.click(5, 1)
        await mouse.click(5, 9)  # below everything
        await mouse.click(9, 0, times=2)
        assert heads(pane)[0] == "▸0"
        assert pane.folds.chosen == {"1": False, "0": True}
        assert app.posted == []  # nothing was selected or copied


async def test_the_reader_folds_the_step_he_chose_else_the_top_most_one_in_sight() -> None:
    pane, hand = a_pane()
    app = Reader(pane)
    async with app.run_test(size=(40, 8)) as pilot:
        pane.focus()
        hand.turn_until_clean()
        assert pane.folds.step_at_reader() == "0"
        assert pane.folds.toggle() == "0"
        hand.turn_until_clean()
        await pilot.press("shift+up", "shift+up", "shift+down")
        hand.turn_until_clean()
        assert pane.folds.step_at_reader() == "2"
        assert [row[:2] for row in screen_of(pane) if row.startswith("›")] == ["›▸"]
        assert pane.folds.toggle() == "2"
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.folds.chosen == {"0": False, "2": False}


async def test_choosing_a_step_in_sight_moves_nothing() -> None:
    pane, hand = a_pane(30)
    async with Reader(pane).run_test(size=(40, 8)) as pilot:
        pane.focus()
        hand.turn_until_clean()
        before = heads(pane)
        await pilot.press("shift+up", "shift+up")
        hand.turn_until_clean()
        assert heads(pane) == before
        assert pane.folds.step_at_reader() == "27"
        pane.reader.go_to_message(3)
        hand.turn_until_clean()
        assert pane.folds.step_at_reader() == "2"
        assert "▸2" in heads(pane)


async def test_a_pane_without_steps_has_none_to_fold() -> None:
    pane, hand = a_pane(0)
    pane.text_added("words", "some words")
    async with Reader(pane).run_test(size=(40, 8)):
        hand.turn_until_clean()
        assert (
            pane.folds.step_at_reader()
            == pane.folds.toggle()
            == pane.folds.toggle("words")
            == pane.folds.toggle("nobody")
            == ""
        )
        pane.folds.fold_all()
        pane.folds.fold("words", True)
        pane.step_titled("words", "other")
        hand.turn_until_clean()
        assert screen_of(pane)[:2] == ["", " some words▌"]


async def test_what_the_reader_unfolded_stays_so_over_a_hundred_updates() -> None:
    pane, hand = a_pane(3)
    pane.step_opened("grows", title="run  make", is_folded=True)
    async with Reader(pane).run_test(size=(40, 30)):
        hand.turn_until_clean()
        pane.folds.toggle("grows")
        pane.folds.toggle("1")
        body = ""
        for number in range(100):
            body += f"word {number}\n\n"
            pane.step_titled("grows", f"run  about make {number}", f"{number} s")
            pane.step_opened("grows", title=f"run  about make {number}", is_folded=True)
            pane.text_replaced("grows", body if number % 7 else f"# {body}")
            pane.text_added("1", "more\n")
            pane.folds.fold("grows", True)
            pane.folds.fold("1", True)
            add_step(pane, 100 + number)
            hand.turn()
        assert not pane.folds.is_folded("grows")
        assert not pane.folds.is_folded("1")
        pane.folds.toggle("grows")
        pane.folds.fold("grows", False)
        pane.text_added("grows", "more")
        assert pane.folds.is_folded("grows")


async def test_the_program_folds_what_the_reader_left_alone() -> None:
    pane, hand = a_pane(2, is_folded=False)
    app = Reader(pane)
    async with app.run_test(size=(40, 12)) as pilot:
        hand.turn_until_clean()
        pane.folds.fold("0", True)
        hand.turn_until_clean()
        await pilot.pause()
        assert heads(pane) == ["▸0", "▾1"]
        assert pane.folds.chosen == {}


async def test_all_steps_or_some_fold_at_once() -> None:
    pane, hand = a_pane(4)
    async with Reader(pane).run_test(size=(40, 30)):
        hand.turn_until_clean()
        seen = []
        for which in (None, ["0", "2"], ["1"], None, None):
            pane.folds.fold_all(which)
            hand.turn_until_clean()
            seen.append("".join(head[0] for head in heads(pane)))
        pane.folds.fold_all(["0", "2"], is_folded=True)
        hand.turn_until_clean()
        seen.append("".join(head[0] for head in heads(pane)))
        assert seen == ["▾▾▾▾", "▸▾▸▾", "▸▸▸▾", "▸▸▸▸", "▾▾▾▾", "▸▾▸▾"]


async def test_folding_what_is_above_the_reader_moves_nothing() -> None:
    pane, hand = a_pane(40, 10, is_folded=False)
    async with Reader(pane).run_test(size=(40, 12)):
        hand.turn_until_clean()
        pane.reader.go_to_message(20)
        pane.action_scroll_rows(4)
        hand.turn_until_clean()
        before = rows_of(pane)
        for number in range(10):
            pane.folds.fold(str(number), True)
            pane.text_added("39", "more\n")
        hand.turn_until_clean()
        assert rows_of(pane)[:-1] == before[:-1]
        assert not pane.follow


async def test_folding_what_the_reader_is_in_leaves_its_head_at_the_top() -> None:
    pane, hand = a_pane(40, 30, is_folded=False)
    async with Reader(pane).run_test(size=(40, 12)):
        hand.turn_until_clean()
        pane.reader.go_to_message(20)
        pane.action_scroll_rows(15)
        hand.turn_until_clean()
        pane.folds.toggle("19")
        hand.turn_until_clean()
        assert heads(pane)[0] == "▸19"
        assert not pane.follow


async def test_the_end_is_followed_over_folding() -> None:
    pane, hand = a_pane(20, 4)
    async with Reader(pane).run_test(size=(40, 12)):
        hand.turn_until_clean()
        pane.folds.toggle("18")
        hand.turn_until_clean()
        assert pane.follow
        assert heads(pane)[-2:] == ["▾18", "▸19"]
        pane.folds.fold("19", False)
        hand.turn_until_clean()
        assert pane.follow
        assert screen_of(pane)[-1] == " │ line 19.3"


async def test_a_long_step_keeps_its_head_in_sight_when_it_is_unfolded_and_folding_follows_again() -> None:
    pane, hand = a_pane(20, 40)
    async with Reader(pane).run_test(size=(40, 12)) as pilot:
        hand.turn_until_clean()
        await Mouse(pilot, pane, hand).click(5, 8)
        assert heads(pane)[8] == "▾16"
        assert not pane.follow
        await Mouse(pilot, pane, hand).click(5, 8)
        assert heads(pane)[-1] == "▸19"
        assert pane.follow


async def test_a_match_in_a_folded_step_is_counted_and_unfolds_when_the_reader_goes_there() -> None:
    pane, hand = a_pane(30)
    app = Reader(pane)
    async with app.run_test(size=(40, 12)) as pilot:
        hand.turn_until_clean()
        pane.reader.find("line 7.2")
        hand.turn_until_clean()
        assert pane.reader.found.total == 1
        assert pane.folds.is_folded("7")
        pane.reader.find_step(1)
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.folds.chosen == {"7": False}
        assert " │ line 7.2" in rows_of(pane)
        assert not pane.follow
        pane.reader.find("about 9")
        pane.reader.find_step(1)
        hand.turn_until_clean()
        assert pane.folds.is_folded("9")
        assert pane.reader.found.total == 1


async def test_a_title_that_changes_is_searched_anew() -> None:
    pane, hand = a_pane(3)
    async with Reader(pane).run_test(size=(40, 12)):
        pane.reader.find("other")
        hand.turn_until_clean()
        pane.step_titled("1", "read  other words", "2 s")
        hand.turn_until_clean()
        assert pane.reader.found.total == 1


@pytest.mark.parametrize("is_folded", [True, False])
async def test_a_step_is_copied_as_it_was_given(is_folded: bool) -> None:
    pane, hand = a_pane(3, is_folded=is_folded)
    app = Reader(pane)
    async with app.run_test(size=(40, 30)) as pilot:
        pane.focus()
        hand.turn_until_clean()
        pane.reader.go_to_message(2)
        await pilot.press("y")
        assert app.copies == [("```\nline 1.0\nline 1.1\nline 1.2\n```", "message")]


async def test_selecting_in_a_body_gives_its_text_without_the_line_before_it() -> None:
    pane, hand = a_pane(0)
    pane.step_opened("a", title="think  about a", is_folded=False)
    pane.text_added("a", "some words\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    pane.turn_closed("a")
    add_step(pane, 1, is_folded=False)
    app = Reader(pane)
    async with app.run_test(size=(40, 20)) as pilot:
        hand.turn_until_clean()
        mouse = Mouse(pilot, pane, hand)
        await mouse.drag((3, 1), (20, 3))
        assert pane.reader.selected_text() == "some words\n\n- one"
        rows = screen_of(pane)
        first = next(at for at, row in enumerate(rows) if "line 1.0" in row)
        await mouse.drag((3, first), (30, first + 1))
        assert pane.reader.selected_text() == "line 1.0\nline 1.1"
        pane.folds.toggle("1")
        hand.turn_until_clean()
        assert pane.reader.selected_text() == "line 1.0\nline 1.1"


async def test_ten_thousand_steps_cost_what_is_in_sight() -> None:
    pane, hand = a_pane(STEPS)
    async with Reader(pane).run_test(size=(100, 40)):
        hand.turn_until_clean()
        split = [message.key for message in pane.view.messages if message.blocks]
        assert split == []  # nothing of a folded body
        pane.folds.toggle("5000")
        pane.folds.toggle("9990")
        hand.turn_until_clean()
        split = [message.key for message in pane.view.messages if message.blocks]
        assert split == ["9990"]
        pane.folds.fold_all(is_folded=False)
        hand.turn_until_clean()
        split = [message.key for message in pane.view.messages if message.blocks]
        assert len(split) <= 40  # what is in sight
        assert pane.view.position()[1] >= STEPS


async def test_a_body_is_made_when_somebody_looks_for_it() -> None:
    pane, hand = a_pane(0)
    made: list[str] = []

    def body(key: str) -> str:
        made.append(key)
        return f"the words of {key}"

    for key in "abcd":
        pane.step_opened(key, title=f"think  about {key}", is_folded=key != "d")
        pane.body_later(key, lambda key=key: body(key))  # type: ignore[misc]
        pane.turn_closed(key)
    app = Reader(pane)
    async with app.run_test(size=(40, 20)) as pilot:
        pane.focus()
        hand.turn_until_clean()
        assert made == ["d"]
        pane.folds.toggle("a")
        hand.turn_until_clean()
        pane.folds.toggle("a")
        pane.folds.toggle("a")
        hand.turn_until_clean()
        assert screen_of(pane)[1] == " │ the words of a"
        pane.reader.go_to_message(2)
        await pilot.press("y")
        assert app.copies == [("the words of b", "message")]
        assert made == ["d", "a", "b"]
        pane.reader.find("words of c")
        hand.turn_until_clean()
        assert pane.reader.found.total == 1
        pane.body_later("c", lambda: "other words of c")
        hand.turn_until_clean()
        assert pane.reader.found.total == 1
        pane.text_added("c", " and more")
        pane.reader.find_step(1)
        hand.turn_until_clean()
        assert " │ other words of c and more" in screen_of(pane)
