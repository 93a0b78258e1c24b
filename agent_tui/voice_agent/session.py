"""One AgentSession of ours: its parts, and its reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from livekit.agents import NOT_GIVEN, AgentSession, inference, llm
from livekit.agents.voice import events
from livekit.agents.voice.agent_session import SessionConnectOptions
from livekit.agents.voice.speech_handle import SpeechHandle

from agent_tui import voice_instructions
from agent_tui.config.voice import VoiceAgentConfig
from agent_tui.model.events import Attachment
from agent_tui.model.records import SpeechRecord
from agent_tui.voice_agent.agent_tasks_llm import AgentTasksLLM
from agent_tui.voice_agent.agents import GuideAgent
from agent_tui.voice_agent.assignment import END_OF_TURN_SECONDS, Assignment
from agent_tui.voice_agent.conversation import Conversation, ToolEnded, ToolStarted, ToolTold
from agent_tui.voice_agent.conversation_llm import DENIED, MESSAGE, ConversationLLM
from agent_tui.voice_agent.parts import TASKS, Parts, choose_llm
from agent_tui.voice_agent.sentences import APOLOGY, KEY_WORDS, OUR_WORDS, OWNER_WORDS
from agent_tui.voice_agent.speaking.plugin import spoken_in
from agent_tui.voice_agent.talk import VoiceTalk
from agent_tui.yes_or_no import yes_or_no

AGENT_SERVICE = "agent service"
_ERRORS_BORNE = 10_000  # an agent that gives up after three failed answers would leave its room without one
_INTERRUPTION_SECONDS = 0.3  # of voice: shorter sounds are coughs
_FALSE_INTERRUPTION_SECONDS = 1.5
_SETTLE_SECONDS = 0.8  # in which the detector notices that a turn ended by a key is over
_SILENCE_SECONDS = 1.0  # after which an answer without words ends by itself
_TAIL_SECONDS = 0.15  # the last words are still on their way when the key is released


class Session:
    """The session, its agent and the conversation behind it. ``is_owners`` says whether the current speaker
    is an owner.
    """

    def __init__(self, assignment: Assignment, parts: Parts, is_owners: Callable[[], bool]) -> None:
        choice = assignment.agent
        self.parts = parts
        self.talk = VoiceTalk(
            assignment.room,
            is_owners,
            self._hears_answer,
            language=voice_instructions.language_of(assignment.locale),
            greets=assignment.greets,
            can_hear=parts.ear is not None,
            other_voice=parts.other_voice,
            notices=tuple(parts.notices),
        )
        self.conversation = Conversation(
            assignment.backend_url, assignment.backend_token, assignment.conversation_id
        )
        self._thinking = ConversationLLM(
            self.conversation, is_owners, self._on_step, self._end_silence, self.talk.language
        )
        self._heard: dict[str, llm.ChatMessage] = {}  # persons' messages that are not stored yet
        self._recording: set[asyncio.Task[None]] = set()
        self._pushed = 0  # push-to-talk turns so far
        self._has_apologised = False  # for the newest question
        self._locale = assignment.locale
        self._turn_detection = _turn_detection(choice.turn_detection)
        self._end_of_turn = choice.end_of_turn or END_OF_TURN_SECONDS
        self.is_manual = choice.turn_detection == "manual"
        if parts.whisper:
            parts.whisper.is_flushed = self.is_manual
        self.agent = GuideAgent(self.talk)
        self.livekit = self._make_session(choice)
        # The LLM that answers instead of the conversation, which then only stores words; "" for none.
        self._other_mind = "" if isinstance(self.livekit.llm, ConversationLLM) else _name_of(choice.llm)
        self._held: SpeechHandle | None = None  # an answer that the latest words do not interrupt
        self.livekit.on("user_input_transcribed", self._on_words)
        self.livekit.on("user_state_changed", self._on_person)
        self.livekit.on("conversation_item_added", self._on_item)
        self.livekit.on("error", self._on_error)

    def _make_session(self, choice: VoiceAgentConfig) -> AgentSession[VoiceTalk]:
        return AgentSession(
            userdata=self.talk,
            vad=self.parts.detector,
            stt=self.parts.ear or NOT_GIVEN,
            tts=self.parts.voice or NOT_GIVEN,
            llm=choose_llm(choice, self._locale, lambda: self._thinking),
            turn_handling={
                "turn_detection": self._turn_detection,
                "endpointing": {"min_delay": 0.0 if self.is_manual else self._end_of_turn},
                "interruption": {
                    "mode": "vad",
                    "min_duration": _INTERRUPTION_SECONDS,
                    "resume_false_interruption": True,
                    "false_interruption_timeout": _FALSE_INTERRUPTION_SECONDS,
                },
                # It would ask the conversation for half-finished turns.
                "preemptive_generation": {"enabled": False},
            },
            tts_text_transforms=[spoken_in(self.parts.language)],
            aec_warmup_duration=None,
            user_away_timeout=None,
            session_close_transcript_timeout=0.1,  # a person who leaves does not wait for words
            conn_options=SessionConnectOptions(max_unrecoverable_errors=_ERRORS_BORNE),
        )

    # --- files -----------------------------------------------------------------------------------------

    @property
    def takes_files(self) -> bool:
        """Whether files can be sent to what answers: not to a provider's plugin."""
        return isinstance(self.livekit.llm, AgentTasksLLM | ConversationLLM)

    def attach(self, file: Attachment) -> None:
        """Send ``file`` with the next question."""
        model = self.livekit.llm
        if isinstance(model, AgentTasksLLM):
            model.attach(file)
        else:
            self.conversation.attach(file)

    # --- push to talk ----------------------------------------------------------------------------------

    def start_turn(self) -> None:
        """Listen until ``end_turn``, however long the person is silent in between."""
        self._pushed += 1
        if self.conversation.is_asking:  # what is said may be the answer
            self._let_go()
        else:
            self.interrupt()
        self.livekit.clear_user_turn()
        self.talk.turn.take()
        if self.parts.whisper:
            self.parts.whisper.is_flushed = True
        # Releasing the key ends the turn: nothing more is waited for.
        self.livekit.update_options(turn_detection="manual", endpointing_opts={"min_delay": 0.0})
        self.livekit.input.set_audio_enabled(True)

    async def end_turn(self) -> None:
        """Answer what was said since ``start_turn``."""
        turn = self._pushed
        await asyncio.sleep(_TAIL_SECONDS)
        self.livekit.input.set_audio_enabled(False)
        try:
            await self.livekit.commit_user_turn(transcript_timeout=10.0, stt_flush_duration=1.0)
        finally:
            # The detector has not noticed the end of the speech: it would count the answer as interrupted.
            if turn == self._pushed and not self.is_manual:
                self.livekit.input.set_audio_enabled(True)
                await asyncio.sleep(_SETTLE_SECONDS)
            if turn == self._pushed:
                self._as_configured()

    def cancel_turn(self) -> None:
        """Discard what was said since ``start_turn``."""
        self._pushed += 1
        self.livekit.input.set_audio_enabled(False)
        self.livekit.clear_user_turn()
        self.talk.turn.take()
        self._as_configured()

    def _as_configured(self) -> None:
        """Listen as before: to the speaker, unless turns are always ended by hand."""
        if self.is_manual:
            return
        if self.parts.whisper:
            self.parts.whisper.is_flushed = False
        self.livekit.update_options(
            turn_detection=self._turn_detection, endpointing_opts={"min_delay": self._end_of_turn}
        )
        self.livekit.input.set_audio_enabled(True)

    def interrupt(self) -> None:
        """Interrupt the agent, if it is speaking."""
        try:
            self.livekit.interrupt(force=True)
        except RuntimeError:  # it is not running yet, or no longer
            return

    def _end_silence(self) -> None:
        """End an answer that says nothing: the framework has it wait until the person is silent, and the
        agent seems to think as long as there is any noise.
        """
        chats = self._thinking.chats

        def end() -> None:
            is_waiting = self.livekit.current_speech is not None and self.livekit.agent_state != "speaking"
            if is_waiting and chats == self._thinking.chats:
                self.interrupt()

        asyncio.get_running_loop().call_later(_SILENCE_SECONDS, end)

    # --- a yes or a no to a call that asks ---------------------------------------------------------------

    def answers_ask(self, words: str, *, by_owner: bool) -> bool:
        """Take words that only say yes or no while a call asks; return whether they do.

        An owner's no denies it. A yes lets nothing run: that needs a key, with everything that would be done
        on the screen.
        """
        agreed = yes_or_no(words) if self.conversation.is_asking else None
        if agreed is None:
            return False
        if not by_owner:
            self._thinking.say_beside(OWNER_WORDS[self.talk.language])
        elif agreed:
            self._thinking.say_beside(KEY_WORDS[self.talk.language])
        else:
            self._record(self.conversation.deny(DENIED))
        return True

    def _hears_answer(self, words: str) -> bool:
        """Like ``answers_ask``, for spoken words; they do not interrupt the answer."""
        if not self.answers_ask(words, by_owner=self.talk.is_owners()):
            return False
        speech = self.livekit.current_speech
        if speech is not None and not speech.interrupted:
            speech.allow_interruptions = False
            self._held = speech
        return True

    def _on_person(self, event: events.UserStateChangedEvent) -> None:
        if event.new_state != "speaking":
            self.talk.turn.is_quiet(event.created_at)
            return
        self.talk.turn.sounds(event.created_at)
        self._let_go()

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None and not held.interrupted:
            held.allow_interruptions = True

    # --- what is reported ------------------------------------------------------------------------------

    def _on_words(self, event: events.UserInputTranscribedEvent) -> None:
        if event.transcript:
            self.talk.turn.heard(by_owner=self.talk.is_owners())

    def _on_step(self, step: ToolStarted | ToolTold | ToolEnded) -> None:
        """Report a tool's step in the conversation to every client of the session."""
        update: Any
        match step:
            case ToolStarted(id, name, arguments):
                call = llm.FunctionCall(id=id, call_id=id, name=name, arguments=arguments)
                update = events.ToolCallStarted(function_call=call)
            case ToolTold(id, message):
                update = events.ToolCallUpdated(id=id, call_id=id, message=message)
            case ToolEnded(id, message, success):
                update = events.ToolCallEnded(
                    id=id, call_id=id, message=message, status="done" if success else "error"
                )
        self.livekit.emit("tool_execution_updated", events.ToolExecutionUpdatedEvent(update=update))

    def _on_item(self, event: events.ConversationItemAddedEvent) -> None:
        item = event.item
        if not isinstance(item, llm.ChatMessage):
            return
        if item.role == "user":
            self._has_apologised = False
            # The framework counts from the first sound since the last turn: it may have been a cough.
            if (started_at := item.metrics.get("started_speaking_at")) is not None:
                item.metrics["started_speaking_at"] = max(started_at, self.talk.turn.began_at)
            self._heard[item.id] = item
        elif message_id := item.extra.get(MESSAGE):  # else a greeting, or words of the session itself
            self._record_questions()
            self._record(
                self.conversation.record(message_id, _speech_record(item), interrupted=item.interrupted)
            )
        elif self._other_mind:
            self._record_questions()
            self._record_whole(item)

    def _record_questions(self) -> None:
        """Store how persons' messages were spoken, and the whole messages that the conversation did not
        get.
        """
        for heard in [*self._heard.values()]:
            if question_id := self.conversation.questions.get(heard.id):
                spoken = replace(_speech_record(heard), text="")
                self._record(self.conversation.record(question_id, spoken, interrupted=heard.interrupted))
            elif self._other_mind:
                self._record_whole(heard)
        self._heard.clear()

    def _record_whole(self, item: llm.ChatMessage) -> None:
        if text := (item.text_content or "").strip():
            speaker = "" if item.role == "user" else self._other_mind
            spoken = replace(_speech_record(item), text="")
            work = self.conversation.record_whole(
                item.id, item.role, text, spoken, speaker=speaker, interrupted=item.interrupted
            )
            self._record(work)

    def _record(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="session.record")
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    def _on_error(self, event: events.ErrorEvent) -> None:
        """Say that there is no answer, once for each question; silence would be the worst answer."""
        error = event.error
        if getattr(error, "type", "") != "llm_error" or getattr(error, "recoverable", True):
            return
        if not self._has_apologised:
            self._has_apologised = True
            apology = getattr(event.source, "apology", None)
            self.livekit.say(apology(error.error) if callable(apology) else APOLOGY[self.talk.language])

    async def aclose(self) -> None:
        """End the session; what was said is still sent to the backend."""
        await self.talk.stop_recording()
        await self.livekit.aclose()
        if self._other_mind:  # a question that will not be answered anymore
            self._record_questions()
        if self._recording:
            await asyncio.wait(self._recording, timeout=1.0)
        await self.conversation.aclose()


def _speech_record(item: llm.ChatMessage) -> SpeechRecord:
    """Return how a message was spoken; with its text only if the person cut in."""
    metrics = item.metrics
    text = item.text_content or "" if item.interrupted else ""
    return SpeechRecord(
        OUR_WORDS.sub("", text),
        metrics.get("started_speaking_at"),
        metrics.get("stopped_speaking_at"),
        hearing=metrics.get("transcription_delay"),
        end_of_turn=metrics.get("end_of_turn_delay"),
        model=metrics.get("llm_node_ttft"),
        voice=metrics.get("tts_node_ttfb"),
        whole=metrics.get("e2e_latency"),
    )


def _name_of(spec: str) -> str:
    """Return the name of the answering LLM for the record: no address, which may contain a password."""
    return AGENT_SERVICE if spec.partition(":")[0] == TASKS else spec


def _turn_detection(word: str) -> Any:
    """Return the framework's name, or its model, for a word of the config file."""
    if word == "detector":
        return inference.TurnDetector()
    return {"": "vad", "realtime": "realtime_llm"}.get(word, word)
