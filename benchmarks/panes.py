"""Sixteen agents talk at once: what that costs, and how soon a key is answered meanwhile.

A share of a core counts everything in the program's process: panes, Textual, the feed, a beat every 10 ms
that tells how late the event loop is, and a key every 130 ms. CPU per token leaves out what the same program
costs while nothing is said. A frame counts when it has reached the terminal and shows more than the echo of
the key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from benchmarks.load import Load
from benchmarks.table import ms, row, times
from benchmarks.terminal import Seen, played

SECONDS: Final = 4.0
FREE_WORDS: Final = 640_000
CROWD_RATE: Final = 2500.0  # of each of 16 panes: 40,000 tok/s
SLOW_BYTES: Final = 30_000  # a second


def both(load: Load) -> tuple[Seen, Seen]:
    """Run the load on ours and on stock Textual, one after the other."""
    return played(load), played(replace(load, program="stock"))


def paced() -> None:
    """Sixteen panes at a reader's speed and at ten times that, one pane alone."""
    ours, stock = both(Load("ours", "paced", rate=50, seconds=SECONDS))
    fluency("16 panes × 50 tok/s", ("0.25", "28", "20", "40"), ours, stock)
    per_token("16 panes × 50 tok/s: CPU per token", "≤ 1/8", ours, stock)
    ours, stock = both(Load("ours", "paced", rate=500, seconds=SECONDS))
    fluency("16 panes × 500 tok/s", ("0.5", "25", "40", "80"), ours, stock)
    per_token("16 panes × 500 tok/s: CPU per token", "≤ 1/8", ours, stock)
    ours, stock = both(Load("ours", "paced", panes=1, rate=150, seconds=SECONDS, columns=120, rows=40))
    per_token("1 pane at 150 tok/s: CPU per token", "≤ 1/6", ours, stock)
    sizes = [f"{seen.bytes / seen.report.words:.0f}" for seen in (ours, stock)]
    row("1 pane at 150 tok/s: bytes to the terminal per token", "", sizes[0], "", sizes[1])


def fluency(what: str, targets: tuple[str, str, str, str], ours: Seen, stock: Seen) -> None:
    """Print how fluent a paced load was: core, frames, loop, keys."""
    core, fps, late, key = targets
    shown = (
        f"stock shows {stock.report.shown:.0%} of the words at the end" if stock.report.shown < 0.99 else ""
    )
    shares = [f"{seen.report.core_share:.2f}" for seen in (ours, stock)]
    row(f"{what}: share of a core", f"≤ {core}", shares[0], shown, shares[1])
    row(f"{what}: frames a second", f"≥ {fps}", f"{ours.fps:.0f}", "", f"{stock.fps:.0f}")
    worst = f"worst {ms(max(ours.report.late))} and {ms(max(stock.report.late))}"
    lates = [ms(seen.report.late_p99) for seen in (ours, stock)]
    row(f"{what}: event loop late, p99", f"≤ {late} ms", lates[0], worst, lates[1])
    row(f"{what}: key to screen, p95", f"≤ {key} ms", ms(ours.key_p95), "", ms(stock.key_p95))


def per_token(what: str, target: str, ours: Seen, stock: Seen) -> None:
    """Print what a token costs, against Textual's stream."""
    costs = [seen.report.word_cpu * 1000 for seen in (ours, stock)]
    if min(costs) <= 0:  # what is there without words cost more than with them
        row(what, target, "?", "the machine was too busy to tell", "?")
        return
    figures = [f"{cost:.2f} ms" for cost in costs]
    row(what, target, figures[0], times(costs[0] / costs[1]), figures[1])


def sustained() -> None:
    """As many words as can be taken, and what 40,000 a second leave of fluency."""
    free_load = Load("ours", "free", words=FREE_WORDS)
    free = played(free_load)
    crowd = played(Load("ours", "paced", rate=CROWD_RATE, seconds=SECONDS))
    rate = f"{FREE_WORDS / free.marked('last', free_load.panes):,.0f}"
    said = crowd.report.words / (crowd.report.ended - crowd.report.began)
    note = f"at {said:,.0f}: {crowd.report.core_share:.2f} core, {crowd.fps:.0f} frames a second"
    row("16 panes, tok/s until the last is on the screen", "≥ 40,000", rate, note)


def slow() -> None:
    """A terminal that takes 30 kB a second."""
    ours, stock = both(Load("ours", "paced", rate=50, seconds=SECONDS, read_rate=SLOW_BYTES))
    keys = f"key to screen, p95: {ms(ours.key_p95)} and {ms(stock.key_p95)}"
    worst = [ms(max(seen.report.late)) for seen in (ours, stock)]
    row("terminal takes 30 kB/s: longest stall of the loop", "≤ 25 ms", worst[0], keys, worst[1])


def idle() -> None:
    """Sixteen panes full of words, and nothing is said."""
    seen = played(Load("ours", "idle", seconds=SECONDS, is_watched=False))
    row("16 panes, nothing said: CPU", "≤ 0.3 %", f"{seen.report.core_share:.1%}")
    row("16 panes, nothing said: bytes to the terminal", "0 B/s", f"{seen.bytes / SECONDS:.0f} B/s")


def main() -> None:
    """Print all of them."""
    for measure in (paced, sustained, slow, idle):
        measure()
