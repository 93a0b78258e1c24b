"""Fields of a request's body: what is wrong is named, what is unknown is ignored."""

from __future__ import annotations

import pytest

from agent_tui.backend.body import Fields
from agent_tui.errors import Refused


def test_fields_are_read_by_type() -> None:
    fields = Fields({"a": "x", "n": 3, "f": False, "c": "two", "list": [{"a": "y"}], "unknown": object()})
    assert fields.text("a", 10) == "x"
    assert fields.needed_text("a", 10) == "x"
    assert fields.number("n", 1, 3) == 3
    assert fields.flag("f") is False
    assert fields.choice("c", ("one", "two")) == "two"
    entries = fields.objects("list", 1)
    assert entries is not None
    assert entries[0].text("a", 1) == "y"


def test_null_counts_as_left_out() -> None:
    fields = Fields({"a": None})
    assert fields.text("a", 1, least=1) is None
    assert fields.number("a", 1, 1) is None
    assert fields.flag("a") is None
    assert fields.choice("a", ("x",)) is None
    assert fields.objects("a", 1) is None


def test_half_of_a_surrogate_pair_becomes_a_replacement_character() -> None:
    assert Fields({"a": "x\ud800"}).text("a", 10) == "x\ufffd"


@pytest.mark.parametrize(
    ("values", "read", "says"),
    [
        ({"a": 1}, lambda f: f.text("a", 10), "a must be a string"),
        ({"a": "xx"}, lambda f: f.text("a", 1), "a must have at most 1 characters"),
        ({"a": " \n"}, lambda f: f.needed_text("a", 10), "a must not be empty"),
        ({}, lambda f: f.needed_text("a", 10), "a is missing"),
        ({"a": None}, lambda f: f.needed_text("a", 10), "a is missing"),
        ({"a": True}, lambda f: f.number("a", 1, 3), "a must be a whole number"),
        ({"a": 1.0}, lambda f: f.number("a", 1, 3), "a must be a whole number"),
        ({"a": "1"}, lambda f: f.number("a", 1, 3), "a must be a whole number"),
        ({"a": 0}, lambda f: f.number("a", 1, 3), "a must be 1 to 3"),
        ({"a": 10**30}, lambda f: f.number("a", 1, 3), "a must be 1 to 3"),
        ({"a": "yes"}, lambda f: f.flag("a"), "a must be true or false"),
        ({"a": 1}, lambda f: f.flag("a"), "a must be true or false"),
        ({"a": []}, lambda f: f.choice("a", ("x", "y")), "a must be one of: x, y"),
        ({"a": {}}, lambda f: f.objects("a", 1), "a must be a list"),
        ({"a": [{}, {}]}, lambda f: f.objects("a", 1), "a must have at most 1 entries"),
        ({"a": [{}, 1]}, lambda f: f.objects("a", 2), "a[1] must be an object"),
        ({"a": [{"b": 1}]}, lambda f: f.objects("a", 1)[0].text("b", 1), "a[0].b must be a string"),
    ],
)
def test_a_wrong_field_is_a_422_that_names_it(values: dict[str, object], read: object, says: str) -> None:
    assert callable(read)
    with pytest.raises(Refused) as refused:
        read(Fields(values))
    assert refused.value.status == 422
    assert refused.value.title == says
