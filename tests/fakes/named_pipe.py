"""What a program of the test says through a named pipe."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 60.0


async def read_pipe(path: Path) -> str:
    """Return what somebody writes into the named pipe ``path``, up to the end.

    Raises ``TimeoutError`` when nobody comes. The pipe is not opened in a thread, which could not be
    cancelled: a pipe that nobody has opened for writing yet wakes nobody.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    loop, ready, data = asyncio.get_running_loop(), asyncio.Event(), b""
    loop.add_reader(file, ready.set)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                await ready.wait()
                ready.clear()
                with suppress(BlockingIOError):  # woken once more for what was read already
                    if not (piece := os.read(file, 4096)):
                        return data.decode()
                    data += piece
    finally:
        loop.remove_reader(file)
        os.close(file)
