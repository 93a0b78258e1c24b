"""Ten minutes of a busy room, and a room that is opened and closed again and again: what stays in memory."""

from __future__ import annotations

from typing import Final

from benchmarks.load import Load
from benchmarks.table import row
from benchmarks.terminal import played

AGENTS: Final = 8
SECONDS: Final = 600.0
RATE: Final = 34.5  # words a second of each agent: 165,600 events
VISITS: Final = 300


def busy() -> None:
    """Eight agents speak in rounds for ten minutes."""
    load = Load("ours", "rounds", panes=AGENTS, rate=RATE, seconds=SECONDS, is_watched=False)
    report = played(load).report
    note = f"{report.words:,} events, {report.grown / report.characters:.1f} bytes a character"
    what = f"8 agents for ten minutes, {report.characters / 1e6:.2f} M characters: memory"
    row(what, "≤ 20 MB", f"{report.grown / 1e6:.0f} MB", note)


def visits() -> None:
    """A room full of words is opened and closed."""
    load = Load("ours", "visits", panes=AGENTS, words=VISITS, is_watched=False)
    report = played(load).report
    row(f"{VISITS} times a room opened and closed: memory", "≤ 5 MB", f"{report.grown / 1e6:.1f} MB")


def main() -> None:
    """Print both."""
    busy()
    visits()
