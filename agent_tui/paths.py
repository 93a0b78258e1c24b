"""Paths that people name, and the folder in which they started the program. Any of them may be wrong."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line


def current_folder() -> str | None:
    """Return the folder in which the program was started; ``None`` if it is gone, or its name is no text."""
    try:
        folder = str(Path.cwd())
        folder.encode()
    except (OSError, UnicodeEncodeError):
        return None
    return folder


def home_folder() -> Path | None:
    """Return the person's home folder; ``None`` if there is none, as for some users of containers."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def named_path(text: str | Path, named: str, *, resolves: bool = False) -> Path:
    """Return the absolute path for ``text``, with "~" replaced; with ``resolves`` also without links.

    Raises ``ConfigError``, which begins with ``named``, if there cannot be such a path.
    """
    try:
        path = Path(text).expanduser().absolute()
        if resolves:
            path = path.resolve()
            if os.path.islink(path):  # noqa: PTH114 - Path's raises for a name that is too long
                # From Python 3.13 on, links in a circle are no error of ``resolve``.
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        return path
    except (OSError, RuntimeError, ValueError) as error:  # no such user, links in a circle, a NUL
        raise ConfigError(named, f"there is no path {inert_line(str(text))}") from error


def folder_exists(path: Path | os.DirEntry[str]) -> bool:
    """Return whether it is a folder, or a link to one; false if that cannot be read."""
    try:
        return path.is_dir()
    except OSError:
        return False


def file_exists(path: Path) -> bool:
    """Return whether it is a plain file, or a link to one; false if that cannot be read."""
    try:
        return path.is_file()
    except OSError:
        return False
