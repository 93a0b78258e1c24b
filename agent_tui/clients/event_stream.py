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
from agent_tui.clients.patience import Patience
from agent_tui.clients.retry import Backoff
from agent_tui.clients.sse import MAX_EVENT_BYTES, Frame, SSEParser
from agent_tui.model.errors import StreamLost, TimedOut, TransportError
from agent_tui.model.events import LinkChanged

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
        """Return what ``awaitable`` returns; raises ``TimedOut`` or ``StreamLost`` when it took too long.

        A sleep of the machine that nobody waited through is told to the first who waits after it.
        """
        self._since = self._clock.time()
        if self._error is not None:
            asyncio.get_running_loop().call_soon(self._breakable.break_off)
        try:
            result = await self._breakable.run(awaitable)
        except TimeoutError:
            if self._error is None:
                raise
        else:
            if self._error is None:
                return result
        finally:
            self._since = None
        raise self._error

    async def _look(self) -> None:
        while True:
            before = self._clock.time()
            await self._clock.sleep(self._tick(before))
            now = self._clock.time()
            if now - before > TICK_SECONDS + SLEPT_SECONDS:
                if self._notice_sleep:
                    self.slept = True
                    self._break_off(StreamLost("this machine slept"))
                elif self._since is not None:
                    self._since = now  # what came meanwhile was not read yet: no silence so far
            elif self.limit is not None and self._since is not None and now - self._since >= self.limit:
                seconds = max(self.limit, 0.0)  # of somebody's patience nothing may be left
                self._break_off(TimedOut(f"the server said nothing for {seconds:.3g} s"))

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
    headers: Mapping[str, str] | None = None,
    json: object = None,
) -> AsyncGenerator[Item, None]:
    """Yield ``LinkChanged("live")`` and then the frames of one connection, until its clean end.

    Yields ``LinkChanged("ended")`` alone when the server says there is nothing (204, 205). The
    connection asks for what follows ``parser.last_event_id``. Raises as ``Net.stream`` does.
    """
    sent = {**(headers or {}), **_last_event_id_header(parser.last_event_id)}
    async with AsyncExitStack() as stack:
        opening = stack.enter_async_context(net.stream(method, path, json=json, params=params, headers=sent))
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
        headers: Mapping[str, str] | None = None,
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
        self._headers = headers
        self._idle_timeout = idle_timeout
        self._resume_param = resume_param
        self._patience = Patience(clock, backoff or Backoff(), give_up_seconds)
        self._clock = clock
        self._naps = naps or Naps(clock)
        self._max_event_bytes = max_event_bytes
        self._heartbeat = False  # was a comment ever heard
        self._live_at: float | None = None  # when this connection's answer came

    def __aiter__(self) -> AsyncGenerator[Item, None]:
        return self._items()

    def retry_now(self) -> None:
        """End the wait before the next try, if one is going on."""
        self._naps.wake()

    async def _items(self) -> AsyncGenerator[Item, None]:
        self._patience.sign_of_life()  # time counts from here
        while True:
            yield LinkChanged("connecting", attempt=self._patience.backoff.attempt)
            watch = Watch(self._clock, notice_sleep=True)
            parser = self._parser(watch)
            watch.limit = self._patience.left()
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
                error = caught
            self._note_end(parser, watch)
            delay = 0.0 if watch.slept else self._patience.delay_after(error)
            yield LinkChanged("waiting", str(error), delay, self._patience.backoff.attempt)
            await self._naps.nap(delay)

    def _note(self, item: Item, watch: Watch) -> None:
        if isinstance(item, Frame):
            self.last_event_id = item.id
            self._patience.backoff.reset()
        elif item.status == "live":
            self._live_at = self._clock.time()
            watch.limit = self._idle_timeout if self._heartbeat else None

    def _note_end(self, parser: SSEParser, watch: Watch) -> None:
        """Draw from a connection that is over what the next one should know."""
        self.last_event_id = parser.last_event_id  # an id may have come without an event
        if parser.retry is not None:
            self._patience.backoff.server_wishes(parser.retry)
        steady = self._live_at is not None and self._clock.time() - self._live_at >= STEADY_SECONDS
        if steady:
            self._patience.backoff.reset()
        if steady or watch.fed:
            self._patience.sign_of_life()

    def _read(self, parser: SSEParser, watch: Watch) -> AsyncGenerator[Item, None]:
        params = dict(self._params)
        if self._resume_param and self.last_event_id:
            params[self._resume_param] = self.last_event_id
        return read_frames(
            self._net, "GET", self._path, params, parser=parser, watch=watch, headers=self._headers
        )

    def _parser(self, watch: Watch) -> SSEParser:
        def heard(_: str) -> None:
            self._heartbeat = True
            watch.limit = self._idle_timeout

        return SSEParser(self.last_event_id, self._max_event_bytes, heard)
