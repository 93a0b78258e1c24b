"""What the agents of one session share: the current speaker, the recording, the greeting."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livekit.agents import AgentSession, tts
from livekit.agents.voice.recorder_io import RecorderIO

from agent_tui.voice_agent.languages import LanguageNotice
from agent_tui.voice_agent.people import TurnOfWords
from agent_tui.voice_instructions import GREETING, GREETING_TYPED, HELLO, Language
from agent_tui.voice_parts import voice_folder


@dataclass(slots=True)
class VoiceTalk:
    """``is_owners``: whether the current speaker is an owner. ``answers_ask`` takes words that may answer a
    call which asks, and returns whether they do: then they are not a question.
    """

    room: str
    is_owners: Callable[[], bool]
    answers_ask: Callable[[str], bool]
    language: Language = "en"  # of the model's instructions
    greets: bool = True
    can_hear: bool = True
    other_voice: tts.TTS[Any] | None = None
    notices: tuple[LanguageNotice, ...] = ()
    turn: TurnOfWords = field(default_factory=TurnOfWords)
    recorder: RecorderIO | None = None
    has_greeted: bool = False

    def greeting(self) -> str:
        """Return the first words: what a person can say, and what does not work here."""
        words = [HELLO[self.language]]
        words += [
            notice.spoken or f"{notice.title[:1].upper()}{notice.title[1:]}. {notice.detail}."
            for notice in self.notices
        ]
        words.append((GREETING if self.can_hear else GREETING_TYPED)[self.language])
        return ("" if self.language == "zh" else " ").join(words)

    async def start_recording(self, session: AgentSession[VoiceTalk]) -> Path | None:
        """Record what is heard and said from now on; return the file, ``None`` if there is no sound."""
        audio_input, audio_output = session.input.audio, session.output.audio
        if audio_input is None or audio_output is None:
            return None
        name = "".join(sign if sign.isalnum() else "-" for sign in self.room or "console")[:60]
        stamp = time.strftime("%Y%m%d-%H%M%S")
        path = voice_folder() / "recordings" / f"{name}-{stamp}.ogg"
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        self.recorder = RecorderIO(agent_session=session)
        session.input.audio = self.recorder.record_input(audio_input)
        session.output.audio = self.recorder.record_output(audio_output)
        await self.recorder.start(output_path=path)
        return path

    async def stop_recording(self) -> Path | None:
        """Close the file and return it, ``None`` if nothing is being recorded."""
        if self.recorder is None:
            return None
        path = self.recorder.output_path
        recorder, self.recorder = self.recorder, None
        await recorder.aclose()
        return path
