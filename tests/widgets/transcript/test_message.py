from __future__ import annotations

from dataclasses import asdict

import pytest

from tests.widgets.drawing import drawn
from widgets.transcript.message import SLICE_CHARACTERS, TranscriptMessage

BUDGET = 1_000_000


def settled(*chunks: str) -> TranscriptMessage:
    message = TranscriptMessage("a", "")
    for chunk in chunks:
        message.add(chunk)
    message.settle(BUDGET)
    return message


def kinds(message: TranscriptMessage) -> list[str]:
    return [message.part(index).kind for index in range(message.part_count)]


def test_a_message_begins_with_its_head_and_ends_with_its_note() -> None:
    message = settled("one\n\ntwo")
    assert kinds(message) == ["title", "paragraph", "paragraph"]
    message.close("cut at the pause", is_failure=False)
    message.settle(BUDGET)
    assert kinds(message) == ["title", "paragraph", "paragraph", "note"]


def test_complete_blocks_are_kept_as_they_are_and_open_ones_are_made_anew() -> None:
    message = settled("one\n\ntwo")
    before = list(message.blocks)
    message.add(" more\n\nthree")
    message.settle(BUDGET)
    assert [asdict(block) for block in list(message.blocks)[:1]] == [asdict(block) for block in before]
    assert [message.text.of(block) for block in message.blocks] == ["one", "two more"]
    assert [message.text.of(block) for block in message.open] == ["three"]


def test_a_closed_message_has_no_open_blocks() -> None:
    message = settled("**one")
    message.close("", is_failure=False)
    assert not message.is_settled
    message.settle(BUDGET)
    assert message.is_settled
    assert message.open == []
    assert len(message.blocks) == 1


def test_text_after_the_end_is_taken_in() -> None:
    message = settled("one")
    message.close("", is_failure=False)
    message.settle(BUDGET)
    message.add(" two")
    message.settle(BUDGET)
    assert [message.text.of(block) for block in message.blocks] == ["one two"]


def test_replaced_text_forgets_the_old_one() -> None:
    message = settled("one\n\ntwo\n\n")
    message.replace("three")
    message.settle(BUDGET)
    assert [message.text.of(block) for block in [*message.blocks, *message.open]] == ["three"]


def test_hostile_text_is_inert_before_it_is_split() -> None:
    message = settled("a\x1b]52;c;eA==\x07b\u202ec", "\ud800", "\x9b31m")
    [block] = message.open
    assert message.text.of(block) == "a␛]52;c;eA==␇b\ufffdc\ufffd\ufffd31m"


def test_work_stops_when_the_budget_is_spent_and_goes_on_where_it_stopped() -> None:
    text = "word " * 20_000
    message = TranscriptMessage("a", "")
    message.add(text)
    steps = 0
    while not message.is_settled:
        assert message.settle(SLICE_CHARACTERS) <= SLICE_CHARACTERS + 1
        steps += 1
    assert steps == -(-len(text) // SLICE_CHARACTERS)
    assert "".join(message.text.of(block) for block in [*message.blocks, *message.open]) == text


def test_short_lines_cost_more_than_their_characters() -> None:
    message = TranscriptMessage("a", "")
    message.add("\n" * 100_000)
    message.settle(SLICE_CHARACTERS)
    assert not message.is_settled


def test_an_estimated_height_is_near_the_exact_one() -> None:
    text = ("word " * 40 + "\n\n- item\n- item\n\n```\ncode\n```\n\n") * 20
    message = settled(text)
    exact = len(drawn([text], 40)) + 1
    assert message.height(40) == pytest.approx(exact, rel=0.3)
    message = TranscriptMessage("a", "")
    message.add(text)
    message.know_width(40)
    message.settle(BUDGET)
    assert message.height(40) == pytest.approx(exact, rel=0.1)


def test_the_title_and_the_note_are_one_inert_line_each() -> None:
    message = TranscriptMessage("a", "round\n\x1b[31m2")
    message.close("cut\nat the \x1b]0;pause", is_failure=False)
    assert message.part(0).label == "round ␛[31m2"
    assert message.part(message.part_count - 1).label == "cut at the ␛]0;pause"


def test_a_message_says_when_its_height_may_have_changed() -> None:
    message = TranscriptMessage("a", "round 1")
    message.number, message.changed = 7, set()
    for act in (
        lambda: message.add("one"),
        lambda: message.settle(BUDGET),
        lambda: message.replace("two"),
        lambda: message.reopen(),
        lambda: message.close("cut", is_failure=False),
        lambda: message.know_rows(0, 3),
    ):
        message.changed.clear()
        act()
        assert message.changed == {7}


def test_exact_rows_of_another_width_are_estimated_anew_bit_by_bit() -> None:
    message = TranscriptMessage("a", "")
    message.add("word " * 8 + "\n\n" + "- item\n" * 9)
    message.know_width(80)
    message.settle(BUDGET)
    message.know_rows(1, 1)
    assert message.exact_rows(1) == 1
    message.know_width(10)
    assert not message.exact_rows(1)
    assert not message.estimate_anew(4)
    message.know_rows(1, 5)
    assert message.estimate_anew(100)
    assert message.rows[0] == 5
    assert message.height(10) == 1 + message.rows.total + 1
    assert message.rows_before(3) == 1 + message.rows[0] + message.rows[1]
