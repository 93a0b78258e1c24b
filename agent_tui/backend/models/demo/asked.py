"""What a question to the demo model asks tools for: guesses from patterns, in three languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from agent_tui.backend.models.demo.scripts import compiled, find, patterns, read

MAX_QUESTION_CHARACTERS = 600  # longer questions ask for nothing that a script could do
MAX_WISHES = 4
MAX_SUMS = 3
MAX_SUM_CHARACTERS = 200

_SPECIAL = re.compile(r"[.^$*+?{}()|\[\]\\]")
_ZONE = re.compile(
    r"\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Za-z_/+-]+"
)


@dataclass(frozen=True, slots=True)
class ToolWish:
    """A call that a question asks for; ``about`` is its subject for a person. A wish without a tool is for
    the time of a place with an unknown zone.
    """

    tool: str
    arguments: Mapping[str, str]
    about: str = ""


@dataclass(frozen=True, slots=True)
class ZonedPlace:
    """A place and its IANA zone; ``names`` are by language."""

    zone: str
    names: Mapping[str, str]


def wishes_in(question: str) -> tuple[ToolWish, ...]:
    """Return the requests for tools in the question, in its order; sums and times may come together."""
    text = question[:MAX_QUESTION_CHARACTERS]
    for tool in ("write_file", "run_command", "fetch_url", "read_file", "search_files", "list_files"):
        if match := find(tool, text):
            return (_wish(tool, match, text),)
    placed = [(at, ToolWish("calculator", {"expression": sum_}, sum_)) for at, sum_ in sums_in(text)]
    placed += _times(text)
    return tuple(wish for _, wish in sorted(placed, key=lambda pair: pair[0])[:MAX_WISHES])


def asks_for_tools(question: str) -> bool:
    """Return whether the question asks for a list."""
    return find("tools", question[:MAX_QUESTION_CHARACTERS]) is not None


def is_hello(question: str) -> bool:
    """Return whether the question is only a greeting."""
    return find("hello", question[:MAX_QUESTION_CHARACTERS]) is not None


def _wish(tool: str, match: re.Match[str], text: str) -> ToolWish:
    """Return a wish that the whole question is about."""
    match tool:
        case "write_file":
            content = match["content"].strip().strip("`\"“”«»'‘’")
            return ToolWish(tool, {"path": _path(match), "content": f"{content}\n"}, _path(match))
        case "run_command":
            command = match["command"].strip().strip("`")
            return ToolWish(tool, {"command": command}, command)
        case "fetch_url":
            url = match["url"].rstrip(".,;!?)»”\"'")
            return ToolWish(tool, {"url": url}, url)
        case "search_files":
            words = _path(match).strip().rstrip("?.!。")
            return ToolWish(tool, {"pattern": _SPECIAL.sub(r"\\\g<0>", words)}, words)
        case "list_files":
            folder = find("folder", text)
            return ToolWish(tool, {"path": _path(folder)} if folder else {}, _path(folder) if folder else "")
        case _:
            return ToolWish(tool, {"path": _path(match)}, _path(match))


def _path(found: re.Match[str]) -> str:
    named = found.groupdict()
    return named.get("quoted") or (named.get("bare") or "").rstrip("/") or "."


# --- times -----------------------------------------------------------------------------------------------


def _times(text: str) -> list[tuple[int, ToolWish]]:
    question_of_time = find("time", text)
    if question_of_time is None:
        return []
    if zones := {place.zone: at for at, place in reversed(places_in(text))}:
        return [(at, ToolWish("current_time", {"zone": zone}, zone)) for zone, at in zones.items()]
    if nowhere := find("nowhere", text):
        return [(nowhere.start(), ToolWish("", {}, nowhere["place"]))]
    return [(question_of_time.start(), ToolWish("current_time", {}))]


def places_in(text: str) -> list[tuple[int, ZonedPlace]]:
    """Return the places in ``text`` and their indexes; a zone may be named directly."""
    found = [
        (at.start(), ZonedPlace(at[0], dict.fromkeys(("en", "zh", "ru"), at[0])))
        for at in _ZONE.finditer(text)
    ]
    rest = _ZONE.sub(lambda zone: " " * len(zone[0]), text)
    found += [(at.start(), place) for place, pattern in _places() if (at := pattern.search(rest))]
    return sorted(found, key=lambda pair: pair[0])


@cache
def _places() -> tuple[tuple[ZonedPlace, re.Pattern[str]], ...]:
    rows = read("places.toml")["places"]["rows"]
    return tuple(
        (ZonedPlace(zone, {"en": english, "zh": chinese, "ru": russian}), compiled(pattern, "places.toml"))
        for zone, english, chinese, russian, pattern in rows
    )


# --- sums ------------------------------------------------------------------------------------------------


def sums_in(text: str) -> list[tuple[int, str]]:
    """Return the sums in ``text``, as the calculator takes them, and their indexes: (17, "17 * 23 + 4").

    Numbers alone do not count, nor does anything in a text that asks for something else.
    """
    plain = _plain_numbers(unicodedata.normalize("NFKC", text))
    for sign, written in zip(patterns("signs"), read("patterns.toml")["sums"]["written"], strict=True):
        plain = sign.sub(written, plain)
    (run,) = patterns("sum_run")
    sums = [(at.start(), sum_) for at in run.finditer(plain) if _is_sum(sum_ := _trimmed(at[0]))]
    rest = re.sub(r"[\s?=.!,。]+|\b(?:and|и)\b|和|还有", "", run.sub("", plain))
    return sums[:MAX_SUMS] if find("sum_asked", plain) or not rest else []


def _plain_numbers(text: str) -> str:
    """Return ``text`` with 1,000 and 1 000 as 1000, and 2,5 as 2.5."""
    thousands = r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])"
    text = re.sub(thousands, lambda number: re.sub(r"\D", "", number[0]), text)
    return text if find("sum_list", text) else re.sub(r"(?<=\d),(?=\d)", ".", text)


def _trimmed(run: str) -> str:
    """Return a run of signs without those that cannot begin or end a sum."""
    run = " ".join(run.split()).strip(" ,")
    run = re.sub(r"^(?:of\b|[*/%!+)\s])+|(?:\bof|[-+*/(,√\s])+$", "", run, flags=re.IGNORECASE)
    if re.search(r"\d\s*[-+*/]", run):  # an exclamation after a sum, not a factorial
        run = run.rstrip("! ")
    while run.count("(") > run.count(")") and run.startswith("("):
        run = run[1:].lstrip()
    while run.count(")") > run.count("(") and run.endswith(")"):
        run = run[:-1].rstrip()
    return run


def _is_sum(run: str) -> bool:
    if len(run) > MAX_SUM_CHARACTERS or run.count("(") != run.count(")"):
        return False
    return find("is_sum", run) is not None and find("is_date", run.replace(" ", "")) is None
