"""One client for each protocol; every stream can be read with ``async for``."""

from __future__ import annotations

import sys

# If rich, click and pygments are installed, as they are here, httpx loads its command line, too:
# 270 ms of 350. Blocked, it behaves as if they were missing; nothing here calls it.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None is Python's own way to bar it
