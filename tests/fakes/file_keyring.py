"""A keyring that keeps its keys in the file ``FILE_KEYRING`` names: for programs that tests start."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend


class FileKeyring(KeyringBackend):
    """Chosen with ``PYTHON_KEYRING_BACKEND=tests.fakes.file_keyring.FileKeyring``."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def get_password(self, service: str, username: str) -> str | None:
        """Return what was kept."""
        return self._kept().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a key."""
        _file().write_text(json.dumps({**self._kept(), f"{service}/{username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        """Forget a key."""
        _file().write_text(json.dumps({**self._kept(), f"{service}/{username}": None}))

    def _kept(self) -> dict[str, str]:
        kept: dict[str, str] = json.loads(_file().read_text()) if _file().exists() else {}
        return kept


def _file() -> Path:
    return Path(os.environ["FILE_KEYRING"])
