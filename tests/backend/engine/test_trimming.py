"""What a model is told when a room has said more than fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.engine.context.trimming import MESSAGE_TOKENS, estimate, left_out, trim
from agent_tui.backend.models.model import ChatMessage

PROMPT = ChatMessage("system", "You doubt.")
TASK = ChatMessage("user", "Redis or PostgreSQL?")


def cost(messages: tuple[ChatMessage, ...]) -> int:
    return sum(MESSAGE_TOKENS + estimate(message.content) for message in messages)


def talk(*words: str) -> list[ChatMessage]:
    return [PROMPT, TASK, *(ChatMessage("user", word) for word in words)]


def test_what_fits_is_left_as_it_is() -> None:
    messages = talk("one", "two")
    assert trim(messages, 1_000) == (tuple(messages), 0)
    assert trim([], 10) == ((), 0)


def test_the_oldest_words_go_first_and_one_line_stands_where_they_were() -> None:
    messages = talk(*("x" * 400 for _ in range(10)))
    kept, left = trim(messages, 450)
    assert left == 6
    assert kept == (PROMPT, TASK, left_out(6), *messages[8:])
    assert left_out(6).content == "[6 earlier messages left out]"


def test_prompt_task_and_the_newest_words_stay_whatever_they_cost() -> None:
    messages = talk("a" * 4_000, "b" * 4_000, "c" * 4_000)
    assert trim(messages, 10) == ((PROMPT, TASK, left_out(2), messages[-1]), 2)


def test_signs_that_are_not_ascii_count_one_each() -> None:
    assert estimate("") == 0
    assert estimate("abcde") == 2
    assert estimate("老王") == 2


@given(st.lists(st.text(max_size=60), max_size=30), st.integers(0, 400))
def test_nothing_is_lost_without_being_counted(words: list[str], tokens: int) -> None:
    messages = talk(*words)
    kept, left = trim(messages, tokens)
    assert kept[:2] == (PROMPT, TASK)
    if left:
        assert kept[2] == left_out(left)
        assert list(kept[3:]) == messages[2 + left :]
        assert len(kept) == 4 or cost(kept) <= tokens
    else:
        assert kept == tuple(messages)
