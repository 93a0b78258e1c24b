"""The addresses from which a page may be fetched: those of the public network, and those that the user
named.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from agent_tui.backend.tools.tool import ToolError
from agent_tui.model.inert import inert_line

Address = IPv4Address | IPv6Address
_LOCAL = "localhost"
# IPv6 addresses that contain the IPv4 address they lead to: translated and compatible ones.
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_REFUSED = tuple(map(IPv6Network, ("64:ff9b:1::/48", "::ffff:0:0:0/96", "fec0::/10", "5f00::/16")))


def is_public(address: Address) -> bool:
    """Return whether an address belongs to the public network, including every IPv4 address in it."""
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast
    if address in _COMPATIBLE or any(address in network for network in _REFUSED):
        return False
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address in _NAT64:
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    if inner is not None:
        return is_public(inner)
    return address.is_global and not address.is_multicast and address.teredo is None


def is_named(host: str, port: int, named: Collection[str]) -> bool:
    """Return whether the user named ``host`` or ``host:port``; the names are in lower case."""
    shown = f"[{host}]" if ":" in host else host
    return bool({shown.lower(), f"{shown}:{port}".lower()} & set(named))


def refuse_literal(host: str, port: int) -> None:
    """Raise ``ToolError`` if ``host`` is itself an address that is not of the public network, or this
    machine's own name; other names are not looked up.
    """
    name = host.lower().rstrip(".")
    if name == _LOCAL or name.endswith(f".{_LOCAL}"):
        _refuse_private(["127.0.0.1"], host, port)
    with suppress(OSError, UnicodeError):
        numbers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        _refuse_private([str(entry[4][0]) for entry in numbers], host, port)


def _refuse_private(addresses: Collection[str], host: str, port: int) -> None:
    if not all(is_public(ip_address(address)) for address in addresses):
        raise ToolError(
            f"{inert_line(host, 100)} is an address of this machine or its network, which is not fetched;"
            f' [tools] private_hosts = ["{inert_line(host, 100)}:{port}"] in the config file allows it'
        )


async def public_addresses(host: str, port: int, *, may_be_private: bool) -> list[str]:
    """Return the addresses of ``host``, the best first; only these were checked.

    Raises ``ToolError`` if there is none, or if any of them is not of the public network.
    """
    try:
        entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ToolError(f"{inert_line(host, 100)}: there is no such host") from None
    addresses = [str(entry[4][0]) for entry in entries]
    if not may_be_private:
        _refuse_private(addresses, host, port)
    if not addresses:
        raise ToolError(f"{inert_line(host, 100)}: there is no such host")
    return list(dict.fromkeys(addresses))
