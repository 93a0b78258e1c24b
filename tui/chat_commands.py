"""The commands of a chat's line: what may be typed behind a slash."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

# Each command and what its first word may be, where that is one of a few.
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "model": (),
    "system": (),
    "tools": ("all", "none", "default"),
    "thinking": ("on", "off", "own"),
    "temperature": ("default",),
    "title": (),
    "new": (),
    "chats": (),
    "workspace": (),
    "export": (),
    "stop": (),
    "help": (),
}
_COMMAND: Final = re.compile(r"/([a-z]+)(?:[ \t]+(.*))?\s*\Z", re.DOTALL)


class Typed(NamedTuple):
    """A command and what stands behind it."""

    name: str
    rest: str


def typed(text: str) -> Typed | None:
    """Return the command that ``text`` is; None for words to the model, such as "/etc/hosts is …".

    A word that is no command is returned too: who mistypes one does not mean the model.
    """
    match = _COMMAND.match(text.strip())
    return Typed(match[1], (match[2] or "").strip()) if match else None


def fitting(text: str, tools: Sequence[str] = ()) -> tuple[str, list[str]]:
    """Return what stands before the word that is being typed, and what that word may become."""
    head, space, begun = text.rpartition(" ")
    if not text.startswith("/") or "\n" in text:
        return "", []
    if not space:
        return "/", [name for name in COMMANDS if name.startswith(text[1:])]
    name = head.split(" ", 1)[0][1:]
    words = (*COMMANDS.get(name, ()), *(tools if name == "tools" else ()))
    if head != f"/{name}" and name != "tools":
        return "", []
    return f"{head} ", [word for word in words if word.startswith(begun) and word != begun]
