"""The demo model's words: TOML files beside this module, read when an answer first needs them.

``LANGUAGE/chat.toml`` is for chats, ``LANGUAGE/room.toml`` for any task of a room. A debate about a certain
task is a file ``LANGUAGE/NAME.toml``, whose words ``patterns.toml`` knows.
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
    """Return the contents of the file ``name``: "en/chat.toml"."""
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text("utf-8"))


def compiled(pattern: str, file: str) -> re.Pattern[str]:
    """Return a pattern of a file, with its ``[parts]`` filled in."""
    for part, words in reversed(read(file)["parts"].items()):
        pattern = pattern.replace(f"<<{part}>>", words.lstrip())
    return re.compile(re.sub(r"\n\s*", "", pattern.lstrip()), re.IGNORECASE)


@cache
def patterns(name: str, file: str = "patterns.toml") -> tuple[re.Pattern[str], ...]:
    """Return the patterns ``name`` of a file, compiled when first needed: compiling all takes long."""
    return tuple(compiled(pattern, file) for pattern in read(file)["patterns"][name])


def find(name: str, text: str, file: str = "patterns.toml") -> re.Match[str] | None:
    """Return the place in ``text`` of the first of the patterns ``name`` that matches."""
    return next((found for pattern in patterns(name, file) if (found := pattern.search(text))), None)
