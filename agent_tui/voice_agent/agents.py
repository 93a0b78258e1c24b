"""The agents of a voice session: the guide, the other voice to which it hands over, and the question for
consent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import replace
from typing import Any, Final

from livekit import rtc
from livekit.agents import (
    NOT_GIVEN,
    Agent,
    AgentSession,
    AgentTask,
    ModelSettings,
    NotGivenOr,
    RunContext,
    StopResponse,
    UserInputTranscribedEvent,
    function_tool,
    llm,
    stt,
    tts,
)

from agent_tui.voice_agent import sentences
from agent_tui.voice_agent.conversation_llm import MAY_ACT
from agent_tui.voice_agent.talk import VoiceTalk
from agent_tui.voice_agent.wishes import agrees
from agent_tui.voice_instructions import INSTRUCTIONS, Language

AGENT_ID: Final = "agent-tui"  # of all of them: a person talks with one agent, and is told of no other


class GuideAgent(Agent):
    """Greets once, marks the speaker of each turn, and carries out wishes about the session itself."""

    def __init__(
        self,
        talk: VoiceTalk,
        chat_ctx: NotGivenOr[llm.ChatContext] = NOT_GIVEN,
        voice: NotGivenOr[tts.TTS[Any]] = NOT_GIVEN,
    ) -> None:
        super().__init__(instructions=INSTRUCTIONS[talk.language], id=AGENT_ID, chat_ctx=chat_ctx, tts=voice)
        self.talk = talk

    async def on_enter(self) -> None:
        if self.talk.greets and not self.talk.has_greeted:
            self.talk.has_greeted = True
            self.session.say(self.talk.greeting())

    async def on_exit(self) -> None:
        self.talk.turn.take()  # what began here is not part of the next turn

    async def stt_node(
        self, audio: AsyncIterable[rtc.AudioFrame], model_settings: ModelSettings
    ) -> AsyncGenerator[stt.SpeechEvent | str, None]:
        """Yield what is heard. Words that answer a call which asks begin no turn: they would interrupt it."""
        async for event in Agent.default.stt_node(self, audio, model_settings):
            words = _final_words(event)
            if words and self.talk.answers_ask(words):
                transcribed = UserInputTranscribedEvent(transcript=words, is_final=True)
                self.session.emit("user_input_transcribed", transcribed)  # so that it is shown
                self.talk.turn.take()
                nothing = stt.SpeechData(event.alternatives[0].language, "")
                yield stt.SpeechEvent(stt.SpeechEventType.INTERIM_TRANSCRIPT, alternatives=[nothing])
                yield replace(event, alternatives=[nothing])
            else:
                yield event

    async def tts_node(
        self, text: AsyncIterable[str], model_settings: ModelSettings
    ) -> AsyncGenerator[rtc.AudioFrame, None]:
        """Yield the voice once somebody in the room can hear it. The framework waits for that, too, but what
        interrupts its waiting ends it for good: it would never be heard again.
        """
        async for frame in Agent.default.tts_node(self, text, model_settings):
            if (heard := _heard(self.session)) is not None:
                await asyncio.shield(heard)
            yield frame

    async def on_user_turn_completed(self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage) -> None:
        new_message.extra[MAY_ACT] = self.talk.turn.take()
        if not (new_message.text_content or "").strip():
            raise StopResponse  # push to talk without a word: else the last question is answered again

    @function_tool
    async def start_recording(self, context: RunContext[VoiceTalk]) -> str:
        """Record this conversation as a sound file, after the person has agreed."""
        language = self.talk.language
        if not self.talk.is_owners():
            return sentences.OWNER_RECORDS[language]
        if self.talk.recorder:
            return sentences.RECORDS_ALREADY[language]
        if not await Consent(self.chat_ctx, language):
            return sentences.RECORDS_NOTHING[language]
        path = await self.talk.start_recording(self.session)
        return (sentences.RECORDS_NOW if path else sentences.NO_SOUND)[language]

    @function_tool
    async def stop_recording(self, context: RunContext[VoiceTalk]) -> str:
        """Stop the recording."""
        path = await self.talk.stop_recording()
        if path is None:
            return sentences.NOT_RECORDING[self.talk.language]
        return sentences.RECORDED[self.talk.language].format(name=path.name)

    @function_tool
    async def other_voice(self, context: RunContext[VoiceTalk]) -> Agent | str:
        """Hand over to the other voice."""
        if self.talk.other_voice is None:
            return sentences.ONE_VOICE[self.talk.language]
        return OtherVoice(self.talk, self.chat_ctx, self.talk.other_voice)


def _heard(session: AgentSession[VoiceTalk]) -> asyncio.Future[None] | None:
    """Return what is done when somebody has our track; ``None`` where there is no room, or no sound."""
    try:
        return session.room_io.subscribed_fut
    except RuntimeError:
        return None


def _final_words(event: stt.SpeechEvent) -> str:
    is_final = event.type == stt.SpeechEventType.FINAL_TRANSCRIPT and event.alternatives
    return event.alternatives[0].text if is_final else ""


class OtherVoice(GuideAgent):
    """The same with the second voice; asked again, it hands back."""

    async def on_enter(self) -> None:
        self.session.say(sentences.OTHER_VOICE[self.talk.language])

    @function_tool
    async def other_voice(self, context: RunContext[VoiceTalk]) -> Agent | str:  # type: ignore[override]
        """Hand back to the first voice."""
        return GuideAgent(self.talk, self.chat_ctx)


class Consent(AgentTask[bool]):
    """Asks until there is a yes or a no."""

    def __init__(self, chat_ctx: llm.ChatContext, language: Language) -> None:
        super().__init__(instructions="Ask whether the person agrees to being recorded.", chat_ctx=chat_ctx)
        self._language = language

    @property
    def id(self) -> str:
        return AGENT_ID

    async def on_enter(self) -> None:
        self.session.say(sentences.MAY_I_RECORD[self._language])

    async def llm_node(
        self, chat_ctx: llm.ChatContext, tools: list[llm.Tool], model_settings: ModelSettings
    ) -> AsyncGenerator[str, None]:
        """Answer without a model: consent must not be guessed."""
        messages = [item for item in chat_ctx.items if isinstance(item, llm.ChatMessage)]
        answer = next((message.text_content for message in reversed(messages) if message.role == "user"), "")
        agreed = agrees(answer or "")
        if agreed is None:
            yield sentences.YES_OR_NO[self._language]
        else:
            self.complete(agreed)
