"""The way to a provider: what a base_url may look like, certificates, proxies."""

from __future__ import annotations

import asyncio
import gc
import json

import pytest

from agent_tui.backend.models.endpoints import ProviderAddress
from agent_tui.backend.models.remote import RemoteProvider, list_models
from agent_tui.model.errors import ModelError
from tests.backend.models.calls import KEY, REQUEST, text
from tests.fakes.models.dialects import KINDS, Kind
from tests.fakes.models.model_server import FakeModelServer, raw
from tests.fakes.servers.http_server import answers_json, listening
from tests.fakes.servers.tls_server import CA, tls_server

PATHS = {
    "openai": ("/v1/chat/completions", "/v1/models"),
    "ollama": ("/v1/chat/completions", "/v1/models"),
    "anthropic": ("/v1/messages", "/v1/models?limit=1000"),
    "google": ("/v1beta/models/m:streamGenerateContent?alt=sse", "/v1beta/models?pageSize=1000"),
}
ADDRESSES = {
    "openai": ("/v1", "/v1/", "/v1/chat/completions"),
    "ollama": ("", "/", "/v1", "/v1/", "/api"),
    "anthropic": ("", "/", "/v1", "/v1/", "/v1/messages"),
    "google": ("", "/", "/v1beta", "/v1beta/", "/v1beta/models"),
}


def at(url: str, kind: str = "openai") -> ProviderAddress:
    return ProviderAddress("one", url, KEY, "ONE_KEY", 30.0, kind)


async def spoken(endpoint: ProviderAddress) -> str:
    opened = RemoteProvider(endpoint)
    try:
        return text([piece async for piece in opened.model("m").stream(REQUEST)])
    finally:
        await opened.aclose()


async def failures(url: str) -> list[ModelError]:
    """Return what a call says, and what the question for a list of models."""
    told = []
    for asked in (spoken(at(url)), list_models(at(url))):
        with pytest.raises(ModelError) as caught:
            await asked
        told.append(caught.value)
    return told


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind in KINDS for path in ADDRESSES[kind.name]])
async def test_an_api_is_found_by_any_of_its_addresses(kind: Kind, path: str) -> None:
    async with FakeModelServer() as server:
        endpoint = at(f"http://127.0.0.1:{server.port}{path}", kind.name)
        server.will(kind.says("Yes."))
        assert await spoken(endpoint) == "Yes."
        if kind.name != "google":  # whose list has another form
            assert await list_models(endpoint) == ("some-model", "other-model")
            assert server.requests[1].path == PATHS[kind.name][1]
        assert server.requests[0].path == PATHS[kind.name][0]


@pytest.mark.parametrize(
    "body", [[{"id": "m"}], {"object": "list", "data": [{"id": "m", "object": "model"}]}]
)
async def test_a_list_of_models_may_be_bare(body: object) -> None:
    async with FakeModelServer() as server:
        server.listing = raw(json.dumps(body).encode(), content_type="application/json")
        assert await list_models(at(server.url)) == ("m",)


async def test_the_environments_authorities_are_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CA))
    async with tls_server("good") as server:
        server.on("GET", "/v1/models", answers_json({"data": [{"id": "m"}]}))
        assert await list_models(at(f"{server.url}/v1")) == ("m",)
        with pytest.raises(ModelError, match="no such model or path"):  # which it answers through TLS
            await spoken(at(f"{server.url}/v1"))


@pytest.mark.parametrize(
    ("certificate", "said"),
    [("selfsigned", "is self-signed"), ("expired", "has expired"), ("wronghost", "is for another host")],
)
async def test_a_bad_certificate_is_told_in_words(
    certificate: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CA))
    async with tls_server(certificate) as server:
        for error in await failures(f"{server.url}/v1"):
            assert error.title == f"the certificate of {server.url}/v1 {said}"
            assert error.detail
            assert not error.retryable


async def test_a_file_of_authorities_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such.pem")
    with pytest.raises(ModelError, match=r"SSL_CERT_FILE cannot be read: /no/such\.pem"):
        await spoken(at("https://127.0.0.1:9/v1"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves its socket
async def test_http_where_tls_was_expected_says_so() -> None:
    async def complain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with listening(complain) as port:
        for error in await failures(f"https://127.0.0.1:{port}/v1"):
            assert "begin with http://" in error.detail
            assert not error.retryable
    gc.collect()


async def test_nobody_there_and_no_such_host_are_told_in_the_systems_words() -> None:
    for error in await failures("http://127.0.0.1:9/v1"):
        assert error.detail == "Connection refused. Is the server running, and is base_url right?"
    for error in await failures("http://no-such-host.invalid/v1"):
        assert error.detail.startswith("there is no host of that name.")


async def test_a_proxy_that_is_in_the_way_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("https_proxy", "http://me:pa55word@127.0.0.1:9")
    for error in await failures("https://api.example/v1"):
        assert error.title == "cannot connect to https://api.example/v1 through the proxy http://127.0.0.1:9"
        assert error.detail.startswith("Connection refused.")
        assert error.retryable
    async with listening(refuse) as port:
        monkeypatch.setenv("https_proxy", f"http://me:pa55word@127.0.0.1:{port}")
        for error in await failures("https://api.example/v1"):
            assert error.title.endswith(f"through the proxy http://127.0.0.1:{port}")
            assert "407" in error.detail
            assert not error.retryable
            assert "pa55word" not in str(error)
