"""Tokens of voice rooms: where they come from, what is asked, and that none is ever shown."""

from __future__ import annotations

import json
import time

import pytest
from livekit.protocol import agent
from livekit.protocol import agent_dispatch as dispatch

from agent_tui.clients.http import Net
from agent_tui.clients.voice.signing import SignedTokens
from agent_tui.clients.voice.tokens import (
    BackendTokens,
    EndpointTokens,
    Guest,
    StaticToken,
    Ticket,
    claimed_room,
    new_identity,
    server_url,
)
from agent_tui.model.errors import (
    AgentTuiError,
    ConfigError,
    ConnectFailed,
    NotFound,
    ProtocolError,
    Refused,
    Unauthorized,
)
from agent_tui.wire.voice import token_claims
from tests.fakes.servers.http_server import FakeServer, answers, answers_json

SECRET = "a secret of at least thirty-two characters"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSIsInZpZGVvIjp7InJvb20iOiJkZW1vIn19.c2ln"
GUEST = Guest("demo", "alice-1", "Alice", agent="helper", metadata="{}")


async def test_a_given_token_says_itself_whose_it_is_and_for_which_room() -> None:
    source = StaticToken("https://host/", TOKEN)
    ticket = await source.ticket()
    assert ticket == Ticket("wss://host/", TOKEN, "demo", "alice")
    assert TOKEN not in f"{ticket!r} {source!r} {ticket}"


@pytest.mark.parametrize(("token", "room"), [(TOKEN, "demo"), ("", ""), ("not-a-token", "")])
def test_a_token_names_the_room_that_it_is_for(token: str, room: str) -> None:
    assert claimed_room(token) == room


@pytest.mark.parametrize("token", ["", " ", "two parts", "line\nbreak", "x" * 100_000])
async def test_a_token_that_cannot_be_sent_is_refused_before_anything_is_asked(token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        StaticToken("ws://host", token)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://127.0.0.1:7880", "ws://127.0.0.1:7880"),
        (" wss://x.livekit.cloud ", "wss://x.livekit.cloud"),
        ("https://host/path", "wss://host/path"),
    ],
)
def test_the_address_of_a_server_may_have_either_scheme(given: str, used: str) -> None:
    assert server_url(given) == used


@pytest.mark.parametrize(
    "wrong",
    ["", "host", "ftp://host", "ws://", "ws://host:0", "ws://host:99999", "ws://u:pw@host", "ws://h?k=1"],
)
def test_what_is_no_address_is_refused_without_quoting_it(wrong: str) -> None:
    with pytest.raises(ConfigError) as caught:
        server_url(wrong)
    assert "pw" not in str(caught.value)


async def test_a_signed_token_lets_one_person_into_one_room_and_calls_the_agent_by_name() -> None:
    source = SignedTokens("ws://host", "key", SECRET, GUEST)
    ticket = await source.ticket()
    claims = token_claims(ticket.token)
    video = claims["video"]
    assert isinstance(video, dict)
    assert claims["sub"] == ticket.identity == "alice-1"
    assert claims["name"] == "Alice"
    assert claims["attributes"] == {"agent-tui.owner": "1"}
    assert claims["roomConfig"] == {"agents": [{"agentName": "helper", "metadata": "{}"}]}
    assert (video["room"], video["roomJoin"]) == ("demo", True)
    assert not video.get("canUpdateOwnMetadata")
    assert isinstance(claims["exp"], int)
    assert 0 < claims["exp"] - time.time() <= 600
    assert SECRET not in f"{source!r} {ticket!r}"
    assert ticket.token not in repr(ticket)


async def test_a_token_for_nobody_in_particular_dispatches_nobody() -> None:
    ticket = await SignedTokens("ws://host", "key", SECRET, Guest("demo", "alice-1")).ticket()
    assert "roomConfig" not in token_claims(ticket.token)


def test_a_missing_secret_is_said() -> None:
    with pytest.raises(ConfigError, match="key or secret"):
        SignedTokens("ws://host", "key", "", GUEST)


async def test_an_agent_that_cannot_be_called_is_an_error_without_the_secret() -> None:
    source = SignedTokens("ws://127.0.0.1:9", "key", SECRET, GUEST)
    with pytest.raises(ConnectFailed) as caught:
        await source.call_agent()
    assert SECRET not in str(caught.value)
    assert "eyJ" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "calls"), [(agent.JobStatus.JS_RUNNING, 0), (agent.JobStatus.JS_FAILED, 1)]
)
async def test_an_agent_that_is_on_its_way_is_not_called_a_second_time(
    server: FakeServer, status: agent.JobStatus, calls: int
) -> None:
    job = agent.Job(state=agent.JobState(status=status))
    there = dispatch.AgentDispatch(agent_name="helper", state=dispatch.AgentDispatchState(jobs=[job]))
    listed = dispatch.ListAgentDispatchResponse(agent_dispatches=[there])
    service = "/twirp/livekit.AgentDispatchService/"
    server.on("POST", f"{service}ListDispatch", answers(listed.SerializeToString()))
    server.on("POST", f"{service}CreateDispatch", answers(b""))
    await SignedTokens(server.url.replace("http", "ws", 1), "key", SECRET, GUEST).call_agent()
    assert len(server.asked("POST", f"{service}CreateDispatch")) == calls


async def test_the_standard_endpoint_is_asked_in_livekits_form(server: FakeServer) -> None:
    server.on("POST", "/token", answers_json({"server_url": "ws://host", "participant_token": TOKEN}, 201))
    source = EndpointTokens(f"{server.url}/token?tenant=1", GUEST, environ={})
    ticket = await source.ticket()
    await source.aclose()
    [request] = server.asked("POST", "/token")
    assert request.query == {"tenant": "1"}
    assert json.loads(request.body) == {
        "room_name": "demo",
        "participant_identity": "alice-1",
        "participant_name": "Alice",
        "room_config": {"agents": [{"agent_name": "helper", "metadata": "{}"}]},
    }
    assert ticket == Ticket("ws://host", TOKEN, "demo", "alice")
    assert "authorization" not in request.headers


async def test_an_endpoint_that_writes_its_names_in_camel_case_is_understood(server: FakeServer) -> None:
    server.on("POST", "/t", answers_json({"serverUrl": "ws://host", "participantToken": TOKEN}))
    source = EndpointTokens(f"{server.url}/t", GUEST, environ={})
    assert (await source.ticket()).url == "ws://host"
    await source.aclose()


@pytest.mark.parametrize(
    ("answer", "status", "error", "words"),
    [
        ({"server_url": "ws://host"}, 200, ProtocolError, "not a token"),
        ({"server_url": "nowhere", "participant_token": TOKEN}, 200, ProtocolError, "not a token"),
        ([TOKEN], 200, ProtocolError, "not a token"),
        ({"error": "no"}, 401, Unauthorized, "gives out no token"),
        ({"error": "no"}, 404, NotFound, "no token endpoint"),
    ],
)
async def test_an_endpoint_that_gives_no_token_is_explained(
    server: FakeServer, answer: object, status: int, error: type[AgentTuiError], words: str
) -> None:
    server.on("POST", "/t", answers_json(answer, status))
    source = EndpointTokens(f"{server.url}/t", GUEST, environ={})
    with pytest.raises(error, match=words) as caught:
        await source.ticket()
    await source.aclose()
    assert "eyJ" not in str(caught.value)
    assert "AGENT_TUI" not in str(caught.value)


async def test_our_backend_says_which_room_it_is_and_who_the_agent_is(server: FakeServer, net: Net) -> None:
    fields = {
        "server_url": "ws://127.0.0.1:7",
        "participant_token": TOKEN,
        "room_name": "demo",
        "participant_identity": "terminal-1",
        "conversation_id": "c1",
        "agent_identity": "agent-demo",
        "owner": True,
    }
    server.on("POST", "/api/voice/token", answers_json(fields))
    source = BackendTokens(net, "demo", "Alice", is_guest=True)
    ticket = await source.ticket()
    agents = [{"identity": "agent-demo", "state": state} for state in ("starting", "stopped")]
    states = [answers_json({"rooms": [{"agent": None}, {"agent": agent}]}) for agent in agents]
    server.on("GET", "/api/voice", *states)
    assert await source.call_agent()  # it is on its way
    assert not await source.call_agent()  # by asking again
    first, again = (json.loads(request.body) for request in server.asked("POST", "/api/voice/token"))
    assert first == {"room_name": "demo", "participant_name": "Alice", "guest": True}
    assert again == {**first, "participant_identity": "terminal-1"}
    assert ticket == Ticket("ws://127.0.0.1:7", TOKEN, "demo", "terminal-1", "c1", "agent-demo", True)


async def test_why_the_agent_of_our_backend_failed_is_told_when_it_is_called_again(
    server: FakeServer, net: Net
) -> None:
    fields = {"server_url": "ws://127.0.0.1:7", "participant_token": TOKEN, "agent_identity": "agent-demo"}
    server.on("POST", "/api/voice/token", answers_json(fields))
    agent = {"identity": "agent-demo", "state": "failed", "detail": "tts needs a package\nits last lines"}
    server.on("GET", "/api/voice", answers_json({"rooms": [{"agent": agent}]}))
    source = BackendTokens(net, "demo")
    await source.ticket()
    with pytest.raises(Refused, match=r"^tts needs a package$"):
        await source.call_agent()
    assert len(server.asked("POST", "/api/voice/token")) == 2


async def test_a_backend_without_a_server_says_so_to_programs_too(server: FakeServer, net: Net) -> None:
    problem = {"title": "There is no LiveKit server", "detail": "Run voice setup.", "code": "voice.no_server"}
    server.on("POST", "/api/voice/token", answers_json(problem, 409, kind="application/problem+json"))
    with pytest.raises(Refused) as caught:
        await BackendTokens(net, "demo").ticket()
    assert (caught.value.code, caught.value.title) == ("voice.no_server", "There is no LiveKit server")


def test_two_terminals_of_one_person_are_two_participants() -> None:
    first, second = new_identity("Zoë O'Neil"), new_identity("Zoë O'Neil")
    assert first != second
    assert first.startswith("zoë-o-neil-")
    assert new_identity("🎤").startswith("terminal-")
