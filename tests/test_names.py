"""Names: that of a class leads to one place and says what a thing is, that of a function what it does."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import agent_tui

ROOT = Path(str(agent_tui.__file__)).parents[1]
PARTICIPLE = re.compile(
    r"[A-Z][a-z]*ed|Begun|Chosen|Done|Drawn|Found|Given|Held|Heard|Kept|Known|Left|Made|Meant|Put|Said|Seen|Sent|Shown|"
    r"Spoken|Taken|Told|Written"
)
# Errors of architecture.md §6, and messages of Textual, whose names are participles.
MAY_BE = {"Refused", "Unauthorized", "Happened", "Resized"}
VERBS = {"feed", "put"}


@cache
def modules() -> dict[str, str]:
    paths = [path for folder in ("agent_tui", "tui", "widgets") for path in (ROOT / folder).rglob("*.py")]
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in sorted(paths)}


def classes() -> dict[str, list[str]]:
    """Return the files that define each public class, by its name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, text in modules().items():
        for name in re.findall(r"^class ([^_]\w*)", text, re.MULTILINE):
            found[name].append(path)
    return found


def waiting() -> Iterator[str]:
    """Yield the names of asynchronous functions and methods, but for generators."""
    for text in modules().values():
        module = ast.parse(text if "async def" in text else "")
        bodies = [module.body, *(node.body for node in module.body if isinstance(node, ast.ClassDef))]
        for node in (one for body in bodies for one in body if isinstance(one, ast.AsyncFunctionDef)):
            if not any(isinstance(part, ast.Yield) for part in ast.walk(node)):
                yield node.name.strip("_")


def test_one_name_is_one_class() -> None:
    assert {name: files for name, files in classes().items() if len(files) > 1} == {}


def test_a_class_is_called_by_a_noun_and_never_by_a_bare_participle() -> None:
    assert [name for name in classes() if PARTICIPLE.fullmatch(name) and name not in MAY_BE] == []


def test_a_function_that_waits_is_called_by_what_it_does_and_never_by_a_bare_participle() -> None:
    names = list(waiting())
    assert len(names) > 500
    assert [name for name in names if PARTICIPLE.fullmatch(name.title()) and name not in VERBS] == []
