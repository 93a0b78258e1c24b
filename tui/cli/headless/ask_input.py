"""The question of a command: words, files, and what comes through a pipe."""

from __future__ import annotations

import codecs
import os
import select
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from agent_tui.config.tool_rules import PATTERN_FORM, is_pattern
from agent_tui.model.errors import ConfigError
from agent_tui.model.images import attached_image
from agent_tui.model.inert import inert_line
from agent_tui.model.records import Attachment
from agent_tui.paths import named_path
from agent_tui.wire.content import dump, encodable
from tui.cli import output
from tui.screens.localised import localised

STDIN: Final = "-"  # a word that stands for stdin
STDIN_NAME: Final = "stdin"  # the name of the attachment that it becomes beside other words
MAX_ATTACHMENTS: Final = 20
MAX_BYTES: Final = 8 * 1024 * 1024  # of everything that is asked at once, as it is sent
SILENCE_SECONDS: Final = 3.0  # of a pipe, before stderr says what is waited for
WAITING: Final = "waiting for what is piped in; add < /dev/null when nothing is"
NOTHING: Final = ConfigError("nothing to ask", "give TEXT, a file with -f, or pipe something in")


@dataclass(frozen=True, slots=True)
class AskInput:
    content: str
    attachments: tuple[Attachment, ...] = ()
    files: tuple[Path, ...] = ()  # that are not read here


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The options of a question, ``None`` if not given. ``allow`` are patterns of calls, tools work in
    ``workspace``, ``server`` are the words that name the server. Raises ``ConfigError`` for an invalid
    pattern.
    """

    conversation: str | None = None
    model: str | None = None
    provider: str | None = None
    tools: tuple[str, ...] | None = None
    allow: tuple[str, ...] = ()
    thinking: bool | None = None
    workspace: Path | None = None
    chat_id: int | None = None  # of an agent socket
    strict: bool = False  # the demo model answers only if it is named
    server: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pattern in self.allow:
            if not is_pattern(pattern):
                raise ConfigError(f"--allow {inert_line(pattern)}: no call can fit that", PATTERN_FORM)

    @property
    def folder(self) -> str | None:
        """The absolute path of the folder in which tools work."""
        if self.workspace is None:
            return None
        return str(named_path(self.workspace, "--workspace", resolves=True))


def read_question(words: Sequence[str], files: Sequence[Path], reads_files: bool = True) -> AskInput:
    """Return the question in words, files and stdin; blocks until stdin is read, if something is piped in.
    Files that are not read are left to the caller, and what is piped in comes after the words.

    Raises ``ConfigError`` for anything unreadable, not text, too large or empty.
    """
    question = " ".join(word for word in words if word != STDIN).strip()
    attachments = [_attachment(file) for file in files] if reads_files else []
    piped = _read_stdin() if STDIN in words or _is_piped_in() else ""
    if piped.strip():
        if question and not reads_files:
            question = f"{question}\n\n{piped}"
        elif question:
            attachments.append(Attachment(STDIN_NAME, piped))
        else:
            question = piped
    if not question.strip() and not files and not attachments:
        raise NOTHING
    if (number := max(len(attachments), len(files))) > MAX_ATTACHMENTS:
        raise ConfigError(f"{number} files are too many", f"at most {MAX_ATTACHMENTS} files")
    asked = AskInput(encodable(question), tuple(attachments), () if reads_files else tuple(files))
    sent = dump([asked.content, [[attachment.name, attachment.content] for attachment in attachments]])
    if len(sent.encode()) > MAX_BYTES - 4096:  # the rest of the body is small
        raise ConfigError("this is too much for one question", f"at most {MAX_BYTES // 2**20} MiB")
    return asked


def _is_piped_in() -> bool:
    """Return whether stdin is a pipe or a file: neither a terminal nor /dev/null nor closed."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _read_stdin() -> str:
    if not sys.stdin.isatty() and not select.select([sys.stdin], [], [], SILENCE_SECONDS)[0]:
        output.notice(localised(WAITING))
    return _text(_read(sys.stdin.buffer, STDIN_NAME), STDIN_NAME)


def _attachment(path: Path) -> Attachment:
    shown = inert_line(str(path))
    try:
        with path.open("rb") as file:
            data = _read(file, shown)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{shown}: cannot be read", why or str(error)) from error
    name = encodable(str(path))
    return attached_image(name, data) or Attachment(name, _text(data, shown))


def _read(file: BinaryIO, origin: str) -> bytes:
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{origin} is too much", f"at most {MAX_BYTES // 2**20} MiB")
    return data


def _text(data: bytes, origin: str) -> str:
    """Return ``data`` as text: UTF-8, or UTF-16 with a mark; invalid bytes become U+FFFD."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        raise ConfigError(f"{origin} is not text", "only texts can be asked about")
    return data.decode("utf-8-sig", "replace")
