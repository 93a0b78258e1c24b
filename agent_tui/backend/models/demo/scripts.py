"""The demo model's words: TOML files beside this module, read when an answer first needs them.

``LANGUAGE/chat.toml`` has what is said in chats, ``LANGUAGE/room.toml`` what fits any task of a room. A
debate about a task of its own is a file ``LANGUAGE/NAME.toml`` that ``patterns.toml`` knows the words of.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any


@cache
def read(name: str) -> Mapping[str, Any]:
    """Return what the file ``name`` says: "en/chat.toml"."""
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text("utf-8"))


def compiled(pattern: str, file: str) -> re.Pattern[str]:
    """Return a pattern of a file, the ``[parts]`` that it names filled in."""
    for part, words in reversed(read(file)["parts"].items()):
        pattern = pattern.replace(f"<<{part}>>", words.lstrip())
    return re.compile(re.sub(r"\n\s*", "", pattern.lstrip()), re.IGNORECASE)


@cache
def patterns(name: str, file: str = "patterns.toml") -> tuple[re.Pattern[str], ...]:
    """Return the patterns ``name`` of a file, compiled when first needed: all at once they take long."""
    return tuple(compiled(pattern, file) for pattern in read(file)["patterns"][name])


def find(name: str, text: str, file: str = "patterns.toml") -> re.Match[str] | None:
    """Return where the first of the patterns ``name`` that matches at all is found in ``text``."""
    return next((found for pattern in patterns(name, file) if (found := pattern.search(text))), None)
