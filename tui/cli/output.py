"""The output of commands: answers to stdout, everything else to stderr, without control characters."""

from __future__ import annotations

import fcntl
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, TextIO

from agent_tui.model.errors import not_written
from agent_tui.model.inert import inert, inert_json, inert_line
from tui.screens.localised import localised

OutputFormat = Literal["text", "json"]
PROGRAM = "agent-tui"
MAX_LINE_CHARACTERS = 1000
COLUMN_GAP = "  "
MIN_CROPPED_CELLS = 12

NOT_WRITTEN = "the output cannot be written"

on_lost: Callable[[OSError], object] | None = None  # called when stdout can no longer be written
_held: str | None = None  # the incomplete line, if only whole lines are written
has_begun = False  # whether anything was written to stdout
is_writing = False  # to a stream whose reader may be slow: meanwhile nothing else is done


def prepare_streams() -> None:
    """Make stdout and stderr accept every character, as ? if it does not fit; a closed one drops it. A stdin
    that is closed or cannot be read is empty.
    """
    if sys.stdin is None or fcntl.fcntl(sys.stdin, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
        sys.stdin = _nothing("r", os.O_RDONLY)
    sys.stdout = sys.stdout or _nothing("w", os.O_WRONLY)
    sys.stderr = sys.stderr or _nothing("w", os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _nothing(mode: Literal["r", "w"], flags: int) -> TextIO:
    """Return /dev/null, also for the program that ``serve`` becomes."""
    descriptor = os.open(os.devnull, flags)  # the closed one, as the lowest that is free
    os.set_inheritable(descriptor, True)
    return os.fdopen(descriptor, mode, encoding="utf-8")


def write(text: str) -> None:
    """Write ``text`` to stdout and flush it; if that fails, what follows is dropped and ``on_lost`` is
    called. Without that raises ``BrokenPipeError`` if nobody reads, ``DiskFull`` or ``ConfigError``.
    """
    global _held, has_begun
    has_begun = True
    if _held is not None:
        whole, newline, _held = (_held + text).rpartition("\n")
        if not newline:
            return
        text = whole + newline
    try:
        _write_now(sys.stdout, text)
    except OSError as error:
        drop()
        if on_lost is not None:
            on_lost(error)
        elif isinstance(error, BrokenPipeError):
            raise
        else:
            raise not_written(NOT_WRITTEN, error) from error


@contextmanager
def whole_lines() -> Iterator[None]:
    """While open: only whole lines are written, with progress lines among them."""
    global _held
    _held = ""
    try:
        yield
    finally:
        _held = None


def is_lines() -> bool:
    """Return whether only whole lines are written."""
    return _held is not None


def end_line() -> None:
    """Write the incomplete line, if there is one."""
    if _held:
        write("\n")


def _write_now(stream: TextIO, text: str) -> None:
    global is_writing
    is_writing = True
    try:
        stream.write(text)
        stream.flush()
    finally:
        is_writing = False


def drop(descriptor: int = 1) -> None:
    """Drop what is not written yet, so that the interpreter's last flush cannot fail."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)


def say(text: str) -> None:
    """Write an answer for a person, made safe, and end the line."""
    write(inert(text) + "\n")


def notice(text: str) -> None:
    """Write a line of progress to stderr, or to stdout among ``whole_lines``; never raises."""
    global _held
    if _held is not None:
        begun, _held = _held, ""
        write(inert_line(text, MAX_LINE_CHARACTERS) + "\n")
        _held = begun
        return
    _to_stderr(text)


def complain(text: object) -> None:
    """Write the one line about a failed command to stderr, also among ``whole_lines``; never raises."""
    _to_stderr(f"{PROGRAM}: {localised(text)}")


def _to_stderr(text: str) -> None:
    try:
        _write_now(sys.stderr, inert_line(text, MAX_LINE_CHARACTERS) + "\n")
    except OSError:
        drop(2)


def typed_line(question: str) -> str:
    """Ask on stderr and return the line that is typed, "" at the end of input. Not in an event loop: there
    ctrl+c would not end it.
    """
    try:
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        raise


def agrees(question: str) -> bool:
    """Ask on stderr, so that stdout is only for the answer; an empty line and the end of input mean no."""
    return typed_line(f"{inert_line(question, MAX_LINE_CHARACTERS)} [y/N] ").strip().lower() in ("y", "yes")


def choice(question: str, choices: Mapping[str, str]) -> str:
    """Ask on stderr until a letter of ``choices`` is typed, return it; the last one at the end of input."""
    offered = ", ".join(f"{letter} = {meaning}" for letter, meaning in choices.items())
    while True:
        line = typed_line(f"{inert_line(question, MAX_LINE_CHARACTERS)} {offered}: ")
        if not line:
            return list(choices)[-1]
        if (letter := line.strip().lower()[:1]) in choices:
            return letter


def write_json(value: object) -> None:
    """Write ``value`` as one line of JSON, in UTF-8 in any locale, and flush it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    write(json_line(value) + "\n")


def json_line(value: object) -> str:
    """Return ``value`` as one safe line of JSON: lone surrogates as U+FFFD, odd numbers as ``null``."""
    import json  # lazy, both: a help page does not need them

    from agent_tui.wire.content import encodable

    def dumped(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    try:
        text = dumped(value)
    except ValueError:
        text = dumped(json.loads(json.dumps(value), parse_constant=lambda _: None))
    return inert_json(encodable(text))


def table(rows: Sequence[Sequence[str]], *, width: int | None = None, crops: int = 0) -> str:
    """Return ``rows`` as lines with their columns aligned by terminal cells, made safe. If a line would be
    wider than ``width`` cells, column ``crops`` is cut, but not to nothing.
    """
    from rich.cells import cell_len, set_cell_size  # lazy: only the text views need it

    harmless = [[inert_line(cell, MAX_LINE_CHARACTERS) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*harmless, strict=True)]
    if width is not None and (over := sum(widths) + len(COLUMN_GAP) * (len(widths) - 1) - width) > 0:
        most = widths[crops] = max(min(widths[crops], MIN_CROPPED_CELLS), widths[crops] - over)
        for row in harmless:
            if cell_len(row[crops]) > most:
                row[crops] = set_cell_size(row[crops], most - 1).rstrip() + "…"
    lines = []
    for row in harmless:
        padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        lines.append(COLUMN_GAP.join(padded).rstrip())
    return "\n".join(lines)
