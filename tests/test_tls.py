from __future__ import annotations

import asyncio
import os
import ssl
from pathlib import Path

import pytest

from agent_tui.clients.http import Net
from agent_tui.model.errors import ConfigError, ConnectFailed
from agent_tui.tls import tls_context
from tests.fakes.servers.http_server import answers_json, listening
from tests.fakes.servers.tls_server import CA, tls_server


async def test_a_bundle_of_ones_own_is_trusted() -> None:
    async with tls_server("good") as server, Net(server.url, ca_bundle=CA, environ={}) as net:
        server.on("GET", "/x", answers_json({"ok": True}))
        assert await net.call("GET", "/x") == {"ok": True}


async def test_ssl_cert_file_is_trusted() -> None:
    async with tls_server("good") as server, Net(server.url, environ={"SSL_CERT_FILE": str(CA)}) as net:
        server.on("GET", "/x", answers_json([]))
        assert await net.call("GET", "/x") == []


@pytest.mark.parametrize(
    ("certificate", "trusted", "words"),
    [
        ("expired", True, "has expired"),
        ("wronghost", True, "is for another host"),
        ("selfsigned", True, "is self-signed"),
        ("good", False, "is from an unknown authority"),
    ],
)
async def test_each_bad_certificate_has_its_own_words_and_is_not_tried_again(
    certificate: str, trusted: bool, words: str
) -> None:
    environ = {"SSL_CERT_FILE": str(CA)} if trusted else {}
    async with tls_server(certificate) as server, Net(server.url, environ=environ) as net:
        with pytest.raises(ConnectFailed) as caught:
            await net.call("GET", "/x")
    error = caught.value
    assert words in error.title
    assert error.detail
    assert not error.retryable


async def test_http_where_tls_was_expected_says_so() -> None:
    async def complain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with listening(complain) as port, Net(f"https://127.0.0.1:{port}", environ={}) as net:
        with pytest.raises(ConnectFailed) as caught:
            await net.call("GET", "/x")
    assert "begin with http://" in caught.value.detail
    assert not caught.value.retryable


@pytest.mark.parametrize("name", ["ca_bundle", "SSL_CERT_FILE"])
def test_a_bundle_that_is_not_there_is_one_line(name: str, tmp_path: Path) -> None:
    gone = str(tmp_path / "gone.pem")
    bundle, environ = (gone, {}) if name == "ca_bundle" else (None, {name: gone})
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        Net("https://a.test", ca_bundle=bundle, environ=environ)
    assert "\n" not in str(caught.value)


def test_a_bundle_that_holds_no_certificate_is_one_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("hello")
    with pytest.raises(ConfigError, match="holds no certificate"):
        tls_context(bad, {})


def test_a_bundle_is_read_once_until_it_changes(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(CA.read_bytes())
    first = tls_context(bundle, {})
    assert tls_context(None, {"SSL_CERT_FILE": str(bundle)}) is first
    os.utime(bundle, ns=(1, 1))
    assert tls_context(bundle, {}) is not first


def test_a_folder_of_authorities_is_accepted(tmp_path: Path) -> None:
    assert tls_context(None, {"SSL_CERT_DIR": str(tmp_path)}).verify_mode is ssl.CERT_REQUIRED


def test_plain_http_never_looks_at_bundles(tmp_path: Path) -> None:
    assert Net("http://a.test", ca_bundle=tmp_path / "gone.pem").base_url == "http://a.test"


def test_the_usual_authorities_are_trusted_by_default() -> None:
    context = tls_context(None, {})
    assert context.check_hostname
    assert context.cert_store_stats()["x509_ca"] > 50
