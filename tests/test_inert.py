"""The one sanitiser and its one table."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.inert import inert, inert_line

ESC = "\x1b"
TABLE = [
    ("plain text", "plain text"),
    ("日本語 и русский 🎉", "日本語 и русский 🎉"),
    ("tab\tand\nline", "tab\tand\nline"),
    (f"{ESC}[31mred{ESC}[0m", "␛[31mred␛[0m"),
    (f"{ESC}]52;c;aGk={chr(7)}", "␛]52;c;aGk=␇"),
    (f"{ESC}]8;;http://x{ESC}\\link", "␛]8;;http://x␛\\link"),
    ("\x9b31mred", "\ufffd31mred"),
    ("\x85\u2028\u2029\x0b\x0c", "\n\n\n\n\n"),
    ("a\r\nb\rc", "a\nbc"),
    ("\x00\x08\x7f", "␀␈␡"),
    ("abc\u202edef\u2066g", "abc\ufffddef\ufffdg"),
    ("a\u200eb\u200fc\u061cd", "abcd"),
    ("zero\u200bwidth\ufeff\u00ad", "zerowidth"),
    ("\ud800lone\udfff", "\ufffdlone\ufffd"),
    ("tag\U000e0041\U000e007f", "tag"),
    ("family 👨\u200d👩\u200d👧 and ❤\ufe0f", "family 👨\u200d👩\u200d👧 and ❤\ufe0f"),
    ("[bold]markup[/]", "[bold]markup[/]"),
]


@pytest.mark.parametrize(("hostile", "harmless"), TABLE)
def test_hostile_text_becomes_harmless_and_stays_readable(hostile: str, harmless: str) -> None:
    assert inert(hostile) == harmless


@given(st.text(st.characters(codec=None, categories=None), max_size=60))
def test_nothing_a_terminal_obeys_is_ever_left(text: str) -> None:
    result = inert(text)
    result.encode("utf-8")
    left = {char for char in result if unicodedata.category(char) in ("Cc", "Cs")}
    assert left <= {"\n", "\t"}
    assert not {
        char for char in result if unicodedata.bidirectional(char) in ("LRO", "RLO", "LRI", "RLI", "FSI")
    }


@given(st.text(st.characters(codec=None, categories=None), max_size=40), st.integers(0, 40))
def test_pieces_give_what_the_whole_gives(text: str, cut: int) -> None:
    assert inert(text[:cut]) + inert(text[cut:]) == inert(text)
    assert inert(inert(text)) == inert(text)


def test_a_line_is_one_line_and_never_longer_than_its_limit() -> None:
    assert inert_line("  a\nb\t c\u2028d  ") == "a b c d"
    assert inert_line("x" * 1000, 10) == "x" * 9 + "…"
    assert len(inert_line("\n" * 10_000_000 + "x", 10)) <= 10
