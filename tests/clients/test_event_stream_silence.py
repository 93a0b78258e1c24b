from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import Post
from agent_tui.model.errors import ConnectFailed, TimedOut
from agent_tui.model.events import LinkChanged
from agent_tui.wire.sse import Frame
from tests.clients.stream_reading import data, links, open_stream, read, statuses, tick, wait_and_go_on, waits
from tests.fakes.clock import FakeClock, settle
from tests.fakes.servers.http_server import (
    FakeServer,
    Reply,
    Request,
    answers,
    listening,
    streams,
)


async def test_silence_after_a_heartbeat_is_a_broken_connection(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", streams(b": hi\n\ndata: x\n\n", then="stay"), streams(b"data: y\n\n", then="stay"))
    async with read(open_stream(net, clock, idle_timeout=45)) as reading:
        await reading.until(lambda items: data(items) == ["x"])
        await settle()
        await tick(clock, 44)
        assert waits(reading.items) == []
        await tick(clock, 4)
        await wait_and_go_on(reading, clock, 1)
        await reading.until(lambda items: data(items) == ["x", "y"])
        await tick(clock, 48)  # a heartbeat heard once is expected of the next connection too
        await reading.until(lambda items: len(waits(items)) == 2)
    assert "said nothing for 45 s" in links(reading.items)[2].detail


async def test_any_byte_is_a_sign_of_life(server: FakeServer, net: Net, clock: FakeClock) -> None:
    go_on = asyncio.Semaphore(0)

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "text/event-stream"})
        for byte in b": hi\n\ndata: x\n\n":
            await go_on.acquire()
            await reply.send(bytes([byte]))
        await reply.stay()

    server.on("GET", "/s", respond)
    async with read(open_stream(net, clock, idle_timeout=45)) as reading:
        await reading.until(lambda items: "live" in statuses(items))
        for _ in range(15):
            asked = clock.asked
            go_on.release()
            await clock.asked_again(asked)  # a wait for bytes begins with a look at the clock: it has come
            await tick(clock, 40)
        await reading.until(lambda items: data(items) == ["x"])
    assert waits(reading.items) == []


async def test_silence_of_a_server_without_heartbeat_is_no_error(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", streams(b"data: x\n\n", then="stay"))
    async with read(open_stream(net, clock, idle_timeout=45)) as reading:
        await reading.until(lambda items: data(items) == ["x"])
        await tick(clock, 1000)
    assert waits(reading.items) == []


async def test_a_machine_that_slept_reconnects_at_once(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", streams(b"id: 1\ndata: x\n\n", then="stay"), streams(b"data: y\n\n", then="stay"))
    async with read(open_stream(net, clock)) as reading:
        await reading.until(lambda items: data(items) == ["x"])
        await settle()
        clock.jump(3600)
        await reading.until(lambda items: data(items) == ["x", "y"])
    assert waits(reading.items) == [0]
    assert server.requests[1].headers["last-event-id"] == "1"


async def test_a_sleep_is_noticed_by_a_reader_that_was_busy_then(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", streams(b"id: 1\ndata: x\n\n", then="stay"), streams(b"data: y\n\n", then="stay"))
    async with aclosing(aiter(open_stream(net, clock))) as items:
        while not isinstance(await anext(items), Frame):
            pass
        clock.jump(3600)
        await settle()
        assert await anext(items) == LinkChanged("waiting", "this machine slept", 0, 0)
        while (item := await anext(items)) != Frame("message", "y", "1"):
            assert isinstance(item, LinkChanged)


async def test_a_wait_the_machine_slept_through_is_over(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", answers("", 503, {"Retry-After": "50"}), streams(then="stay"))
    async with read(open_stream(net, clock)) as reading:
        await reading.until(lambda items: len(waits(items)) == 1)
        await settle()
        clock.jump(3600)
        await reading.until(lambda items: statuses(items)[-1] == "live")
    assert waits(reading.items) == [50]


async def test_it_gives_up_when_told_to(clock: FakeClock) -> None:
    async with listening(lambda reader, writer: asyncio.sleep(0)) as port:
        pass  # the port is free again
    async with (
        Net(f"http://127.0.0.1:{port}", environ={}) as net,
        read(open_stream(net, clock, give_up_seconds=10)) as reading,
    ):
        for nth in range(1, 10):
            await wait_and_go_on(reading, clock, nth)
        await reading.end()
    assert waits(reading.items) == [1] * 9  # the last try, too, has a second in which to be answered
    assert isinstance(reading.error, ConnectFailed)
    assert "Connection refused" in reading.error.detail
    assert isinstance(reading.error.__cause__, ConnectFailed)


async def test_a_server_that_comes_back_late_is_found_before_giving_up(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", *[answers("", 503)] * 8, streams(b"data: x\n\n", then="stay"))
    async with read(open_stream(net, clock, give_up_seconds=10)) as reading:
        for nth in range(1, 9):
            await wait_and_go_on(reading, clock, nth)
        await reading.until(lambda items: data(items) == ["x"])
    assert waits(reading.items) == [1] * 8


async def test_a_wish_beyond_the_time_to_wait_leaves_the_last_try_its_time(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", answers("", 503, {"Retry-After": "60"}), streams(b"data: x\n\n", then="stay"))
    async with read(open_stream(net, clock, give_up_seconds=10)) as reading:
        await wait_and_go_on(reading, clock, 1)
        await reading.until(lambda items: data(items) == ["x"])
    assert waits(reading.items) == [9]


async def test_giving_up_counts_from_a_connection_that_held(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", streams(b"data: x\n\n", then="stay"), answers("", 503))
    async with read(open_stream(net, clock, give_up_seconds=10)) as reading:
        await reading.until(lambda items: data(items) == ["x"])
        await tick(clock, 600)
        await server.drop_all()
        for nth in range(1, 10):
            await wait_and_go_on(reading, clock, nth)
        await reading.end()
    assert sum(waits(reading.items)) == 9
    assert isinstance(reading.error, ConnectFailed)


@pytest.mark.parametrize("sent", [b"", b": hello\n\n", b"id: 3\ndata: known\n\n"])
async def test_answers_without_anything_new_are_no_sign_of_life(
    server: FakeServer, net: Net, clock: FakeClock, sent: bytes
) -> None:
    server.on("GET", "/s", streams(*([sent] if sent else [])))
    async with read(open_stream(net, clock, after=3, give_up_seconds=10)) as reading:
        for nth in range(1, 10):
            await wait_and_go_on(reading, clock, nth)
        await reading.end()
    assert isinstance(reading.error, ConnectFailed)


@pytest.mark.parametrize("seconds", [4, 8])
async def test_connections_that_last_a_while_are_never_given_up(
    server: FakeServer, net: Net, clock: FakeClock, seconds: float
) -> None:
    beats = [streams(b": a model thinks\n\n", then="stay")] * 14
    server.on("GET", "/s", *beats, streams(b"id: 8\ndata: x\n\n", then="stay"))
    async with read(open_stream(net, clock, after=7, give_up_seconds=10)) as reading:
        for nth in range(1, 15):
            await server.until(lambda: server.open == 1)
            await reading.until(lambda items: statuses(items)[-1] == "live")
            await settle()
            await tick(clock, seconds)
            await server.drop_all()
            await wait_and_go_on(reading, clock, nth)
        await reading.until(lambda items: data(items) == ["x"])


async def test_giving_up_does_not_wait_for_a_server_that_never_answers(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    async def respond(request: Request, reply: Reply) -> None:
        await reply.stay()

    server.on("GET", "/s", respond)
    async with read(open_stream(net, clock, give_up_seconds=10)) as reading:
        await server.until(lambda: len(server.requests) == 1)
        await tick(clock, 12)
        await reading.end()
    assert isinstance(reading.error, ConnectFailed)
    await server.until(lambda: server.open == 0)


async def test_a_post_with_a_limit_has_it_in_the_rest_too_and_a_heartbeat_counts_as_bytes(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    beat = asyncio.Semaphore(0)

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "text/event-stream"})
        while await beat.acquire():
            await reply.send(b": still thinking\n\n")

    server.on("POST", "/s", streams(b"id: 1\ndata: x\n\n", then="reset"))
    server.on("GET", "/s", respond)
    stream = open_stream(net, clock, post=Post("/s", {}, silence_seconds=20), idle_timeout=4)
    async with read(stream) as reading:
        await reading.until(lambda items: statuses(items).count("live") == 2)
        for _ in range(3):
            asked = clock.asked
            beat.release()
            await clock.asked_again(asked)
            await tick(clock, 18)
        await settle()
        assert waits(reading.items) == []
        await tick(clock, 4)
        await reading.end()
    assert isinstance(reading.error, TimedOut)
    assert "said nothing for 20 s" in str(reading.error)
