"""A form that an MCP server asks a person to fill in. Nothing in it is trusted.

Source: MCP specification 2025-11-25, "Elicitation". Texts for people are inert and visibly cut; what is sent
back to the server (names, choices) stays as it is, and a form that cannot be shown completely is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agent_tui.backend.tools.tool import ToolError
from agent_tui.model.inert import visible, visible_line
from agent_tui.model.tool_forms import MAX_NUMBER, FieldType, FormField, FormOption, ToolForm, problems
from agent_tui.wire.content import encodable

MAX_FIELDS: Final = 50
MAX_OPTIONS: Final = 200
MAX_MESSAGE_CHARACTERS: Final = 2_000
MAX_LABEL_CHARACTERS: Final = 120
MAX_DESCRIPTION_CHARACTERS: Final = 400
MAX_NAME_CHARACTERS: Final = 200  # of a field or the value of a choice
_TYPES: Final[Mapping[str, FieldType]] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "choices",
}


def form_of(server: str, message: str, schema: Mapping[str, Any]) -> ToolForm:
    """Return the form; raises ``ToolError`` with the reason if it cannot be shown to a person."""
    properties = schema.get("properties") or {}
    if not isinstance(properties, Mapping):
        raise ToolError("its form is not one of MCP")
    if len(properties) > MAX_FIELDS:
        raise ToolError(f"its form has more than {MAX_FIELDS} fields")
    needed = schema.get("required") or ()
    required = {name for name in needed if isinstance(name, str)} if isinstance(needed, list) else set()
    fields = tuple(_field(name, value, name in required) for name, value in properties.items())
    return ToolForm(server, _cut(visible(message), MAX_MESSAGE_CHARACTERS), fields)


def _field(name: str, schema: Any, is_required: bool) -> FormField:
    _check_exact(name)
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or not isinstance(kind, str) or kind not in _TYPES:
        raise ToolError(f"the field {visible_line(name, 60)} of its form is of a kind that is not supported")
    type_ = _TYPES[kind]
    options: tuple[FormOption, ...] = ()
    if type_ == "choices":
        items = schema.get("items")
        options = _options(items if isinstance(items, Mapping) else {})
    elif type_ == "text" and (options := _options(schema)):
        type_ = "choice"
    if type_ == "choices" and not options:
        raise ToolError(f"the field {visible_line(name, 60)} of its form has nothing to choose from")
    low, high = {"text": ("minLength", "maxLength"), "choices": ("minItems", "maxItems")}.get(
        type_, ("minimum", "maximum")
    )
    has_bounds = type_ in ("text", "choices", "number", "integer")
    field = FormField(
        name,
        type_,
        _line(schema.get("title"), MAX_LABEL_CHARACTERS) or visible_line(name, MAX_LABEL_CHARACTERS),
        _line(schema.get("description"), MAX_DESCRIPTION_CHARACTERS),
        is_required,
        format=_line(schema.get("format"), 20) if type_ == "text" else "",
        minimum=_bound(schema, low) if has_bounds else None,
        maximum=_bound(schema, high) if has_bounds else None,
        options=options,
    )
    return _with_default(field, schema.get("default"))


def _with_default(field: FormField, default: Any) -> FormField:
    """Return the field with its default, if that is a valid value."""
    if default is None or problems(ToolForm("", "", (field,)), {field.name: default}):
        return field
    if isinstance(default, str) and field.type == "text" and visible_line(default, len(default)) != default:
        return field  # a person would send what they do not see
    return replace(field, default=tuple(default) if isinstance(default, list) else default)


def _options(schema: Mapping[str, Any]) -> tuple[FormOption, ...]:
    """Return the choices: MCP has ``enum`` (with ``enumNames``), ``oneOf`` and ``anyOf`` for them."""
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        pairs = [(item.get("const"), item.get("title")) for item in titled if isinstance(item, Mapping)]
    else:
        values, names = schema.get("enum"), schema.get("enumNames")
        values = values if isinstance(values, list) else []
        names = names if isinstance(names, list) and len(names) == len(values) else [None] * len(values)
        pairs = list(zip(values, names, strict=True))
    if len(pairs) > MAX_OPTIONS:
        raise ToolError(f"its form has a field with more than {MAX_OPTIONS} choices")
    options: dict[str, FormOption] = {}
    for value, title in pairs:
        if not isinstance(value, str) or not value:
            raise ToolError("its form has a choice that is not text")
        _check_exact(value)
        shown = _line(title, MAX_LABEL_CHARACTERS) or visible_line(value, MAX_LABEL_CHARACTERS)
        options.setdefault(value, FormOption(value, shown))
    return tuple(options.values())


def _check_exact(text: str) -> None:
    """Raise ``ToolError`` for a text for the server that could not be stored or sent."""
    if len(text) > MAX_NAME_CHARACTERS or encodable(text) != text:
        raise ToolError("its form has a name or a choice that is too long or no text")


def _bound(schema: Mapping[str, Any], name: str) -> float | None:
    value = schema.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER
    return value if is_number else None


def _line(text: Any, most: int) -> str:
    return encodable(visible_line(text.strip(), most)) if isinstance(text, str) else ""


def _cut(text: str, most: int) -> str:
    text = encodable(text.strip())
    return text if len(text) <= most else f"{text[:most]}… (cut: {len(text):,} characters)"
