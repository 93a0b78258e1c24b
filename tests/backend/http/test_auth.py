"""Who may speak to the backend."""

from __future__ import annotations

import socket

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope

from agent_tui.backend.http.auth import Guard, KnownHosts, is_loopback, usable_token

TOKEN = "s3cret"


async def status(
    headers: list[tuple[str, str]],
    *,
    path: str = "/api/rooms",
    host: str = "127.0.0.1",
    token: str | None = TOKEN,
) -> tuple[int, dict[str, str]]:
    """Return (status, headers and, as "", the body) of what a guarded app answers to these headers."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope: Scope = {"type": "http", "method": "GET", "path": path, "headers": raw, "query_string": b""}
    await Guard(PlainTextResponse("in"), KnownHosts(host), token)(scope, receive, send)
    answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answered | {"": sent[1]["body"].decode()}


HOST = ("host", "127.0.0.1:8000")
BEARER = ("authorization", f"Bearer {TOKEN}")


@pytest.mark.parametrize(
    "headers",
    [
        [HOST, BEARER],
        [("host", "localhost"), BEARER],
        [("host", "LOCALHOST.:1"), BEARER],
        [("host", "[::1]:8000"), BEARER],
        [("host", "127.8.9.10"), BEARER],
        [HOST, ("authorization", f"bearer  {TOKEN}")],
        [HOST, BEARER, ("origin", "http://localhost:5173")],
        [HOST, BEARER, ("origin", "https://127.0.0.1")],
        [HOST, BEARER, ("origin", "http://[::1]:3000")],
    ],
)
async def test_who_knows_the_token_comes_in_through_any_loopback_name(headers: list[tuple[str, str]]) -> None:
    assert (await status(headers))[0] == 200


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN}x",
        "Bearer s3cre",
        "Bearer \xff",
    ],
)
async def test_a_wrong_token_is_a_401_that_names_the_scheme(value: str) -> None:
    code, headers = await status([HOST, ("authorization", value)])
    assert code == 401
    assert headers["www-authenticate"].startswith("Bearer")
    assert headers["content-type"] == "application/problem+json"


async def test_a_wrong_token_is_explained_to_programs_and_to_who_reads_it_below_a_command() -> None:
    explained = (await status([HOST]))[1][""]
    assert "Authorization: Bearer TOKEN" in explained
    assert "AGENT_TUI_TOKEN or --token-file" in explained


async def test_no_token_and_two_tokens_are_both_refused() -> None:
    assert (await status([HOST]))[0] == 401
    assert (await status([HOST, BEARER, BEARER]))[0] == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1", "", "localhost@evil.example",
     "localhost:port", "localhost/x", "[::1", "2130706433"],
)  # fmt: skip
async def test_a_host_name_that_is_not_ours_is_refused_before_the_token_is_looked_at(host: str) -> None:
    assert (await status([("host", host), BEARER]))[0] == 403
    assert (await status([("host", host)], path="/health"))[0] == 403


async def test_a_request_without_a_host_or_with_two_is_refused() -> None:
    assert (await status([BEARER]))[0] == 403
    assert (await status([HOST, HOST, BEARER]))[0] == 403


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://evil.example", "https://localhost.evil.example", "file://", "http://10.0.0.1:8000",
     "http://user@localhost", "http://localhost/path", "chrome-extension://abc"],
)  # fmt: skip
async def test_a_web_page_of_another_origin_is_refused(origin: str) -> None:
    assert (await status([HOST, BEARER, ("origin", origin)]))[0] == 403
    assert (await status([HOST, ("origin", origin)], token=None))[0] == 403


async def test_health_needs_no_token() -> None:
    assert (await status([HOST], path="/health"))[0] == 200
    assert (await status([HOST], path="/health/"))[0] == 401


async def test_without_a_token_host_and_origin_are_still_checked() -> None:
    assert (await status([HOST], token=None))[0] == 200
    assert (await status([("host", "evil.example")], token=None))[0] == 403


async def test_on_another_address_that_address_and_the_machines_name_are_known() -> None:
    known = KnownHosts("192.0.2.7")
    assert known.knows("192.0.2.7")
    assert known.knows(socket.gethostname())
    assert known.knows("localhost")
    assert not known.knows("192.0.2.8")
    assert not known.knows("evil.example")


async def test_where_every_address_is_bound_any_literal_address_is_known_but_no_foreign_name() -> None:
    for wildcard in ("0.0.0.0", "::"):
        known = KnownHosts(wildcard)
        assert known.knows("192.0.2.8")
        assert known.knows("2001:db8::1")
        assert not known.knows("evil.example")


def test_loopback_is_the_name_and_the_addresses_of_this_machine() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.7", "localhost.evil.example", "")))


def test_a_token_is_what_a_header_can_carry() -> None:
    assert usable_token("a-Z_0.9~+/=")
    assert not any(map(usable_token, ("", "a b", "a\n", "ключ", "a\x00")))
