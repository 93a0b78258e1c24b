"""The folders in which tools may work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_tui.backend.http.body import wrong_field


class Workspaces:
    """Tools may work at or below ``roots``; ``None``: wherever a caller says."""

    def __init__(self, roots: Sequence[Path] | None) -> None:
        self._roots = None if roots is None else tuple(root.resolve() for root in roots)

    @property
    def default(self) -> str:
        """The folder of conversations whose protocol has none: the first of the roots, "" without roots."""
        return str(self._roots[0]) if self._roots else ""

    def check(self, workspace: str | None) -> str | None:
        """Return the folder, without links in its path if that matters; raises ``Refused`` (422)."""
        if not workspace:
            return workspace
        try:
            folder = Path(workspace)
            resolved = folder.resolve()
            is_folder = folder.is_absolute() and resolved.is_dir()
        except (OSError, RuntimeError, ValueError):  # links in a circle, a name too long, half a character
            raise wrong_field("workspace", "cannot be a folder") from None
        if self._roots is not None and not any(resolved.is_relative_to(root) for root in self._roots):
            where = ", ".join(map(str, self._roots)) or "none: the server was started without --workspace"
            raise wrong_field("workspace", f"must be a folder in one that the server allows ({where})")
        if not is_folder:
            raise wrong_field("workspace", "must be a folder that exists, by its absolute path")
        return workspace if self._roots is None else str(resolved)
