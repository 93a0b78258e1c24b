"""Long conversations: a million tokens in one pane, ten thousand stored messages to open."""

from __future__ import annotations

from typing import Final

from benchmarks.load import Load
from benchmarks.table import row
from benchmarks.terminal import played

MILLION: Final = 1_000_000
MILLION_RATE: Final = 60_000.0  # slow enough that every word is split and most are seen
MESSAGES: Final = 10_000


def million() -> None:
    """One agent says a million tokens in a hundred turns."""
    load = Load(
        "ours", "long", panes=1, words=MILLION, rate=MILLION_RATE, columns=120, rows=40, is_watched=False
    )
    report = played(load).report
    note = "state and pane together"
    row("1 M tokens in one pane: memory", "≤ 30 MB", f"{report.grown / 1e6:.0f} MB", note)
    mean = sum(report.quarters) / len(report.quarters)
    spread = max(abs(quarter / mean - 1) for quarter in report.quarters)
    costs = " ".join(f"{quarter * 4 / MILLION * 1e6:.1f}" for quarter in report.quarters)
    row("1 M tokens: CPU per token, by quarter", "± 10 %", f"± {spread:.0%}", f"{costs} µs")


def opened() -> None:
    """Messages in memory, as the server sent them, to the last words of every pane on the screen."""
    load = Load("ours", "open", panes=4, words=MESSAGES, is_watched=False)
    seconds = played(load).marked("mark", load.panes)
    row(f"{MESSAGES:,} messages (10 MB) to the first frame", "≤ 0.6 s", f"{seconds:.2f} s")


def main() -> None:
    """Print both."""
    opened()
    million()
