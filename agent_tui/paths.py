"""Paths that people name. Any of them may be wrong."""

from __future__ import annotations

import os
from pathlib import Path

from agent_tui.model.errors import ConfigError


def named_path(text: str | Path, named: str, *, resolves: bool = False) -> Path:
    """Return the absolute path for ``text``, with "~" replaced; with ``resolves`` also without links.

    Raises ``ConfigError``, which begins with ``named``, if there cannot be such a path.
    """
    try:
        path = Path(text).expanduser().absolute()
        return path.resolve() if resolves else path
    except (OSError, RuntimeError, ValueError) as error:  # no such user, links in a circle, a NUL
        raise ConfigError(named, f"there is no path {text}") from error


def folder_exists(path: Path | os.DirEntry[str]) -> bool:
    """Return whether it is a folder, or a link to one; nothing is one that cannot be looked at."""
    try:
        return path.is_dir()
    except OSError:
        return False
