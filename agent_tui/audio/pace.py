"""Ten milliseconds after ten milliseconds, for sound that no device paces."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Final

from agent_tui.audio.sound import BLOCK_SECONDS

LATE_SECONDS: Final = 0.1  # who is later than this does not catch up


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
