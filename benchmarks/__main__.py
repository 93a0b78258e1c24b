"""``make bench``: every benchmark in turn, figures beside their targets. Never fails a build."""

from __future__ import annotations

import os

from benchmarks import engine, pane, startup


def main() -> None:
    """Run them all."""
    for title, run in (("Start-up and keys", startup.main), ("Pane", pane.main), ("Engine", engine.main)):
        print(f"{title} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)
        run()
        print(flush=True)


if __name__ == "__main__":
    main()
