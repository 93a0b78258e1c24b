"""The one sanitiser and its one table."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model.inert import inert, inert_line, visible, visible_line

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


@pytest.mark.parametrize("blanks", [" ", "\n", "\t", "\u2028", " \n"])
def test_a_line_never_ends_before_its_words_without_saying_so(blanks: str) -> None:
    assert inert_line(f"echo harmless{blanks * 3000}; touch HIDDEN") == "echo harmless…"
    assert inert_line(blanks * 3000 + "touch HIDDEN") == "…"
    assert inert_line(f"echo harmless{blanks * 3000}") == "echo harmless"


# --- what a person is to allow ------------------------------------------------------------------------------


def test_runs_of_blanks_are_counted_and_what_follows_them_is_shown() -> None:
    hidden = f"echo harmless{' ' * 3000}; touch HIDDEN"
    assert visible(hidden) == visible_line(hidden) == "echo harmless␣×3000; touch HIDDEN"
    assert visible(f"if x:\n{' ' * 32}y\n\nz") == f"if x:\n{' ' * 32}y\n\nz"  # code stays as it is written
    assert visible(f"ls{chr(10) * 40}rm") == "ls\n⏎×40\nrm"
    assert visible("ls" + "\n  \t" * 40 + "\nrm") == "ls\n⏎×41\nrm"
    assert visible_line("ls -l   x\ny\tz") == "ls -l␣×3x⏎y⇥z"


@pytest.mark.parametrize(
    ("char", "shown"),
    [
        *(("\u200b", "<U+200B>"), ("\u202e", "<U+202E>"), ("\u00a0", "<U+00A0>"), ("\u3164", "<U+3164>")),
        *(
            ("\u2800", "<U+2800>"),
            ("\ufe0f", "<U+FE0F>"),
            ("\U000e0041", "<U+E0041>"),
            ("\u2028", "<U+2028>"),
        ),
        *(("\x1b", "␛"), ("\r", "␍"), ("\x7f", "␡"), ("\x9b", "<U+009B>"), ("\ud800", "<U+D800>")),
    ],
)
def test_what_has_no_ink_is_named(char: str, shown: str) -> None:
    assert visible(f"a{char}b") == visible_line(f"a{char}b") == f"a{shown}b"
    assert visible(f"a{char * 3000}b") == f"a{shown}×3000b"


def test_a_line_that_is_cut_says_how_long_it_is() -> None:
    assert visible_line("x" * 600, 10) == f"{'x' * 10}… (600 characters)"
    assert visible_line("x" * 10, 10) == "x" * 10


@given(st.text(st.characters(codec=None, categories=None) | st.sampled_from(" \n\t"), max_size=60))
def test_what_is_visible_stays_as_it_is_and_hides_nothing(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown == inert(shown)
    rest = iter(shown)
    assert all(char in rest for char in text if char.isalnum())  # in their order
    assert visible_line(visible_line(text)) == visible_line(text)


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("r" + "\u0336" * 400 + "m", "r<U+0336>×400m"),
        ("x" + "\u0300\u0301" * 5, "x" + "<U+0300><U+0301>" * 5),
        ("\u1100" + "\u1161" * 50, "\u1100<U+1161>×50"),
        ("👋" + "\U0001f3fb" * 30, "👋<U+1F3FB>×30"),
    ],
)
def test_letters_are_not_hidden_under_many_marks(hidden: str, shown: str) -> None:
    assert visible(hidden) == visible_line(hidden) == visible(shown) == shown


@pytest.mark.parametrize(
    "text",
    ["བསྒྲུབས་", "शक्ति", "e\u0301\u0302\u0303", "인이" * 9, "中。。。。。。。。。。", "─" * 20, "👋🏽😀" * 9],
)
def test_what_people_write_with_marks_stays(text: str) -> None:
    assert visible(text) == visible_line(text) == text
