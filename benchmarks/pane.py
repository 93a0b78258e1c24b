"""One pane at 150 tokens/s in a real pty: our transcript against Textual's own Markdown stream.

The parent plays the terminal (it reads what is written and answers Textual's question about synchronised
output), the child is the program. Both programs get the same words at the same times; what counts is the
ratio of their CPU seconds in one run of this file.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import random
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final

from benchmarks.table import row, times

TOKENS_PER_SECOND: Final = 150
FEED_SECONDS: Final = 6.0
CHILD_SECONDS: Final = 40.0  # then a child is ended, whatever it does
ROWS, COLUMNS = 40, 120
TARGET: Final = 1 / 6

_SENTENCES: Final = (
    "The pool is drained before the **health check** fails, so the deploy is rolled back.",
    "Ada is right that `p95` matters, but a cold cache is what hurts people.",
    "两位的分歧其实在一个问题上:会话丢了,谁受罪?",
    "Let us measure it once, and only *then* decide; the [numbers](https://example.org/n) are cheap.",
    "Each session costs 2 kB, which is nothing beside the pages that it saves us from rendering again.",
)
_CODE: Final = (
    "```python\ndef load(sid: str) -> Session:\n    row = store.get(sid)\n    return Session(**row)\n```"
)
_TABLE: Final = (
    "| store | p95 | lost on kill |\n|---|--:|---|\n"  # head and delimiter
    "| Redis | 0.4 | 1 s of data |\n| PostgreSQL | 1.9 | nothing |"
)
_LIST: Final = (
    "- every request misses,\n- the pool is drained,\n  - and stays so,\n- it is rolled back\n\n"
    "1. first\n2. then"
)


def words(count: int) -> list[str]:
    """Return ``count`` pieces of Markdown as a model would stream them, always the same."""
    rng = random.Random(7)
    pieces: list[str] = []
    while len(pieces) < count:
        paragraph = " ".join(rng.choices(_SENTENCES, k=rng.randint(2, 5)))
        block = rng.choice((_CODE, _TABLE, _LIST, paragraph))
        text = f"{rng.choice(('## Findings', paragraph, paragraph))}\n\n{block}\n\n"
        while text:
            size = rng.randint(2, 6)
            pieces.append(text[:size])
            text = text[size:]
    return pieces[:count]


async def feed(add: Callable[[str], Awaitable[None]]) -> dict[str, float]:
    """Give all words at their times and return what that cost: CPU seconds, wall seconds, words."""
    pieces = words(int(TOKENS_PER_SECOND * FEED_SECONDS))
    cpu, start = time.process_time(), time.monotonic()
    for index, piece in enumerate(pieces):
        late = start + index / TOKENS_PER_SECOND - time.monotonic()
        await asyncio.sleep(max(0.0, late))
        await add(piece)
    return {"cpu": time.process_time() - cpu, "wall": time.monotonic() - start, "words": len(pieces)}


# --- the two programs ---


def run_ours(report: Callable[[dict[str, float]], None]) -> None:
    """The transcript of this project, fed and drawn as the room screen does it."""
    from textual.app import App, ComposeResult

    from widgets.frame_clock import FrameClock
    from widgets.transcript import Transcript

    class Ours(App[None]):
        def compose(self) -> ComposeResult:
            yield Transcript(clock=FrameClock.for_app(self))

        def on_ready(self) -> None:
            self.run_worker(self.speak())

        async def speak(self) -> None:
            pane = self.query_one(Transcript)
            pane.turn_opened("turn")

            async def add(piece: str) -> None:
                pane.text_added("turn", piece)

            report(await feed(add))
            self.exit()

    Ours().run()


def run_stock(report: Callable[[dict[str, float]], None]) -> None:
    """Textual's Markdown widget with its own stream, anchored at the end."""
    from textual.app import App, ComposeResult
    from textual.containers import VerticalScroll
    from textual.widgets import Markdown

    class Stock(App[None]):
        def compose(self) -> ComposeResult:
            with VerticalScroll():
                yield Markdown()

        def on_ready(self) -> None:
            self.query_one(VerticalScroll).anchor()
            self.run_worker(self.speak())

        async def speak(self) -> None:
            stream = Markdown.get_stream(self.query_one(Markdown))
            report(await feed(stream.write))
            await stream.stop()
            self.exit()

    Stock().run()


# --- the parent ---


def measured(program: str) -> dict[str, float]:
    """Run one program in a pty and return its report, with the bytes it wrote to the terminal."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        terminal, inside = os.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.pane", program, str(report)],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            env=os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_FPS": "240"},
        )
        os.close(inside)
        written = sum(_played(terminal))
        os.close(terminal)
        child.kill()  # it has ended, or its time is up
        child.wait()
        if not report.exists():
            raise SystemExit(f"{program} did not report within {CHILD_SECONDS:.0f} s")
        result: dict[str, float] = json.loads(report.read_text(encoding="utf-8"))
        return result | {"bytes": float(written)}


def _played(terminal: int) -> Iterator[int]:
    """Play the terminal until the program ends or its time is up; yield the sizes of what it wrote."""
    deadline = time.monotonic() + CHILD_SECONDS
    while True:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        try:
            data = os.read(terminal, 65536) if ready else b""
        except OSError:  # how a pty says that the other side is closed
            data = b""
        if not data:
            return
        if b"\x1b[?2026$p" in data:
            os.write(terminal, b"\x1b[?2026;2$y")
        yield len(data)


def main() -> None:
    """Print CPU and bytes of both programs and their ratio."""
    results = {program: measured(program) for program in ("ours", "stock")}
    ours, stock = results["ours"], results["stock"]
    figure = f"pane at {TOKENS_PER_SECOND} tok/s, CPU against Markdown stream"
    note = f"{ours['cpu']:.2f} s against {stock['cpu']:.2f} s of CPU"
    row(figure, f"≤ {times(TARGET)}", times(ours["cpu"] / stock["cpu"]), note)
    written = [f"{result['bytes'] / result['words']:.0f}" for result in (ours, stock)]
    row("pane, bytes/token to the terminal", "", written[0], f"stock {written[1]}")


def _child(program: str, path: str) -> None:
    def report(result: dict[str, float]) -> None:
        Path(path).write_text(json.dumps(result), encoding="utf-8")

    {"ours": run_ours, "stock": run_stock}[program](report)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        _child(sys.argv[1], sys.argv[2])
    else:
        main()
