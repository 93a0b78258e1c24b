"""Changes settings in the config file; every other line stays as it is.

The new text is parsed again. If it does not say exactly what was meant, the file stays as it was.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_tui.model.errors import ConfigError, not_written
from agent_tui.model.inert import inert_line
from agent_tui.paths import named_path
from agent_tui.whole_file import write_whole

Value = str | bool | int | float  # of a key in the config file


def add_table(path: Path, name: str, fields: Mapping[str, Value], *, is_private: bool = False) -> None:
    """Add a table ``[section.last]`` to the end of the config file.

    The file is replaced in one step and keeps its mode (``is_private``: only the owner can read it from then
    on); a link stays a link. Raises ``ConfigError`` if the file cannot be read, is not TOML, or cannot be
    written, and if the table exists already.
    """
    _edit(path, lambda old: with_table(old, name, fields), is_private=is_private)


def change_table(
    path: Path, name: str, fields: Mapping[str, Value | None], *, is_private: bool = False
) -> None:
    """Set ``fields`` in the table ``[name]`` of the config file, or before its first table if ``name`` is "";
    ``None`` removes a key.

    ``is_private`` and errors as for ``add_table``.
    """
    _edit(path, lambda old: with_values(old, name, fields), is_private=is_private)


def remove_table(path: Path, name: str) -> None:
    """Remove the table ``[section.last]`` from the config file; errors as for ``add_table``."""
    _edit(path, lambda old: without_table(old, name))


# --- the text ----------------------------------------------------------------------------------------------


def with_values(text: str, name: str, fields: Mapping[str, Value | None]) -> str:
    """Return TOML ``text`` with ``fields`` in its table ``[name]``, "" for the settings before the first
    table; ``None`` removes a key. A missing table is added.

    Raises ``TOMLDecodeError``, and ``ConfigError`` if the table is written in a way that cannot be changed.
    """
    import tomlkit  # lazy, as everywhere here: needed only to save a setting

    wanted = tomllib.loads(text)
    old = _table(wanted, name)
    if all(old.get(key) == value for key, value in fields.items()):
        return text
    given = {key: value for key, value in fields.items() if value is not None}
    if name and not _is_there(wanted, name):
        return with_table(text, name, given)
    document = tomlkit.parse(_with_line_end(text))
    table: Any = document
    for part in _parts(name):
        table = table[part]
    for key in old.keys() & fields.keys():
        if key not in given:
            del table[key]
        elif old[key] != given[key]:
            table[key] = given[key]
    # What is new comes last: tomlkit does not know its position.
    for key in (key for key in given if key not in old):
        _insert(table.value.body if name else document.body, key, given[key], _line_end(text))
    for key in fields:
        old.pop(key, None)
    old.update(given)
    lines = ", ".join(f"{key} = {tomlkit.item(value).as_string()}" for key, value in given.items())
    return _read_as(wanted, document.as_string(), name, f"write {lines}")


def with_table(text: str, name: str, fields: Mapping[str, Value]) -> str:
    """Return TOML ``text`` with the table at its end; raises ``TOMLDecodeError``, ``ConfigError``."""
    import tomlkit

    wanted = tomllib.loads(text)
    *outer, last = _parts(name)
    if (outer and not isinstance(wanted.setdefault(outer[0], {}), dict)) or _is_there(wanted, name):
        raise ConfigError(f"[{name}] cannot be added", "it already exists, or its section is not a table")
    _table(wanted, ".".join(outer))[last] = dict(fields)
    end = _line_end(text)
    added = tomlkit.dumps({outer[0]: {last: dict(fields)}} if outer else {last: dict(fields)})
    made = f"{_with_line_end(text)}{end if text.strip() else ''}{added.replace(chr(10), end)}"
    return _read_as(wanted, made, name, "add")


def without_table(text: str, name: str) -> str:
    """Return TOML ``text`` without its table ``[section.last]``; the comments around it stay.

    Raises ``TOMLDecodeError``, and ``ConfigError`` if the table cannot be removed.
    """
    import tomlkit
    from tomlkit.items import Table, Whitespace

    wanted = tomllib.loads(text)
    section, last = _parts(name)
    del wanted[section][last]
    if not wanted[section]:
        del wanted[section]
    document = tomlkit.parse(_with_line_end(text))
    for key, outer in document.body:
        if key is None or key.key != section or not isinstance(outer, Table):
            continue
        body = outer.value.body
        for place, (inner, table) in enumerate(body):
            if inner is not None and inner.key == last:
                body[place] = (None, Whitespace(_tail(table.value.body) if isinstance(table, Table) else ""))
    return _read_as(wanted, document.as_string(), name, "take it out")


def _insert(body: list[Any], key: str, value: Value, end: str) -> None:
    """Insert a line after a table's last setting, or before its first subtable and the comment above it."""
    import tomlkit
    from tomlkit.items import AoT, Comment, SingleKey, Table, Whitespace

    first = next((n for n, (_, item) in enumerate(body) if isinstance(item, (Table, AoT))), len(body))
    settings = [n for n, (named, _) in enumerate(body[:first]) if named is not None]
    place = settings[-1] + 1 if settings else first
    if not settings and first < len(body):
        while place and isinstance(body[place - 1][1], Comment):
            place -= 1
        while place and isinstance(body[place - 1][1], Whitespace):
            place -= 1
    line = tomlkit.item(value)
    line.trivia.trail = end
    body.insert(place, (SingleKey(key), line))
    if place + 1 < len(body) and not isinstance(body[place + 1][1], Whitespace):
        body.insert(place + 1, (None, Whitespace(end)))


def _tail(body: Sequence[Any]) -> str:
    """Return what follows the last setting of a table: comments that belong to the next one."""
    settings = [n for n, (key, _) in enumerate(body) if key is not None]
    tail = body[settings[-1] + 1 if settings else 0 :]
    return "".join(item.as_string() for _, item in tail).lstrip("\r\n")


def _read_as(wanted: Mapping[str, Any], made: str, name: str, advice: str) -> str:
    try:
        if tomllib.loads(made) == wanted:
            return made
    except tomllib.TOMLDecodeError:
        pass
    where = f"[{name}]" if name else "this setting"
    raise ConfigError(f"{where} is written in a way that cannot be changed here", f"{advice} by hand")


def _parts(name: str) -> list[str]:
    return name.split(".", 1) if name else []


def _table(table: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the table ``[name]``, or an empty one if there is none."""
    for part in _parts(name):
        inner = table.get(part)
        table = inner if isinstance(inner, dict) else {}
    return table


def _is_there(table: dict[str, Any], name: str) -> bool:
    *outer, last = _parts(name)
    return last in _table(table, ".".join(outer))


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _with_line_end(text: str) -> str:
    return text if not text or text.endswith("\n") else text + _line_end(text)


# --- the file ----------------------------------------------------------------------------------------------


def _edit(path: Path, change: Callable[[str], str], *, is_private: bool = False) -> None:
    path = named_path(path, "the file cannot be written", resolves=True)
    try:
        old = path.read_bytes().decode("utf-8-sig") if path.exists() else ""
        new = change(old)
        if new != old:
            write_whole(path, new.encode(), is_private=is_private)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML", inert_line(str(error))) from error
    except OSError as error:
        raise not_written(f"{path}: cannot be written", error) from error
