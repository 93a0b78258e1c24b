"""The TTS plugin: an offline voice, clause by clause (livekit-agents 1.8)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing
from typing import Any

from livekit.agents import DEFAULT_API_CONNECT_OPTIONS, APIConnectionError, APIConnectOptions, tts, utils

from agent_tui.voice_agent.speaking.clauses import Clauses
from agent_tui.voice_agent.speaking.speakable import speakable
from agent_tui.voice_agent.speaking.voices import Voice, VoiceFailed

_FRAME_MILLISECONDS = 20


class OfflineTTS(tts.TTS[Any]):
    """Speaks with ``voice``; a voice that died is started again at the next clause."""

    def __init__(self, voice: Voice) -> None:
        capabilities = tts.TTSCapabilities(streaming=True)
        super().__init__(capabilities=capabilities, sample_rate=voice.rate, num_channels=1)
        self._voice = voice

    @property
    def model(self) -> str:
        return self._voice.model.name

    @property
    def provider(self) -> str:
        return self._voice.model.engine

    @property
    def language(self) -> str:
        """The two or three letters of the language that it speaks."""
        return self._voice.model.language

    async def say(self, clause: str) -> AsyncGenerator[bytes, None]:
        """Yield the sound of a clause; raises ``APIConnectionError`` if the voice cannot say it."""
        try:
            if not self._voice.is_alive:
                await self._voice.aclose()
                self._voice = await Voice.start(self._voice.model)
            async with aclosing(self._voice.say(clause)) as sounds:
                async for sound in sounds:
                    yield sound
        except VoiceFailed as error:
            raise APIConnectionError(error.title) from error

    def synthesize(
        self, text: str, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> tts.ChunkedStream:
        return self._synthesize_with_stream(text, conn_options=conn_options)

    def stream(self, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS) -> OfflineStream:
        return OfflineStream(self, conn_options)

    async def aclose(self) -> None:
        await self._voice.aclose()


class OfflineStream(tts.SynthesizeStream):
    """One answer."""

    def __init__(self, offline: OfflineTTS, conn_options: APIConnectOptions) -> None:
        super().__init__(tts=offline, conn_options=conn_options)
        self._offline = offline

    async def _run(self, output_emitter: tts.AudioEmitter) -> None:
        output_emitter.initialize(
            request_id=utils.shortuuid("voice_"),
            sample_rate=self._offline.sample_rate,
            num_channels=1,
            mime_type="audio/pcm",
            frame_size_ms=_FRAME_MILLISECONDS,
            stream=True,
        )
        output_emitter.start_segment(segment_id=utils.shortuuid("clauses_"))
        clauses = Clauses()
        async for item in self._input_ch:
            done = clauses.push(item) if isinstance(item, str) else clauses.finish()
            for clause in done:
                await self._say(clause, output_emitter)
        for clause in clauses.finish():
            await self._say(clause, output_emitter)
        output_emitter.end_segment()

    async def _say(self, clause: str, output_emitter: tts.AudioEmitter) -> None:
        if not clause.strip():
            return
        self._mark_started()
        async with aclosing(self._offline.say(clause.strip())) as sounds:
            async for sound in sounds:
                output_emitter.push(sound)
        output_emitter.flush()


def spoken_in(language: str) -> Callable[[AsyncIterable[str]], AsyncGenerator[str, None]]:
    """Return the function that makes the text of an answer speakable in ``language``, clause by clause, for
    any voice.
    """

    async def spoken(text: AsyncIterable[str]) -> AsyncGenerator[str, None]:
        clauses = Clauses()
        async for piece in text:
            for clause in clauses.push(piece):
                if speech := speakable(clause, language):
                    yield f"{speech} "
        for clause in clauses.finish():
            if speech := speakable(clause, language):
                yield f"{speech} "

    return spoken
