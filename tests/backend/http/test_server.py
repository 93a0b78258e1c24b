"""The HTTP face as a whole: who is let in, what every error looks like, limits."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, NoReturn

import pytest

from agent_tui import BACKEND_PROTOCOL, __version__
from agent_tui.backend.http.body import MAX_BODY_BYTES
from agent_tui.model.errors import ConfigError
from tests.backend.in_process import Backend, backend
from tests.backend.wire_client import Answer, WireClient
from tests.fakes.scripted_model import FakeModels, ScriptedModel

SILENT = ScriptedModel(lambda request: [])


def assert_problem(answer: Answer, status: int) -> dict[str, Any]:
    """Assert that the answer is a problem of this status, to the letter, and return its fields."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    fields: dict[str, Any] = answer.json
    assert set(fields) == {"type", "title", "status", "detail"}
    assert fields["status"] == status
    assert fields["title"]
    assert "Traceback" not in answer.body.decode()
    return fields


async def test_health_says_who_it_is_without_a_token(talking: Backend) -> None:
    answer = await WireClient(talking.client.port).call("GET", "/health")
    assert answer.status == 200
    about = {"version": __version__, "protocol": BACKEND_PROTOCOL, "instance": "instance-1"}
    assert answer.json == {"status": "ok", **about}


async def test_everything_else_asks_for_the_token(talking: Backend) -> None:
    calls = ("GET /api/rooms", "POST /api/rooms", "GET /api/rooms/x", "POST /api/rooms/x/run",
             "GET /api/rooms/x/events", "GET /api/backend", "POST /api/backend/stop", "GET /nowhere",
             "GET /")  # fmt: skip
    for call in calls:
        for token in (None, "wrong"):
            method, path = call.split()
            answer = await WireClient(talking.client.port, token).call(method, path)
            assert_problem(answer, 401)
            assert answer.headers["www-authenticate"].startswith("Bearer")
    assert talking.stops == []


async def test_foreign_hosts_and_origins_are_refused_even_with_the_token(talking: Backend) -> None:
    client = talking.client
    for path in ("/api/rooms", "/health"):
        assert_problem(await client.call("GET", path, headers={"host": "evil.example"}), 403)
        assert_problem(await client.call("GET", path, headers={"origin": "http://evil.example"}), 403)
        assert (await client.call("GET", path, headers={"origin": "http://localhost:3000"})).status == 200


NOWHERE = """GET /; GET /nowhere; GET /api/rooms/; GET /api//rooms; GET /api/rooms/x; DELETE /api/rooms/x;
GET /api/rooms/x/messages; GET /api/rooms/x/events; POST /api/rooms/x/run; POST /api/rooms/x/pause;
POST /api/rooms/x/resume; POST /api/rooms/x/agents/y/stop; POST /api/conversations"""
NOT_OFFERED = """PUT /api/rooms; OPTIONS /api/rooms; BREW /api/rooms; POST /api/rooms/x;
PUT /api/rooms/x/messages; GET /api/rooms/x/agents/y/stop; POST /api/rooms/x/queue;
GET /api/rooms/x/run; POST /api/rooms/x/events; GET /api/rooms/x/pause;
POST /health"""


async def test_what_does_not_exist_is_a_problem(talking: Backend) -> None:
    for calls, status in ((NOWHERE, 404), (NOT_OFFERED, 405)):
        for call in calls.split(";"):
            method, path = call.split()
            assert_problem(await talking.client.call(method, path), status)
    assert_problem(await talking.client.call("PATCH", "/api/rooms/x", {"name": "y"}), 404)


async def test_a_wrong_method_is_told_all_the_right_ones(talking: Backend) -> None:
    answer = await talking.client.call("PUT", "/api/rooms/x")
    assert set(re.split(", ?", answer.headers["allow"])) == {"GET", "HEAD", "PATCH", "DELETE"}


ODD_IDS = ("%2F", "..", "%2e%2e", "%00", "a%0d%0ab", "%ff%fe", "%F0%9F%92%A3", "'%20or%201=1--", "x" * 10_000,
           "a%20b", "*")  # fmt: skip


async def test_an_odd_or_endless_id_is_just_not_found(talking: Backend) -> None:
    client = talking.client
    known = await talking.room()
    for odd in ODD_IDS:
        for call in ("GET {}", "DELETE {}", "POST {}/run", "GET {}/events", "POST {}/pause"):
            method, path = call.format(f"/api/rooms/{odd}").split()
            assert_problem(await client.call(method, path), 404)
        assert_problem(await client.call("GET", f"/api/rooms/{known}/messages?after={odd}"), 404)


NO_JSON = (b" ", b"{", b"nope", b"\xff\xfe\xfa", b'{"task": "x"',
           b'{"task": NaN}', b"[" * 99_999, b'{"a":' * 99_999,
           b'{"task": "x"} trailing', b'{"max_rounds": ' + b"9" * 5000 + b"}")  # fmt: skip


async def test_a_body_that_is_no_json_is_a_400_and_one_that_is_no_object_a_422(
    talking: Backend,
) -> None:
    for body in NO_JSON:
        assert_problem(await talking.client.call("POST", "/api/rooms", body), 400)
    for body in (b"[]", b"1", b'"task"', b"null", b"true", b""):
        assert_problem(await talking.client.call("POST", "/api/rooms", body), 422)


async def test_a_body_over_the_limit_is_refused_before_and_while_it_comes(talking: Backend) -> None:
    client = talking.client
    large = json.dumps({"task": "x" * 8 * MAX_BODY_BYTES}).encode()
    assert_problem(await client.call("POST", "/api/rooms", large), 413)
    announced = {"content-length": str(50 * MAX_BODY_BYTES), "expect": "100-continue"}
    assert_problem(await client.call("POST", "/api/rooms", headers=announced), 413)
    pieces = b"".join(b"10000\r\n" + b"x" * 0x10000 + b"\r\n" for _ in range(MAX_BODY_BYTES // 0x10000 + 1))
    chunked = {"transfer-encoding": "chunked", "content-length": "-"}
    assert_problem(await client.call("POST", "/api/rooms", pieces + b"0\r\n\r\n", headers=chunked), 413)


async def test_a_bug_is_a_500_without_a_traceback_and_the_log_has_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(FakeModels):
        def default_provider(self) -> NoReturn:
            raise RuntimeError("secret internals")

    async with backend(tmp_path, SILENT, models=Broken(SILENT)) as running:
        answer = await running.client.call("POST", "/api/rooms", {"task": "x"})
        assert "secret internals" not in str(assert_problem(answer, 500))
        assert (await running.client.call("GET", "/health")).status == 200
    assert "secret internals" in caplog.text


async def test_an_error_of_ours_says_what_it_is(tmp_path: Path) -> None:
    class Unconfigured(FakeModels):
        def default_provider(self) -> NoReturn:
            raise ConfigError("config.toml: not valid TOML", "line 3")

    async with backend(tmp_path, SILENT, models=Unconfigured(SILENT)) as running:
        fields = assert_problem(await running.client.call("POST", "/api/rooms", {"task": "x"}), 500)
        assert (fields["title"], fields["detail"]) == ("config.toml: not valid TOML", "line 3")


async def test_a_broken_store_is_a_503_that_says_so(talking: Backend) -> None:
    await talking.engine._store.close()
    fields = assert_problem(await talking.client.call("GET", "/api/rooms"), 503)
    assert "store" in fields["title"].lower()


async def test_stop_is_asked_for_with_the_token_and_turns_newcomers_away(talking: Backend) -> None:
    answer = await talking.client.call("POST", "/api/backend/stop")
    assert answer.status == 202
    assert answer.json == {
        "status": "stopping",
        "rooms_running": 0,
        "answers_running": 0,
        "voice_rooms": 0,
    }
    assert talking.stops == [None]
    refused = await talking.client.call("GET", "/api/rooms")
    assert_problem(refused, 503)
    assert refused.headers["retry-after"] == "1"


async def test_a_backend_in_use_is_not_stopped_where_only_an_unused_one_may_be(talking: Backend) -> None:
    async with talking.client.open("GET", "/api/backend/use") as stream:
        await anext(stream.chunks())
        assert (await talking.client.call("GET", "/api/backend")).json["in_use"] is True
        assert_problem(await talking.client.call("POST", "/api/backend/stop?if_unused=1"), 409)
        assert talking.stops == []
    while talking.traffic.under_way:  # noqa: ASYNC110 - until it noticed that the client has left
        await asyncio.sleep(0)
    assert (await talking.client.call("GET", "/api/backend")).json["in_use"] is False
    assert (await talking.client.call("POST", "/api/backend/stop?if_unused=1")).status == 202


async def test_requests_under_way_are_counted(talking: Backend) -> None:
    room_id = await talking.room()
    async with talking.client.open("GET", f"/api/rooms/{room_id}/events") as stream:
        await anext(stream.chunks())
        assert talking.traffic.under_way == 1
        assert talking.traffic.last_seconds > 0
