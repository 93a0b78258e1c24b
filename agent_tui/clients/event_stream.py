"""One event stream over as many connections as it takes.

Only GET streams reconnect by themselves: the same question asked twice has the same answer. A stream that
a POST opened is read with ``read_frames``, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import AsyncExitStack, aclosing
from types import TracebackType
from typing import TypeVar

from agent_tui.clients.clock import SYSTEM_CLOCK, Breakable, Clock, Naps
from agent_tui.clients.net import Net
from agent_tui.clients.retry import Backoff
from agent_tui.clients.sse import MAX_EVENT_BYTES, Frame, SSEParser
from agent_tui.errors import ConnectFailed, StreamLost, TimedOut, TransportError
from agent_tui.events import LinkChanged

T = TypeVar("T")
Item = Frame | LinkChanged

IDLE_SECONDS = 45.0  # three heartbeats of a backend of ours, which sends one every 15 s
TICK_SECONDS = 2.0  # how late silence may be noticed
SLEPT_SECONDS = 10.0  # a tick this late was slept through, or the program was stopped
STEADY_SECONDS = 10.0  # a connection that held this long was no failed try
FRAMES_PER_TURN = 64  # then the loop may run something else


class Watch:
    """Breaks off a wait for bytes that lasts longer than ``limit`` seconds (``None``: for ever).

    With ``notice_sleep`` also one that the machine slept through: whatever was connected then is
    most likely dead, and asking again costs nothing. Used as ``async with``.
    """

    def __init__(self, clock: Clock, *, notice_sleep: bool) -> None:
        self.limit: float | None = None
        self.slept = False
        self.fed = False  # has any byte of a good answer come
        self._clock = clock
        self._notice_sleep = notice_sleep
        self._breakable = Breakable()
        self._since: float | None = None
        self._error: TransportError | None = None
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Watch:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    async def run(self, awaitable: Awaitable[T]) -> T:
        """Return what ``awaitable`` returns; raises ``TimedOut`` or ``StreamLost`` when it took too long."""
        self._since = self._clock.time()
        try:
            return await self._breakable.run(awaitable)
        except TimeoutError:
            if self._error is None:
                raise
            raise self._error from None
        finally:
            self._since = None

    async def _look(self) -> None:
        while True:
            before = self._clock.time()
            await self._clock.sleep(self._tick(before))
            now = self._clock.time()
            if self._notice_sleep and now - before > TICK_SECONDS + SLEPT_SECONDS:
                self.slept = True
                self._break_off(StreamLost("this machine slept"))
            elif self.limit is not None and self._since is not None and now - self._since >= self.limit:
                self._break_off(TimedOut(f"the server said nothing for {self.limit:g} s"))

    def _tick(self, now: float) -> float:
        """Return how long nothing needs to be looked at."""
        if self.limit is None or self._since is None:
            return TICK_SECONDS
        return min(TICK_SECONDS, max(self._since + self.limit - now, 0.01))

    def _break_off(self, error: TransportError) -> None:
        self._error = error
        self._breakable.break_off()


async def read_frames(
    net: Net,
    method: str,
    path: str,
    params: Mapping[str, str],
    *,
    parser: SSEParser,
    watch: Watch,
) -> AsyncGenerator[Item, None]:
    """Yield ``LinkChanged("live")`` and then the frames of one connection, until its clean end.

    Yields ``LinkChanged("ended")`` alone when the server says there is nothing (204, 205). The
    connection asks for what follows ``parser.last_event_id``. Raises as ``Net.stream`` does.
    """
    headers = _last_event_id_header(parser.last_event_id)
    async with AsyncExitStack() as stack:
        opening = stack.enter_async_context(net.stream(method, path, params=params, headers=headers))
        answer = await watch.run(opening)
        if answer.status in (204, 205):
            yield LinkChanged("ended", "the server has nothing more to send")
            return
        yield LinkChanged("live")
        delivered = 0
        while chunk := await watch.run(anext(answer.aiter_bytes(), b"")):
            watch.fed = True
            for frame in parser.feed(chunk):
                yield frame
                delivered += 1
                if delivered % FRAMES_PER_TURN == 0:
                    await asyncio.sleep(0)


def _last_event_id_header(last_event_id: str) -> dict[str, str]:
    """Return the header, or none when the id is empty or holds what no header can carry."""
    value = last_event_id.strip()
    return {"Last-Event-ID": value} if value and all(char >= " " and char != "\x7f" for char in value) else {}


class EventStream:
    """A GET stream that reconnects. ``async for`` gives its frames and ``LinkChanged`` in between.

    ``last_event_id`` is where to begin; it goes out as ``Last-Event-ID`` and, where ``resume_param`` names
    a query parameter, there too. Silence of ``idle_timeout`` seconds counts as broken once the server
    was heard to send comments (its heartbeat). It reconnects after transport errors, 408, 425, 429, 5xx
    and a clean end, and stops after 204 (``LinkChanged("ended")``). Raises ``Refused`` and
    ``ProtocolError`` as they come, and ``ConnectFailed`` when no byte came for ``give_up_seconds``.
    """

    def __init__(
        self,
        net: Net,
        path: str,
        params: Mapping[str, str] | None = None,
        last_event_id: str = "",
        idle_timeout: float = IDLE_SECONDS,
        *,
        resume_param: str = "",
        give_up_seconds: float | None = None,
        backoff: Backoff | None = None,
        clock: Clock = SYSTEM_CLOCK,
        naps: Naps | None = None,
        max_event_bytes: int = MAX_EVENT_BYTES,
    ) -> None:
        self.last_event_id = last_event_id
        self._net = net
        self._path = path
        self._params = dict(params or {})
        self._idle_timeout = idle_timeout
        self._resume_param = resume_param
        self._give_up_seconds = give_up_seconds
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._naps = naps or Naps(clock)
        self._max_event_bytes = max_event_bytes
        self._heartbeat = False  # was a comment ever heard
        self._lost_at = 0.0  # since when there is no good byte
        self._live_at: float | None = None  # when this connection's answer came

    def __aiter__(self) -> AsyncGenerator[Item, None]:
        return self._items()

    def retry_now(self) -> None:
        """End the wait before the next try, if one is going on."""
        self._naps.wake()

    async def _items(self) -> AsyncGenerator[Item, None]:
        self._lost_at = self._clock.time()
        while True:
            yield LinkChanged("connecting", attempt=self._backoff.attempt)
            watch = Watch(self._clock, notice_sleep=True)
            parser = self._parser(watch)
            watch.limit = self._left()
            self._live_at = None
            error: TransportError = StreamLost("the stream ended")
            try:
                async with watch, aclosing(self._read(parser, watch)) as items:
                    async for item in items:
                        self._note(item, watch)
                        yield item
                        if isinstance(item, LinkChanged) and item.status == "ended":
                            return
            except TransportError as caught:
                if not caught.retryable:
                    raise
                error = caught
            self._note_end(parser, watch)
            delay = 0.0 if watch.slept else self._delay(error)
            yield LinkChanged("waiting", str(error), delay, self._backoff.attempt)
            await self._naps.nap(delay)

    def _note(self, item: Item, watch: Watch) -> None:
        if isinstance(item, Frame):
            self.last_event_id = item.id
            self._backoff.reset()
        elif item.status == "live":
            self._live_at = self._clock.time()
            watch.limit = self._idle_timeout if self._heartbeat else None

    def _note_end(self, parser: SSEParser, watch: Watch) -> None:
        """Draw from a connection that is over what the next one should know."""
        self.last_event_id = parser.last_event_id  # an id may have come without an event
        if parser.retry is not None:
            self._backoff.server_wishes(parser.retry)
        now = self._clock.time()
        steady = self._live_at is not None and now - self._live_at >= STEADY_SECONDS
        if steady:
            self._backoff.reset()
        if steady or watch.fed:
            self._lost_at = now

    def _read(self, parser: SSEParser, watch: Watch) -> AsyncGenerator[Item, None]:
        params = dict(self._params)
        if self._resume_param and self.last_event_id:
            params[self._resume_param] = self.last_event_id
        return read_frames(self._net, "GET", self._path, params, parser=parser, watch=watch)

    def _parser(self, watch: Watch) -> SSEParser:
        def heard(_: str) -> None:
            self._heartbeat = True
            watch.limit = self._idle_timeout

        return SSEParser(self.last_event_id, self._max_event_bytes, heard)

    def _left(self) -> float | None:
        """Return the seconds left until we give up, ``None`` when we never do."""
        if self._give_up_seconds is None:
            return None
        return self._lost_at + self._give_up_seconds - self._clock.time()

    def _delay(self, error: TransportError) -> float:
        """Return how long to wait after ``error``; raises ``ConnectFailed`` when it is time to give up."""
        left = self._left()
        if left is not None and left <= 0:
            gave_up = f"no connection for {self._give_up_seconds:g} s"
            raise ConnectFailed(gave_up, str(error), retryable=False) from error
        delay = self._backoff.next_delay(error.retry_after)
        return delay if left is None else min(delay, left)
