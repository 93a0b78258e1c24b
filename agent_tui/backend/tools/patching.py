"""Changes to a text: exact places are replaced, all of them or none; and the change as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from agent_tui.backend.tools.tool import ToolError

MAX_PATCHED_CHARACTERS = 5 * 1024 * 1024
MAX_COMPARED_LINES = 1_000  # comparing takes the square of this at worst
CONTEXT_LINES = 3
_NO_NEWLINE = "\\ No newline at end of file"


def patched(text: str, edits: Sequence[Mapping[str, Any]]) -> str:
    """Return ``text`` with each edit's ``search`` replaced by its ``replace``, in order.

    A search text must occur exactly once, or, with ``all``, at least once. Line ends are the text's own.
    Raises ``ToolError`` naming the first edit that cannot be made.
    """
    is_dos = "\r\n" in text and "\n" not in text.replace("\r\n", "")
    for number, edit in enumerate(edits, 1):
        search, replacement = (_with_ends(edit[key], is_dos=is_dos) for key in ("search", "replace"))
        count = text.count(search)
        if count == 0:
            raise ToolError(
                f"edit {number}: its search text is not in the file{_near(text, search)}; nothing was changed"
            )
        if count > 1 and not edit.get("all", False):
            raise ToolError(
                f"edit {number}: its search text is there {count} times; take in more lines around the one,"
                ' or set "all"; nothing was changed'
            )
        # Before it is made: a few edits that each multiply what they replace would fill all memory.
        if len(text) + count * (len(replacement) - len(search)) > MAX_PATCHED_CHARACTERS:
            limit = f"{MAX_PATCHED_CHARACTERS:,} characters"
            raise ToolError(f"edit {number}: the file would have more than {limit}; nothing was changed")
        text = text.replace(search, replacement)
    return text


def diff(old: str, new: str, path: str, *, is_new: bool = False) -> str:
    """Return the change as a unified diff; "" for no change."""
    if old == new:
        return ""
    lines = _diff_lines(old, new, ("/dev/null" if is_new else f"a/{path}", f"b/{path}"))
    shown = [line[:-1] if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines]
    return "\n".join(shown)


def counts(old: str, new: str) -> tuple[int, int]:
    """Return how many lines a change adds and removes."""
    lines = _diff_lines(old, new, ("", ""))[2:]
    plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return plus, minus


def _diff_lines(old: str, new: str, names: tuple[str, str]) -> list[str]:
    before, after = _lines(old), _lines(new)
    if max(len(before), len(after)) <= MAX_COMPARED_LINES:
        return list(difflib.unified_diff(before, after, *names, n=CONTEXT_LINES))
    return _one_hunk(before, after, names)


def _one_hunk(before: list[str], after: list[str], names: tuple[str, str]) -> list[str]:
    """Return everything between the first and the last changed line as one change."""
    least = min(len(before), len(after))
    top = next((n for n in range(least) if before[n] != after[n]), least)
    low = next((n for n in range(least - top) if before[-1 - n] != after[-1 - n]), least - top)
    first, ends = max(0, top - CONTEXT_LINES), min(low, CONTEXT_LINES)
    old, new = before[top : len(before) - low], after[top : len(after) - low]
    around = (top - first) + ends
    head = f"@@ -{first + 1},{len(old) + around} +{first + 1},{len(new) + around} @@\n"
    return [
        *(f"--- {names[0]}\n", f"+++ {names[1]}\n", head),
        *(f" {line}" for line in before[first:top]),
        *(f"-{line}" for line in old),
        *(f"+{line}" for line in new),
        *(f" {line}" for line in before[len(before) - low : len(before) - low + ends]),
    ]


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; unlike ``splitlines`` only a newline ends one."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


def _with_ends(text: str, *, is_dos: bool) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if is_dos else text


def _near(text: str, search: str) -> str:
    """Say so if only spaces and line ends differ: that is the most common mistake of models."""
    if " ".join(search.split()) in " ".join(text.split()):
        return " in just these spaces and line ends"
    return ""
