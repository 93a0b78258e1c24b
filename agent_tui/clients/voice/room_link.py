"""One join of a LiveKit room: a ``livekit.rtc.Room`` is never used twice.

Every callback only puts a call for what happened into the queue of the session.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from livekit import rtc
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.audio.sound import SAMPLE_RATE
from agent_tui.clients.voice.requests import SessionRequests
from agent_tui.clients.voice.running import Put
from agent_tui.clients.voice.tokens import Ticket
from agent_tui.model.errors import AgentTuiError, NotOffered, StreamLost
from agent_tui.model.inert import inert_line
from agent_tui.model.voice import VoiceEvent
from agent_tui.wire import voice as wire
from agent_tui.wire.voice_reasons import JOIN_TIMED_OUT, Reason, of_connect_error

JOIN_SECONDS = 10.0
SIGNAL_SECONDS = 5.0  # for each of livekit.rtc's own tries within it
LEAVE_SECONDS = 2.0
QUEUE_MS = 100
KNOWN_SECONDS = 1.0  # after which everyone knows about us, even without a microphone
READ_SECONDS = 10.0  # one message of the agent's session
UNSUPPORTED_METHOD = 1400  # RpcError.code

log = logging.getLogger(__name__)

Take = Callable[..., Iterable[VoiceEvent]]  # called with the link and the arguments of the callback

_LEAVING: set[asyncio.Task[None]] = set()  # joins that were given up and are undone when they are through


class JoinFailed(AgentTuiError):
    """The room could not be joined, for this ``reason``."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.line, reason.advice)
        self.reason = reason


class RtcLink:
    """A room while it is being joined, used and left.

    ``on`` maps events of ``rtc.Room`` to the functions that the queue calls with their arguments.
    """

    def __init__(self, put: Put, on: dict[str, Take]) -> None:
        self.room = rtc.Room()
        self.requests = SessionRequests(self._send_request)
        self.track: rtc.LocalAudioTrack | None = None
        self.source: rtc.AudioSource | None = None
        self.agent = ""  # the identity to which requests are sent
        self.early_sent: set[str] = set()  # agents that got what was said while joining
        self.is_known = asyncio.Event()  # a participant subscribed to our microphone
        self.is_left = False
        for name, take in on.items():
            self.room.on(name, self._queued(put, take))  # type: ignore[arg-type]  # a Literal of 36 names

    def _queued(self, put: Put, take: Take) -> Callable[..., None]:
        return lambda *arguments: put(partial(self._unless_left, take, *arguments))

    def _unless_left(self, take: Take, *arguments: object) -> Iterable[VoiceEvent]:
        """Return what ``take`` returns; nothing if the room was left: that belongs to another join."""
        return () if self.is_left else take(self, *arguments)

    def read_text(self, topic: str, put: Put, take: Take) -> None:
        """Have ``take`` called with (link, reader, identity) for each text stream of ``topic``."""
        self.room.register_text_stream_handler(topic, self._queued(put, take))

    def read_bytes(self, topic: str, put: Put, take: Take) -> None:
        """Have ``take`` called with (link, reader, identity) for each byte stream of ``topic``."""
        self.room.register_byte_stream_handler(topic, self._queued(put, take))

    # --- joining and leaving ---------------------------------------------------------------------------

    async def join(self, ticket: Ticket, seconds: float = JOIN_SECONDS) -> None:
        """Join; raises ``JoinFailed``. ``livekit.rtc`` itself may take a minute, this ``seconds``."""
        options = rtc.RoomOptions(auto_subscribe=True, dynacast=False, connect_timeout=SIGNAL_SECONDS)
        joining = asyncio.create_task(self.room.connect(ticket.url, ticket.token, options))
        try:
            await asyncio.wait({joining}, timeout=seconds)
        finally:
            if not joining.done():  # it cannot be cancelled: the joined room is left at once
                undoing = asyncio.create_task(self._undo(joining))
                _LEAVING.add(undoing)
                undoing.add_done_callback(_LEAVING.discard)
        if not joining.done():
            raise JoinFailed(JOIN_TIMED_OUT)
        if (error := joining.exception()) is not None:
            message = error.message if isinstance(error, rtc.ConnectError) else str(error)
            raise JoinFailed(of_connect_error(message, is_expired=_is_expired(ticket.token)))

    async def _undo(self, joining: asyncio.Task[None]) -> None:
        await asyncio.wait({joining})
        if joining.exception() is None:
            await self.leave()

    async def publish(self) -> None:
        """Publish the microphone; raises ``NotOffered`` when the token does not allow it."""
        participant = self.room.local_participant
        allowed = participant.permissions
        sources = list(allowed.can_publish_sources)
        if not allowed.can_publish or (sources and rtc.TrackSource.SOURCE_MICROPHONE not in sources):
            raise NotOffered("this token does not allow speaking", "Typing may still work.")
        source = rtc.AudioSource(SAMPLE_RATE, 1, queue_size_ms=QUEUE_MS)
        track = rtc.LocalAudioTrack.create_audio_track("microphone", source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE, preconnect_buffer=True)
        try:
            await participant.publish_track(track, options)
        except Exception as error:  # whatever the native part raises
            raise StreamLost("the microphone could not be published", error_text(error)) from error
        self.track, self.source = track, source

    async def leave(self) -> None:
        """Leave the room; returns within seconds even if something hangs."""
        self.is_left = True
        self.requests.close()
        leaving = asyncio.create_task(self.room.disconnect())
        await asyncio.wait({leaving}, timeout=LEAVE_SECONDS)
        if not leaving.done():
            leaving.cancel()
        elif (error := leaving.exception()) is not None:
            log.warning("leaving a voice room failed: %s", type(error).__name__)
        if self.source is not None:
            await self.source.aclose()

    # --- what is sent ----------------------------------------------------------------------------------

    async def send_early(self, sound: bytes, identity: str) -> None:
        """Send an agent what was said before it could hear us, mono int16 sound."""
        if self.track is None:
            return
        about = {"trackId": self.track.sid, "sampleRate": str(SAMPLE_RATE), "channels": "1"}
        await self._send(
            self.room.local_participant.send_bytes(
                sound,
                name="early",
                topic=wire.PRE_CONNECT_TOPIC,
                attributes=about,
                destination_identities=[identity],
            )
        )

    async def wait_until_known(self) -> None:
        """Wait until the others know that we are here: livekit-agents drops what a stranger types, and text
        may overtake the news of a join.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(KNOWN_SECONDS):
                await self.is_known.wait()
        self.is_known.set()

    async def send_text(self, text: str) -> None:
        """Send a typed line to everyone; raises ``StreamLost``."""
        await self._send(self.room.local_participant.send_text(text, topic=wire.CHAT_TOPIC))

    async def send_file(self, path: Path, identity: str) -> None:
        """Send a file to an agent; raises ``StreamLost``."""
        await self._send(
            self.room.local_participant.send_file(
                str(path), topic=wire.FILE_TOPIC, destination_identities=[identity]
            )
        )

    async def call(self, method: str, identity: str, seconds: float = 5.0) -> None:
        """Call a method of ``identity``; raises ``NotOffered`` or ``StreamLost``."""
        try:
            await self.room.local_participant.perform_rpc(
                destination_identity=identity, method=method, payload="", response_timeout=seconds
            )
        except rtc.RpcError as error:
            if error.code == UNSUPPORTED_METHOD:
                raise NotOffered("the agent does not offer that", method) from error
            raise StreamLost("the agent could not be reached", error_text(error)) from error

    async def _send_request(self, message: pb.AgentSessionMessage) -> None:
        await self._send(
            self.room.local_participant.send_bytes(
                wire.encode(message),
                name="request",
                topic=wire.SESSION_TOPIC,
                destination_identities=[self.agent],
            )
        )

    async def _send(self, sending: Coroutine[Any, Any, object]) -> None:
        if self.is_left or not self.room.isconnected():
            sending.close()
            raise StreamLost("the voice room is not connected", "It was not sent.")
        try:
            await sending
        except rtc.StreamError as error:
            raise StreamLost("the voice room did not take it", error_text(error)) from error

    # --- what is measured ------------------------------------------------------------------------------

    async def round_trip(self) -> float | None:
        """Return the round trip to the server in seconds, ``None`` if unknown."""
        if self.is_left or not self.room.isconnected():
            return None
        with suppress(RuntimeError):
            stats = await self.room.get_rtc_stats()
            for one in (*stats.publisher_stats, *stats.subscriber_stats):
                if one.WhichOneof("stats") == "candidate_pair":
                    pair = one.candidate_pair.candidate_pair
                    if pair.nominated and pair.current_round_trip_time > 0:
                        return float(pair.current_round_trip_time)
        return None


async def read_message(reader: rtc.ByteStreamReader) -> bytes | None:
    """Return one message of an agent's session, ``None`` if it is too large, too slow or incomplete."""
    data = bytearray()
    try:
        async with asyncio.timeout(READ_SECONDS):
            async for chunk in reader:
                data += chunk
                if len(data) > wire.MAX_MESSAGE_BYTES:
                    return None
    except (TimeoutError, rtc.StreamError):
        return None
    finally:
        reader.close()
    return bytes(data)


def error_text(error: Exception) -> str:
    """Return the text of a ``livekit.rtc`` error, without tokens."""
    return inert_line(wire.redact(str(error))) or type(error).__name__


def _is_expired(token: str) -> bool:
    ends = wire.token_claims(token).get("exp")
    return isinstance(ends, int | float) and ends < time.time()
