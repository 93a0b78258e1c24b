"""Chats, their list, the search and the settings, as they were looked at; in ASCII; and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from syrupy.assertion import SnapshotAssertion

from agent_tui.model import events as ev
from tests.tui.chat.views import Shown, asks, ends, in_a_chat, live, talk
from tests.tui.looks import NOON, SIZES, colours, same, signs, stand_still
from tests.tui.screen_text import ScreenFile
from tui.lists import order

pytestmark = pytest.mark.slow

LIST = ("escape", "escape")  # from the line of a chat to the list


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(ScreenFile)


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_still(monkeypatch, tmp_path)
    monkeypatch.setattr(order, "time", SimpleNamespace(time=lambda: NOON))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "keys", [[], ["tab", "F"], ["tab", "F", "F"]], ids=["as-it-is", "folded", "unfolded"]
)
async def test_every_kind_of_step(tmp_path: Path, snapshot: SnapshotAssertion, keys: Sequence[str]) -> None:
    async with in_a_chat(tmp_path, *talk()) as seen:
        await seen.press(*keys)
        await same(seen, snapshot)


@pytest.mark.parametrize("size", SIZES[1:])
async def test_the_beginning_unfolded(
    tmp_path: Path, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    async with in_a_chat(tmp_path, *talk(), size=size) as seen:
        await seen.press("tab", "F", "F", "home")
        await same(seen, snapshot, [size])


async def test_answers_that_were_cut_or_failed(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with in_a_chat(tmp_path, *ends()) as seen:
        await seen.send(ev.RunFailed("API Error: the quota is used up"))
        await same(seen, snapshot)


async def test_an_answer_under_way(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with in_a_chat(tmp_path, *talk()) as seen:
        await seen.send(*live())
        await same(seen, snapshot)


@pytest.mark.parametrize("keys", [[], ["tab"], ["d"], ["n"]], ids=["asks", "reading", "whole", "denied"])
async def test_a_tool_that_asks(tmp_path: Path, snapshot: SnapshotAssertion, keys: Sequence[str]) -> None:
    async with in_a_chat(tmp_path, *talk()) as seen:
        await seen.send(*asks())
        await seen.press(*keys)
        await same(seen, snapshot)


@pytest.mark.parametrize(
    "keys",
    [["/"], [*"/mo"], [*"see @no"], [*"and now?"], ["ctrl+r"], [*"/model ", "enter"]],
    ids=["commands", "command", "file", "words", "history", "models"],
)
async def test_the_line(tmp_path: Path, snapshot: SnapshotAssertion, keys: Sequence[str]) -> None:
    (tmp_path / "notes.txt").write_text("slow\n", encoding="utf-8")
    async with in_a_chat(tmp_path, *talk()) as seen:
        await typed(seen, *keys)
        await same(seen, snapshot, SIZES[1:])


async def typed(seen: Shown, *keys: str) -> None:
    """Press keys, as they are called or as they are written."""
    names = {" ": "space", "/": "slash", "@": "at", "?": "question_mark"}
    await seen.press(*[names.get(key, key) for key in keys])


@pytest.mark.parametrize("keys", [["tab", "u"], ["tab", "u", "e"]], ids=["queue", "changed"])
async def test_questions_that_wait(tmp_path: Path, snapshot: SnapshotAssertion, keys: Sequence[str]) -> None:
    async with in_a_chat(tmp_path, *talk()) as seen:
        await seen.send(*live())
        for words in ("What would a restart cost?", "And the second one?"):
            await typed(seen, *words, "enter")
        await seen.press(*keys)
        await same(seen, snapshot)


@pytest.mark.parametrize(
    "keys",
    [[], ["down"], ["A", "end"], ["d"], ["R"], ["/", *"redis"], ["s", *"cold"], ["e"], ["e", *["tab"] * 9]],
    ids=["list", "below", "archived", "deleted", "rename", "filter", "search", "settings", "tools"],
)
async def test_the_list(tmp_path: Path, snapshot: SnapshotAssertion, keys: Sequence[str]) -> None:
    async with in_a_chat(tmp_path, *talk()) as seen:
        await typed(seen, *LIST, *keys)
        await same(seen, snapshot)


# --- ASCII and no colour -----------------------------------------------------------------------------

WALK = (
    *(["tab"], ["F"], ["F"], ["home"], ["i", "/"], ["backspace", "ctrl+r"], ["escape", "tab", "escape"]),
    *(["escape"], ["s", *"cold"], ["escape", "e"], ["escape", "R"], ["escape", "d"]),
)


async def test_with_ascii_signs_a_chat_and_its_lists_have_no_other(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[screen]\nascii = true\n", encoding="utf-8")
    async with in_a_chat(tmp_path, *talk(), *ends(), is_ascii=True) as seen:
        assert signs(await seen.text()) == set()
        for keys in WALK:
            await typed(seen, *keys)
            assert signs(seen.now) == set(), keys


async def test_with_ascii_signs_a_tool_that_asks_has_no_other(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[screen]\nascii = true\n", encoding="utf-8")
    async with in_a_chat(tmp_path, *talk(), is_ascii=True) as seen:
        await seen.send(*asks())
        for keys in ([], ["d"], ["escape", "n"], ["escape", "tab"]):
            assert signs(await seen.press(*keys)) == set(), keys


async def test_without_colour_everything_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with in_a_chat(tmp_path, *talk(), *ends()) as seen:
        for keys in ([], *WALK):
            await typed(seen, *keys)
            assert colours(seen.app) == set(), keys
    async with in_a_chat(tmp_path, *talk()) as seen:
        await seen.send(*asks())
        for keys in ([], ["d"], ["escape", "n"]):
            await seen.press(*keys)
            assert colours(seen.app) == set(), keys
