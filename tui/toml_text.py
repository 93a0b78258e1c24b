"""Plain tables back to TOML, for showing the config file (the standard library only reads it)."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping

from agent_tui.model.inert import inert_json

_TAG = re.compile("[\U000e0000-\U000e007f]")  # hostile, and beyond the four digits of a JSON escape
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(table: Mapping[str, object]) -> str:
    """Return ``table``, as ``tomllib`` reads it, as TOML that reads back to the same values."""
    blocks = [block for block in _blocks(table, ()) if block]
    return "\n\n".join(blocks)


def _blocks(table: Mapping[str, object], path: tuple[str, ...]) -> list[str]:
    """Return the plain settings of ``table`` under their header, then each table in it."""
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [f"[{'.'.join(map(_key, path))}]"] if path and (plain or not tables) else []
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    blocks = ["\n".join(lines)]
    for key, value in tables.items():
        blocks += _blocks(value, (*path, key))
    return blocks


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # A JSON string is a TOML basic string, once nothing that TOML forbids or a terminal obeys is in it.
    dumped = json.dumps(text, ensure_ascii=False)
    return inert_json(_TAG.sub(lambda match: f"\\U{ord(match.group()):08x}", dumped))


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            return f"{{ {', '.join(f'{_key(key)} = {_value(entry)}' for key, entry in value.items())} }}"
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            return repr(value)  # int and float, inf and nan among them: written alike in both languages
