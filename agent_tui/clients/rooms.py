"""The rooms client: every call about rooms, and rooms as streams of events (protocols.md §1, cli.md)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, ClassVar

from agent_tui.clients.calls import Calls, FieldValue
from agent_tui.clients.clock import SYSTEM_CLOCK, Clock
from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import (
    GIVE_UP_SECONDS,
    IDLE_SECONDS,
    Item,
    Loaded,
    LogStream,
    Post,
)
from agent_tui.clients.paths import ROOM_PATHS, Paths
from agent_tui.clients.records import (
    PausesSoon,
    RoomChanges,
    Said,
    pauses_soon,
    read_changes,
    read_queue,
    read_said,
)
from agent_tui.model.errors import AgentTuiError, ProtocolError, StreamLost
from agent_tui.model.events import Event, LinkChanged, Message, QueuedMessage, RoomInfo, RoomLoaded
from agent_tui.wire.rooms import TERMINAL, decode, decode_messages, decode_room, decode_rooms
from agent_tui.wire.sse import Frame

ENDED_DETAIL = "this server shows a room only while it runs it"

# Inside the class ``list`` is the call of that name.
RawMessages = list[Any]
Messages = list[Message]
Rooms = list[RoomInfo]
Queue = tuple[QueuedMessage, ...]

_NO_ACCUMULATED = {"accumulated": "0"}  # protocols.md §1, fault 5


class RoomsClient(Calls[RoomInfo]):
    """Everything a program may do with the rooms of one server. ``paths`` overrides ``ROOM_PATHS``.

    Streams are async generators: close them (``contextlib.aclosing``) when leaving early.
    """

    ONE = "room"
    ENDED_DETAIL = ENDED_DETAIL
    OFFERS: ClassVar[Mapping[str, tuple[str, str, str]]] = {
        "say": ("POST", "messages", "messages from people"),
        "queue": ("GET", "queue", "a list of waiting messages"),
        "stop": ("POST", "stop", "stopping one agent"),
        "skip": ("POST", "skip", "skipping one agent"),
        "retry": ("POST", "retry", "saying a turn again"),
        "continue": ("POST", "continue", "continuing a turn"),
        "change": ("PATCH", "room", "changing rooms"),
        "pause": ("POST", "pause", "pausing"),
        "resume": ("POST", "resume", "resuming"),
        "delete": ("DELETE", "room", "deleting rooms"),
        "create": ("POST", "rooms", "making rooms"),
        "providers": ("GET", "providers", "a list of providers"),
    }

    def __init__(
        self,
        net: Net,
        paths: Mapping[str, str] | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
        idle_timeout: float = IDLE_SECONDS,
    ) -> None:
        super().__init__(net, Paths(ROOM_PATHS, paths or {}), clock)
        self._idle_timeout = idle_timeout

    # --- all rooms -------------------------------------------------------------------------------------

    async def list_raw(self, params: Mapping[str, str] | None = None, patience: float = 0.0) -> Any:
        """Return the list of rooms as it was answered; ``params`` and ``patience`` are ``Net.call``'s."""
        return await self._plain_call("GET", "rooms", "a list of rooms", params=params, patience=patience)

    async def listed(self) -> Rooms:
        return await self.list()

    async def list(self, archived: bool = False) -> Rooms:
        """Return all rooms, those that were put away only with ``archived``."""
        value = await self.list_raw({"archived": "1"} if archived else None)
        if not isinstance(value, list) and not (
            isinstance(value, Mapping) and isinstance(value.get("rooms"), list)
        ):
            raise ProtocolError("the server's answer is no list of rooms")
        return decode_rooms(value)

    async def changes(self, cursor: str | None, wait_seconds: float) -> RoomChanges:
        """Return what changed since ``cursor``, at the latest after ``wait_seconds`` (≤ 30); no cursor: all.

        Where the answer's cursor is empty, the server answered at once and always will.
        """
        params = {"wait": f"{wait_seconds:g}", **({"after": cursor} if cursor else {})}
        value = await self.list_raw(params, patience=wait_seconds)
        if not isinstance(value, list | Mapping):
            raise ProtocolError("the server's answer is no list of rooms")
        return read_changes(value, asked_for_all=not cursor)

    async def create(self, task: str, **fields: FieldValue) -> RoomInfo:
        """Make a room of ``fields``, by the wire's names; the server chooses what is missing or ``None``."""
        json = {name: value for name, value in fields.items() if value not in (None, "")}
        return self._decoded(
            await self._plain_call("POST", "rooms", "making rooms", json={"task": task, **json})
        )

    # --- one room --------------------------------------------------------------------------------------

    async def pause(self, room_id: str) -> RoomInfo:
        """Ask for a pause and return the room, which may still run: it is paused at ``room_paused``."""
        return await self._about("POST", "pause", room_id, "pausing")

    async def resume(self, room_id: str) -> RoomInfo:
        """Let a paused room go on; raises ``Refused`` (409) when it is completed or was never started."""
        return await self._about("POST", "resume", room_id, "resuming")

    def _decode(self, value: object) -> RoomInfo:
        return decode_room(value)

    def _decode_messages(self, values: RawMessages) -> Messages:
        return decode_messages(values)[0]

    def _bare(self, id_: str) -> RoomInfo:
        return RoomInfo(id_)

    # --- words of a person -----------------------------------------------------------------------------

    async def say(
        self, room_id: str, content: str, *, when: str = "next", to: str = "", client_key: str = ""
    ) -> Said:
        """Say ``content`` before the next turn, or ``when`` "now", to all or to one agent's id.

        With the same ``client_key`` it is one message however often a person asks for it again. Raises
        ``Refused`` (409) when the room is completed or archived, (422) when there is no such agent.
        """
        body = {"content": content, "when": when}
        body |= {name: value for name, value in (("to", to), ("client_key", client_key)) if value}
        return read_said(await self._call("POST", "messages", (room_id,), "messages from people", body), when)

    async def queue(self, room_id: str) -> Queue:
        """Return the messages that wait for the next turn."""
        return read_queue(await self._call("GET", "queue", (room_id,), "a list of waiting messages"))

    async def change_queued(
        self, room_id: str, message_id: str, content: str | None = None, to: str | None = None
    ) -> Queue:
        """Change a message that waits and return the queue; raises ``Refused`` (409) once it was said."""
        fields = {name: value for name, value in (("content", content), ("to", to)) if value is not None}
        what = "changing waiting messages"
        return await self._requeued("PATCH", room_id, message_id, what, fields)

    async def drop_queued(self, room_id: str, message_id: str) -> Queue:
        """Take a message back and return the queue; raises ``Refused`` (409) once it was said."""
        return await self._requeued("DELETE", room_id, message_id, "taking messages back")

    async def _requeued(
        self, method: str, room_id: str, message_id: str, what: str, fields: object = None
    ) -> Queue:
        answer = await self._call(method, "queued", (room_id, message_id), what, fields)
        return read_queue(answer) if answer is not None else await self.queue(room_id)

    # --- one agent -------------------------------------------------------------------------------------

    async def stop_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """End the agent's turn under way, its words kept; nothing happens when it does not speak."""
        return await self._act(room_id, agent_id, "stop", "stopping one agent")

    async def skip_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """End the agent's turn, or skip its next one; asked again, it is not skipped after all."""
        return await self._act(room_id, agent_id, "skip", "skipping one agent")

    async def retry_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Let the agent say its newest turn again; raises ``Refused`` (409) when others spoke since."""
        return await self._act(room_id, agent_id, "retry", "saying a turn again")

    async def continue_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Let the agent finish its newest turn, which was cut; raises ``Refused`` (409) if it is whole."""
        return await self._act(room_id, agent_id, "continue", "continuing a turn")

    async def _act(self, room_id: str, agent_id: str, act: str, what: str) -> RoomInfo:
        return await self._about("POST", act, (room_id, agent_id), what)

    # --- a person's program ----------------------------------------------------------------------------

    async def press(self) -> None:
        """Say that a person pressed a key."""
        await self._net.call("POST", self._paths.of("presence"))

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

    # --- a room as it goes on --------------------------------------------------------------------------

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
            return RoomLoaded(await self.as_known(room_id), tuple(messages))
        except AgentTuiError:
            return None

    def _followed(self, id_: str, after: int, give_up_seconds: float | None) -> LogStream:
        return self._log(id_, after, give_up_seconds=give_up_seconds, answers_asks=True)

    def _loaded(self, one: RoomInfo, messages: Messages, as_of: int) -> Loaded:
        return Loaded(RoomLoaded(one, tuple(messages)), as_of, decode)


def _is_last(frame: Frame) -> bool:
    return frame.event in TERMINAL
