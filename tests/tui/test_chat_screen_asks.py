"""Tools that ask: what would be done is seen, one key answers, whoever is first decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_tui import events as ev
from agent_tui.errors import ConnectFailed, Refused
from tests.state.chat_events import call, loaded, message, result, started, status
from tests.tui.one_chat import LIVE, Chat, opened
from tui.screens.chat_ask import AskBar, AskScreen

ASK = ev.ToolAsk("make -n test", "in the workspace\n60 s at most", pattern="run_command(make -n *)")
DIFF = ev.ToolAsk(
    "write Makefile", "--- a\n+++ b\n@@ -1 +1 @@\n-old line\n+new line", "diff", "write_file(Makefile)"
)


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


async def asking(chat: Chat, ask: ev.ToolAsk = ASK) -> str:
    """Let a call ask; what it would do is then in sight for a moment."""
    text = await chat.send(started("a1", "q1"), call(), status("asks", ask=ask))
    chat.time += 1.0
    return text


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("y", "answer a1 step-1 once"),
        ("c", "answer a1 step-1 conversation"),
        ("a", "answer a1 step-1 always run_command(make -n *)"),
    ],
)
async def test_one_key_lets_it_run(key: str, sent: str) -> None:
    async with opened(message("q1", "Look.")) as chat:
        text = await asking(chat)
        assert "‖ asks you" in text.splitlines()[0]
        assert "│ make -n test" in text
        assert "60 s at most" in text
        assert 'a always "run_command(make -n *)"' in text
        await chat.press(key)
        assert chat.asked == [sent]
        text = await chat.send(status("running"))
        assert "asks" not in text
        assert chat.app.chat._composer.has_line_focus


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
        assert "asks" in await chat.text()


async def test_all_that_would_change_is_seen_on_a_screen_of_its_own_and_answered_there() -> None:
    async with opened(message("q1", "Look."), size=(100, 14)) as chat:
        await asking(chat, DIFF)
        text = await chat.press("d")
        assert isinstance(chat.app.screen, AskScreen)
        assert "new line" in text
        assert "write Makefile" in text.splitlines()[0]
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_all_that_it_would_do_is_read_from_its_beginning() -> None:
    tall = ev.ToolAsk("make -n test", "\n".join(f"line {n}" for n in range(400)))
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        await asking(chat, tall)
        text = await chat.press("d")
        assert "may run" in text
        assert "line 3\n" in "\n".join(line.rstrip() for line in text.splitlines())
        assert "line 399" in await chat.press("end")


async def test_another_terminal_was_first_and_this_one_sees_it_gone() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat, DIFF)
        await chat.press("d")
        await chat.send(status("running"))
        assert not isinstance(chat.app.screen, AskScreen)
        assert chat.told == ["answered already, here or in another terminal"]
        assert chat.asked == []


async def test_an_answer_that_came_second_says_so_and_nothing_else_happens() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        chat.link.calls.refuse = Refused("answered already", status=409)
        await chat.press("y")
        assert chat.told == ["answered already, here or in another terminal"]


async def test_an_answer_that_did_not_arrive_can_be_given_again() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        chat.link.calls.refuse = ConnectFailed("cannot connect")
        await chat.press("y")
        chat.link.calls.refuse = None
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"] * 2


async def test_who_is_writing_is_not_asked_in_between_and_tab_leads_there() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.write("ye")
        text = await asking(chat)
        assert "tab answer what is asked" in text
        await chat.press("s", "y")
        assert chat.app.chat._composer.line.text == "yesy"
        assert chat.asked == []
        await chat.press("tab", "y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_who_has_just_sent_a_question_is_asked_once_no_key_is_pressed_any_more() -> None:
    async with opened(message("q1", "Look.")) as chat:
        chat.app.chat._composer.open()
        await chat.pilot.press("h", "enter")
        text = await chat.send(started("a1", "q1"), call(), status("asks", ask=ASK))  # in the same moment
        bar = next(line for line in text.splitlines() if "look asks" in line)
        assert "tab answer what is asked" in bar
        assert "once" not in bar  # y would be a letter
        chat.time += 1.0
        bar = next(line for line in (await chat.later()).splitlines() if "look asks" in line)
        assert "y once" in bar
        await chat.pilot.press("y")
        assert chat.asked == []  # too soon to have been read
        chat.time += 1.0
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_who_goes_away_from_a_question_is_not_called_back() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.write("ye")
        await asking(chat)
        await chat.press("backspace", "backspace", "tab", "tab")
        await chat.later()
        assert chat.app.chat.focused is chat.app.chat._transcript


async def test_a_key_pressed_before_it_could_be_read_decides_nothing() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(started("a1", "q1"), call(), status("asks", ask=ASK))
        await chat.press("y")  # in the same moment
        assert chat.asked == []
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_what_is_out_of_sight_is_shown_first_and_not_let_run() -> None:
    long = message("a0", "\n\n".join(f"paragraph {n}" for n in range(60)), "assistant")
    async with opened(long, message("q1", "Look.")) as chat:
        await asking(chat)
        chat.app.chat._transcript.action_to_start()
        await chat.press("y")
        assert chat.asked == []
        assert chat.told == ["look at it first: it is in sight now"]
        assert "│ make -n test" in await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_who_reads_is_asked_reads_on_around_it_and_is_back_there_after_the_answer() -> None:
    long = message("a0", "\n\n".join(f"paragraph {n}" for n in range(60)), "assistant")
    async with opened(long, message("q1", "Look.")) as chat:
        await chat.press("tab")
        await asking(chat)
        assert "paragraph 0" in await chat.press("home")
        assert "│ make -n test" in await chat.press("end")
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]
        await chat.send(status("running"))
        assert chat.app.chat.focused is chat.app.chat._transcript


async def test_after_a_question_taller_than_the_screen_the_end_is_followed_again() -> None:
    tall = ev.ToolAsk("make -n test", "\n".join(f"line {n}" for n in range(40)))
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        text = await asking(chat, tall)
        assert "▾ look" in text
        assert not chat.app.chat._transcript.follow
        await chat.press("y")
        await chat.send(status("running"), result("step-1"), status("done"))
        assert chat.app.chat._transcript.follow


async def test_on_an_ascii_terminal_all_of_a_question_is_ascii() -> None:
    async with opened(message("q1", "Look."), ascii_only=True) as chat:
        text = await asking(chat)
        assert text.isascii()
        assert "| y once - c this conversation" in text


async def test_other_letters_are_words_and_no_answers() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("h", "a", "y")
        assert chat.app.chat._composer.line.text == "hay"
        assert chat.asked == []


async def test_two_calls_ask_one_after_the_other_and_none_is_answered_twice() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        other = ev.ToolAsk("rm it")
        await chat.send(call("step-2"), status("asks", "step-2", ask=other))
        text = await chat.press("y")
        chat.time += 1.0
        assert "asks · rm it" in text
        assert "always" not in text.splitlines()[-4]
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once", "answer a1 step-2 once"]


async def test_what_cannot_be_allowed_for_always_says_so() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat, ev.ToolAsk("anything"))
        await chat.press("a")
        assert chat.asked == []
        assert chat.told == ["this cannot be allowed for always"]


async def test_stopping_takes_the_question_away() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("escape")
        assert chat.asked == ["stop"]
        text = await chat.send(
            status("denied"), ev.TurnEnded("a1", "", 0, interrupted="stop"), ev.RunFailed("Stopped")
        )
        assert "✗ denied" in text
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


TALL = ev.ToolAsk("make -n test", "\n".join(f"line {n}" for n in range(40)))


@pytest.mark.parametrize("draft", ["", "ye"])
async def test_what_is_asked_stays_readable_whatever_size_the_screen_gets(draft: str) -> None:
    long = message("a0", "\n\n".join(f"paragraph {n}" for n in range(60)), "assistant")
    async with opened(long, message("q1", "Look."), size=(120, 40)) as chat:
        await chat.write(draft)
        await asking(chat, DIFF)
        for size in ((50, 12), (30, 14), (120, 40)):
            assert "▾ look" in await chat.resize(*size)
        assert "n no" in await chat.text()


async def test_a_question_taller_than_the_screen_is_read_from_its_beginning_by_who_is_writing() -> None:
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        await chat.write("ye")
        assert "▾ look" in await asking(chat, TALL)
        assert chat.app.chat._composer.has_line_focus
        await chat.send(status("running"), result("step-1"), status("done"))
        assert chat.app.chat._transcript.follow


async def test_the_next_question_is_brought_to_who_is_writing_as_well() -> None:
    tall = json.dumps({"text": "\n".join(f"word {n}" for n in range(40))})
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        await chat.write("ye")
        await chat.send(started("a1", "q1"), call(arguments=tall), status("asks", ask=ASK))
        other = ev.ToolAsk("second call", TALL.preview)
        assert "second call" not in await chat.send(call("step-2"), status("asks", "step-2", ask=other))
        assert "│ second call" in await chat.send(status("running"))
        assert chat.app.chat._composer.has_line_focus


async def test_who_reads_elsewhere_is_not_moved_by_another_size() -> None:
    long = message("a0", "\n\n".join(f"paragraph {n}" for n in range(60)), "assistant")
    async with opened(long, message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("tab", "home")
        text = await chat.resize(60, 14)
        assert "paragraph 0" in text
        assert "▾ look" not in text


@pytest.mark.parametrize("columns", [50, 80, 120])
async def test_a_long_call_leaves_room_for_yes_and_no(columns: int) -> None:
    ask = ev.ToolAsk("make " + "--with-this-target " * 20, pattern="run_command(make *)")
    async with opened(message("q1", "Look."), size=(columns, 24)) as chat:
        bar = next(line for line in (await asking(chat, ask)).splitlines() if "look asks" in line)
        assert "y once" in bar
        assert "n no, because…" in bar


async def test_a_key_that_was_given_to_an_answer_answers_and_its_former_one_is_a_letter() -> None:
    async with opened(message("q1", "Look.")) as chat:
        chat.app.set_keymap({"ask.once": "j"})
        text = await asking(chat)
        assert text.count("j once") == 2  # below the call, and in the row above the line
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
        assert chat.app.chat._composer.line.text == "y"
