"""One table of a TOML file, read with plain code; every error names the file and the dotted key."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_toml(path: Path, most_bytes: int, *, is_needed: bool = True) -> dict[str, Any]:
    """Return the tables of a file of at most ``most_bytes``; none if it is missing and not needed. A link
    that leads nowhere is an error, not a missing file. Only what is needed may be a pipe: the others are read
    more than once.

    Raises ``ConfigError`` in one line.
    """
    try:
        if not is_needed and path.is_fifo():
            raise ConfigError(f"{path}: cannot be read", "it is a pipe, not a file")
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError | NotADirectoryError) and not path.is_symlink()
        if is_missing and not is_needed:
            return {}
        raise ConfigError(f"{path}: cannot be read", error.strerror or str(error)) from error
    return parsed_toml(path, data, most_bytes)


def parsed_toml(path: Path, data: bytes, most_bytes: int) -> dict[str, Any]:
    """Return the tables of ``data``, the content of the file ``path``; errors as for ``read_toml``."""
    if len(data) > most_bytes:
        raise ConfigError(f"{path}: is too large", f"at most {most_bytes // 1024} KiB")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML", f"it is not UTF-8: byte {error.start + 1}") from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits are plain ValueErrors
        why = inert_line(str(error)) if isinstance(error, ValueError) else "nested too deeply"
        raise ConfigError(f"{path}: not valid TOML", why) from error


def is_address(url: str) -> bool:
    """Return whether ``url`` names a host, and a port that there can be."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class Table:
    """The ``values`` of the table ``where`` (dotted, with its last dot; empty for the whole file).

    ``warnings`` are lines about errors that stop nothing.
    """

    def __init__(
        self, path: Path, values: Mapping[str, Any], where: str = "", warnings: list[str] | None = None
    ) -> None:
        self.path = path
        self.values = values
        self.where = where
        self.warnings: list[str] = [] if warnings is None else warnings

    def place(self, key: str) -> str:
        """Return how errors name ``key``; if that is empty, the table."""
        name = f"{self.where}{key}".removesuffix(".")
        return f"{self.path}: {name}" if name else f"{self.path}"

    def fail(self, key: str, detail: str) -> ConfigError:
        """Return the error for ``key``; if that is empty, for the table."""
        return ConfigError(self.place(key), detail)

    def warn_of_unknown(self, known: Collection[str], complaint: str = "unknown setting, ignored") -> None:
        """Warn about each unknown key."""
        self.warnings += [
            f"{self.where}{inert_line(key, 60)}: {complaint}" for key in self.values if key not in known
        ]

    def refuse_unknown(self, known: Collection[str]) -> None:
        """Raise ``ConfigError`` for an unknown key."""
        for key in self.values:
            if key not in known:
                raise self.fail(inert_line(key, 60), f"unknown setting; known: {', '.join(sorted(known))}")

    def inner(self, key: str, values: Mapping[str, Any]) -> Table:
        """Return the table ``key`` in this one, with the same warnings."""
        return Table(self.path, values, f"{self.where}{key}.", self.warnings)

    def tables(self, key: str) -> list[tuple[str, Table]]:
        """Return the tables ``[key.NAME]`` with their names."""
        section = self.values.get(key, {})
        if not isinstance(section, Mapping):
            raise self.fail(key, f"must be tables like [{key}.NAME]")
        for name, entry in section.items():
            if not isinstance(entry, Mapping):
                raise self.fail(f"{key}.{name}", f"must be a table: [{key}.{name}]")
        return [(name, self.inner(f"{key}.{name}", entry)) for name, entry in section.items()]

    # --- values ----------------------------------------------------------------------------------------

    def text(self, key: str, most: float | None = None, *, needed: bool = False) -> str:
        """Return a text of at most so many characters."""
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self.fail(key, "must be a string")
        if most is not None and len(value) > most:
            raise self.fail(key, f"has {len(value):,} of at most {most:,} characters")
        if needed and not value:
            raise self.fail(key, "is missing")
        return value

    def number(self, key: str, most: float = sys.float_info.max) -> float:
        """Return a finite number above 0."""
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise self.fail(key, "must be a number above 0")
        if value > most:
            raise self.fail(key, "is too large")
        return float(value)

    def url(self, key: str, *schemes: str) -> str:
        """Return an address that begins with http, https or one of ``schemes``."""
        url = self.text(key, needed=True)
        if not url.startswith(("http://", "https://", *schemes)):
            raise self.fail(key, "must begin with http:// or https://")
        if not is_address(url):
            raise self.fail(key, "is not an address like http://127.0.0.1:8000")
        return url

    def values_for(self, record: type, without: Collection[str] = ()) -> dict[str, Any]:
        """Return the values for the fields of a ``record`` whose default is a text, a number, true or false,
        or a tuple of texts; an empty text counts as missing.
        """
        values: dict[str, Any] = {}
        for field in fields(record):
            if field.name in without or field.name not in self.values or field.default is MISSING:
                continue
            value = self.values[field.name]
            match field.default:
                case str():
                    if not _is_text(value):
                        raise self.fail(field.name, "must be a string")
                    if value:
                        values[field.name] = value
                case bool():
                    if not isinstance(value, bool):
                        raise self.fail(field.name, "must be true or false")
                    values[field.name] = value
                case float():
                    values[field.name] = self.number(field.name)
                case tuple():
                    if not isinstance(value, list) or not all(map(_is_text, value)):
                        raise self.fail(field.name, "must be a list of strings")
                    values[field.name] = tuple(value)
                case _:
                    pass
        return values

    def check_variables(self, key: str, names: Iterable[str]) -> None:
        """Raise ``ConfigError`` if one of the ``names`` of ``key`` is not a valid name of an environment
        variable.
        """
        for name in names:
            if not _VARIABLE.fullmatch(name):
                raise self.fail(key, f"{name!r} cannot name an environment variable")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value
