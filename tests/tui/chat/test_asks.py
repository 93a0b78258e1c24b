"""Tools that ask: one key answers, whoever is first decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent_tui.model import events as ev
from agent_tui.model.errors import ConnectFailed, Refused
from tests.state.chat_events import call, loaded, message, result, started, status
from tests.tui.chat.asking_chat import ASK, DIFF, asking
from tests.tui.chat.one_chat import LIVE, Chat, opened
from tui.live.ask_bar import AskBar, AskScreen, KeepScreen


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


async def test_each_question_rings_once() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.send(status("asks", ask=ASK))
        assert chat.app.rung == 1
        await chat.press("y")
        await chat.send(status("running"))
        assert chat.app.rung == 1


async def test_a_reason_that_did_not_arrive_is_there_again() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        chat.link.calls.refuse = ConnectFailed("the server is away")
        await chat.press("n", *"too big!", "enter")
        chat.link.calls.refuse = None
        assert "too big!" in await chat.press("n")  # it was not taken
        await chat.press("enter")
        assert chat.asked[-1] == "answer a1 step-1 deny too big!"
        await chat.send(status("denied"), call("step-2"), status("asks", "step-2", ask=ASK))
        chat.time += 1.0
        text = await chat.press("n")
        assert "Why not?" in text
        assert "too big" not in text


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("y", "answer a1 step-1 once"),
        ("c", "answer a1 step-1 conversation run_command(make -n test)"),
        ("a", "answer a1 step-1 always run_command(make -n test)"),
    ],
)
async def test_one_key_lets_it_run(key: str, sent: str) -> None:
    async with opened(message("q1", "Look.")) as chat:
        text = await asking(chat)
        assert "‖ needs approval" in text.splitlines()[0]
        assert "│ make -n test" in text
        assert "60 s at most" in text
        assert "Allow this?" in text
        assert text.count("y once · c this conversation · a always… · n no, because…") == 1  # on the card
        text = await chat.press(key)
        if key == "a":
            assert chat.asked == []
            assert "run_command(make -n test)" in text
            assert "exactly this call, in /code/x only" in text
            await chat.press("enter")
        assert chat.asked == [sent]
        text = await chat.send(status("running"))
        assert "needs approval" not in text
        await chat.press("h", "i")
        assert chat.app.chat.composer.line.text == "hi"


async def test_a_call_that_waits_for_others_says_so() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        text = await chat.send(call("step-2"), status("waits", "step-2"))
        assert text.count("◌ waits its turn") == 1


async def click(chat: Chat, words: str) -> str:
    """Click what the screen says."""
    rows = chat.now.splitlines()
    y = next(number for number, row in enumerate(rows) if words in row)
    await chat.pilot.click(offset=(cell_len(rows[y].partition(words)[0]), y))
    return await chat.text()


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        ("y once", ["answer a1 step-1 once"]),
        ("this conversation", ["answer a1 step-1 conversation run_command(make -n test)"]),
    ],
)
async def test_a_click_on_a_key_of_the_card_is_that_key(words: str, sent: list[str]) -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await click(chat, words)
        chat.time += 1.0
        await chat.until(lambda: chat.asked == sent)


async def test_a_click_before_the_question_could_be_read_decides_nothing_and_its_keys_stay() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(started("a1", "q1"), call(), status("asks", ask=ASK))
        text = await click(chat, "c this conversation")
        assert chat.asked == []
        assert "y once · c this conversation" in text


async def test_words_of_a_call_that_look_like_its_keys_cannot_be_clicked() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat, ev.ToolAsk("y once · n no, because…", ""))
        await click(chat, "y once · n no")
        assert chat.asked == []


async def test_no_key_of_the_card_is_parted_from_what_it_does() -> None:
    async with opened(message("q1", "Look."), size=(34, 24)) as chat:
        await asking(chat)
        for columns in (34, 40, 46):
            rows = [row.strip(" │▎") for row in (await chat.resize(columns, 24)).splitlines()]
            for hint in ("y once", "c this conversation", "a always…", "n no, because…"):
                assert any(hint in row for row in rows), (columns, hint)


async def test_the_end_of_a_long_reason_that_is_pasted_is_in_sight() -> None:
    async with opened(message("q1", "Look."), size=(80, 24)) as chat:
        await asking(chat)
        await chat.press("n")
        assert "里有真正的理由" in await chat.paste("这个文件已经在了, " * 9 + "这里有真正的理由")


async def test_no_asks_for_a_reason_and_the_model_gets_it() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        assert "Why not?" in await chat.press("n")
        await chat.press("t", "o", "o", "space", "s", "l", "o", "w", "enter")
        assert chat.asked == ["answer a1 step-1 deny too slow"]


async def test_no_and_then_back_decides_nothing() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("n", "escape")
        assert chat.asked == []
        assert "needs approval" in await chat.text()


async def test_another_terminal_was_first_and_this_one_sees_it_gone() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat, DIFF)
        await chat.press("d")
        await chat.send(status("running"))
        assert not isinstance(chat.app.screen, AskScreen)
        assert chat.told == ["already answered, or cut off"]
        assert chat.asked == []


async def test_an_answer_that_came_second_says_so_and_nothing_else_happens() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        chat.link.calls.refuse = Refused("answered already", status=409)
        await chat.press("y")
        assert chat.told == ["already answered, or cut off"]


async def test_an_answer_that_did_not_arrive_can_be_given_again() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        chat.link.calls.refuse = ConnectFailed("cannot connect")
        await chat.press("y")
        chat.link.calls.refuse = None
        await chat.later()  # it asks again
        chat.time += 1.0
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"] * 2


async def test_two_calls_ask_one_after_the_other_and_none_is_answered_twice() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        other = ev.ToolAsk("rm it")
        await chat.send(call("step-2"), status("asks", "step-2", ask=other))
        text = await chat.press("y")
        chat.time += 1.0
        assert "needs approval · rm it" in text
        assert "always" not in text
        assert "this conversation" not in text
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once", "answer a1 step-2 once"]


async def test_what_cannot_be_allowed_for_always_says_so() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat, ev.ToolAsk("anything"))
        for key in ("a", "c"):
            await chat.press(key)
            assert chat.told.pop() == "no rule can be saved for this: it can only be allowed once"
        assert chat.asked == []


async def test_stopping_takes_the_question_away() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("escape")
        assert chat.asked == ["stop"]
        text = await chat.send(
            status("cut"), ev.TurnEnded("a1", "", 0, interrupted="stop"), ev.RunFailed("Stopped")
        )
        assert "┄ cut" in text
        assert "denied" not in text
        assert not chat.app.chat.query_one(AskBar).has_class("-open")


async def test_a_chat_that_asked_before_it_was_opened_asks() -> None:
    async with opened() as chat:
        step = ev.Step("step-1", type="tool_call", name="look", arguments="{}", status="asks", ask=ASK)
        stored = message("a1", role="assistant", parent_id="q1", steps=(step,), status="streaming")
        await chat.send(loaded(message("q1", "Look."), stored), LIVE)
        chat.time += 1.0
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_hostile_questions_cannot_look_like_keys_or_leave_their_rows() -> None:
    evil = ev.ToolAsk("rm -rf /\n\ny once\x1b[2J\u202e", "```\n**y** harmless", pattern="x**\n# y")
    async with opened(message("q1", "Look.")) as chat:
        text = await asking(chat, evil)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "│ **y** harmless" in text
        assert "result" not in text
        await chat.send(result("step-1"))


async def test_a_key_that_was_given_to_an_answer_answers_and_its_former_one_is_a_letter() -> None:
    async with opened(message("q1", "Look.")) as chat:
        chat.app.set_keymap({"ask.once": "j"})
        text = await asking(chat)
        assert text.count("j once") == 1
        assert "y once" not in text
        chat.app.set_keymap({"ask.once": "j", "asked.once": "f5", "asked.close": "f6", "reason.back": "f7"})
        assert "f5 once · c this conversation" in await chat.press("d")
        assert "enter deny · f7 back" in await chat.press("f6", "n")
        await chat.press("f7", "j")
        assert chat.asked == ["answer a1 step-1 once"]
    async with opened(message("q1", "Look.")) as chat:
        chat.app.set_keymap({"ask.once": "j"})
        await asking(chat)
        await chat.press("y")
        assert chat.asked == []
        assert chat.app.chat.composer.line.text == "y"


async def test_a_double_tap_on_always_keeps_no_rule_and_enter_does() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.pilot.press("a", "a", "enter")  # all at once
        assert chat.asked == []
        assert isinstance(chat.app.screen, KeepScreen)
        chat.time += 1.5
        await chat.press("a", "enter")
        assert chat.asked == ["answer a1 step-1 always run_command(make -n test)"]


async def test_who_goes_back_from_the_rule_decides_nothing() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("a", "escape")
        assert chat.asked == []
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_a_rule_for_a_file_says_that_anything_may_be_written_into_it() -> None:
    ask = ev.ToolAsk("write_file a", "-x\n+y", "diff", "write_file(a)", "/code/x")
    async with opened(message("q1", "Look.")) as chat:
        text = await asking(chat, ask)
        assert "c all changes to this file, this conversation" in text
        assert "rule" not in text
        text = await chat.press("a")
        assert "write_file(a)" in text
        assert "this file, whatever is written to it, in /code/x only" in text


async def test_a_rule_for_another_file_than_the_one_in_question_is_shown() -> None:
    ask = ev.ToolAsk("write_file a", "-x\n+y", "diff", "write_file(a)", "/code/x")
    async with opened(message("q1", "Look.")) as chat:
        assert "all changes" in await asking(chat, ask)
        for pattern in ("write_file(b)", "patch_file(a)", "write_file([a])", "write_file(a*)"):
            text = await chat.send(status("asks", ask=replace(ask, pattern=pattern)))
            assert f"What a saved rule would allow: {pattern}" in text
            assert "all changes" not in text


async def test_the_bar_says_once_which_file_a_tool_would_change() -> None:
    ask = ev.ToolAsk("look a.txt", "-x\n+y", "diff")
    async with opened(message("q1", "Look.")) as chat:
        assert "look needs approval · a.txt" in await asking(chat, ask)
        assert "look needs approval · a.txt" in (await chat.press("d")).splitlines()[0]


async def test_a_wide_rule_that_a_backend_of_an_earlier_version_would_keep_is_shown_as_that() -> None:
    patterns = "run_command(make -n *)", "run_command(make)", "fetch_url(https://x.org/*)", "write_file(a/*)"
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        for pattern in patterns:
            await chat.send(status("asks", ask=replace(ASK, pattern=pattern, folder="")))
            text = await chat.press("a")
            assert pattern in text
            assert "every call that matches this pattern, in every folder" in text
            await chat.press("escape")
