"""What a model is told when a room has said more than fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.engine.context.trimming import (
    LEAST_RESULT_TOKENS,
    MESSAGE_TOKENS,
    OLD_RESULT_TOKENS,
    Fitting,
    clipped,
    estimate,
    left_out,
    trim,
)
from agent_tui.backend.models.model import ChatMessage, ToolCall

PROMPT = ChatMessage("system", "You doubt.")
TASK = ChatMessage("user", "Redis or PostgreSQL?", stays=True)


def cost(messages: tuple[ChatMessage, ...]) -> int:
    return sum(MESSAGE_TOKENS + estimate(message.content) for message in messages)


def talk(*words: str) -> list[ChatMessage]:
    return [PROMPT, TASK, *(ChatMessage("user", word) for word in words)]


def test_what_fits_is_left_as_it_is() -> None:
    messages = talk("one", "two")
    assert trim(messages, 1_000) == Fitting(tuple(messages))
    assert trim([], 10) == Fitting(())


def test_the_oldest_words_go_first_and_one_line_stands_where_they_were() -> None:
    messages = talk(*("x" * 400 for _ in range(10)))
    kept, left, _ = trim(messages, 450)
    assert left == 6
    assert kept == (PROMPT, TASK, left_out(6), *messages[8:])
    assert left_out(6).content == "[6 earlier messages left out]"


def test_prompt_task_and_the_newest_words_stay_whatever_they_cost() -> None:
    messages = talk("a" * 4_000, "b" * 4_000, "c" * 4_000)
    assert trim(messages, 10) == Fitting((PROMPT, TASK, left_out(2), messages[-1]), 2)


def test_signs_that_are_not_ascii_count_one_each() -> None:
    assert estimate("") == 0
    assert estimate("abcde") == 2
    assert estimate("老王") == 2


@given(st.lists(st.text(max_size=60), max_size=30), st.integers(0, 400))
def test_nothing_is_lost_without_being_counted(words: list[str], tokens: int) -> None:
    messages = talk(*words)
    kept, left, _ = trim(messages, tokens)
    assert kept[:2] == (PROMPT, TASK)
    if left:
        assert kept[2] == left_out(left)
        assert list(kept[3:]) == messages[2 + left :]
        assert len(kept) == 4 or cost(kept) <= tokens
    else:
        assert kept == tuple(messages)


def tool_round(number: int, *results: str) -> list[ChatMessage]:
    """Return one round of calls with these results."""
    calls = tuple(ToolCall(f"c{number}-{at}", "look", "{}") for at in range(len(results)))
    answers = (ChatMessage("tool", text, call_id=call.id) for call, text in zip(calls, results, strict=True))
    return [ChatMessage("assistant", "", calls=calls), *answers]


def test_the_question_stays_and_the_first_one_goes_like_any_other_message() -> None:
    first, question = ChatMessage("user", "old " * 200), ChatMessage("user", "new", stays=True)
    rounds = [message for at in range(20) for message in tool_round(at, "x" * 400)]
    kept, left, _ = trim([PROMPT, first, ChatMessage("assistant", "Yes."), question, *rounds], 600)
    assert kept[:3] == (PROMPT, left_out(2), question)
    assert kept[3].content.endswith("earlier messages left out]")  # the oldest rounds
    assert kept[-2:] == tuple(rounds[-2:])
    assert cost(kept) <= 600
    assert left == 2 + int(kept[3].content.split()[0][1:])


def test_old_results_are_shortened_before_a_message_goes() -> None:
    question = ChatMessage("user", "Why?", stays=True)
    old, new = tool_round(0, "a" * 8_000 + "z"), tool_round(1, "b" * 4_000)
    kept, left, shortened = trim([PROMPT, question, *old, *new], 2_000)
    assert (left, shortened, len(kept)) == (0, 1, 6)
    assert kept[3].content.startswith("aaa")
    assert kept[3].content.endswith("aaz")
    assert estimate(kept[3].content) <= OLD_RESULT_TOKENS
    assert kept[-1] == new[-1]


def test_no_result_is_sent_that_is_larger_than_the_context() -> None:
    question = ChatMessage("user", "Why?", stays=True)
    short, long, other = "short", "x" * 100_000, "\u8001" * 30_000
    kept, left, shortened = trim([question, *tool_round(0, short, long, other)], 6_000)
    assert (left, shortened) == (0, 2)
    assert kept[2].content == short
    assert cost(kept) <= 6_000
    missing = 100_000 - kept[3].content.count("x")
    assert f"[… {missing:,} characters left out …]" in kept[3].content


@given(st.lists(st.text("a\u8001\n", max_size=3_000), min_size=1, max_size=5), st.integers(0, 900))
def test_results_fit_or_are_as_short_as_they_may_be(results: list[str], tokens: int) -> None:
    kept, _, _ = trim(tool_round(0, *results), tokens)
    most = max(LEAST_RESULT_TOKENS, max(map(estimate, results)) if sum(map(estimate, results)) < 100 else 0)
    fits = cost(kept) <= tokens + 10 * len(results)
    assert fits or all(estimate(message.content) <= most for message in kept[1:])


def test_what_was_missing_in_a_shortened_text_is_missing_still() -> None:
    text = "x" * 10_000
    assert clipped(clipped(text, 1_000), 100) == clipped(text, 100)
