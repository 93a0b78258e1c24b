"""What the tests of event streams share: opening one on a fake clock, and looking at what it gave."""

from __future__ import annotations

from typing import Any

from agent_tui.clients.clock import TICK_SECONDS
from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import Item, LogStream
from agent_tui.clients.retry import Backoff
from agent_tui.model.events import LinkChanged
from agent_tui.wire.sse import Frame
from tests.fakes.clock import FakeClock
from tests.fakes.collector import Collector


def open_stream(net: Net, clock: FakeClock, **options: Any) -> LogStream:
    backoff = Backoff(base=1, cap=8, random=lambda: 1.0)
    return LogStream(net, "/s", clock=clock, backoff=backoff, **options)


def read(stream: LogStream) -> Collector[Item]:
    return Collector(aiter(stream))


def data(items: list[Item]) -> list[str]:
    return [item.data for item in items if isinstance(item, Frame)]


def links(items: list[Item]) -> list[LinkChanged]:
    return [item for item in items if isinstance(item, LinkChanged)]


def statuses(items: list[Item]) -> list[str]:
    return [link.status for link in links(items)]


def waits(items: list[Item]) -> list[float]:
    return [link.delay for link in links(items) if link.status == "waiting"]


async def wait_and_go_on(reading: Collector[Item], clock: FakeClock, nth: int) -> None:
    """Let the time of the nth wait pass."""
    await reading.until(lambda items: len(waits(items)) >= nth)
    await clock.advance(waits(reading.items)[nth - 1])


async def tick(clock: FakeClock, seconds: float) -> None:
    """Let an awake machine's time pass."""
    for _ in range(int(seconds / TICK_SECONDS)):
        await clock.advance(TICK_SECONDS)
