from __future__ import annotations

import gc
from pathlib import Path

import pytest

from tests.parsed_css import parse_once
from tests.settling import pytest_asyncio_loop_factories, virtual_time

__all__ = ["own_data", "pytest_asyncio_loop_factories", "virtual_time"]

parse_once()


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this user's is seen or touched: drafts are kept by the id of a room."""
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(tmp_path / "config.toml"))


@pytest.fixture(autouse=True)
def modules_stay_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave what ``tests/conftest.py`` froze out of every look for cycles.

    An app unfreezes all there is when it looks and when it ends; in a process with all libraries and tests
    loaded each look at everything takes half a second.
    """
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
