"""Access to the backend: headers of limited size, known Hosts and Origins only, then the bearer token.

A web page can reach loopback through a name of its own that it points there (DNS rebinding).
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from collections.abc import Collection, Iterable
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_tui.backend.http.problem import problem

MAX_HEADERS = 100
MAX_HEADER_BYTES = 8 * 1024  # of the value of one header
OPEN_PATHS = frozenset({"/health"})  # no token: a program that looks for a backend has none yet
_TOKEN = re.compile(r"[!-~]{1,4096}")  # what a header can carry without quoting


def usable_token(token: str) -> bool:
    """Return whether ``token`` can be sent unchanged in an ``Authorization`` header."""
    return _TOKEN.fullmatch(token) is not None


def is_loopback(host: str) -> bool:
    """Return whether ``host`` (a name or an address without brackets) can only mean this machine."""
    address = _address(host)
    return host.lower().rstrip(".") == "localhost" or (address is not None and address.is_loopback)


class KnownHosts:
    """The names under which this backend may be called, on any port (it may be forwarded).

    Loopback names always; for another bind address that address, its name as given and the machine's; if
    every address is bound, also any literal address, which no foreign name can imitate.
    """

    def __init__(self, host: str) -> None:
        self._names = {host.lower()}
        if not is_loopback(host):
            self._names.add(socket.gethostname().lower())
        address = _address(host)
        self._any_address = address is not None and address.is_unspecified

    def knows(self, host: str) -> bool:
        """Return whether ``host`` (from a header, without port and brackets) is one of ours."""
        name = host.lower().rstrip(".")
        if name in self._names or is_loopback(name):
            return True
        return self._any_address and _address(name) is not None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class Guard:
    """ASGI middleware that refuses requests without access; ``token`` ``None`` requires none."""

    def __init__(self, app: ASGIApp, hosts: KnownHosts, token: str | None) -> None:
        self._app = app
        self._hosts = hosts
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if (complaint := _too_large(headers)) is not None:
            return problem(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, *complaint)
        if not self._host_is_known(_values(headers, b"host")):
            return problem(HTTPStatus.FORBIDDEN, "This host name is not the backend's")
        if not all(self._origin_is_known(origin) for origin in _values(headers, b"origin")):
            return problem(HTTPStatus.FORBIDDEN, "Web pages of that origin may not call the backend")
        if self._token is None or scope["path"] in OPEN_PATHS:
            return None
        if not self._token_is_right(_values(headers, b"authorization"), self._token):
            # For programs, and for those who read it as the error of a command.
            detail = "Send the header Authorization: Bearer TOKEN, or give AGENT_TUI_TOKEN or --token-file."
            return problem(HTTPStatus.UNAUTHORIZED, "The token is missing or wrong", detail)
        return None

    def _host_is_known(self, values: list[str]) -> bool:
        names = [_host_name(f"//{value}") for value in values]
        return len(names) == 1 and names[0] is not None and self._hosts.knows(names[0])

    def _origin_is_known(self, origin: str) -> bool:
        name = _host_name(origin) if origin.startswith(("http://", "https://")) else None
        return name is not None and self._hosts.knows(name)

    @staticmethod
    def _token_is_right(values: list[str], token: bytes) -> bool:
        if len(values) != 1:
            return False
        scheme, _, given = values[0].partition(" ")
        # Compared as bytes in constant time, so that the time does not reveal how much was right.
        right = hmac.compare_digest(given.strip().encode("latin-1"), token)
        return scheme.lower() == "bearer" and right


def _too_large(headers: Collection[tuple[bytes, bytes]]) -> tuple[str, str] | None:
    if len(headers) > MAX_HEADERS:
        return "The request has too many headers", f"At most {MAX_HEADERS}."
    for name, value in headers:
        if len(value) > MAX_HEADER_BYTES:
            shown = name[:100].decode("latin-1")
            return f"The header {shown} is too large", f"It may have {MAX_HEADER_BYTES:,} bytes."
    return None


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def _host_name(url: str) -> str | None:
    """Return the host of ``scheme://host:port`` without port and brackets; ``None`` if there is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if the port is not a number
    except ValueError:
        return None
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    return parts.hostname
