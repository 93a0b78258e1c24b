"""HTML entities, made safe: ``&amp;`` is ``&``, but ``&#27;`` never becomes an escape."""

from __future__ import annotations

import html
import re
from html.entities import html5
from typing import Final

from agent_tui.model.inert import inert

ENTITY: Final = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_ENTITY: Final = re.compile(ENTITY)


def decoded(entity: str) -> str:
    """Return the characters of one entity (``&…;``), or the entity itself if it is unknown."""
    if not entity.startswith("&#") and entity[1:] not in html5:
        return entity
    return inert(html.unescape(entity)).replace("\n", " ").replace("\t", " ") or entity


def all_decoded(text: str) -> str:
    return _ENTITY.sub(lambda found: decoded(found.group()), text) if "&" in text else text
