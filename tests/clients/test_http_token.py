from __future__ import annotations

import logging

import pytest

from agent_tui.clients.http import Net
from agent_tui.model.errors import AgentTuiError, ConfigError, ProtocolError
from tests.clients.stream_reading import data, open_stream, read
from tests.fakes.clock import FakeClock
from tests.fakes.servers.http_server import FakeServer, Reply, Request, answers, answers_json, streams

SECRET = "tok-en~SECRET"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_get_follows_redirects(server: FakeServer, net: Net, status: int) -> None:
    server.on("GET", "/x", answers(status=status, headers={"Location": "../y?z=1"}))
    server.on("GET", "/y", answers_json({"at": "y"}))
    assert await net.call("GET", "/x", params={"a": "b"}) == {"at": "y"}
    assert server.requests[1].target == "/y?z=1"


async def test_what_a_redirect_has_as_its_body_is_not_read(server: FakeServer, net: Net) -> None:
    """httpx reads all of it, and unpacks it, before it follows: that is why it does not follow for us."""

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(302, {"Location": "/y"})
        while True:
            await reply.send(b"x" * 10_000)

    server.on("GET", "/x", respond)
    server.on("GET", "/y", answers_json({"at": "y"}))
    assert await net.call("GET", "/x") == {"at": "y"}


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_post_is_never_sent_a_second_time(server: FakeServer, net: Net, status: int) -> None:
    server.on("POST", "/x", answers(status=status, headers={"Location": "/y"}))
    with pytest.raises(ProtocolError, match=f"redirects a POST: HTTP {status} to /y"):
        await net.call("POST", "/x", json={})
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [307, 308])
async def test_a_post_that_was_not_carried_out_follows_with_its_body_at_the_same_origin_alone(
    server: FakeServer, net: Net, status: int
) -> None:
    server.on("POST", "/x", answers(status=status, headers={"Location": "/y?z=1"}))
    server.on("POST", "/y", answers_json({"at": "y"}))
    assert await net.call("POST", "/x", json={"a": 1}) == {"at": "y"}
    asked = [(request.method, request.target, request.body) for request in server.requests]
    assert asked == [("POST", "/x", b'{"a":1}'), ("POST", "/y?z=1", b'{"a":1}')]
    async with FakeServer() as other:
        server.on("POST", "/x", answers(status=status, headers={"Location": f"{other.url}/y"}))
        with pytest.raises(ProtocolError, match=f"redirects a POST: HTTP {status} to {other.url}"):
            await net.call("POST", "/x", json={"a": 1})
        assert other.requests == []


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "without saying where"),
        ({"Location": ""}, "without end"),
        ({"Location": "/x"}, "without end"),
        ({"Location": "ftp://a.test/"}, "no valid address"),
        ({"Location": "http://a.test:99999/"}, "no valid address"),
        ({"Location": "http://a.test:port/"}, "location"),
        ({"Location": "javascript:alert(1)"}, "no valid address"),
    ],
)
async def test_a_redirect_that_leads_nowhere_is_one_clear_error(
    server: FakeServer, net: Net, headers: dict[str, str], words: str
) -> None:
    server.on("GET", "/x", answers(status=302, headers=headers))
    with pytest.raises(ProtocolError, match=words):
        await net.call("GET", "/x")
    assert len(server.requests) <= 11


async def test_the_token_goes_to_our_server_and_not_to_where_it_redirects(server: FakeServer) -> None:
    async with FakeServer() as other, Net(server.url, SECRET, environ={}) as net:
        server.on("GET", "/x", answers(status=307, headers={"Location": other.url + "/y"}))
        other.on("GET", "/y", answers(status=307, headers={"Location": server.url + "/z"}))
        server.on("GET", "/z", streams(b"data: 1\n\n"))
        async with net.stream("GET", "/x") as answer:
            assert b"".join([piece async for piece in answer.body]) == b"data: 1\n\n"
        assert [r.headers.get("authorization") for r in server.requests] == [f"Bearer {SECRET}"] * 2
        assert "authorization" not in other.requests[0].headers


async def test_the_token_shows_nowhere(server: FakeServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.on("GET", "/401", answers_json({"detail": "no"}, 401))
    server.on("GET", "/500", answers("broken", 500))
    server.on("GET", "/html", answers("<html>", headers={"Content-Type": "text/html"}))
    shown = []
    async with Net(server.url, f" {SECRET}\n", environ={}) as net:
        for path in ("/401", "/500", "/html", "/404"):
            with pytest.raises(AgentTuiError) as caught:
                await net.call("GET", path)
            shown += [repr(caught.value), str(caught.value), repr(caught.value.__cause__)]
        shown += [repr(net), str(net)]
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {SECRET}"] * 4
    assert not any(SECRET in text for text in [*shown, *(r.target for r in server.requests), caplog.text])


async def test_a_server_that_repeats_the_token_and_a_login_has_them_hidden(server: FakeServer) -> None:
    told = f"bad Bearer {SECRET} at http://me:pass@a.test/?key=word"
    server.on("GET", "/problem", answers_json({"title": told, "detail": told, "code": SECRET}, 400))
    server.on("GET", "/line", answers(told, 500))
    server.on("GET", "/html", answers(told, headers={"Content-Type": "text/html"}))
    async with Net(server.url, SECRET, environ={}) as net:
        for path in ("/problem", "/line", "/html"):
            with pytest.raises(
                AgentTuiError, match=r"bad Bearer \*+ at http://\*+@a.test/\?key=\*+"
            ) as caught:
                await net.call("GET", path)
            assert SECRET not in repr(vars(caught.value))


async def test_an_error_in_a_stream_that_repeats_the_token_has_it_hidden(
    server: FakeServer, clock: FakeClock
) -> None:
    frames = [
        f'event: {name}\ndata: {{"content":"no {SECRET}","round":1}}\n\n'.encode()
        for name in ("error", "agent_error", "message_chunk")
    ]
    server.on("GET", "/s", streams(*frames, b"event: error\ndata: no JSON\n\n", then="stay"))
    async with Net(server.url, SECRET, environ={}) as net, read(open_stream(net, clock)) as reading:
        await reading.until(lambda items: len(data(items)) == 4)
    hidden = '{"content":"no ********","round":1}'
    said = f'{{"content":"no {SECRET}","round":1}}'  # words are words
    assert data(reading.items) == [hidden, hidden, said, "no JSON"]


@pytest.mark.parametrize(
    "error",
    [
        f"plain {SECRET}",
        f'"{SECRET}"',
        f'{{"error":{{"message":"{SECRET}"}}}}',
        "[" * 990 + f'"{SECRET}"' + "]" * 990,
    ],
)
def test_an_error_of_any_form_hides_the_token(error: str) -> None:
    assert SECRET in error
    assert SECRET not in Net("http://127.0.0.1:9", SECRET, environ={}).redacted_error(error)


@pytest.mark.parametrize(
    ("token", "error", "shown"),
    [
        (
            "agent",
            '{"agent_id": "agent-1", "agent": "agent", "error": "agent-1, management: no agent"}',
            '{"agent_id":"agent-1","agent":"agent","error":"agent-1, management: no ********"}',
        ),
        (SECRET, '{"n": 1e999, "error": "x"}', '{"n": 1e999, "error": "x"}'),
        (SECRET, f'{{"n": 1e999, "error": "{SECRET}"}}', '{"n":null,"error":"********"}'),
        (
            SECRET,
            '{"content": "http://a.test/c: is it loaded?请检查配置"}',
            '{"content": "http://a.test/c: is it loaded?请检查配置"}',
        ),
        (SECRET, f'{{"sent": "Bearer {SECRET}"}}', '{"sent":"Bearer ********"}'),
        (SECRET, '{"error": "tok\\u002den~SECRET"}', '{"error":"********"}'),
    ],
)
def test_an_error_hides_the_token_and_keeps_all_else(token: str, error: str, shown: str) -> None:
    assert Net("http://127.0.0.1:9", token, environ={}).redacted_error(error) == shown


@pytest.mark.parametrize("token", ["a b", "a\nb", "пароль", "a\x00b"])
def test_a_token_that_cannot_be_sent_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Net("http://127.0.0.1", token)
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8000",
        "ftp://a.test",
        "http://",
        "http://a.test:port",
        "http://a.test:99999",
        "http://a.test/?x=1",
        "http://a.test/#x",
        "http://user:hunter2@a.test",
        "http://a.test/\x1b[2J",
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Net(url, environ={})
    assert "hunter2" not in str(caught.value)
    assert not set("\n\x1b") & set(str(caught.value))


def test_a_bad_proxy_is_told_at_once() -> None:
    with pytest.raises(ConfigError, match="HTTP_PROXY"):
        Net("http://a.test", environ={"HTTP_PROXY": "ftp://x"})
