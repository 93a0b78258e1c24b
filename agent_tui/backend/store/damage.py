"""Rows that this program cannot have written: with a value of another type, a list that is not one, or an
unknown state.

SQLite stores any value, whatever a column is declared as. A damaged conversation is read as far as possible,
so that it can be seen and deleted and the others are not affected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from agent_tui.model.errors import StoreError

_PLAIN = {str, int, float, bool, NoneType}
_ONE_OF = {
    "status": {"idle", "running", "paused", "completed", "error"},
    "execution_mode": {"sequential", "parallel"},
}


def damaged_field(row_class: type, values: Mapping[str, Any]) -> str:
    """Return the name of the first of ``values`` that does not fit ``row_class``; "" if all do."""
    types = _types(row_class)
    for name, value in values.items():
        if not isinstance(value, types.get(name, object)) or value not in _ONE_OF.get(name, (value,)):
            return name
    return ""


def damaged_place(row_class: type, values: Sequence[Any]) -> str:
    """Return ``damaged_field`` of values in the order of the fields of ``row_class``, which are all plain."""
    for value, (name, types) in zip(values, _types(row_class).items(), strict=False):
        if not isinstance(value, types):
            return name
    return ""


def intact(row_class: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of ``values`` that fit ``row_class``."""
    return {name: value for name, value in values.items() if not damaged_field(row_class, {name: value})}


def names_in(stored: str) -> tuple[str, ...]:
    """Return a stored list of names; raises ``ValueError`` for any other text."""
    names = json.loads(stored)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("not a list of names")
    return tuple(names)


def damaged(kind: str, id_: str, field: str) -> StoreError:
    """Return the error for a reader of a damaged row."""
    detail = f"Its field {field} cannot be read. Delete it, or put a backup of the database in its place."
    return StoreError(f"The {kind} {id_[:100]} is damaged", detail)


@cache
def _types(row_class: type) -> dict[str, tuple[type, ...]]:
    """Return the types of the plain fields of ``row_class``; a whole number also fits a float."""
    plain: dict[str, tuple[type, ...]] = {}
    for name, hint in get_type_hints(row_class).items():
        types = set(get_args(hint) or (hint,))
        if types <= _PLAIN:
            plain[name] = tuple(types | {int} if float in types else types)
    return plain
