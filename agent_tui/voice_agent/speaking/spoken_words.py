"""Sends the words of an answer while they are spoken, over LiveKit's console transport.

The transport has no message for them (livekit-agents 1.8): a terminal would get an answer only at its end.
They are sent as debug messages of the session, which other clients ignore; ``agent_tui.wire.voice`` reads
them.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.struct_pb2 import Struct
from livekit import rtc
from livekit.agents import AgentSession, utils
from livekit.agents.cli.tcp_console import TcpAudioOutput
from livekit.agents.voice.io import TextOutput
from livekit.agents.voice.transcription import TranscriptSynchronizer
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.wire.voice import SPOKEN_WORDS


class SpokenWords(TextOutput):
    """Sends each piece of text that it gets; ``flush`` ends the segment."""

    def __init__(self, session: AgentSession[Any]) -> None:
        super().__init__(label="agent-tui", next_in_chain=None)
        self._session = session
        self._segment = ""

    async def capture_text(self, text: str) -> None:
        self._segment = self._segment or utils.shortuuid("words_")
        self._send(text, is_final=False)

    def flush(self) -> None:
        if self._segment:
            self._send("", is_final=True)
            self._segment = ""

    def _send(self, text: str, *, is_final: bool) -> None:
        output = self._session.output
        payload = Struct()
        payload.update(
            {
                "type": SPOKEN_WORDS,
                "segment": self._segment,
                "text": str(text),
                "is_final": is_final,
                "is_voiced": output.audio is not None and output.audio_enabled,
            }
        )
        # The session's own ``emit`` takes only Pydantic events; its host listens for this one, too.
        emitter: rtc.EventEmitter[Any] = self._session
        rtc.EventEmitter.emit(emitter, "debug_message", pb.DebugMessage(payload=payload))


def send_words(session: AgentSession[Any], output: TcpAudioOutput) -> TranscriptSynchronizer:
    """Have ``session`` speak on ``output`` and send each word when it is spoken; return what pairs the two.

    Without the pairing, an interrupted answer would also count as spoken to its end.
    """
    synced = TranscriptSynchronizer(next_in_chain_audio=output, next_in_chain_text=SpokenWords(session))
    session.output.audio = synced.audio_output
    session.output.transcription = synced.text_output
    return synced
