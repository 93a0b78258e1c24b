"""The STT plugin: Whisper with interim words (livekit-agents 1.8)."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

from livekit import rtc
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectOptions,
    LanguageCode,
    NotGivenOr,
    stt,
    utils,
    vad,
)

from agent_tui.voice_agent.hearing.ear import RATE, Act, Ear
from agent_tui.voice_agent.hearing.hypothesis import Hypothesis
from agent_tui.voice_agent.hearing.whisper import Decoder

ACTIVATION = 0.5  # probability of a voice that starts an utterance
DEACTIVATION = 0.35  # and below this it counts as silence
_WINDOW_SAMPLES = 512  # the detector's window


class WhisperSTT(stt.STT[Any]):
    """Hears with ``decoding``; ``detector`` is the session's own voice detector. ``end_seconds`` of silence
    end a turn: words are passed on just before.
    """

    def __init__(self, decoding: Decoder, detector: vad.VAD, *, end_seconds: float, name: str) -> None:
        capabilities = stt.STTCapabilities(streaming=True, interim_results=True)
        super().__init__(capabilities=capabilities)
        self.decoding = decoding
        self.detector = detector
        self.end_seconds = end_seconds
        self._name = name

    @property
    def model(self) -> str:
        return self._name

    @property
    def provider(self) -> str:
        return "faster-whisper"

    @property
    def is_flushed(self) -> bool:
        """Return whether a turn ends by a flush (push to talk) instead of by silence."""
        return self.capabilities.manual_flush

    @is_flushed.setter
    def is_flushed(self, on: bool) -> None:
        self.capabilities.manual_flush = on

    async def _recognize_impl(
        self,
        buffer: utils.AudioBuffer,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions,
    ) -> stt.SpeechEvent:
        frame = rtc.combine_audio_frames(buffer)
        if frame.sample_rate != RATE:
            resampler = rtc.AudioResampler(frame.sample_rate, RATE, quality=rtc.AudioResamplerQuality.HIGH)
            frame = rtc.combine_audio_frames([*resampler.push(frame), *resampler.flush()])
        heard = await self.decoding.decode(bytes(frame.data.cast("b")))
        return _event(stt.SpeechEventType.FINAL_TRANSCRIPT, heard, self.decoding.language)

    def stream(
        self,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
    ) -> WhisperStream:
        return WhisperStream(self, conn_options)


class WhisperStream(stt.RecognizeStream):
    """One microphone. The base resamples to 16 kHz in high quality."""

    def __init__(self, whisper: WhisperSTT, conn_options: APIConnectOptions) -> None:
        super().__init__(stt=whisper, conn_options=conn_options, sample_rate=RATE)
        self._whisper = whisper
        self._ear = Ear(whisper.end_seconds)
        self._final: asyncio.Task[Hypothesis] | None = None
        self._interim: asyncio.Task[None] | None = None
        self._deliveries: set[asyncio.Task[None]] = set()
        self._has_shown = False  # interim words of this utterance
        self._pushed = 0  # samples passed to the detector
        self._seen = 0  # samples that it has judged
        self._caught_up = asyncio.Event()

    async def _run(self) -> None:
        detected = self._whisper.detector.stream()
        tasks = [
            asyncio.create_task(self._feed(detected), name="hearing.feed"),
            asyncio.create_task(self._watch(detected), name="hearing.watch"),
        ]
        try:
            await asyncio.gather(*tasks)
            await asyncio.gather(*self._deliveries)
        finally:
            running = [task for task in (self._final, self._interim) if task]
            await utils.aio.cancel_and_wait(*tasks, *running, *self._deliveries)
            await detected.aclose()

    async def _feed(self, detected: vad.VADStream) -> None:
        async for item in self._input_ch:
            if isinstance(item, rtc.AudioFrame):
                self._pushed += item.samples_per_channel
                detected.push_frame(item)
                continue
            while self._pushed - self._seen >= _WINDOW_SAMPLES:
                self._caught_up.clear()
                await self._caught_up.wait()
            self._do(self._ear.flush(), is_flushed=True)
        detected.end_input()

    async def _watch(self, detected: vad.VADStream) -> None:
        async for event in detected:
            if event.type == vad.VADEventType.INFERENCE_DONE:
                sound = b"".join(bytes(frame.data.cast("b")) for frame in event.frames)
                is_voice = event.probability >= DEACTIVATION
                by_silence = not self._whisper.is_flushed
                act = self._ear.hear(sound, is_voice=is_voice, ends_by_silence=by_silence)
                self._seen = event.samples_index
                self._caught_up.set()
                self._do(act)
            elif event.type == vad.VADEventType.START_OF_SPEECH:
                if not self._ear.is_open:
                    self._send(stt.SpeechEvent(stt.SpeechEventType.START_OF_SPEECH))
                self._ear.start()

    def _do(self, act: Act, *, is_flushed: bool = False) -> None:
        if act == "interim":
            if self._whisper.decoding.is_busy:
                self._ear.ask_again()
            else:
                self._interim = asyncio.create_task(self._show(), name="hearing.interim")
        elif act == "final":
            self._decode_final()
        if act == "over" or (is_flushed and act == "final"):
            self._deliver()

    def _decode_final(self) -> None:
        if self._interim:
            self._interim.cancel()
        if self._final:
            self._final.cancel()
        self._final = asyncio.create_task(self._whisper.decoding.decode(self._ear.pcm), name="hearing.final")

    async def _show(self) -> None:
        """Send what was said so far, unless the person has stopped meanwhile."""
        version, seconds = self._ear.version, self._ear.speech_seconds
        heard = await self._whisper.decoding.decode(self._ear.pcm)
        if version == self._ear.version and self._ear.is_open and heard.is_plausible(seconds):
            self._has_shown = True
            self._send(_event(stt.SpeechEventType.INTERIM_TRANSCRIPT, heard, self._whisper.decoding.language))

    def _deliver(self) -> None:
        """Pass on the utterance; the next one begins."""
        ear = self._ear
        if ear.is_open and self._final is None:
            self._decode_final()
        ended_at = time.time() - ear.silence_seconds
        task = asyncio.create_task(
            self._give(self._final, ear.speech_seconds, ended_at, has_shown=self._has_shown),
            name="hearing.deliver",
        )
        self._deliveries.add(task)
        task.add_done_callback(self._deliveries.discard)
        self._final, self._has_shown = None, False
        if ear.is_open:
            ear.close()

    async def _give(
        self, final: asyncio.Task[Hypothesis] | None, seconds: float, ended_at: float, *, has_shown: bool
    ) -> None:
        heard = await final if final else Hypothesis("")
        language = self._whisper.decoding.language
        if not heard.is_plausible(seconds):
            heard = Hypothesis("")
            if has_shown:  # remove the interim words from the screen
                self._send(_event(stt.SpeechEventType.INTERIM_TRANSCRIPT, heard, language))
        # Also without words: a turn that ended by a flush waits for it.
        self._send(_event(stt.SpeechEventType.FINAL_TRANSCRIPT, heard, language, ended_at))
        usage = stt.RecognitionUsage(audio_duration=seconds)
        self._send(stt.SpeechEvent(stt.SpeechEventType.RECOGNITION_USAGE, recognition_usage=usage))
        self._send(stt.SpeechEvent(stt.SpeechEventType.END_OF_SPEECH, speech_end_time=ended_at))

    def _send(self, event: stt.SpeechEvent) -> None:
        with suppress(utils.aio.ChanClosed):
            self._event_ch.send_nowait(event)


def _event(
    kind: stt.SpeechEventType, heard: Hypothesis, language: str, ended_at: float | None = None
) -> stt.SpeechEvent:
    words = stt.SpeechData(
        LanguageCode(language), heard.text, confidence=min(1.0, max(0.0, 1 + heard.logprob))
    )
    return stt.SpeechEvent(kind, alternatives=[words], speech_end_time=ended_at)
