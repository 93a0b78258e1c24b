"""Streams of a server that keeps a log of events: each event once, over as many connections as it takes.

A POST is never repeated: what it began is read on from the log, where the frames had ids.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

from agent_tui.clients.clock import Clock, Naps
from agent_tui.clients.event_stream import Item, Watch
from agent_tui.clients.patience import Patience
from agent_tui.clients.retry import Backoff
from agent_tui.clients.sse import Frame
from agent_tui.model.errors import NotFound, NotOffered, Refused, StreamLost, TimedOut, TransportError
from agent_tui.model.events import Event, LinkChanged

GIVE_UP_SECONDS = 10.0  # cli.md: without a screen at most 10 s

_GONE = 410
_RELOADS = 3  # in a row, without one event in between
_REREADS = 3  # of what came to rest while it was read
_MAX_ID_DIGITS = 18  # fits 63 bits; more is nobody's event id


M = TypeVar("M")
L = TypeVar("L", bound="Logged")


def decimal_id(frame_id: str) -> int | None:
    """Return a decimal event id, ``None`` for any other."""
    if frame_id.isascii() and frame_id.isdigit() and len(frame_id) <= _MAX_ID_DIGITS:
        return int(frame_id)
    return None


class Fresh:
    """Drops frames that were seen before, and those that say nothing; ``last`` is the last decimal id."""

    def __init__(self, last: int | None) -> None:
        self.last = last
        self._asked_from: int | None = None
        self._has_gaps = False  # that is how the server counts

    def misses(self, frame: Frame) -> bool:
        """Say whether frames before ``frame`` are missing, which the server is to be asked for: those behind
        ``last``. It is asked once: what it does not give then, it does not have.
        """
        number = decimal_id(frame.id)
        if self._has_gaps or number is None or self.last is None or number <= self.last + 1:
            return False
        self._has_gaps = self._asked_from == self.last
        self._asked_from = self.last
        return not self._has_gaps

    def takes(self, frame: Frame) -> bool:
        """Say whether ``frame`` is news. Ids are one per frame, or there are none (protocols.md §1)."""
        if not frame.data:  # an empty frame behind a comment is no event (fault 7)
            return False
        number = decimal_id(frame.id)
        if number is not None:
            if self.last is not None and number <= self.last:
                return False
            self.last = number
        return True


async def read_on(
    begun: AsyncGenerator[Item, None],
    rest: Callable[[int], AsyncGenerator[Item, None]],
    is_last: Callable[[Frame], bool],
) -> AsyncGenerator[Item, None]:
    """Yield what a POST ``begun``, until its last frame; ``rest`` gives the frames behind an id.

    Raises ``StreamLost`` ("broke off", because of its cause) where that cannot be read on.
    """
    fresh = Fresh(None)
    try:
        async with aclosing(begun) as items:
            async for item in items:
                ends = isinstance(item, Frame) and is_last(item) and bool(item.data)
                # An error that could not be stored has no id of its own, and ends the run all the same.
                if isinstance(item, Frame) and not fresh.takes(item) and not ends:
                    continue
                yield item
                if ends:
                    return
        lost: TransportError = StreamLost("the stream ended before its last event")
    except (StreamLost, TimedOut) as error:
        lost = error
    if fresh.last is None:
        raise _broke_off(lost) from lost
    try:
        async with aclosing(rest(fresh.last)) as items:
            async for item in items:
                yield item
                if isinstance(item, Frame) and is_last(item):
                    return
    except (NotFound, NotOffered):
        raise _broke_off(lost) from lost
    raise _broke_off(lost) from lost


def _broke_off(lost: TransportError) -> StreamLost:
    return StreamLost("broke off", str(lost))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A conversation as it is stored, and the event id to follow it from.

    ``read`` makes an event of each frame behind that, ``None`` of one after which all must be loaded again.
    """

    event: Event
    as_of: int
    read: Callable[[Frame], Event | None]


class Logged(Protocol):
    """What a server says of a room or a conversation."""

    @property
    def status(self) -> str: ...
    @property
    def last_event_id(self) -> int: ...


async def read_settled(
    messages: Callable[[], Awaitable[tuple[list[M], int | None]]], known: Callable[[], Awaitable[L]]
) -> tuple[list[M], L, int]:
    """Return the messages, what they are of, and the event id they are as of, all of one moment."""
    read: list[M] = []
    as_of: int | None = None
    for _ in range(_REREADS):
        with suppress(NotFound, NotOffered):  # no such call or no such thing: what follows tells them apart
            read, as_of = await messages()
        # Read after the messages: what happened in between comes again as events, and changes nothing.
        logged = await known()
        if as_of is None:
            as_of = logged.last_event_id
        if logged.status == "running" or logged.last_event_id <= as_of:
            break  # else it came to rest in between, and those messages lack its last words
    return read, logged, as_of or 0


class Source(Protocol):
    """What can be followed; every method raises what ``Net.call`` raises."""

    ended_detail: str  # why nothing can be followed on a server without a log

    async def load(self) -> Loaded:
        """Return it as it is stored now."""
        ...

    def frames(self, after: int) -> AsyncGenerator[Item, None]:
        """Yield every frame with an id above ``after``, each once, and then live ones."""
        ...

    async def last_event_id(self) -> int:
        """Return how far its log goes."""
        ...


class _Place:
    """How far a source was followed."""

    def __init__(self) -> None:
        self.last = 0
        self.was_live = False
        self.ended = False
        self.barren_loads = 0  # loads since the last event

    def begin(self, as_of: int) -> None:
        self.last = as_of
        self.was_live = False
        self.barren_loads += 1

    def saw(self, frame: Frame) -> None:
        self.last = decimal_id(frame.id) or self.last
        self.barren_loads = 0


class Following:
    """Reads a source as it is stored and then everything that happens in it.

    Waits for a server that is not there, for ever or for ``give_up_seconds`` (``ConnectFailed``). Loads
    again when the server lost our place. Ends only for a server that has no log, after
    ``LinkChanged("ended")``. Raises ``NotFound`` when there is no such thing, or no longer.
    """

    def __init__(self, source: Source, clock: Clock, naps: Naps, give_up_seconds: float | None) -> None:
        self._source = source
        self._clock = clock
        self._naps = naps
        self._give_up_seconds = give_up_seconds
        self._place = _Place()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield what was loaded and what follows it, with ``LinkChanged`` in between."""
        yield LinkChanged("connecting")
        while not self._place.ended:
            loaded: Loaded | None = None
            async with aclosing(self._loading()) as steps:
                async for step in steps:
                    if isinstance(step, Loaded):
                        loaded = step
                        self._place.begin(step.as_of)
                        yield step.event
                    else:
                        yield step
            assert loaded is not None, "loading ends with what was loaded or raises"
            async with aclosing(self._events_after(loaded)) as events:
                async for event in events:
                    yield event

    async def _loading(self) -> AsyncGenerator[Loaded | LinkChanged, None]:
        """Yield what is stored at last, and what goes on until the server gives it."""
        patience = Patience(self._clock, Backoff(), self._give_up_seconds)
        while True:
            watch = Watch(self._clock, notice_sleep=True)
            watch.limit = patience.left()
            loaded: Loaded | TransportError
            try:
                async with watch:
                    loaded = await watch.run(self._source.load())
            except TransportError as error:
                loaded = error
            if isinstance(loaded, Loaded):
                yield loaded
                return
            delay = 0.0 if watch.slept else patience.delay_after(loaded)
            yield LinkChanged("waiting", str(loaded), delay, patience.backoff.attempt)
            await self._naps.nap(delay)
            yield LinkChanged("connecting", attempt=patience.backoff.attempt)

    async def _events_after(self, loaded: Loaded) -> AsyncGenerator[Event, None]:
        """Yield the events behind our place until the server has lost it, or for ever."""
        place = self._place
        try:
            async with aclosing(self._source.frames(place.last)) as frames:
                async for item in frames:
                    if isinstance(item, Frame):
                        place.saw(item)
                        event = loaded.read(item)
                        if event is None:
                            return
                        yield event
                        continue
                    if item.status == "live":
                        if place.was_live and await self._lost_us():
                            return
                        place.was_live = True
                    elif item.status == "ended":
                        place.ended = True
                    elif not place.was_live and not item.attempt:
                        continue  # the first "connecting" was said before it was loaded
                    yield item
        except (NotFound, NotOffered):
            if place.was_live:
                raise  # it was deleted
            place.ended = True
            yield LinkChanged("ended", self._source.ended_detail)
        except Refused as error:
            if error.status != _GONE or place.barren_loads >= _RELOADS:
                raise

    async def _lost_us(self) -> bool:
        """Say whether the server, connected to again, never got as far as we saw: it has another store."""
        try:
            return await self._source.last_event_id() < self._place.last
        except TransportError:
            return False  # the stream will meet the same failure and come back here
