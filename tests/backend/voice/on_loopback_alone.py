"""Asks for a token where loopback is the only network interface: run it in a network namespace of its own.

Writes the answer's status and body to stdout. The argument is a folder for the data.
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import sys
from pathlib import Path

import pytest

from tests.backend.voice.voice_backend import voice_backend

SET_FLAGS = 0x8914  # SIOCSIFFLAGS
UP = 0x1


def start_loopback() -> None:
    """Switch loopback on; a new namespace has it switched off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking, SET_FLAGS, struct.pack("16sh14x", b"lo", UP))


async def ask(data: Path) -> None:
    """Ask for a token."""
    with pytest.MonkeyPatch.context() as patch:
        async with voice_backend(data, patch) as backend:
            answer = await backend.ask(room_name="den")
            sys.stdout.write(f"{answer.status}\n{answer.body.decode()}\n")


if __name__ == "__main__":
    start_loopback()
    asyncio.run(ask(Path(sys.argv[1])))
