"""The HTTP listener's manners: broken, slow and unread connections."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from agent_tui.backend.http.connection import bound_socket, url_of
from agent_tui.backend.http.streaming import EventStream
from agent_tui.model.errors import ConfigError
from tests.backend.served import served
from tests.backend.wire_client import Answer, WireClient, read_head


async def endless() -> AsyncGenerator[bytes, None]:
    while True:
        yield b": x" * 20_000 + b"\n"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer /endless with a stream that never ends and everything else with a word."""
    answer = EventStream(endless()) if scope["path"] == "/endless" else PlainTextResponse("ok")
    await answer(scope, receive, send)


async def raw(port: int, sent: bytes) -> Answer:
    """Return the answer to these very bytes, whatever they are."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        stream = await read_head(reader, writer)
        return Answer(stream.status, stream.headers, await reader.read())
    finally:
        writer.close()


@pytest.mark.parametrize(
    "sent",
    [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET  /\r\n\r\n",
     b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n", b"GET /" + b"x" * 100_000],
    ids=["tls", "no host", "no version", "bad length", "endless head"],
)  # fmt: skip
async def test_what_is_no_http_is_answered_with_a_problem(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        async with served(app) as port:
            answer = await raw(port, sent)
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert json.loads(answer.body)["status"] == 400
    assert not caplog.records


async def test_a_head_that_does_not_arrive_in_time_is_answered_and_cut_off() -> None:
    async with served(app, head_seconds=1.0) as port:
        assert (await raw(port, b"")).status == 408
        assert (await raw(port, b"GET / HTTP/1.1\r\nhost: ")).status == 408
        assert (await WireClient(port).call("GET", "/")).body == b"ok"


async def test_a_second_request_on_the_same_connection_has_its_own_time() -> None:
    async with served(app, head_seconds=1.0) as port:
        answer = await raw(port, b"GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nho")
        assert answer.status == 200
        assert answer.body.startswith(b"okHTTP/1.1 408")


async def test_clients_that_do_not_read_are_cut_off_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.timeout(60), served(app) as port:
        with socket.create_connection(("127.0.0.1", port)) as lazy:
            lazy.sendall(WireClient(port).request("GET", "/endless"))
            assert (await WireClient(port).call("GET", "/")).body == b"ok"
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_port_that_is_taken_is_one_clear_line() -> None:
    with bound_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=f"Cannot listen on 127.0.0.1 port {port}: Address already in use"
        ):
            bound_socket("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "256.1.1.1", "x" * 300, "192.0.2.7"])
def test_an_address_that_is_not_ours_is_one_clear_line(host: str) -> None:
    with pytest.raises(ConfigError) as error:
        bound_socket(host, 0)
    assert "\n" not in str(error.value)


def test_a_url_has_brackets_around_an_ipv6_address() -> None:
    with bound_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert url_of("127.0.0.1", listener) == f"http://127.0.0.1:{port}"
        assert url_of("::1", listener) == f"http://[::1]:{port}"
