"""A WAV file as the microphone."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

from agent_tui.audio.clocked import ClockedSound
from agent_tui.audio.recording import Recording
from agent_tui.audio.resampling import Resampler
from agent_tui.audio.rings import CONSOLE_LIMITS, RingLimits
from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SECONDS, SAMPLE_RATE, SoundStatus
from agent_tui.model.errors import ConfigError

MAX_BYTES: Final = 1 << 28  # 45 minutes at 48 kHz
BEFORE_SECONDS: Final = 0.5  # of silence, from which voice detection learns the room
PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE  # wFormatTag (Microsoft's mmreg.h)
RATES: Final = range(1_000, 768_001)
CHANNELS: Final = range(1, 65)
SCALE: Final = 32_767


def wav_sound(
    path: Path | None,
    *,
    speech: bytes | None = None,
    record: Path | None = None,
    before_seconds: float = BEFORE_SECONDS,
    limits: RingLimits = CONSOLE_LIMITS,
    is_held: bool = False,
) -> ClockedSound:
    """Return a session's sound that hears a WAV file ("-" is stdin) and plays into another one, or nowhere.
    ``speech`` is what ``read_wav`` returned if the file has been read.

    Before the file there is silence for ``before_seconds``, after it forever; ``is_over`` says that it
    ended. With ``is_held`` all of it waits for ``begin``. Raises ``ConfigError`` for a file that cannot be
    read or written.
    """
    if speech is None:
        speech = read_wav(path) if path is not None else b""
    recording = Recording(record) if record is not None else None
    status = SoundStatus(
        input_name="" if path is None else "stdin" if str(path) == "-" else path.name,
        input_problem="" if path is not None else "there is no microphone",
        output_name=record.name if record is not None else "",
        output_problem="" if record is not None else "nothing is played aloud",
    )
    microphone = chain(silence(before_seconds), blocks(speech)) if path is not None else None
    return ClockedSound(status, microphone, recording, limits, is_held=is_held)


def silence(seconds: float) -> Iterator[bytes]:
    """Yield blocks of silence."""
    return repeat(bytes(BLOCK_BYTES), round(seconds / BLOCK_SECONDS))


def blocks(sound: bytes) -> Iterator[bytes]:
    """Yield ``sound`` in blocks of ``BLOCK_BYTES``, the last one padded with silence."""
    for start in range(0, len(sound), BLOCK_BYTES):
        yield sound[start : start + BLOCK_BYTES].ljust(BLOCK_BYTES, b"\0")


def read_wav(path: Path) -> bytes:
    """Return the sound of a WAV file as 48 kHz mono 16 bit samples. Several channels are mixed.

    Raises ``ConfigError`` if it cannot be read, or has another encoding than PCM or float.
    """
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with path.open("rb") as file:
                data = _read(file)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read", error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path} is too large", "At most 256 MB are read.")
    try:
        return _sound(data)
    except (ValueError, struct.error) as error:
        raise ConfigError(f"{path} is not a WAV file that can be read", str(error)) from error


def _read(file: BinaryIO) -> bytes:
    return file.read(MAX_BYTES + 1)


def _sound(data: bytes) -> bytes:
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError("It does not begin as one (RIFF … WAVE).")
    form: bytes | None = None
    place = 12
    while place + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, place)
        # A writer to a pipe does not know the length: it writes 0 or the largest number.
        body = data[place + 8 : place + 8 + size] if size or name != b"data" else data[place + 8 :]
        if name == b"fmt ":
            form = body
        elif name == b"data" and form is not None and body:
            return _converted(form, body)
        place += 8 + size + size % 2
    raise ValueError("There is no sound in it.")


def _converted(form: bytes, body: bytes) -> bytes:
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", form)
    if kind == EXTENSIBLE and len(form) >= 26:  # the real one is in the first bytes of SubFormat
        (kind,) = struct.unpack_from("<H", form, 24)
    if rate not in RATES or channels not in CHANNELS:
        raise ValueError(f"{channels} channels at {rate} Hz make no sense.")
    resampler = Resampler(rate, SAMPLE_RATE)
    second = rate * channels * max(1, bits // 8)
    parts = [
        resampler.push(_mono(_samples(kind, bits, body[start : start + second]), channels))
        for start in range(0, len(body), second)
    ]
    return b"".join([*parts, resampler.flush()])


def _mono(samples: npt.NDArray[np.float64], channels: int) -> bytes:
    whole = samples[: samples.size // channels * channels].reshape(-1, channels).mean(axis=1)
    mono: bytes = np.clip(np.rint(whole * SCALE), -SCALE - 1, SCALE).astype(np.int16).tobytes()
    return mono


def _samples(kind: int, bits: int, body: bytes) -> npt.NDArray[np.float64]:
    width = bits // 8
    body = body[: len(body) // max(1, width) * width]
    if kind == FLOAT and bits in (32, 64):
        return np.nan_to_num(np.frombuffer(body, f"<f{width}").astype(np.float64), posinf=1, neginf=-1)
    if kind == PCM and bits == 8:
        return (np.frombuffer(body, np.uint8).astype(np.float64) - 128) / 127
    if kind == PCM and bits == 16:
        return np.frombuffer(body, "<i2").astype(np.float64) / SCALE
    if kind == PCM and bits == 24:
        wide = np.zeros((len(body) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(body, np.uint8).reshape(-1, 3)
        return wide.view("<i4").reshape(-1).astype(np.float64) / (2**31 - 1)
    if kind == PCM and bits == 32:
        return np.frombuffer(body, "<i4").astype(np.float64) / (2**31 - 1)
    raise ValueError(
        f"Its encoding ({kind}, {bits} bit) is not one of PCM 8, 16, 24, 32 bit and float 32, 64 bit."
    )
