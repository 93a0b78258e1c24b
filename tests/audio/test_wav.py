"""WAV files of every kind as the microphone."""

from __future__ import annotations

import asyncio
import io
import struct
import sys
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest

from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SECONDS
from agent_tui.audio.wav import read_wav, wav_sound
from agent_tui.model.errors import ConfigError
from tests.audio.sounds import pitch, samples, tone

SECONDS = 0.5


def wav(kind: int, bits: int, rate: int, channels: int, body: bytes, size: int | None = None) -> bytes:
    """Return the bytes of a WAV file, with a chunk nobody knows in the middle."""
    width = bits // 8 * channels
    form = struct.pack("<HHIIHH", kind, channels, rate, rate * width, width, bits)
    chunks = [
        (b"fmt ", form, len(form)),
        (b"LIST", b"abc\0", 3),
        (b"data", body, len(body) if size is None else size),
    ]
    inside = b"WAVE" + b"".join(name + struct.pack("<I", size) + data for name, data, size in chunks)
    return b"RIFF" + struct.pack("<I", len(inside)) + inside


def encoded(kind: int, bits: int, rate: int, channels: int) -> bytes:
    """Return a WAV file with half a second of a tone of 440 Hz, 10 000 high at 16 bit, on every channel."""
    wanted = samples(tone(SECONDS, rate=rate)) / 32_768
    all_channels = np.repeat(wanted, channels)
    if kind == 3:
        body = all_channels.astype(f"<f{bits // 8}").tobytes()
    elif bits == 8:
        body = (all_channels * 127 + 128).astype(np.uint8).tobytes()
    elif bits == 24:
        body = (all_channels * 2**31).astype("<i4").view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()
    else:
        body = (all_channels * 2 ** (bits - 1)).astype(f"<i{bits // 8}").tobytes()
    return wav(kind, bits, rate, channels, body)


@pytest.mark.parametrize("channels", [1, 2, 6])
@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000, 96_000])
@pytest.mark.parametrize(("kind", "bits"), [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)])
def test_every_rate_width_and_number_of_channels_is_heard(
    kind: int, bits: int, rate: int, channels: int, tmp_path: Path
) -> None:
    path = tmp_path / "tone.wav"
    path.write_bytes(encoded(kind, bits, rate, channels))
    sound = read_wav(path)
    assert len(sound) / 96_000 == pytest.approx(SECONDS, abs=0.002)
    assert pitch(sound) == pytest.approx(440, abs=3)
    middle = samples(sound)[4_800:-4_800]
    assert np.sqrt((middle**2).mean()) == pytest.approx(10_000 / 2**0.5, rel=0.03)


def test_sixteen_bit_at_our_rate_passes_bit_by_bit(tmp_path: Path) -> None:
    path = tmp_path / "same.wav"
    sound = np.arange(-32_768, 32_768, dtype=np.int16).tobytes()
    path.write_bytes(wav(1, 16, 48_000, 1, sound))
    assert read_wav(path) == sound


def test_the_extensible_kind_is_read_by_its_subformat(tmp_path: Path) -> None:
    path = tmp_path / "extensible.wav"
    sound = tone(SECONDS)
    form = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 48_000, 96_000, 2, 16, 22, 16, 4) + b"\1" + bytes(15)
    inside = (
        b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(sound)) + sound
    )
    path.write_bytes(b"RIFF" + struct.pack("<I", len(inside)) + inside)
    assert read_wav(path) == sound


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_a_stream_that_did_not_know_its_length_is_read_from_stdin(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = tone(SECONDS)
    stdin = io.TextIOWrapper(io.BytesIO(wav(1, 16, 48_000, 1, sound, size)))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert read_wav(Path("-")) == sound


def test_a_file_that_was_cut_gives_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "cut.wav"
    path.write_bytes(encoded(1, 24, 44_100, 2)[:-1_001])
    assert 0.4 < len(read_wav(path)) / 96_000 < 0.5


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "RIFF"),
        (b"ID3 this is an mp3", "RIFF"),
        (wav(1, 16, 48_000, 1, b"")[:20], "no sound"),
        (wav(1, 16, 48_000, 1, b""), "no sound"),
        (wav(85, 16, 48_000, 1, b"mp3 in a wav"), "encoding"),
        (wav(1, 16, 0, 1, b"\0\0"), "0 Hz"),
        (wav(1, 16, 48_000, 0, b"\0\0"), "0 channels"),
        (wav(1, 7, 48_000, 1, b"\0\0"), "7 bit"),
    ],
)
def test_what_is_no_sound_is_said_in_one_line(data: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.wav"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_wav(path)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_wav(tmp_path / "none.wav")


async def test_the_file_is_heard_in_real_time_after_silence_and_before_silence(tmp_path: Path) -> None:
    path = tmp_path / "question.wav"
    path.write_bytes(wav(1, 16, 48_000, 1, b"\1\0" * 480 * 20))
    sound = wav_sound(path, before_seconds=0.1)
    await sound.open()
    heard = []
    async with aclosing(sound.captured()) as captured:
        async for block in captured:
            heard.append(block)
            if sound.is_over:
                break
    await sound.aclose()
    assert sound.status.input_name == "question.wav"
    assert heard[:10] == [bytes(BLOCK_BYTES)] * 10
    assert heard[10:30] == [b"\1\0" * 480] * 20
    assert all(block == bytes(BLOCK_BYTES) for block in heard[30:])


async def test_a_held_file_waits_until_it_may_begin(tmp_path: Path) -> None:
    path = tmp_path / "question.wav"
    path.write_bytes(wav(1, 16, 48_000, 1, b"\1\0" * 480))
    sound = wav_sound(path, before_seconds=0, is_held=True)
    await sound.open()
    async with aclosing(sound.captured()) as captured:
        first = asyncio.ensure_future(anext(captured))
        sound.play(tone(0.1))
        while sound.queued_seconds:  # noqa: ASYNC110  # the clock goes on
            await asyncio.sleep(BLOCK_SECONDS)
        assert not first.done()
        sound.begin()
        assert await first == b"\1\0" * 480
    await sound.aclose()


async def test_what_is_played_is_in_the_recording(tmp_path: Path) -> None:
    record = tmp_path / "answer.wav"
    sound = wav_sound(None, record=record)
    await sound.open()
    answer = tone(0.3)
    sound.play(answer)
    assert sound.queued_seconds == pytest.approx(0.3, abs=0.02)
    async with aclosing(sound.captured()) as captured:
        async for _ in captured:
            if not sound.queued_seconds:
                break
    await sound.aclose()
    assert read_wav(record).startswith(answer)
    assert sound.status.output_name == "answer.wav"
