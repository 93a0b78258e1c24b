"""A table of the config file is changed or taken away, and no other line changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.model.errors import ConfigError
from tui.setting import change_table, remove_table, with_values, without_table

FILE = """\
# mine
theme = "dark"

# the one at home
[providers.local]  # stays
kind = "ollama"     # as it is
model = 'small'
note = \"\"\"
[providers.local]
model = "no"
\"\"\"

# the other one
[providers.other]
kind = "google"
model = "big"
"""
LINES = st.sampled_from(
    [
        "# a comment",
        "",
        "[a]",
        "[p.x]",
        '[ p . "x" ] # mine',
        'kind = "openai" # that',
        "model='m'",
        "keyring = true",
        'text = """\n[p.x]\nkind = "no"\n"""',
        "many = [\n  [1],\n  [2]\n]",
        "[b.c]",
    ]
)


def test_a_key_is_changed_one_added_and_one_taken_away_where_they_stand() -> None:
    made = with_values(
        FILE, "providers.local", {"kind": "openai", "model": None, "base_url": "http://h/v1", "keyring": True}
    )
    assert made == (
        FILE.replace('"ollama"     # as', '"openai"     # as')
        .replace("model = 'small'\n", "")
        .replace('no"\n"""\n', 'no"\n"""\nbase_url = "http://h/v1"\nkeyring = true\n')
    )


def test_what_says_so_already_changes_nothing() -> None:
    assert with_values(FILE, "providers.local", {"kind": "ollama", "api_key": None}) == FILE


def test_a_table_goes_and_the_comments_of_the_others_stay() -> None:
    made = without_table(FILE, "providers.local")
    assert made == (
        '# mine\ntheme = "dark"\n\n# the one at home\n# the other one\n'
        '[providers.other]\nkind = "google"\nmodel = "big"\n'
    )
    assert without_table(made, "providers.other") == (
        '# mine\ntheme = "dark"\n\n# the one at home\n# the other one\n'
    )


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('[providers]\nlocal = { kind = "ollama" } # m\n', '[providers]\nlocal = { kind = "google" } # m\n'),
        ('providers.local.kind = "ollama"\n', 'providers.local.kind = "google"\n'),
    ],
)
def test_a_table_written_in_another_way_stays_written_so(text: str, changed: str) -> None:
    assert with_values(text, "providers.local", {"kind": "google"}) == changed


def test_what_cannot_be_taken_out_is_left_to_the_person() -> None:
    with pytest.raises(ConfigError, match="by hand"):
        without_table('providers = { local = { kind = "ollama" } }\n', "providers.local")


def test_a_table_that_is_missing_is_added() -> None:
    assert with_values("a = 1\n", "voice", {"input": "mic", "output": None}) == (
        'a = 1\n\n[voice]\ninput = "mic"\n'
    )


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_whatever_the_file_says_only_that_table_changes(lines: list[str], end: str, ends: bool) -> None:
    text = end.join("\n".join(lines).split("\n")) + (end if ends else "")
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    if "x" not in before.get("p", {}):
        return
    fields: dict[str, str | bool | None] = {
        "kind": "google",
        "model": None,
        "keyring": True,
        "url": "http://h",
    }
    made = with_values(text, "p.x", fields)
    table = {**before["p"]["x"], **fields}
    assert tomllib.loads(made) == {
        **before, "p": {"x": {key: value for key, value in table.items() if value is not None}}
    }  # fmt: skip
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        line for line in made.splitlines() if line.startswith("#")
    ]
    gone = without_table(text, "p.x")
    assert tomllib.loads(gone) == {key: value for key, value in before.items() if key != "p"}


def test_both_are_done_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(FILE, encoding="utf-8")
    change_table(path, "providers.other", {"model": "small"})
    remove_table(path, "providers.local")
    assert tomllib.loads(path.read_text(encoding="utf-8")) == {
        "theme": "dark",
        "providers": {"other": {"kind": "google", "model": "small"}},
    }
