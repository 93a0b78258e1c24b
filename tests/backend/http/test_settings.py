"""What ``records`` declares of a setting is what the HTTP face takes of it; every setting is walked over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent_tui.model.events import AgentInfo, ConversationInfo, RoomInfo
from agent_tui.model.settings import Setting, settings_of
from tests.backend.chat_backend import ChatBackend, chat_backend, refused
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.settings import another, of_another_type, too_much

FACES: dict[type, tuple[str, dict[str, Any]]] = {
    RoomInfo: ("/api/rooms", {"task": "Talk"}),
    ConversationInfo: ("/api/conversations", {}),
}
# ``head`` is a message that is there: tests of branches change it.
ALL = [
    (record, setting) for record in FACES for name, setting in settings_of(record).items() if name != "head"
]
each = pytest.mark.parametrize(
    ("record", "setting"), ALL, ids=[f"{record.__name__}.{one.name}" for record, one in ALL]
)


# One backend for all: each test makes rooms and chats of its own.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ChatBackend]:
    model = ScriptedModel(lambda request: ["Yes."], free=True)
    async with chat_backend(tmp_path_factory.mktemp("settings"), model) as running:
        yield running


async def test_some_settings_are_declared_of_each_record() -> None:
    for record in (RoomInfo, ConversationInfo, AgentInfo):
        assert len(settings_of(record)) >= 5


@each
async def test_a_setting_is_made_and_changed_where_it_is_declared(
    running: ChatBackend, tmp_path: Path, record: type, setting: Setting
) -> None:
    path, needed = FACES[record]
    value = another(setting, tmp_path)
    made = (await running.client.call("POST", path, {**needed, setting.name: value})).json
    assert (made.get(setting.name) == value) == setting.in_new
    plain = (await running.client.call("POST", path, needed)).json
    if setting.name not in (*needed, "name", "model", "provider_id"):  # these follow from the others
        default = list(setting.default) if setting.type is tuple and setting.default else setting.default
        assert plain.get(setting.name, default or type(default)()) == (default or type(default)())
    one = f"{path}/{plain['id']}"
    changed = (await running.client.call("PATCH", one, {setting.name: value})).json
    assert changed.get(setting.name) == value
    assert (await running.client.call("GET", one)).json == changed


@each
async def test_what_is_out_of_bounds_or_of_another_type_is_refused_and_changes_nothing(
    running: ChatBackend, record: type, setting: Setting
) -> None:
    path, needed = FACES[record]
    made = (await running.client.call("POST", path, needed)).json
    calls = [("POST", path)] * setting.in_new + [("PATCH", f"{path}/{made['id']}")]
    for method, where in calls:
        wrong = {**needed, setting.name: of_another_type(setting)}
        assert setting.name in await refused(running, method, where, wrong, 422)
        if (value := too_much(setting)) is not None:
            told = await refused(running, method, where, {**needed, setting.name: value}, 422)
            assert setting.name in told or setting.noun in told
    assert (await running.client.call("GET", f"{path}/{made['id']}")).json == made


async def test_a_number_of_hundreds_of_digits_is_out_of_bounds(running: ChatBackend) -> None:
    for name in ("max_tokens", "max_cost"):
        told = await refused(running, "POST", "/api/rooms", {"task": "Talk", name: 10**400}, 422)
        assert "out of bounds" in told or "too large" in told


@pytest.mark.parametrize("setting", settings_of(AgentInfo).values(), ids=lambda setting: setting.name)
async def test_a_setting_of_an_agent_is_made_and_changed(
    running: ChatBackend, tmp_path: Path, setting: Setting
) -> None:
    value = "#abcdef" if setting.name == "color" else another(setting, tmp_path)
    body = {"task": "Talk", "agents": [{"name": "Ada", setting.name: value}, {"name": "Bob"}]}
    room = (await running.client.call("POST", "/api/rooms", body)).json
    assert room["agents"][0][setting.name] == value
    agents = [{"id": room["agents"][0]["id"]}, {"id": room["agents"][1]["id"], setting.name: value}]
    changed = await running.client.call("PATCH", f"/api/rooms/{room['id']}", {"agents": agents})
    other = f"{value} 2" if setting.name == "name" else value  # no two agents have one name
    assert [agent[setting.name] for agent in changed.json["agents"]] == [value, other]
    for method, path in (("POST", "/api/rooms"), ("PATCH", f"/api/rooms/{room['id']}")):
        wrong = {"task": "Talk", "agents": [{"name": "Ada", setting.name: 1}]}
        assert f"agents[0].{setting.name} must" in await refused(running, method, path, wrong, 422)
