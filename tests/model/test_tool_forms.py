"""Forms of MCP servers: which are understood, which values fit, what a person's text means."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.tools.mcp.forms import MAX_MESSAGE_CHARACTERS, form_of
from agent_tui.backend.tools.tool import ToolError
from agent_tui.model.events import Step, ToolAsk
from agent_tui.model.tool_forms import (
    FormField,
    FormOption,
    ToolForm,
    bounds,
    default_text,
    parse_typed,
    problems,
)
from agent_tui.wire.chat_message import stored_steps
from agent_tui.wire.steps_encode import calls_fields, step_fields

FISH = (FormOption("f1", "Tuna"), FormOption("f2", "Trout"))


def one(**schema: Any) -> FormField:
    """Return the field that a server's schema is understood as."""
    return form_of("s", "?", {"type": "object", "properties": {"a": schema}}).fields[0]


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"type": "string"}, FormField("a", title="a")),
        (
            {
                "type": "string",
                "title": "T",
                "description": "D",
                "minLength": 2,
                "maxLength": 3,
                "default": "xy",
            },
            FormField("a", "text", "T", "D", default="xy", minimum=2, maximum=3),
        ),
        ({"type": "string", "format": "uri"}, FormField("a", title="a", format="uri")),
        ({"type": "number", "minimum": 0.5}, FormField("a", "number", "a", minimum=0.5)),
        ({"type": "integer", "maximum": 9, "default": 10}, FormField("a", "integer", "a", maximum=9)),
        ({"type": "boolean", "default": False}, FormField("a", "boolean", "a", default=False)),
        (
            {"type": "string", "enum": ["x", "y"], "default": "y"},
            FormField("a", "choice", "a", default="y", options=(FormOption("x", "x"), FormOption("y", "y"))),
        ),
        (
            {"type": "string", "enum": ["f1", "f2"], "enumNames": ["Tuna", "Trout"]},
            FormField("a", "choice", "a", options=FISH),
        ),
        (
            {
                "type": "string",
                "oneOf": [{"const": "f1", "title": "Tuna"}, {"const": "f2", "title": "Trout"}],
            },
            FormField("a", "choice", "a", options=FISH),
        ),
        (
            {
                "type": "array",
                "minItems": 1,
                "maxItems": 2,
                "default": ["f1"],
                "items": {"anyOf": [{"const": "f1", "title": "Tuna"}, {"const": "f2", "title": "Trout"}]},
            },
            FormField("a", "choices", "a", default=("f1",), minimum=1, maximum=2, options=FISH),
        ),
        (
            {"type": "array", "items": {"type": "string", "enum": ["f1"]}},
            FormField("a", "choices", "a", options=(FormOption("f1", "f1"),)),
        ),
        (
            {"type": "string", "title": "\x1b[2J\u202e", "default": "\u202e"},
            FormField("a", title="␛[2J<U+202E>"),
        ),
    ],
)
def test_a_schema_is_understood(schema: dict[str, Any], field: FormField) -> None:
    assert one(**schema) == field


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": ["a"]},
        {"properties": {"a": 1}},
        {"properties": {"a": {}}},
        {"properties": {"a": {"type": ["string", "null"]}}},
        {"properties": {"a": {"type": "object"}}},
        {"properties": {"a": {"type": "array"}}},
        {"properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"properties": {"a": {"type": "string", "enum": [1]}}},
        {"properties": {"a": {"type": "string", "enum": [""]}}},
        {"properties": {"a": {"type": "string", "enum": ["x" * 201]}}},
        {"properties": {"a": {"type": "string", "enum": [str(n) for n in range(201)]}}},
        {"properties": {"x" * 201: {"type": "string"}}},
        {"properties": {"\ud800": {"type": "string"}}},
        {"properties": {str(n): {"type": "string"} for n in range(51)}},
    ],
)
def test_what_cannot_be_shown_whole_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        form_of("s", "?", schema)


def test_a_long_message_is_cut_and_says_so() -> None:
    form = form_of("s", "x" * 5_000, {})
    assert form.message == "x" * MAX_MESSAGE_CHARACTERS + "… (cut: 5,000 characters)"


@pytest.mark.parametrize(
    ("field", "value", "wrong"),
    [
        (FormField("a", format="email"), "a@b.c", ""),
        (FormField("a", format="email"), "a b@c", "it has to be an e-mail address"),
        (FormField("a", format="uri"), "https://example.org", ""),
        (FormField("a", format="uri"), "example.org", "it has to be an address like https://example.org"),
        (FormField("a", format="date"), "2025-02-28", ""),
        (FormField("a", format="date"), "2025-02-30", "it has to be a date like 2025-01-31"),
        (FormField("a", format="date-time"), "2025-02-28T10:00:00+01:00", ""),
        (
            FormField("a", format="date-time"),
            "2025-02-28T10:00:00",
            "it has to be a date, time and zone like 2025-01-31T14:30:00Z",
        ),
        (FormField("a", minimum=2), "x", "it needs at least 2 characters and has 1"),
        (FormField("a"), 1, "it has to be text"),
        (FormField("a"), "x" * 2_001, "it may have at most 2,000 characters"),
        (FormField("a"), "\ud800", "it has characters that cannot be sent"),
        (FormField("a", "integer", minimum=1, maximum=3), 4, "it has to be from 1 to 3"),
        (FormField("a", "integer"), 1.5, "it has to be a whole number"),
        (FormField("a", "integer"), True, "it has to be a whole number"),
        (FormField("a", "number"), float("nan"), "it has to be a number"),
        (FormField("a", "number"), 10**400, "it has to be a number"),
        (FormField("a", "boolean"), "yes", "it has to be yes or no"),
        (FormField("a", "choice", options=FISH), "Tuna", "it has to be one of the choices"),
        (FormField("a", "choices", options=FISH), ["f1", "f1"], "each choice can be made only once"),
        (FormField("a", "choices", options=FISH, maximum=1), ["f1", "f2"], "choose at most 1 of them"),
        (FormField("a", "choices", options=FISH), ["f3"], "each has to be one of the choices"),
        (FormField("a", "choices", options=FISH), "f1", "each has to be one of the choices"),
    ],
)
def test_a_value_fits_or_what_is_wrong_is_said(field: FormField, value: object, wrong: str) -> None:
    assert problems(ToolForm("s", "?", (field,)), {"a": value}).get("a", "") == wrong


def test_what_is_needed_must_be_there_and_nothing_else() -> None:
    form = ToolForm("s", "?", (FormField("a", required=True), FormField("b")))
    assert problems(form, {"c": 1}) == {"c": "the form has no such field", "a": "a value is needed"}
    assert problems(form, {"a": "x"}) == {}


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (FormField("a"), "", None),
        (FormField("a"), " x ", " x "),
        (FormField("a", "integer"), " 7 ", 7),
        (FormField("a", "integer"), "7.5", "7.5"),
        (FormField("a", "integer"), " ", None),
        (FormField("a", "number"), "7.0", 7),
        (FormField("a", "number"), "1e999", float("inf")),
        (FormField("a", "number"), "x", "x"),
        (FormField("a", "boolean"), "false", False),
        (FormField("a", "boolean"), "", None),
        (FormField("a", "choices", options=FISH), "[]", None),
        (FormField("a", "choices", options=FISH, required=True), "[]", []),
    ],
)
def test_what_a_text_means(field: FormField, text: str, value: object) -> None:
    assert parse_typed(field, text) == value


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (FormField("a"), ""),
        (FormField("a", format="odd"), ""),
        (FormField("a", minimum=3, maximum=3), "3 characters"),
        (FormField("a", "number"), "a number"),
        (FormField("a", "integer", minimum=1_000), "a whole number, at least 1,000"),
        (FormField("a", "choices", options=FISH, minimum=1, maximum=2), "from 1 to 2 of them"),
    ],
)
def test_what_a_value_has_to_be_is_said(field: FormField, said: str) -> None:
    assert bounds(field) == said


@pytest.mark.parametrize(
    ("words", "is_secret"),
    [
        ("your password", True),
        ("apiKey", True),
        ("Enter the access_token", True),
        ("PIN code", True),
        ("Kennwort", True),
        ("Your opinion of tokens", False),
    ],
)
def test_what_looks_like_a_secret_is_found_in_any_words_of_a_form(words: str, is_secret: bool) -> None:
    for form in (ToolForm("s", words), *(ToolForm("s", "", (one,)) for one in _named(words))):
        assert form.asks_for_secret is is_secret, form


def _named(words: str) -> list[FormField]:
    return [FormField(words), FormField("a", "text", words), FormField("a", description=words)]


NUMBERS = st.one_of(st.integers(-(10**14), 10**14), st.floats(allow_nan=False, allow_infinity=False))


@given(NUMBERS)
def test_a_default_number_comes_back_as_it_was(number: float) -> None:
    field = FormField("a", "number", default=number)
    assert parse_typed(field, default_text(field)) == number


def test_a_form_that_waits_is_the_same_behind_the_wire() -> None:
    fields = (
        one(type="string", default="x", minLength=1),
        one(type="boolean", default=True),
        one(type="integer", default=3),
        one(type="number", default=0.5),
        one(type="array", default=["f1"], items={"type": "string", "enum": ["f1", "f2"]}),
    )
    ask = ToolAsk("s asks you for 5 values", form=ToolForm("s", "m", fields))
    step = Step("step-0", 0, "tool_call", name="t", arguments="{}", id_ref="c", status="asks", ask=ask)
    told = json.loads(json.dumps({"steps": [step_fields(step)], "calls": calls_fields([step])}))
    assert stored_steps(json.dumps({"steps": told["steps"]}), told["calls"]) == (step,)
    assert (
        "form" not in calls_fields([Step("s", type="tool_call", status="asks", ask=ToolAsk("x"))])["s"]["ask"]
    )
