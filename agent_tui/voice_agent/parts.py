"""Chooses the agent's models for hearing, thinking and speaking: the one place for that."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from livekit.agents import inference, llm, stt, tts, vad

from agent_tui import voice_instructions
from agent_tui.clients.agents.tasks import AgentTasksClient
from agent_tui.config.voice import TASKS_VARIABLE, VoiceAgentConfig
from agent_tui.model.errors import AgentTuiError, ConfigError
from agent_tui.voice_agent.agent_tasks_llm import AgentTasksLLM
from agent_tui.voice_agent.assignment import END_OF_TURN_SECONDS
from agent_tui.voice_agent.hearing import whisper
from agent_tui.voice_agent.hearing.plugin import ACTIVATION, DEACTIVATION, WhisperSTT
from agent_tui.voice_agent.languages import LanguageNotice, language_of, mismatch
from agent_tui.voice_agent.speaking.plugin import OfflineTTS
from agent_tui.voice_agent.speaking.voices import Voice, find_voices

TASKS = "tasks"  # llm = "tasks:http://127.0.0.1:3002"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Parts:
    """``whisper`` is the offline model for hearing, ``other_voice`` a second voice if there is one.
    ``notices`` say what is missing, one line each.
    """

    detector: vad.VAD
    ear: stt.STT[Any] | None = None
    voice: tts.TTS[Any] | None = None
    other_voice: tts.TTS[Any] | None = None
    whisper: WhisperSTT | None = None
    language: str = "en"  # the voice's
    notices: list[LanguageNotice] = field(default_factory=list)

    async def aclose(self) -> None:
        """End the voices and the hearing."""
        if self.whisper:
            self.whisper.decoding.close()
        for voice in (self.voice, self.other_voice):
            if voice:
                await voice.aclose()


async def load_parts(choice: VoiceAgentConfig, locale: str) -> Parts:
    """Load and warm up what ``choice`` names, hearing and voices in parallel.

    What is missing becomes a notice: without hearing people type, without a voice they read. Raises
    ``ConfigError`` for a named provider that cannot be used.
    """
    language = language_of(locale)
    detector = inference.VAD(activation_threshold=ACTIVATION, deactivation_threshold=DEACTIVATION)
    parts = Parts(detector)
    named_stt = provider("STT", choice.stt) if choice.stt else None
    named_tts = provider("TTS", choice.tts) if choice.tts else None
    heard, spoken = await asyncio.gather(
        _ear(choice, detector, language), _voices(choice, language), return_exceptions=True
    )
    if isinstance(heard, WhisperSTT):
        parts.whisper = heard
    else:
        _note(parts, heard, is_needed=named_stt is None)
    if isinstance(spoken, list):
        parts.voice, parts.other_voice = (*spoken, None, None)[:2]
    else:
        _note(parts, spoken, is_needed=named_tts is None)
    hears = parts.whisper.decoding.languages if parts.whisper else ()
    speaks = spoken[0].language if isinstance(spoken, list) and spoken else ""
    parts.language = speaks or language
    if not (named_stt and named_tts):
        parts.notices += mismatch(
            language,
            hears=None if named_stt else hears,
            speaks=None if named_tts else ((speaks,) if speaks else ()),
        )
    if named_stt:
        spare_stt = [parts.whisper] if parts.whisper else []
        parts.ear = stt.FallbackAdapter([named_stt, *spare_stt], vad=detector)
    else:
        parts.ear = parts.whisper
    if named_tts:
        spare_tts = [parts.voice] if parts.voice else []
        parts.voice = tts.FallbackAdapter([named_tts, *spare_tts])
    return parts


def choose_llm(
    choice: VoiceAgentConfig, locale: str, conversation: Callable[[], llm.LLM[Any]]
) -> llm.LLM[Any]:
    """Return the LLM: our conversation, an agent service, or the named provider with the conversation as its
    fallback. Raises ``ConfigError``.
    """
    kind, _, rest = choice.llm.partition(":")
    if not kind:
        return conversation()
    if kind == TASKS:
        client = AgentTasksClient(rest, os.environ.get(TASKS_VARIABLE, ""))
        return AgentTasksLLM(client, language=voice_instructions.language_of(locale))
    return llm.FallbackAdapter([provider("LLM", choice.llm), conversation()])


def provider(kind: str, spec: str) -> Any:
    """Return ``STT``, ``LLM`` or ``TTS`` of ``livekit.plugins.NAME`` for ``NAME:MODEL`` (or ``NAME``).

    The plugin takes its key from the environment. Raises ``ConfigError`` with what to install or to set.
    """
    name, _, model = spec.partition(":")
    if not name.isidentifier():
        raise ConfigError(f"{kind.lower()}: {spec!r} names no provider", 'write it as "deepgram:nova-3"')
    try:
        plugin = importlib.import_module(f"livekit.plugins.{name}")
    except ImportError as error:
        raise ConfigError(
            f"{kind.lower()} = {spec!r} needs a package that is not installed",
            f"install livekit-agents[{name}] where the agent runs",
        ) from error
    made = getattr(plugin, kind, None)
    if made is None:
        raise ConfigError(f"{kind.lower()}: the provider {name!r} offers none")
    try:
        return made(model=model) if model else made()
    except Exception as error:  # other people's code: a missing key, an unknown model
        # Its text names the missing variable; it should never contain keys, but that is not certain.
        raise ConfigError(f"{kind.lower()} = {spec!r} cannot be used", _first_line(error)) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


async def _ear(choice: VoiceAgentConfig, detector: vad.VAD, language: str) -> WhisperSTT:
    decoding = await whisper.load(choice.hearing, language)
    name = choice.hearing or whisper.BUNDLED
    end_seconds = choice.end_of_turn or END_OF_TURN_SECONDS
    return WhisperSTT(decoding, detector, end_seconds=end_seconds, name=name)


async def _voices(choice: VoiceAgentConfig, language: str) -> list[OfflineTTS]:
    """Return the best voice that starts, and a second one."""
    started: list[OfflineTTS] = []
    failed: AgentTuiError | None = None
    for model in find_voices(choice.voice, language):
        if len(started) == 2:
            break
        try:
            started.append(OfflineTTS(await Voice.start(model)))
        except AgentTuiError as error:
            failed = error
            log.warning("a voice did not start", exc_info=error)
    if not started:
        raise failed or ConfigError("no voice is installed", "install the extra voice-offline")
    return started


def _note(parts: Parts, error: object, *, is_needed: bool) -> None:
    if isinstance(error, ConfigError | AgentTuiError):
        if is_needed:
            parts.notices.append(LanguageNotice("voice.missing", error.title, error.detail))
    elif isinstance(error, BaseException):
        raise error
