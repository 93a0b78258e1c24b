from __future__ import annotations

import pytest

from tests.parsed_css import parse_once
from tests.settling import pytest_asyncio_loop_factories, virtual_time

__all__ = ["a_terminal_with_all_colours", "pytest_asyncio_loop_factories", "virtual_time"]

parse_once()


@pytest.fixture(autouse=True)
def a_terminal_with_all_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
