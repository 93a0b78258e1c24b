"""A room from end to end: a backend, a model server, and all that a person does meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.models.providers import Models
from tests.backend.in_process import backend
from tests.backend.wire_client import Frame, WireClient
from tests.fakes.agents.agent_sessions import KeptSessions
from tests.fakes.models.model_server import FakeModelServer, says
from tests.fakes.scripted_model import ScriptedModel

MODEL = "some-model"
NOBODY = ScriptedModel(lambda request: [])  # all that is said comes from the model server
AGENTS = ("Ada", "Mika", "老王")


@dataclass(slots=True)
class Room:
    """One room, its ids, and its events as they come."""

    client: WireClient
    path: str
    ids: dict[str, str]
    events: AsyncIterator[Frame]

    async def until(self, name: str) -> list[Frame]:
        """Return the events up to the next one called ``name``."""
        frames = [await anext(self.events)]
        while frames[-1].name != name:
            frames.append(await anext(self.events))
        return frames

    async def ask(self, method: str, path: str = "", body: Any = None) -> Any:
        """Return the JSON of an answer that is a yes."""
        answer = await self.client.call(method, self.path + path, body)
        assert answer.status in (200, 202), answer.body
        return answer.json

    async def act(self, agent: str, act: str) -> None:
        await self.ask("POST", f"/agents/{self.ids[agent]}/{act}", {})

    async def messages(self) -> list[dict[str, Any]]:
        answer = await self.ask("GET", "/messages")
        listed: list[dict[str, Any]] = answer["messages"]
        return listed


@asynccontextmanager
async def a_room(folder: Path, models: FakeModelServer, **fields: Any) -> AsyncIterator[Room]:
    """Give a room of three agents whose words come from ``models``; it does not run yet."""
    config = folder / "config.toml"
    config.write_text(
        f'[providers.local]\nkind = "openai"\nbase_url = "{models.url}"\nmodel = "{MODEL}"\n'
        "input_price = 1.0\noutput_price = 2.0\n"
    )
    providers = Models(config, demo_rate=0, demo_seed=0, sessions=KeptSessions())
    async with aclosing(providers), backend(folder, NOBODY, models=providers) as running:
        client = running.client
        asked = {"task": "Redis or PostgreSQL?", "max_rounds": 1, **fields}
        asked["agents"] = [{"name": name, "system_prompt": f"You are {name}."} for name in AGENTS]
        room = (await client.call("POST", "/api/rooms", asked)).json
        ids = {agent["name"]: agent["id"] for agent in room["agents"]}
        path = f"/api/rooms/{room['id']}"
        async with client.open("GET", f"{path}/events?accumulated=0") as stream:
            yield Room(client, path, ids, stream.frames())


async def start(room: Room) -> None:
    async with room.client.open("POST", f"{room.path}/run") as stream:
        assert stream.status == 200


def told(models: FakeModelServer, agent: str) -> list[str]:
    """Return what the newest call for ``agent`` told its model, without the system prompt.

    Neighbours of one role are told as one message, a blank line between them.
    """
    own = f"You are {agent}.\n\n"
    calls = [call for call in models.requests if call.body["messages"][0]["content"].startswith(own)]
    contents = [message["content"] for message in calls[-1].body["messages"][1:]]
    return [words for content in contents for words in content.split("\n\n")]


def stalled(*words: str) -> Any:
    return says(*words, finish=None, usage=None, done=False, ending="stall")


async def test_a_room_with_a_model_server_runs_to_its_end_and_says_what_it_used(tmp_path: Path) -> None:
    async with FakeModelServer() as models, a_room(tmp_path, models) as room:
        models.will(*(says(f"{name} ", "says.", usage=(1000, 500)) for name in AGENTS))
        await start(room)
        await room.until("room_completed")
        answers = [message for message in await room.messages() if message["role"] == "assistant"]
        assert [(m["sender_name"], m["status"]) for m in answers] == [(n, "completed") for n in AGENTS]
        usage = [message["usage"] for message in answers]
        assert all((u["prompt_tokens"], u["completion_tokens"]) == (1000, 500) for u in usage)
        assert all(u["cost"] == 0.002 and 0 <= u["first_token_seconds"] < 60 for u in usage)
        seen = await room.ask("GET")
        assert (seen["tokens"], round(seen["cost"], 6), seen["last_speaker"]) == (4500, 0.006, "老王")
        assert told(models, "老王")[-2:] == ["[Ada]: Ada says.", "[Mika]: Mika says."]


async def test_the_one_who_rambles_is_stopped_and_the_round_goes_on(tmp_path: Path) -> None:
    async with FakeModelServer() as models, a_room(tmp_path, models) as room:
        models.will(stalled("So, as I was saying, "))
        await start(room)
        await room.until("message_chunk")
        await room.act("Ada", "stop")
        (end,) = [frame for frame in await room.until("message_end") if frame.name == "message_end"]
        assert (end.fields["interrupted"], end.fields["content"]) == ("stop", "So, as I was saying, ")
        await models.until(lambda: models.open <= 1)  # its call is gone, whoever speaks now
        await room.until("room_completed")
        assert [m["sender_name"] for m in await room.messages()][1:] == list(AGENTS)


async def test_a_whisper_is_told_to_one_agent_and_to_no_other(tmp_path: Path) -> None:
    async with FakeModelServer() as models, a_room(tmp_path, models, max_rounds=2) as room:
        models.will(stalled("Well, "))
        await start(room)
        await room.until("message_chunk")
        whisper = {"content": "be bold", "when": "next", "to": room.ids["Mika"], "client_key": "k1"}
        first = await room.ask("POST", "/messages", whisper)
        assert await room.ask("POST", "/messages", whisper) == first
        await room.act("Ada", "stop")
        await room.until("room_completed")
        whispers = [message for message in await room.messages() if message.get("to")]
        assert [(w["to"], w["id"]) for w in whispers] == [(room.ids["Mika"], first["id"])]
        assert any("be bold" in words for words in told(models, "Mika"))
        assert not any("be bold" in words for name in ("Ada", "老王") for words in told(models, name))


async def test_words_said_now_cut_the_speaker_who_goes_on_knowing_them(tmp_path: Path) -> None:
    async with FakeModelServer() as models, a_room(tmp_path, models) as room:
        models.will(stalled("Redis, because "), says("PostgreSQL then."))
        await start(room)
        await room.until("message_chunk")
        said = await room.ask("POST", "/messages", {"content": "no Redis, please", "when": "now"})
        frames = await room.until("message_end")
        assert frames[-1].fields["interrupted"] == "interject"
        frames = await room.until("room_completed")
        people = [f.fields for f in frames if f.name == "message" and f.fields["role"] == "user"]
        assert [message["id"] for message in people] == [said["id"]]
        again = next(frame.fields for frame in frames if frame.name == "message_start")
        assert (again["sender_name"], again["attempt"]) == ("Ada", 2)
        texts = [m["status"] for m in await room.messages() if m["sender_name"] == "Ada"]
        assert texts == ["interrupted", "completed"]


async def test_the_last_turn_is_said_again_and_the_old_one_stays_marked(tmp_path: Path) -> None:
    async with FakeModelServer() as models, a_room(tmp_path, models) as room:
        models.will(says("one"), says("two"), says("three"), says("three, better"))
        await start(room)
        await room.until("room_completed")
        refused = await room.client.call("POST", f"{room.path}/agents/{room.ids['Ada']}/retry", {})
        assert refused.status == 409
        await room.act("老王", "retry")
        frames = await room.until("room_completed")
        assert not [frame for frame in frames if frame.name == "round_end"]
        old, new = (m for m in await room.messages() if m["sender_name"] == "老王")
        start_of_new = next(frame.fields for frame in frames if frame.name == "message_start")
        assert start_of_new["supersedes"] == old["id"]
        assert old["superseded"] is True
        assert new["id"] == start_of_new["id"]
        assert not any("three" in words for words in told(models, "老王"))


async def test_a_room_stops_at_its_ceiling_and_goes_on_when_that_is_raised(tmp_path: Path) -> None:
    async with FakeModelServer() as models, a_room(tmp_path, models, max_tokens=1500) as room:
        models.default = says("words", usage=(900, 100))
        await start(room)
        paused = (await room.until("room_paused"))[-1].fields
        assert paused["interrupted"] == "budget"
        refused = await room.client.call("POST", f"{room.path}/resume", {})
        assert refused.status == 409
        assert b"max_tokens" in refused.body or b"budget" in refused.body
        await room.ask("PATCH", "", {"max_tokens": 50_000})
        await room.ask("POST", "/resume", {})
        await room.until("room_completed")
        assert [m["sender_name"] for m in await room.messages()][1:] == list(AGENTS)


@pytest.mark.slow
async def test_forty_rooms_are_kept_apart_while_four_of_them_speak(tmp_path: Path) -> None:
    async with FakeModelServer() as models, a_room(tmp_path, models) as first:
        client = first.client
        agents = [{"name": name} for name in AGENTS]
        bodies = [{"task": f"task {n}", "max_rounds": 1, "agents": agents} for n in range(39)]
        made = [(await client.call("POST", "/api/rooms", body)).json for body in bodies]
        models.default = stalled("mine ")
        for room in made[:4]:
            async with client.open("POST", f"/api/rooms/{room['id']}/run") as stream:
                assert stream.status == 200
        await models.until(lambda: models.open == 4)
        listed = (await client.call("GET", "/api/rooms")).json["rooms"]
        assert len(listed) == 40
        running_now = {room["id"] for room in listed if room["status"] == "running"}
        assert running_now == {room["id"] for room in made[:4]}
        models.default = says("mine ", "and done.")
        models.release()
        ends = (
            client.frames("GET", f"/api/rooms/{r['id']}/events", until="room_completed") for r in made[:4]
        )
        logs = await asyncio.gather(*ends)
        for room, log in zip(made[:4], logs, strict=True):
            assert [frame.id for frame in log] == list(range(1, len(log) + 1))
            assert {f.fields.get("room_id", room["id"]) for f in log} == {room["id"]}
        idle = [
            room for room in (await client.call("GET", "/api/rooms")).json["rooms"] if room["last_event_id"]
        ]
        assert len(idle) == 4
