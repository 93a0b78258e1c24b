"""The list, its forms and the dialogs of a room, as they were looked at; in ASCII; and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from agent_tui.model import events as ev
from tests.tui.lists.rooms_listed import Listed, listed, room
from tests.tui.looks import SIZES, colours, same, signs, stand_still
from tests.tui.room.debate import ROOM_ID, agents, first_round, second_round
from tests.tui.screen_text import ScreenFile
from tests.tui.test_snapshots import STILL_SECONDS, views
from tui.forms.setup import SetupScreen
from tui.live import following
from tui.room import panes as room_panes

pytestmark = pytest.mark.slow

CAST = agents(3)


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(ScreenFile)


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_still(monkeypatch, tmp_path)
    for module in (following, room_panes):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: STILL_SECONDS))


def does(*states: str) -> tuple[ev.AgentInfo, ...]:
    return tuple(replace(agent, status=state) for agent, state in zip(CAST, states, strict=False))


def every_state() -> list[ev.RoomInfo]:
    """Return a room in each state that the list shows, the newest first."""
    live, paused = {"status": "running"}, {"status": "paused"}
    spoken = {"current_round": 2, "tokens": 19_500}
    said = {"last_speaker": "Ada", "last_words": "the quota is used up"}
    rooms: list[dict[str, Any]] = [
        {"name": "Redis or PostgreSQL?", "agents": does("speaking", "thinking", "said"), **live, **spoken},
        {"name": "缓存为什么总是冷?", "agents": does("said", "failed", "skipped"), "tokens": 999_999, **live},
        {"name": "Onboarding", "agents": does("cut"), **paused, "interrupted": "pause", "tokens": 412},
        {"name": "Какое название понятнее?", **paused, "interrupted": "budget", "cost": 0.12, **spoken},
        {"name": "Why?", **paused, "interrupted": "error", "agents": does("said", "failed"), **said},
        {"name": "The new service", "status": "completed", "last_words": "Call it Ledger.", "cost": 1234.5},
        {"name": "Migration plan", "status": "error", "agents": does("said", "failed"), **said},
        {"name": "", "task": "Plan the offsite in March", "status": "idle"},
    ]
    return [room(minutes, **fields) for minutes, fields in enumerate(rooms)]


async def test_the_list(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with listed(tmp_path, *every_state(), size=SIZES[0]) as seen:
        await seen.press("down", "down")
        await same(seen, snapshot)


@pytest.mark.parametrize(
    ("name", "keys"),
    [("deleted", "d"), ("rename", "R"), ("filter", "/redis")],
    ids=["deleted", "rename", "filter"],
)
async def test_what_the_list_asks(tmp_path: Path, snapshot: SnapshotAssertion, name: str, keys: str) -> None:
    async with listed(tmp_path, *every_state(), size=(80, 24)) as seen:
        await seen.press(*["slash" if key == "/" else key for key in keys])
        await same(seen, snapshot, SIZES[1:2])


async def test_the_form_of_a_new_room(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with listed(tmp_path, *every_state(), size=SIZES[0]) as seen:
        await seen.press("n", "ctrl+o", *"Why?", *["tab"] * 6, "space")
        await same(seen, snapshot)


async def test_the_set_up_of_a_provider(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with listed(tmp_path, *every_state(), size=(80, 24)) as seen:
        await set_up(seen, tmp_path)
        await same(seen, snapshot, SIZES[1:2])


async def set_up(seen: Listed, folder: Path) -> None:
    screen = SetupScreen(
        folder / "config.toml",
        seen.app.places.link.client,
        fault_of_keyring=lambda: "",
    )
    await seen.app.push_screen(screen)
    await seen.settle()


def with_queue(**fields: object) -> list[ev.Event]:
    """Return a room in its second round in which words wait for everybody and for one."""
    queue = (ev.QueuedMessage("q1", "What would a restart cost?"), ev.QueuedMessage("q2", "psst", "a1"))
    loaded, *rest = [*first_round(3), *second_round(3)]
    assert isinstance(loaded, ev.RoomLoaded)
    return [replace(loaded, room=replace(loaded.room, queue=queue, **fields)), *rest]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("composer", ["i", *"and now?"]),
        ("queue", ["u"]),
        ("settings", ["e"]),
        ("agent", ["e", *["tab"] * 6, "enter"]),
    ],
    ids=["composer", "queue", "settings", "agent"],
)
async def test_what_a_room_asks(
    tmp_path: Path, snapshot: SnapshotAssertion, name: str, keys: Sequence[str]
) -> None:
    async with views(tmp_path, snapshot, *with_queue()) as screen:
        await screen.match_after(keys, SIZES[:2])


async def test_the_question_of_a_completed_room(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    done = ev.RunCompleted(ROOM_ID, 3)
    async with views(tmp_path, snapshot, *first_round(2), done) as screen:
        await screen.match_after(["i", "x", "enter"], SIZES[1:2])


# --- ASCII and no colour -----------------------------------------------------------------------------


async def test_with_ascii_signs_the_list_and_its_forms_have_no_other(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[screen]\nascii = true\n", encoding="utf-8")
    async with listed(tmp_path, *every_state(), size=(120, 40), is_ascii=True) as seen:
        assert signs(await seen.text()) == set()
        rows = (await seen.text()).splitlines()
        assert [row[2] for row in rows[2:10]] == list('**"""+x.')
        for keys in (["d"], ["R"], ["escape", "slash"], ["escape", "n"]):
            assert signs(await seen.press(*keys)) == set(), keys
        await seen.press(*"x", "ctrl+u")
        assert signs(await seen.press("ctrl+n")) == set()  # a task is missing: it complains
        await seen.press("escape")
        await set_up(seen, tmp_path)
        assert signs(await seen.text()) == set()


async def test_without_colour_every_state_of_the_list_and_the_cursor_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with listed(tmp_path, *every_state(), size=(120, 40)) as seen:
        await seen.press("down")
        assert colours(seen.app) == set()
        rows = (await seen.text()).splitlines()[2:10]
        assert [row[:3] for row in rows[:2]] == ["  ●", "▸ ●"]
        assert len({row[2] for row in rows}) == 5
        for keys in (["n"], ["tab"], ["escape", "R"]):
            await seen.press(*keys)
            assert colours(seen.app) == set(), keys
        await seen.press("escape")
        await set_up(seen, tmp_path)
        assert colours(seen.app) == set()
