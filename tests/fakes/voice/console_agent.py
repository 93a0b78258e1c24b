"""An agent behind the console transport that does what a test tells it, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.wire import voice as wire

Event = pb.AgentSessionEvent
ConsoleIO = pb.AgentSessionMessage.ConsoleIO


class ConsoleAgent:
    """An ``AgentProgram``. It answers requests once ``awake`` is set; everything it gets is in ``got``."""

    name = "toned"

    def __init__(self, *, connects: bool = True) -> None:
        self.got: list[pb.AgentSessionMessage] = []
        self.awake = asyncio.Event()
        self.awake.set()
        self.history: list[pb.ChatContext.ChatItem] = []
        self.state: pb.AgentState = pb.AS_LISTENING
        self.is_ended = False
        self.lines: list[str] = []
        self._connects = connects
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @property
    def last_lines(self) -> Sequence[str]:
        return self.lines

    async def start(self, address: str) -> None:
        host, port = address.split(":")
        self._code = asyncio.get_running_loop().create_future()
        if self._connects:
            reader, self._writer = await asyncio.open_connection(host, int(port))
            self._reading = asyncio.create_task(self._read(reader))

    async def wait(self) -> int:
        return await asyncio.shield(self._code)

    async def end(self) -> None:
        self.is_ended = True
        self.exit(0)

    def exit(self, code: int) -> None:
        """End as a process does: the connection goes with it."""
        if self._writer is not None:
            self._writer.close()
        if self._reading is not None:
            self._reading.cancel()
        if not self._code.done():
            self._code.set_result(code)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            try:
                (size,) = wire.HEADER.unpack(await reader.readexactly(4))
                message = wire.decode(await reader.readexactly(size))
            except asyncio.IncompleteReadError:
                return
            self.got.append(message)
            self._changed.set()
            if message.WhichOneof("message") == "request" and self.awake.is_set():
                self._answer(message.request)

    def _answer(self, request: pb.SessionRequest) -> None:
        response = pb.SessionResponse(request_id=request.request_id)
        match request.WhichOneof("request"):
            case "get_chat_history":
                response.get_chat_history.items.extend(self.history)
            case "get_session_state":
                response.get_session_state.agent_state = self.state
            case "run_input":
                response.error = "the model failed" * request.run_input.text.startswith("fail")
                if request.run_input.text == "fail aloud":
                    error = pb.AgentSessionEvent.Error(message=response.error)
                    self.send(pb.AgentSessionMessage(event=pb.AgentSessionEvent(error=error)))
            case _:
                pass
        self.send(pb.AgentSessionMessage(response=response))

    def send(self, *messages: pb.AgentSessionMessage) -> None:
        """Send messages."""
        assert self._writer is not None
        for message in messages:
            self._writer.write(wire.framed(message))

    def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self._writer is not None
        self._writer.write(data)

    def does(self, state: pb.AgentState) -> None:
        """Change the agent's state."""
        self.state = state
        self.send(
            pb.AgentSessionMessage(event=Event(agent_state_changed=Event.AgentStateChanged(new_state=state)))
        )

    def speak(self, sound: bytes, rate: int = 48_000) -> None:
        """Send sound in frames of 20 ms."""
        for at in range(0, len(sound), 1920):
            piece = sound[at : at + 1920]
            frame = ConsoleIO.AudioFrame(
                data=piece, sample_rate=rate, num_channels=1, samples_per_channel=len(piece) // 2
            )
            self.send(pb.AgentSessionMessage(audio_output=frame))

    def flush(self) -> None:
        """Say that the speech is whole."""
        self.send(pb.AgentSessionMessage(audio_playback_flush=ConsoleIO.AudioPlaybackFlush()))

    def clear(self) -> None:
        """Say that the rest of the speech is not to be played."""
        self.send(pb.AgentSessionMessage(audio_playback_clear=ConsoleIO.AudioPlaybackClear()))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when ``condition`` holds; it is looked at whenever a message came."""
        async with asyncio.timeout(30.0):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def count(self, kind: str) -> int:
        """Return how many messages of a kind came."""
        return sum(message.WhichOneof("message") == kind for message in self.got)
