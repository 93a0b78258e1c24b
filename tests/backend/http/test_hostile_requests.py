"""Requests made to break the backend: each is answered, none is a 500, none keeps the others waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.http.auth import MAX_HEADER_BYTES, MAX_HEADERS
from agent_tui.backend.http.chat_forms import ClientForm, form_of_accept
from tests.backend.chat_backend import A_PATH, PLAIN, ChatBackend, chat_backend, refused
from tests.fakes.scripted_model import ScriptedModel

HALF = "half \ud800 a character"
NUL = "a \x00 b"
TEXT = (HALF, NUL, "\udfff" * 50, "\ud83d", "x" * 150_000)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    async with chat_backend(
        tmp_path, ScriptedModel(lambda _: ["Yes."], free=True), workspaces=(tmp_path,)
    ) as backend:
        yield backend


# --- headers ---


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ['"\\', '\\"', '"', '",', '";', ",", ";", '"a', "text/event-stream;"])
def test_the_form_that_is_asked_for_is_found_in_time_that_grows_with_the_header_alone(unit: str) -> None:
    for end in ("", "\\", '"', "x"):
        # Once, 31,000 of the first kept all waiting for 28 s.
        assert form_of_accept(unit * 40_000 + end) in ClientForm


async def test_a_header_over_its_bound_is_refused_by_name_and_the_next_call_is_answered(
    running: ChatBackend,
) -> None:
    path = f"{await running.chat()}/events"
    for name in ("accept", "last-event-id", "authorization", "x-anything"):
        answer = await running.client.call("GET", path, headers={name: '"\\' * (MAX_HEADER_BYTES // 2 + 1)})
        assert answer.status == 431
        assert name in answer.json["title"]
    many = {f"x-{number}": "1" for number in range(MAX_HEADERS)}
    assert (await running.client.call("GET", path, headers=many)).status == 431
    assert (
        await running.client.call("GET", "/health", headers={"x-long": "y" * MAX_HEADER_BYTES})
    ).status == 200


# --- words ---


async def _answered(running: ChatBackend, method: str, path: str, body: Any) -> int:
    """Return the status; the rest of a stream is left to itself."""
    async with running.client.open(method, path, body) as stream:
        return stream.status


async def test_half_a_character_anywhere_in_a_body_is_never_an_error_of_ours(
    running: ChatBackend, tmp_path: Path
) -> None:
    chat = await running.chat()
    made = await running.client.call("POST", "/api/rooms", {"task": "t", "agents": [{"name": "Ada"}]})
    room, agent = f"/api/rooms/{made.json['id']}", made.json["agents"][0]["id"]
    agents = [{"id": agent, "name": "Ada"}]
    calls: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
        ("POST", "/api/rooms", {"task": "t"}, ("task", "name", "execution_mode", "on_error", "workspace")),
        ("POST", "/api/rooms", {"task": "t"}, ("on_resume",)),
        ("PATCH", room, {}, ("task", "name", "execution_mode", "on_error", "on_resume", "workspace")),
        ("POST", f"{room}/messages", {"content": "c"}, ("content", "when", "to", "client_key")),
        ("PATCH", f"{room}/queue/none", {"content": "c"}, ("content", "to")),
        ("POST", f"{room}/asks/a/step-0", {"decision": "once"}, ("decision", "pattern", "reason")),
        ("POST", A_PATH, {}, ("title", "system_prompt", "model", "provider_id", "workspace")),
        ("PATCH", chat, {}, ("title", "system_prompt", "model", "provider_id", "workspace", "head")),
        ("POST", f"{chat}/messages", {"content": "c"}, ("content", "parent_id", "again", "client_key")),
        ("POST", f"{chat}/asks/a/step-0", {"decision": "once"}, ("decision", "pattern", "reason")),
    ]
    for text in TEXT:
        for method, path, body, fields in calls:
            for field in fields:
                status = await _answered(running, method, path, {**body, field: text})
                assert status < 500, (method, path, field, text[:20])
        for field in ("id", "name", "color", "system_prompt", "model", "provider_id"):
            odd = [{**agents[0], field: text}]
            for method, path in (("POST", "/api/rooms"), ("PATCH", room)):
                status = await _answered(running, method, path, {"task": "t", "agents": odd})
                assert status < 500, (method, path, field, text[:20])
        for files in ({"name": text, "content": "c"}, {"name": "n", "content": text, "type": text}):
            status = await _answered(
                running, "POST", f"{chat}/messages", {"content": "c", "attachments": [files]}
            )
            assert status < 500, (text[:20], *files)
        tools = {"enabled_tools": [text]}
        for method, path in (("POST", "/api/rooms"), ("PATCH", room), ("POST", A_PATH), ("PATCH", chat)):
            assert await _answered(running, method, path, {"task": "t", **tools}) < 500, (method, path)


@pytest.mark.parametrize("key", [HALF, NUL], ids=["half", "nul"])
async def test_a_key_that_cannot_be_stored_is_refused_and_nothing_is_said(
    running: ChatBackend, key: str
) -> None:
    chat = await running.chat()
    room = (await running.client.call("POST", "/api/rooms", {"task": "t"})).json["id"]
    for path in (f"/api/rooms/{room}/messages", f"{chat}/messages"):
        told = await refused(running, "POST", path, {"content": "c", "client_key": key}, 422)
        assert "client_key" in told
    assert (await running.client.call("GET", f"/api/rooms/{room}/queue")).json["queue"] == []
    assert (await running.client.call("GET", f"{chat}/messages", headers=PLAIN)).json["messages"] == []
