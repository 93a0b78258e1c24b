"""A person's own agent over LiveKit's console transport, also one that has no voice or no ear.

``python -m agent_tui.voice_agent.script FILE --connect-addr HOST:PORT`` does what ``python -m livekit.agents
console`` does and two things more. It sends the words of an answer while they are spoken. And livekit-agents
1.8 loses every word of an agent without a voice, because it asks it for sound wherever sound could be played:
here it is not asked, so its words arrive as text.
"""

from __future__ import annotations

import sys
import time
from asyncio import AbstractEventLoop
from typing import Any

from livekit.agents import Agent, AgentSession, ErrorEvent, NotGivenOr, llm, tts, utils
from livekit.agents.__main__ import main
from livekit.agents.cli.cli import AgentsConsole

from agent_tui.voice_agent.speaking.spoken_words import send_words

NO_VOICE = "This agent has no voice: its answers are text."
NO_EAR = "This agent hears nothing: type to it."


class Lack(tts.TTSError):
    """Something an agent cannot do, as an error that its script can see; the session continues."""

    def __init__(self, words: str) -> None:
        super().__init__(timestamp=time.time(), label="agent", error=RuntimeError(words), recoverable=True)

    def __str__(self) -> str:
        return str(self.error)


class Abilities:
    """Keeps the sound of a session switched off as long as its current agent has no voice."""

    def __init__(self, session: AgentSession[Any]) -> None:
        self._session = session
        self._is_silenced = False
        self._lacks: list[str] = []  # not reported yet

    def look(self, agent: Agent) -> None:
        """Switch the sound off, or on again for an agent that took over; a script's own choice stays."""
        output, speaks = self._session.output, can_speak(self._session, agent)
        if not speaks and output.audio_enabled:
            self._is_silenced = True
            output.set_audio_enabled(False)
            self._lacks.append(NO_VOICE)
        elif speaks and self._is_silenced:
            self._is_silenced = False
            output.set_audio_enabled(True)

    def look_at_ear(self, agent: Agent) -> None:
        """Note that an agent hears nothing."""
        if not can_hear(self._session, agent):
            self._lacks.append(NO_EAR)

    def tell(self) -> None:
        """Report to the terminal what was noted."""
        lacks, self._lacks = self._lacks, []
        for words in lacks:
            self._session.emit("error", ErrorEvent(error=Lack(words), source=self._session))


def can_speak(session: AgentSession[Any], agent: Agent) -> bool:
    """Return whether ``agent`` makes sound: by a voice, its own ``tts_node``, or a model that speaks."""
    model = _own(agent.llm, session.llm)
    speaks = isinstance(model, llm.RealtimeModel) and model.capabilities.audio_output
    return speaks or _own(agent.tts, session.tts) is not None or type(agent).tts_node is not Agent.tts_node


def can_hear(session: AgentSession[Any], agent: Agent) -> bool:
    """Return whether ``agent`` understands sound: by an STT, its own ``stt_node``, or a model that hears."""
    is_realtime = isinstance(_own(agent.llm, session.llm), llm.RealtimeModel)
    return (
        is_realtime or _own(agent.stt, session.stt) is not None or type(agent).stt_node is not Agent.stt_node
    )


def _own(agents: NotGivenOr[Any], sessions: Any) -> Any:
    return agents if utils.is_given(agents) else sessions


def look_at_sessions() -> None:
    """Have every session that is started from now on checked."""
    start = AgentSession.start

    async def started(self: AgentSession[Any], agent: Agent, **options: Any) -> Any:
        abilities = Abilities(self)
        abilities.look(agent)
        abilities.look_at_ear(agent)

        def speech_created(_: object) -> None:
            abilities.look(self.current_agent)
            abilities.tell()

        self.on("speech_created", speech_created)
        result = await start(self, agent, **options)
        abilities.tell()
        return result

    AgentSession.start = started  # type: ignore[method-assign,assignment]


def send_spoken_words() -> None:
    """Have the session that gets the console's sound send its words, too."""
    acquire = AgentsConsole.acquire_io

    def acquired(self: AgentsConsole, *, loop: AbstractEventLoop, session: AgentSession[Any]) -> None:
        acquire(self, loop=loop, session=session)
        if self._tcp_audio_output is not None:  # livekit-agents has no public way to it
            send_words(session, self._tcp_audio_output)

    AgentsConsole.acquire_io = acquired  # type: ignore[method-assign]


if __name__ == "__main__":
    look_at_sessions()
    send_spoken_words()
    file, *rest = sys.argv[1:]
    sys.exit(main(["console", file, *rest]))
