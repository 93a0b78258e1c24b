from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.model.inert import inert_line
from tests.widgets.apps import Hand, resize, running
from tests.widgets.drawing import screen_of
from widgets.ink import FAILED, MARK, text_of
from widgets.markdown.rows import head_row
from widgets.transcript.step_body import result_body
from widgets.transcript.transcript import Transcript

MAKEFILE = result_body("  12  test: clean build\n  13      pytest")


def a_chat() -> tuple[Transcript, Hand]:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    pane.turn_opened("u", "You")
    pane.text_added("u", "Why is the build slow?")
    pane.turn_closed("u")
    pane.turn_opened("m", "some-model")
    pane.turn_closed("m")
    thought = "The Makefile probably rebuilds"
    pane.step_opened("1", title=f"thinking  {thought}", summary="4 s", is_folded=True, is_dim=True)
    pane.text_added("1", thought + " **all**\n\n- of it")
    pane.turn_closed("1")
    pane.step_opened("2", title="read_file  Makefile", summary="3 ms · 1.2 kB", sign="✓", is_folded=False)
    pane.text_replaced("2", MAKEFILE)
    pane.turn_closed("2")
    pane.step_opened("3", title='search  "清理" in *.mk', summary="no such folder", sign="✗", is_folded=True)
    pane.turn_closed("3")
    pane.text_added("t", "So far: `test` depends on `clean`")
    return pane, hand


async def drawn(pane: Transcript, hand: Hand, size: tuple[int, int], *, is_ascii: bool = False) -> list[str]:
    async with running(pane, size, is_ascii=is_ascii) as pilot:
        hand.turn_until_clean()
        await pilot.pause()
        return screen_of(pane)


async def test_steps_are_rows_under_the_name_of_who_takes_them() -> None:
    assert await drawn(*a_chat(), (60, 14)) == [
        "",
        " You",
        " Why is the build slow?",
        "",
        " some-model",
        " ▸ thinking      The Makefile probably rebuilds         4 s",
        " ▾ read_file     Makefile                   ✓ 3 ms · 1.2 kB",
        " │   12  test: clean build",
        " │   13      pytest",
        ' ▸ search        "清理" in *.mk            ✗ no such folder',
        "",
        " So far: test depends on clean▌",
        "",
        "",
    ]


async def test_an_open_thought_says_its_first_words_once() -> None:
    pane, hand = a_chat()
    pane.folds.fold("1", False)
    assert (await drawn(pane, hand, (60, 16)))[5:9] == [
        " ▾ thinking                                             4 s",
        " │ The Makefile probably rebuilds all",
        " │",
        " │   • of it",
    ]
    pane.folds.fold("1", True)
    folded = await drawn(pane, hand, (60, 16))
    assert folded[5] == " ▸ thinking      The Makefile probably rebuilds         4 s"


async def test_without_signs_of_unicode_steps_look_the_same() -> None:
    rows = await drawn(*a_chat(), (60, 14), is_ascii=True)
    assert rows[5:9] == [
        " > thinking      The Makefile probably rebuilds         4 s",
        " v read_file     Makefile                   + 3 ms - 1.2 kB",
        " |   12  test: clean build",
        " |   13      pytest",
    ]


async def test_a_narrow_pane_cuts_what_the_step_is_about_first() -> None:
    rows = await drawn(*a_chat(), (30, 16))
    assert rows[5:7] == [" ▸ thinking  The Makefil… 4 s", " ▾ read_file  ✓ 3 ms · 1.2 kB"]


async def test_a_failed_step_says_so_in_red_and_without_colours_by_its_sign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = head_row("search", "✗ no such folder", 40, is_folded=True)
    assert failed[-1][1] & FAILED
    monkeypatch.setenv("NO_COLOR", "1")
    rows = await drawn(*a_chat(), (60, 14))
    assert rows[9].endswith("✗ no such folder")


async def test_all_of_a_body_stands_behind_a_line() -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    pane.step_opened("1", title="thinking", is_folded=False)
    pane.text_added(
        "1", "# head\n\n- one\n  - two\n\n```py\nx = 1\n```\n\n> said\n\n| a |\n|---|\n| 1 |\n\n***\nend"
    )
    pane.turn_closed("1", "┄ cut")
    rows = await drawn(pane, hand, (30, 20))
    assert rows[:17] == [
        " ▾ thinking",
        " │ head",
        " │",
        " │   • one",
        " │     ◦ two",
        " │",
        " │ x = 1",
        " │",
        " │ ▎ said",
        " │",
        " │ a",
        " │ ─",
        " │ 1",
        " │",
        " │ " + "─" * 26,
        " │ end",
        " │ ┄ cut",
    ]


async def test_a_diff_in_a_body_has_all_its_rows_and_stands_side_by_side_where_there_is_room() -> None:
    pane, hand = a_chat()
    pane.text_replaced("2", result_body("--- a/f\n+++ b/f\n@@ -7 +7 @@\n-old\n+new"))
    async with running(pane, (80, 20)) as pilot:
        hand.turn_until_clean()
        assert [row for row in screen_of(pane) if row.startswith(" │")] == [
            " │ --- a/f",
            " │ +++ b/f",
            " │ …",
            " │   7 -old",
            " │   7 +new",
        ]
        await resize(pilot, 120, 20)
        hand.turn_until_clean()
        changes = [row.split() for row in screen_of(pane) if row.startswith(" │   7")]
        assert changes == [["│", "7", "-old", "│", "7", "+new"]]
        pane.reader.find("new")
        hand.turn_until_clean()
        assert pane.reader.found.total == 1


async def test_hostile_titles_stay_one_harmless_row() -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    pane.step_opened("1", title="a\n\x1b[2Jb  c\u202ed\r\n" + "x" * 900, summary="1\n2\x07", is_folded=True)
    rows = await drawn(pane, hand, (40, 6))
    assert rows[0].startswith(" ▸ a ␛[2Jb")
    assert rows[0].endswith("1 2␇")
    assert rows[1:] == [""] * 5


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=20), st.integers(1, 60))
def test_a_head_row_takes_at_most_its_width(name: str, about: str, summary: str, width: int) -> None:
    label = f"{inert_line(name)}  {inert_line(about)}"
    row = head_row(label, inert_line(summary), width, is_folded=True)
    assert cell_len(text_of(row)) <= width
    assert row[0][1] & MARK


@pytest.mark.parametrize("width", range(1, 24))
def test_the_right_side_is_cut_last(width: int) -> None:
    text = text_of(head_row("read_file  Makefile", "✓ 3 ms", width, is_folded=False))
    assert cell_len(text) <= width
    if width >= 13:
        assert text.endswith("✓ 3 ms")
    if width >= 7:
        assert text.startswith("▾ rea")


async def test_resizing_keeps_folds_and_equals_a_fresh_pane() -> None:
    fresh = [await drawn(*a_chat(), size) for size in ((60, 14), (30, 18), (9, 40))]
    pane, hand = a_chat()
    async with running(pane, (60, 14)) as pilot:
        for size, expected in zip(((30, 18), (9, 40), (60, 14)), [*fresh[1:], fresh[0]], strict=True):
            await resize(pilot, *size)
            hand.turn_until_clean()
            await pilot.pause()
            assert screen_of(pane) == expected


async def test_what_stands_at_the_right_of_a_title_is_cut_last_and_may_change() -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    pane.turn_opened("m", "some-model")
    pane.text_added("m", "Words.")
    pane.turn_closed("m")
    pane.turn_titled("m", "some-model\t12 s · 1,902 tok")
    assert (await drawn(pane, hand, (40, 4)))[:3] == [
        "",
        " some-model            12 s · 1,902 tok",
        " Words.",
    ]
    pane.turn_titled("m", "some-model\t12 s · 1,902 tok\tthis model cannot see images · 3 messages left out")
    assert (await drawn(pane, hand, (40, 6)))[:5] == [
        "",
        " some-model            12 s · 1,902 tok",
        " this model cannot see images · 3",
        " messages left out",
        " Words.",
    ]


def test_a_long_reason_of_a_failure_takes_what_the_row_has_and_no_more() -> None:
    why = "✗ " + "the file was changed meanwhile and " * 4
    wide = text_of(head_row("patch_file  src/main.py", why, 200, is_folded=True))
    assert why.strip() in wide
    narrow = text_of(head_row("patch_file  src/main.py", why, 100, is_folded=True))
    assert "patch_file    src/main.py ✗" in narrow
    assert narrow.endswith("…")
