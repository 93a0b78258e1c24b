"""Session messages in a room (``lk.agent.session``): everyone reads them, only the current speaker may
control.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from google.protobuf.message import DecodeError
from livekit import rtc
from livekit.agents import utils
from livekit.agents.voice.remote_session import TOPIC_SESSION_MESSAGES, SessionTransport
from livekit.protocol.agent_pb import agent_session as pb

MAX_MESSAGE_BYTES = 1 << 20
_DRIVING = frozenset({"run_input", "update_io", "update_options"})

log = logging.getLogger(__name__)


class RoomTransport(SessionTransport):
    """Like the framework's own, except that requests which act are taken only from ``may_drive``.

    The framework takes them from everyone in the room: a guest could speak for the owner.
    """

    def __init__(self, room: rtc.Room, may_drive: Callable[[str], bool]) -> None:
        self._room = room
        self._may_drive = may_drive
        self._messages: utils.aio.Chan[pb.AgentSessionMessage] = utils.aio.Chan()
        self._streams: utils.aio.Chan[tuple[rtc.ByteStreamReader, str]] = utils.aio.Chan()
        self._reader: asyncio.Task[None] | None = None
        self._sending = asyncio.Lock()

    async def start(self) -> None:
        self._reader = asyncio.create_task(self._read(), name="transport.read")
        self._room.register_byte_stream_handler(TOPIC_SESSION_MESSAGES, self._on_stream)

    def _on_stream(self, stream: rtc.ByteStreamReader, identity: str) -> None:
        with suppress(utils.aio.ChanClosed):
            self._streams.send_nowait((stream, identity))

    async def _read(self) -> None:
        """Read one stream after the other, so that messages stay in order."""
        async for stream, identity in self._streams:
            data = bytearray()
            try:
                async for chunk in stream:
                    data += chunk
                    if len(data) > MAX_MESSAGE_BYTES:
                        break
                message = pb.AgentSessionMessage()
                message.ParseFromString(bytes(data))
            except (rtc.StreamError, DecodeError):
                continue
            if message.WhichOneof("message") == "request" and await self._takes(message.request, identity):
                with suppress(utils.aio.ChanClosed):
                    self._messages.send_nowait(message)

    async def _takes(self, request: pb.SessionRequest, identity: str) -> bool:
        if request.WhichOneof("request") not in _DRIVING or self._may_drive(identity):
            return True
        refusal = pb.SessionResponse(
            request_id=request.request_id, error="the agent listens to somebody else in this room"
        )
        with suppress(RuntimeError):
            await self.send_message(pb.AgentSessionMessage(response=refusal))
        return False

    async def send_message(self, msg: pb.AgentSessionMessage) -> None:
        if self._messages.closed or not self._room.isconnected():
            raise RuntimeError("the room is closed")
        async with self._sending:
            try:
                await self._room.local_participant.send_bytes(
                    msg.SerializeToString(), name=utils.shortuuid("AS_"), topic=TOPIC_SESSION_MESSAGES
                )
            except Exception as error:  # the library may raise anything
                raise RuntimeError("the message could not be sent") from error

    async def close(self) -> None:
        if self._messages.closed:
            return
        self._messages.close()
        self._streams.close()
        if self._reader:
            self._room.unregister_byte_stream_handler(TOPIC_SESSION_MESSAGES)
            await utils.aio.cancel_and_wait(self._reader)

    def __aiter__(self) -> AsyncIterator[pb.AgentSessionMessage]:
        return self._messages.__aiter__()

    async def __anext__(self) -> pb.AgentSessionMessage:
        return await self._messages.__anext__()
