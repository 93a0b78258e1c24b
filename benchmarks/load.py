"""What a program is put to, and what it says of itself when it is over; both cross a process as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Final, Literal

SETTLE_SECONDS: Final = 1.0
SLOW_SETTLE_SECONDS: Final = 6.0  # the first screens of such a line
IDLE_SECONDS: Final = 1.0
BEAT_SECONDS: Final = 0.01
LINGER_SECONDS: Final = 1.0  # after the feed, so that the terminal can take the last frames
LONG_LINGER_SECONDS: Final = 8.0  # after words that came faster than they can be drawn
EARLIER_WORDS: Final = 250  # said before, so that panes are full and scroll


@dataclass(frozen=True, slots=True)
class Load:
    """Panes and what is said in them; ``chat`` is our program with a chat, which is one pane.

    ``paced``: ``rate`` words a second in each pane for ``seconds``. ``free``: ``words`` in all, as fast as
    they are taken. ``long``: the same in turns of one agent. ``rounds``: as ``paced``, in rounds of
    turns. ``open``: ``words`` stored messages. ``visits``: a room is opened and closed ``words`` times.
    ``idle``: nothing for ``seconds``.
    """

    program: Literal["ours", "chat", "stock"]
    feed: Literal["paced", "free", "long", "rounds", "open", "visits", "idle"]
    panes: int = 16
    rate: float = 0.0
    seconds: float = 6.0
    words: int = 0
    is_watched: bool = True  # a key every 130 ms and a beat every 10 ms, which cost some CPU themselves
    read_rate: int = 0  # bytes a second that the terminal takes; 0: all there are
    columns: int = 200
    rows: int = 60

    def as_argument(self) -> str:
        """Return it as one argument of a command line."""
        return json.dumps(asdict(self))


@dataclass(slots=True)
class Report:
    """Times are of the monotonic clock, which all processes share; CPU is the process's own, in seconds."""

    began: float = 0.0
    ended: float = 0.0
    cpu: float = 0.0
    idle_share: float = 0.0  # of a core, watched but with nothing to say
    words: int = 0
    characters: int = 0  # of the words, where they are counted
    shown: float = 1.0  # how much of the words the program's document holds at the end
    late: list[float] = field(default_factory=list)  # seconds, one for each beat
    quarters: list[float] = field(default_factory=list)  # CPU of each quarter of the words
    grown: int = 0  # resident bytes, from begin to end
    failure: str = ""

    @property
    def late_p99(self) -> float:
        """How late the event loop is in the worst of a hundred beats, in seconds."""
        return quantiles(self.late, n=100)[-1]

    @property
    def core_share(self) -> float:
        """Share of a core, everything counted."""
        return self.cpu / (self.ended - self.began)

    @property
    def word_cpu(self) -> float:
        """CPU seconds for each word, without what the watched idle program costs."""
        return (self.cpu - self.idle_share * (self.ended - self.began)) / self.words


class LoadMeter:
    """Measures the process it is in, around what the feed does."""

    def __init__(self, load: Load) -> None:
        self.report = Report()
        self._load = load
        self._beating: asyncio.Task[None] | None = None
        self._cpu = 0.0
        self._resident = 0

    async def settle(self) -> None:
        """Wait until the program has come to rest, and find what it costs then."""
        await asyncio.sleep(SLOW_SETTLE_SECONDS if self._load.read_rate else SETTLE_SECONDS)
        gc.collect()  # before the beat: it would be late
        if self._load.is_watched:
            self._beating = asyncio.create_task(self._beat())
            began, cpu = time.monotonic(), time.process_time()
            await asyncio.sleep(IDLE_SECONDS)
            self.report.idle_share = (time.process_time() - cpu) / (time.monotonic() - began)
            self.report.late.clear()

    def begin(self) -> float:
        """Note when the feed begins; return that."""
        self._resident = resident()
        self.report.began = time.monotonic()
        self._cpu = time.process_time()
        return self.report.began

    def quarter(self) -> None:
        """Note that another quarter of the words was taken."""
        self.report.quarters.append(time.process_time() - self._cpu - sum(self.report.quarters))

    async def end(self, words: int) -> None:
        """Note the end of the feed, then give the terminal time to take what is still on its way."""
        report = self.report
        report.cpu = time.process_time() - self._cpu
        report.ended, report.words = time.monotonic(), words
        if self._beating is not None:
            self._beating.cancel()
        await asyncio.sleep(LONG_LINGER_SECONDS if self._load.feed == "free" else LINGER_SECONDS)
        gc.unfreeze()  # what the program set aside while it spoke
        gc.collect()
        report.grown = resident() - self._resident

    async def _beat(self) -> None:
        due = time.monotonic()
        while True:
            due += BEAT_SECONDS
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            late = time.monotonic() - due
            self.report.late.append(late)
            if late > BEAT_SECONDS:  # beats that were missed are not made up for
                due += late


def resident() -> int:
    """Return the process's resident bytes; where the system does not tell, the most there ever were."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
