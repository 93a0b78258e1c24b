"""Makes words of models and callers safe to store."""

from __future__ import annotations

import re

from agent_tui.model.errors import AgentTuiError, Refused

MAX_KEY_CHARACTERS = 200
MAX_ERROR_CHARACTERS = 5_000

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Return ``text`` without what neither databases nor UTF-8 can hold: NULs and halves of surrogate
    pairs.
    """
    return _UNSTORABLE.sub("\ufffd", text) if _UNSTORABLE.search(text) else text


def checked_key(client_key: str) -> str:
    """Return the key; raises ``Refused`` (422) for one that is too long or cannot be stored unchanged: a
    replaced character could make it equal to another key, and that message would be lost.
    """
    if len(client_key) > MAX_KEY_CHARACTERS:
        raise Refused("The client_key is too long", f"At most {MAX_KEY_CHARACTERS:,} characters.", status=422)
    if _UNSTORABLE.search(client_key):
        detail = "It holds a NUL or half a character (a lone surrogate)."
        raise Refused("The client_key cannot be stored", detail, status=422)
    return client_key


def failure(error: Exception) -> str:
    """Return the failure as a single text for ``agent_error``."""
    text = str(error)[:MAX_ERROR_CHARACTERS]
    if not isinstance(error, AgentTuiError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return storable(text)
