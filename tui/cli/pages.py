"""The help pages, and the table of commands in docs/commands.md, made from the declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from unicodedata import east_asian_width

from tui.cli.declared import COMMANDS, ROOT, Command, Option, children
from tui.cli.output import PROGRAM
from tui.language import CLI, translated
from widgets.row_ends import NO_END, NO_START

COLUMNS: Final = 80
INDENT: Final = 26  # the column of the options' texts
WIDE: Final = "\u1100"  # no character before it takes two cells
# The parts of a line: words with the blank after them; between Chinese letters a line may end, too, but for
# signs that stay with what is before or after them.
_CLOSING: Final = re.escape("".join(NO_START))
_OPENING: Final = "".join(sign for sign in NO_END if not sign.isascii())
_PIECE: Final = re.compile(
    rf"[{_OPENING}]*(?:[\u2e80-\u9fff]|[^\s\u2e80-\u9fff{_OPENING}]+)[{_CLOSING}]* *|[{_OPENING}]+ *"
)
_UNBROKEN: Final = re.compile(r"\[[^]]*]|GET /|\w+ = \w+|'[^']*\)'")  # not broken across lines

_SERVER: Final = """
Which server (at any place of the command line)
  --url URL               this one instead of your own         (AGENT_TUI_URL)
  --token-file FILE       a file with its token                (AGENT_TUI_TOKEN)
  --token TOKEN           its token; others can see it in the process list
  --backend NAME          [backends.NAME] in the config file; "embedded" is
                          your own backend
"""
_ROOT_OPTIONS: Final = """
  -h, --help              this page; every command has one
  --version               the version
  --install-completion [SHELL]
                          set up completion: bash, zsh or fish (default: the
                          shell you are in)
  --show-completion [SHELL]
                          print the script for it
"""
_EXIT_CODES: Final = """
Exit codes
  0  done
  1  internal error
  2  wrong usage or configuration
  3  paused or interrupted
  4  the room, agent or server reported an error, there is no such room or
     conversation, or the answer broke off
  5  cannot connect, or gave up reconnecting
  6  busy, token refused, or not allowed
"""


_HEAD: Final = "The terminal for conversations with agents."
_HOME: Final = "open the home screen"
_USAGE: Final = "Usage: "
TEXTS: Final = (_SERVER, _ROOT_OPTIONS, _EXIT_CODES, _HEAD, _HOME, _USAGE)  # besides those that are declared


def _in_words(text: str) -> str:
    """Return a text of the command line in the current language."""
    return translated(CLI, text) if text else ""


def help_page(path: str) -> str:
    """Return the help page of a command, "" for the program's."""
    if path == ROOT:
        words = _lines(
            (f"  {PROGRAM} {_command_head(group)}", _with_words(group)) for group in children(ROOT)
        )
        head = f"{_in_words(_USAGE)}{PROGRAM} [COMMAND]\n\n{_in_words(_HEAD)}\n\n"
        home = _entry(f"  {PROGRAM}", _in_words(_HOME))
        return "".join([head, home, words, *map(_in_words, (_ROOT_OPTIONS, _SERVER, _EXIT_CODES))])
    command = COMMANDS[path]
    blocks = [_usage(command), *_paragraphs(_in_words(command.about))]
    blocks += [_filled(_in_words(argument.text), "  ") for argument in command.arguments if argument.text]
    blocks.append(_lines((f"  {_command_head(child)}", _in_words(child.brief)) for child in children(path)))
    options = [option for option in command.options if option.text]
    blocks.append(_lines((_option_head(option), _in_words(option.text)) for option in options))
    blocks += _paragraphs(_in_words(command.after))
    page = "\n".join(block for block in blocks if block)
    return page + (_in_words(_SERVER) if command.has_server and not command.local else "")


def command_table() -> str:
    """Return a row for each command: its usage, and what it does."""
    rows = [
        f"| `{_escaped(line)}` | {_escaped(command.about.partition('. ')[0].rstrip('.'))} |"
        for command in COMMANDS.values()
        if command.runs
        for line in [" ".join((PROGRAM, command.path, *_parts(command)))]
    ]
    return "\n".join(["| command | does |", "|---|---|", *rows, ""])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _with_words(group: Command) -> str:
    """Return what a group of commands is for, and in a line below its commands."""
    words = " | ".join(command.path.rpartition(" ")[2] for command in children(group.path))
    return f"{_in_words(group.brief)}\n{words}".strip()


def _command_head(command: Command) -> str:
    """Return a command as on its group's page: its last word, and its arguments."""
    arguments = [] if command.own_parser or not command.runs else command.arguments
    return " ".join([command.path.rpartition(" ")[2], *(argument.shown for argument in arguments)])


def _parts(command: Command) -> list[str]:
    arguments = () if command.own_parser else command.arguments
    return [
        *(argument.shown for argument in arguments),
        *(option.shown for option in command.options),
    ]


def _usage(command: Command) -> str:
    head = f"{PROGRAM} {command.path} "
    lines = command.usage or (" ".join(_parts(command)),)
    usage = _in_words(_USAGE)
    starts = [usage, *[" " * _cells(usage)] * (len(lines) - 1)]
    whole = (line if line.startswith("COMMAND |") else head + line for line in lines)
    indent = " " * _cells(f"{usage}{head}")
    return "".join(_filled(line, start, indent) for start, line in zip(starts, whole, strict=True))


def _paragraphs(text: str) -> list[str]:
    return [f"{part}\n" if part.startswith(" ") else _filled(part) for part in text.split("\n\n") if part]


def _filled(text: str, start: str = "", indent: str | None = None) -> str:
    """Return ``text`` in lines that fit, the first after ``start``, the others after ``indent``."""
    indent = start if indent is None else indent
    lines, line = [], start
    for word in _PIECE.findall(_UNBROKEN.sub(lambda found: found.group().replace(" ", "\0"), text.strip())):
        if _cells(line + word.rstrip(" ")) > COLUMNS and line.strip():
            lines.append(line.rstrip(" "))
            line = indent
        line += word
    return "\n".join([*lines, line.rstrip(" "), ""]).replace("\0", " ")


def _cells(text: str) -> int:
    """Return how many cells a text takes: Chinese letters take two."""
    return sum(2 if character >= WIDE and east_asian_width(character) in "WF" else 1 for character in text)


def _option_head(option: Option) -> str:
    names = ", ".join(name for name in (option.short, option.name) if name)
    wants = "FORMAT" if option.offered and len(option.wants) > INDENT // 2 else option.wants
    return f"  {names} {wants}".rstrip()


def _lines(entries: Iterable[tuple[str, str]]) -> str:
    return "".join(_entry(head, text) for head, text in entries)


def _entry(head: str, text: str) -> str:
    """Return an entry's name with its text beside it."""
    shown = "".join(_filled(line, " " * INDENT) for line in text.split("\n"))
    fits = len(head) <= INDENT - 2
    return f"{head:<{INDENT}}{shown[INDENT:]}" if fits else f"{head}\n{shown}"
