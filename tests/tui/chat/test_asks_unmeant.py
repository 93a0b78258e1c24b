"""Tools that ask: a key that was meant for something else answers nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from textual import events

from tests.state.chat_events import call, message, started, status
from tests.tui.chat.asking_chat import ASK, asking
from tests.tui.chat.one_chat import Chat, opened
from tui.chat.screen import ChatScreen
from tui.screens.dialog import QuestionScreen


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


async def test_who_is_writing_is_not_asked_in_between_and_tab_leads_there() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.write("ye")
        text = await asking(chat)
        assert text.count("tab answer") == 2  # in the bar and in the last row
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


async def test_other_letters_are_words_and_no_answers() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("h", "a", "y")
        assert chat.app.chat.composer.line.text == "hay"
        assert chat.asked == []


@pytest.mark.parametrize("key", ["y", "c", "a", "n"])
async def test_a_key_that_was_down_when_the_question_came_answers_nothing_while_it_is_held(key: str) -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.press("tab")
        await chat.pilot.press(key)
        chat.time += 0.8  # held for longer than it takes to be asked
        await chat.send(started("a1", "q1"), call(), status("asks", ask=ASK))
        for _ in range(40):  # more than a second of a key that the terminal repeats
            chat.time += 0.033
            await chat.pilot.press(key)
        assert chat.asked == []
        assert chat.app.screen is chat.app.chat
        chat.app.chat.action_answer_tool()
        await chat.later()
        chat.time += 1.5
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
            await chat.settle()
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
        await chat.settle()
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
        chat.link.send(started("a1", "q1"), call(), status("asks", ask=ASK))
        await chat.until("Allow this?")
        chat.time += 5.0
        await chat.pilot.press("y")
        chat.time += 1.5
        assert "Allow this?" in await chat.look()
        assert (chat.asked, chat.told, chat.app.chat.composer.line.text) == ([], [], "y")
        is_slow = False
        await chat.press("tab")
        chat.time -= 1.5
        await chat.pilot.press("y")
        assert chat.asked == []
        chat.time += 2.0
        await chat.press("y")
        assert chat.asked == ["answer a1 step-1 once"]


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
        await chat.settle()
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
        await chat.settle()
        assert chat.app.chat.composer.line.text == "hi"
        assert chat.link.questions == []


async def test_escape_right_behind_no_closes_what_it_opened() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        for key, character in (("n", "n"), ("escape", None)):
            chat.app.post_message(events.Key(key, character))
        await chat.until(lambda: chat.app.screen is chat.app.chat and not chat.app.is_answering)
        await chat.settle()
        assert chat.app.screen is chat.app.chat
        assert (chat.asked, chat.app.chat._approvals.has_bar_focus) == ([], True)


async def pressed(chat: Chat, key: str) -> None:
    """Press a key at a normal pace, and nothing for as long as it takes to see that it begins no word."""
    await chat.pilot.press(key)
    chat.time += 0.4
    if (letter := chat.app.chat._approvals.bar.keys.letter).held:
        await letter.act()
    await chat.settle()


@pytest.mark.parametrize("is_reading", [False, True])
async def test_one_key_at_a_normal_pace_answers_one_question_after_another(is_reading: bool) -> None:
    async with opened(message("q1", "Look.")) as chat:
        if is_reading:
            await chat.press("tab")
        await asking(chat)
        for number in range(1, 4):
            await pressed(chat, "y")
            await chat.send(status("running", f"step-{number}"), status("done", f"step-{number}"))
            chat.time += 0.1
            await chat.send(call(f"step-{number + 1}"), status("asks", f"step-{number + 1}", ask=ASK))
            assert chat.app.chat._approvals.has_bar_focus
            chat.time += 0.4
        assert chat.asked == [f"answer a1 step-{number} once" for number in range(1, 4)]
        assert chat.app.chat.composer.line.text == ""


@pytest.mark.parametrize("words", ["y", "yes, and the others", "no", " x"])
async def test_what_is_typed_between_two_questions_goes_to_the_line_and_answers_none(words: str) -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await pressed(chat, "y")
        await chat.send(status("running"))
        for letter in words:
            chat.app.post_message(events.Key(letter, letter))
        await chat.settle()
        assert chat.app.chat.composer.line.text == words
        await chat.send(call("step-2"), status("asks", "step-2", ask=ASK))
        assert chat.app.chat.composer.has_line_focus
        assert chat.asked == ["answer a1 step-1 once"]
