"""Asking in a chat: questions, those that wait, other wordings, other versions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentBusy, ConnectFailed, Refused, StreamLost
from tests.state.chat_events import call, loaded, message, started, words
from tests.tui.chat.one_chat import LIVE, Chat, opened, said
from tui.chat.queue import ChatQueueScreen
from tui.keys.actions import offers
from tui.keys.keymap import resolve
from tui.live.waiting import WaitingList

WHOLE = (ev.TurnEnded("a9", "", 1, seconds=1.0), ev.TurnDone("a9", "a9"))


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def questions(chat: Chat) -> list[str]:
    return [question.content for question in chat.link.questions]


def line(chat: Chat) -> str:
    return chat.app.chat.composer.line.text


def _hints(text: str) -> set[str]:
    return {hint.strip() for hint in text.splitlines()[-1].split(" · ")}


async def test_enter_asks_once_and_the_line_is_empty_when_it_was_taken() -> None:
    async with opened() as chat:
        await chat.write("Why?", "enter")
        assert questions(chat) == ["Why?"]
        assert chat.link.questions[0].parent_id is None
        assert chat.link.questions[0].client_key
        assert line(chat) == ""


async def test_an_empty_line_asks_nothing() -> None:
    async with opened() as chat:
        await chat.press("enter", "enter")
        assert questions(chat) == []


async def test_what_could_not_be_sent_stays_and_goes_again_as_the_same_question() -> None:
    async with opened() as chat:
        chat.link.refuse = ConnectFailed("cannot connect")
        text = await chat.write("Why?", "enter")
        assert "not sent" in text or "cannot connect" in text
        assert line(chat) == "Why?"
        chat.link.refuse = None
        await chat.press("enter")
        assert len({question.client_key for question in chat.link.questions}) == 1
        assert line(chat) == ""


async def test_a_budget_that_no_price_is_known_for_is_told_of_once_and_beside_the_tokens() -> None:
    limit: dict[str, Any] = {"max_cost": 2.0, "tokens": 902, "model": "some-model", "provider_id": "local"}
    unlimited = "the budget of $2.00 does not limit some-model: no price is known"
    async with opened(*said(1, "What?", "So."), **limit, unpriced=("some-model",)) as chat:
        assert "902 tokens · price unknown" in (await chat.text()).splitlines()[-1]
        await chat.send(ev.ConversationChanged(ev.ConversationInfo("c", "Make", **limit)))
        assert "price unknown" in (await chat.text()).splitlines()[-1]
        assert chat.told == [unlimited]
        await chat.send(ev.ConversationChanged(ev.ConversationInfo("c", "Make", **limit | {"max_cost": 0.0})))
        assert "price unknown" not in await chat.text()


async def test_a_used_up_budget_is_named_as_in_the_settings_with_their_key() -> None:
    async with opened(size=(80, 24), max_tokens=1_000, tokens=3_766) as chat:
        chat.link.refuse = Refused("The budget is used up", "It used 3,766 of 1,000 tokens.", status=409)
        text = await chat.write("Why?", "enter")
        assert "not sent: budget in tokens used up (3,766 of 1,000) · ctrl+o to raise it" in text
        assert line(chat) == "Why?"


async def test_why_a_question_was_not_sent_is_wrapped() -> None:
    async with opened(size=(40, 24)) as chat:
        chat.link.refuse = Refused(
            "The model is gone", "Choose another one with ctrl+l, or start its server."
        )
        text = " ".join((await chat.write("Why?", "enter")).split())
        assert "ctrl+l, or start its server. – enter sends it again, never twice" in text


async def test_while_an_answer_comes_questions_wait_and_are_asked_one_after_the_other() -> None:
    async with opened(message("q9", "Look.")) as chat:
        text = await chat.send(started("a9", "q9"), words("So", turn_id="a9"))
        assert "Queue the next question…" in text
        await chat.write("First?", "enter")
        text = await chat.write("Second?", "enter")
        assert questions(chat) == []
        assert "queued: First? (2)" in text
        assert "Queue the next question…" in text
        text = await chat.send(*WHOLE)
        assert questions(chat) == ["First?"]
        assert "queued: Second? (1)" in text
        await chat.send(ev.MessageStored(message("q10", "First?", parent_id="a9")), started("a10", "q10"))
        await chat.send(ev.TurnEnded("a10", "", 1), ev.TurnDone("a10", "a10"))
        assert questions(chat) == ["First?", "Second?"]


async def test_how_many_questions_wait_is_in_sight_however_long_the_first_one_is() -> None:
    async with opened(*said(1, "Hi", "Hello"), size=(80, 24)) as chat:
        await chat.send(started("a9", "q9"))
        await chat.paste("第一个问题 " * 12)
        await chat.press("enter")
        text = await chat.write("Second?", "enter")
        assert "… (2)" in text


async def test_after_a_stop_what_waits_is_asked_only_when_the_person_says_so() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"), words("So", turn_id="a9"))
        await chat.write("Next?", "enter", "escape")
        text = await chat.send(ev.TurnEnded("a9", "", 1, interrupted="stop"), ev.RunFailed("Stopped"))
        assert questions(chat) == []
        assert "on hold: Next? (1)" in text
        assert "enter send queued" in text
        await chat.press("enter")
        assert questions(chat) == ["Next?"]


async def test_a_question_after_a_stop_is_asked_at_once_and_what_waited_stays_on_hold() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"), words("So", turn_id="a9"))
        await chat.write("Next?", "enter", "escape")
        await chat.send(ev.TurnEnded("a9", "", 1, interrupted="stop"), ev.RunFailed("Stopped"))
        text = await chat.write("Another?", "enter")
        assert questions(chat) == ["Another?"]
        assert "on hold: Next? (1)" in text
        asked = ev.MessageStored(message("q10", "Another?", parent_id="a9"))
        await chat.send(asked, started("a10", "q10"), words("Well", turn_id="a10"))
        text = await chat.write("Third?", "enter")
        assert "queued: Third? (1) · on hold: Next? (1)" in text
        text = await chat.send(ev.TurnEnded("a10", "", 1), ev.TurnDone("a10", "a10"))
        assert questions(chat) == ["Another?", "Third?"]
        assert "on hold: Next? (1)" in text


async def test_a_question_that_is_written_while_the_answer_stops_is_asked_when_it_has_stopped() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"), words("So", turn_id="a9"))
        await chat.write("Next?", "enter", "escape")
        await chat.write("Another?", "enter")
        assert questions(chat) == []
        text = await chat.send(ev.TurnEnded("a9", "", 1, interrupted="stop"), ev.RunFailed("Stopped"))
        assert questions(chat) == ["Another?"]
        assert "on hold: Next? (1)" in text
        assert "on hold: Next?" in await chat.press("tab", "u")


async def test_what_waits_is_kept_on_disk_and_nothing_of_it_is_sent_by_itself() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"))
        await chat.write("Next?", "enter")
        await chat.write("half a")
    async with opened(message("q9", "Look.")) as chat:
        text = await chat.text()
        assert "on hold: Next? (1)" in text
        assert line(chat) == "half a"
        await chat.send(started("a9", "q9"), *WHOLE)
        assert questions(chat) == []


async def test_what_waits_is_changed_put_in_order_and_dropped() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"))
        for words_ in ("One?", "Two?", "Three?"):
            await chat.write(words_, "enter")
        text = await chat.press("tab", "u")
        assert "Queued questions" in text
        await chat.press("ctrl+down")  # One behind Two
        await chat.press("up", "e", "end", "exclamation_mark", "enter")  # Two is changed
        await chat.press("down", "down", "d", "escape")  # Three is dropped
        assert [waits.text for waits in chat.app.chat.composer.queue] == ["Two?!", "One?"]


async def test_a_waiting_question_that_is_changed_is_another_one_for_the_server() -> None:
    """It may have the first one already: only the answer to its POST may have been lost."""
    async with opened() as chat:
        chat.link.refuse = AgentBusy("an answer is under way", status=409)
        await chat.write("Why?", "enter")
        await chat.press("tab", "u", "e", "enter")  # nothing is changed
        await chat.press("e", "end", "exclamation_mark", "enter", "escape")
        chat.link.refuse = None
        await chat.send(ev.MessageStored(message("q9", "x")), started("a9", "q9"), *WHOLE)
        assert questions(chat) == ["Why?", "Why?!"]
        assert len({question.client_key for question in chat.link.questions}) == 2


async def test_the_key_of_the_queue_is_shown_where_it_works_and_not_where_it_would_be_typed() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"))
        assert "u edit queue" not in await chat.write("One?", "enter")
        assert "u edit queue" in await chat.press("tab")
        assert "u edit queue" not in await chat.press("i")


async def test_keys_act_on_the_same_question_once_the_first_one_was_asked() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"))
        for words_ in ("One?", "Two?", "Three?"):
            await chat.write(words_, "enter")
        await chat.press("tab", "u", "down")
        await chat.send(*WHOLE)
        assert questions(chat) == ["One?"]
        assert isinstance(chat.app.screen, ChatQueueScreen)
        chat.app.screen.query_one(WaitingList).look()
        await chat.press("d")
        assert [waits.text for waits in chat.app.chat.composer.queue] == ["Three?"]


async def test_on_a_low_terminal_the_last_question_is_seen_with_the_keys_and_the_line_to_change_it() -> None:
    async with opened(message("q9", "Look."), size=(40, 12)) as chat:
        await chat.send(started("a9", "q9"))
        for number in range(9):
            await chat.write(f"Q{number}?", "enter")
        assert "Q8?" not in await chat.press("tab", "u")
        text = await chat.press(*["down"] * 8)
        assert [words in text for words in ("Queued questions", "Q8?", "d discard", "esc back")] == [True] * 4
        text = await chat.press("e", "end", "exclamation_mark")
        assert [words in text for words in ("Q8?!", "enter save")] == [True] * 2


async def test_a_question_that_was_asked_while_it_is_changed_says_so() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"))
        await chat.write("One?", "enter")
        await chat.press("tab", "u", "e")
        await chat.send(*WHOLE)
        assert isinstance(chat.app.screen, ChatQueueScreen)
        chat.app.screen.query_one(WaitingList).look()
        assert "already sent" in await chat.text()


async def test_somebody_else_asked_first_so_the_question_waits() -> None:
    async with opened() as chat:
        chat.link.refuse = AgentBusy("an answer is under way", status=409)
        text = await chat.write("Why?", "enter")
        assert "queued: Why? (1)" in text
        assert line(chat) == ""
        chat.link.refuse = None
        await chat.send(ev.MessageStored(message("q9", "x")), started("a9", "q9"), *WHOLE)
        assert questions(chat) == ["Why?", "Why?"]
        assert len({question.client_key for question in chat.link.questions}) == 1


async def test_a_question_is_asked_another_way_from_where_it_stood() -> None:
    messages = [*said(1, "First?", "One."), *said(2, "Second?", "Two.", parent="a1")]
    async with opened(*messages) as chat:
        await chat.write("a draft")
        await chat.press("tab", "e")
        assert line(chat) == "Second?"
        text = await chat.press("exclamation_mark", "enter")
        assert [(q.content, q.parent_id) for q in chat.link.questions] == [("Second?!", "a1")]
        assert line(chat) == "a draft"
        assert "the old version is kept" not in text


async def test_the_first_question_is_asked_another_way_from_the_beginning() -> None:
    async with opened(*said(1, "First?", "One.")) as chat:
        await chat.press("tab", "e", "enter")
        assert [question.parent_id for question in chat.link.questions] == [""]


async def test_escape_leaves_the_other_wording_and_the_draft_is_back() -> None:
    async with opened(*said(1, "First?", "One.")) as chat:
        await chat.write("a draft")
        text = await chat.press("tab", "e")
        assert "the old version is kept" in text
        await chat.press("escape")
        assert line(chat) == "a draft"
        assert questions(chat) == []


async def test_a_question_is_answered_again() -> None:
    async with opened(*said(1, "First?", "One.")) as chat:
        await chat.press("tab", "r")
        assert [(q.again, q.content) for q in chat.link.questions] == [("q1", "")]


async def test_folding_is_not_offered_where_there_is_no_step() -> None:
    async with opened(*said(1, "First?", "One."), size=(200, 60)) as chat:
        text = await chat.press("tab")
        assert "i write" in text
        assert "fold" not in text
        found = {offer.ids[0]: offer.reason for offer in offers(chat.app.screen, resolve({}))}
        assert found["chat.fold"] == found["chat.fold_all"] == "no tool or thought in view"


async def test_nothing_is_asked_again_while_an_answer_comes() -> None:
    async with opened(*said(1, "First?", "One."), size=(200, 30)) as chat:
        assert {"r retry", "i write"} <= _hints(await chat.press("tab"))
        assert "e edit & resend" in _hints(await chat.press("shift+up"))
        other = message("q2", "x", parent_id="a1", versions=("q2", "q3"))
        text = await chat.send(ev.MessageStored(other), started("a2", "q2"))
        assert _hints(text) >= {"esc stop", "i write"}
        assert not {"r retry", "e edit & resend", "[ versions"} & _hints(await chat.later())
        await chat.press("r", "e", "left_square_bracket")
        assert questions(chat) == []
        assert chat.told[:2] == ["wait for the answer to finish, or stop it"] * 2


async def test_asked_another_way_what_was_said_before_it_stays_on_screen() -> None:
    async with opened(*said(1, "Why?", "Because."), *said(2, "How?", "So.", parent="a1")) as chat:
        other = ev.MessageStored(message("q3", "Who?", parent_id="a1"))
        text = await chat.send(other, started("a3", "q3"), words("She.", turn_id="a3"))
        for words_said in ("Why?", "Because.", "Who?", "She."):
            assert words_said in text
        assert "How?" not in text


async def test_versions_are_counted_and_stepped_through() -> None:
    answer = message("a2", "Two.", "assistant", parent_id="q1", versions=("a1", "a2", "a3"))
    async with opened(message("q1", "First?"), answer) as chat:
        assert "version 2 of 3" in await chat.text()
        await chat.press("tab", "left_square_bracket")
        assert chat.asked == ["change {'head': 'a1'}"]
        await chat.press("right_square_bracket")
        assert chat.asked[1:] == ["change {'head': 'a3'}"]
        other = message("a3", "Three.", "assistant", parent_id="q1", versions=("a1", "a2", "a3"))
        text = await chat.send(loaded(message("q1", "First?"), other), LIVE)
        assert "version 3 of 3" in text
        await chat.press("right_square_bracket")
        assert chat.told == ["no more versions"]


async def test_an_archived_chat_can_be_read_and_not_asked() -> None:
    async with opened(*said(1, "First?", "One."), archived=True) as chat:
        text = await chat.write("Why?", "enter")
        assert "this chat is archived" in text
        assert questions(chat) == []


async def test_a_server_that_shows_an_answer_only_while_it_gives_it_is_asked_and_read_in_one() -> None:
    async with opened() as chat:
        await chat.send(ev.LinkChanged("ended", "only while it is given"))
        await chat.write("Why?", "enter")
        chat.link.send_posted(
            ev.LinkChanged("live"),
            ev.MessageStored(message("local-question-1", "Why?")),
            started("local-answer-1"),
            words("Because", turn_id="local-answer-1"),
            call(turn_id="local-answer-1"),
            ev.TurnDone("local-answer-1", "x"),
            None,
        )
        text = await chat.text()
        assert "Because" in text
        assert line(chat) == ""
        await chat.write("And?", "enter")
        assert questions(chat) == ["Why?", "And?"]


async def test_a_question_there_is_read_in_one_too_before_the_last_answer_is_closed() -> None:
    async with opened() as chat:
        await chat.send(ev.LinkChanged("ended"))
        await chat.write("Why?", "enter")
        chat.link.send_posted(
            ev.LinkChanged("live"),
            ev.MessageStored(message("local-question-1", "Why?")),
            started("local-answer-1"),
            words("Because", turn_id="local-answer-1"),
            ev.TurnDone("local-answer-1", "x"),  # its connection takes a while to close
        )
        assert "Because" in await chat.text()
        await chat.write("And?", "enter")
        assert questions(chat) == ["Why?", "And?"]
        assert chat.link.begun == []


async def test_an_answer_that_broke_off_there_keeps_its_words_and_is_not_asked_again() -> None:
    async with opened() as chat:
        await chat.send(ev.LinkChanged("ended"))
        await chat.write("Why?", "enter")
        chat.link.send_posted(
            ev.MessageStored(message("local-question-1", "Why?")),
            started("local-answer-1"),
            words("Half", turn_id="local-answer-1"),
            ev.TurnEnded("local-answer-1", "", 0, interrupted="lost"),
            StreamLost("interrupted"),
        )
        text = await chat.text()
        assert "Half" in text
        assert "┄ cut: its end was never received" in text
        assert questions(chat) == ["Why?"]


# --- what an answer that ends early, late or unheard means for what waits ---------------------------------


async def test_an_answer_that_ends_before_its_question_is_known_to_be_taken_lets_the_next_one_go() -> None:
    async with opened() as chat:
        chat.link.held = asyncio.Event()
        await chat.write("First?", "enter", "ctrl+u")
        await chat.write("Second?", "enter")
        await chat.send(ev.MessageStored(message("q9", "First?")), started("a9", "q9"), *WHOLE)
        assert questions(chat) == ["First?"]
        chat.link.held.set()
        await chat.settle()
        assert questions(chat) == ["First?", "Second?"]


async def test_a_question_that_waits_for_another_terminals_answer_goes_when_that_ended_meanwhile() -> None:
    async with opened() as chat:
        chat.link.held, chat.link.refuse = asyncio.Event(), AgentBusy("an answer is under way")
        await chat.write("Mine?", "enter")
        await chat.send(ev.MessageStored(message("q9", "Theirs?")), started("a9", "q9"), *WHOLE)
        chat.link.refuse = None
        held, chat.link.held = chat.link.held, None
        chat.link.refuse = AgentBusy("an answer is under way")
        held.set()
        while len(questions(chat)) < 2:
            await chat.look()
        assert questions(chat) == ["Mine?", "Mine?"]
        assert len({question.client_key for question in chat.link.questions}) == 1


async def test_an_answer_that_ended_while_nothing_was_heard_lets_the_next_question_go() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"))
        await chat.write("Next?", "enter")
        assert questions(chat) == []
        await chat.send(ev.LinkChanged("waiting", "lost", 1.0), loaded(*said(9, "Look.", "Done.")), LIVE)
        assert questions(chat) == ["Next?"]


async def test_an_answer_that_was_cut_while_nothing_was_heard_holds_what_waits() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"))
        await chat.write("Next?", "enter")
        text = await chat.send(loaded(*said(9, "Look.", "Do", interrupted="crash")), LIVE)
        assert questions(chat) == []
        assert "on hold: Next? (1)" in text


async def test_after_a_reconnect_escape_stops_the_answer_again() -> None:
    async with opened(message("q9", "Look.")) as chat:
        await chat.send(started("a9", "q9"), words("So", turn_id="a9"))
        await chat.press("escape")
        assert chat.asked == ["stop"]
        cut = message("a9", "So", "assistant", parent_id="q9", status="streaming")
        text = await chat.send(ev.LinkChanged("waiting", "lost", 1.0), loaded(message("q9"), cut), LIVE)
        assert "stopping" not in text
        await chat.press("escape")
        assert chat.asked == ["stop", "stop"]


async def test_what_waits_is_held_when_the_question_before_it_cannot_be_sent() -> None:
    async with opened() as chat:
        chat.link.held, chat.link.refuse = asyncio.Event(), ConnectFailed("cannot connect")
        await chat.write("First?", "enter", "ctrl+u")
        await chat.write("Second?", "enter")
        chat.link.held.set()
        assert "on hold: Second? (1)" in await chat.text()
