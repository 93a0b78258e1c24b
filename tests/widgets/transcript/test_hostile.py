"""Whatever agents and servers send, the terminal gets only what Textual itself writes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.widgets.apps import CountingDriver, Hand, painted, running
from tests.widgets.drawing import screen_of
from widgets.status_line import Part, StatusLine
from widgets.transcript.agent_pane import AgentPane
from widgets.transcript.view import FRAME_BUDGET

HOSTILE = {
    "a sequence": "\x1b[2J\x1b[31mred",
    "the clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "the title": "\x1b]0;owned\x1b\\",
    "C1": "\x9b2J\x9d0;owned\x9c\x85next",
    "bidi": "abc\u202edef\u2066ghi\u2069\u200f",
    "markup": "[bold red]x[/bold red] [@click=app.quit]y[/]",
    "surrogates": "half \ud800 and \udc00",
    "C0": "bell\x07 back\x08 null\x00 del\x7f cr\r over",
    "tags": "flag\U000e0041\U000e007f",
    "marks": "e" + "\u0301" * 500,
    "joiners": "a\u200d" * 300,
    "entities": "&#27;]0;owned&#7; &#x9b;2J &#x202e;abc&#8238; &ZeroWidthSpace;&shy; &NewLine;&Tab;",
    "targets": "[x](https://a.b/\x1b]8;;y) [x](https://a.b/&#27;]8;;&#7;) <https://a.b/\x07>",
    "definitions": "[x]\n\n[x]: https://a.b/&#x9d;\x1b\n\n",
    "code": '```python\n\x1b[2J """\u202e\n```\n    \x9b2J',
    "signs": "`" * 200 + "*" * 200 + "[" * 200 + "| " * 200,
}
# All that Textual writes here: its own colours, cursor moves, frames.
OWN = re.compile(
    r"\x1b\[(?:0|[0-9;]*[34]8;2;[0-9;]*)m|\x1b\[\d+;\d+H|\x1b\[\?2026[hl]"
    r"|\x1b\]8;(?:id=[0-9a-z-]+)?;(?:https?://[!-~]+)?\x1b\\"
)
FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_words_reach_the_terminal_as_words(name: str) -> None:
    text = HOSTILE[name]
    hand = Hand()
    pane = AgentPane(clock=hand.clock())

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        driver.written = ""
        pane.header(text, text, text, text)
        pane.turn_opened("a", text)
        for char in text:  # however it is cut
            pane.text_added("a", char)
        hand.turn_until_clean()
        pane.text_added(
            "a", f"\n\n```{text}\n{text}\n```\n- {text}\n> {text}\n\n|{text}|b|\n|-|-|\n|{text}|{text}|\n"
        )
        pane.turn_closed("a", text)
        hand.turn_until_clean()
        await pilot.pause()
        pane.action_to_start()
        hand.turn_until_clean()
        await pilot.pause()
        rest = OWN.sub("", driver.written)
        assert FORBIDDEN.findall(rest) == []
        assert len(driver.written) > 200

    await painted(pane, (60, 20), act)


async def test_markup_is_shown_as_it_was_written() -> None:
    hand = Hand()
    pane = AgentPane(clock=hand.clock())
    async with running(pane, (60, 4)):
        pane.header("[red]Mika[/]", "[b]model[/b]", "● [link=x]", "")
        pane.text_added("a", "[bold red]x[/bold red] [@click=app.quit]y[/].")
        hand.turn_until_clean()
        rows = screen_of(pane)
        assert "[red]Mika[/] · [b]model[/b]" in rows[0]
        assert "● [link=x]" in rows[0]
        assert "[bold red]x[/bold red] [@click=app.quit]y[/]." in rows[2]


async def test_the_status_line_is_inert_too() -> None:
    line = StatusLine()
    async with running(line, (60, 1)):
        for text in HOSTILE.values():
            line.show([Part(text, key=text[:3])], [text], [text])
            assert FORBIDDEN.findall(line.text) == []


async def test_a_line_of_ten_megabytes_is_shown_while_it_comes_in() -> None:
    hand = Hand()
    pane = AgentPane(clock=hand.clock())
    async with running(pane, (60, 10)):
        pane.text_added("a", "\x1b]52;c;" + "x" * 10_000_000)
        hand.turn()
        assert hand.waiting, "the first frame took all of it"
        assert screen_of(pane)[-1].strip("▌ x") == ""
        assert hand.turn_until_clean() <= 10_000_000 / FRAME_BUDGET + 2
        pane.text_added("a", "\n\nthe end")
        hand.turn_until_clean()
        assert "the end" in screen_of(pane)[-1]
