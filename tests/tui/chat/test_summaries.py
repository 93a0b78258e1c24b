"""Summaries in a chat: a row of their own that unfolds, and what is said while one is written."""

from __future__ import annotations

from agent_tui.model import events as ev
from agent_tui.model.errors import ConnectFailed
from tests.state.chat_events import message, started
from tests.tui.chat.one_chat import opened, said

WORDS = "They like tea.\n\n- 老王: oolong\n- Иван: black"
STEP = ev.Step("step-0", type="thinking", content=WORDS)
NOTE = ev.Note("summary", "step-0", 42)


def summarised(chat_id: str = "s1", **fields: object) -> ev.Message:
    """Return a stored turn that is a summary."""
    return message(chat_id, "", "assistant", parent_id="a1", steps=(STEP,), notes=(NOTE,), **fields)


def row(text: str) -> str:
    """Return the row of the summary."""
    return next((line for line in text.splitlines() if "summary of" in line), "")


async def test_a_stored_summary_is_a_folded_row_with_how_much_it_stands_for() -> None:
    async with opened(*said(1, "Tea?", "Yes."), summarised()) as chat:
        text = await chat.text()
        assert "▸ summary of 42 messages" in row(text)
        assert "about 10 tokens" in row(text)
        assert "oolong" not in text
        text = await chat.press("escape", "F")
        assert "▾ summary of 42 messages" in row(text)
        assert "老王: oolong" in text
        assert "Yes." in text  # nothing is taken away


async def test_while_it_is_written_that_is_said_with_the_time_and_then_its_row_comes() -> None:
    async with opened(*said(1, "Tea?", "Yes.")) as chat:
        text = await chat.send(started("a2", "q2"), ev.TurnNoted("a2", "summarising", 42))
        assert "◌ summarising 42 messages…" in text
        chat.time += 3.0
        assert "summarising 42 messages… 3 s" in await chat.later()
        text = await chat.send(
            ev.TurnNoted("a2", "summary", 42, about="step-0"),
            ev.StepSet("a2", STEP),
            ev.StepSet("a2", ev.Step("step-1", 1, content="And so on.")),
        )
        assert "summarising" not in text
        assert "summary of 42 messages" in row(text)
        assert "And so on." in text


async def test_hostile_words_in_a_summary_are_harmless() -> None:
    step = ev.Step("step-0", type="thinking", content="\x1b[2J\x1b]0;x\x07 tea")
    odd = message(
        "s1",
        "",
        "assistant",
        parent_id="a1",
        steps=(step, ev.Step("s", 1, "summary", name="9" * 5_000)),
        notes=(NOTE,),
    )
    async with opened(*said(1, "Tea?", "Yes."), odd) as chat:
        text = await chat.press("escape", "F")
        assert "\x1b" not in text
        assert "tea" in text


async def test_a_command_asks_for_one_and_says_why_there_can_be_none() -> None:
    async with opened(*said(1, "Tea?", "Yes.")) as chat:
        await chat.write("/compact keep the numbers", "enter")
        assert chat.asked == ["compact keep the numbers"]
        await chat.send(started("s1", "a1"), ev.TurnNoted("s1", "summarising", 2))
        text = await chat.write("/compact", "enter")
        assert chat.asked == ["compact keep the numbers"]
        assert "wait for the answer" in text


async def test_a_command_says_that_there_is_no_server_to_ask_for_one() -> None:
    async with opened(*said(1, "Tea?", "Yes.")) as chat:
        chat.link.unreachable = ConnectFailed("no server there")
        assert "no server there" in await chat.write("/compact", "enter")


async def test_a_summary_that_was_stopped_is_neither_retried_nor_continued() -> None:
    stopped = message("s1", "", "assistant", parent_id="a1", interrupted="stop")
    async with opened(*said(1, "Tea?", "Yes."), stopped) as chat:
        text = await chat.press("f7", "f8")
        assert "f7 retry" not in text
        assert "f8 continue" not in text
        await chat.press("escape", "r", "e")
        assert chat.link.questions == []
