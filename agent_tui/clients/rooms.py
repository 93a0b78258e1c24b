"""The rooms client: every call about rooms, and rooms as streams of events (protocols.md §1, cli.md)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from agent_tui.clients.clock import SYSTEM_CLOCK, Clock
from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import (
    GIVE_UP_SECONDS,
    IDLE_SECONDS,
    Item,
    Loaded,
    LogStream,
    Post,
    Source,
    follow,
    read_settled,
    ready,
)
from agent_tui.clients.room_acts import RoomActs
from agent_tui.clients.room_answers import PausesSoon, pauses_soon
from agent_tui.model.errors import (
    AgentTuiError,
    StreamLost,
)
from agent_tui.model.events import Event, LinkChanged, RoomLoaded
from agent_tui.wire.rooms import TERMINAL, decode
from agent_tui.wire.sse import Frame

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

    async def attend(
        self, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[PausesSoon | None, None]:
        """Say that a person's program is open, as long as this is read: what runs goes on meanwhile.

        Yields what pauses soon because no key was pressed for long, and ``None`` once one was. Ends where the
        server does not count this program; reconnects and raises as ``LogStream`` does.
        """
        stream = LogStream(
            self._net,
            self._paths.of("presence"),
            idle_timeout=self._idle_timeout,
            give_up_seconds=give_up_seconds,
            clock=self._clock,
        )
        async with aclosing(aiter(stream)) as items:
            async for item in items:
                if isinstance(item, Frame):
                    yield pauses_soon(item.data)

    def run_frames(
        self, room_id: str, *, give_up_seconds: float | None = GIVE_UP_SECONDS
    ) -> AsyncGenerator[Item, None]:
        """Start or resume the room and yield this run's frames, until its last event.

        One POST, never repeated. When its stream breaks off after frames with ids, the rest is read from
        ``events``, which reconnects until ``give_up_seconds`` passed without a byte (``ConnectFailed``).
        Raises ``StreamLost`` ("broke off") where that cannot be had.
        """
        post = Post(self._paths.of("run", room_id), _NO_ACCUMULATED)
        return aiter(self._log(room_id, None, post, give_up_seconds=give_up_seconds))

    def event_frames(
        self, room_id: str, after: int, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[Item, None]:
        """Yield every frame of the room with an id above ``after``, each once, and then live ones.

        Reconnects without end, or until no byte came for ``give_up_seconds`` (``ConnectFailed``), and at once
        where frames are missing.
        """
        return aiter(self._log(room_id, after, give_up_seconds=give_up_seconds))

    def _log(
        self,
        room_id: str,
        after: int | None,
        post: Post | None = None,
        *,
        give_up_seconds: float | None,
        answers_asks: bool = False,
    ) -> LogStream:
        """Return a room's log; ``answers_asks`` tells the server that somebody answers what tools ask."""
        return LogStream(
            self._net,
            self._paths.of("events", room_id),
            {**_NO_ACCUMULATED, **({"asks": "1"} if answers_asks else {})},
            idle_timeout=self._idle_timeout,
            after=after,
            post=post,
            is_last=None if post is None else _is_last,
            give_up_seconds=give_up_seconds,
            clock=self._clock,
        )

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

    def follow(self, room_id: str, *, give_up_seconds: float | None = None) -> AsyncGenerator[Event, None]:
        """Yield the room as it is stored (``RoomLoaded``) and then everything that happens in it.

        See ``log_stream.follow``.
        """
        return follow(ready(self.source(room_id, give_up_seconds)))

    def source(self, room_id: str, give_up_seconds: float | None) -> Source:
        """Return the room as something that can be followed."""

        async def load() -> Loaded:
            messages, room, as_of = await read_settled(
                lambda: self.messages(room_id), lambda: self.room_as_known(room_id)
            )
            return Loaded(RoomLoaded(room, tuple(messages)), as_of, _event)

        async def last_event_id() -> int:
            return (await self.show(room_id)).last_event_id

        def stream(after: int) -> LogStream:
            return self._log(room_id, after, give_up_seconds=give_up_seconds, answers_asks=True)

        return Source(load, stream, last_event_id, ENDED_DETAIL, self._clock, give_up_seconds)


def _event(frame: Frame) -> Event:
    return decode(frame.event, frame.data)


def _is_last(frame: Frame) -> bool:
    return frame.event in TERMINAL
