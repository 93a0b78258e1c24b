"""The rooms client: every call about rooms, and rooms as streams of events (protocols.md §1, cli.md)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from agent_tui.clients.clock import SYSTEM_CLOCK, Clock, Naps
from agent_tui.clients.event_log import GIVE_UP_SECONDS, Following, Fresh, Loaded, read_on, read_settled
from agent_tui.clients.event_stream import IDLE_SECONDS, EventStream, Item, Watch, read_frames
from agent_tui.clients.net import Net
from agent_tui.clients.room_acts import RoomActs
from agent_tui.clients.room_answers import PausesSoon, pauses_soon
from agent_tui.clients.sse import Frame, SSEParser
from agent_tui.model.errors import (
    AgentTuiError,
    StreamLost,
)
from agent_tui.model.events import Event, LinkChanged, RoomLoaded
from agent_tui.wire.rooms import TERMINAL, decode

RUN_GIVE_UP_SECONDS = GIVE_UP_SECONDS
ENDED_DETAIL = "this server shows a room only while it runs it"

_NO_ACCUMULATED = {"accumulated": "0"}  # protocols.md §1, fault 5


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

    async def attend(
        self, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[PausesSoon | None, None]:
        """Say that a person's program is open, as long as this is read: what runs goes on meanwhile.

        Yields what pauses soon because no key was pressed for long, and ``None`` once one was. Ends where the
        server does not count this program; reconnects and raises as ``EventStream`` does.
        """
        stream = EventStream(
            self._net,
            self._paths.of("presence"),
            idle_timeout=self._idle_timeout,
            give_up_seconds=give_up_seconds,
            clock=self._clock,
            naps=self._naps,
        )
        async with aclosing(aiter(stream)) as items:
            async for item in items:
                if isinstance(item, Frame):
                    yield pauses_soon(item.data)

    async def run_frames(
        self, room_id: str, *, give_up_seconds: float | None = RUN_GIVE_UP_SECONDS
    ) -> AsyncGenerator[Item, None]:
        """Start or resume the room and yield this run's frames, until its last event.

        One POST, never repeated. When its stream breaks off after frames with ids, the rest is read from
        ``events``, which reconnects until ``give_up_seconds`` passed without a byte (``ConnectFailed``).
        Raises ``StreamLost`` ("broke off") where that cannot be had.
        """
        items = read_on(
            self._one_run(room_id),
            lambda after: self.event_frames(room_id, after, give_up_seconds=give_up_seconds),
            lambda frame: frame.event in TERMINAL,
        )
        async with aclosing(items):
            async for item in items:
                yield item

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
        self,
        room_id: str,
        after: int,
        *,
        give_up_seconds: float | None = None,
        answers_asks: bool = False,
    ) -> AsyncGenerator[Item, None]:
        """Yield every frame of the room with an id above ``after``, each once, and then live ones.

        ``answers_asks`` tells the server that somebody is there who answers what tools ask.

        Reconnects without end, or until no byte came for ``give_up_seconds`` (``ConnectFailed``), and at once
        where frames are missing.
        """
        asks = {"asks": "1"} if answers_asks else {}
        fresh, is_whole = Fresh(after), False
        while not is_whole:
            after = fresh.last or 0
            stream = EventStream(
                self._net,
                self._paths.of("events", room_id),
                {"after": str(after), **_NO_ACCUMULATED, **asks},
                str(after) if after else "",
                self._idle_timeout,
                resume_param="after",
                give_up_seconds=give_up_seconds,
                clock=self._clock,
                naps=self._naps,
            )
            is_whole = True
            async with aclosing(aiter(stream)) as items:
                async for item in items:
                    if isinstance(item, Frame) and fresh.misses(item):
                        is_whole = False
                        break
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
        source = _FollowedRoom(self, room_id, give_up_seconds)
        async with aclosing(Following(source, self._clock, self._naps, give_up_seconds).events()) as events:
            async for event in events:
                yield event

    async def load(self, room_id: str) -> Loaded:
        """Return the room with its messages, and the event id that they are as of."""
        messages, room, as_of = await read_settled(
            lambda: self.messages(room_id), lambda: self.room_as_known(room_id)
        )
        return Loaded(RoomLoaded(room, tuple(messages)), as_of, _event)


class _FollowedRoom:
    """A room as ``Following`` reads it."""

    ended_detail = ENDED_DETAIL

    def __init__(self, client: RoomsClient, room_id: str, give_up_seconds: float | None) -> None:
        self._client = client
        self._room_id = room_id
        self._give_up_seconds = give_up_seconds

    async def load(self) -> Loaded:
        return await self._client.load(self._room_id)

    def frames(self, after: int) -> AsyncGenerator[Item, None]:
        return self._client.event_frames(
            self._room_id, after, give_up_seconds=self._give_up_seconds, answers_asks=True
        )

    async def last_event_id(self) -> int:
        return (await self._client.show(self._room_id)).last_event_id


def _event(frame: Frame) -> Event:
    return decode(frame.event, frame.data)
