"""The rooms client: every call about rooms, and rooms as streams of events (protocols.md §1, cli.md)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass

from agent_tui.clients.clock import SYSTEM_CLOCK, Clock, Naps
from agent_tui.clients.event_stream import IDLE_SECONDS, EventStream, Item, Watch, read_frames
from agent_tui.clients.net import Net
from agent_tui.clients.patience import Patience
from agent_tui.clients.retry import Backoff
from agent_tui.clients.room_acts import RoomActs
from agent_tui.clients.sse import Frame, SSEParser
from agent_tui.errors import (
    AgentTuiError,
    NotFound,
    NotOffered,
    Refused,
    StreamLost,
    TimedOut,
    TransportError,
)
from agent_tui.events import Event, LinkChanged, Message, RoomLoaded
from agent_tui.wire.rooms import TERMINAL, decode

RUN_GIVE_UP_SECONDS = 10.0  # cli.md: without a screen at most 10 s
ENDED_DETAIL = "this server shows a room only while it runs it"

_NO_ACCUMULATED = {"accumulated": "0"}  # protocols.md §1, fault 5
_GONE = 410
_REREADS = 3  # of a room that came to rest while it was read
_RELOADS = 3  # in a row, without one event in between
_MAX_ID_DIGITS = 18  # fits 63 bits; more is nobody's event id


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A room as it is stored, and the event id to follow it from."""

    event: RoomLoaded
    as_of: int


@dataclass(slots=True)
class _Place:
    """How far a room was followed."""

    last: int = 0
    was_live: bool = False
    ended: bool = False
    barren_loads: int = 0  # loads since the last event

    def begin(self, as_of: int) -> None:
        self.last = as_of
        self.was_live = False
        self.barren_loads += 1

    def saw(self, frame: Frame) -> None:
        self.last = _number(frame.id) or self.last
        self.barren_loads = 0


class _Fresh:
    """Drops frames that were seen before, and those that say nothing; ``last`` is the last decimal id."""

    def __init__(self, last: int | None) -> None:
        self.last = last

    def takes(self, frame: Frame) -> bool:
        """Say whether ``frame`` is news. Ids are one per frame, or there are none (protocols.md §1)."""
        if not frame.data:  # an empty frame behind a comment is no event (fault 7)
            return False
        number = _number(frame.id)
        if number is not None:
            if self.last is not None and number <= self.last:
                return False
            self.last = number
        return True


class RoomsClient(RoomActs):
    """Everything a program may do with the rooms of one server.

    Streams are async generators: close them (``contextlib.aclosing``) when leaving early.
    """

    def __init__(
        self,
        net: Net,
        paths: Mapping[str, str] | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
        idle_timeout: float = IDLE_SECONDS,
    ) -> None:
        super().__init__(net, paths)
        self._clock = clock
        self._idle_timeout = idle_timeout
        self._naps = Naps(clock)

    def retry_now(self) -> None:
        """End every wait for a next try that is going on."""
        self._naps.wake()

    async def run_frames(
        self, room_id: str, *, give_up_seconds: float | None = RUN_GIVE_UP_SECONDS
    ) -> AsyncGenerator[Item, None]:
        """Start or resume the room and yield this run's frames, until its last event.

        One POST, never repeated. When its stream breaks off after frames with ids, the rest is read from
        ``events``, which reconnects until ``give_up_seconds`` passed without a byte (``ConnectFailed``).
        Raises ``StreamLost`` ("interrupted") where that cannot be had.
        """
        fresh = _Fresh(None)
        try:
            async with aclosing(self._one_run(room_id)) as items:
                async for item in items:
                    if isinstance(item, Frame) and not fresh.takes(item):
                        continue
                    yield item
                    if isinstance(item, Frame) and item.event in TERMINAL:
                        return
            lost: TransportError = StreamLost("the stream ended before its last event")
        except (StreamLost, TimedOut) as error:
            lost = error
        if fresh.last is None:
            raise _interrupted(lost) from lost
        try:
            rest = self.event_frames(room_id, fresh.last, give_up_seconds=give_up_seconds)
            async with aclosing(rest) as items:
                async for item in items:
                    yield item
                    if isinstance(item, Frame) and item.event in TERMINAL:
                        return
        except (NotFound, NotOffered) as error:
            raise _interrupted(lost) from error
        raise _interrupted(lost)

    async def _one_run(self, room_id: str) -> AsyncGenerator[Item, None]:
        yield LinkChanged("connecting")
        # A POST cannot be asked again, so a sleep of the machine is no reason to break it off.
        watch = Watch(self._clock, notice_sleep=False)

        def heard(_: str) -> None:
            watch.limit = self._idle_timeout

        path = self._paths.of("run", room_id)
        parser = SSEParser(on_comment=heard)
        frames = read_frames(self._net, "POST", path, _NO_ACCUMULATED, parser=parser, watch=watch)
        async with watch, aclosing(frames):
            async for item in frames:
                yield item

    async def event_frames(
        self, room_id: str, after: int, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[Item, None]:
        """Yield every frame of the room with an id above ``after``, each once, and then live ones.

        Reconnects without end, or until no byte came for ``give_up_seconds`` (``ConnectFailed``).
        """
        stream = EventStream(
            self._net,
            self._paths.of("events", room_id),
            {"after": str(after), **_NO_ACCUMULATED},
            str(after) if after else "",
            self._idle_timeout,
            resume_param="after",
            give_up_seconds=give_up_seconds,
            clock=self._clock,
            naps=self._naps,
        )
        fresh = _Fresh(after)
        async with aclosing(aiter(stream)) as items:
            async for item in items:
                if isinstance(item, LinkChanged) or fresh.takes(item):
                    yield item

    async def follow_run(
        self, room_id: str, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of one run (see ``run_frames``), for servers that show a room only then.

        When it is lost, the stored messages come as ``RoomLoaded`` where the server offers them, and
        then ``StreamLost`` is raised.
        """
        try:
            frames = self.run_frames(room_id, give_up_seconds=give_up_seconds)
            async with aclosing(frames):
                async for item in frames:
                    yield item if isinstance(item, LinkChanged) else decode(item.event, item.data)
        except StreamLost:
            stored = await self._stored(room_id)
            if stored is not None:
                yield stored
            raise

    async def _stored(self, room_id: str) -> RoomLoaded | None:
        """Return what the server has on record, ``None`` when it does not show that (now)."""
        try:
            messages, _ = await self.messages(room_id)
            return RoomLoaded(await self.room_as_known(room_id), tuple(messages))
        except AgentTuiError:
            return None

    async def follow(
        self, room_id: str, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[Event, None]:
        """Yield the room as it is stored (``RoomLoaded``) and then everything that happens in it.

        Waits for a server that is not there, for ever or for ``give_up_seconds`` (``ConnectFailed``). Loads
        again when the server lost our place. Ends only for a server that has no ``events``, after
        ``LinkChanged("ended")``. Raises ``NotFound`` when there is no such room, or no longer.
        """
        yield LinkChanged("connecting")
        place = _Place()
        while not place.ended:
            patience = Patience(self._clock, Backoff(), give_up_seconds)
            async with aclosing(self._loading(room_id, patience)) as steps:
                async for step in steps:
                    if isinstance(step, _Loaded):
                        place.begin(step.as_of)
                        yield step.event
                    else:
                        yield step
            async with aclosing(self._events_from(room_id, place, give_up_seconds)) as events:
                async for event in events:
                    yield event

    async def _loading(self, room_id: str, patience: Patience) -> AsyncGenerator[_Loaded | LinkChanged, None]:
        """Yield the room at last, and what goes on until the server gives it."""
        while True:
            watch = Watch(self._clock, notice_sleep=True)
            watch.limit = patience.left()
            loaded: _Loaded | TransportError
            try:
                async with watch:
                    loaded = await watch.run(self._load(room_id))
            except TransportError as error:
                loaded = error
            if isinstance(loaded, _Loaded):
                yield loaded
                return
            delay = 0.0 if watch.slept else patience.delay_after(loaded)
            yield LinkChanged("waiting", str(loaded), delay, patience.backoff.attempt)
            await self._naps.nap(delay)
            yield LinkChanged("connecting", attempt=patience.backoff.attempt)

    async def _load(self, room_id: str) -> _Loaded:
        messages: list[Message] = []
        as_of: int | None = None
        for _ in range(_REREADS):
            with suppress(
                NotFound, NotOffered
            ):  # no such call or no such room: what follows tells them apart
                messages, as_of = await self.messages(room_id)
            # Read after the messages: what happened in between comes again as events, and changes nothing.
            room = await self.room_as_known(room_id)
            if as_of is None:
                as_of = room.last_event_id
            if room.status == "running" or room.last_event_id <= as_of:
                break  # else it came to rest in between, and those messages lack its last words
        return _Loaded(RoomLoaded(room, tuple(messages)), as_of or 0)

    async def _events_from(
        self, room_id: str, place: _Place, give_up_seconds: float | None
    ) -> AsyncGenerator[Event, None]:
        """Yield the events behind ``place`` until the server has lost it, or for ever."""
        try:
            frames = self.event_frames(room_id, place.last, give_up_seconds=give_up_seconds)
            async with aclosing(frames):
                async for item in frames:
                    if isinstance(item, Frame):
                        place.saw(item)
                        yield decode(item.event, item.data)
                        continue
                    if item.status == "live":
                        if place.was_live and await self._lost_us(room_id, place):
                            return
                        place.was_live = True
                    elif item.status == "ended":
                        place.ended = True
                    elif not place.was_live and not item.attempt:
                        continue  # the first "connecting" was said before the room was loaded
                    yield item
        except (NotFound, NotOffered):
            if place.was_live:
                raise  # the room was deleted
            place.ended = True
            yield LinkChanged("ended", ENDED_DETAIL)
        except Refused as error:
            if error.status != _GONE or place.barren_loads >= _RELOADS:
                raise

    async def _lost_us(self, room_id: str, place: _Place) -> bool:
        """Say whether the server, connected to again, never got as far as we saw: it has another store."""
        try:
            room = await self.show(room_id)
        except TransportError:
            return False  # the stream will meet the same failure and come back here
        return room.last_event_id < place.last


def _number(frame_id: str) -> int | None:
    """Return a decimal event id, ``None`` for any other."""
    if frame_id.isascii() and frame_id.isdigit() and len(frame_id) <= _MAX_ID_DIGITS:
        return int(frame_id)
    return None


def _interrupted(lost: TransportError) -> StreamLost:
    return StreamLost("interrupted", str(lost))
