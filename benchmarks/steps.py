"""Ten thousand steps in one transcript: to open them, to add one, to fold one, each until it is drawn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median
from typing import Final

from textual.app import App, ComposeResult

from benchmarks.table import row
from widgets.terminal.frame_clock import FrameClock, ScheduledCall
from widgets.terminal.garbage import uncollected
from widgets.transcript.step_body import step_body, step_head
from widgets.transcript.transcript import Transcript

STEPS: Final = 10_000
TIMES: Final = 200
SIZE: Final = (120, 40)
RESULT: Final = "".join(f"{number:5}  a line of what was read, with some words\n" for number in range(40))


class Panes(App[None]):
    """One transcript."""

    def __init__(self, pane: Transcript) -> None:
        super().__init__()
        self._pane = pane

    def compose(self) -> ComposeResult:
        """Show it."""
        yield self._pane


class _Asked:
    def cancel(self) -> None:
        """Nothing comes by itself here: frames are drawn by hand."""


def _never(seconds: float, callback: Callable[[], None]) -> ScheduledCall:
    return _Asked()


def _add(pane: Transcript, number: int) -> None:
    """Add one step as a chat does: its head row now, its body when somebody looks."""
    key = str(number)
    arguments = f'{{"path": "folder/file {number}.txt"}}'
    title, summary = step_head(
        "tool_call", name="read_file", arguments=arguments, result=RESULT, seconds=0.003
    )
    pane.step_opened(key, title=title, summary=summary, sign="✓", is_folded=True)
    pane.body_later(key, lambda: step_body("tool_call", arguments=arguments, result=RESULT))
    pane.turn_closed(key)


def _timed(act: Callable[[], object], pane: Transcript) -> float:
    """Return the seconds of CPU from an act to its frame."""
    began = time.process_time()
    act()
    pane.draw()
    return time.process_time() - began


async def measured() -> tuple[float, float, float, float]:
    """Return the seconds of CPU to open all, to add one, to fold one, to unfold all of them."""
    pane = Transcript(clock=FrameClock(_never))
    app = Panes(pane)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        began = time.process_time()
        with uncollected():  # as where the program opens a conversation
            for number in range(STEPS):
                _add(pane, number)
            pane.draw()
        opened = time.process_time() - began
        added = median(_timed(lambda at=STEPS + at: _add(pane, at), pane) for at in range(TIMES))  # type: ignore[misc]
        keys = [str(at * STEPS // TIMES) for at in range(TIMES)]
        keys += [str(STEPS + TIMES - 1 - at % 30) for at in range(TIMES)]  # in sight
        folded = median(_timed(lambda key=key: pane.folds.toggle(key), pane) for key in keys)  # type: ignore[misc]
        every = _timed(lambda: pane.folds.fold_all(is_folded=False), pane)
    return opened, added, folded, every


def main() -> None:
    """Print the figures."""
    opened, added, folded, every = asyncio.run(measured())
    row(f"{STEPS:,} steps to the first frame", "≤ 0.6 s", f"{opened:.2f} s", "CPU")
    row(f"{STEPS:,} steps: one more, drawn", "≤ 2 ms", f"{added * 1000:.1f} ms", "CPU, median")
    row(f"{STEPS:,} steps: one folded or unfolded", "≤ 2 ms", f"{folded * 1000:.1f} ms", "CPU, median")
    row(f"{STEPS:,} steps: all unfolded at once", "", f"{every * 1000:.0f} ms", "CPU")
