"""Fetching pages: only public addresses, only the one that was checked, only so much."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import httpx
import pytest

from agent_tui.backend.tools.addresses import is_named, is_public
from agent_tui.backend.tools.fetching import MAX_BODY_BYTES, FetchUrl, is_same_place
from agent_tui.backend.tools.tool import ToolError, ToolPlace
from tests.backend.tools.calls import called, refused
from tests.fakes.servers.http_server import FakeServer, Reply, Request, Responder
from tests.thorough import of_many

PUBLIC = [
    "93.184.215.14",
    "1.1.1.1",
    "2606:4700:4700::1111",
    "::ffff:1.1.1.1",
    "2002:0101:0101::1",
    "64:ff9b::101:101",
]
PRIVATE = [
    *(
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
    ),
    *(
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "198.18.0.1",
        "::",
        "::1",
        "fe80::1",
    ),
    *(
        "fe80::1%lo",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "fec0::1",
        "::ffff:0:127.0.0.1",  # translated (RFC 2765)
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
    ),
    *(
        "::127.0.0.1",
        "::7f00:1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::7f00:1",
    ),
    *("2001:0:4136:e378:8000:63bf:80ff:fffe", "2001:db8::1", "100::1"),
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", PRIVATE)
def test_every_other_address_is_not_also_in_another_form(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://localhost:8000/", "http://[::1]/", "http://[::ffff:127.0.0.1]/"),
        *("http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://0/"),
        *("http://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "http://１２７.０.０.１/"),
    ],
)
async def test_this_machine_and_its_network_are_refused_however_they_are_written(url: str) -> None:
    said = await refused(FetchUrl(), url=url)
    assert "which is not fetched" in said or "no such host" in said or "not an address" in said


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "only http and https"),
        ("ftp://example.org/", "only http and https"),
        ("http:///path", "only http and https"),
        ("http://xn--a/", "is not an address"),
        ("//example.org/", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("http://user:pass@example.org/", "name or password"),
        ("http://user@example.org/", "name or password"),
        ("http://example.org/\r\nHost: x", "control characters"),
        ("http://example.org\\@127.0.0.1/", "backslashes"),
        ("http://[::1/", "not an address"),
        ("http://example.org:99999/", "not an address"),
        ("http://" + "x" * 3_000, "too long"),
    ],
)
async def test_what_is_no_address_of_a_page_is_refused(url: str, why: str) -> None:
    assert why in await refused(FetchUrl(), url=url)
    if why != "too long":
        with pytest.raises(ToolError):
            FetchUrl().ask({"url": url}, ToolPlace())


def test_what_is_asked_is_the_address_as_it_goes_out() -> None:
    ask = FetchUrl().ask({"url": "https://\u0430pple.com/a?b=\u202e"}, ToolPlace())  # a Cyrillic a
    assert ask.call == "fetch_url https://xn--pple-43d.com/a?b=%E2%80%AE"
    assert "xn--pple-43d.com stands for \u0430pple.com" in ask.preview
    ask = FetchUrl().ask({"url": "https://example.org/a"}, ToolPlace())
    assert (ask.call, ask.preview) == ("fetch_url https://example.org/a", "https://example.org/a")


class HttpServer(FakeServer):
    """Answers every request in one way."""

    def __init__(self, answer: Responder) -> None:
        super().__init__()
        self._answer = answer

    def responder(self, request: Request) -> Responder:
        return self._answer


def fetcher(server: HttpServer, seconds: float = 20.0) -> FetchUrl:
    return FetchUrl([f"127.0.0.1:{server.port}"], seconds)


async def page(reply: Reply, body: bytes, kind: str = "text/plain; charset=utf-8", **headers: str) -> None:
    await reply.head(
        200, {"Content-Type": kind, **{name.replace("_", "-"): text for name, text in headers.items()}}
    )
    await reply.send(body)
    await reply.end()


async def test_a_named_private_host_is_fetched_without_anything_of_ours() -> None:
    requests: list[Request] = []

    async def answer(request: Request, reply: Reply) -> None:
        requests.append(request)
        await page(reply, "grün".encode(), Set_Cookie="a=b")

    async with HttpServer(answer) as server:
        tool = fetcher(server)
        output = await called(tool, url=f"{server.url}/a?b=c#d")
        await called(tool, url=f"{server.url}/again")
        assert (output.content, output.size) == ("grün", 5)
        assert [request.target for request in requests] == ["/a?b=c", "/again"]
        for request in requests:
            assert request.headers["host"] == f"127.0.0.1:{server.port}"
            assert not {"cookie", "authorization", "referer"} & request.headers.keys()
        assert "which is not fetched" in await refused(FetchUrl(["127.0.0.1:1"]), url=server.url)


def test_a_host_is_named_with_or_without_its_port() -> None:
    assert is_named("Wiki.Home", 80, ["wiki.home"])
    assert is_named("::1", 8000, ["[::1]:8000"])
    assert not is_named("127.0.0.1", 8001, ["127.0.0.1:8000"])


async def test_the_address_that_was_checked_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that means something public when it is checked and something private a moment later."""
    asked: list[str] = []
    hosts: list[str] = []

    async def answer(request: Request, reply: Reply) -> None:
        hosts.append(request.headers["host"])
        await page(reply, b"reached")

    async with HttpServer(answer) as server:
        loop = asyncio.get_running_loop()
        real = loop.getaddrinfo

        async def rebinding(host: str, port: int, **options: Any) -> Sequence[Any]:
            if host != "rebind.test":
                return await real(host, port, **options)
            asked.append(host)
            address = "127.0.0.1" if len(asked) == 1 else "127.0.0.2"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(loop, "getaddrinfo", rebinding)
        tool = FetchUrl([f"rebind.test:{server.port}"])
        output = await called(tool, url=f"http://rebind.test:{server.port}/")
        assert output.content == "reached"
        assert asked == ["rebind.test"]
        assert hosts == [f"rebind.test:{server.port}"]


async def test_the_next_address_is_tried_when_one_cannot_be_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def answer(request: Request, reply: Reply) -> None:
        await page(reply, b"reached")

    async with HttpServer(answer) as server:

        async def two(host: str, port: int, **_: Any) -> Sequence[Any]:
            return [
                (socket.AF_INET6, 1, 6, "", ("::1", port, 0, 0)),
                (socket.AF_INET, 1, 6, "", ("127.0.0.1", port)),
            ]

        loop = asyncio.get_running_loop()
        real = loop.getaddrinfo
        hosts = {"127.0.0.1", "::1"}

        async def looked_up(host: str, port: int, **options: Any) -> Sequence[Any]:
            return await (real if host in hosts else two)(host, port, **options)

        monkeypatch.setattr(loop, "getaddrinfo", looked_up)
        tool = FetchUrl([f"two.test:{server.port}"])
        assert (await called(tool, url=f"http://two.test:{server.port}/")).content == "reached"


async def test_a_name_with_one_private_address_among_public_ones_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def mixed(host: str, port: int, **_: Any) -> Sequence[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in ("1.1.1.1", "10.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", mixed)
    assert "which is not fetched" in await refused(FetchUrl(), url="http://mixed.test/")


async def test_each_redirect_is_checked_again_and_there_are_not_many() -> None:
    async def answer(request: Request, reply: Reply) -> None:
        target = {
            "/other": "http://127.0.0.1:1/secret",
            "/host": f"http://localhost:{request.headers['host'].partition(':')[2]}/",
            "/metadata": "http://169.254.169.254/",
            "/file": "file:///etc/passwd",
            "/login": f"http://a:b@{request.headers['host']}/",
            "/round": "/round",
            "/once": "/end",
        }.get(request.path)
        if target is None:
            await page(reply, b"the end")
            return
        await reply.head(302, {"Location": target, "Set-Cookie": "a=b; Path=/"})
        await reply.end()

    async with HttpServer(answer) as server:
        tool = fetcher(server)
        assert (await called(tool, url=f"{server.url}/once")).content == "the end"
        assert "cookie" not in server.requests[-1].headers
        for path, why in (
            (
                "/other",
                "it redirects to http://127.0.0.1:1/secret, which has to be fetched by a call of its own",
            ),
            ("/host", f"it redirects to http://localhost:{server.port}/, "),
            *(("/metadata", "it redirects to http://169"), ("/file", "only http and https")),
            *(("/login", "name or password"), ("/round", "more than 5 times")),
        ):
            assert why in await refused(tool, url=f"{server.url}{path}")


async def test_a_public_page_does_not_lead_to_a_named_private_host(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(request: Request, reply: Reply) -> None:
        if request.path == "/secret":
            await page(reply, b"secret")
        await reply.head(302, {"Location": f"http://127.0.0.1:{server.port}/secret"})
        await reply.end()

    async with HttpServer(answer) as server:
        real = asyncio.get_running_loop().getaddrinfo

        async def here(host: str, port: int, **options: Any) -> Sequence[Any]:
            return await real("127.0.0.1" if host == "public.test" else host, port, **options)

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", here)
        monkeypatch.setattr("agent_tui.backend.tools.addresses.is_public", lambda address: request_is_first())
        asked: list[int] = []

        def request_is_first() -> bool:
            asked.append(1)
            return len(asked) == 1

        said = await refused(fetcher(server), url=f"http://public.test:{server.port}/")
        assert "it redirects to http://127.0.0.1" in said
        assert [request.path for request in server.requests] == ["/"]


@pytest.mark.parametrize(
    ("target", "is_followed"),
    [
        ("http://a.test/x", True),
        ("https://a.test/", True),
        ("https://a.test:443/", True),
        ("https://a.test:8443/", False),
        ("http://a.test:8080/", False),
        ("http://b.test/", False),
        ("https://sub.a.test/", False),
    ],
)
def test_a_redirect_is_followed_on_its_own_host_only(target: str, is_followed: bool) -> None:
    assert is_same_place(httpx.URL("http://a.test/"), httpx.URL(target)) is is_followed
    assert not is_same_place(httpx.URL("https://a.test/"), httpx.URL("http://a.test/"))


async def test_only_text_and_only_so_much_of_it_is_read() -> None:
    async def answer(request: Request, reply: Reply) -> None:
        match request.path:
            case "/image":
                await page(reply, b"\x89PNG", "image/png")
            case "/nothing":
                await reply.head(200)
                await reply.send(b"\0\1\2")
                await reply.end()
            case "/zip":
                await page(reply, gzip.compress(b"x" * 1_000), Content_Encoding="gzip")
            case "/latin":
                await page(reply, b"caf\xe9", "text/plain; charset=iso-8859-1")
            case "/odd":
                await page(reply, b"plain", "text/plain; charset=hex")
            case "/puny":
                await page(reply, b"a-" + b"9" * 50_000, "text/plain; charset=punycode")
            case "/json":
                await page(reply, b'{"a": 1}', "application/vnd.x+json")
            case "/gone":
                await reply.head(404, {"Content-Type": "text/html"})
                await reply.end()
            case _:
                await reply.head(200, {"Content-Type": "text/plain"})
                while True:
                    await reply.send(b"z" * 100_000)

    async with HttpServer(answer) as server:
        tool = fetcher(server)
        assert "is not text but image/png" in await refused(tool, url=f"{server.url}/image")
        assert "is not text" in await refused(tool, url=f"{server.url}/nothing")
        assert "compressed" in await refused(tool, url=f"{server.url}/zip")
        assert "HTTP 404" in await refused(tool, url=f"{server.url}/gone")
        for path, text in (("/latin", "café"), ("/odd", "plain"), ("/json", '{"a": 1}')):
            assert (await called(tool, url=f"{server.url}{path}")).content == text
        assert (await called(tool, url=f"{server.url}/puny")).content.startswith("a-999")
        output = await called(tool, url=f"{server.url}/endless")
        assert output.size == MAX_BODY_BYTES
        assert output.content.endswith("[… cut after 2,000,000 bytes]")


async def test_a_server_that_says_nothing_or_breaks_off_is_told() -> None:
    async def answer(request: Request, reply: Reply) -> None:
        if request.path == "/hang":
            await asyncio.Event().wait()
        await reply.reset()

    async with HttpServer(answer) as server:
        assert "time-out" in await refused(fetcher(server, 0.3), url=f"{server.url}/hang")
        assert "cannot be fetched from" in await refused(fetcher(server), url=f"{server.url}/reset")


HTML = """<!DOCTYPE html><html><head><title>A &amp; B</title><style>p {}</style><script>alert("no")</script>
<body><h1>Head</h1><p>One   <b>two</b>
three&nbsp;&lt;four&gt;<br>five</p><ul><li>a<li><a href="https://example.org/x">b</a></ul>
<pre>  keep
    this</pre><table><tr><th>x<th>y<tr><td>1<td>2</table><img alt="a cat"><noscript>no</noscript></body>"""


async def test_html_becomes_text_to_read() -> None:
    async def answer(request: Request, reply: Reply) -> None:
        await page(reply, HTML.encode(), "text/html")

    async with HttpServer(answer) as server:
        output = await called(fetcher(server), url=server.url)
    assert output.content.splitlines() == [
        *(
            "A & B",
            "",
            "# Head",
            "",
            "One two three\xa0<four>",
            "five",
            "",
            "- a",
            "- b <https://example.org/x>",
        ),
        *("", "  keep", "    this", "", "x | y", "1 | 2", "[a cat]"),
    ]


@pytest.mark.parametrize("part", of_many(("<!--", "<a ", "<", "<![CDATA[", "</a "), ("<a ",)))
async def test_a_page_that_keeps_a_parser_busy_for_hours_is_given_up(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_tui.backend.tools.fetching.PAGE_SECONDS", 1.0)
    html = part.encode() * (1_900_000 // len(part))

    async def answer(request: Request, reply: Reply) -> None:
        await page(reply, html, "text/html")

    async with HttpServer(answer) as server:
        output = await called(fetcher(server), url=server.url)
    assert "too tangled" in output.content


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "169.254.169.254",
        "10.0.0.1",
        "[::1]",
        "[fe80::1]",
        "[::ffff:10.0.0.1]",
        "localhost",
    ],
)
def test_nobody_is_asked_about_an_address_that_is_never_fetched(host: str) -> None:
    with pytest.raises(ToolError, match="which is not fetched"):
        FetchUrl().ask({"url": f"http://{host}:8000/page"}, ToolPlace())
    named = FetchUrl([f"{host}:8000"]).ask({"url": f"http://{host}:8000/page"}, ToolPlace())
    assert "8000/page" in named.call
