"""JSON for people. JSON that is still being written can be read, too."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

GOES_ON: Final = "…"
MAX_DEPTH: Final = 64
INDENT: Final = "  "
_TOKEN: Final = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*(?P<end>")?)'
    r"|(?P<sign>[{}\[\],:])"
    r'|(?P<word>[^\s{}\[\],:"]+)',
    re.DOTALL,
)
_HIGH: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}"  # the first half of a surrogate pair
_HALF_ESCAPE: Final = re.compile(rf"(?<!\\)(?:\\\\)*(?P<half>(?:{_HIGH})?\\u[0-9a-fA-F]{{0,3}}|{_HIGH})$")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = ("true", "false", "null")
_DECODER: Final = json.JSONDecoder(strict=False)  # line breaks in strings are accepted
_PLAIN_KEY: Final = re.compile(r"[\w.-]{1,64}")


class ParsedJson(NamedTuple):
    """A JSON value; if the text is incomplete, the brackets that are still open and whether its last string
    grows.
    """

    value: object
    is_whole: bool = True
    open_brackets: int = 0
    is_string_open: bool = False


def parse(text: str) -> ParsedJson | None:
    """Return what JSON ``text`` says so far; ``None`` if it is not the beginning of JSON, or nested too
    deep.
    """
    if text.count("[") + text.count("{") > MAX_DEPTH and _with_ends(text) is None:
        return None
    try:
        return ParsedJson(_DECODER.decode(text))
    except (ValueError, RecursionError):
        pass
    closed = _with_ends(text)
    if closed is None:
        return None
    whole, open_brackets, is_string_open = closed
    try:
        value = _DECODER.decode(whole)
    except (ValueError, RecursionError):
        return None
    return ParsedJson(value, False, open_brackets, is_string_open)


def _with_ends(text: str) -> tuple[str, int, bool] | None:
    """Return the beginning of JSON with everything open closed; a name without a value is left out."""
    stack: list[str] = []
    safe, tail, is_name, is_open = 0, "", False, False
    for token in _TOKEN.finditer(text):
        sign = token["sign"]
        if sign and sign in "{[":
            stack.append("}" if sign == "{" else "]")
            is_name, safe = sign == "{", token.end()
            if len(stack) > MAX_DEPTH:
                return None
        elif sign and sign in "}]":
            if not stack or stack.pop() != sign:
                return None
            is_name, safe = False, token.end()
        elif sign:
            is_name = sign == "," and stack[-1:] == ["}"]
        elif token["string"] is not None and token["end"] is None:
            if not is_name:
                tail, is_open = text[safe : token.start()] + _end_string(token["string"]), True
            break
        elif token["word"] and token.end() == len(text):
            tail = text[safe : token.start()] + _completed(token["word"])
        elif not is_name:
            safe = token.end()
    if not safe and not tail:
        return None
    return text[:safe] + tail + "".join(reversed(stack)), len(stack), is_open


def _end_string(string: str) -> str:
    half = _HALF_ESCAPE.search(string)
    return (string[: half.start("half")] if half else string) + '"'


def _completed(word: str) -> str:
    if _NUMBER.fullmatch(word):
        return word
    number = _NUMBER.match(word)
    if number and word[number.end() :] in (".", "e", "E", "e-", "E-", "e+", "E+"):
        return number.group()
    return next((whole for whole in _WORDS if whole.startswith(word)), "0" if word == "-" else word)


def readable(parsed: ParsedJson) -> str:
    """Return a value in lines: an object as ``name: value``, texts as their lines; a growing value ends with
    an ellipsis.
    """
    value, open_brackets = parsed.value, parsed.open_brackets
    is_string_quoted = True
    if isinstance(value, dict):
        lines = [_line(str(name), own) for name, own in value.items()]
        open_brackets -= 1
        last = next(reversed(value.values()), None)
        is_string_quoted = not _has_lines(last)
        text = "\n".join(lines)
    elif _has_lines(value):
        text, is_string_quoted = str(value), False
    else:
        text = pretty(value)
    if parsed.is_whole:
        return text
    for _ in range(open_brackets):
        text = text.rstrip().removesuffix("}").removesuffix("]").rstrip()
    if parsed.is_string_open and is_string_quoted:
        text = text.removesuffix('"')
    return text + GOES_ON


def pretty(value: object) -> str:
    return json.dumps(value, indent=len(INDENT), ensure_ascii=False)


def _has_lines(value: object) -> bool:
    return isinstance(value, str) and "\n" in value


def _line(name: str, value: object) -> str:
    name = name if _PLAIN_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)
    if isinstance(value, str) and "\n" in value:
        return f"{name}:\n" + "\n".join(INDENT + line for line in value.split("\n"))
    return f"{name}: {pretty(value)}"
