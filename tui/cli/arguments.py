"""The command line before any heavy import: the server it names, and whether it asks for a screen.

The options that name a server may be given at every level, so they are removed here, once, and the commands
of ``tui.cli.tree`` get the rest. Plain code, because it runs before the first frame.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from agent_tui.model.errors import ConfigError

PLAIN = "--plain"
HELP_OPTIONS = ("--help", "-h")
CONNECTION_OPTIONS = ("--url", "--token", "--backend", "--token-file")
COMPLETION_OPTIONS = ("--show-completion", "--install-completion")  # of the first help page
COMPLETION_VARIABLE = "_AGENT_TUI_COMPLETE"  # set by a shell that asks for completions


class Connection(NamedTuple):
    """The server options, ``None`` if not given; others can have read ``token``."""

    url: str | None = None
    token: str | None = None
    backend: str | None = None
    token_file: str | None = None

    @property
    def again(self) -> tuple[str, ...]:
        """The words that name the same server in another command, without a token."""
        named = (("--url", self.url), ("--backend", self.backend), ("--token-file", self.token_file))
        return tuple(word for option, value in named if value for word in (option, value))

    def __repr__(self) -> str:  # keeps the token out of logs and tracebacks
        return f"Connection(url={self.url!r}, backend={self.backend!r})"


class ScreenArguments(NamedTuple):
    """The screen that a command line asks for: the list of rooms, the one that ``room`` names, a chat ("" is
    the newest, with ``is_new`` a new one), ``home``, or ``setup`` of a provider.

    ``is_plain``: as lines, without a screen.
    """

    room: str | None = None
    chat: str | None = None
    is_new: bool = False
    setup: bool = False
    home: bool = False
    is_plain: bool = False


def take_connection(arguments: Sequence[str]) -> tuple[Connection, list[str]]:
    """Return the connection options and the other words; raises ``ConfigError`` where a value is missing.

    Nothing is taken after ``--``, nor after the word ``serve``, whose options are its own.
    """
    found: dict[str, str] = {}
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, has_value, value = word.partition("=")
        if name in CONNECTION_OPTIONS:
            value = value if has_value else next(words, "")
            if not value or (not has_value and value.startswith("--")):
                raise ConfigError(f"{name} needs a value")
            found[name.removeprefix("--").replace("-", "_")] = value
            continue
        rest.append(word)
        if word == "--" or rest == ["serve"]:
            rest.extend(words)
        elif word.startswith("-"):
            from tui.cli.declared import takes_value  # lazy, all three: a screen's line has few options

            rest.extend(islice(words, 1) if takes_value(word) else ())
    return Connection(**found), rest


def hide_token(token: str) -> None:
    """Overwrite ``--token`` where others see this command line (Linux); they may have read it before."""
    from pathlib import Path  # lazy: a help page begins sooner without it

    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        begin, end = int(fields[45]), int(fields[46])  # proc_pid_stat(5): arg_start, arg_end
        if not 0 < begin < end:
            return
        import ctypes  # lazy: it takes as long as the rest of a command line, and is needed only here

        seen = ctypes.string_at(begin, end - begin)
        for found in re.finditer(rb"--token[=\0](" + re.escape(token.encode()) + rb")\0", seen):
            ctypes.memset(begin + found.start(1), ord("*"), len(found[1]))


def screen_arguments(rest: Sequence[str]) -> ScreenArguments | None:
    """Return the screen that the command line asks for, or ``None`` for every other command line."""
    names_from = rest.index("--") if "--" in rest else len(rest)
    if PLAIN in rest[1:names_from]:
        asked = screen_arguments([*(word for word in rest[:names_from] if word != PLAIN), *rest[names_from:]])
        return None if asked is None else asked._replace(is_plain=True)
    match list(rest):
        case ["rooms", word] if _is_command(f"rooms {word}"):
            return None
        case []:
            return ScreenArguments(home=True)
        case ["rooms"]:
            return ScreenArguments()
        case ["rooms", "--", room] if room:
            return ScreenArguments(room)
        case ["rooms", room] if room and not room.startswith("-"):
            return ScreenArguments(room)
        case ["chat"]:
            return ScreenArguments(chat="")
        case ["chat", "--new"]:
            return ScreenArguments(chat="", is_new=True)
        case ["chat", "--", chat] if chat.strip():
            return ScreenArguments(chat=chat)
        case ["chat", chat] if chat.strip() and not chat.startswith("-"):
            return ScreenArguments(chat=chat)
        case _:
            return None


def help_page(rest: Sequence[str]) -> str | None:
    """Return the name of the requested help page ("" is the first one), or ``None``."""
    if not rest or rest[-1] not in HELP_OPTIONS:
        return None
    page = " ".join(rest[:-1])
    if page in COMPLETION_OPTIONS:
        return ""
    return page if len(rest) < 4 and (not page or _is_command(page)) else None


def _is_command(path: str) -> bool:
    from tui.cli.declared import COMMANDS

    return path in COMMANDS
