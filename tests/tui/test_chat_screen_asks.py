"""Tools that ask: what would be done is seen, one key answers, whoever is first decides."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual import events

from agent_tui.model import events as ev
from agent_tui.model.errors import ConnectFailed, Refused
from tests.state.chat_events import call, loaded, message, result, started, status
from tests.tui.one_chat import LIVE, Chat, opened
from tui.chat.screen import ChatScreen
from tui.live.ask_bar import AskBar, AskScreen, KeepScreen
from tui.screens.dialog import QuestionScreen

ASK = ev.ToolAsk(
    "make -n test", "in the workspace\n60 s at most", pattern="run_command(make -n test)", folder="/code/x"
)
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


async def test_each_question_rings_once() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.send(status("asks", ask=ASK))
        assert chat.app.rung == 1
        await chat.press("y")
        await chat.send(status("running"))
        assert chat.app.rung == 1


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
        assert chat.app.chat.composer.has_line_focus


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


async def test_all_that_would_change_is_seen_on_a_screen_of_its_own_and_answered_there() -> None:
    async with opened(message("q1", "Look."), size=(100, 14)) as chat:
        await asking(chat, DIFF)
        text = await chat.press("d")
        assert isinstance(chat.app.screen, AskScreen)
        assert "new line" in text
        assert "write Makefile" in text.splitlines()[0]
        await chat.press("pagedown", "y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_a_change_is_shown_below_its_file_without_signs_of_a_patch() -> None:
    named = "--- a/Makefile\n+++ b/Makefile\n@@ -3 +3 @@\n-old line\n+new line"
    async with opened(message("q1", "Look.")) as chat:
        text = await asking(chat, ev.ToolAsk("write_file Makefile", named, "diff", "write_file(Makefile)"))
        assert not {"---", "+++", "@@"} & set(text.split())
        assert "write_file Makefile" in text
        assert "3 -old line" in text


async def test_all_that_it_would_do_is_read_from_its_beginning() -> None:
    tall = ev.ToolAsk("make -n test", "\n".join(f"line {n}" for n in range(400)))
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        await asking(chat, tall)
        text = await chat.press("d")
        assert "Allow this?" in text
        assert "line 3\n" in "\n".join(line.rstrip() for line in text.splitlines())
        assert "line 399" in await chat.press("end")


async def test_another_terminal_was_first_and_this_one_sees_it_gone() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat, DIFF)
        await chat.press("d")
        await chat.send(status("running"))
        assert not isinstance(chat.app.screen, AskScreen)
        assert chat.told == ["already answered, here or in another terminal"]
        assert chat.asked == []


async def test_an_answer_that_came_second_says_so_and_nothing_else_happens() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        chat.link.calls.refuse = Refused("answered already", status=409)
        await chat.press("y")
        assert chat.told == ["already answered, here or in another terminal"]


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


async def test_who_is_writing_is_not_asked_in_between_and_tab_leads_there() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.write("ye")
        text = await asking(chat)
        assert "tab answer" in text
        await chat.press("s", "y")
        assert chat.app.chat.composer.line.text == "yesy"
        assert chat.asked == []
        await chat.press("tab", "y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_who_has_just_sent_a_question_is_asked_once_no_key_is_pressed_any_more() -> None:
    async with opened(message("q1", "Look.")) as chat:
        chat.app.chat.composer.open()
        await chat.pilot.press("h", "enter")
        text = await chat.send(started("a1", "q1"), call(), status("asks", ask=ASK))  # in the same moment
        bar = next(line for line in text.splitlines() if "look needs approval" in line)
        assert "tab answer" in bar
        assert "once" not in bar  # y would be a letter
        chat.time += 1.0
        text = await chat.later()
        assert "tab answer" not in text
        assert "y once" in text
        await chat.pilot.press("y")  # too soon to have been read
        assert (chat.asked, chat.app.chat.composer.line.text) == ([], "y")
        chat.time += 1.5
        await chat.press("tab", "y")
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
        await chat.press("y")  # in the same moment: it was meant for the line
        assert (chat.asked, chat.app.chat.composer.line.text) == ([], "y")
        await chat.press("c", "tab", "y")
        assert chat.app.chat.composer.line.text == "yc"
        assert chat.asked == ["answer a1 step-1 once"]


async def test_what_is_out_of_sight_is_shown_first_and_not_let_run() -> None:
    long = message("a0", "\n\n".join(f"paragraph {n}" for n in range(60)), "assistant")
    async with opened(long, message("q1", "Look.")) as chat:
        await asking(chat)
        chat.app.chat._transcript.action_to_start()
        await chat.press("y")
        assert chat.asked == []
        assert chat.told == ["look at it first: it is in view now"]
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
    async with opened(message("q1", "Look."), is_ascii=True) as chat:
        text = await asking(chat)
        assert text.isascii()
        assert "#  y once - c this conversation" in text


async def test_other_letters_are_words_and_no_answers() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("h", "a", "y")
        assert chat.app.chat.composer.line.text == "hay"
        assert chat.asked == []


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


TALL = ev.ToolAsk("make -n test", "\n".join(f"line {n}" for n in range(40)))


@pytest.mark.parametrize("draft", ["", "ye"])
async def test_what_is_asked_stays_readable_whatever_size_the_screen_gets(draft: str) -> None:
    long = message("a0", "\n\n".join(f"paragraph {n}" for n in range(60)), "assistant")
    async with opened(long, message("q1", "Look."), size=(120, 40)) as chat:
        await chat.write(draft)
        await asking(chat, DIFF)
        for size in ((50, 12), (30, 14), (120, 40)):
            assert "▾ look" in await chat.resize(*size)
        assert "tab answer" in await chat.text() if draft else "n no" in await chat.text()


async def test_a_question_taller_than_the_screen_is_read_from_its_beginning_by_who_is_writing() -> None:
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        await chat.write("ye")
        assert "▾ look" in await asking(chat, TALL)
        assert chat.app.chat.composer.has_line_focus
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
        assert chat.app.chat.composer.has_line_focus


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
        text = " ".join((await asking(chat, ask)).replace("█", "").split())
        assert "y once" in text
        assert "n no, because…" in text


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


# --- keys that answer nothing -------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["y", "c", "a", "n"])
async def test_a_key_that_was_down_when_the_question_came_answers_nothing_while_it_is_held(key: str) -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.press("tab")
        await chat.pilot.press(key)
        chat.time += 0.8  # held for longer than it takes to be asked
        await chat.send(started("a1", "q1"), call(), status("asks", ask=ASK))
        for _ in range(60):  # two seconds of a key that the terminal repeats
            chat.time += 0.033
            await chat.pilot.press(key)
        assert chat.asked == []
        assert chat.app.screen is chat.app.chat
        chat.time += 1.5
        await chat.later()
        chat.time += 1.0
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_a_key_that_closed_a_dialog_above_the_question_answers_nothing() -> None:
    async with opened(message("q1", "Look.")) as chat:
        chat.app.push_screen(QuestionScreen("Really?"))
        await asking(chat)
        chat.time += 5.0
        await chat.later()
        await chat.pilot.press("y")  # it is held
        assert chat.app.screen is chat.app.chat
        chat.time += 0.8
        for _ in range(30):
            chat.time += 0.033
            await chat.pilot.press("y")
            await chat.text()
        assert chat.asked == []
        chat.time += 1.5
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_a_key_that_waited_in_the_terminal_since_before_the_question_answers_nothing() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        key = events.Key("y", "y")
        key.time -= 2.0  # the question came a second ago
        chat.app.post_message(key)
        await chat.text()
        assert chat.asked == []


@pytest.mark.parametrize(("seconds", "answers"), [(0.2, []), (0.4, ["answer a1 step-1 once"])])
async def test_a_key_answers_a_third_of_a_second_after_the_question_was_drawn(
    seconds: float, answers: list[str]
) -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(started("a1", "q1"), call(), status("asks", ask=ASK))
        chat.time += seconds
        await chat.press("y")
        assert chat.asked == answers


async def test_a_key_answers_nothing_before_a_slow_terminal_has_taken_the_question() -> None:
    is_slow, is_drawn = True, False

    def unwritten() -> int:
        nonlocal is_drawn
        is_drawn = is_drawn or "Allow this?" in chat.now
        return int(is_slow and is_drawn)

    async with opened(message("q1", "Look.")) as chat:
        writer = SimpleNamespace(_queue=SimpleNamespace(qsize=unwritten))
        chat.app._driver._writer_thread = writer  # type: ignore[union-attr]  # Textual's, for other drivers
        await chat.send(started("a1", "q1"), call(), status("asks", ask=ASK))
        chat.time += 5.0
        assert "Allow this?" in await chat.press("y")
        assert (chat.asked, chat.told, chat.app.chat.composer.line.text) == ([], [], "y")
        is_slow = False
        await chat.press("tab")
        chat.time -= 1.5
        await chat.pilot.press("y")
        assert chat.asked == []
        chat.time += 2.0
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


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
        assert "What a saved rule would allow: write_file(a) (this file, whatever is written to it," in text
        text = await chat.press("a")
        assert "write_file(a)" in text
        assert "this file, whatever is written to it, in /code/x only" in text


@pytest.mark.parametrize(
    "pattern",
    ["run_command(make -n *)", "run_command(make)", "fetch_url(https://x.org/*)", "write_file(a/*)"],
)
async def test_a_wide_rule_that_a_backend_of_an_earlier_version_would_keep_is_shown_as_that(
    pattern: str,
) -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat, replace(ASK, pattern=pattern, folder=""))
        text = await chat.press("a")
        assert pattern in text
        assert "every call that matches this pattern, in every folder" in text


async def test_the_rule_of_an_earlier_version_is_named_on_the_card() -> None:
    async with opened(message("q1", "Look.")) as chat:
        text = await asking(chat, replace(ASK, suspended="run_command(make -n *)"))
        assert "run_command(make -n *)" in text
        assert "suspended" in text


async def test_keys_stand_on_the_card_only_while_they_answer_it() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.write("ye")
        assert "once" not in await asking(chat)
        assert (await chat.press("tab")).count("y once") == 1
        assert "once" not in await chat.press("tab")


async def test_the_keys_stand_above_the_line_while_those_on_the_card_are_out_of_sight() -> None:
    async with opened(message("q1", "Look."), size=(100, 14)) as chat:
        text = await asking(chat, TALL)
        bar = next(row for row in text.splitlines() if "look needs approval" in row)
        assert "y once" in bar
        assert "n no, because…" in bar
        assert text.count("y once") == 1
        text = await chat.press("end")
        assert "y once" not in next(row for row in text.splitlines() if "look needs approval" in row)
        assert text.count("y once") == 1
        text = await chat.press("home")
        assert "y once" in next(row for row in text.splitlines() if "look needs approval" in row)


# --- what was not seen ------------------------------------------------------------------------------------


async def test_nothing_hides_in_what_is_asked() -> None:
    hidden = ev.ToolAsk(f"echo harmless{' ' * 3000}; touch HIDDEN", "ls\u200b\u202e\r\n" + "\n" * 80 + "rm")
    async with opened(message("q1", "Look."), size=(100, 40)) as chat:
        text = await asking(chat, hidden)
        assert text.count("echo harmless␣×3000; touch HIDDEN") == 2  # on the card and in the bar
        assert "ls<U+200B><U+202E>␍" in text
        assert "⏎×81" in text


async def test_a_bar_that_has_no_room_for_all_of_the_call_says_how_long_it_is() -> None:
    async with opened(message("q1", "Look."), size=(200, 30)) as chat:
        text = await asking(chat, ev.ToolAsk("echo " + "x" * 80 + "; touch HIDDEN"))
        assert "… (99 characters)" in next(row for row in text.splitlines() if "look needs approval" in row)


@pytest.mark.parametrize("key", ["y", "c", "a"])
@pytest.mark.parametrize("lines", [30, 400], ids=["taller than the screen", "cut"])
async def test_what_was_not_seen_whole_is_shown_whole_and_read_to_its_end_first(lines: int, key: str) -> None:
    tall = replace(ASK, preview="\n".join(f"line {n}" for n in range(lines)))
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        await asking(chat, tall)
        text = await chat.press(key)
        assert isinstance(chat.app.screen, AskScreen)
        assert "there is more: read to the end, then answer" in text
        await chat.press(key)
        assert isinstance(chat.app.screen, AskScreen)
        text = await chat.press("end", key)  # what lies between was not seen, and is shown
        assert isinstance(chat.app.screen, AskScreen)
        assert f"line {lines - 1}\n" not in text
        await chat.press(*["pagedown"] * (lines // 8), key)
        assert not isinstance(chat.app.screen, AskScreen)
        await chat.press(*["enter"] * (key == "a"))
        assert [sent.split()[3] for sent in chat.asked] == [
            {"y": "once", "c": "conversation", "a": "always"}[key]
        ]


async def test_the_key_of_an_answer_reads_on_to_the_end_and_then_answers() -> None:
    tall = replace(ASK, preview="\n".join(f"line {n}" for n in range(30)))
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        await asking(chat, tall)
        pages = [await chat.press("y") for _ in range(5)]
        shown = re.findall(r"line (\d+)", "".join(pages))
        assert {int(number) for number in shown} == set(range(30))  # nothing lay over them
        assert chat.asked == ["answer a1 step-1 once"]


async def test_what_was_read_around_the_card_needs_no_other_screen() -> None:
    tall = replace(ASK, preview="\n".join(f"line {n}" for n in range(30)))
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        await asking(chat, tall)
        await chat.press(*["pagedown"] * 6, *["pageup"] * 8, "y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_what_is_folded_was_not_seen() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.write("ye")
        await chat.send(started("a1", "q1"), call(), status("asks", ask=ASK))
        chat.app.chat._transcript.folds.fold_all()
        await chat.press("tab", "y")
        assert chat.asked == []
        assert isinstance(chat.app.screen, AskScreen)


async def test_no_needs_nothing_to_be_read() -> None:
    async with opened(message("q1", "Look."), size=(60, 14)) as chat:
        await asking(chat, TALL)
        await chat.press("n", "enter")
        assert chat.asked == ["answer a1 step-1 deny"]


@pytest.mark.parametrize(
    "words",
    ["can you also check it?", "yes please", "all of it", "no, not that one", "нет, не надо", "好的，可以"],
)
async def test_a_sentence_that_was_begun_when_the_question_came_is_no_answer(words: str) -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        assert chat.app.chat._approvals.has_bar_focus
        for letter in words:
            chat.app.post_message(events.Key(letter, letter))
        await chat.text()
        assert chat.app.chat.composer.line.text == words
        assert chat.asked == []
        assert isinstance(chat.app.screen, ChatScreen)


async def test_a_letter_of_a_russian_keyboard_answers_too() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("н")  # in the place of y
        assert chat.asked == ["answer a1 step-1 once"]


async def test_who_went_to_the_question_is_taken_at_the_first_letter() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("tab", "shift+tab")
        assert chat.app.chat._approvals.has_bar_focus
        await chat.pilot.press("y")
        await chat.until(lambda: chat.asked == ["answer a1 step-1 once"])


async def test_a_paste_beside_a_question_goes_to_the_line_and_its_key_leads_nowhere_else() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("!")
        assert chat.app.chat._approvals.has_bar_focus
        await chat.paste("yes, all of it")
        assert (chat.app.chat.composer.line.text, chat.asked) == ("yes, all of it", [])


async def test_what_is_typed_behind_an_answer_stays_in_its_order() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        for key, character in (("y", "y"), ("enter", "\r"), ("h", "h"), ("i", "i")):
            chat.app.post_message(events.Key(key, character))
        await chat.until(lambda: chat.asked == ["answer a1 step-1 once"])
        await chat.text()
        assert chat.app.chat.composer.line.text == "hi"
        assert chat.link.questions == []


async def test_a_letter_that_waits_when_the_focus_leaves_is_the_first_of_a_word() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.pilot.press("y")
        assert chat.app.chat._approvals.bar.keys.letter.held == "y"
        chat.app.chat.composer.open()
        await chat.text()
        assert (chat.app.chat.composer.line.text, chat.asked) == ("y", [])


async def test_escape_right_behind_no_closes_what_it_opened() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        for key, character in (("n", "n"), ("escape", None)):
            chat.app.post_message(events.Key(key, character))
        await chat.until(lambda: chat.app.screen is chat.app.chat and not chat.app.is_answering)
        await chat.text()
        assert chat.app.screen is chat.app.chat
        assert (chat.asked, chat.app.chat._approvals.has_bar_focus) == ([], True)


async def test_the_keys_stay_on_the_card_when_more_is_told_of_the_call() -> None:
    async with opened(message("q1", "Look.")) as chat:
        assert "y once" in await asking(chat)
        text = await chat.send(status("asks", ask=ASK))
        assert text.count("y once") == 1
        assert "Allow this?" in text
