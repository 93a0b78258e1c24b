"""``make bench``: every benchmark in turn, figures beside their targets. Never fails a build.

``python -m benchmarks PART…`` runs some of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Final

from benchmarks import (
    chat,
    engine,
    long,
    panes,
    readers,
    search,
    soak,
    startup,
    steps,
    voice_agent,
    voice_audio,
    voice_room,
    voice_screen,
    voice_start,
)
from benchmarks import list as rooms_list
from benchmarks.table import heads

PARTS: Final[Mapping[str, Callable[[], None]]] = {
    "startup": startup.main,
    "panes": panes.main,
    "long": long.main,
    "list": rooms_list.main,
    "engine": engine.main,
    "readers": readers.main,
    "chat": chat.main,
    "steps": steps.main,
    "search": search.main,
    "voice_screen": voice_screen.main,
    "soak": soak.main,
    "voice_agent": voice_agent.main,
    "voice_audio": voice_audio.main,
    "voice_room": voice_room.main,
    "voice_start": voice_start.main,
}


def main() -> None:
    """Run the parts that were named, or all."""
    chosen = sys.argv[1:] or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        raise SystemExit(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n", flush=True)
    heads()
    for name in chosen:
        PARTS[name]()
    # Shares and ratios bear other work on the machine, latencies do not.
    print(f"\nload {os.getloadavg()[0]:.1f} at the end", flush=True)


if __name__ == "__main__":
    main()
