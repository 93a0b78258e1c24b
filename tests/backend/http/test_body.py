"""Fields of a request's body: what is wrong is named, what is unknown is ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from starlette.requests import Request
from starlette.types import Message

from agent_tui.backend.http.body import Fields, read_body
from agent_tui.model.errors import Refused


def test_fields_are_read_by_type() -> None:
    fields = Fields({"a": "x", "n": 3, "f": False, "list": [{"a": "y"}], "unknown": object()})
    assert fields.text("a") == "x"
    assert fields.needed_text("a") == "x"
    assert fields.number("n") == 3
    assert fields.flag("f") is False
    entries = fields.objects("list")
    assert entries is not None
    assert entries[0].text("a") == "y"


def test_null_counts_as_left_out() -> None:
    for fields in (Fields({"a": None}), Fields({})):
        assert fields.text("a") is None
        assert fields.number("a") is None
        assert fields.flag("a") is None
        assert fields.objects("a") is None


@pytest.mark.parametrize(
    ("values", "read", "says"),
    [
        ({"a": 1}, lambda f: f.text("a"), "a must be a string"),
        ({}, lambda f: f.needed_text("a"), "a is missing"),
        ({"a": None}, lambda f: f.needed_text("a"), "a is missing"),
        ({"a": True}, lambda f: f.number("a"), "a must be a whole number"),
        ({"a": 10**400}, lambda f: f.decimal("a"), "a is too large"),
        ({"a": float("inf")}, lambda f: f.decimal("a"), "a is too large"),
        ({"a": 1.0}, lambda f: f.number("a"), "a must be a whole number"),
        ({"a": "1"}, lambda f: f.number("a"), "a must be a whole number"),
        ({"a": "yes"}, lambda f: f.flag("a"), "a must be true or false"),
        ({"a": 1}, lambda f: f.flag("a"), "a must be true or false"),
        ({"a": {}}, lambda f: f.objects("a"), "a must be a list"),
        ({"a": [{}, 1]}, lambda f: f.objects("a"), "a[1] must be an object"),
        ({"a": [{"b": 1}]}, lambda f: f.objects("a")[0].text("b"), "a[0].b must be a string"),
    ],
)
def test_a_wrong_type_is_a_422_that_names_the_field(
    values: dict[str, object], read: Callable[[Fields], object], says: str
) -> None:
    with pytest.raises(Refused) as refused:
        read(Fields(values))
    assert refused.value.status == 422
    assert refused.value.title == says


async def test_a_body_that_never_arrives_is_a_408() -> None:
    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    with pytest.raises(Refused) as refused:
        await read_body(request, seconds=0.01)
    assert refused.value.status == 408


async def test_a_client_that_leaves_while_it_sends_is_refused_and_nothing_more() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(Refused):
        await read_body(Request({"type": "http", "method": "POST", "headers": []}, receive))
