"""Our own full form of events, as the log stores them: every event, independent of any dialect.

An event is the name of its class in snake case and one JSON object with its fields; a field with its default
value is left out. Dialects (``wire.rooms``, ``wire.chat`` …) are computed from events when the log is read.
Written and read without pydantic, since the backend starts without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from agent_tui.model import events as ev
from agent_tui.wire.content import dump, encodable

MAX_REASON_CHARACTERS = 200
OF_DIALECT = "of_dialect"  # marks a field of a record that each dialect computes

# The functions that turn a field's value into JSON, and back; the second raises ``_Unfit``.
_Out = Callable[[Any], Any]
_In = Callable[[Any], Any]


R = TypeVar("R")

_AS_SENT = '"as_sent":['


class _Unfit(ValueError):
    """A value that does not fit its field."""


def event_name(class_: type) -> str:
    """Return the name of this class's events in the log."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_.__name__).lower()


# Events that clients make for themselves, which are never sent.
_LOCAL = frozenset({ev.LinkChanged, ev.RoomLoaded, ev.RoomChanged, ev.ConversationLoaded})
_CLASSES: Mapping[str, type] = {
    event_name(class_): class_ for class_ in get_args(ev.Event) if class_ not in _LOCAL
}
_NAMES: Mapping[type, str] = {class_: name for name, class_ in _CLASSES.items()}


def encode(event: ev.Event) -> tuple[str, str]:
    """Return (name, data) of ``event``; raises ``ValueError`` for events that are never sent."""
    name = _NAMES.get(type(event))
    if name is None:
        raise ValueError(f"{type(event).__name__} does not stand in a log")
    write: _Out = _object_out(type(event))  # type: ignore[arg-type]  # a class is hashable
    return name, dump(write(event))


def decode(name: str, data: str) -> ev.Event:
    """Return the event of one frame; whatever does not fit becomes ``Unknown``. Never raises."""
    class_ = _CLASSES.get(name)
    if class_ is None:
        return ev.Unknown(name, data, "no such event")
    try:
        event: ev.Event = _object_in(class_)(json.loads(data))
    except (ValueError, RecursionError) as error:
        return ev.Unknown(name, data, str(error)[:MAX_REASON_CHARACTERS])
    return event


def read_record(record: type[R], value: object) -> R:
    """Return a ``record`` from its JSON object, as made by ``asdict``; raises ``ValueError``."""
    read: R = _object_in(record)(value)  # type: ignore[arg-type]  # a class is hashable
    return read


def keep_sent(data: str, name: str, sent: str) -> str:
    """Add to an event's ``data`` the frame that an earlier version sent for it, if no dialect would write the
    same today: replayed frames are byte for byte what they were.
    """
    return dump({**json.loads(data), "as_sent": [name, sent]})


def as_sent(data: str) -> tuple[str, str] | None:
    """Return the (name, data) that ``keep_sent`` kept; ``None`` for almost all events."""
    if _AS_SENT not in data:  # with its quotes it cannot be inside a text
        return None
    name, sent = json.loads(data)["as_sent"]
    return name, sent


@cache
def _object_out(class_: type) -> _Out:
    hints = get_type_hints(class_)
    writers = [
        (field.name, field.default, _value_out(hints[field.name]))
        for field in fields(class_)
        if not field.metadata.get(OF_DIALECT)
    ]

    def out(value: Any) -> dict[str, Any]:
        values = {}
        for name, default, convert in writers:
            value_given = getattr(value, name)
            if default is MISSING or value_given != default:
                values[name] = value_given if convert is None else convert(value_given)
        return values

    return out


def _value_out(hint: Any) -> _Out | None:
    if is_dataclass(hint):
        return _object_out(hint)  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        convert = _value_out(get_args(hint)[0])
        return list if convert is None else lambda values: [convert(value) for value in values]
    if get_origin(hint) in (Union, UnionType):
        outs = {_type_of(part): _value_out(part) for part in get_args(hint)}
        if any(convert is not None for convert in outs.values()):

            def out(value: Any) -> Any:
                convert = outs.get(type(value))
                return value if convert is None else convert(value)

            return out
    return None


def _type_of(hint: Any) -> type:
    origin: type = get_origin(hint) or hint
    return origin


@cache
def _object_in(class_: type) -> _In:
    hints = get_type_hints(class_)
    own = [field for field in fields(class_) if not field.metadata.get(OF_DIALECT)]
    readers = {field.name: _value_in(hints[field.name]) for field in own}
    required = [field.name for field in own if field.default is MISSING]
    of_dialects = {field.name: "" for field in fields(class_) if field.metadata.get(OF_DIALECT)}

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _Unfit(f"{class_.__name__}: no object")
        values: dict[str, Any] = dict(of_dialects)
        for name, convert in readers.items():
            if name in value:
                try:
                    values[name] = convert(value[name])
                except _Unfit as error:
                    raise _Unfit(f"{name}: {error}") from None
        for name in required:
            if name not in values:
                raise _Unfit(f"{name}: missing")
        return class_(**values)

    return read


def _value_in(hint: Any) -> _In:
    if is_dataclass(hint):
        return _object_in(hint)  # type: ignore[arg-type]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _tuple_in(_value_in(arguments[0]))
    if origin is Literal:
        return lambda value: value if value in arguments else _refuse(f"not one of {arguments}")
    if origin in (Union, UnionType):
        return _union_in(arguments)
    readers: Mapping[Any, _In] = {str: _text, bool: _flag, int: _whole, float: _number, NoneType: _nothing}
    return readers[hint]


def _tuple_in(convert: _In) -> _In:
    return lambda value: tuple(map(convert, value)) if type(value) is list else _refuse("no list")


def _union_in(hints: tuple[Any, ...]) -> _In:
    readers = [_value_in(hint) for hint in hints]

    def read(value: Any) -> Any:
        for reader in readers:
            try:
                return reader(value)
            except _Unfit as error:
                refused = error
        raise refused

    return read


def _text(value: Any) -> str:
    return encodable(value) if type(value) is str else _refuse("no text")


def _flag(value: Any) -> bool:
    return value if type(value) is bool else _refuse("not true or false")


def _whole(value: Any) -> int:
    return value if type(value) is int else _refuse("no whole number")


def _number(value: Any) -> float:
    return value if type(value) is int or type(value) is float else _refuse("no number")


def _nothing(value: Any) -> None:
    if value is not None:
        _refuse("not null")


def _refuse(reason: str) -> NoReturn:
    raise _Unfit(reason)
