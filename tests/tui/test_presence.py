"""The program says that it is open and that keys are pressed, and warns of what pauses otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.clients.records import PausesSoon
from agent_tui.model.errors import AgentBusy, NotFound
from tests.tui.whole_app import opened_app

SOON = PausesSoon("r0", "Stores\x1b[2J", 120.0)


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


async def test_keys_are_reported_once_however_many_are_pressed(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        assert seen.link.calls.presses == 0
        await seen.press(*"tttt")
        assert seen.link.calls.presses == 1


async def test_a_click_is_as_good_as_a_key(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.pilot.click()
        await seen.settle()
        assert seen.link.calls.presses == 1


async def test_a_server_that_does_not_count_who_is_there_is_told_of_no_key(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        seen.link.calls.pausing.put_nowait(NotFound("no such path"))
        while not seen.link.calls.pausing.empty():
            await seen.settle()
        await seen.press(*"tt")
        assert seen.link.calls.presses == 0


async def test_keys_are_reported_again_once_a_backend_that_was_busy_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.presence.RETRY_SECONDS", 0)
    async with opened_app(tmp_path) as seen:
        seen.link.calls.pausing.put_nowait(AgentBusy("a program is open"))
        while not seen.link.calls.pausing.empty():
            await seen.settle()
        await seen.press("t")
        assert seen.link.calls.presses == 1


@pytest.mark.parametrize("rooms", [1, 2], ids=["in a room", "in the list"])
async def test_what_pauses_soon_is_told_wherever_one_is_until_a_key_is_pressed(
    tmp_path: Path, rooms: int
) -> None:
    async with opened_app(tmp_path, rooms=rooms) as seen:
        seen.link.calls.pausing.put_nowait(SOON)
        text = await seen.until("2 min")
        assert "Stores" in text
        assert "\x1b" not in text
        seen.link.calls.pausing.put_nowait(None)
        await seen.until(lambda: "2 min" not in seen.now)
