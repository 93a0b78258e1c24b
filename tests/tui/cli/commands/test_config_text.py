"""Tables written as TOML read back to what they were."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.cli.commands.config import toml_text

SAMPLE = """
theme = "dark"
when = 2026-01-02T03:04:05Z
day = 2026-01-02
[backends.work]
kind = "rooms"
url = "http://127.0.0.1:1"
timeout = 2.5
paths = { run = "/go/{room}" }
[backends."odd name"]
list = [1, "two", { three = 3 }]
[empty]
"""


def test_a_config_file_reads_back_the_same() -> None:
    table = tomllib.loads(SAMPLE)
    assert tomllib.loads(toml_text(table)) == table


def test_nothing_in_it_is_obeyed_by_a_terminal() -> None:
    text = toml_text({"name": "a\x1b[31m\x7f\x9b\u202e\U000e0041", "k\x1b": 1})
    assert all(char.isprintable() or char == "\n" for char in text)
    assert tomllib.loads(text) == {"name": "a\x1b[31m\x7f\x9b\u202e\U000e0041", "k\x1b": 1}


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = st.one_of(TEXT, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
TABLES = st.dictionaries(
    TEXT,
    st.recursive(
        PLAIN,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@given(TABLES)
def test_any_table_reads_back_the_same(table: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(table)) == table


@pytest.mark.parametrize("table", [{}, {"a": {}}, {"a": {"b": {}}}])
def test_empty_tables_are_kept(table: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(table)) == table
