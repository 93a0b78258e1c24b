"""The client of rooms: the calls that only rooms have (protocols.md §1, cli.md)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from agent_tui.clients.clock import SYSTEM_CLOCK, Clock
from agent_tui.clients.conversations import ClientKind, Conversations, FieldValue
from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import GIVE_UP_SECONDS, IDLE_SECONDS, Item, Post, StoredConversation
from agent_tui.clients.paths import ROOM_PATHS
from agent_tui.clients.records import RoomChanges, SendResult, read_changes, read_queue, read_said
from agent_tui.model.errors import AgentTuiError, StreamLost
from agent_tui.model.events import Event, LinkChanged, Message, QueuedMessage, RoomInfo, RoomLoaded
from agent_tui.wire.rooms import (
    TERMINAL,
    RoomOfStream,
    decode,
    decode_messages,
    decode_room,
    decode_rooms,
)

Queue = tuple[QueuedMessage, ...]

_NO_ACCUMULATED = {"accumulated": "0"}  # protocols.md §1, fault 5
_OFFERS: Mapping[str, tuple[str, str, str]] = {
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


def _messages(values: object) -> list[Message]:
    return decode_messages(values)[0]


def _stored_conversation(room: RoomInfo, messages: list[Message], as_of: int) -> StoredConversation:
    return StoredConversation(RoomLoaded(room, tuple(messages)), as_of, decode)


ROOMS = ClientKind(
    one="room",
    paths=ROOM_PATHS,
    offers=_OFFERS,
    bare=RoomInfo,
    decode=decode_room,
    decode_listed=decode_rooms,
    decode_messages=_messages,
    loaded=_stored_conversation,
    ended_detail="this server shows a room only while it is running",
    terminal=TERMINAL,
    silence_seconds=IDLE_SECONDS,
    params=_NO_ACCUMULATED,
    is_ours=RoomOfStream,
    following={"asks": "1", "queue": "1"},  # a person answers what tools ask, and sees what is queued
)


class RoomsClient(Conversations[RoomInfo]):
    """All calls about the rooms of one server. ``paths`` overrides ``ROOM_PATHS``; a run may be silent for
    ``run_timeout`` seconds (``None``: as long as it takes).
    """

    def __init__(
        self,
        net: Net,
        paths: Mapping[str, str] | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
        idle_timeout: float = IDLE_SECONDS,
        run_timeout: float | None = None,
    ) -> None:
        super().__init__(ROOMS, net, paths, clock=clock, silence_seconds=idle_timeout)
        self._run_timeout = run_timeout

    async def changes(self, cursor: str | None, wait_seconds: float) -> RoomChanges:
        """Return what changed since ``cursor``, after ``wait_seconds`` (≤ 30) at the latest; without cursor,
        all rooms.

        If the cursor of the answer is empty, the server answered at once and always will.
        """
        params = {"wait": f"{wait_seconds:g}", **({"after": cursor} if cursor else {})}
        return read_changes(await self.list_raw(params, wait_seconds), asked_for_all=not cursor)

    async def create(self, task: str, **fields: FieldValue) -> RoomInfo:
        """Make a room from ``fields``, by the wire's names; the server chooses missing ones and those that
        are ``None``.
        """
        given = {name: value for name, value in fields.items() if value not in (None, "")}
        return await self._create({"task": task, **given})

    async def pause(self, room_id: str) -> RoomInfo:
        """Ask for a pause and return the room, which may still be running: it is paused at
        ``room_paused``.
        """
        return await self._act("POST", "pause", (room_id,), "pausing")

    async def resume(self, room_id: str) -> RoomInfo:
        """Resume a paused room; raises ``Refused`` (409) if it is completed or was never started."""
        return await self._act("POST", "resume", (room_id,), "resuming")

    # --- words of a person -----------------------------------------------------------------------------

    async def say(
        self, room_id: str, content: str, *, when: str = "next", to: str = "", client_key: str = ""
    ) -> SendResult:
        """Say ``content`` before the next turn, or ``when`` "now", to all agents or to one agent's id.

        With the same ``client_key`` it is one message, however often it is sent. Raises ``Refused`` (409) if
        the room is completed or archived, (422) if there is no such agent.
        """
        body = {"content": content, "when": when}
        body |= {name: value for name, value in (("to", to), ("client_key", client_key)) if value}
        return read_said(
            await self._calls.about("POST", "messages", (room_id,), "messages from people", body), when
        )

    async def queue(self, room_id: str) -> Queue:
        """Return the messages that wait for the next turn."""
        return read_queue(await self._calls.about("GET", "queue", (room_id,), "a list of waiting messages"))

    async def change_queued(
        self, room_id: str, message_id: str, content: str | None = None, to: str | None = None
    ) -> Queue:
        """Change a waiting message and return the queue; raises ``Refused`` (409) if it was said already."""
        fields = {name: value for name, value in (("content", content), ("to", to)) if value is not None}
        what = "changing waiting messages"
        return await self._change_queue("PATCH", room_id, message_id, what, fields)

    async def drop_queued(self, room_id: str, message_id: str) -> Queue:
        """Remove a waiting message and return the queue; raises ``Refused`` (409) if it was said already."""
        return await self._change_queue("DELETE", room_id, message_id, "taking messages back")

    async def _change_queue(
        self, method: str, room_id: str, message_id: str, what: str, fields: object = None
    ) -> Queue:
        answer = await self._calls.about(method, "queued", (room_id, message_id), what, fields)
        return read_queue(answer) if answer is not None else await self.queue(room_id)

    # --- one agent -------------------------------------------------------------------------------------

    async def stop_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Stop the agent's current turn and keep its words; does nothing if it is not speaking."""
        return await self._act("POST", "stop", (room_id, agent_id), "stopping one agent")

    async def skip_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Stop the agent's turn, or skip its next one; a second call undoes the skip."""
        return await self._act("POST", "skip", (room_id, agent_id), "skipping one agent")

    async def retry_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Retry the agent's newest turn; raises ``Refused`` (409) if others spoke since."""
        return await self._act("POST", "retry", (room_id, agent_id), "saying a turn again")

    async def continue_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Continue the agent's newest turn, which was interrupted; raises ``Refused`` (409) if it is
        complete.
        """
        return await self._act("POST", "continue", (room_id, agent_id), "continuing a turn")

    # --- a room as it goes on --------------------------------------------------------------------------

    def run_frames(
        self, room_id: str, *, give_up_seconds: float | None = GIVE_UP_SECONDS
    ) -> AsyncGenerator[Item, None]:
        """Start or resume the room and yield this run's frames, to its last event.

        Sends exactly one POST. If its stream is lost after frames with ids, the rest is read from ``events``,
        which reconnects until ``LogStream`` gives up (``ConnectFailed``). Raises ``StreamLost`` if that is
        not possible, and ``TimedOut`` after ``run_timeout``.
        """
        post = Post(self._paths.of("run", room_id), _NO_ACCUMULATED, silence_seconds=self._run_timeout)
        return aiter(self._log(room_id, post=post, give_up_seconds=give_up_seconds))

    def event_frames(
        self, room_id: str, after: int, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[Item, None]:
        """Yield every frame of the room with an id above ``after``, each once, and then live ones.

        Reconnects without end, or until ``LogStream`` gives up (``ConnectFailed``), and at once if frames are
        missing.
        """
        return aiter(self._log(room_id, after, give_up_seconds=give_up_seconds))

    async def follow_run(
        self, room_id: str, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of one run (see ``run_frames``), from servers that show a room only while it runs.

        If the run is lost, the stored messages come as ``RoomLoaded`` if the server offers them, and then
        ``StreamLost`` is raised.
        """
        try:
            frames = self.run_frames(room_id, give_up_seconds=give_up_seconds)
            async with aclosing(frames):
                async for item in frames:
                    yield item if isinstance(item, LinkChanged) else decode(item.event, item.data)
        except StreamLost:
            stored = await self._read_stored(room_id)
            if stored is not None:
                yield stored
            raise

    async def _read_stored(self, room_id: str) -> RoomLoaded | None:
        try:
            messages, _ = await self.messages(room_id)
            return RoomLoaded(await self.as_known(room_id), tuple(messages))
        except AgentTuiError:
            return None
