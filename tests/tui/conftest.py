from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes import forked
from tests.parsed_css import parse_once
from tests.settling import pytest_asyncio_loop_factories, virtual_time
from tests.unpainted import painted_when_read
from tui import runtime

__all__ = ["own_data", "painted_when_read", "pytest_asyncio_loop_factories", "virtual_time"]

parse_once()
EMBEDDED = ["-P", "-m", "agent_tui.backend", "embedded"]
MODULES = os.environ.get("PYTHONPATH")


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this user's is seen or touched: drafts are kept by the id of a room."""
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(tmp_path / "config.toml"))


@pytest.fixture(autouse=True)
def backends_are_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a person's backend by a fork of what is loaded already, unless it is to load something else."""
    start = subprocess.Popen

    def started(command: Sequence[str], **how: Any) -> subprocess.Popen[Any]:
        if command[1:5] == EMBEDDED and "env" not in how and os.environ.get("PYTHONPATH") == MODULES:
            return forked.backend(command, **how)
        return start(command, **how)

    monkeypatch.setattr(runtime, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": started}))


@pytest.fixture(autouse=True)
def modules_stay_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave what ``tests/conftest.py`` froze out of every look for cycles.

    An app unfreezes all there is when it looks and when it ends; in a process with all libraries and tests
    loaded each look at everything takes half a second.
    """
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
