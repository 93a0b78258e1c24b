"""The terminal's side of LiveKit's console transport, as a test needs it, and the agent's real process."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from livekit import rtc
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.voice_agent.speaking.voices import Voice, VoiceModel, find_voices

RATE = 48_000
BLOCK_SAMPLES = 1440  # 30 ms, as terminals send it
HEARD = 300  # an amplitude that people hear
PATIENCE_SECONDS = 60.0  # of a busy machine
OURS = ("AGENT_TUI_", "LIVEKIT_")  # variables that a test sets itself
ConsoleIO = pb.AgentSessionMessage.ConsoleIO


async def spoken(voice: Voice, text: str) -> bytes:
    """Return ``text`` as sound (48 kHz, mono, int16) that begins and ends with a voice."""
    pcm = b"".join([sound async for sound in voice.say(text)])
    resampler = rtc.AudioResampler(voice.rate, RATE, quality=rtc.AudioResamplerQuality.HIGH)
    frame = rtc.AudioFrame(pcm, voice.rate, 1, len(pcm) // 2)
    sound = np.concatenate(
        [np.frombuffer(part.data, np.int16) for part in (*resampler.push(frame), *resampler.flush())]
    )
    (loud,) = np.nonzero(np.abs(sound) > HEARD)
    return sound[loud[0] : loud[-1] + 1].tobytes()


def at_16_khz(sound: bytes) -> bytes:
    """Return 48 kHz sound as models of speech want it."""
    resampler = rtc.AudioResampler(RATE, 16_000, quality=rtc.AudioResamplerQuality.HIGH)
    frame = rtc.AudioFrame(sound, RATE, 1, len(sound) // 2)
    return b"".join(bytes(part.data.cast("b")) for part in (*resampler.push(frame), *resampler.flush()))


def usual_voice() -> VoiceModel:
    """Return the voice that speaks to the agent."""
    return find_voices()[0]


class AgentProcess:
    """``python -m agent_tui.voice_agent …`` and what it says of itself."""

    def __init__(self, child: asyncio.subprocess.Process, log: Path) -> None:
        self.child = child
        self.log = log
        self.states: list[dict[str, str]] = []
        self._said = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.child.stdout
        async for line in self.child.stdout:
            async with self._said:
                self.states.append(json.loads(line))
                self._said.notify_all()
        async with self._said:
            self._said.notify_all()

    def tell(self, **assignment: Any) -> None:
        """Send the assignment."""
        assert self.child.stdin
        self.child.stdin.write(json.dumps(assignment).encode() + b"\n")

    async def says(self, state: str) -> dict[str, str]:
        """Wait for a state and return its line."""
        lines: list[dict[str, str]] = []

        def is_there() -> bool:
            lines[:] = [line for line in self.states if line["state"] == state]
            return bool(lines) or self._reader.done()

        async with asyncio.timeout(PATIENCE_SECONDS), self._said:
            await self._said.wait_for(is_there)
        assert lines, (state, self.states, self.log.read_text())
        return lines[0]

    async def ended(self) -> tuple[int, float]:
        """Wait for the end; return the exit code and how long that took."""
        began = time.monotonic()
        async with asyncio.timeout(PATIENCE_SECONDS):
            code = await self.child.wait()
            await self._reader
        return code, time.monotonic() - began


@asynccontextmanager
async def agent_process(folder: Path, *arguments: str, **env: str) -> AsyncIterator[AgentProcess]:
    """Give a running agent; it is killed at the end unless it has ended before."""
    log = folder / "agent.log"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    clean |= {"AGENT_TUI_DATA": str(folder), "AGENT_TUI_CONFIG": str(folder / "none.toml"), **env}
    with log.open("wb") as errors:
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-P", "-m", "agent_tui.voice_agent", *arguments)
        child = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=clean, stdin=pipe, stdout=pipe, stderr=errors
        )
    process = AgentProcess(child, log)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await process.ended()


class ConsolePeer:
    """A terminal without a sound card: a microphone that says what it is given, a speaker that counts."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._mic = bytearray()
        self._moved = asyncio.Condition()
        self._playing = 0  # samples of the answer that plays
        self._playing_since = 0.0
        self._finish: asyncio.Task[None] | None = None
        self.events: list[tuple[str, Any]] = []
        self.responses: dict[str, pb.SessionResponse] = {}
        self._numbers = count(1)
        self.first_sounds: list[float] = []  # when each answer was first heard
        self.cleared: list[float] = []
        self._tasks = [asyncio.create_task(self._feed()), asyncio.create_task(self._read())]

    def _send(self, **fields: Any) -> None:
        data = pb.AgentSessionMessage(**fields).SerializeToString()
        self._writer.write(struct.pack(">I", len(data)) + data)

    async def _feed(self) -> None:
        due = time.monotonic()
        noise = np.random.default_rng(1)
        while True:
            due += BLOCK_SAMPLES / RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            block = bytes(self._mic[: BLOCK_SAMPLES * 2])
            del self._mic[: BLOCK_SAMPLES * 2]
            sound = np.frombuffer(block.ljust(BLOCK_SAMPLES * 2, b"\0"), np.int16)
            sound = (sound.astype(np.int32) + noise.integers(-8, 8, BLOCK_SAMPLES)).clip(-32768, 32767)
            self._send(
                audio_input=ConsoleIO.AudioFrame(
                    data=sound.astype(np.int16).tobytes(),
                    sample_rate=RATE,
                    num_channels=1,
                    samples_per_channel=BLOCK_SAMPLES,
                )
            )
            if not self._mic:
                await self._tell()

    async def _read(self) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (size,) = struct.unpack(">I", await self._reader.readexactly(4))
                message = pb.AgentSessionMessage()
                message.ParseFromString(await self._reader.readexactly(size))
                self._take(message)
                await self._tell()

    def _take(self, message: pb.AgentSessionMessage) -> None:
        match message.WhichOneof("message"):
            case "audio_output":
                sound = np.abs(np.frombuffer(message.audio_output.data, np.int16))
                if not self._playing:
                    self._playing_since = time.monotonic()
                    self.first_sounds.append(self._playing_since + int(np.argmax(sound > HEARD)) / RATE)
                self._playing += message.audio_output.samples_per_channel
            case "audio_playback_flush" if self._playing:
                left = self._playing / RATE - (time.monotonic() - self._playing_since)
                self._finish = asyncio.create_task(self._play_out(max(0.0, left)))
            case "audio_playback_clear":
                self.cleared.append(time.monotonic())
                if self._finish:
                    self._finish.cancel()
                self._playing = 0
            case "event":
                name = message.event.WhichOneof("event")
                self.events.append((name, getattr(message.event, name)))
            case "response":
                self.responses[message.response.request_id] = message.response
            case _:
                pass

    async def _play_out(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._playing = 0
        self._send(audio_playback_finished=ConsoleIO.AudioPlaybackFinished())
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
            events = [event for event in self.events if event[0] != "session_usage_updated"]
            raise AssertionError(f"it never came: {events[-10:]}") from None

    async def idle(self) -> None:
        """Wait until the agent listens and nothing plays."""
        await self.until(lambda: not self._playing and self.state == "AS_LISTENING")

    @property
    def is_playing(self) -> bool:
        return self._playing > 0

    @property
    def played_seconds(self) -> float:
        """How much of the answer that plays was heard; it moves with every block of the microphone."""
        return min(self._playing / RATE, time.monotonic() - self._playing_since)

    @property
    def state(self) -> str:
        changes = [event for name, event in self.events if name == "agent_state_changed"]
        return pb.AgentState.Name(changes[-1].new_state) if changes else ""

    def heard(self, *, final: bool) -> list[str]:
        """Return what the agent understood."""
        words = [event for name, event in self.events if name == "user_input_transcribed"]
        return [event.transcript for event in words if event.is_final is final]

    def items(self, role: str) -> list[Any]:
        """Return the messages of ``role`` (user, assistant) in the agent's history."""
        added = [event.item.message for name, event in self.events if name == "conversation_item_added"]
        return [item for item in added if item.content and pb.ChatRole.Name(item.role).lower() == role]

    def answers(self) -> list[str]:
        """Return what the agent said, item by item."""
        return ["".join(part.text for part in item.content) for item in self.items("assistant")]

    @property
    def words(self) -> str:
        """Return all words of answers that were sent while they were spoken."""
        messages = [event.payload.fields for name, event in self.events if name == "debug_message"]
        return "".join(fields["text"].string_value for fields in messages)

    def words_before_item(self, number: int) -> str:
        """Return the words of an answer that were sent before its item."""
        words, passed = "", 0
        for name, event in self.events:
            if name == "debug_message":
                words += event.payload.fields["text"].string_value
            elif name == "conversation_item_added" and event.item.message.role == pb.ASSISTANT:
                if passed == number:
                    return words
                words, passed = "", passed + 1
        raise AssertionError("there is no such answer")

    async def say(self, sound: bytes) -> float:
        """Speak, and return when the last of it was sent."""
        self._mic += sound
        await self.until(lambda: not self._mic)
        return time.monotonic()

    async def ask(self, sound: bytes) -> float:
        """Speak, wait until an answer is heard, and return how long that took."""
        before = len(self.first_sounds)
        ended = await self.say(sound)
        await self.until(lambda: len(self.first_sounds) > before)
        return self.first_sounds[before] - ended

    async def type(self, text: str) -> None:
        """Type to the agent, and wait until it has answered."""
        number = str(next(self._numbers))
        self._send(
            request=pb.SessionRequest(request_id=number, run_input=pb.SessionRequest.RunInput(text=text))
        )
        await self.until(lambda: number in self.responses)
        assert not self.responses[number].error

    def interrupt(self) -> None:
        """Press the key that interrupts."""
        self._send(audio_playback_clear=ConsoleIO.AudioPlaybackClear())

    async def aclose(self) -> None:
        for task in (*self._tasks, *([self._finish] if self._finish else [])):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._writer.close()


@asynccontextmanager
async def console(folder: Path, **assignment: Any) -> AsyncIterator[tuple[ConsolePeer, AgentProcess]]:
    """Give a terminal and the agent that has joined it, after its greeting."""
    connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
    connected = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(lambda *pair: connected.set_result(pair), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with agent_process(folder, "console", "--connect-addr", f"127.0.0.1:{port}") as agent:
        agent.tell(**assignment)
        await agent.says("joined")
        peer = ConsolePeer(*await connected)
        try:
            yield peer, agent
        finally:
            await peer.aclose()
            server.close()
