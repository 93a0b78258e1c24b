from __future__ import annotations

import asyncio

import pytest

from agent_tui.clients.http import Net
from agent_tui.clients.proxy import resolve_proxy
from agent_tui.model.errors import ConfigError, ConnectFailed, TransportError
from tests.fakes.servers.http_server import FakeServer, answers, answers_json, listening
from tests.fakes.servers.tls_server import CA, tls_server

P = "http://proxy.test:3128"


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        ("http://a.test/", {}, None),
        ("http://a.test/", {"HTTP_PROXY": P}, P),
        ("http://a.test/", {"http_proxy": P, "HTTP_PROXY": "http://other.test:1"}, P),
        ("http://a.test/", {"HTTPS_PROXY": P}, None),
        ("https://a.test/", {"HTTPS_PROXY": P}, P),
        ("https://a.test/", {"HTTP_PROXY": P}, None),
        ("https://a.test/", {"all_proxy": P}, P),
        ("https://a.test/", {"ALL_PROXY": "http://other.test:1", "HTTPS_PROXY": P}, P),
        ("http://a.test/", {"HTTP_PROXY": "", "ALL_PROXY": P}, P),
        ("ws://a.test/", {"HTTP_PROXY": P}, P),
        ("wss://a.test/", {"HTTPS_PROXY": P}, P),
        ("http://a.test/", {"HTTP_PROXY": "proxy.test:3128"}, P),
        ("http://a.test/", {"HTTP_PROXY": " proxy.test:3128 "}, P),
        ("http://a.test/", {"ALL_PROXY": "socks://proxy.test:1080"}, "socks5://proxy.test:1080"),
        ("http://a.test/", {"ALL_PROXY": "SOCKS://proxy.test"}, "socks5://proxy.test"),
        ("http://a.test/", {"ALL_PROXY": "socks5h://u:p@proxy.test:1080"}, "socks5h://u:p@proxy.test:1080"),
        ("http://a.test/", {"HTTP_PROXY": "http://[fd00::1]:3128"}, "http://[fd00::1]:3128"),
    ],
)
def test_the_environment_names_the_proxy(url: str, environ: dict[str, str], expected: str | None) -> None:
    assert resolve_proxy(url, environ) == expected


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.8.9.1", "localhost", "LOCALHOST", "localhost.", "api.localhost", "[::1]"],
)
def test_loopback_is_never_proxied(host: str) -> None:
    everything = {"HTTP_PROXY": P, "HTTPS_PROXY": P, "ALL_PROXY": P}
    assert resolve_proxy(f"http://{host}:8000/", everything) is None
    assert resolve_proxy(f"https://{host}/", {"all_proxy": "rub://bish"}) is None


@pytest.mark.parametrize(
    ("url", "no_proxy", "direct"),
    [
        ("http://a.test/", "*", True),
        ("http://a.test/", "b.test, a.test", True),
        ("http://a.test/", "b.test a.test", True),
        ("http://x.a.test/", "a.test", True),
        ("http://x.a.test/", ".a.test", True),
        ("http://a.test/", ".a.test", True),
        ("http://A.Test/", "a.tEST", True),
        ("http://a.test./", "a.test", True),
        ("http://ba.test/", "a.test", False),
        ("http://a.test/", "x.a.test", False),
        ("http://a.test:81/", "a.test:81", True),
        ("http://a.test/", "a.test:80", True),
        ("http://a.test/", "a.test:81", False),
        ("http://10.1.2.3/", "10.1.2.3", True),
        ("http://10.1.2.3/", "10.0.0.0/8", True),
        ("http://10.1.2.3/", "11.0.0.0/8", False),
        ("http://[fd00::7]/", "fd00::/8", True),
        ("http://a.test/", "", False),
        ("http://a.test/", " , ,", False),
        ("http://a.test/", "a.test:x, :, [", False),
    ],
)
def test_no_proxy_makes_exceptions(url: str, no_proxy: str, direct: bool) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        assert resolve_proxy(url, {"http_proxy": P, name: no_proxy}) == (None if direct else P)


@pytest.mark.parametrize(
    "value",
    [
        "ftp://secret@proxy.test",
        "socks4://secret@proxy.test",
        "http://secret@",
        "http://secret@proxy.test:port",
        "http://secret@proxy.test:99999",
        "http://secret@[::1",
        "http://secret@pro xy.test",
        "http://secret@proxy.test\x1b[2J",
        "://secret",
    ],
)
def test_a_bad_proxy_is_one_line_that_names_the_variable_only(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_proxy("http://a.test/", {"HTTP_PROXY": value})
    assert caught.value.title == "HTTP_PROXY is not a proxy address"
    assert caught.value.detail
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


# --- on the wire ---------------------------------------------------------------------------------------


async def test_a_call_goes_through_the_proxy(server: FakeServer) -> None:
    server.on("GET", "/x", answers_json({"by": "proxy"}))
    async with Net("http://a.test", environ={"HTTP_PROXY": f"127.0.0.1:{server.port}"}) as net:
        assert await net.call("GET", "/x") == {"by": "proxy"}
    assert server.requests[0].target == "http://a.test/x"


async def test_a_call_goes_through_a_socks_proxy(server: FakeServer) -> None:
    server.on("GET", "/x", answers_json({"by": "socks"}))
    asked: list[bytes] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(3)
        writer.write(b"\x05\x00")
        asked.append(await reader.readexactly(4 + 1 + len("a.test") + 2))
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        await pipe(reader, writer, server.port)

    async with listening(connected) as port, through(f"socks://127.0.0.1:{port}") as net:
        assert await net.call("GET", "/x") == {"by": "socks"}
    assert b"a.test" in asked[0]


async def test_https_goes_through_the_proxys_tunnel() -> None:
    async with tls_server("wronghost") as server:  # its certificate is for elsewhere.test
        server.on("GET", "/x", answers_json({"by": "tunnel"}))

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"CONNECT elsewhere.test:443 ")
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            await pipe(reader, writer, server.port)

        async with listening(connected) as port:
            environ = {"HTTPS_PROXY": f"http://127.0.0.1:{port}"}
            async with Net("https://elsewhere.test", ca_bundle=CA, environ=environ) as net:
                assert await net.call("GET", "/x") == {"by": "tunnel"}


def through(proxy: str) -> Net:
    return Net("http://a.test", environ={"ALL_PROXY": proxy})


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """Pass bytes to ``port`` and back until the far side closes."""
    onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", port)
    upward = asyncio.create_task(copy(reader, onward_writer))
    await copy(onward_reader, writer)
    upward.cancel()
    await asyncio.wait([upward])


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    finally:
        writer.close()


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\n\r\n", b"\x05\xff", b"\x05", b""])
async def test_a_socks_proxy_that_talks_rubbish_is_one_clear_error(said: bytes) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(3)
        writer.write(said)
        writer.close()

    async with listening(connected) as port, through(f"socks5://127.0.0.1:{port}") as net:
        with pytest.raises(TransportError, match=f"socks5://127.0.0.1:{port}") as caught:
            await net.call("GET", "/x")
    assert "\n" not in str(caught.value)


async def test_a_dead_proxy_is_named_without_its_password() -> None:
    async with listening(lambda reader, writer: asyncio.sleep(0)) as port:
        pass  # the port is free again
    async with Net("http://a.test", environ={"HTTP_PROXY": f"http://u:hunter2@127.0.0.1:{port}"}) as net:
        with pytest.raises(ConnectFailed, match=f"through the proxy http://127.0.0.1:{port}") as caught:
            await net.call("GET", "/x")
    assert caught.value.retryable
    assert "hunter2" not in repr(caught.value)


@pytest.mark.parametrize("url", ["http://a.test", "https://a.test"])
async def test_a_proxy_that_wants_a_password_is_not_asked_again(server: FakeServer, url: str) -> None:
    server.on("GET", "/x", answers("who are you", 407))
    server.on("CONNECT", "a.test:443", answers("who are you", 407))
    async with Net(url, environ={"ALL_PROXY": server.url}) as net:
        with pytest.raises(ConnectFailed) as caught:
            await net.call("GET", "/x")
    assert not caught.value.retryable


async def test_loopback_goes_straight(server: FakeServer) -> None:
    server.on("GET", "/x", answers_json([]))
    async with Net(server.url, environ={"ALL_PROXY": "http://127.0.0.1:1"}) as net:
        assert await net.call("GET", "/x") == []
