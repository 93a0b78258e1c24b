from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.ink import CODE, EMPHASIS, LINK, MARK, QUOTE, STRIKE, STRONG, URL, Run
from widgets.markdown.inline import parse

ALPHABET = "ab *_~`[]()!\\<>h://中。\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [("plain", 0)]),
        ("a **b** c", [("a ", 0), ("b", STRONG), (" c", 0)]),
        ("*a* _b_", [("a", EMPHASIS), (" ", 0), ("b", EMPHASIS)]),
        ("***a***", [("a", STRONG | EMPHASIS)]),
        ("**a *b* c**", [("a ", STRONG), ("b", STRONG | EMPHASIS), (" c", STRONG)]),
        ("~~a~~ ~b~", [("a", STRIKE), (" ~b~", 0)]),
        ("`a*b*`", [("a*b*", CODE)]),
        ("`` a`b ``", [("a`b", CODE)]),
        (r"\*a\*", [("*a*", 0)]),
        ("&lt;b&gt; &amp;amp; &#65;&#x42; &nbsp;&bogus; &amp", [("<b> &amp; AB \xa0&bogus; &amp", 0)]),
        ("$a*b*c$ and $$x_1*2*$$", [("$a*b*c$ and $$x_1*2*$$", 0)]),
        ("from $5 *or* $6", [("from $5 ", 0), ("or", EMPHASIS), (" $6", 0)]),
    ],
)
def test_signs_become_ink(text: str, expected: list[Run]) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2 * 3 * 4",
        "snake_case_name",
        "**a",
        "`a",
        "[a] [b](",
        "a ** b",
        "<b>html</b> & <!-- comment -->",
        "[^1] and arr[0]",
        "[a](see this)",
        "[bold red]markup[/]",
        "~a",
    ],
)
def test_what_is_no_sign_stays_text(text: str) -> None:
    assert parse(text) == [(text, 0)]


def test_strong_text_that_ends_in_chinese_punctuation_is_strong() -> None:
    assert parse("**重点。**继续") == [("重点。", STRONG), ("继续", 0)]


def test_ink_from_outside_stays_on_every_run() -> None:
    assert parse("a *b*", QUOTE) == [("a ", QUOTE), ("b", QUOTE | EMPHASIS)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a **b", [("a ", 0), ("b", STRONG)]),
        ("a **b*", [("a ", 0), ("b", STRONG)]),
        ("a **", [("a ", 0)]),
        ("*a **b", [("a ", EMPHASIS), ("b", EMPHASIS | STRONG)]),
        ("~~a", [("a", STRIKE)]),
        ("`a b", [("a b", CODE)]),
        ("`", []),
        ("see [a](http://x/", [("see ", 0), ("a", LINK)]),
        ("see [a](", [("see ", 0), ("a", LINK)]),
        ("a!", [("a!", 0)]),
        ("a !", [("a ", 0)]),
        ("a ![b", [("a ", 0), ("▣ ", MARK | LINK), ("b", LINK)]),
        ("a [b]", [("a ", 0), ("b", LINK)]),
        ("a [b] c", [("a [b] c", 0)]),
        ("a [b](see th", [("a [b](see th", 0)]),
    ],
)
def test_a_sign_that_is_not_closed_yet_looks_as_if_it_were(text: str, expected: list[Run]) -> None:
    assert parse(text, is_open=True) == expected


def test_a_sign_that_was_left_open_long_ago_is_a_plain_character() -> None:
    text = "an *asterisk " + "and words " * 60
    assert parse(text, is_open=True) == [(text, 0)]


@given(st.text(ALPHABET, max_size=80))
def test_a_text_without_pairs_of_signs_loses_nothing(text: str) -> None:
    bare = text.translate(str.maketrans("", "", "*_~`[]\\<:"))
    assert "".join(piece for piece, _ in parse(bare)) == bare


@given(st.text(ALPHABET, max_size=80), st.booleans())
def test_words_are_never_invented_and_stay_in_order(text: str, is_open: bool) -> None:
    remaining = iter(text)
    own = MARK | URL  # signs of ours, and targets, which may stand elsewhere
    runs = [run for run in parse(text, is_open=is_open) if not run[1] & own]
    assert all(char in remaining for piece, _ in runs for char in piece)


@given(st.text(ALPHABET, max_size=80))
def test_neighbouring_runs_differ_in_ink(text: str) -> None:
    inks = [ink for _, ink in parse(text)]
    assert all(one != other for one, other in pairwise(inks))
