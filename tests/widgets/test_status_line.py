from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from tests.widgets.apps import CountingDriver, painted, running
from widgets.status_line import Part, StatusLine, fitted

TASK = "Should sessions live in Redis or PostgreSQL?"
HINTS = [
    Part("pause", key="p"),
    Part("zoom", 3, key="z"),
    Part("timeline", 4, key="t"),
    Part("next pane", 1, key="tab"),
    Part("help", key="?"),
]
USAGE = [Part("demo model", 5), "1,284 tokens", Part("no cost", 4)]


async def text(width: int, *fields: Any, is_ascii: bool = False) -> str:
    line = StatusLine()
    async with running(line, (width, 2), is_ascii=is_ascii):
        line.show(*fields)
        return line.text


async def test_the_top_line_of_a_wide_screen() -> None:
    shown = await text(120, [TASK], ["round 2 of 3", Part("parallel", 1)], ["● live"])
    assert shown == f" {TASK}" + "round 2 of 3 · parallel".rjust(54) + "● live".rjust(20) + " "


async def test_the_hints_of_a_wide_screen() -> None:
    shown = await text(120, HINTS, USAGE, ["● connected"])
    assert shown.startswith(" p pause · z zoom · t timeline · tab next pane · ? help   ")
    assert shown.rstrip().endswith("demo model · 1,284 tokens · no cost         ● connected")
    assert len(shown) == 120


async def test_what_matters_least_goes_first_at_eighty_columns() -> None:
    shown = await text(80, HINTS, USAGE, ["● connected"])
    assert shown == " p pause · z zoom · tab next pane · ? help" + "1,284 tokens  ● connected".rjust(37) + " "


async def test_of_parts_that_matter_as_little_only_those_go_that_have_no_room() -> None:
    hints = [Part("pause", key="p"), Part("next pane", 4, key="tab"), Part("help", key="?")]
    usage = [Part("1,284 tokens", 4), Part("no cost", 4)]
    assert await text(52, hints, usage) == " p pause · tab next pane · ? help      1,284 tokens "
    assert (await text(45, hints, usage)).strip() == "p pause · tab next pane · ? help"


async def test_a_long_task_takes_half_a_row_where_others_want_the_rest_and_a_third_for_the_first() -> None:
    fields = ([f"{TASK} {TASK}"], [Part("round 2 of 3 · parallel", 1)], ["● live"])
    assert (await text(78, *fields)).rstrip().endswith("…  round 2 of 3 · parallel  ● live")
    narrow = await text(58, *fields)
    assert narrow.rstrip().endswith("…  round 2 of 3 · parallel  ● live")
    too_narrow = await text(50, *fields)
    assert "round" not in too_narrow
    assert too_narrow.startswith(f" {TASK}"[:30])


async def test_a_long_task_is_cut_before_the_status_is() -> None:
    shown = await text(44, [TASK], ["round 2 of 3"], ["‖ paused by you"])
    assert shown == " Should ses…  round 2 of 3  ‖ paused by you "


async def test_on_the_narrowest_screen_the_status_stays() -> None:
    assert (await text(16, [TASK], ["round 2 of 3"], ["● live"])).split("…")[-1].strip() == "● live"
    assert len(await text(1, [TASK], ["round"], ["● live"])) == 1


async def test_ascii_terminals_get_ascii_signs() -> None:
    assert (await text(30, ["a", "b"], [], ["● live"], is_ascii=True)).split() == [
        "a",
        "-",
        "b",
        "*",
        "live",
    ]


async def test_the_same_again_paints_nothing_and_a_change_paints_the_row() -> None:
    line = StatusLine()

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        line.show([TASK], [], ["● live"])
        await pilot.pause()
        writes = driver.writes
        line.show([TASK], [], ["● live"])
        await pilot.pause()
        assert driver.writes == writes
        line.show([TASK], [], ["‖ paused by you"])
        await pilot.pause()
        assert driver.writes > writes
        assert driver.screen((60, 3))[0].endswith("‖ paused by you")

    await painted(line, (60, 3), act)


async def test_another_theme_repaints_it() -> None:
    line = StatusLine()
    async with running(line, (30, 2)) as pilot:
        line.show(["words"])
        before = line.render_line(0)
        pilot.app.theme = "textual-light"
        await pilot.pause()
        assert line.render_line(0) != before
        assert line.text.strip() == "words"


async def test_a_failure_is_red_and_keys_are_bold() -> None:
    line = StatusLine(is_dim=True)
    async with running(line, (40, 2)):
        line.show([Part("pause", key="p")], [], ["✗ refused"])
        styles = {segment.text.strip(): segment.style for segment in line.render_line(0) if segment.style}
        key, failure = styles["p"], styles["✗ refused"]
        assert key.bold
        assert failure.color is not None
        assert failure.color.get_truecolor().hex == line.app.theme_variables["error"].lower()


PARTS = st.lists(st.builds(Part, st.text("ab 中", max_size=9), st.integers(0, 3)), max_size=4)


@given(PARTS, PARTS, PARTS, st.integers(1, 60))
def test_parts_of_rank_nought_are_never_dropped_from_the_ends(
    left: list[Part], middle: list[Part], right: list[Part], room: int
) -> None:
    kept_left, _, kept_right = fitted((left, middle, right), room)
    assert [part for part in kept_left if part.rank == 0] == [part for part in left if part.rank == 0]
    assert [part for part in kept_right if part.rank == 0] == [part for part in right if part.rank == 0]


@pytest.mark.parametrize("width", [1, 2, 5, 9, 20, 33, 80])
async def test_it_fills_its_row_exactly(width: int) -> None:
    line = StatusLine()
    async with running(line, (width, 2)):
        for fields in (
            [[TASK], USAGE, ["● live"]],
            [HINTS, [], []],
            [[], [], ["老王 " * 9]],
            [[], ["x"], []],
        ):
            line.show(*fields)
            assert line.render_line(0).cell_length == width
            assert sum(segment.cell_length for segment in line.render_line(0)) == width
