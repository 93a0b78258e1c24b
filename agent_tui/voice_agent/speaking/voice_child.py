"""A voice in a process of its own: ``python -P voice_child.py piper MODEL | espeak LANGUAGE``.

Piper and espeak-ng are GPL-3: only this process loads them; the agent talks with it by pipes. It reads lines
of JSON, ``{"id": N, "text": …}`` to be spoken in turn or ``{"drop": N}`` (no more of that one), and writes
frames: ``FRAME`` (kind, id, number of bytes), then the bytes. First comes ``READY`` with ``{"rate": HZ}``, or
``FAILED`` with a line of text. Each text gets any number of ``SOUND`` (mono, int16) and one ``END``.

This file imports nothing of ours: it starts in no time, and also under another Python.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, BinaryIO, Protocol

FRAME = struct.Struct(">BII")
READY, SOUND, END, FAILED = range(4)
_CHUNK_BYTES = 8192

_SYNCHRONOUS = 2  # espeak_AUDIO_OUTPUT: give the sound to a callback
_BUFFER_MILLISECONDS = 50
_DONT_EXIT = 0x8000
_UTF8 = 1
_CHARACTERS = 1
_WORDS_A_MINUTE = 1  # the parameter espeakRATE
_SPEED = 165
_PDEATHSIG = 1
_ESPEAK_NAMES = {"zh": "cmn", "no": "nb"}  # languages that espeak-ng knows by another name


class Speaker(Protocol):
    """Something that says text."""

    rate: int

    def say(self, text: str, is_dropped: Callable[[], bool]) -> Iterator[bytes]: ...


class Piper:
    """A neural voice."""

    def __init__(self, model: str) -> None:
        import onnxruntime
        from piper import PiperVoice

        # Its threads must not spin while they wait: they would take the other half of a small machine.
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(2, os.cpu_count() or 1)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._voice = PiperVoice.load(model)
        self._voice.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.rate = int(self._voice.config.sample_rate)
        for _ in self.say("Ready.", lambda: False):  # the first time is slow
            pass

    def say(self, text: str, is_dropped: Callable[[], bool]) -> Iterator[bytes]:
        for chunk in self._voice.synthesize(text):
            if is_dropped():
                return
            yield chunk.audio_int16_bytes


class Espeak:
    """espeak-ng through its library: the one of the package espeakng-loader, else the system's."""

    def __init__(self, language: str) -> None:
        library, data = _espeak()
        self._lib = ctypes.cdll.LoadLibrary(library)
        self.rate = self._lib.espeak_Initialize(_SYNCHRONOUS, _BUFFER_MILLISECONDS, data, _DONT_EXIT)
        if self.rate <= 0:
            raise RuntimeError("espeak-ng finds no data")
        if self._lib.espeak_SetVoiceByName(_ESPEAK_NAMES.get(language, language).encode()) != 0:
            raise RuntimeError(f"espeak-ng has no voice {language}")
        self._lib.espeak_SetParameter(_WORDS_A_MINUTE, _SPEED, 0)
        self._callback_type = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
        )

    def say(self, text: str, is_dropped: Callable[[], bool]) -> Iterator[bytes]:
        pieces: list[bytes] = []

        def heard(samples: Any, count: int, _events: Any) -> int:
            if count and samples:
                pieces.append(ctypes.string_at(samples, count * 2))
            return 1 if is_dropped() else 0

        callback = self._callback_type(heard)
        self._lib.espeak_SetSynthCallback(callback)
        encoded = text.encode()
        # A whole clause takes some milliseconds.
        self._lib.espeak_Synth(encoded, len(encoded) + 1, 0, _CHARACTERS, 0, _UTF8, None, None)
        yield from pieces


def _espeak() -> tuple[str, bytes | None]:
    """Return library and data folder; raises ``RuntimeError`` if there is none."""
    try:
        import espeakng_loader
    except ImportError:
        library = ctypes.util.find_library("espeak-ng")
        if library is None:
            raise RuntimeError("espeak-ng is not installed") from None
        return library, None
    return espeakng_loader.get_library_path(), espeakng_loader.get_data_path().encode()


class SpeechInput:
    """Reads what to say and what to drop while it speaks."""

    def __init__(self, speaker: Speaker, lines: BinaryIO, out: BinaryIO) -> None:
        self._speaker = speaker
        self._lines = lines
        self._out = out
        self._dropped: set[int] = set()
        self._is_over = False
        self._texts: SimpleQueue[tuple[int, str] | None] = SimpleQueue()

    def run(self) -> None:
        """Speak until the pipe is closed."""
        threading.Thread(target=self._read, daemon=True).start()
        self._send(READY, 0, json.dumps({"rate": self._speaker.rate}).encode())
        while (task := self._texts.get()) is not None:
            number, text = task
            if not self._is_dropped(number):
                try:
                    self._say(number, text)
                except Exception as error:  # noqa: BLE001 - foreign code: one clause is not the end
                    self._send(FAILED, number, f"{type(error).__name__}".encode())
            self._dropped.discard(number)
            self._send(END, number, b"")

    def _say(self, number: int, text: str) -> None:
        for sound in self._speaker.say(text, lambda: self._is_dropped(number)):
            for start in range(0, len(sound), _CHUNK_BYTES):
                if self._is_dropped(number):
                    return
                self._send(SOUND, number, sound[start : start + _CHUNK_BYTES])

    def _read(self) -> None:
        for line in self._lines:
            fields = json.loads(line)
            if "drop" in fields:
                self._dropped.add(int(fields["drop"]))
            else:
                self._texts.put((int(fields["id"]), str(fields["text"])))
        self._is_over = True  # nobody listens anymore
        self._texts.put(None)

    def _is_dropped(self, number: int) -> bool:
        return self._is_over or number in self._dropped

    def _send(self, kind: int, number: int, data: bytes) -> None:
        send(self._out, kind, number, data)


def send(out: BinaryIO, kind: int, number: int, data: bytes) -> None:
    """Write one frame."""
    out.write(FRAME.pack(kind, number, len(data)) + data)
    out.flush()


def main(arguments: list[str]) -> int:
    """Run as a child; the arguments are engine and model or language."""
    if sys.platform == "linux":  # ends with the agent, whatever kills that
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the agent decides
    lines, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not come between the frames
    engine, name = arguments
    try:
        speaker: Speaker = Piper(name) if engine == "piper" else Espeak(name)
    except Exception as error:  # noqa: BLE001 - foreign code: the agent tells the person
        send(out, FAILED, 0, f"{type(error).__name__}: {error}".encode())
        return 1
    try:
        SpeechInput(speaker, lines, out).run()
    except BrokenPipeError:
        return 1
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    os._exit(code)  # without waiting for the threads of libraries
