"""A session's sound over devices that come and go."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from agent_tui.audio.device_sound import DeviceSound
from agent_tui.audio.devices import NO_LIBRARY, Device
from agent_tui.audio.echo import NO_PROCESSING
from agent_tui.audio.resampling import SampleFormat
from agent_tui.audio.rings import CONSOLE_LIMITS
from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SECONDS, SILENT_DBFS
from tests.audio.sounds import pitch, samples, tone
from tests.fakes.voice.sound_library import FakeLibrary

# With make voice: what is tested takes its time as it is.
pytestmark = pytest.mark.voice

MICROPHONE = Device("Desk Microphone", "ALSA", inputs=1, is_default_input=True)
SPEAKER = Device("Screen", "ALSA", outputs=2, is_default_output=True)
HEADSET = Device("Headset", "ALSA", inputs=1, outputs=1)
SILENCE = bytes(BLOCK_BYTES)


@asynccontextmanager
async def opened(
    library: FakeLibrary, input_name: str = "", output_name: str = ""
) -> AsyncIterator[DeviceSound]:
    """Run a session's sound over ``library``."""
    sound = DeviceSound(
        input_name=input_name,
        output_name=output_name,
        limits=CONSOLE_LIMITS,
        processing=NO_PROCESSING,
        library=library,
        lister=library.list_devices,
    )
    await sound.open()
    try:
        yield sound
    finally:
        await sound.aclose()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until ``condition`` holds; the test's time limit ends it otherwise."""
    while not condition():  # noqa: ASYNC110  # threads and children change it
        await asyncio.sleep(0.01)


async def test_the_default_devices_run_and_are_named() -> None:
    library = FakeLibrary(HEADSET, MICROPHONE, SPEAKER)
    async with opened(library) as sound:
        assert sound.status.input_name == "Desk Microphone"
        assert sound.status.output_name == "Screen"
        assert sound.status.input_problem == sound.status.output_problem == ""
    assert not library.running


async def test_what_the_microphone_hears_comes_bit_by_bit_when_nothing_is_done_to_it() -> None:
    library = FakeLibrary(MICROPHONE, SPEAKER)
    spoken = tone(0.05)
    async with opened(library) as sound, aclosing(sound.captured()) as captured:
        for start in range(0, len(spoken), BLOCK_BYTES):
            library.stream_of("Desk Microphone").hear(spoken[start : start + BLOCK_BYTES])
        assert b"".join([await anext(captured) for _ in range(5)]) == spoken
        assert sound.input_level.peak == pytest.approx(-10.3, abs=0.1)


async def test_what_is_queued_is_played_held_and_dropped() -> None:
    library = FakeLibrary(MICROPHONE, SPEAKER)
    async with opened(library) as sound:
        speaker = library.stream_of("Screen")
        sound.play(tone(1))
        assert speaker.ask(BLOCK_BYTES) == tone(1)[:BLOCK_BYTES]
        assert sound.output_level.peak > SILENT_DBFS
        assert sound.queued_seconds == pytest.approx(0.99 + speaker.latency_seconds, abs=0.01)
        sound.hold()
        assert speaker.ask(BLOCK_BYTES) == SILENCE
        assert sound.drop() == pytest.approx(0.99)
        sound.resume()
        assert speaker.ask(BLOCK_BYTES) == SILENCE


async def test_a_device_with_its_own_rate_and_two_channels_hears_and_plays_the_same_tone() -> None:
    form = SampleFormat(44_100, 2)
    microphone = Device("Desk Microphone", "ALSA", inputs=2, rate=44_100, is_default_input=True)
    speaker = Device("Screen", "ALSA", outputs=2, rate=44_100, is_default_output=True)
    library = FakeLibrary(microphone, speaker, forms=[form])
    async with opened(library) as sound, aclosing(sound.captured()) as captured:
        hears, plays = library.stream_of("Desk Microphone"), library.stream_of("Screen")
        assert hears.form == plays.form == form
        spoken = samples(tone(1, rate=44_100)).astype("<i2").repeat(2).tobytes()
        heard = b""
        for start in range(0, 50 * 1764, 1764):
            hears.hear(spoken[start : start + 1764])
            if start > 10 * 1764:
                heard += await anext(captured)
        assert pitch(heard) == pytest.approx(440, abs=4)
        sound.play(tone(1))
        played = b"".join(plays.ask(1764) for _ in range(80))
        left, right = samples(played).reshape(-1, 2).T
        assert (left == right).all()
        assert pitch(left.astype("<i2").tobytes(), 44_100) == pytest.approx(440, abs=3)


async def test_without_any_device_the_session_goes_on_and_says_why() -> None:
    library = FakeLibrary()
    async with opened(library) as sound, aclosing(sound.captured()) as captured:
        assert sound.status.input_name == sound.status.output_name == ""
        assert sound.status.input_problem.startswith("There is no microphone: ")
        assert sound.status.output_problem.startswith("There is no speaker: ")
        assert "\n" not in sound.status.input_problem
        assert await anext(captured) == SILENCE
        sound.play(tone(0.3))
        assert sound.queued_seconds == pytest.approx(0.3)
        await until(lambda: sound.queued_seconds == 0)  # nobody hears it, and it goes by


async def test_without_portaudio_the_package_is_named() -> None:
    async with opened(FakeLibrary(problem=NO_LIBRARY)) as sound:
        assert sound.status.input_problem.startswith("PortAudio is not installed: install ")


async def test_a_device_that_is_pulled_out_is_said_and_comes_back_by_itself() -> None:
    library = FakeLibrary(MICROPHONE, SPEAKER)
    async with opened(library, output_name="Screen, ALSA") as sound:
        library.plugged.remove(SPEAKER)
        library.stream_of("Screen").pull_out()
        await until(lambda: '"Screen" is gone' in sound.status.output_problem)
        assert not sound.status.output_name
        assert sound.status.input_name == "Desk Microphone"
        library.plugged.append(SPEAKER)
        await until(lambda: sound.status.output_name == "Screen")
        assert not sound.status.output_problem


async def test_a_device_that_is_plugged_in_later_is_found() -> None:
    library = FakeLibrary(SPEAKER)
    async with opened(library) as sound:
        assert not sound.status.input_name
        library.plugged.append(MICROPHONE)
        await until(lambda: sound.status.input_name == "Desk Microphone")
        assert sound.status.output_name == "Screen"  # PortAudio had to begin anew below it
        assert library.begun == 2


async def test_a_microphone_that_comes_back_is_heard_by_a_reader_that_never_catches_up() -> None:
    library = FakeLibrary()
    spoken = b"\5\0" * 480

    async def taken() -> bytes:
        """Take a block as slowly as a room whose queue is full."""
        block = await anext(captured)
        done = time.monotonic() + 2 * BLOCK_SECONDS
        await until(lambda: time.monotonic() >= done)
        return block

    async with opened(library) as sound, aclosing(sound.captured()) as captured:
        assert await taken() == SILENCE
        library.plugged.append(MICROPHONE)
        while not sound.status.input_name:
            assert await taken() == SILENCE
        library.stream_of("Desk Microphone").hear(spoken)
        assert spoken in [await taken() for _ in range(2)]


async def test_a_busy_device_is_tried_again() -> None:
    library = FakeLibrary(MICROPHONE, SPEAKER)
    library.busy.add("Desk Microphone")
    async with opened(library) as sound:
        assert (
            sound.status.input_problem
            == '"Desk Microphone" cannot be heard with: it is used by another program'
        )
        library.busy.clear()
        await until(lambda: sound.status.input_name == "Desk Microphone")


async def test_a_remembered_device_that_is_missing_is_replaced_and_said() -> None:
    library = FakeLibrary(MICROPHONE, SPEAKER)
    async with opened(library, input_name="Headset, ALSA") as sound:
        assert sound.status.input_name == "Desk Microphone"
        assert (
            sound.status.input_problem
            == '"Headset, ALSA" is not there; "Desk Microphone" is used until it is'
        )


async def test_devices_are_changed_while_sound_runs() -> None:
    library = FakeLibrary(MICROPHONE, SPEAKER, HEADSET)
    async with opened(library) as sound, aclosing(sound.captured()) as captured:
        sound.play(tone(1))
        await sound.choose("input", HEADSET.key)
        await sound.choose("output", HEADSET.key)
        assert (sound.status.input_name, sound.status.output_name) == ("Headset", "Headset")
        assert len(library.running) == 2
        hears, plays = library.running
        hears.hear(b"\5\0" * 480)
        assert await anext(captured) == b"\5\0" * 480
        assert plays.ask(BLOCK_BYTES) == tone(1)[:BLOCK_BYTES]
        await sound.choose("output", "")
        assert (sound.status.input_name, sound.status.output_name) == ("Headset", "Screen")


async def test_a_device_that_was_plugged_in_since_can_be_chosen() -> None:
    library = FakeLibrary(MICROPHONE, SPEAKER)
    async with opened(library) as sound:
        library.plugged.append(HEADSET)
        await sound.choose("input", "Headset")
        assert sound.status.input_name == "Headset"
        assert sound.status.output_name == "Screen"


async def test_a_silent_microphone_is_said_after_two_seconds() -> None:
    library = FakeLibrary(MICROPHONE, SPEAKER)
    async with opened(library) as sound:
        microphone = library.stream_of("Desk Microphone")
        microphone.hear(SILENCE)
        assert sound.status.has_signal

        def is_told() -> bool:
            microphone.hear(SILENCE)
            return not sound.status.has_signal

        await until(is_told)


async def test_the_echo_canceller_is_off_with_headphones() -> None:
    async with opened(FakeLibrary(MICROPHONE, SPEAKER)) as sound:
        assert not sound.status.uses_headphones
        sound.use_headphones(True)
        assert sound.status.uses_headphones


async def test_a_speaker_that_is_served_too_late_keeps_more_sound_from_then_on() -> None:
    library = FakeLibrary(MICROPHONE, SPEAKER)
    async with opened(library) as sound:
        speaker = library.stream_of("Screen")
        sound.play(tone(1))
        speaker.glitches = 5
        await until(lambda: speaker.is_closed and bool(sound.status.output_name))
        longer = library.stream_of("Screen")
        assert longer.latency_seconds == 2 * speaker.latency_seconds
        assert longer.ask(BLOCK_BYTES) == tone(1)[:BLOCK_BYTES]
        assert sound.status.underruns == 5
        longer.glitches = 9
        library.stream_of("Desk Microphone").pull_out()
        await until(lambda: not sound.status.input_name)
        await until(lambda: bool(sound.status.input_name))
        assert not longer.is_closed  # once is enough
