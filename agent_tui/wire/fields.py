"""Reads received fields tolerantly: ids may be numbers, ``null`` means missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from agent_tui.model import events as ev
from agent_tui.wire.content import dump, encodable

MAX_REASON_CHARACTERS = 200
MAX_NOTES = 100  # of one message
NO_REASON = "the server did not say what went wrong"  # followed by what a person can do about it
ADVICE = "try again, or look at the server's log"
_REASONS = ("content", "error", "message", "detail")  # where the reason is; the first is the protocol's


def _text(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, dict | list):  # content that is not JSON text yet, from an original server
        try:
            return dump(value)
        except RecursionError:  # what can be read may be nested too deep to be written
            raise ValueError("nested too deep") from None
    return encodable(value) if isinstance(value, str) and not value.isascii() else value


def _number(value: object) -> object:
    return 0 if value is None else value


Text = Annotated[str, BeforeValidator(_text)]
Number = Annotated[int, BeforeValidator(_number)]
Name = Annotated[Text, Field(min_length=1)]
Flag = Annotated[bool, BeforeValidator(lambda value: False if value is None else value)]


class Wire(BaseModel):
    """Received data; unknown fields are ignored."""

    # Each is built when it is first used: a command needs only a few of them.
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, defer_build=True)


W = TypeVar("W", bound=Wire)
R = TypeVar("R")


def field_named(name: str, type_: Any = Text, default: Any = ...) -> tuple[Any, Any]:
    """Return (type, default) of a field whose name on the wire is ``name``; without a default it is
    required.
    """
    return Annotated[type_, Field(alias=name)], default


def _names(value: object) -> object:
    """Take only names: a room is shown whatever its server sends as tools."""
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


# How a record's field is read, by its type.
_READ: Mapping[Any, Any] = {
    str: Text,
    int: Number,
    bool: Flag,
    float: Annotated[float, BeforeValidator(_number)],
    tuple[str, ...]: Annotated[tuple[str, ...], BeforeValidator(_names)],
    tuple[str, ...] | None: tuple[Text, ...] | None,
}


def fields_of(
    record: type, without: Sequence[str] = (), *, empties: bool = False, **others: Any
) -> type[Wire]:
    """Return the pydantic model of a ``record`` (a dataclass) on the wire: its fields, read tolerantly by
    their types, ``without`` those that are not sent.

    ``others`` are (type, default) of fields that are read in another way, or that only the wire has. A field
    without a default is required; with ``empties`` it is empty, or 0, if it is missing.
    """
    hints = get_type_hints(record)
    columns: dict[str, Any] = {}
    for field in fields(record):
        hint = hints[field.name]
        default = field.default
        if default is MISSING:
            default = hint() if empties and hint in _READ else ...
        if field.name not in without:
            columns[field.name] = _READ.get(hint, hint), default
    return create_model(record.__name__, __base__=Wire, **columns | others)


def reader(record: type[R], without: Sequence[str] = (), **others: Any) -> Callable[[object], R]:
    """Return a function that makes a ``record`` from JSON, read as ``fields_of`` says; it raises
    ``ValidationError``.
    """
    model = fields_of(record, without, **others)
    return lambda value: record(**vars(model.model_validate(value)))


_read_usage = reader(ev.Usage)
_read_note = reader(ev.Note)


def _usage(value: object) -> object:
    """Take only usage: other servers may use that name for anything."""
    try:
        return _read_usage(value)
    except ValidationError:
        return None


AnyUsage = Annotated[ev.Usage | None, BeforeValidator(_usage)]


def _notes(value: object) -> object:
    """Take only notes: a message is shown whatever its server notes about it."""
    found = []
    for item in value[:MAX_NOTES] if isinstance(value, list) else ():
        with suppress(ValidationError):
            found.append(_read_note(item))
    return tuple(found)


Notes = Annotated[tuple[ev.Note, ...], BeforeValidator(_notes)]


def reason(error: ValidationError) -> str:
    """Return in one short line what is invalid."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where or 'data'}: {first['msg']}"[:MAX_REASON_CHARACTERS]


def error_text(data: str) -> str:
    """Return the message of an ``error`` frame for a person; never empty, whatever its data is."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return encodable(data).strip() or f"{NO_REASON}: {ADVICE}"
    if text := _reason_in(value):
        return text
    is_empty = not (any(value.values()) if isinstance(value, Mapping) else value)
    only = "" if is_empty else f", only {encodable(data)[:MAX_REASON_CHARACTERS]}"
    return f"{NO_REASON}{only}: {ADVICE}"


def _reason_in(value: object, depth: int = 3) -> str:
    if isinstance(value, str):
        return encodable(value).strip()
    if not isinstance(value, Mapping) or not depth:
        return ""
    return next((text for name in _REASONS if (text := _reason_in(value.get(name), depth - 1))), "")


def parse(model: type[W], data: str) -> W:
    """Return ``data``, JSON text, as ``model``; raises ``ValidationError``."""
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        # pydantic's JSON reader refuses lone surrogates; servers that send them can still be read
        if error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            raise
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise error from None
        return model.model_validate(value)


def items_of(value: object, key: str) -> Iterable[Any]:
    """Return the items of ``{key: […]}`` or of a bare list; none of anything else."""
    if isinstance(value, Mapping):
        value = value.get(key)
    return value if isinstance(value, list) else []


def page_marks(value: object) -> tuple[str | None, int | None]:
    """Return (next, as_of) of a page of messages; a bare list has neither."""
    if not isinstance(value, Mapping):
        return None, None
    next_id, as_of = value.get("next"), value.get("as_of")
    return str(next_id) if next_id is not None else None, as_of if isinstance(as_of, int) else None
