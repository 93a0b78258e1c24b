"""A real livekit-server on loopback, and people in its rooms who speak, type and listen."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from livekit import api, rtc
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.voice_parts import find_server
from tests.voice_agent.console_peer import HEARD, PATIENCE_SECONDS, RATE

KEY = "key"
ROOM = "demo"
AGENT = f"agent-{ROOM}"
BLOCK_SAMPLES = 480
QUIET_SECONDS = 0.4  # between two answers


class LiveKitServer:
    """Where it is, and tokens for it."""

    def __init__(self, port: int, media: int, log: Path) -> None:
        self.url = f"ws://127.0.0.1:{port}"
        self.secret = secrets.token_hex(32)
        self._port = port
        self._media = media
        self._log = log
        self._child: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it, always with the same ports and the same secret, and wait until it answers."""
        program = find_server()
        assert program is not None
        config = {
            "port": self._port,
            "bind_addresses": ["127.0.0.1"],
            "rtc": {
                "tcp_port": 0,
                "udp_port": self._media,
                "ips": {"includes": ["127.0.0.1/32"]},
                "node_ip": "127.0.0.1",
                "use_external_ip": False,
                "stun_servers": ["127.0.0.1:9"],
                "enable_loopback_candidate": True,
            },
            "keys": {KEY: self.secret},
            "logging": {"level": "error"},
            "development": True,
        }
        environ = {"LIVEKIT_CONFIG": json.dumps(config)}
        with self._log.open("ab") as log:
            self._child = await asyncio.create_subprocess_exec(
                str(program), env=environ, stdout=log, stderr=log
            )
        async with asyncio.timeout(PATIENCE_SECONDS), httpx.AsyncClient(trust_env=False) as client:
            while True:
                with suppress(httpx.HTTPError):
                    if (await client.get(f"http://127.0.0.1:{self._port}")).status_code == 200:
                        break
                await asyncio.sleep(0.05)

    async def kill(self) -> None:
        """Kill it as a crash would."""
        if self._child is not None:
            self._child.kill()
            await self._child.wait()

    def token(self, identity: str, *, is_owner: bool = False, dispatch: str = "") -> str:
        """Return a person's token; only an owner's carries the mark. ``dispatch`` names an agent to call."""
        grants = api.VideoGrants(room_join=True, room=ROOM, can_update_own_metadata=False)
        token = self._token(identity).with_grants(grants)
        if is_owner:
            token = token.with_attributes({"agent-tui.owner": "1"})
        if dispatch:
            calls = [api.RoomAgentDispatch(agent_name=dispatch)]
            token = token.with_room_config(api.RoomConfiguration(agents=calls))
        return token.to_jwt()

    def agent_token(self) -> str:
        """Return the token of our agent, as the backend makes it."""
        grants = api.VideoGrants(room_join=True, room=ROOM, agent=True, can_update_own_metadata=True)
        token = self._token(AGENT).with_kind("agent").with_attributes({"lk.agent.name": "agent-tui"})
        return token.with_grants(grants).to_jwt()

    async def show_state(self, state: str) -> None:
        """Have the room show ``state`` as the agent's, whatever that said last."""
        shown = api.UpdateParticipantRequest(room=ROOM, identity=AGENT, attributes={"lk.agent.state": state})
        async with api.LiveKitAPI(self.url.replace("ws", "http", 1), KEY, self.secret) as server:
            await server.room.update_participant(shown)

    def _token(self, identity: str) -> api.AccessToken:
        return api.AccessToken(KEY, self.secret).with_identity(identity).with_ttl(timedelta(minutes=10))


def _free_ports() -> tuple[int, int]:
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        return tcp.getsockname()[1], udp.getsockname()[1]


@asynccontextmanager
async def livekit_server(folder: Path) -> AsyncIterator[LiveKitServer]:
    """Give a server that only loopback reaches."""
    server = LiveKitServer(*_free_ports(), folder / "livekit.log")
    try:
        await server.start()
        yield server
    finally:
        await server.kill()


class Somebody:
    """One person in the room."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.room = rtc.Room()
        self.first_sounds: list[float] = []  # when each answer was first heard
        self.last_sound = 0.0
        self.agent: dict[str, str] = {}  # its attributes
        self.events: list[tuple[str, Any]] = []
        self._mic = bytearray()
        self._responses: dict[str, pb.SessionResponse] = {}
        self._moved = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    async def join(self, url: str, token: str, *, hears: bool = True) -> None:
        """Join with a microphone; without ``hears`` nothing that is said is received."""
        self.room.on("track_subscribed", lambda track, *_: self._spawn(self._listen(track)))
        self.room.on("participant_attributes_changed", self._on_attributes)
        self.room.on("participant_connected", self._on_agent)
        self.room.register_byte_stream_handler(
            "lk.agent.session", lambda reader, _identity: self._spawn(self._session(reader))
        )
        await self.room.connect(url, token, rtc.RoomOptions(auto_subscribe=hears))
        for participant in self.room.remote_participants.values():
            self._on_agent(participant)
        source = rtc.AudioSource(RATE, 1, queue_size_ms=100)
        track = rtc.LocalAudioTrack.create_audio_track("microphone", source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
        await self.room.local_participant.publish_track(track, options)
        self._spawn(self._feed(source))

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _on_agent(self, participant: rtc.RemoteParticipant) -> None:
        if participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT:
            self.agent |= participant.attributes
            self._spawn(self._tell())

    def _on_attributes(self, changed: dict[str, str], participant: rtc.Participant) -> None:
        if participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT:
            self.agent |= changed
            self._spawn(self._tell())

    async def _feed(self, source: rtc.AudioSource) -> None:
        noise = np.random.default_rng(1)
        while True:
            block = bytes(self._mic[: BLOCK_SAMPLES * 2])
            del self._mic[: BLOCK_SAMPLES * 2]
            sound = np.frombuffer(block.ljust(BLOCK_SAMPLES * 2, b"\0"), np.int16).astype(np.int32)
            sound = (sound + noise.integers(-8, 8, BLOCK_SAMPLES)).clip(-32768, 32767)
            frame = rtc.AudioFrame(sound.astype(np.int16).tobytes(), RATE, 1, BLOCK_SAMPLES)
            await source.capture_frame(frame)
            if not self._mic:
                await self._tell()

    async def _listen(self, track: rtc.Track) -> None:
        if track.kind != rtc.TrackKind.KIND_AUDIO:
            return
        stream = rtc.AudioStream(track, sample_rate=RATE, num_channels=1, frame_size_ms=10)
        async for event in stream:
            if np.abs(np.frombuffer(event.frame.data, np.int16)).max() > HEARD:
                now = time.monotonic()
                if now - self.last_sound > QUIET_SECONDS:
                    self.first_sounds.append(now)
                self.last_sound = now
                await self._tell()

    async def _session(self, reader: rtc.ByteStreamReader) -> None:
        message = pb.AgentSessionMessage()
        message.ParseFromString(b"".join([chunk async for chunk in reader]))
        if message.WhichOneof("message") == "response":
            self._responses[message.response.request_id] = message.response
        elif message.WhichOneof("message") == "event":
            name = message.event.WhichOneof("event")
            self.events.append((name, getattr(message.event, name)))
        await self._tell()

    async def _tell(self) -> None:
        async with self._moved:
            self._moved.notify_all()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so; fails with what was received."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._moved:
                await self._moved.wait_for(is_so)
        except TimeoutError:
            raise AssertionError(f"it never came: {self.agent} {self.events[-10:]}") from None

    async def idle(self) -> None:
        """Wait until the agent listens and is silent."""

        def is_idle() -> bool:
            is_silent = time.monotonic() - self.last_sound > QUIET_SECONDS
            return self.agent.get("lk.agent.state") == "listening" and is_silent

        await self.until(is_idle)  # the microphone, always on, tells that time goes by

    async def say(self, sound: bytes) -> float:
        """Speak, and return when the last of it was sent."""
        self._mic += sound
        await self.until(lambda: not self._mic)
        return time.monotonic()

    async def answered(self, since: float) -> float:
        """Wait for the next sound of the agent; return how long after ``since`` it came."""
        await self.until(lambda: bool(self.first_sounds) and self.first_sounds[-1] > since)
        return self.first_sounds[-1] - since

    async def call(self, method: str) -> None:
        """Call a method that the agent offers."""
        await self.room.local_participant.perform_rpc(destination_identity=AGENT, method=method, payload="")

    async def type(self, text: str) -> None:
        """Type in the room."""
        await self.room.local_participant.send_text(text, topic="lk.chat")

    async def request(self, **fields: Any) -> pb.SessionResponse:
        """Ask the agent's session something."""
        number = secrets.token_hex(4)
        message = pb.AgentSessionMessage(request=pb.SessionRequest(request_id=number, **fields))
        await self.room.local_participant.send_bytes(
            message.SerializeToString(), name="x", topic="lk.agent.session", destination_identities=[AGENT]
        )
        await self.until(lambda: number in self._responses)
        return self._responses[number]

    def items(self, role: str) -> list[Any]:
        """Return the messages of ``role`` in the agent's history, as they were told."""
        added = [event.item.message for name, event in self.events if name == "conversation_item_added"]
        return [item for item in added if item.content and pb.ChatRole.Name(item.role).lower() == role]

    def texts(self, role: str) -> list[str]:
        return ["".join(part.text for part in item.content) for item in self.items(role)]

    async def leave(self) -> None:
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.room.disconnect()
