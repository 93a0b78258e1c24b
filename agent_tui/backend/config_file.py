"""The current config file: read again whenever it has changed."""

from __future__ import annotations

import logging
from pathlib import Path

from agent_tui.config.file import Config, config_path, load
from agent_tui.model.errors import ConfigError

log = logging.getLogger(__name__)

# What identifies a version of a file: modification time in ns and size; ``None``: no file.
Stamp = tuple[int, int] | None


class ConfigFile:
    """``broken`` says what was wrong with the file when it was last read."""

    def __init__(self, path: Path | None) -> None:
        """With ``path`` None: the user's own file."""
        self.broken: ConfigError | None = None
        self._path = path
        self._config: Config | None = None
        self._stamp: Stamp = None

    def read(self) -> Config:
        """Return the file's contents, the same object until they change. Never raises: while the file is
        broken, these are the last good version, or those of an empty file.
        """
        path = self._path or config_path()
        stamp = _stamp(path)
        if self._config is None or stamp != self._stamp:
            self._config = self._load(path)
            self._stamp = stamp
        return self._config

    def _load(self, path: Path) -> Config:
        try:
            loaded = load(path)
        except ConfigError as error:
            self.broken = error
            log.warning("the config file is broken: %s", error.title)
            return self._config or Config(path)
        self.broken = None
        return loaded


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
