"""One client for each protocol; every stream can be read with ``async for``."""

from __future__ import annotations

import sys

# Where rich, click and pygments are installed, as they are with us, httpx loads its command line too:
# 270 ms of 350. Barred, it falls back to what it does where they are missing; nobody here calls it.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None is Python's own way to bar it
