"""What tests of an agent socket ask, and what its client told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui.clients.agents.link import SocketHooks, SocketTimes
from agent_tui.clients.agents.socket import AgentSocketClient
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError
from agent_tui.wire.agent_socket import SocketFrame

SOON = SocketTimes(status=0.2, drain=0.2, reconnect=0.0)


@dataclass(slots=True)
class Told:
    """What a client told besides answers."""

    orphans: list[SocketFrame] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    disconnects: list[AgentTuiError | None] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def codes(self) -> list[str]:
        return [code for code, _ in self.errors]

    def hooks(self, **more: Any) -> SocketHooks:
        return SocketHooks(self._orphan, self._error, self._disconnect, **more)

    async def until(self, holds: Callable[[Told], object]) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: holds(self))

    def _orphan(self, frame: SocketFrame) -> None:
        self.orphans.append(frame)
        self._notify()

    def _error(self, code: str, details: str) -> None:
        self.errors.append((code, details))

    def _disconnect(self, reason: AgentTuiError | None) -> None:
        self.disconnects.append(reason)
        self._notify()

    def _notify(self) -> None:
        notifying = asyncio.ensure_future(self._notified())
        notifying.add_done_callback(lambda done: done.result())

    async def _notified(self) -> None:
        async with self.changed:
            self.changed.notify_all()


async def ask(
    client: AgentSocketClient, text: str, attachments: Sequence[Path] = (), *, turn_id: str = ""
) -> AsyncGenerator[ev.Event, None]:
    """Ask, and yield the events of the answer."""
    async with aclosing(client.answer(text, attachments, turn_id=turn_id)) as answer:
        async for frame in answer:
            for event in frame.events:
                yield event


async def events_of(answer: AsyncGenerator[ev.Event, None]) -> tuple[list[ev.Event], AgentTuiError | None]:
    """Return what an answer said, and what it broke off with."""
    events: list[ev.Event] = []
    try:
        async with aclosing(answer):
            async for event in answer:
                events.append(event)  # noqa: PERF401 - what came before it failed counts
    except AgentTuiError as error:
        return events, error
    return events, None


async def asked(client: AgentSocketClient, text: str = "Hi") -> list[ev.Event]:
    events, error = await events_of(ask(client, text, turn_id="t1"))
    if error is not None:
        raise error
    return events


def words(events: list[ev.Event]) -> str:
    return "".join(event.content for event in events if isinstance(event, ev.StepAdded))
