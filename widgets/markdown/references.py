"""Link definitions of a message, ``[label]: url``, and who waits for one.

A definition may come long after the link that uses it. What was laid out without it is remembered by label,
so that only those blocks are laid out again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

MAX_DEFINITIONS: Final = 1000  # of one message; further ones are shown as text
MAX_WAITING: Final = 2000  # blocks that wait for a definition; further ones go without
MAX_LABEL: Final = 200  # characters

# What stands behind the colon must look like a target: "[Note]: yes" is something to read, as a footnote is.
_LABEL: Final = r"\[(?!\^)(?P<label>(?:[^\[\]\\]|\\.){1,200})\]:"
_DEFINITION: Final = re.compile(
    _LABEL + r"[ \t]*(?:<(?P<angled>[^<>]+)>|(?P<url>[^\s<]\S*))"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$"
)
_LIKE_TARGET: Final = re.compile(r"[/#.]|[a-zA-Z][a-zA-Z0-9+.-]*:|[^/]*/|\S*\w\.\w")
# The beginning of a line that may yet become a definition; up to so many characters of a label.
_UNCLEAR: Final = re.compile(
    r"\[(?!\^)[^\[\]]{0,60}$|" + _LABEL[:-1] + r"(?::[ \t]*(?:\S*|\S+[ \t]+(?:[\"'(].*)?))?$"
)


@dataclass(slots=True, eq=False)
class References:
    """The targets of the labels of one message."""

    targets: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, set[int]] = field(default_factory=dict)  # starts of blocks, by label
    outdated: set[int] = field(default_factory=set)  # starts of blocks that got what they waited for
    waiting_count: int = 0

    def define(self, label: str, target: str) -> bool:
        """Let ``label`` stand for ``target`` if it is free; False when there are too many."""
        label = normal(label)
        if not label or (len(self.targets) >= MAX_DEFINITIONS and label not in self.targets):
            return False
        if label not in self.targets:
            self.targets[label] = target
            self.outdated |= self.waiting.pop(label, set())
        return True

    def target(self, label: str, start: int) -> str | None:
        """Return the target of ``label``; if it is not known, the block at ``start`` waits for it."""
        label = normal(label)
        target = self.targets.get(label)
        if target is None and label and self.waiting_count < MAX_WAITING:
            waiting = self.waiting.setdefault(label, set())
            self.waiting_count += start not in waiting
            waiting.add(start)
        return target


def normal(label: str) -> str:
    """Return a label as it is compared: case and the number of blanks do not count."""
    return " ".join(label.split()).casefold()


def definition(line: str, at: int) -> tuple[str, str] | None:
    """Return label and target of the definition that ``line`` is from ``at`` on, if it is one."""
    found = _DEFINITION.match(line, at)
    if found is None:
        return None
    target = found["angled"] or found["url"]
    if not found["angled"] and not _LIKE_TARGET.match(target):
        return None
    return found["label"], target


def may_become_definition(line: str, at: int) -> bool:
    """Whether an unfinished ``line`` may yet be a definition from ``at`` on."""
    return _UNCLEAR.match(line, at) is not None
