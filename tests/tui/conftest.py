from __future__ import annotations

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
