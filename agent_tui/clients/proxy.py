"""Which proxy leads to a URL: one answer for every client, however its library reads the environment.

The libraries disagree: one refuses ``HTTP_PROXY=host:port``, another ``ALL_PROXY=socks://…``, a third
ignores ``ALL_PROXY``. So none of them looks; they are told. Rules as curl has them: the lower-case name
first, ``NO_PROXY`` with suffixes, ports, addresses and networks. Loopback is never proxied.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from urllib.parse import SplitResult, urlsplit

from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line

_VARIABLES = {"http": "http_proxy", "ws": "http_proxy", "https": "https_proxy", "wss": "https_proxy"}
_DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_SCHEMES = ("http", "https", "socks5", "socks5h")


def resolve_proxy(url: str, environ: Mapping[str, str]) -> str | None:
    """Return the proxy's URL for ``url`` (http, https, ws or wss), or ``None`` to go there directly.

    Raises ``ConfigError`` naming the variable when its value is no proxy address.
    """
    target = urlsplit(url)
    host = (target.hostname or "").rstrip(".")
    port = target.port or _DEFAULT_PORTS.get(target.scheme)
    if is_loopback(host) or _excluded(host, port, _lookup(environ, "no_proxy")[1]):
        return None
    for name in (_VARIABLES.get(target.scheme, "http_proxy"), "all_proxy"):
        variable, value = _lookup(environ, name)
        if value:
            return _checked(variable, value)
    return None


def is_loopback(host: str) -> bool:
    """Say whether ``host`` (a name or an address, without brackets) is this machine."""
    host = host.lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _lookup(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the variable that counts and its value: the lower-case one where it is set."""
    for variable in (name, name.upper()):
        if value := environ.get(variable, "").strip():
            return variable, value
    return name, ""


def _checked(variable: str, value: str) -> str:
    proxy = value if "://" in value else f"http://{value}"
    if proxy.lower().startswith("socks://"):  # what some desktops write
        proxy = "socks5" + proxy[len("socks") :]
    try:
        parts = urlsplit(proxy)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise _no_proxy(variable, "") from None
    if parts.scheme not in _SCHEMES:
        raise _no_proxy(variable, f"{inert_line(parts.scheme, 20)}:// is not one of {', '.join(_SCHEMES)}")
    if not good or re.search(r"[\x00-\x20\x7f]", proxy):
        raise _no_proxy(variable, "")
    return proxy


def _no_proxy(variable: str, detail: str) -> ConfigError:
    # The value itself is not shown: it may hold a password.
    return ConfigError(
        f"{variable} is not a proxy address", detail or "It should look like http://host:port."
    )


def _excluded(host: str, port: int | None, no_proxy: str) -> bool:
    address = _address(host)
    for entry, entry_port in _entries(no_proxy):
        if entry_port is not None and entry_port != port:
            continue
        if entry == "*" or (_in_network(address, entry) if address else _in_domain(host, entry)):
            return True
    return False


def _entries(no_proxy: str) -> Iterator[tuple[str, int | None]]:
    for entry in re.split(r"[\s,]+", no_proxy.lower()):
        if not entry:
            continue
        if "://" in entry:
            entry = urlsplit(entry).netloc
        if entry.count(":") == 1 or entry.startswith("["):
            parts = SplitResult("", entry, "", "", "")
            try:
                yield parts.hostname or "", parts.port
            except ValueError:
                continue
        else:
            yield entry, None


def _in_domain(host: str, entry: str) -> bool:
    domain = entry.removeprefix("*").strip(".")
    return bool(domain) and (host.lower() == domain or host.lower().endswith("." + domain))


def _in_network(address: ipaddress.IPv4Address | ipaddress.IPv6Address, entry: str) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
