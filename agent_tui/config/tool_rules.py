"""Patterns of calls that may run without being asked for: ``tool`` or ``tool(glob over its main argument)``.

People write them into the config file and behind ``--allow``. In a glob ``*`` is any text, ``?`` one
character, ``[abc]`` one of these. What they match is limited:

- In a command, words only: nothing that a shell would run, redirect or substitute hides in a ``*``. That does
  not make the program harmless: ``make -n *`` allows ``make -n MAKE='touch x #' all``, which runs ``touch``.
- In the host of a page, a part of one label: ``https://*.example.org/*`` covers ``docs.example.org``, and
  neither ``a.docs.example.org`` nor ``evil.com/.example.org``. The path is compared on its own.

Text outside wildcards matches itself. Rules that a person keeps on the screen are never globs: they are the
``exact_pattern`` of the call that was seen.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

COMMAND_TOOL = "run_command"
PAGE_TOOL = "fetch_url"
WRITING_TOOLS = ("write_file", "patch_file")
PATH_TOOLS = (*WRITING_TOOLS, "read_file", "list_files")
_MAIN_ARGUMENT: Mapping[str, str] = {
    COMMAND_TOOL: "command",
    PAGE_TOOL: "url",
    **dict.fromkeys(PATH_TOOLS, "path"),
}
MAX_WILDCARDS = 4
MAX_PATTERN_CHARACTERS = 10_000
PATTERN_FORM = (
    "a pattern is NAME, for files, pages (https://…) and commands NAME(GLOB), for the tools of an MCP server"
    " SERVER__*"
)

# What a wildcard never matches. In a command: everything that ends, joins, redirects or substitutes commands,
# starts a subshell, expands, or is invisible.
_NOT_IN_COMMANDS = r"[^;&|<>$`(){}\\!\x00-\x1f\x7f-\x9f\u2028\u2029]"
_NOT_IN_OTHERS = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]"
# In a host's name: never what separates its labels, or it from what is beside it.
_NOT_BETWEEN_LABELS = "[a-z0-9_-]"
_SEPARATORS = frozenset("./:@?#\\")
# For the tools of an MCP server, the name after "SERVER__" may be a glob.
_TOOL = r"[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{1,32}?__[A-Za-z0-9_*?-]{1,64}"
_PATTERN = re.compile(rf"(?P<tool>{_TOOL})(?:\((?P<glob>.*)\))?", re.DOTALL)


def exact_pattern(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the pattern of exactly this call: for a command its line, for a page its address, for a file its
    path (whatever is written into it), for any other tool all its arguments as JSON, which ``allows`` does
    not understand. Empty for a call that cannot be described.
    """
    if tool in _MAIN_ARGUMENT:
        main = _main_argument(tool, arguments)
        return "" if main is None else f"{tool}({_escaped(main)})"
    try:
        text = json.dumps(arguments, ensure_ascii=False, sort_keys=True) if arguments else ""
    except (TypeError, ValueError, RecursionError):
        return ""
    pattern = f"{tool}({text})" if text else tool
    return pattern if len(pattern) <= MAX_PATTERN_CHARACTERS else ""


def spelled_out(pattern: str) -> str:
    """Return an exact pattern for a person, without the brackets around ``*``, ``?`` and ``[``."""
    return re.sub(r"\[([*?\[])\]", r"\1", pattern)


def is_exact(pattern: str, folder: str) -> bool:
    """Return whether a rule that a server suggests is for one call. Backends of earlier versions suggest
    globs, without a folder.
    """
    tool, _, main = pattern.partition("(")
    if tool not in _MAIN_ARGUMENT:
        return True
    has_signs = set("*?[") & set(re.sub(r"\[[*?\[]\]", "", main))
    return not has_signs and (bool(folder) or tool == PAGE_TOOL)


def is_pattern(text: str) -> bool:
    """Return whether ``text`` can cover a call at all."""
    parsed = _parsed(text)
    if parsed is None or parsed["glob"] is None:
        return parsed is not None
    return _globs(parsed["tool"], parsed["glob"]) is not None


def named_tools(patterns: Iterable[str]) -> list[str]:
    """Return the tools that ``patterns`` name, without those of MCP servers, which may come later."""
    return [name for pattern in patterns if "__" not in (name := pattern.partition("(")[0])]


def allows(pattern: str, tool: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether a rule covers this call; an invalid pattern covers nothing."""
    parsed = _parsed(pattern)
    if parsed is None or not fnmatchcase(tool, parsed["tool"]):
        return False
    if parsed["glob"] is None:
        return True
    main = _main_argument(tool, arguments)
    if main is None:
        return False
    globs = _globs(tool, parsed["glob"])
    texts = _site_and_rest(main) if tool == PAGE_TOOL else (main,)
    return globs is not None and all(map(re.Pattern.fullmatch, globs, texts))


def _globs(tool: str, glob: str) -> tuple[re.Pattern[str], ...] | None:
    """Return one expression for each part of the main argument; ``None`` for a glob that covers nothing."""
    if tool not in _MAIN_ARGUMENT:
        return None
    if tool == PAGE_TOOL:
        if "://" not in glob:
            return None
        site, rest = _site_and_rest(glob)
        compiled = [_compiled(site, _NOT_BETWEEN_LABELS), _compiled(rest or "/", _NOT_IN_OTHERS)]
    else:
        compiled = [_compiled(glob, _NOT_IN_COMMANDS if tool == COMMAND_TOOL else _NOT_IN_OTHERS)]
    globs = tuple(glob for glob in compiled if glob is not None)
    return globs if len(globs) == len(compiled) else None


def _site_and_rest(url: str) -> tuple[str, str]:
    """Split an address, or a glob of addresses, at the beginning of its path."""
    end = url.find("/", url.index("://") + len("://"))
    return (url, "") if end < 0 else (url[:end], url[end:])


def covers_tool(pattern: str, tool: str) -> bool:
    """Return whether a rule covers any call of the tool."""
    parsed = _parsed(pattern)
    return parsed is not None and fnmatchcase(tool, parsed["tool"])


def _parsed(pattern: str) -> re.Match[str] | None:
    return _PATTERN.fullmatch(pattern) if len(pattern) <= MAX_PATTERN_CHARACTERS else None


def _main_argument(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the argument that patterns are about, in its only spelling; ``None`` if there is none."""
    value = arguments.get(_MAIN_ARGUMENT.get(tool, ""))
    if not isinstance(value, str) or not value or len(value) > MAX_PATTERN_CHARACTERS:
        return None
    if tool == COMMAND_TOOL:
        return value
    if tool in PATH_TOOLS:
        path = posixpath.normpath(value)
        return None if path.startswith("..") else path
    return _normalized_url(value)


def _normalized_url(url: str) -> str | None:
    """Return the URL with its host in lower case and without ".."; ``None`` if it is ambiguous."""
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


def _escaped(text: str) -> str:
    return re.sub(r"[*?\[]", r"[\g<0>]", text)


@lru_cache(maxsize=256)
def _compiled(glob: str, char_class: str) -> re.Pattern[str] | None:
    """Return the glob as an expression in which a wildcard matches characters of ``char_class``; ``None`` if
    it has too many ``*``, or contains what separates the labels of a host.

    The text between two ``*`` is matched at its first place, and not searched again further on: that finds
    every match, and takes no longer than the text.
    """
    parts: list[str] = [""]  # between the stars
    place = 0
    while place < len(glob):
        char, place = glob[place], place + 1
        if char == "*":
            if parts[-1] or len(parts) == 1:
                parts.append("")
        elif char == "?":
            parts[-1] += char_class
        elif char == "[" and (end := glob.find("]", place + 1)) != -1:
            if char_class == _NOT_BETWEEN_LABELS and _SEPARATORS & set(glob[place:end]):
                return None
            parts[-1] += f"[{''.join(map(re.escape, glob[place:end]))}]"
            place = end + 1
        else:
            parts[-1] += re.escape(char)
    if len(parts) > MAX_WILDCARDS + 1:
        return None
    head, *between = parts[:-1] or parts
    tail = f"{char_class}*{parts[-1]}" if len(parts) > 1 else ""
    return re.compile(head + "".join(f"(?>{char_class}*?{part})" for part in between) + tail)
