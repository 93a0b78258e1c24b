"""What a run has said, from its events alone."""

from __future__ import annotations

import pytest

from agent_tui.model import events as ev
from tui.cli.headless.answer import Answer


def started(turn_id: str, name: str = "Ada", agent_id: str = "", role: str = "assistant") -> ev.TurnStarted:
    return ev.TurnStarted(turn_id, "r", role, name, "", 1, agent_id)


def stored(message_id: str, text: str, role: str = "assistant", interrupted: str = "") -> ev.Message:
    return ev.Message(message_id, "r", role, text, text, "Ada", "", 1, 0, "", interrupted=interrupted)


def after(*events: ev.Event) -> Answer:
    answer = Answer()
    for event in events:
        answer.apply(event)
    return answer


def test_texts_stand_in_the_order_of_their_start_joined_by_a_blank_line() -> None:
    answer = after(
        started("a", "Ada", "1"),
        started("b", "Bo", "2"),
        ev.TextAdded("b", "second"),
        ev.TextAdded("a", "fir"),
        ev.TurnEnded("b", "second", 1),
        ev.TextAdded("a", "st"),
    )
    assert answer.text == "first\n\nsecond"


def test_a_cut_turn_counts_and_a_silent_one_does_not() -> None:
    answer = after(
        started("a"),
        ev.TextAdded("a", "half a"),
        ev.TurnEnded("a", "half a", 1, interrupted="pause"),
        started("b"),
        ev.RunPaused("r"),
    )
    assert answer.text == "half a"
    assert [turn.status for turn in answer.turns.values()] == ["cut", "cut"]


def test_the_words_of_the_user_are_no_answer() -> None:
    answer = after(ev.MessageStored(stored("t", "the task", role="user")), started("a"))
    answer.apply(ev.TextAdded("a", "words"))
    assert answer.text == "words"


def test_words_that_look_like_json_stay_as_they_came() -> None:
    words = '{"text": "not the text"}'
    answer = after(started("a"), ev.TextAdded("a", words), ev.TurnEnded("a", "not the text", 1))
    assert answer.text == words


def test_the_end_gives_what_was_never_streamed() -> None:
    assert after(started("a"), ev.TurnEnded("a", "all at once", 1)).text == "all at once"
    assert after(started("a"), ev.TextAdded("a", "al"), ev.TurnEnded("a", "all", 1)).text == "all"


def test_an_end_without_content_takes_nothing_away() -> None:
    assert after(started("a"), ev.TextAdded("a", "said"), ev.TurnEnded("a", "", 0)).text == "said"


def test_accumulated_repairs_a_lost_chunk() -> None:
    answer = after(
        started("a"), ev.TextAdded("a", "one ", "one "), ev.TextAdded("a", "three", "one two three")
    )
    assert answer.text == "one two three"


def test_a_message_that_is_only_stored_counts() -> None:
    assert after(ev.MessageStored(stored("m", "from the record"))).text == "from the record"


def test_a_chunk_without_a_start_is_kept() -> None:
    assert after(ev.TextAdded("x", "stray")).text == "stray"


@pytest.mark.parametrize(
    ("failure", "failed"),
    [
        (ev.TurnFailed("x", "1", "Ada"), "a"),
        (ev.TurnFailed("x", "", "Bo"), "b"),
        (ev.TurnFailed("x", "9", "Cy"), None),
        (ev.TurnFailed("x"), None),
    ],
)
def test_a_failure_closes_the_open_turn_of_its_agent_and_no_other(
    failure: ev.TurnFailed, failed: str | None
) -> None:
    answer = after(started("a", "Ada", "1"), started("b", "Bo", "2"))
    changed = answer.apply(failure)
    assert [turn.id for turn in changed] == ([failed] if failed else [])
    assert {turn.id for turn in answer.turns.values() if turn.status == "failed"} == {failed} - {None}


def test_a_failure_that_names_nobody_is_that_of_the_only_one_speaking() -> None:
    answer = after(started("a"), ev.TextAdded("a", "half"), ev.TurnFailed("gone"))
    assert answer.turns["a"].status == "failed"
    assert answer.text == "half"


def test_what_continues_a_message_is_part_of_it_wherever_it_came() -> None:
    rest = ev.TurnStarted("c", "r", "assistant", "Ada", "", 1, "1", 2, continues="a")
    cut = ev.TurnEnded("a", "So far", 1, interrupted="length")
    answer = after(
        started("a"), ev.TextAdded("a", "So far"), cut, started("b", "Bo"), ev.TextAdded("b", "Well.")
    )
    for event in (rest, ev.TextAdded("c", " and on."), ev.TurnEnded("c", " and on.", 1)):
        answer.apply(event)
    assert answer.text == "So far and on.\n\nWell."
    assert after(rest, ev.TextAdded("c", "alone")).text == "alone"
    ring = after(
        *(ev.TurnStarted(one, "r", "assistant", "", "", 1, continues=other) for one, other in ("xy", "yx"))
    )
    assert ring.text == ""


def test_stored_messages_that_continue_others_are_part_of_them() -> None:
    rest = ev.Message("c", "r", "assistant", "d", "d", "Ada", "", 1, 0, "", continues="a")
    answer = after(
        *(ev.MessageStored(one) for one in (stored("a", "c", interrupted="length"), stored("b", "x"), rest))
    )
    assert answer.text == "cd\n\nx"


def test_what_was_stored_before_a_run_comes_first_once_and_is_never_a_ring() -> None:
    again = after(started("b"), ev.TextAdded("b", "whole"))
    assert again.text_after([stored("a", "first"), stored("b", "who")]) == "first\n\nwhole"
    ring = after(ev.TurnStarted("a", "r", "assistant", "", "", 1, continues="b"), ev.TextAdded("a", "x"))
    back = ev.Message("b", "r", "assistant", "y", "y", "", "", 1, 0, "", continues="a")
    assert ring.text_after([stored("a", "z"), back]) == "xy"
