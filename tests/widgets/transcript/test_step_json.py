from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.transcript.json_text import GOES_ON, parse, readable

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9999, 9999) | st.floats(-1e6, 1e6) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def so_far(text: str) -> str:
    parsed = parse(text)
    assert parsed is not None
    return readable(parsed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "…"),
        ('{"pa', "…"),
        ('{"path"', "…"),
        ('{"path": ', "…"),
        ('{"path": "Makef', 'path: "Makef…'),
        ('{"path": "Makefile"', 'path: "Makefile"…'),
        ('{"path": "Makefile"}', 'path: "Makefile"'),
        ('{"path": "a", "limit": 1', 'path: "a"\nlimit: 1…'),
        ('{"path": "a", "deep": tr', 'path: "a"\ndeep: true…'),
        ('{"n": -', "n: 0…"),
        ('{"n": 1.', "n: 1…"),
        ('{"content": "one\\ntw', "content:\n  one\n  tw…"),
        ('{"content": "one\\', 'content: "one…'),
        ('{"content": "one\\u00', 'content: "one…'),
        ('{"content": "one\\ud83d', 'content: "one…'),
        ('{"content": "one\\ud83d\\ude', 'content: "one…'),
        ('{"content": "one\\\\u12', 'content: "one\\\\u12…'),
        ('{"list": [{"a": 1}, {"b', 'list: [\n  {\n    "a": 1\n  },\n  {…'),
        ("[1, 2", "[\n  1,\n  2…"),
        ('"say', '"say…'),
    ],
)
def test_arguments_can_be_read_while_they_are_written(text: str, expected: str) -> None:
    assert so_far(text) == expected


@given(VALUES, st.data())
def test_every_beginning_of_json_can_be_read(value: object, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(1, len(text)))
    parsed = parse(text[:cut])
    assert parsed is not None
    shown = readable(parsed)
    assert shown.endswith(GOES_ON) or parsed.is_whole
    assert "\n\n" not in shown or "\\n" in text[:cut] or "\n" in text[:cut]


@given(st.text(max_size=60))
def test_what_is_no_json_is_said_to_be_none_and_nothing_fails(text: str) -> None:
    parsed = parse(text)
    assert parsed is None or isinstance(readable(parsed), str)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 5_000, "[" * 500 + "]" * 500])
def test_what_is_nested_without_end_is_a_text_like_any_other(text: str) -> None:
    assert parse(text) is None


def test_a_long_text_among_the_arguments_grows_without_being_read_again_and_again() -> None:
    text = '{"path": "a", "content": "' + 'a line with \\"quotes\\" in it\\n' * 20_000
    assert so_far(text).count("\n") == 20_002
