"""What ran out of tokens is shown as cut; one key has it finished, and then it is one message."""

from __future__ import annotations

import dataclasses

import pytest

from agent_tui.model import events as ev
from tests.state.chat_events import call, message, result
from tests.state.chat_events import loaded as chat_loaded
from tests.state.test_room import message as room_message
from tests.tui.chat import one_chat
from tests.tui.room.one_room import AGENTS, LIVE, Screen, loaded, opened, start
from widgets.transcript.agent_pane import AgentPane
from widgets.transcript.transcript import Transcript

MIKA, ADA = AGENTS[0], AGENTS[1]
CUT = "┄ cut off at the token limit"


def rest_of(turn_id: str, continues: str) -> ev.TurnStarted:
    return ev.TurnStarted(turn_id, "r", "assistant", MIKA.name, "", 1, MIKA.id, 2, continues=continues)


async def cut_off(screen: Screen, *, mode: str = "sequential") -> str:
    """Show a room whose first agent was cut off in the middle of a code block."""
    await screen.send(loaded(status="running", current_round=1, execution_mode=mode), LIVE)
    await screen.send(start("1", MIKA), ev.TextAdded("1", "Look:\n\n```python\ndef load(sid)"))
    return await screen.send(ev.TurnEnded("1", "Look:\n\n```python\ndef load(sid)", 5, MIKA.id, "length"))


def asked(screen: Screen) -> list[str]:
    return [call for call, _ in screen.link.calls.asked]


async def test_a_turn_that_ran_out_of_tokens_says_so_and_c_continues_it() -> None:
    async with opened() as screen:
        text = await cut_off(screen)
        assert CUT in text
        assert "c continue" in text
        await screen.press("c")
        assert asked(screen) == ["continue a"]


async def test_that_it_will_be_continued_is_said_until_it_is() -> None:
    async with opened() as screen:
        await cut_off(screen)
        await screen.send(start("2", ADA), ev.TextAdded("2", "Well,"))
        assert "c continue" in await screen.press("t")
        text = await screen.press("c")
        assert "◌ will continue" in text
        assert "c continue" not in text
        assert "it will continue after the current turn" in await screen.press("c")
        assert asked(screen).count("continue a") == 1
        text = await screen.send(ev.TurnEnded("2", "Well,", 1, ADA.id), rest_of("3", "1"))
        assert "will continue" not in text.replace("it will continue after", "")
        cut = ev.TextAdded("3", " -> S"), ev.TurnEnded("3", " -> S", 1, MIKA.id, "length")
        assert "c continue" in await screen.send(*cut)


async def test_its_rest_is_the_same_message_on_the_screen() -> None:
    async with opened() as screen:
        await cut_off(screen)
        text = await screen.send(rest_of("2", "1"))
        assert CUT not in text
        text = await screen.send(ev.TextAdded("2", " -> Session:\n    ...\n```\n\nDone."))
        assert "def load(sid) -> Session:" in text  # one block of code
        assert text.count("round 1 ·") <= text.count("Mika") + 3
        text = await screen.send(ev.TurnEnded("2", " -> Session:\n    ...\n```\n\nDone.", 9, MIKA.id))
        assert "def load(sid) -> Session:" in text
        assert "┄ continued where it was cut" in text
        assert "c continue" not in text
        pane = screen.app.screen.query(AgentPane).first()
        assert (
            pane.reader.message_text().strip()
            == "Look:\n\n```python\ndef load(sid) -> Session:\n    ...\n```\n\nDone."
        )


PARTS = ("One two", " three\n\n- a li", "st\n- of", " things\n\n今天我们讨", "论数据库.")


def seams_in(text: str) -> list[str]:
    """Return the rows that have a seam beside them."""
    return [row.partition("┄")[2].split("│")[0].strip() for row in text.splitlines() if "┄" in row]


async def test_four_pauses_leave_one_message_with_four_seams() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE, start("1", MIKA))
        for number, part in enumerate(PARTS, 1):
            if number > 1:
                await screen.send(rest_of(str(number), str(number - 1)))
            why = "pause" if number < len(PARTS) else ""
            ended = ev.TurnEnded(str(number), part, 1, MIKA.id, why)
            text = await screen.send(ev.TextAdded(str(number), part), ended)
        wanted = [
            "One two three",
            "• a list",
            "• of things",
            "今天我们讨论数据库.",
            "continued where it was cut",
        ]
        assert seams_in(text) == wanted
        pane = screen.app.screen.query(AgentPane).first()
        assert pane.reader.message_text().strip() == "".join(PARTS)


@pytest.mark.parametrize(
    ("cut", "rest", "rows"),
    [
        ("| Name | Age |\n|---|---|\n| Ada | 3", "6 |\n| Bob | 41 |\n", ["Ada", "36", "Bob", "41"]),
        ("| Name | Age |\n|--", "-|---|\n| Ada | 36 |\n", ["Name", "Ada", "36"]),
        ("| Na", "me | Age |\n|---|---|\n| Ada | 36 |\n", ["Name", "Ada", "36"]),
        ("```python\nx = 1\ny ", "= 2\nz = 3\n```\n\nDone.", ["x = 1", "y = 2", "z = 3", "Done."]),
        ("``", "`python\nx = 1\n```\n\nDone.", ["x = 1", "Done."]),
        ("A **bo", "ld** word", ["A bold word"]),
        ("Family: \U0001f468\u200d", "\U0001f469\u200d\U0001f467 end.", ["end."]),
        ("Flag: \U0001f1e9", "\U0001f1ea end.", ["end."]),
        ("Hand: \U0001f44d", "\U0001f3fd end.", ["end."]),
        ("Word: cafe", "\u0301 end.", ["caf", "end."]),
    ],
)
async def test_a_cut_anywhere_leaves_the_screen_as_if_there_had_been_none(
    cut: str, rest: str, rows: list[str]
) -> None:
    async def shown(*parts: str) -> str:
        async with opened() as screen:
            await screen.send(loaded(status="running", current_round=1), LIVE, start("1", MIKA))
            text = ""
            for number, part in enumerate(parts, 1):
                if number > 1:
                    await screen.send(rest_of(str(number), str(number - 1)))
                why = "pause" if number < len(parts) else ""
                ended = ev.TurnEnded(str(number), part, 5, MIKA.id, why)
                text = await screen.send(ev.TextAdded(str(number), part), ended)
            pane = screen.app.screen.query(AgentPane).first()
            assert pane.reader.message_text().strip() == "".join(parts).strip()
            return text

    as_one, in_two = await shown(cut + rest), await shown(cut, rest)
    assert all(row in in_two for row in rows)
    words = [row.replace("┄", " ").rstrip() for row in in_two.splitlines() if "continued where" not in row]
    assert [row for row in words if row.strip(" │")][3:-3] == [
        row.rstrip() for row in as_one.splitlines() if row.strip(" │")
    ][3:-3]


async def test_a_thought_that_was_cut_is_not_doubled_by_the_turn_that_begins_anew() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE, start("1", MIKA))
        thought = ev.Step("step-0", type="thinking", content="Hm, let me")
        await screen.send(ev.StepSet("1", thought), ev.TurnEnded("1", "", 0, MIKA.id, "pause"))
        anew = dataclasses.replace(rest_of("2", ""), supersedes="1")
        await screen.send(anew, ev.StepSet("2", dataclasses.replace(thought, content="Hm, let me see.")))
        text = await screen.send(ev.TextAdded("2", "All."), ev.TurnEnded("2", "All.", 1, MIKA.id))
        assert text.count("All.") == 1
        assert [text.count(thought) for thought in ("Hm, let me", "Hm, let me see.")] == [2, 1]
        assert text.count("┄ retried below") == 1
        assert "┄ continued" not in text


async def test_words_across_a_seam_are_found_on_the_screen() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE, start("1", MIKA))
        await screen.send(ev.TextAdded("1", "The libra"), ev.TurnEnded("1", "The libra", 1, MIKA.id, "pause"))
        await screen.send(rest_of("2", "1"), ev.TextAdded("2", "ry."), ev.TurnEnded("2", "ry.", 1, MIKA.id))
        assert "1 found" in await screen.press("/", *"library")


async def test_a_room_that_is_loaded_has_the_same_seams() -> None:
    async with opened() as screen:
        stored = [
            room_message(str(number), part, agent_id=MIKA.id, continues=str(number - 1) if number > 1 else "")
            for number, part in enumerate(PARTS, 1)
        ]
        room = loaded(status="paused", current_round=1).room
        text = await screen.send(ev.RoomLoaded(room, tuple(stored)), LIVE)
        assert seams_in(text)[:4] == ["One two three", "• a list", "• of things", "今天我们讨论数据库."]


async def test_the_timeline_shows_it_in_the_place_of_its_beginning() -> None:
    async with opened() as screen:
        await cut_off(screen)
        await screen.send(start("2", ADA), ev.TextAdded("2", "Well."), ev.TurnEnded("2", "Well.", 1, ADA.id))
        text = await screen.send(rest_of("3", "1"), ev.TextAdded("3", " -> Session: ..."))
        assert text.index("def load(sid) -> Session: ...") < text.index("Well.")
        assert text.count("Mika · round 1") == 1


async def test_a_turn_that_is_whole_cannot_be_continued_and_the_key_says_why() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE, start("1", MIKA))
        await screen.send(ev.TextAdded("1", "All."), ev.TurnEnded("1", "All.", 1, MIKA.id))
        text = await screen.press("c")
        assert "nothing was cut off here" in text
        assert asked(screen) == []


async def test_a_turn_cut_by_a_pause_goes_on_with_the_room() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE, start("1", MIKA))
        await screen.send(ev.TextAdded("1", "Half"), ev.TurnEnded("1", "Half", 1, MIKA.id, "pause"))
        assert "it continues when the room is resumed" in await screen.press("c")
        assert asked(screen) == []


async def test_a_cut_turn_says_in_the_palette_that_it_can_be_continued() -> None:
    async with opened() as screen:
        await cut_off(screen)
        assert screen.app.room.why_not("continue") == ""


# --- chats ---------------------------------------------------------------------------------------------

QUESTION = message("q1", "Well?")
CUT_ANSWER = message("a1", "So far", "assistant", parent_id="q1", interrupted="length")
FAILED = message("a1", "", "assistant", parent_id="q1", error="API Error: no")


@pytest.mark.parametrize("keys", [("f8",), ("tab", "c")])
async def test_an_answer_that_ran_out_of_tokens_can_be_continued(keys: tuple[str, ...]) -> None:
    async with one_chat.opened(QUESTION, CUT_ANSWER) as chat:
        text = await chat.text()
        assert CUT in text
        assert "f8 continue" in text
        await chat.press(*keys)
        assert [(question.content, question.continues) for question in chat.link.questions] == [("", "a1")]
        begun = ev.TurnStarted("a2", "", "assistant", "", "", 0, parent_id="a1", continues="a1")
        text = await chat.send(
            begun, ev.StepSet("a2", ev.Step("step-1")), ev.StepAdded("a2", "step-1", " and on.")
        )
        assert "So far and on." in text
        assert CUT not in text
        text = await chat.send(ev.TurnEnded("a2", "", 0), ev.TurnDone("a2", "a2"))
        assert "┄ continued where it was cut" in text
        assert "f8 continue" not in text


async def test_an_answer_that_ended_on_a_tool_and_is_continued_ends_below_the_new_one() -> None:
    limit = "┄ cut off at the token limit"
    async with one_chat.opened(QUESTION) as chat:
        for number, turn_id in enumerate(("a1", "a2", "a3"), 1):
            continues = f"a{number - 1}" if number > 1 else ""
            begun = ev.TurnStarted(
                turn_id, "", "assistant", "", "", 0, parent_id=continues or "q1", continues=continues
            )
            assert limit not in await chat.send(begun)
            looked = call(f"step-{number}", turn_id=turn_id), result(f"step-{number}", f"r{number}", turn_id)
            ended = ev.TurnEnded(turn_id, "", 0, interrupted="length")
            text = await chat.send(*looked, ended, ev.TurnDone(turn_id, turn_id))
            rows = [row for row in text.splitlines() if "look" in row or limit in row]
            assert ["look" in row for row in rows] == [True] * number + [False]


@pytest.mark.parametrize("mode", ["parallel", "sequential"])  # in the pane and in the timeline
async def test_words_after_a_cut_tool_are_one_empty_row_below_it(mode: str) -> None:
    async with opened((80, 24)) as screen:
        await screen.send(loaded(status="running", current_round=1, execution_mode=mode), LIVE)
        looked = call("step-1", turn_id="1"), result("step-1", "r", "1")
        cut = ev.TurnEnded("1", "", 0, MIKA.id, "pause")
        assert "┄ cut at the pause" in await screen.send(start("1", MIKA), *looked, cut)
        text = await screen.send(rest_of("2", "1"), ev.TextAdded("2", "It is so."))
        between = text.partition("look")[2].partition("It is so.")[0].splitlines()[1:-1]
        assert sum(not row.strip(" │▎") for row in between) == 1
        text = await screen.send(ev.TurnEnded("2", "It is so.", 3, MIKA.id))
        assert text.index("It is so.") < text.index("┄ continued where it was cut")


async def test_a_continued_answer_is_copied_as_one_and_found_across_its_seam() -> None:
    rest = message("a2", "ll we go on.", "assistant", parent_id="a1", continues="a1")
    cut = message("a1", "So far we", "assistant", parent_id="q1", interrupted="length")
    async with one_chat.opened(QUESTION, cut, rest) as chat:
        assert "So far well we go on." in await chat.text()
        await chat.press("tab")
        assert chat.app.chat.query_one(Transcript).reader.message_text().strip() == "So far well we go on."
        assert "1 found" in await chat.press("/", *"well we")


async def test_a_chat_that_wants_it_gives_the_answer_again() -> None:
    async with one_chat.opened(QUESTION, CUT_ANSWER) as chat:
        info = dataclasses.replace(chat.app.chat.state.conversation, on_resume="again")
        await chat.send(ev.ConversationChanged(info))
        await chat.press("f8")
        assert [(asked.again, asked.continues) for asked in chat.link.questions] == [("q1", "")]


@pytest.mark.parametrize("keys", [("f7",), ("tab", "r")])
async def test_a_failed_answer_offers_the_key_that_retries_it(keys: tuple[str, ...]) -> None:
    async with one_chat.opened(QUESTION, FAILED) as chat:
        assert "f7 retry" in await chat.text()
        await chat.press(*keys)
        assert [question.again for question in chat.link.questions] == ["q1"]


async def test_an_answer_that_is_whole_offers_neither() -> None:
    async with one_chat.opened(QUESTION, message("a1", "All.", "assistant", parent_id="q1")) as chat:
        text = await chat.text()
        assert "f7" not in text
        assert "f8" not in text
        assert "nothing was cut off here" in await chat.press("f8")
        assert chat.link.questions == []


async def test_a_total_that_counts_prompts_says_so_and_an_answer_counts_what_it_said() -> None:
    used = ev.Usage(1000, 284)
    async with one_chat.opened(
        QUESTION, message("a1", "Yes.", "assistant", parent_id="q1", usage=used), tokens=1284
    ) as chat:
        text = await chat.text()
        assert "284 tok" in text
        assert "1,284 tokens · prompts included" in text


async def test_words_that_are_stored_after_the_end_leave_the_line_that_says_how_it_ended() -> None:
    async with opened() as screen:
        await cut_off(screen)
        whole = ev.Message("1", "r", "assistant", "", "Look at all of it.", MIKA.name, "", 1, 5, "t", MIKA.id)
        text = await screen.send(ev.MessageStored(dataclasses.replace(whole, interrupted="length")))
        assert "Look at all of it." in text
        assert CUT in text
    async with one_chat.opened() as chat:
        await chat.send(chat_loaded(), one_chat.LIVE, ev.MessageStored(message("q1", "Well?")))
        await chat.send(ev.TurnStarted("a1", "", "assistant", "demo", "", 0, parent_id="q1"))
        await chat.send(ev.StepSet("a1", ev.Step("step-0", content="So far")))
        assert CUT in await chat.send(ev.TurnEnded("a1", "", 4, interrupted="length"))
        stored = message("a1", "Not so far.", "assistant", parent_id="q1", interrupted="length")
        text = await chat.send(ev.MessageStored(stored))
        assert "Not so far." in text
        assert CUT in text
