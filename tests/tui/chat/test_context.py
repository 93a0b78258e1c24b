"""The context of a chat's model: how full it is, and loudly once it is nearly full."""

from __future__ import annotations

import pytest

from agent_tui.model import events as ev
from tests.state.chat_events import message, started, words
from tests.tui.chat.one_chat import opened, said
from widgets.status_line import Part, StatusLine


def used(context: int, limit: int) -> ev.Usage:
    return ev.Usage(context, 0, context=context, context_limit=limit)


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        (used(12_000, 128_000), " 10% of context"),
        (used(1, 128_000), " 1% of context"),
        (used(102_400, 128_000), "! 80% of context"),
        (used(500_000, 128_000), "! 100% of context"),
        (used(12_345, 0), " 12k in context"),
    ],
)
async def test_the_line_below_says_how_full_the_context_is(usage: ev.Usage, told: str) -> None:
    async with opened(*said(1, "What?", "So.", usage=usage)) as chat:
        assert told in (await chat.text()).splitlines()[-1]


async def test_it_is_that_of_the_newest_answer_whose_model_counts() -> None:
    first = said(1, "What?", "So.", usage=used(10_000, 100_000))
    second = said(2, "And?", "So, too.", parent="a1", usage=used(50_000, 100_000))
    async with opened(*first, *second) as chat:
        assert "50% of context" in await chat.text()
        await chat.send(started("a3", "q3"), words("While it answers"))
        assert "50% of context" in await chat.text()
    async with opened(*first, message("q2", "And?", parent_id="a1")) as chat:
        assert "10% of context" in await chat.text()


async def test_it_is_shown_once_the_answer_has_ended_and_the_end_of_its_stream_takes_nothing_back() -> None:
    async with opened(message("q1", "What?")) as chat:
        ended = ev.TurnEnded("a1", "", 10, usage=used(64_000, 128_000))
        await chat.send(started("a1", "q1"), words("So."), ended)
        assert "50% of context" in await chat.text()
        await chat.send(ev.TurnDone("a1", "a1", 10, ev.Usage(64_000, 10)))
        assert "50% of context" in await chat.text()


async def test_a_server_that_tells_nothing_of_it_leaves_the_line_as_it_was() -> None:
    async with opened(*said(1, "What?", "So.", usage=ev.Usage(1000, 902))) as chat:
        assert "context" not in await chat.text()


async def test_what_warns_is_drawn_in_another_colour_than_the_facts_beside_it() -> None:
    full = used(90, 100)
    async with opened(*said(1, "What?", "So.", usage=full), size=(160, 30)) as chat:
        line = chat.app.chat.query_one("#bottom", StatusLine)
        (strip,) = line.render_lines(line.region.reset_offset)
        inks = {segment.text.strip(): segment.style for segment in strip if segment.style is not None}
        warns = next(style for text, style in inks.items() if "90% of context" in text)
        plain = next(style for text, style in inks.items() if "connected" in text)
        assert warns.color != plain.color
    assert Part("90%", warns=True) != Part("90%")
