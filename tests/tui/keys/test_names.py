"""Keys as people write them, and as screens name them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.keys.names import character_of, key_name, parse, shown_all


@pytest.mark.parametrize(
    ("written", "keys", "name"),
    [
        ("?", ["question_mark"], "?"),
        ("question_mark", ["question_mark"], "?"),
        ("/", ["slash"], "/"),
        ("slash", ["slash"], "/"),
        ("-", ["minus"], "-"),
        (",", ["comma"], ","),
        ("ctrl+,", ["ctrl+comma"], "ctrl+,"),
        ("+", ["plus"], "+"),
        ("ctrl++", ["ctrl+plus"], "ctrl++"),
        ("N", ["N"], "N"),
        ("shift+n", ["N"], "N"),
        ("Я", ["Я"], "Я"),
        ("shift+я", ["Я"], "Я"),
        ("ctrl+S", ["ctrl+s"], "ctrl+s"),
        ("Control+s", ["ctrl+s"], "ctrl+s"),
        ("alt+x", ["alt+x"], "alt+x"),
        ("alt+X", ["alt+shift+x"], "alt+shift+x"),
        ("shift+alt+x", ["alt+shift+x"], "alt+shift+x"),
        ("esc", ["escape"], "esc"),
        ("pgup", ["pageup"], "page up"),
        ("Page Up", ["pageup"], "page up"),
        ("page_down", ["pagedown"], "page down"),
        ("space", ["space"], "space"),
        ("return", ["enter"], "enter"),
        ("del", ["delete"], "delete"),
        ("left", ["left"], "←"),
        ("→", ["right"], "→"),
        ("shift+tab", ["shift+tab"], "shift+tab"),
        ("backtab", ["shift+tab"], "shift+tab"),
        ("shift+ctrl+left", ["ctrl+shift+left"], "ctrl+shift+←"),
        ("F5", ["f5"], "f5"),
        ("cmd+k", ["super+k"], "super+k"),
        ("ctrl+space", ["ctrl+@", "ctrl+space"], "ctrl+space"),
        ("ctrl+x, f5", ["ctrl+x", "f5"], "ctrl+x, f5"),
        ("ctrl++,f5", ["ctrl+plus", "f5"], "ctrl++, f5"),
        ("f5,F5", ["f5"], "f5"),
        ("", [], ""),
        ("  ", [], ""),
    ],
)
def test_a_key_is_read_as_people_write_it_and_shown_in_plain_words(
    written: str, keys: list[str], name: str
) -> None:
    assert parse(written) == (tuple(keys), ())
    assert shown_all(keys) == name


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("ctrl+zz", "no key named 'ctrl+zz'"),
        ("f25", "no key named 'f25'"),
        ("hold+x", "no key named 'hold+x'"),
        ("\x1b", "no key named"),
        ("\u202e", "no key named"),
        ("ctrl+", "no key named 'ctrl+'"),
        ("x" * 500, "no key named"),
        ("x,,y", "between two commas"),
        ("ctrl+i", "write tab"),
        ("ctrl+m", "write enter"),
        ("ctrl+[", "write escape"),
        ("shift+/", "write the character"),
        ("shift+1", "write the character"),
    ],
)
def test_what_is_no_key_is_one_line_that_says_what_to_write(written: str, says: str) -> None:
    keys, (problem,) = parse(written)
    assert says in problem
    assert problem.isprintable()
    assert len(problem) < 200
    assert set(keys) <= {"x", "y"}


@given(st.text(max_size=12) | st.text(st.characters(max_codepoint=126), max_size=12))
def test_whatever_is_written_is_keys_or_lines_and_keys_read_back_as_themselves(written: str) -> None:
    keys, problems = parse(written)
    assert all(line.isprintable() for line in problems)
    for key in keys:
        assert key_name(key).isprintable()
        assert not written.isascii() or key in parse(key)[0]


def test_a_terminal_without_unicode_gets_words_for_arrows() -> None:
    assert key_name("ctrl+left", ascii_only=True) == "ctrl+left"
    assert key_name("pageup", ascii_only=True) == "page up"


def test_keys_that_type_something_are_known() -> None:
    assert [character_of(key) for key in ("x", "N", "slash", "space", "f5", "ctrl+x", "tab", "enter")] == [
        *("x", "N", "/", " ", "", "", "", "")
    ]
