"""Whether WebRTC can work here: it needs a network interface other than loopback, even to reach 127.0.0.1."""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path

_GET_FLAGS = 0x8913  # SIOCGIFFLAGS, netdevice(7)
_GET_ADDRESS = 0x8915  # SIOCGIFADDR
_UP = 0x1
_LOOPBACK = 0x8
_IPV6_ADDRESSES = Path("/proc/net/if_inet6")  # address, index, prefix, scope, flags, name


def has_interface() -> bool:
    """Return whether an interface other than loopback is up and has an address; true if that is unknown."""
    if sys.platform != "linux":
        return True
    import fcntl  # not available everywhere

    try:
        names = [name for _, name in socket.if_nameindex()]
        with_ipv6 = {line.split()[-1] for line in _ipv6_lines()}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            for name in names:
                request = struct.pack("256s", name.encode()[:15])
                flags = struct.unpack_from("H", fcntl.ioctl(probe, _GET_FLAGS, request), 16)[0]
                if not flags & _UP or flags & _LOOPBACK:
                    continue
                if name in with_ipv6:
                    return True
                try:
                    fcntl.ioctl(probe, _GET_ADDRESS, request)
                except OSError:  # it has no IPv4 address
                    continue
                return True
    except OSError:
        return True
    return False


def _ipv6_lines() -> list[str]:
    try:
        return _IPV6_ADDRESSES.read_text().splitlines()
    except OSError:
        return []
