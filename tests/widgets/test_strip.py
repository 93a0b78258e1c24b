"""The strip of one-line summaries."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult

from tests.widgets.apps import Hand, OneWidget, running
from widgets.strip import AgentStrip, Summary, cropped_left

AGENTS = [
    Summary("a", "Ada", "●", "def load(sid: str) -> Session:", "#5b9df5", is_growing=True),
    Summary("b", "老王", "✓", "所以先把会话和购物车分开,再谈用哪个存储。", "nonsense"),
    Summary("c", "Noor", "◌", "waits for Ada"),
]


@dataclass
class Shown:
    """What the strip is told to show, and a clock to turn."""

    summaries: list[Summary] = field(default_factory=lambda: list(AGENTS))
    hand: Hand = field(default_factory=Hand)
    asked: int = 0

    def look(self) -> list[Summary]:
        self.asked += 1
        return self.summaries

    def strip(self) -> AgentStrip:
        return AgentStrip(
            clock=self.hand.clock(),
            summaries=self.look,
            more=lambda count: f"{count} more",
            now=lambda: self.hand.time,
        )


async def test_each_agent_has_one_line_with_its_sign_and_last_words() -> None:
    strip = Shown().strip()
    async with running(strip, (44, 3)):
        assert strip.texts == [
            "▎Ada  ● def load(sid: str) -> Session:      ",
            "▎老王 ✓ 所以先把会话和购物车分开,再谈用哪…  ",
            "▎Noor ◌ waits for Ada                       ",
        ]


async def test_growing_words_keep_their_end_in_sight() -> None:
    strip = Shown().strip()
    async with running(strip, (24, 3)):
        assert strip.texts[0] == "▎Ada  ● …r) -> Session: "
        assert strip.texts[1].endswith("… ") or strip.texts[1].endswith("…  ")


async def test_what_does_not_fit_is_counted() -> None:
    shown = Shown([Summary(str(n), f"Agent {n}", "◌", "waits") for n in range(12)])
    strip = shown.strip()
    async with running(strip, (60, 2)):
        strip.columns = 2
        assert strip.texts[0].split() == ["▎Agent", "0", "◌", "waits", "▎Agent", "2", "◌", "waits"]
        assert strip.texts[1].split()[-3:] == ["…", "9", "more"]


async def test_chunks_draw_it_four_times_a_second_at_most() -> None:
    shown = Shown()
    strip = shown.strip()
    async with running(strip, (40, 3)):
        shown.hand.turn_until_clean()
        before, until = shown.asked, shown.hand.time + 1.0
        while shown.hand.time < until:
            strip.touch()
            shown.hand.turn()
        assert 3 <= shown.asked - before <= 5


async def test_a_change_of_state_is_drawn_with_the_next_frame() -> None:
    shown = Shown()
    strip = shown.strip()
    async with running(strip, (40, 3)):
        shown.hand.turn_until_clean()
        shown.summaries[2] = Summary("c", "Noor", "●", "Now I speak")
        strip.touch(at_once=True)
        shown.hand.turn()
        assert "● Now I speak" in strip.texts[2]


async def test_ascii_terminals_get_ascii_signs() -> None:
    strip = Shown([Summary("a", "Ada", "✓", "yes"), *AGENTS]).strip()
    async with running(strip, (30, 2), is_ascii=True):
        assert strip.texts[0].startswith("|Ada  + yes")
        assert strip.texts[1].strip() == "~ 3 more"


async def test_hostile_names_and_words_are_inert() -> None:
    nasty = "\x1b[2J\x9b\u202eevil\nmore\ud800[bold]"
    strip = Shown([Summary("a", nasty, "●", nasty, nasty)]).strip()
    async with running(strip, (60, 1)):
        assert not set(strip.texts[0]) & set("\x1b\x9b\u202e\n\ud800")
        assert "evil" in strip.texts[0]


async def test_a_click_on_a_line_chooses_its_agent() -> None:
    chosen: list[str] = []

    class Clicks(OneWidget):
        @on(AgentStrip.Chosen)
        def note(self, event: AgentStrip.Chosen) -> None:
            chosen.append(event.key)

        def compose(self) -> ComposeResult:
            yield self.widget

    strip = Shown([Summary(str(n), "Name", "◌", "waits") for n in range(9)]).strip()
    async with Clicks(strip).run_test(size=(60, 3)) as pilot:
        strip.columns = 2
        await pilot.click(AgentStrip, offset=(5, 1))
        await pilot.click(AgentStrip, offset=(40, 0))
        await pilot.click(AgentStrip, offset=(40, 2))  # "4 more" is nobody
        await pilot.pause()
        assert chosen == ["1", "3"]


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 2, 5, 9, 20, 33, 80])
async def test_it_fills_its_rows_exactly(width: int, columns: int) -> None:
    strip = Shown([*AGENTS, *AGENTS, *AGENTS]).strip()
    async with running(strip, (width, 4)):
        strip.columns = columns
        assert all(cell_len(text) == width for text in strip.texts)
        assert strip.render_line(0).cell_length == width


async def test_another_theme_repaints_it() -> None:
    strip = Shown().strip()
    async with running(strip, (30, 2)) as pilot:
        before = strip.render_line(0)
        pilot.app.theme = "textual-light"
        await pilot.pause()
        assert strip.render_line(0) != before


@given(st.text("ab 中e\u0301👍", max_size=30), st.integers(0, 20))
def test_the_end_of_a_text_fits_and_is_the_end(text: str, cells: int) -> None:
    end = cropped_left(text, cells)
    assert cell_len(end) <= max(0, cells)
    assert text.endswith(end.removeprefix("…"))
    assert end == text or cells < max(1, cell_len(text))
