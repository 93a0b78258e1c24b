"""The names of classes: each leads to one place, and says what a thing is."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import agent_tui

ROOT = Path(str(agent_tui.__file__)).parents[1]
PARTICIPLE = re.compile(
    r"[A-Z][a-z]*ed|Begun|Chosen|Done|Drawn|Found|Given|Held|Heard|Kept|Known|Left|Made|Meant|Put|Said|Seen|Sent|Shown|"
    r"Spoken|Taken|Told|Written"
)
# Errors of architecture.md §6, and messages of Textual, whose names are participles.
MAY_BE = {"Refused", "Unauthorized", "Happened", "Resized"}


def classes() -> dict[str, list[str]]:
    """Return the files that define each public class, by its name."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in ("agent_tui", "tui", "widgets"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(path.relative_to(ROOT)))
    return found


def test_one_name_is_one_class() -> None:
    assert {name: files for name, files in classes().items() if len(files) > 1} == {}


def test_a_class_is_called_by_a_noun_and_never_by_a_bare_participle() -> None:
    assert [name for name in classes() if PARTICIPLE.fullmatch(name) and name not in MAY_BE] == []
