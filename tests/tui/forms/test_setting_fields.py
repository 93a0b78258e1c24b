"""Each declared setting has its field in the forms, and what is put in there is what is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

from agent_tui.model.events import ConversationInfo, RoomInfo
from agent_tui.model.settings import settings_of
from tests.fakes.settings import another
from tests.tui.lists.chats_listed import chat, fake_list
from tests.tui.lists.rooms_listed import listed, room
from tests.tui.room.one_room import LIVE, loaded, opened
from tests.widgets.apps import running
from tui.forms.fields import Choice, Field, Line
from tui.forms.form import Form
from tui.forms.new_room_fields import quick_room
from tui.forms.values import FLAGS
from widgets.composer import Composer

OF_MODELS = ("provider_id", "model")  # chosen from what the server has


def fill(form: Form, record: type, folder: Path) -> dict[str, Any]:
    """Put another value into the field of each setting that is declared for forms; return these."""
    put: dict[str, Any] = {}
    for field in form.query(Field):
        setting = field.setting
        if setting is None or setting.name in OF_MODELS or setting.type is tuple:
            continue
        put[setting.name] = value = another(setting, folder)
        match field.inner:
            case Composer() as inner:
                inner.put(value)
            case Choice() as inner:
                inner.choose(next((name for name, flag in FLAGS.items() if flag is value), value))
            case inner:
                assert isinstance(inner, Line)
                inner.value = str(value)
    declared = {
        name
        for name, setting in settings_of(record).items()
        if setting.in_form and setting.type is not tuple and name not in OF_MODELS
    }
    assert declared == set(put)
    return put


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


async def test_a_click_on_the_signs_of_a_choice_turns_it() -> None:
    choice = Choice([("a", "one of them"), ("b", "another"), ("c", "the last")], "a", id="x")
    async with running(choice) as pilot:
        values = []
        for column in (len(choice.label) + 3, 5, 0):
            await pilot.click(choice, offset=(column, 0))
            values.append(choice.value)
        assert values == ["b", "b", "a"]


def form_of(screen: Screen[Any]) -> Form:
    return screen.query_one(Form)


async def test_the_form_of_a_room_has_them_all(tmp_path: Path) -> None:
    async with opened((120, 60)) as screen:
        await screen.send(loaded(execution_mode="sequential", max_rounds=3), LIVE)
        await screen.press("e")
        put = fill(form_of(screen.app.screen), RoomInfo, tmp_path)
        await screen.press("ctrl+s")
        assert (f"change {put}", "r") in screen.link.calls.asked


async def test_the_form_of_a_chat_has_them_all(tmp_path: Path) -> None:
    async with fake_list(tmp_path, chat(1), size=(100, 60)) as seen:
        rows = (await seen.press("e")).splitlines()
        assert sum("Chat settings" in row for row in rows) == 1  # the title; the field has its own label
        assert any(" title " in row and "Chat 1" in row for row in rows)
        put = fill(form_of(seen.app.screen), ConversationInfo, tmp_path)
        await seen.press("ctrl+s")
        assert seen.client.asked == [(f"change {put}", "c1")]


async def test_the_form_of_a_new_room_has_them_all(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2), size=(120, 60)) as seen:
        await seen.press("n", "ctrl+o")
        put = fill(form_of(seen.app.screen), RoomInfo, tmp_path)
        await seen.press("ctrl+n")
        assert seen.client.made == [put | {"agents": quick_room(put["task"])["agents"]}]
