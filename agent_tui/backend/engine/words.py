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
    text = str(error)[:MAX_ERROR_CHARACTERS]
    if not isinstance(error, AgentTuiError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return storable(text)
