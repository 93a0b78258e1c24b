"""Which proxy leads to a URL: one answer for httpx and websockets, which read the environment differently.

One refuses ``ALL_PROXY=socks://…``, as some desktops write it; the other ignores ``ALL_PROXY`` and refuses
``HTTP_PROXY=host:port``. The standard library reads ``NO_PROXY``, except for networks. Loopback never uses a
proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line

_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_SCHEMES = ("http", "https", "socks5", "socks5h")


def resolve_proxy(url: str, environ: Mapping[str, str]) -> str | None:
    """Return the proxy's URL for ``url`` (http, https, ws or wss), or ``None`` to go there directly.

    Raises ``ConfigError`` naming the variable if its value is not the address of a proxy.
    """
    target = urlsplit(url)
    host = (target.hostname or "").rstrip(".")
    port = target.port or _PORTS.get(target.scheme, 80)
    excluded = _lookup(environ, "no_proxy")[1].replace(",", " ").split()  # blanks separate too
    by_name = proxy_bypass_environment(f"{host}:{port}", {"no": ",".join(excluded)})
    if is_loopback(host) or by_name or any(_is_in(host, network) for network in excluded):
        return None
    for name in ("https_proxy" if target.scheme in ("https", "wss") else "http_proxy", "all_proxy"):
        variable, value = _lookup(environ, name)
        if value:
            return _check_address(variable, value)
    return None


def is_loopback(host: str) -> bool:
    """Return whether ``host`` (a name or an address, without brackets) is this machine."""
    host = host.lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_in(host: str, network: str) -> bool:
    """Return whether ``host`` is an address in ``network``, which the standard library does not read."""
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _lookup(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the variable that counts and its value: the lower-case one if it is set."""
    for variable in (name, name.upper()):
        if value := environ.get(variable, "").strip():
            return variable, value
    return name, ""


def _check_address(variable: str, value: str) -> str:
    proxy = value if "://" in value else f"http://{value}"
    if proxy.lower().startswith("socks://"):  # as some desktops write it
        proxy = "socks5" + proxy[len("socks") :]
    try:
        parts = urlsplit(proxy)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise _no_proxy(variable, "") from None
    if parts.scheme not in _SCHEMES:
        raise _no_proxy(variable, f"{inert_line(parts.scheme, 20)}:// is not one of {', '.join(_SCHEMES)}")
    if not good or any(char <= " " or char == "\x7f" for char in proxy):
        raise _no_proxy(variable, "")
    return proxy


def _no_proxy(variable: str, detail: str) -> ConfigError:
    # The value itself is not shown: it may contain a password.
    return ConfigError(
        f"{variable} is not a proxy address", detail or "It should look like http://host:port."
    )
