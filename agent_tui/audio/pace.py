"""A clock of ten milliseconds, for sound without a device."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Final

from agent_tui.audio.sound import BLOCK_SECONDS

LATE_SECONDS: Final = 0.1  # a longer delay is not caught up


async def ticks() -> AsyncGenerator[int, None]:
    """Yield 0, 1, 2, … one every 10 ms, without drift; a short delay is caught up."""
    due = time.monotonic()
    number = 0
    while True:
        yield number
        number += 1
        due += BLOCK_SECONDS
        late = time.monotonic() - due
        if late > LATE_SECONDS:
            due += late
        await asyncio.sleep(max(0.0, -late))
