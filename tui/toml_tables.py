"""One table of a TOML text changed or taken away, and every other line of it left as a person wrote it.

Only what reads back as meant is taken: a line that looks right may stand within a text of several lines.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from agent_tui.model.errors import ConfigError

Value = str | bool | int | float  # of a key in the config file

_HEADER: Final = re.compile(r"(?m)^[ \t]*\[")
_SIMPLE: Final = r"""("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|true|false|[0-9._+-]+)"""
_LINE_END: Final = re.compile(r"\r?\n|\Z")


def with_changed_table(text: str, name: str, fields: Mapping[str, Value | None]) -> str:
    """Return TOML ``text`` with ``fields`` in its table ``[section.last]``; ``None`` takes a key away.

    Raises ``TOMLDecodeError``, and ``ConfigError`` where a line is written in a way that cannot be changed.
    """
    section, _, last = name.partition(".")
    complaint = f"[{name}] is written in a way that cannot be changed here"
    for key, value in fields.items():
        wanted = tomllib.loads(text)
        table = wanted.get(section, {}).get(last, {})
        if table.get(key) == value:
            continue
        if value is None:
            del table[key]
            tries = _without_key(text, name, key)
            advice = f"take {key} out of [{name}] by hand"
        else:
            written = json.dumps(value, ensure_ascii=False)
            is_there = key in table
            table[key] = value
            tries = (_with_value if is_there else _with_key)(text, name, key, written)
            advice = f"write {key} = {written} into [{name}] by hand"
        text = first_that_reads_as(wanted, tries, complaint, advice)
    return text


def without_table(text: str, name: str) -> str:
    """Return TOML ``text`` without its table ``[section.last]``; comments above it stay.

    Raises ``TOMLDecodeError``, and ``ConfigError`` where it is written in a way that cannot be taken out.
    """
    section, _, last = name.partition(".")
    wanted = tomllib.loads(text)
    wanted[section].pop(last)
    if not wanted[section]:
        del wanted[section]

    def tries() -> Iterator[str]:
        for start, body in _places(text, name):
            for end in _ends(text, body):
                above, below = text[:start], text[end:]
                yield (
                    above + below if below.strip() or not above.strip() else above.rstrip() + _line_end(text)
                )

    complaint = f"[{name}] is written in a way that cannot be removed here"
    return first_that_reads_as(wanted, tries(), complaint, "take it out of the file by hand")


def first_that_reads_as(wanted: Mapping[str, Any], tries: Iterable[str], complaint: str, advice: str) -> str:
    """Return the first of some texts that is TOML for ``wanted``; raises ``ConfigError`` where none is."""
    for tried in tries:
        try:
            if tomllib.loads(tried) == wanted:
                return tried
        except tomllib.TOMLDecodeError:
            continue
    raise ConfigError(complaint, advice)


def _places(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield where the header of the table may stand: its first character, the one behind its line."""
    quoted = (re.escape(part) for part in name.split(".", 1))
    dotted = r"[ \t]*[.][ \t]*".join(rf"""(?:{part}|"{part}"|'{part}')""" for part in quoted)
    header = re.compile(rf"(?m)^[ \t]*\[[ \t]*{dotted}[ \t]*\][ \t]*(?:#[^\n]*?)?\r?$")
    for found in header.finditer(text):
        end = _LINE_END.search(text, found.end())
        yield found.start(), end.end() if end else len(text)


def _ends(text: str, body: int) -> Iterator[int]:
    """Yield where the table may end, nearest first: before the next header and the comment above that."""
    for found in _HEADER.finditer(text, body):
        end = found.start()
        lines = [line for line in re.split(r"(?<=\n)", text[body:end]) if line]
        comment = itertools.takewhile(lambda line: line.lstrip().startswith("#"), reversed(lines))
        yield end - sum(map(len, comment))
    yield len(text)


def _lines_of(text: str, name: str, key: str, behind: str) -> Iterator[re.Match[str]]:
    line = re.compile(rf"""(?m)^([ \t]*(?:{key}|"{key}"|'{key}')[ \t]*=[ \t]*){behind}""")
    for _, body in _places(text, name):
        yield from line.finditer(text, body)


def _with_value(text: str, name: str, key: str, written: str) -> Iterator[str]:
    for found in _lines_of(text, name, key, _SIMPLE):
        yield f"{text[: found.end(1)]}{written}{text[found.end() :]}"


def _without_key(text: str, name: str, key: str) -> Iterator[str]:
    for found in _lines_of(text, name, key, rf"{_SIMPLE}[^\n]*(?:\n|\Z)"):
        yield text[: found.start()] + text[found.end() :]


def _with_key(text: str, name: str, key: str, written: str) -> Iterator[str]:
    """Yield the text with a line more at the end of the table, behind what stands there."""
    for _, body in _places(text, name):
        for end in _ends(text, body):
            place = body + len(text[body:end].rstrip())
            line_end = _LINE_END.search(text, place)
            place = line_end.end() if line_end and place > body else place
            above = text[:place] if text[:place].endswith("\n") else text[:place] + _line_end(text)
            yield f"{above}{key} = {written}{_line_end(text)}{text[place:]}"


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
