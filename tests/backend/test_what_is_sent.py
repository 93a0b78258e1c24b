"""What the forms of chats, rooms and providers say is what models are asked, by each kind of provider."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from agent_tui.backend.engine.kinds import CHATS, ROOMS
from agent_tui.backend.models.providers import Models
from tests.backend.engine.chat_house import open_chats, speaks
from tests.backend.engine.house import open_house
from tests.fakes.agents.agent_sessions import KeptSessions
from tests.fakes.models.dialects import KINDS, Kind
from tests.fakes.models.model_server import FakeModelServer
from tests.fakes.scripted_model import FakeModels
from tests.fakes.scripted_tools import reader, writer

GOOGLE = KINDS[3]
UNCHOSEN = {"temperature", "reasoning_effort", "thinking", "thinkingConfig", "chat_template_kwargs"}


def configured(tmp_path: Path, server: FakeModelServer, kind: Kind, more: str = "") -> FakeModels:
    """Return the models of a config file with one provider of that kind."""
    path = tmp_path / "config.toml"
    url = f"http://127.0.0.1:{server.port}{kind.path}"
    path.write_text(f'[providers.one]\nkind = "{kind}"\nbase_url = "{url}"\nmodel = "some-model"\n{more}')
    return cast("FakeModels", Models(path, demo_rate=0, demo_seed=0, sessions=KeptSessions()))


def settings(kind: Kind, body: Any) -> dict[str, Any]:
    return {**body, **body.get("generationConfig", {})} if kind is GOOGLE else dict(body)


def most_in(kind: Kind) -> str:
    return "maxOutputTokens" if kind is GOOGLE else "max_tokens"


def tools_in(body: Any) -> list[str]:
    found = [one for tool in body.get("tools", ()) for one in tool.get("functionDeclarations", [tool])]
    return [tool.get("name") or tool["function"]["name"] for tool in found]


def system_in(kind: Kind, body: Any) -> str:
    if kind is GOOGLE:
        return "".join(part["text"] for part in body["systemInstruction"]["parts"])
    told = body["system"] if kind.name == "anthropic" else body["messages"][0]["content"]
    return told if isinstance(told, str) else "".join(block["text"] for block in told)


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_a_chat_asks_for_what_its_form_says_and_nothing_else(tmp_path: Path, kind: Kind) -> None:
    async with FakeModelServer() as server:
        server.default = kind.says("Yes.")
        models = configured(tmp_path, server, kind)
        tools = (reader(), writer())
        async with open_chats(tmp_path / "a.db", speaks([]), *tools, models=models, enabled=None) as house:
            with house.engine.chats.attend(house.id):
                await house.ask()
            change = {
                "system_prompt": "Be brief.",
                "model": "other",
                "temperature": 0.2,
                "enabled_tools": (),
                "max_tokens": 5000,
            }
            await house.engine.change(CHATS, house.id, change)
            await house.ask()
            change = {"temperature": None, "enabled_tools": ("look",), "answer_tokens": 400}
            await house.engine.change(CHATS, house.id, change)
            await house.ask()
        await cast("Models", models).aclose()
        first, second, third = (request.body for request in server.requests)
        paths = [request.path for request in server.requests]
    assert not UNCHOSEN & settings(kind, first).keys()
    assert tools_in(first) == ["look", "change"]
    assert settings(kind, second)["temperature"] == 0.2
    assert (tools_in(second), system_in(kind, second)) == ([], "Be brief.")
    assert second.get("model", paths[1]).find("other") >= 0
    assert "temperature" not in settings(kind, third)
    assert settings(kind, third)[most_in(kind)] == 400
    assert tools_in(third) == ["look"]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("answer_tokens", [0, 700])
async def test_a_room_asks_for_what_its_agents_and_the_provider_say(
    tmp_path: Path, kind: Kind, answer_tokens: int
) -> None:
    async with FakeModelServer() as server:
        server.default = kind.says("Yes.")
        models = configured(tmp_path, server, kind, "max_tokens = 300\n")
        async with open_house(tmp_path / "a.db", models) as house:
            agents = ({"name": "Ada", "system_prompt": "Be Ada.", "model": "other"},)
            new = {"task": "Talk", "max_rounds": 1, "agents": agents, "answer_tokens": answer_tokens}
            room = await house.engine.create(ROOMS, new)
            await house.engine.rooms.run(room.id)
            await house.log.ended(room.id)
        await cast("Models", models).aclose()
        (request,) = server.requests
    sent = settings(kind, request.body)
    assert not UNCHOSEN & sent.keys()
    assert sent[most_in(kind)] == (answer_tokens or 300)
    assert system_in(kind, request.body).startswith("Be Ada.")
    assert request.body.get("model", request.path).find("other") >= 0
