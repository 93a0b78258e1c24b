"""One setting written into the config file, and nothing else in it touched."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from agent_tui.model.errors import ConfigError, not_written
from agent_tui.model.inert import inert_line
from tui.toml_tables import Value as Value
from tui.toml_tables import first_that_reads_as, with_changed_table, without_table

_HEADER: Final = re.compile(r"\s*\[")
_COMMENT: Final = re.compile(r"\s*#")
_TEXT: Final = r"""("(?:[^"\\]|\\.)*"|'[^']*')"""
NEW_FILE_MODE: Final = 0o600  # it may come to hold keys


def keep_setting(path: Path, key: str, value: str) -> None:
    """Let ``key = "value"`` stand in the config file, before its first table; all other bytes stay.

    The file is replaced in one step and keeps its mode; a link stays one. Raises ``ConfigError`` when it
    cannot be read, is no TOML, or cannot be written.
    """
    _edit(path, lambda old: with_setting(old, key, value))


def _edit(path: Path, change: Callable[[str], str], *, is_private: bool = False) -> None:
    path = path.resolve()
    try:
        old = path.read_bytes().decode("utf-8") if path.exists() else ""
        new = change(old)
        if new != old:
            _replace(path, new.encode(), is_private=is_private)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML", inert_line(str(error))) from error
    except OSError as error:
        raise not_written(f"{path}: cannot be written", error) from error


def with_setting(text: str, key: str, value: str) -> str:
    """Return TOML ``text`` with ``key`` (a bare word) set at its top; raises ``TOMLDecodeError``.

    Only what reads back as the old settings and the new one is taken: a line that looks right may stand
    within a text of several lines.
    """
    before = tomllib.loads(text)
    wanted = {**before, key: value}
    if before == wanted:
        return text
    written = json.dumps(value, ensure_ascii=False)
    tries = _replaced(text, key, written) if key in before else _inserted(text, key, written)
    complaint = f"{key} is written in a way that cannot be changed here"
    return first_that_reads_as(wanted, tries, complaint, f"write {key} = {written}")


def add_table(path: Path, name: str, fields: Mapping[str, Value], *, is_private: bool = False) -> None:
    """Let a new table ``[name]`` (dotted bare words) stand at the end of the config file; the rest stays.

    With ``is_private`` nobody but its owner can read the file from then on. Raises ``ConfigError`` like
    ``keep_setting``, and where that table is there already.
    """
    _edit(path, lambda old: with_table(old, name, fields), is_private=is_private)


def change_table(
    path: Path, name: str, fields: Mapping[str, Value | None], *, is_private: bool = False
) -> None:
    """Let the table ``[name]`` of the config file say ``fields``; ``None`` takes a key away, the rest stays.

    ``is_private`` and errors as for ``add_table``.
    """
    _edit(path, lambda old: with_changed_table(old, name, fields), is_private=is_private)


def remove_table(path: Path, name: str) -> None:
    """Take the table ``[name]`` out of the config file; raises ``ConfigError`` like ``keep_setting``."""
    _edit(path, lambda old: without_table(old, name))


def with_table(text: str, name: str, fields: Mapping[str, Value]) -> str:
    """Return TOML ``text`` with the table behind it; raises ``TOMLDecodeError``, ``ConfigError``."""
    before = tomllib.loads(text)
    section, _, last = name.rpartition(".")
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    end = "\r\n" if "\r\n" in text else "\n"
    gap = end if text.strip() else ""
    above = text if not text or text.endswith("\n") else text + end
    tried = above + gap + end.join((f"[{name}]", *lines, ""))
    try:
        wanted = {**before, section: {**before.get(section, {}), last: dict(fields)}}
        if last not in before.get(section, {}) and tomllib.loads(tried) == wanted:
            return tried
    except (tomllib.TOMLDecodeError, TypeError):
        pass  # the section is written in one line, or is no table
    raise ConfigError(f"[{name}] cannot be added", "it is there already, or its section is in one line")


def _replaced(text: str, key: str, written: str) -> Iterator[str]:
    """Yield the text with each line changed that may be the one."""
    line = re.compile(rf"""(?m)^([ \t]*(?:{key}|"{key}"|'{key}')[ \t]*=[ \t]*){_TEXT}""")
    for found in line.finditer(text):
        yield f"{text[: found.end(1)]}{written}{text[found.end() :]}"


def _inserted(text: str, key: str, written: str) -> Iterator[str]:
    """Yield the text with a line more: before the first table and the comment above that, else first."""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = [line for line in re.split(r"(?<=\n)", text) if line]
    header = next((n for n, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    has_header = header < len(lines)
    while header and has_header and _COMMENT.match(lines[header - 1]):
        header -= 1
    above, below = "".join(lines[:header]), "".join(lines[header:])
    if above and not above.endswith("\n"):
        above += end
    gap = end if has_header else ""
    # Right above the empty line that parts the settings from the first table.
    trimmed = above.rstrip("\r\n")
    if has_header and trimmed:
        above, gap = trimmed + end, above[len(trimmed) + len(end) :] or gap
    yield f"{above}{key} = {written}{end}{gap}{below}"
    yield f"{key} = {written}{end}{text}"


def _replace(path: Path, content: bytes, *, is_private: bool) -> None:
    """Write a new file in one step, with the old one's mode, or so that its owner alone can read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    keeps_mode = path.exists() and not is_private
    mode = stat.S_IMODE(path.stat().st_mode) if keeps_mode else NEW_FILE_MODE
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)  # of a process that died, whose number is ours now
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, NEW_FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
