"""The tool that fetches a page of the public network, and nothing else."""

from __future__ import annotations

import asyncio
import codecs
import importlib
import logging
import subprocess
import sys
from collections.abc import Collection, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.addresses import is_named, public_addresses, refuse_literal
from agent_tui.backend.tools.programs.child import PIPE_BYTES, Child
from agent_tui.backend.tools.texts import MAX_OUTPUT_CHARACTERS, Spool, cut
from agent_tui.backend.tools.tool import Permission, ToolError, ToolOutput, ToolPlace, object_schema
from agent_tui.model.events import ToolAsk
from agent_tui.model.inert import inert_line, visible

if TYPE_CHECKING:
    import httpx

# Its INFO lines contain whole URLs, and these may contain a secret.
logging.getLogger("httpx").setLevel(logging.WARNING)

FETCH_SECONDS = 20.0
PAGE_SECONDS = 10.0  # for turning HTML into text
MAX_BODY_BYTES = 2_000_000
MAX_REDIRECTS = 5
MAX_ADDRESSES = 3  # tried for one host
CONNECT_SECONDS = 6.0
MAX_URL_CHARACTERS = 2_000
_PORTS = {"http": 80, "https": 443}
_HTML = ("text/html", "application/xhtml+xml")
_TEXTS = tuple(f"application/{kind}" for kind in ("json", "xml", "javascript", "yaml", "toml"))
# Python has codecs that are not character sets, and some that take the square of a text's length.
_CHARSETS = (
    *("utf", "iso8859-", "iso2022_", "latin", "ascii", "cp", "koi8", "mac"),
    *("gb", "big5", "shift_jis", "euc"),
)
_PAGE = Path(__file__).with_name("page.py")

_SPEC = ToolSpec(
    "fetch_url",
    "Fetch a page or text from the public internet by its http or https address and return it as text.",
    object_schema({"url": {"type": "string", "minLength": 8, "maxLength": MAX_URL_CHARACTERS}}, "url"),
)


@dataclass(frozen=True, slots=True)
class _Answer:
    """A response."""

    status: int
    kind: str  # the media type
    charset: str  # "" if none is named
    body: bytes
    is_cut: bool
    url: str


class FetchUrl:
    """``fetch_url``; ``private_hosts`` are the hosts of this machine and network that it may fetch from."""

    permission: Permission = "ask"
    changes = False
    spec = _SPEC

    def __init__(self, private_hosts: Collection[str] = (), seconds: float = FETCH_SECONDS) -> None:
        self._private = frozenset(private_hosts)
        self.seconds = seconds

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return the whole address as it is sent, in ASCII; with the original host if it has other
        letters.
        """
        url = _url(arguments["url"])
        if not self._is_named(url):  # nobody is asked about what is never fetched
            refuse_literal(url.host, url.port or _PORTS[url.scheme])
        ascii_host, host = url.raw_host.decode("ascii"), visible(url.host)
        shown = visible(str(url))
        letters = "" if host == ascii_host else f"\n\nThe host {ascii_host} stands for {host}"
        return ToolAsk(f"fetch_url {shown}", f"{shown}{letters}")

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Return the page's text; raises ``ToolError`` if it is not fetched or is not text."""
        await asyncio.to_thread(importlib.import_module, "httpx")  # a third of a second, the first time
        answer = await self._fetch(_url(arguments["url"]))
        if answer.status >= 400:
            raise ToolError(f"{inert_line(answer.url)} answers HTTP {answer.status}")
        text = _decoded(answer)
        if answer.kind in _HTML:
            text = await _readable(text)
        if answer.is_cut:
            text += f"\n[… cut after {MAX_BODY_BYTES:,} bytes]"
        return ToolOutput(cut(text, MAX_OUTPUT_CHARACTERS) or "[nothing]", size=len(answer.body))

    async def _fetch(self, url: httpx.URL) -> _Answer:
        import httpx  # as in _url

        try:
            # No proxy, no cookies, no login of ~/.netrc: only the address that was checked.
            tls, times = httpx.create_ssl_context(), httpx.Timeout(self.seconds, connect=CONNECT_SECONDS)
            async with httpx.AsyncClient(trust_env=False, verify=tls, timeout=times) as client:
                for _ in range(MAX_REDIRECTS + 1):
                    answer = await _request(client, url, may_be_private=self._is_named(url))
                    if isinstance(answer, _Answer):
                        return answer
                    if not is_same_place(url, answer):
                        target = inert_line(str(answer), MAX_URL_CHARACTERS)
                        raise ToolError(
                            f"it redirects to {target}, which has to be fetched by a call of its own"
                        )
                    url = answer
        except httpx.HTTPError as error:
            why = inert_line(str(error), 200) or type(error).__name__
            raise ToolError(f"{inert_line(url.host)} cannot be fetched from: {why}") from None
        raise ToolError(f"it redirects more than {MAX_REDIRECTS} times")

    def _is_named(self, url: httpx.URL) -> bool:
        return is_named(url.host, url.port or _PORTS[url.scheme], self._private)


def _url(text: str, base: httpx.URL | None = None) -> httpx.URL:
    import httpx  # here, as everywhere before the first frame: the toolbox is made at the start

    shown = inert_line(text, 200)
    if any(char <= " " or char == "\\" or char == "\x7f" for char in text):
        raise ToolError(f"{shown}: an address holds no spaces, backslashes or control characters")
    try:
        url = base.join(text) if base is not None else httpx.URL(text)
        host = url.host  # decoded only now
    except (httpx.InvalidURL, ValueError):
        raise ToolError(f"{shown}: is not an address") from None
    if url.scheme not in _PORTS or not host:
        raise ToolError(f"{shown}: only http and https addresses are fetched")
    if url.userinfo:
        raise ToolError("an address with a name or password is not fetched")
    if url.port is not None and not 0 < url.port < 65_536:
        raise ToolError(f"{shown}: is not an address")
    if len(str(url)) > MAX_URL_CHARACTERS:
        raise ToolError(f"an address has at most {MAX_URL_CHARACTERS:,} characters")
    return url.copy_with(fragment=None)


def is_same_place(url: httpx.URL, target: httpx.URL) -> bool:
    """Return whether a redirect stays where the person or a rule allowed to fetch from: on the same origin,
    or on the same host with TLS.
    """
    ports = (url.port, target.port)
    is_upgrade = (url.scheme, target.scheme) == ("http", "https") and ports == (None, None)
    return url.host == target.host and (is_upgrade or (url.scheme == target.scheme and len({*ports}) == 1))


async def _request(client: httpx.AsyncClient, url: httpx.URL, *, may_be_private: bool) -> _Answer | httpx.URL:
    """Send one request to the checked address; return the answer, or the target of its redirect."""
    port = url.port or _PORTS[url.scheme]
    addresses = await public_addresses(url.host, port, may_be_private=may_be_private)
    async with aclosing(await _request_at(client, url, addresses[:MAX_ADDRESSES])) as response:
        if response.is_redirect:
            return _url(response.headers["location"], url)
        return await _answer(response, url)


async def _request_at(client: httpx.AsyncClient, url: httpx.URL, addresses: list[str]) -> httpx.Response:
    """Return the answer of the first address that accepts a connection."""
    import httpx  # as in _url

    for number, address in enumerate(addresses, 1):
        request = client.build_request(
            "GET",
            url.copy_with(host=address),
            headers={
                "Host": url.netloc.decode("ascii"),
                "Accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
                "Accept-Encoding": "identity",
                "User-Agent": "agent-tui",
            },
            extensions={"sni_hostname": url.raw_host.decode("ascii")},
        )
        request.headers.pop("Cookie", None)  # set by an earlier answer of a redirect
        try:
            return await client.send(request, stream=True, follow_redirects=False)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if number == len(addresses):
                raise
    raise ToolError(f"{inert_line(url.host)}: there is no such host")


async def _answer(response: httpx.Response, url: httpx.URL) -> _Answer:
    header: str = response.headers.get("content-type", "")
    kind = header.partition(";")[0].strip().lower()
    is_text = kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml")) or not kind
    if response.status_code < 400 and not is_text:
        raise ToolError(f"{inert_line(str(url))} is not text but {inert_line(kind, 80)}")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise ToolError(f"{inert_line(url.host)} answers in a compressed form that was not asked for")
    body = bytearray()
    async for data in response.aiter_raw():
        body += data
        if len(body) > MAX_BODY_BYTES:
            break
    if not kind and b"\0" in body[:8_192]:
        raise ToolError(f"{inert_line(str(url))} is not text")
    charset = response.charset_encoding or ""
    is_cut = len(body) > MAX_BODY_BYTES
    return _Answer(response.status_code, kind, charset, bytes(body[:MAX_BODY_BYTES]), is_cut, str(url))


def _decoded(answer: _Answer) -> str:
    charset = "utf-8"
    with suppress(LookupError, ValueError):
        name = codecs.lookup(answer.charset).name
        charset = name if name.startswith(_CHARSETS) else charset
    return answer.body.decode(charset, "replace").removeprefix("\ufeff")


async def _readable(html: str) -> str:
    """Return a page as text; one that takes too long is refused."""
    program = (sys.executable, "-I", "-S", str(_PAGE))
    spool = Spool(MAX_OUTPUT_CHARACTERS)
    async with await Child.start(program, None, {}, is_fed=True, errors=subprocess.DEVNULL) as child:
        feeding = asyncio.create_task(_feed(child, html.encode("utf-8", "replace")))
        try:
            async with asyncio.timeout(PAGE_SECONDS):
                while data := await child.stdout.read(PIPE_BYTES):
                    spool.add(data)
                code = await child.wait()
        except TimeoutError:
            raise ToolError("the page is too tangled to be read as text") from None
        finally:
            feeding.cancel()
            await asyncio.wait([feeding])
    if code:
        raise ToolError("the page cannot be read as text")
    return spool.text()


async def _feed(child: Child, data: bytes) -> None:
    with suppress(ConnectionError):
        child.stdin.write(data)
        await child.stdin.drain()
        child.stdin.close()
