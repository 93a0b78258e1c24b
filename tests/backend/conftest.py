"""Backends whose agents say ``WORDS``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui.backend.store import sqlite
from tests.backend.in_process import Backend, backend
from tests.backend.talk import WORDS
from tests.fakes.scripted_model import ScriptedModel

AS_SHIPPED = sqlite.SYNCHRONOUS
sqlite.SYNCHRONOUS = "OFF"  # what tests store may be lost with the machine: waiting for the disk is a tenth


@pytest.fixture
async def talking(tmp_path: Path) -> AsyncIterator[Backend]:
    """A backend whose agents speak at once."""
    async with backend(tmp_path, ScriptedModel(lambda request: WORDS, free=True)) as running:
        yield running


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[Backend]:
    """A backend whose agents say each of the words when the test lets ``held.model`` do so."""
    async with backend(tmp_path, ScriptedModel(lambda request: WORDS)) as running:
        yield running
