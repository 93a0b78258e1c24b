"""The agent without a room: LiveKit's console transport, one person at one terminal."""

from __future__ import annotations

from collections.abc import Callable

from livekit.agents.cli.tcp_console import TcpAudioInput, TcpAudioOutput
from livekit.agents.voice.remote_session import SessionHost, TcpSessionTransport
from livekit.agents.voice.transcription import TranscriptSynchronizer
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.model.errors import ConfigError
from agent_tui.voice_agent.assignment import Assignment
from agent_tui.voice_agent.parts import Parts
from agent_tui.voice_agent.session import Session
from agent_tui.voice_agent.speaking.spoken_words import SpokenWords, send_words

_MAX_PORT = 65_535


def read_address(text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``; raises ``ConfigError``."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) <= _MAX_PORT:
        raise ConfigError(f"--connect-addr: {text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


class _Transport(TcpSessionTransport):
    """Reports what the framework's transport does not: that the person interrupts (the terminal clears the
    sound), and that the terminal has gone.
    """

    def __init__(
        self, address: tuple[str, int], on_interrupted: Callable[[], None], on_lost: Callable[[], None]
    ) -> None:
        super().__init__(*address)
        self._on_interrupted = on_interrupted
        self._on_lost = on_lost

    async def __anext__(self) -> pb.AgentSessionMessage:
        try:
            message = await super().__anext__()
        except StopAsyncIteration:
            self._on_lost()
            raise
        if message.HasField("audio_playback_clear"):
            self._on_interrupted()
        return message


class ConsoleAgent:
    """One session over TCP with the owner's terminal. ``on_lost`` is called when it has gone."""

    def __init__(
        self, assignment: Assignment, parts: Parts, address: tuple[str, int], on_lost: Callable[[], None]
    ) -> None:
        self._session = Session(assignment, parts, lambda: True)
        self._transport = _Transport(address, self._session.interrupt, on_lost)
        self._input = TcpAudioInput()
        self._output = TcpAudioOutput(self._transport)
        self._host = SessionHost(self._transport, audio_input=self._input, audio_output=self._output)
        self._synced: TranscriptSynchronizer | None = None

    async def start(self) -> None:
        """Connect and listen; raises ``OSError`` if nothing listens there."""
        session = self._session.livekit
        session.input.audio = self._input
        if self._session.parts.voice:
            self._synced = send_words(session, self._output)
        else:
            session.output.transcription = SpokenWords(session)
        self._host.register_session(session)
        await self._host.start()
        await session.start(self._session.agent, session_host=False, record=False)
        if self._session.is_manual:
            session.input.set_audio_enabled(False)

    async def aclose(self) -> None:
        """End the session and the connection."""
        self._input.close()
        await self._session.aclose()
        if self._synced is not None:
            await self._synced.aclose()
        await self._host.aclose()
