from __future__ import annotations

from tests.parsed_css import parse_once
from tests.settling import pytest_asyncio_loop_factories, virtual_time

__all__ = ["pytest_asyncio_loop_factories", "virtual_time"]

parse_once()
