"""Requests to an agent's session and their answers, on every transport."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable

from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.model.errors import Refused, StreamLost, TimedOut
from agent_tui.model.inert import inert_line
from agent_tui.wire import voice as wire
from agent_tui.wire.voice import redact

Send = Callable[[pb.AgentSessionMessage], Awaitable[None]]


class SessionRequests:
    """The requests that wait for their answers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: dict[str, asyncio.Future[pb.SessionResponse]] = {}

    async def ask(self, request: wire.Request, seconds: float) -> pb.SessionResponse:
        """Return the answer to a ``request`` without arguments.

        Raises ``TimedOut`` after ``seconds``, ``StreamLost`` if it cannot be sent and ``Refused`` if the
        agent answers with an error.
        """
        return await self._request(lambda request_id: wire.ask(request_id, request), seconds)

    async def run_input(self, text: str, seconds: float) -> pb.SessionResponse:
        """Interrupt the agent, let it answer ``text`` and return after its turn; raises as ``ask``."""
        return await self._request(lambda request_id: wire.run_input(request_id, text), seconds)

    async def _request(
        self, make: Callable[[str], pb.AgentSessionMessage], seconds: float
    ) -> pb.SessionResponse:
        request_id = secrets.token_hex(8)
        answer = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            async with asyncio.timeout(seconds):
                await self._send(make(request_id))
                response: pb.SessionResponse = await answer
        except TimeoutError as error:
            raise TimedOut("the agent did not answer", f"{seconds:g} s passed") from error
        finally:
            del self._waiting[request_id]
        if response.error:
            raise Refused("the agent could not do that", inert_line(redact(response.error)))
        return response

    def answered(self, response: pb.SessionResponse) -> None:
        """Pass an answer to the request that waits for it; an unknown answer came too late."""
        waiting = self._waiting.get(response.request_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(response)

    def close(self) -> None:
        """Make all waiting requests fail: no more answers will come."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(StreamLost("the agent is gone"))
