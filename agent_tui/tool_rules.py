"""Patterns of calls that a person allowed: ``tool`` or ``tool(glob over its main argument)``.

In a glob ``*`` is any text, ``?`` one character, ``[abc]`` one of these. For a command they stand for
words only: nothing that a shell would run, redirect or substitute hides in a ``*``, so ``make -n *``
never allows ``make -n x; rm -rf /``. What a pattern spells out itself is taken as it is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

COMMAND_TOOL = "run_command"
_PATH_TOOLS = ("write_file", "patch_file", "read_file", "list_files")
_MAIN_ARGUMENT: Mapping[str, str] = {
    COMMAND_TOOL: "command",
    "fetch_url": "url",
    **dict.fromkeys(_PATH_TOOLS, "path"),
}
MAX_WILDCARDS = 4
MAX_PATTERN_CHARACTERS = 10_000
PATTERN_FORM = (
    "a pattern is NAME, for files, pages and commands NAME(GLOB), for the tools of an MCP server SERVER__*"
)

# What a wildcard never stands for. In a command: all that ends, joins, redirects or substitutes commands,
# starts a subshell, expands, or is not to be seen.
_NOT_IN_COMMANDS = r"[^;&|<>$`(){}\\!\x00-\x1f\x7f-\x9f\u2028\u2029]"
_NOT_IN_OTHERS = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]"
_SHELL_SIGNS = re.compile(r"[;&|<>$`(){}\\!\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Commands that only look, whatever else they are given. Of all others only the very same line is suggested:
# "git clean -f x" must not become "git clean -f *", nor "uv run x" "uv run *"; "git log" can write a file.
_ONLY_LOOKS = re.compile(r"(?:ls|make -n|git status) ")
# Of the tools of an MCP server the name behind "SERVER__" may be a glob.
_TOOL = r"[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{1,32}?__[A-Za-z0-9_*?-]{1,64}"
_PATTERN = re.compile(rf"(?P<tool>{_TOOL})(?:\((?P<glob>.*)\))?", re.DOTALL)


def pattern_for(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the pattern to suggest for calls like this one: for a command of three words or more all but
    the last, where that is harmless; for a file its folder; for a page its site; else the tool itself.
    Empty for a call that no pattern can describe.
    """
    main = _main_argument(tool, arguments)
    if main is None:  # never the tool as a whole where its calls differ: that would allow them all
        return "" if tool in _MAIN_ARGUMENT else tool
    if tool == COMMAND_TOOL:
        return f"{tool}({_for_command(main)})"
    if tool in _PATH_TOOLS:
        folder, _, _ = main.rpartition("/")
        return f"{tool}({_escaped(folder)}/*)" if folder else f"{tool}({_escaped(main)})"
    parts = urlsplit(main)
    return f"{tool}({_escaped(f'{parts.scheme}://{parts.netloc}')}/*)"


def is_pattern(text: str) -> bool:
    """Return whether ``text`` can cover a call at all."""
    parsed = _parsed(text)
    if parsed is None or parsed["glob"] is None:
        return parsed is not None
    return parsed["tool"] in _MAIN_ARGUMENT and _compiled(parsed["glob"], False) is not None


def allows(pattern: str, tool: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether a rule covers this call; a pattern that is none covers nothing."""
    parsed = _parsed(pattern)
    if parsed is None or not fnmatchcase(tool, parsed["tool"]):
        return False
    if parsed["glob"] is None:
        return True
    main = _main_argument(tool, arguments)
    if main is None:
        return False
    glob = _compiled(parsed["glob"], tool == COMMAND_TOOL)
    return glob is not None and glob.fullmatch(main) is not None


def speaks_of(pattern: str, tool: str) -> bool:
    """Return whether a rule covers any call of the tool."""
    parsed = _parsed(pattern)
    return parsed is not None and fnmatchcase(tool, parsed["tool"])


def _parsed(pattern: str) -> re.Match[str] | None:
    return _PATTERN.fullmatch(pattern) if len(pattern) <= MAX_PATTERN_CHARACTERS else None


def _main_argument(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the argument that patterns speak of, in its one spelling; None where there is none."""
    value = arguments.get(_MAIN_ARGUMENT.get(tool, ""))
    if not isinstance(value, str) or not value or len(value) > MAX_PATTERN_CHARACTERS:
        return None
    if tool == COMMAND_TOOL:
        return value
    if tool in _PATH_TOOLS:
        path = posixpath.normpath(value)
        return None if path.startswith("..") else path
    return _one_spelling(value)


def _one_spelling(url: str) -> str | None:
    """Return the URL with its host in lower case and no way up; None for one that can be read two ways."""
    if "\\" in url or any(char.isspace() for char in url):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    lowered = parts.path.lower()
    if not parts.netloc or "@" in parts.netloc or "%2e" in lowered or "%2f" in lowered or "%5c" in lowered:
        return None
    if any(part in (".", "..") for part in parts.path.split("/")):
        return None
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path or '/'}{query}"


def _for_command(command: str) -> str:
    words = command.split(" ")
    is_plain = "" not in words and not _SHELL_SIGNS.search(command) and not set(command) & set("\"'#=")
    if len(words) < 3 or not is_plain or not _ONLY_LOOKS.match(command):
        return _escaped(command)
    return f"{_escaped(' '.join(words[:-1]))} *"


def _escaped(text: str) -> str:
    return re.sub(r"[*?\[]", r"[\g<0>]", text)


@lru_cache(maxsize=256)
def _compiled(glob: str, is_command: bool) -> re.Pattern[str] | None:
    """Return the glob as an expression; None where it has more ``*`` than there may be.

    What stands between two ``*`` is taken where it comes first, and never looked for again further on: that
    finds whatever there is to find, and takes no longer than the text is.
    """
    one = _NOT_IN_COMMANDS if is_command else _NOT_IN_OTHERS
    parts: list[str] = [""]  # between the stars
    place = 0
    while place < len(glob):
        char, place = glob[place], place + 1
        if char == "*":
            if parts[-1] or len(parts) == 1:
                parts.append("")
        elif char == "?":
            parts[-1] += one
        elif char == "[" and (end := glob.find("]", place + 1)) != -1:
            parts[-1] += f"[{''.join(re.escape(each) for each in glob[place:end])}]"
            place = end + 1
        else:
            parts[-1] += re.escape(char)
    if len(parts) > MAX_WILDCARDS + 1:
        return None
    head, *between = parts[:-1] or parts
    tail = f"{one}*{parts[-1]}" if len(parts) > 1 else ""
    return re.compile(head + "".join(f"(?>{one}*?{part})" for part in between) + tail)
