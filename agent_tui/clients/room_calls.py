"""The calls about rooms that have one answer (cli.md, «Backend, HTTP»)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_tui.clients.http import Net
from agent_tui.clients.offers import not_offered
from agent_tui.clients.pages import read_messages
from agent_tui.clients.paths import Paths
from agent_tui.clients.room_paths import RoomPaths
from agent_tui.model.errors import AgentTuiError, NotFound, NotOffered, ProtocolError, Refused
from agent_tui.model.events import Message, RoomInfo
from agent_tui.wire.rooms import decode_messages, decode_room, decode_rooms

# Inside the class ``list`` is the call of that name.
RawMessages = list[Any]
MessagesAsOf = tuple[list[Message], int | None]

_AMOUNTS = ("max_tokens", "max_cost", "answer_tokens", "on_error")
_TOOLS = ("enabled_tools", "workspace")
_CREATE_FIELDS = (
    "name",
    "execution_mode",
    "max_rounds",
    "agents",
    "keep_running",
    *_AMOUNTS,
    *_TOOLS,
    "provider_id",
)
CHANGE_FIELDS = (
    "name",
    "task",
    "execution_mode",
    "max_rounds",
    "keep_running",
    *_AMOUNTS,
    *_TOOLS,
    "archived",
    "agents",
)

FieldValue = str | int | float | bool | Sequence[Mapping[str, str]] | Sequence[str]


class RoomCalls:
    """Calls to one server. ``paths`` overrides URL paths (see ``RoomPaths``).

    Every method raises what ``Net.call`` raises; ``NotFound`` means the room, ``NotOffered`` that this
    server does not have the call, whichever status it says that with.
    """

    def __init__(self, net: Net, paths: Mapping[str, str] | None = None) -> None:
        self._net = net
        self._paths: Paths = RoomPaths(paths or {})

    async def aclose(self) -> None:
        """Close the connections."""
        await self._net.aclose()

    async def list_raw(self, params: Mapping[str, str] | None = None, patience: float = 0.0) -> Any:
        """Return the list of rooms as it was answered; ``params`` and ``patience`` are ``Net.call``'s."""
        try:
            return await self._net.call("GET", self._paths.of("rooms"), params=params, patience=patience)
        except (NotFound, NotOffered) as error:
            raise not_offered("a list of rooms", error) from error

    async def list(self, archived: bool = False) -> list[RoomInfo]:
        """Return all rooms, those that were put away only with ``archived``."""
        value = await self.list_raw({"archived": "1"} if archived else None)
        if not isinstance(value, list) and not (
            isinstance(value, Mapping) and isinstance(value.get("rooms"), list)
        ):
            raise ProtocolError("the server's answer is no list of rooms")
        return decode_rooms(value)

    async def press(self) -> None:
        """Say that a person pressed a key."""
        await self._net.call("POST", self._paths.of("presence"))

    async def show_raw(self, room_id: str) -> Any:
        """Return one room as it was answered."""
        return await self._net.call("GET", self._paths.of("room", room_id))

    async def show(self, room_id: str) -> RoomInfo:
        """Return one room."""
        return _room(await self.show_raw(room_id))

    async def create(
        self,
        task: str,
        *,
        name: str = "",
        execution_mode: str | None = None,
        max_rounds: int | None = None,
        agents: Sequence[Mapping[str, str]] | None = None,
        keep_running: bool | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        answer_tokens: int | None = None,
        on_error: str | None = None,
        enabled_tools: Sequence[str] | None = None,
        workspace: str | None = None,
        provider_id: str | None = None,
    ) -> RoomInfo:
        """Make a room; what is not given the server chooses. ``agents`` have the wire's field names;
        ``provider_id`` is that of agents that name none.
        """
        limits = (max_tokens, max_cost, answer_tokens, on_error)
        amounts = (*limits, enabled_tools, workspace, provider_id)
        values = (name or None, execution_mode, max_rounds, agents, keep_running, *amounts)
        chosen = {f: v for f, v in zip(_CREATE_FIELDS, values, strict=True) if v is not None}
        try:
            return _room(await self._net.call("POST", self._paths.of("rooms"), json={"task": task, **chosen}))
        except (NotFound, NotOffered) as error:
            raise not_offered("making rooms", error) from error

    async def change(self, room_id: str, **fields: FieldValue) -> RoomInfo:
        """Change ``fields`` (of ``CHANGE_FIELDS``) of a room; ``agents`` are all of them, in their order."""
        unknown = set(fields) - set(CHANGE_FIELDS)
        if unknown:
            raise ValueError(f"no such fields of a room: {', '.join(sorted(unknown))}")
        return await self._ask("PATCH", "room", room_id, "changing rooms", fields)

    async def delete(self, room_id: str) -> None:
        """Delete a room and everything said in it."""
        await self._call("DELETE", "room", room_id, "deleting rooms")

    async def pause(self, room_id: str) -> RoomInfo:
        """Ask for a pause and return the room, which may still run: it is paused at ``room_paused``."""
        return await self._ask("POST", "pause", room_id, "pausing")

    async def resume(self, room_id: str) -> RoomInfo:
        """Let a paused room go on; raises ``Refused`` (409) when it is completed or was never started."""
        return await self._ask("POST", "resume", room_id, "resuming")

    async def messages_raw(self, room_id: str) -> RawMessages:
        """Return the stored messages of all pages as they were answered."""
        messages, _ = await read_messages(self._net, self._paths.of("messages", room_id))
        return messages

    async def messages(self, room_id: str) -> MessagesAsOf:
        """Return the stored messages, turns under way included, and the event id they are as of.

        ``events?after=`` that id misses and doubles nothing; it is ``None`` where the server gives none.
        """
        messages, as_of = await read_messages(self._net, self._paths.of("messages", room_id))
        return decode_messages(messages)[0], as_of

    async def _ask(self, method: str, path: str, room_id: str, what: str, json: object = None) -> RoomInfo:
        return await self._room_of(room_id, await self._call(method, path, room_id, what, json))

    async def _room_of(self, room_id: str, answer: object) -> RoomInfo:
        """Return the room that ``answer`` holds; when it holds none, the room is looked at."""
        try:
            return decode_room(answer)
        except ValueError:
            return await self.room_as_known(room_id)

    async def _call(self, method: str, path: str, room_id: str, what: str, json: object = None) -> Any:
        try:
            return await self._net.call(method, self._paths.of(path, room_id), json=json)
        except NotOffered as error:
            raise not_offered(what, error) from error
        except NotFound as error:
            raise await self._explained(room_id, what, error) from error

    async def _explained(self, room_id: str, what: str, error: NotFound) -> Refused:
        """Say what a 404 means: there is no such room, or no such call."""
        try:
            await self.room_as_known(room_id)
        except AgentTuiError:
            return error
        return not_offered(what, error)

    async def room_as_known(self, room_id: str) -> RoomInfo:
        """Return the room as far as this server shows rooms at all: at least its id.

        Raises ``NotFound`` when it shows its rooms and this one is not among them.
        """
        try:
            return await self.show(room_id)
        except (NotFound, NotOffered) as error:
            unseen = error
        try:
            rooms = await self.list()
        except (NotFound, NotOffered):
            return RoomInfo(room_id)
        for room in rooms:
            if room.id == room_id:
                return room
        raise unseen


def _room(value: object) -> RoomInfo:
    try:
        return decode_room(value)
    except ValueError as error:
        raise ProtocolError("the server's answer is no room") from error
