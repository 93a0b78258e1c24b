"""The way from a screen to its own backend, which may end while nobody asks anything."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.programs import own_environ, reap
from tui import runtime
from tui.link import RoomLink
from tui.request import Server


@pytest.fixture
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in own_environ(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    yield
    runtime.stop()
    reap(tmp_path / "home" / "data")


@pytest.fixture(autouse=True)
def backends_are_forked() -> None:
    """Start each as a new process: one that was killed is a zombie of ours until we take note of it."""


@pytest.mark.slow
@pytest.mark.usefixtures("_own_data")
async def test_a_backend_that_ended_or_was_killed_is_started_again_for_the_next_call() -> None:
    link = RoomLink(runtime.begin())
    try:
        first = await link.client()
        assert await link.client() is first
        runtime.stop()
        second = await link.client()
        room = await second.create("What was written into the form is not lost?")
        found = runtime.find()
        assert found is not None
        os.kill(found.pid, signal.SIGKILL)
        # Its socket is gone a moment earlier.
        await asyncio.to_thread(os.waitid, os.P_PID, found.pid, os.WEXITED | os.WNOWAIT)
        assert [listed.id for listed in await (await link.client()).list_all()] == [room.id]
    finally:
        await link.close()


async def test_who_failed_on_a_client_that_was_replaced_does_not_close_the_new_one() -> None:
    link = RoomLink(Server("http://127.0.0.1:9"))
    first = await link.client()
    await link.close(first)
    second = await link.client()
    await link.close(first)
    assert await link.client() is second
    await link.close()
    assert await link.client() is not second
    await link.close()
