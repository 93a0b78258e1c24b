"""Words of models and callers, made fit to be stored."""

from __future__ import annotations

import re

from agent_tui.errors import AgentTuiError

MAX_ERROR_CHARACTERS = 1_000

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Return ``text`` without what no database and no UTF-8 holds: NULs and halves of surrogate pairs."""
    return _UNSTORABLE.sub("\ufffd", text) if _UNSTORABLE.search(text) else text


def failure(error: Exception) -> str:
    """Return what went wrong as one piece of text for ``agent_error``."""
    text = str(error) if isinstance(error, AgentTuiError) else f"{type(error).__name__}: {error}"
    return storable(text[:MAX_ERROR_CHARACTERS])
