from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from agent_tui.clients import http as http_module
from agent_tui.clients.http import PIECE_BYTES, Net, StreamedResponse
from agent_tui.model.errors import (
    AgentTuiError,
    ConnectFailed,
    NotFound,
    NotOffered,
    ProtocolError,
    Refused,
    StreamLost,
    TimedOut,
    TransportError,
    Unauthorized,
)
from tests.fakes.servers.http_server import (
    FakeServer,
    Reply,
    Request,
    answers,
    answers_json,
    listening,
    streams,
)


async def body_of(answer: StreamedResponse) -> bytes:
    return b"".join([piece async for piece in answer.body])


# --- calls -------------------------------------------------------------------------------------------


async def test_a_call_sends_json_and_parses_json(server: FakeServer, net: Net) -> None:
    server.on("POST", "/api/rooms", answers_json({"id": "r1", "name": "комната"}, 201))
    answer = await net.call("POST", "/api/rooms", json={"task": "会话\ud800"}, params={"a": "b c"})
    assert answer == {"id": "r1", "name": "комната"}
    (request,) = server.requests
    assert json.loads(request.body) == {"task": "会话\ufffd"}
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.query == {"a": "b c"}


@pytest.mark.parametrize("prefix", ["", "/", "/deep/prefix", "/deep/prefix/"])
async def test_the_address_may_have_a_path(server: FakeServer, prefix: str) -> None:
    path = prefix.rstrip("/") + "/api/rooms/a%2Fb"
    server.on("GET", path, answers_json([]))
    async with Net(server.url + prefix, environ={}) as net:
        assert await net.call("GET", "/api/rooms/a%2Fb") == []
    assert server.requests[0].target == path


async def test_an_id_that_is_too_long_for_an_address_is_an_error_of_ours(net: Net) -> None:
    for asked in ({"path": "/api/rooms/" + "x" * 70_000}, {"path": "/x", "params": {"after": "x" * 70_000}}):
        with pytest.raises(ProtocolError, match="cannot be"):
            await net.call("GET", **asked)


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_an_empty_body_is_none(server: FakeServer, net: Net, status: int) -> None:
    server.on("POST", "/x", answers(b"", status))
    assert await net.call("POST", "/x") is None


@pytest.mark.parametrize("kind", ["application/json", "application/vnd.x+json; charset=utf-8", "text/plain"])
async def test_json_may_come_under_several_types(server: FakeServer, net: Net, kind: str) -> None:
    server.on("GET", "/x", answers_json([1], kind=kind))
    assert await net.call("GET", "/x") == [1]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", "<html>Sign in\x1b[2J"),
        ("application/json", "<html>Sign in\x1b[2J"),
        ("", "{<html>Sign in"),
    ],
)
async def test_a_page_instead_of_json_shows_status_and_first_line(
    server: FakeServer, net: Net, kind: str, body: str
) -> None:
    server.on("GET", "/x", answers(body, headers={"Content-Type": kind} if kind else {}))
    with pytest.raises(ProtocolError, match=r"not JSON: HTTP 200, .*<html>Sign in") as caught:
        await net.call("GET", "/x")
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, Unauthorized), (404, NotFound), (405, NotOffered), (409, Refused), (503, TransportError)],
)
async def test_a_refusal_brings_the_servers_words(
    server: FakeServer, net: Net, status: int, kind: type[AgentTuiError]
) -> None:
    problem = {"type": "about:blank", "title": "The title", "status": status, "detail": "The detail"}
    server.on("GET", "/x", answers_json(problem, status, {"Retry-After": "7"}, "application/problem+json"))
    with pytest.raises(kind, match="The detail") as caught:
        await net.call("GET", "/x")
    assert getattr(caught.value, "retry_after", 7) == 7


async def test_an_error_whose_body_breaks_off_is_still_that_error(server: FakeServer, net: Net) -> None:
    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(404, {"Content-Length": "100"}, chunked=False)
        await reply.raw(b"gone\n")

    server.on("GET", "/x", respond)
    with pytest.raises(NotFound, match="gone"):
        await net.call("GET", "/x")


async def test_an_endless_error_body_is_not_read_to_its_end(server: FakeServer, net: Net) -> None:
    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(500)
        while True:
            await reply.send(b"x" * 10_000)

    server.on("GET", "/x", respond)
    with pytest.raises(TransportError):
        await net.call("GET", "/x")
    await server.until(lambda: server.open == 0)


async def test_an_error_body_that_stops_coming_is_not_waited_for(
    server: FakeServer, net: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_module, "EXCERPT_SECONDS", 1.0)

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(410)
        await reply.send(b"gone\n")
        await reply.stay()

    server.on("GET", "/s", respond)
    with pytest.raises(Refused, match="gone"):
        async with net.stream("GET", "/s"):
            raise AssertionError("the stream must not open")
    await server.until(lambda: server.open == 0)


async def test_a_body_over_the_limit_is_refused(
    server: FakeServer, net: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_module, "MAX_BODY_BYTES", 100_000)
    bomb = gzip.compress(b"0" * 10_000_000)
    server.on(
        "GET", "/x", answers(bomb, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})
    )
    with pytest.raises(ProtocolError, match="larger than 100,000 bytes"):
        await net.call("GET", "/x")


async def test_connections_of_calls_are_closed_in_the_end(server: FakeServer) -> None:
    server.on("GET", "/x", answers_json([]))
    async with Net(server.url, environ={}) as net:
        await asyncio.gather(*(net.call("GET", "/x") for _ in range(20)))
    await server.until(lambda: server.open == 0)
    assert server.accepted == 20


# --- what goes wrong on the way ----------------------------------------------------------------------


async def test_nobody_there_is_connect_failed() -> None:
    async with listening(lambda reader, writer: asyncio.sleep(0)) as port:
        pass  # the port is free again
    async with Net(f"http://127.0.0.1:{port}", environ={}) as net:
        with pytest.raises(ConnectFailed, match=f"127.0.0.1:{port}: Connection refused") as caught:
            await net.call("GET", "/x")
    assert caught.value.retryable
    assert caught.value.__cause__ is not None


async def test_an_unknown_name_says_so() -> None:
    async with Net("http://no-such-host.invalid", environ={}) as net:
        with pytest.raises(ConnectFailed, match="there is no host of that name"):
            await net.call("GET", "/x")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b"", StreamLost),
        (b"HTTP/1.1 200 O", StreamLost),
        (b"220 mail.test ESMTP\r\n\r\n", ProtocolError),
        (b"\x00\x01\x02\x03\r\n\r\n", ProtocolError),
        (b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n", ProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n[1, 2", StreamLost),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", StreamLost),
    ],
)
async def test_bytes_that_are_no_answer_are_one_clear_error(said: bytes, kind: type[AgentTuiError]) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    async with listening(connected) as port, Net(f"http://127.0.0.1:{port}", environ={}) as net:
        with pytest.raises(kind) as caught:
            await net.call("GET", "/x")
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


async def test_a_reset_is_a_lost_stream(server: FakeServer, net: Net) -> None:
    async def respond(request: Request, reply: Reply) -> None:
        await reply.reset()

    server.on("GET", "/x", respond)
    with pytest.raises(StreamLost, match="Connection reset by peer"):
        await net.call("GET", "/x")


async def test_a_server_that_never_answers_is_timed_out(server: FakeServer) -> None:
    async def respond(request: Request, reply: Reply) -> None:
        await reply.stay()

    server.on("GET", "/x", respond)
    async with Net(server.url, timeout=0.05, environ={}) as net:
        with pytest.raises(TimedOut, match=r"0\.05 s"):
            await net.call("GET", "/x")
    await server.until(lambda: server.open == 0)


async def test_a_body_that_stops_coming_is_timed_out(server: FakeServer) -> None:
    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "application/json"})
        await reply.send(b"[")
        await reply.stay()

    server.on("GET", "/x", respond)
    async with Net(server.url, timeout=1.0, environ={}) as net:  # the head is to come in time, on any machine
        with pytest.raises(TimedOut, match="stopped coming"):
            await net.call("GET", "/x")


async def test_a_body_that_comes_byte_by_byte_has_an_end(
    server: FakeServer, net: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every byte comes in time, and all of them never do."""

    async def respond(request: Request, reply: Reply) -> None:
        monkeypatch.setattr(http_module, "CONNECT_SECONDS", -29.9)  # of the 30 s that the rest may take
        await reply.head(200, {"Content-Type": "application/json"})
        await reply.send(b"[")
        await reply.stay()

    server.on("GET", "/x", respond)
    with pytest.raises(TimedOut, match="the answer came too slowly"):
        await net.call("GET", "/x")
    await server.until(lambda: server.open == 0)


async def test_a_cancelled_call_leaves_no_connection(server: FakeServer, net: Net) -> None:
    async def respond(request: Request, reply: Reply) -> None:
        await reply.stay()

    server.on("GET", "/x", respond)
    call = asyncio.create_task(net.call("GET", "/x"))
    await server.until(lambda: len(server.requests) == 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await server.until(lambda: server.open == 0)


async def test_cancelling_a_tls_handshake_leaves_no_connection() -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        arrived.set()
        await reader.read()
        left.set()
        writer.close()

    async with listening(connected) as port, Net(f"https://127.0.0.1:{port}", environ={}) as net:
        call = asyncio.create_task(net.call("GET", "/x"))
        await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await left.wait()


# --- streams -----------------------------------------------------------------------------------------


async def ends_with(pieces: AsyncIterator[bytes], ending: bytes) -> bytes:
    """Return what comes up to ``ending``, in however many pieces."""
    said = b""
    while not said.endswith(ending):
        said += await anext(pieces)
    return said


async def test_a_stream_gives_status_headers_and_bytes_as_they_come(server: FakeServer, net: Net) -> None:
    go_on = asyncio.Event()

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "Text/Event-Stream; charset=latin-1", "X-Thing": "1"})
        await reply.send(b"data: 1\n\n")
        await go_on.wait()
        await reply.send("data: ☃\n\n".encode())
        await reply.end()

    server.on("GET", "/s", respond)
    async with net.stream("GET", "/s", headers={"Last-Event-ID": "7"}) as answer:
        assert answer.status == 200
        assert answer.headers["x-thing"] == "1"
        pieces = answer.body
        assert await ends_with(pieces, b"\n\n") == b"data: 1\n\n"
        go_on.set()
        assert await ends_with(pieces, b"\n\n") == "data: ☃\n\n".encode()
        assert await anext(pieces, b"end") == b"end"
    sent = server.requests[0].headers
    assert sent["accept"] == "text/event-stream"
    assert sent["cache-control"] == "no-cache"
    assert sent["last-event-id"] == "7"


async def test_a_packed_stream_is_unpacked_as_it_comes(server: FakeServer, net: Net) -> None:
    go_on = asyncio.Event()
    packer = zlib.compressobj(wbits=31)

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"})
        await reply.send(packer.compress(b"data: 1\n\n") + packer.flush(zlib.Z_SYNC_FLUSH))
        await go_on.wait()
        await reply.send(packer.compress(b"data: 2\n\n") + packer.flush())
        await reply.end()

    server.on("GET", "/s", respond)
    async with net.stream("GET", "/s") as answer:
        pieces = answer.body
        assert await ends_with(pieces, b"\n\n") == b"data: 1\n\n"
        go_on.set()
        assert b"".join([piece async for piece in pieces]) == b"data: 2\n\n"


@pytest.mark.parametrize("length", [PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
async def test_everything_that_arrived_packed_comes_out_at_once(
    server: FakeServer, net: Net, length: int
) -> None:
    packer = zlib.compressobj(wbits=31)

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "text/event-stream", "Content-Encoding": "x-gzip"})
        await reply.send(packer.compress(b"x" * length + b"end") + packer.flush(zlib.Z_SYNC_FLUSH))
        await reply.stay()

    server.on("GET", "/s", respond)
    async with net.stream("GET", "/s") as answer:
        assert len(await ends_with(answer.body, b"end")) == length + 3


async def test_a_small_answer_never_becomes_a_huge_one_at_once(server: FakeServer, net: Net) -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    headers = {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"}
    server.on("GET", "/s", answers(bomb, headers=headers))
    async with net.stream("GET", "/s") as answer:
        sizes = [len(piece) async for piece in answer.body]
    assert sum(sizes) == 10_000_000
    assert max(sizes) <= PIECE_BYTES


async def test_deflate_is_unpacked(server: FakeServer, net: Net) -> None:
    server.on("GET", "/x", answers(zlib.compress(b"[1]"), headers={"Content-Encoding": "Deflate"}))
    assert await net.call("GET", "/x") == [1]


@pytest.mark.parametrize(
    ("packing", "words"),
    [("br", "did not ask for"), ("gzip, gzip", "did not ask for"), ("x\tx", "ask for"), ("gzip", "broken")],
)
async def test_a_packing_that_cannot_be_read_is_one_clear_error(
    server: FakeServer, net: Net, packing: str, words: str
) -> None:
    """Gzip in gzip, which httpx would unpack, makes gigabytes of a few kilobytes."""
    body = gzip.compress(gzip.compress(b"[]")) if packing == "gzip, gzip" else b"this is not packed"
    server.on("GET", "/x", answers(body, headers={"Content-Encoding": packing}))
    with pytest.raises(ProtocolError, match=words) as caught:
        await net.call("GET", "/x")
    assert "\t" not in str(caught.value)


async def test_no_content_is_no_error(server: FakeServer, net: Net) -> None:
    server.on("GET", "/s", answers(b"", 204))
    async with net.stream("GET", "/s") as answer:
        assert answer.status == 204
        assert await body_of(answer) == b""


@pytest.mark.parametrize("kind", ["text/html", "application/json", "text/event-streamx", "text/plain", ""])
async def test_a_stream_of_another_type_is_refused(server: FakeServer, net: Net, kind: str) -> None:
    server.on("GET", "/s", answers("data: x\n\n", headers={"Content-Type": kind} if kind else {}))
    with pytest.raises(ProtocolError, match=r"not an event stream: HTTP 200, .*data: x"):
        async with net.stream("GET", "/s"):
            raise AssertionError("the stream must not open")


@pytest.mark.parametrize("then", ["drop", "reset"])
async def test_a_stream_that_breaks_off_is_lost(server: FakeServer, net: Net, then: str) -> None:
    server.on("GET", "/s", streams(b"data: 1\n\n", then=then))
    with pytest.raises(StreamLost):
        async with net.stream("GET", "/s") as answer:
            await body_of(answer)


@pytest.mark.slow
async def test_two_hundred_streams_are_open_at_once(server: FakeServer, net: Net) -> None:
    server.on("GET", "/s", streams(b"data: 1\n\n", then="stay"))
    everybody_there = asyncio.Barrier(201)

    async def one() -> bytes:
        async with net.stream("GET", "/s") as answer:
            first = await ends_with(answer.body, b"\n\n")
            await everybody_there.wait()
            return first

    streaming = [asyncio.create_task(one()) for _ in range(200)]
    await everybody_there.wait()
    assert set(await asyncio.gather(*streaming)) == {b"data: 1\n\n"}
    await server.until(lambda: server.open == 0)


# --- a client that was closed ------------------------------------------------------------------------------


async def test_a_closed_client_says_so_with_an_error_of_ours(server: FakeServer) -> None:
    server.on("GET", "/api/rooms", answers_json([]))
    net = Net(server.url, environ={})
    assert await net.call("GET", "/api/rooms") == []
    await net.aclose()
    with pytest.raises(ConnectFailed, match="closed"):
        await net.call("GET", "/api/rooms")
    with pytest.raises(ConnectFailed, match="closed"):
        async with net.stream("GET", "/api/rooms"):
            pass
    with pytest.raises(ConnectFailed, match="closed"):
        await net.methods("/api/rooms")


async def test_closing_ends_a_call_under_way_with_an_error_of_ours(server: FakeServer) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def never(request: Request, reply: Reply) -> None:
        asked.set()
        await answer.wait()

    server.on("GET", "/api/rooms", never)
    net = Net(server.url, environ={})
    calling = asyncio.create_task(net.call("GET", "/api/rooms"))
    await asked.wait()
    await net.aclose()
    with pytest.raises(TransportError):
        await calling
    answer.set()


@pytest.mark.parametrize("path", ["/silent", "/half", "/stream"])
async def test_a_call_that_is_cancelled_twice_leaves_no_connection_open(
    server: FakeServer, path: str
) -> None:
    async def half(request: Request, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "application/json", "Content-Length": "20"}, chunked=False)
        await reply.raw(b"[]")
        await reply.stay()

    async def silent(request: Request, reply: Reply) -> None:
        await reply.stay()

    server.on("GET", "/quick", answers_json([]))
    server.on("GET", "/half", half)
    server.on("GET", "/silent", silent)
    server.on("GET", "/stream", streams(b"data: x\n\n", then="stay"))
    net = Net(server.url, environ={})

    async def ask() -> None:
        if path != "/stream":
            await net.call("GET", path)
        async with net.stream("GET", path) as answer:
            await body_of(answer)

    for first in range(25):  # turns of the event loop before it is cancelled, and then cancelled again
        for second in range(4):
            await net.call("GET", "/quick")  # there is a connection to be used again
            asking = asyncio.create_task(ask())
            for turns in (first, second):
                for _ in range(turns):
                    await asyncio.sleep(0)
                asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
    await server.until(lambda: server.open <= 1)  # the one that is kept for the next call
    await net.aclose()
