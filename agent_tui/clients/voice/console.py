"""A voice session with one agent over LiveKit's console transport: no server, no room.

This side listens on loopback, and the agent's program connects (livekit-agents, ``cli/tcp_console.py``).
Sound is sent in frames of 30 ms. The agent sends all of a speech ahead of time, so it is held here as soon as
the agent stops speaking, dropped when it says so, and continued if it speaks again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.audio.sound import BLOCK_BYTES, SAMPLE_RATE, Sound
from agent_tui.clients.voice.requests import SessionRequests
from agent_tui.clients.voice.running import SessionTasks, finish
from agent_tui.clients.voice.script import AgentProgram
from agent_tui.model.errors import (
    AgentTuiError,
    ConnectFailed,
    NotOffered,
    ProtocolError,
    Refused,
    StreamLost,
    TimedOut,
    TransportError,
)
from agent_tui.model.events import Unknown
from agent_tui.model.voice import (
    AgentJoined,
    AgentStateChanged,
    AgentWord,
    LinkMoved,
    MicChanged,
    PeopleChanged,
    Person,
    SessionFailed,
    Transport,
    VoiceEvent,
    WordsLost,
    WordsTyped,
)
from agent_tui.wire import voice as wire
from agent_tui.wire import voice_reasons as why

CONNECT_SECONDS = 60.0  # importing livekit-agents takes seconds
ANSWER_EVERY_SECONDS = 0.5
ANSWER_SECONDS = 10.0
TURN_SECONDS = 600.0  # for an answer to typed text
FRAME_BLOCKS = 3  # 30 ms
MAX_SENT_BYTES = 256 * 1024  # that wait for the agent: more sound is dropped
SHOWN_LINES = 2
ME = "me"

log = logging.getLogger(__name__)

_NOTHING: tuple[VoiceEvent, ...] = ()


class ConsoleClient:
    """One session with an agent's program: a ``VoiceClient``.

    The ``program`` is started and ended here; the caller owns ``sound``. ``connect_seconds`` is how long the
    program may take to connect.
    """

    def __init__(
        self, program: AgentProgram, sound: Sound, *, connect_seconds: float = CONNECT_SECONDS
    ) -> None:
        self._program = program
        self._sound = sound
        self._connect_seconds = connect_seconds
        self._is_muted = False
        self._begin()

    def _begin(self) -> None:
        self._running = SessionTasks()
        self._writer: asyncio.StreamWriter | None = None
        self._requests = SessionRequests(self._send)
        self._decoder = wire.SessionDecoder()
        self._word: AgentWord | None = None
        self._is_ready = False
        self._is_talking = False
        self._is_silenced = False
        self._is_over = False
        self._told_failure = ""  # by the session, since the last line was typed
        self._finishing: asyncio.Task[None] | None = None

    @property
    def transport(self) -> Transport:
        """Return the name of the transport."""
        return "console"

    # --- the session -----------------------------------------------------------------------------------

    async def events(self) -> AsyncGenerator[VoiceEvent, None]:
        """Start the agent, yield what happens, and end it when closed. Ends after ``LinkMoved`` ended or
        failed; can be called again then.
        """
        self._begin()
        running = self._running
        running.spawn(self._serve())
        try:
            yield LinkMoved("connecting", f"Starting {self._program.name}.")
            yield MicChanged(self._is_muted)
            async with aclosing(running.events()) as events:
                async for event in events:
                    yield event
        finally:
            await finish(self._end(running))

    async def _end(self, running: SessionTasks) -> None:
        await running.end()
        self._requests.close()
        self._sound.drop()
        self._sound.resume()
        writer, self._writer = self._writer, None
        if writer is not None:
            await _abort(writer)
        await self._program.end()

    async def _serve(self) -> None:
        """Start the agent, wait until it connects, and follow it until it is gone."""
        connected: asyncio.Future[asyncio.StreamReader] = asyncio.get_running_loop().create_future()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if connected.done():  # only one connection is expected
                writer.transport.abort()
            else:
                self._writer = writer
                connected.set_result(reader)

        listening = await asyncio.start_server(accept, "127.0.0.1", 0)
        address = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        try:
            await self._program.start(address)
        except AgentTuiError as error:
            listening.close()
            self._running.tell(
                LinkMoved("failed", f"{error.title}. {error.detail}".strip(), "agent_not_started")
            )
            return
        ending = asyncio.create_task(self._program.wait())
        try:
            first: set[asyncio.Future[Any]] = {connected, ending}
            await asyncio.wait(first, timeout=self._connect_seconds, return_when=asyncio.FIRST_COMPLETED)
            listening.close()
            if connected.done():
                await self._follow(connected.result(), ending)
            elif ending.done():
                self._running.tell(self._over(ending.result()))
            else:
                self._running.tell(
                    LinkMoved("failed", self._with_lines(why.AGENT_NOT_STARTED), "agent_not_started")
                )
        finally:
            listening.close()
            ending.cancel()

    async def _follow(self, reader: asyncio.StreamReader, ending: asyncio.Task[int]) -> None:
        self._running.spawn(self._greet())
        self._running.spawn(self._send_sound())
        await self._read(reader)
        self._is_over = True
        self._requests.close()
        await asyncio.wait({ending}, timeout=ANSWER_SECONDS)  # the connection ends first, then the process
        self._running.tell(self._over(ending.result() if ending.done() else None))

    def _over(self, code: int | None) -> LinkMoved:
        if code == 0 and self._is_ready:
            return LinkMoved("ended", "The agent ended the session.", why.AGENT_ENDED.word)
        said = "its connection broke off" if code is None else f"exit code {code}"
        if code is not None and code < 0:
            said = f"signal {-code}"
        line = f"The agent's process ended ({said})."
        return LinkMoved("failed", self._with_lines(why.Reason("", line)), why.AGENT_ENDED.word)

    def _with_lines(self, reason: why.Reason) -> str:
        last = " · ".join(list(self._program.last_lines)[-SHOWN_LINES:])
        return f"{reason.detail} Its last lines: {last}" if last else reason.detail

    async def _greet(self) -> None:
        """Ping until the agent answers: what is sent before its session begins is lost."""
        while True:
            try:
                await self._requests.ask("ping", ANSWER_EVERY_SECONDS)
            except TimedOut:
                continue
            except (TransportError, Refused):
                return  # it is gone; the reading task says so
            break
        self._is_ready = True
        agent = Person("agent", self._program.name, is_agent=True)
        self._running.tell(
            LinkMoved("connected"),
            AgentJoined("agent", self._program.name, has_session=True),
            PeopleChanged((Person(ME, is_me=True, is_muted=self._is_muted, is_heard=True), agent)),
        )
        try:
            await self._requests.ask("get_chat_history", ANSWER_SECONDS)
            await self._requests.ask("get_session_state", ANSWER_SECONDS)
        except (TransportError, Refused) as error:
            log.warning("the agent's history is not known: %s", error.title)

    # --- what comes ------------------------------------------------------------------------------------

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            try:
                (size,) = wire.HEADER.unpack(await reader.readexactly(wire.HEADER.size))
                if size > wire.MAX_MESSAGE_BYTES:
                    self._running.tell(Unknown("session message", "", f"too large: {size:,} bytes"))
                    return
                data = await reader.readexactly(size)
            except (asyncio.IncompleteReadError, OSError):
                return
            try:
                message = wire.decode(data)
            except ProtocolError as error:
                self._running.tell(Unknown("session message", "", error.title))
                continue
            self._running.put(partial(self._came, message))

    def _came(self, message: pb.AgentSessionMessage) -> Iterable[VoiceEvent]:
        match message.WhichOneof("message"):
            case "audio_output":
                return self._play(message.audio_output)
            case "audio_playback_flush":
                self._finish_later()
            case "audio_playback_clear":
                self._clear()
            case _:
                if message.HasField("response"):
                    self._requests.answered(message.response)
                return self._note(self._decoder.message(message))
        return _NOTHING

    def _note(self, events: Iterable[VoiceEvent]) -> Iterable[VoiceEvent]:
        for event in events:
            if isinstance(event, AgentStateChanged):
                self._agent_does(event.state)
            elif isinstance(event, SessionFailed):
                self._told_failure = event.message
            yield event

    # --- its voice -------------------------------------------------------------------------------------

    def _play(self, frame: pb.AgentSessionMessage.ConsoleIO.AudioFrame) -> Iterable[VoiceEvent]:
        if frame.sample_rate != SAMPLE_RATE or frame.num_channels != 1 or len(frame.data) % 2:
            yield Unknown(
                "sound of the agent", f"{frame.sample_rate} Hz × {frame.num_channels}", "not 48 kHz mono"
            )
        elif not self._is_silenced:
            self._sound.play(frame.data)

    def _agent_does(self, word: AgentWord) -> None:
        before, self._word = self._word, word
        if word == "speaking":
            self._sound.resume()
        elif before == "speaking" and self._sound.queued_seconds > 0:
            self._sound.hold()  # a person cut in: the agent decides later whether that was meant

    def _finish_later(self) -> None:
        self._stop_finishing()
        self._finishing = self._running.spawn(self._finish())

    async def _finish(self) -> None:
        """Report that everything was played, when that is so."""
        left = self._sound.queued_seconds
        while left > 0:
            await asyncio.sleep(max(left / 2, 0.005))
            left = self._sound.queued_seconds
        self._is_silenced = False
        with suppress(TransportError):
            await self._send(wire.playback_finished())

    def _clear(self) -> None:
        """Drop what was not played; the agent itself counts this speech as ended."""
        self._stop_finishing()
        self._is_silenced = False
        self._sound.drop()
        self._sound.resume()

    def _stop_finishing(self) -> None:
        if self._finishing is not None:
            self._finishing.cancel()
            self._finishing = None

    # --- what goes -------------------------------------------------------------------------------------

    async def _send(self, message: pb.AgentSessionMessage) -> None:
        writer = self._writer
        if writer is None or self._is_over or writer.is_closing():
            raise StreamLost("the agent is gone")
        writer.write(wire.framed(message))

    async def _send_sound(self) -> None:
        """Send the microphone, or silence while it is muted: the agent's clock is the sound it gets."""
        waiting = bytearray()
        async with aclosing(self._sound.captured()) as blocks:
            async for block in blocks:
                waiting += bytes(len(block)) if self._is_muted else block
                if len(waiting) < FRAME_BLOCKS * BLOCK_BYTES:
                    continue
                writer = self._writer
                if writer is None or self._is_over:
                    return
                if writer.transport.get_write_buffer_size() < MAX_SENT_BYTES:
                    with suppress(TransportError):
                        await self._send(wire.sound(bytes(waiting), SAMPLE_RATE))
                waiting.clear()

    # --- what a person does ----------------------------------------------------------------------------

    def _check_ready(self) -> None:
        if not self._is_ready or self._is_over:
            raise ConnectFailed("the agent is not connected", "Wait until it is connected.")

    async def say(self, text: str) -> None:
        """Send a typed line; it interrupts the agent if it is speaking."""
        self._check_ready()
        key = f"typed-{secrets.token_hex(8)}"
        self._running.tell(WordsTyped(key, text))
        self._running.spawn(self._run_input(key, text))

    async def _run_input(self, key: str, text: str) -> None:
        self._told_failure = ""
        try:
            await self._requests.run_input(text, TURN_SECONDS)
        except Refused as error:
            if not error.detail or error.detail not in self._told_failure:  # else it was told already
                self._running.tell(SessionFailed(str(error)))
        except TimedOut:
            log.warning("the agent did not end its turn in time")
        except TransportError:
            self._running.tell(WordsLost(key))

    async def interrupt(self) -> None:
        """Play nothing more of this speech, and tell the agent. Only ours understands that: another one
        believes that it was heard.
        """
        self._check_ready()
        if self._sound.queued_seconds > 0 or self._word == "speaking":
            self._is_silenced = True
            self._sound.drop()
            self._sound.resume()
            with suppress(TransportError):
                await self._send(wire.playback_clear())

    async def mute(self, muted: bool) -> None:
        """Send silence instead of the microphone, or the microphone again."""
        self._set_muted(muted)

    def _set_muted(self, muted: bool) -> None:
        self._is_muted = muted
        agent = Person("agent", self._program.name, is_agent=True)
        me = Person(ME, is_me=True, is_muted=muted, is_heard=True)
        people = (PeopleChanged((me, agent)),) if self._is_ready else ()
        self._running.tell(MicChanged(muted, self._is_talking), *people)

    async def start_talking(self) -> None:
        """Unmute: this transport has no turns of its own."""
        self._check_ready()
        self._is_talking = True
        self._set_muted(False)

    async def stop_talking(self, *, cancel: bool = False) -> None:
        """Mute: the turn is over after a moment of silence. What was said cannot be cancelled."""
        if self._is_talking:
            self._is_talking = False
            self._set_muted(True)

    async def send_file(self, path: Path) -> None:
        """Raise ``NotOffered``: this transport carries no files."""
        raise NotOffered("a local session takes no files", "Type what the agent is to know.")

    async def ask_to_listen(self) -> None:
        """Raise ``NotOffered``: there is no one else."""
        raise NotOffered("the agent listens to you already")

    async def retry(self) -> None:
        """Do nothing: there is nothing to try again."""


async def _abort(writer: asyncio.StreamWriter) -> None:
    """Close a connection without waiting for what the other side no longer reads."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
