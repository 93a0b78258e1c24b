"""What is understood of a task from its letters alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.models.demo.task import MAX_QUOTE_CHARACTERS, read_task
from agent_tui.config.agent_templates import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Should sessions live in Redis?", "en"),
        ("¿Dónde viven las sesiones?", "en"),
        ("", "en"),
        ("🙂", "en"),
        ("会话放在哪里?", "zh"),
        ("用 Redis 还是 PostgreSQL 存会话?", "zh"),
        ("Ask 老王 about the plan for the onboarding of new users", "en"),
        ("東京でラーメンを食べる", "en"),
        ("세션은 어디에 있나요", "en"),
        ("Где хранить сессии?", "ru"),
        ("Сравни Redis и PostgreSQL", "ru"),
        ("Compare the word мир with its translations", "en"),
    ],
)
def test_the_language_is_told_by_the_script(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Should sessions live in Redis or PostgreSQL?", ("Redis", "PostgreSQL")),
        ("Google Docs or Notion Pages for our notes?", ("Google Docs", "Notion Pages")),
        ("tabs or spaces", ("tabs", "spaces")),
        ("Где хранить: в Redis или в PostgreSQL?", ("Redis", "PostgreSQL")),
        ("Чай или кофе?", ("Чай", "кофе")),
        ("会话应该放在 Redis 还是 PostgreSQL?", ("Redis", "PostgreSQL")),
        ("周末去爬山还是去看电影?", ("爬山", "看电影")),
        ("A monorepo, a polyrepo or something else?", None),
        ("Whether or not to go", None),
        ("red or red", None),
        ("this or that or more", None),
        ("or", None),
        ("还是", None),
        ("Rewrite the onboarding mail", None),
    ],
)
def test_two_answers_are_seen_where_the_task_names_two(text: str, options: tuple[str, str] | None) -> None:
    assert read_task(text).options == options


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Redis or PostgreSQL?", "choice"),
        ("Why is the build slow?", "question"),
        ("how to bake bread", "question"),
        ("为什么构建这么慢", "question"),
        ("Почему сборка медленная", "question"),
        ("Rewrite the onboarding mail", "assignment"),
        ("写一封欢迎邮件", "assignment"),
        ("", "assignment"),
    ],
)
def test_the_kind_of_task_is_told(text: str, kind: str) -> None:
    assert read_task(text).kind == kind


def test_a_long_task_is_quoted_in_one_short_line() -> None:
    quote = read_task("First line,\nsecond line. " + "long " * 100).quote
    assert quote.startswith("First line, second line. long")
    assert len(quote) <= MAX_QUOTE_CHARACTERS
    assert quote.endswith("…")


def test_markdown_in_a_task_is_quoted_as_plain_words() -> None:
    assert read_task("## **Title** with `code` | <b>tags</b>").quote == "Title with 'code' / ‹b›tags‹/b›"


@given(st.text())
def test_any_text_gives_a_harmless_line(text: str) -> None:
    task = read_task(text)
    assert len(task.quote) <= MAX_QUOTE_CHARACTERS
    assert not set("\n\r\t\x1b`|*<>") & set("".join((task.quote, *(task.options or ()))))
