"""One setting is written into the config file, and nothing else in it changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.config.file import load
from agent_tui.model.errors import ConfigError
from tui.setting import add_table, change_table, with_values

LINES = st.sampled_from(
    [
        "# a comment",
        "",
        "  ",
        "other = 3  # theme = 'x'",
        'text = """\ntheme = "no"\n[not.a.table]\n"""',
        "many = [\n  [1],\n  [2]\n]",
        "[a]",
        "[b.c]",
        'theme = "old" # mine',
        "'theme'='old'",
    ]
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'theme = "paper"\n'),
        ("# mine\n", '# mine\ntheme = "paper"\n'),
        ("a = 1", 'a = 1\ntheme = "paper"\n'),
        ("# top\n\n[x]\ny = 1\n", '# top\ntheme = "paper"\n\n[x]\ny = 1\n'),
        ("a = 1\n\n# about x\n[x]\n", 'a = 1\ntheme = "paper"\n\n# about x\n[x]\n'),
        ("  theme  =  'dark' # mine\n[x]\n", '  theme  =  "paper" # mine\n[x]\n'),
        ('[x]\ntheme = "q"\n', 'theme = "paper"\n\n[x]\ntheme = "q"\n'),
        ("a = 1\r\n[x]\r\n", 'a = 1\r\ntheme = "paper"\r\n\r\n[x]\r\n'),
        ('a = """\n[x]\n"""\n', 'a = """\n[x]\n"""\ntheme = "paper"\n'),
        ('theme = """\ndark"""  # mine\n', 'theme = "paper"  # mine\n'),
        ('theme = "paper"\n', 'theme = "paper"\n'),
    ],
)
def test_the_line_stands_before_the_first_table(before: str, after: str) -> None:
    assert with_values(before, "", {"theme": "paper"}) == after


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_whatever_the_file_says_only_that_setting_changes(lines: list[str], end: str) -> None:
    text = end.join("\n".join(lines).split("\n"))
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    made = with_values(text, "", {"theme": "paper"})
    assert tomllib.loads(made) == {**before, "theme": "paper"}
    kept = [line for line in text.splitlines() if line.strip() and "theme" not in line]
    assert [line for line in made.splitlines() if line.strip() and "theme" not in line] == kept


def test_a_link_to_the_file_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text('theme = "dark"\n', encoding="utf-8")
    link.symlink_to(real)
    change_table(link, "", {"theme": "light"})
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == 'theme = "light"\n'
    assert sorted(tmp_path.iterdir()) == [link, real]


def test_a_file_with_a_byte_order_mark_can_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xef\xbb\xbftheme = 'dark'\n")
    change_table(path, "", {"theme": "light"})
    assert load(path).theme == "light"


def test_what_cannot_be_written_or_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be written"):
        change_table(tmp_path / "file" / "config.toml", "", {"theme": "light"})
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name in ("circle", "x" * 300, "a\0b"):
        with pytest.raises(ConfigError, match="cannot be written"):
            change_table(tmp_path / name, "", {"theme": "light"})
    (tmp_path / "broken.toml").write_text("= 3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="not valid TOML"):
        change_table(tmp_path / "broken.toml", "", {"theme": "light"})
    assert (tmp_path / "broken.toml").read_text(encoding="utf-8") == "= 3\n"


def test_a_table_is_added_behind_everything_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('# mine\n[providers.one]  # stays\nkind = "ollama"', encoding="utf-8")
    add_table(path, "providers.two", {"kind": "google", "keyring": True})
    assert path.read_text(encoding="utf-8") == (
        '# mine\n[providers.one]  # stays\nkind = "ollama"\n'
        '\n[providers.two]\nkind = "google"\nkeyring = true\n'
    )


@pytest.mark.parametrize(
    "there", ["[providers.two]\n", 'providers = { one = { kind = "x" } }\n', "providers = 3\n"]
)
def test_a_table_that_cannot_be_added_leaves_the_file_as_it_was(there: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(there, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"cannot be (added|changed)"):
        add_table(path, "providers.two", {"kind": "google"})
    assert path.read_text(encoding="utf-8") == there
