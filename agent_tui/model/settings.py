"""What a person may set. Each setting is declared once, as the type of its field in ``records``.

    max_cost: Annotated[float, Setting(most=1e9, unit="US dollars", option="--max-cost")] = 0.0

Request bodies, command-line options, keys of room files and fields of forms are derived from that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

Values = Mapping[str, Any]  # of settings, by their names on the wire; a missing one is not set


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The limits of a setting, where it can be set, and its names there.

    ``least`` and ``most`` limit a number of this ``unit``; ``zero`` says what 0 means if it is not a number.
    ``most`` also limits the characters of a text and the names in a list. ``choices`` are all possible texts,
    ``empty`` says why it cannot be empty, ``is_name``: blanks around it are ignored, ``is_color``: it is
    stored as ``#rrggbb``. ``noun`` is its name in a refusal. ``name`` (on the wire), ``type`` (str, int,
    float, bool, or tuple for names), ``nullable`` and a missing ``default`` are taken from the field.
    ``default`` is the value if none is given.
    """

    least: float = 0
    most: float = math.inf
    unit: str = ""
    zero: str = ""
    choices: tuple[str, ...] = ()
    empty: str = ""
    is_name: bool = False
    is_folder: bool = False
    is_color: bool = False
    noun: str = ""
    default: Any = None
    required: bool = False  # a new one needs it
    in_new: bool = True  # it can be set when something is made; any can be changed later
    while_running: bool = True  # it can be changed while an agent is speaking
    in_form: bool = True
    default_in_form: Any = None  # the form's initial value, if it is not the default
    option: str = ""  # on the command line; empty: none
    of_made: bool = True  # the option also changes an existing room before it runs
    key: str = ""  # in a room file, and as a field of a form; empty: as on the wire
    name: str = ""
    type: type = str
    nullable: bool = False

    @property
    def called(self) -> str:
        """Its name for a person."""
        return self.key or self.name

    @property
    def bounds(self) -> str:
        """The numbers it allows: "0 (none) to 1,000 US dollars"."""
        zero, unit = f" ({self.zero})" if self.zero else "", f" {self.unit}" if self.unit else ""
        return f"{self.least:,.0f}{zero} to {self.most:,.0f}{unit}"

    @property
    def wanted(self) -> str:
        """What to write if a number is needed."""
        if self.type is float:
            return f"must be {self.unit}, {self.least:,.0f} or more"
        return f"must be a whole number from {self.least:,.0f} to {self.most:,.0f}"


@cache
def settings_of(record: type) -> Mapping[str, Setting]:
    """Return the settings among the fields of ``record``, by their names, in the order of their
    declaration.
    """
    hints = get_type_hints(record, include_extras=True)
    settings = {}
    for field in fields(record):
        for setting in getattr(hints[field.name], "__metadata__", ()):
            if isinstance(setting, Setting):
                type_, nullable = _plain(get_args(hints[field.name])[0])
                default = field.default if setting.default is None else setting.default
                settings[field.name] = replace(
                    setting, name=field.name, type=type_, nullable=nullable, default=default
                )
    return MappingProxyType(settings)


def _plain(hint: Any) -> tuple[type, bool]:
    """Return the type without ``None``, and whether ``None`` is allowed."""
    if get_origin(hint) in (Union, UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        return _plain(inner[0])[0], True
    return get_origin(hint) or hint, False
