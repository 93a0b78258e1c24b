"""Tools that ask: what would be done is seen, all of it, before it is let run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.model import events as ev
from tests.state.chat_events import call, message, result, started, status
from tests.tui.chat.asking_chat import ASK, DIFF, asking
from tests.tui.chat.one_chat import opened
from tui.live.ask_bar import AskScreen

TALL = ev.ToolAsk("make -n test", "\n".join(f"line {n}" for n in range(40)))


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


async def test_all_that_would_change_is_seen_on_a_screen_of_its_own_and_answered_there() -> None:
    async with opened(message("q1", "Look."), size=(100, 14)) as chat:
        await asking(chat, DIFF)
        text = await chat.press("d")
        assert isinstance(chat.app.screen, AskScreen)
        assert "new line" in text
        assert "write Makefile" in text.splitlines()[0]
        await chat.press("pagedown", "y")
        assert chat.asked == ["answer a1 step-1 once"]


async def test_the_foot_of_all_that_would_change_names_every_key_also_at_80_columns() -> None:
    ask = ev.ToolAsk("write_file a", "-x\n+y", "diff", "write_file(a)", "/code/x")
    async with opened(message("q1", "Look."), size=(80, 24)) as chat:
        await asking(chat, ask)
        text = await chat.press("d")
        for hint in ("y once", "c all changes to this file", "a always…", "n no, because…", "esc back"):
            assert hint in "\n".join(text.splitlines()[-2:])


async def test_on_a_narrow_terminal_the_bar_keeps_the_key_that_shows_all() -> None:
    async with opened(message("q1", "Look."), size=(32, 12)) as chat:
        text = await asking(chat)
        assert next(row for row in text.splitlines() if row.startswith(" ‖")).endswith("…  d show all")


@pytest.mark.parametrize(("is_ascii", "dot"), [(False, "·"), (True, "-")])
async def test_no_row_of_keys_on_a_card_ends_with_the_dot_between_them(is_ascii: bool, dot: str) -> None:
    async with opened(message("q1", "Look."), size=(36, 30), is_ascii=is_ascii) as chat:
        await asking(chat)
        for columns in (36, 44, 53):
            text = await chat.resize(columns, 30)
            rows = [row.rstrip() for row in text.splitlines() if "once" in row or "always" in row]
            assert f"y once {dot} c this conversation" in text, columns
            assert [row for row in rows if row.endswith(dot)] == [], columns


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
        await chat.press("up")
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


async def test_a_long_call_leaves_room_for_yes_and_no() -> None:
    ask = ev.ToolAsk("make " + "--with-this-target " * 20, pattern="run_command(make *)")
    async with opened(message("q1", "Look."), size=(50, 24)) as chat:
        await asking(chat, ask)
        for columns in (50, 80, 120):
            text = " ".join((await chat.resize(columns, 24)).replace("█", "").split())
            assert "y once" in text, columns
            assert "n no, because…" in text, columns


async def test_keys_stand_on_the_card_only_while_they_answer_it() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.write("ye")
        assert "once" not in await asking(chat)
        assert (await chat.press("tab")).count("y once") == 1
        assert "once" not in await chat.press("tab")


async def test_the_key_that_shows_all_stands_above_the_line_while_the_end_of_the_card_is_out_of_sight() -> (
    None
):
    async with opened(message("q1", "Look."), size=(100, 14)) as chat:
        text = await asking(chat, TALL)
        assert "y once" not in text
        assert "d show all" in next(row for row in text.splitlines() if "look needs approval" in row)
        assert (await chat.press("end")).count("y once") == 1


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


@pytest.mark.parametrize(("lines", "key"), [(30, "y"), (30, "c"), (30, "a"), (230, "y")])
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


async def test_the_keys_stay_on_the_card_when_more_is_told_of_the_call() -> None:
    async with opened(message("q1", "Look.")) as chat:
        assert "y once" in await asking(chat)
        text = await chat.send(status("asks", ask=ASK))
        assert text.count("y once") == 1
        assert "Allow this?" in text
