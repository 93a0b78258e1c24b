"""The calls with which a person steps in: speak, stop, skip, retry, and what a server offers of that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_tui.clients.chat_calls import decision_fields
from agent_tui.clients.http import Net
from agent_tui.clients.offers import Offers, explained
from agent_tui.clients.provider_calls import ProviderCalls
from agent_tui.clients.room_answers import (
    RoomChanges,
    Said,
    read_changes,
    read_queue,
    read_said,
)
from agent_tui.clients.room_calls import RoomCalls
from agent_tui.clients.tool_calls import ToolCalls
from agent_tui.model.errors import NotFound, NotOffered, ProtocolError
from agent_tui.model.events import QueuedMessage, RoomInfo

Queue = tuple[QueuedMessage, ...]

# Each call that a server may lack: its method, its path, and what it is called.
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


class RoomActs(RoomCalls, ProviderCalls, ToolCalls):
    """Calls to one server (see ``RoomCalls``). None of them is ever repeated by itself."""

    def __init__(self, net: Net, paths: Mapping[str, str] | None = None) -> None:
        super().__init__(net, paths)
        self._offers = Offers(net, self._paths, _OFFERS)

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
        return read_said(await self._call("POST", "messages", room_id, "messages from people", body), when)

    async def queue(self, room_id: str) -> Queue:
        """Return the messages that wait for the next turn."""
        return read_queue(await self._call("GET", "queue", room_id, "a list of waiting messages"))

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
        answer = await self._inner_call(method, "queued", (room_id, message_id), what, fields)
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
        return await self._room_of(room_id, await self._inner_call("POST", act, (room_id, agent_id), what))

    async def _inner_call(
        self, method: str, name: str, ids: tuple[str, ...], what: str, json: object = None
    ) -> Any:
        """Call what lies inside a room; a 404 there may mean the call, the room or what is in it."""
        path = self._paths.of(name, *ids)
        try:
            return await self._net.call(method, path, json=json)
        except (NotFound, NotOffered) as error:
            raise await explained(self._net, method, path, what, error) from error

    # --- tools -----------------------------------------------------------------------------------------

    async def answer(
        self,
        room_id: str,
        message_id: str,
        step_id: str,
        decision: str,
        pattern: str = "",
        reason: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Say whether a tool may run: ``decision`` is once, conversation (this room), always (for
        ``pattern``) or deny (for ``reason``); to a form answer (with ``values``), decline or cancel. Raises
        ``Refused`` (409) when that was answered already.
        """
        fields = decision_fields(decision, pattern, reason, values)
        ids = (room_id, message_id, step_id)
        await self._inner_call("POST", "ask", ids, "asking before a tool runs", fields)

    # --- all rooms -------------------------------------------------------------------------------------

    async def changes(self, cursor: str | None, wait_seconds: float) -> RoomChanges:
        """Return what changed since ``cursor``, at the latest after ``wait_seconds`` (≤ 30); no cursor: all.

        Where the answer's cursor is empty, the server answered at once and always will.
        """
        params = {"wait": f"{wait_seconds:g}", **({"after": cursor} if cursor else {})}
        value = await self.list_raw(params, patience=wait_seconds)
        if not isinstance(value, list | Mapping):
            raise ProtocolError("the server's answer is no list of rooms")
        return read_changes(value, asked_for_all=not cursor)

    # --- what there is ---------------------------------------------------------------------------------

    async def missing(self, room_id: str) -> Mapping[str, str]:
        """Return what this server does not offer: name of the call → why, one line.

        Asked with ``OPTIONS``, once in the life of this client; whatever does not answer counts as
        offered, and is asked again another time when nothing answered at all. Never raises.
        """
        return await self._offers.missing(room_id)
