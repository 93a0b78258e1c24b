"""Messages of an agent's session ↔ our events: ``AgentSessionMessage`` of livekit-protocol.

A LiveKit room carries them as byte streams on the topic ``lk.agent.session``, one message each; the console
transport of livekit-agents carries them over TCP, after a length of four bytes. They are written by
livekit-agents 1.8, ``voice/remote_session.py``. Everything here is pure.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.model.errors import ProtocolError
from agent_tui.model.events import Step, StepSet, ToolStatusChanged, Unknown
from agent_tui.model.voice import (
    AgentStateChanged,
    AgentWord,
    FalseInterruption,
    HandedOver,
    HistoryLoaded,
    ItemStored,
    SessionFailed,
    SpokenItem,
    TurnTimes,
    UserStateChanged,
    UserWord,
    VoiceEvent,
    WordsHeard,
    WordsSpoken,
    WordsUnclear,
)
from agent_tui.redaction import HIDDEN, redacted

SESSION_TOPIC: Final = "lk.agent.session"
TRANSCRIPTION_TOPIC: Final = "lk.transcription"
CHAT_TOPIC: Final = "lk.chat"
PRE_CONNECT_TOPIC: Final = "lk.agent.pre-connect-audio-buffer"
FILE_TOPIC: Final = "agent-tui.file"  # ours: registered by an agent that accepts files
AGENT_STATE: Final = "lk.agent.state"  # attributes of participants
AGENT_NAME: Final = "lk.agent.name"
ON_BEHALF: Final = "lk.publish_on_behalf"
PUSH_TO_TALK: Final = "push-to-talk"  # ours: "1" if the RPC methods below are offered
TAKES_FILES: Final = "agent-tui.files"  # ours: "1" if files are accepted
SPOKEN_WORDS: Final = "agent-tui.words"  # ours: the type of debug messages with an answer's words
LISTENS_TO: Final = "agent-tui.listens-to"  # ours: the identity to which the agent listens
START_TURN: Final = "start_turn"  # RPC methods
END_TURN: Final = "end_turn"
CANCEL_TURN: Final = "cancel_turn"
INTERRUPT: Final = "interrupt"
TALK_TO_ME: Final = "talk_to_me"

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024  # a whole history; one frame of sound has 3 kB
MAX_TEXT_CHARACTERS: Final = 100_000
MAX_LINE_CHARACTERS: Final = 1_000  # of an error, a status, a progress
MAX_NAME_CHARACTERS: Final = 200
MAX_ITEMS: Final = 2_000  # of a history; the newest stay
MAX_CALLS: Final = 500  # of tools that are remembered
HEADER: Final = struct.Struct(">I")

_TOKEN = re.compile(r"eyJ[\w\-.~+/=%]*")
_FAILURE = re.compile(r"type='(\w+)_error'.*?\berror=\w+\((['\"])(.+?)\2")
_FAILED_PARTS = {"llm": "The model", "stt": "Hearing", "tts": "The voice", "realtime_model": "The model"}
_AGENT_STATES: dict[int, AgentWord] = {
    pb.AS_INITIALIZING: "initializing",
    pb.AS_IDLE: "idle",
    pb.AS_LISTENING: "listening",
    pb.AS_THINKING: "thinking",
    pb.AS_SPEAKING: "speaking",
}
_USER_STATES: dict[int, UserWord] = {
    pb.US_SPEAKING: "speaking",
    pb.US_LISTENING: "listening",
    pb.US_AWAY: "away",
}
_ROLES = {pb.DEVELOPER: "developer", pb.SYSTEM: "system", pb.USER: "user", pb.ASSISTANT: "assistant"}
_TOOL_WORDS = {
    pb.TC_RUNNING: "running",
    pb.TC_DONE: "done",
    pb.TC_ERROR: "failed",
    pb.TC_CANCELLED: "cut",
}
# What an agent also sends and is not shown: its usage, how it decides that a turn is over, its own debugging.
_NOT_SHOWN = ("session_usage_updated", "overlapping_speech", "amd_prediction", "eot_prediction")

Request = Literal["ping", "get_chat_history", "get_session_state"]


def redact(text: str) -> str:
    """Return ``text`` without LiveKit tokens: errors of ``livekit.rtc`` and its log contain whole ones."""
    return redacted(_TOKEN.sub(HIDDEN, text))


def token_claims(token: str) -> dict[str, object]:
    """Return a token's unverified claims: ``exp`` (Unix seconds), ``sub``, ``video`` …; {} if it is none."""
    try:
        body = token.split(".")[1]
        value = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (IndexError, ValueError, RecursionError, binascii.Error):
        return {}
    return value if isinstance(value, dict) else {}


def decode(data: bytes) -> pb.AgentSessionMessage:
    """Return the message in ``data``; raises ``ProtocolError``."""
    message = pb.AgentSessionMessage()
    if len(data) > MAX_MESSAGE_BYTES:
        raise ProtocolError("the agent sent a message that is too large", f"{len(data):,} bytes")
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise ProtocolError("the agent sent something that is not a session message") from error
    return message


def encode(message: pb.AgentSessionMessage) -> bytes:
    """Return ``message`` as the bytes of a room's byte stream."""
    data: bytes = message.SerializeToString()
    return data


def framed(message: pb.AgentSessionMessage) -> bytes:
    """Return ``message`` as the bytes of the console transport: after its length, four bytes, big-endian."""
    data = encode(message)
    return HEADER.pack(len(data)) + data


def ask(request_id: str, request: Request) -> pb.AgentSessionMessage:
    """Return the message for a ``request`` without arguments."""
    message = pb.SessionRequest(request_id=request_id)
    getattr(message, request).SetInParent()
    return pb.AgentSessionMessage(request=message)


def run_input(request_id: str, text: str) -> pb.AgentSessionMessage:
    """Return the message that interrupts the agent and makes it answer ``text``; answered after the turn."""
    words = pb.SessionRequest.RunInput(text=encodable(text))
    return pb.AgentSessionMessage(request=pb.SessionRequest(request_id=request_id, run_input=words))


def sound(data: bytes, rate: int) -> pb.AgentSessionMessage:
    """Return mono int16 sound of the microphone for the console transport."""
    frame = pb.AgentSessionMessage.ConsoleIO.AudioFrame(
        data=data, sample_rate=rate, num_channels=1, samples_per_channel=len(data) // 2
    )
    return pb.AgentSessionMessage(audio_input=frame)


def playback_finished() -> pb.AgentSessionMessage:
    """Return the message that says that all sound up to the last flush was played."""
    return pb.AgentSessionMessage(
        audio_playback_finished=pb.AgentSessionMessage.ConsoleIO.AudioPlaybackFinished()
    )


def playback_clear() -> pb.AgentSessionMessage:
    """Return the message that drops all sound that was not played. LiveKit's agents send it; to them it means
    nothing, to ours that the person interrupts.
    """
    return pb.AgentSessionMessage(audio_playback_clear=pb.AgentSessionMessage.ConsoleIO.AudioPlaybackClear())


def encodable(text: str) -> str:
    """Return ``text`` without halves of surrogate pairs, which protobuf refuses."""
    return text.encode("utf-8", "replace").decode()


@dataclass(slots=True)
class _Call:
    """What is known about one call of a tool."""

    turn_id: str
    started_at: float | None = None
    is_over: bool = False
    has_result: bool = False


class SessionDecoder:
    """Turns one agent's session messages into events, in their order.

    Steps of tools belong to the turn with the id of the person's item that they answer, empty before the
    first. A call's step has the call's id, its result ``result-`` and that id. Calls are sent several times
    on the wire, and yielded once here.
    """

    def __init__(self) -> None:
        self._segment = 0
        self._is_complete = False  # the newest words that were heard
        self._turn_id = ""
        self._calls: dict[str, _Call] = {}
        self._failure = ""  # the last one that was shown

    def message(self, message: pb.AgentSessionMessage) -> list[VoiceEvent]:
        """Yield the events of what the agent pushed or answered; none for sound of the console transport."""
        match message.WhichOneof("message"):
            case "event":
                return list(self.event(message.event))
            case "response" if message.response.HasField("get_chat_history"):
                return self.history(message.response.get_chat_history.items)
            case "response" if message.response.HasField("get_session_state"):
                return self.state(message.response.get_session_state)
            case None:
                return [Unknown("session message", "", "it is empty, or of a kind that is not known")]
            case _:
                return []

    def event(self, event: pb.AgentSessionEvent) -> Iterator[VoiceEvent]:
        """Yield the events of one pushed event."""
        at = _time(event.created_at)
        match name := event.WhichOneof("event"):
            case "agent_state_changed":
                yield from _agent_state(event.agent_state_changed.new_state)
            case "user_state_changed":
                yield from _user_state(event.user_state_changed.new_state)
            case "user_input_transcribed":
                yield from self._heard(event.user_input_transcribed)
            case "conversation_item_added":
                yield from self._item(event.conversation_item_added.item)
            case "function_tools_started":
                for call in event.function_tools_started.function_calls:
                    yield from self._tool_started(call, at)
            case "function_tools_executed":
                yield from self._tools_executed(event.function_tools_executed)
            case "tool_execution_updated":
                yield from self._tool(event.tool_execution_updated, at)
            case "agent_false_interruption":
                yield FalseInterruption(event.agent_false_interruption.resumed)
            case "error":
                yield from self._session_failed(event.error.message)
            case "debug_message":
                yield from spoken_words(event.debug_message)
            case _ if name in _NOT_SHOWN:
                return
            case _:
                yield Unknown(f"session event {name or ''}".strip(), "", "not known")

    def history(self, items: Iterable[pb.ChatContext.ChatItem]) -> list[VoiceEvent]:
        """Yield the agent's whole history: its items, then the steps between them."""
        before, self._calls = self._calls, {}
        self._turn_id = ""
        steps: list[VoiceEvent] = []
        spoken = []
        for item in list(items)[-MAX_ITEMS:]:
            for event in self._item(item):
                if isinstance(event, ItemStored):
                    spoken.append(event.item)
                elif isinstance(event, StepSet | ToolStatusChanged):
                    steps.append(event)
        self._calls = before | self._calls
        return [HistoryLoaded(tuple(spoken)), *steps]

    def state(self, response: pb.SessionResponse.GetSessionStateResponse) -> list[VoiceEvent]:
        """Return the state of the session."""
        return [*_agent_state(response.agent_state), *_user_state(response.user_state)]

    def _heard(self, heard: pb.AgentSessionEvent.UserInputTranscribed) -> Iterator[VoiceEvent]:
        """Yield what was heard. The session does not name segments: the next one begins after a final one.

        Words that are taken back come as interim words without text. After final words nothing is taken back:
        our agent so clears what answered a call that asks.
        """
        if not heard.is_final and not heard.transcript:
            if not self._is_complete:
                yield WordsUnclear()
            return
        self._is_complete = heard.is_final
        segment = f"heard-{self._segment}"
        self._segment += heard.is_final
        yield WordsHeard(segment, heard.transcript[:MAX_TEXT_CHARACTERS], heard.is_final)

    def _session_failed(self, text: str) -> Iterator[VoiceEvent]:
        """Yield the error for a person, once: a provider that is down fails again and again."""
        message = failure(text)
        if message != self._failure:
            self._failure = message
            yield SessionFailed(message)

    def _item(self, item: pb.ChatContext.ChatItem) -> Iterator[VoiceEvent]:
        match name := item.WhichOneof("item"):
            case "message":
                spoken = spoken_item(item.message)
                self._failure = ""
                if spoken.role == "user":
                    self._turn_id = spoken.id
                yield ItemStored(spoken)
            case "agent_handoff":
                old, new = item.agent_handoff.old_agent_id, item.agent_handoff.new_agent_id
                if old and old != new:  # without an old one, it is the first agent
                    yield HandedOver(old[:MAX_NAME_CHARACTERS], new[:MAX_NAME_CHARACTERS])
            case "function_call":
                yield from self._tool_started(item.function_call, _time(item.function_call.created_at))
            case "function_call_output":
                yield from self._result(item.function_call_output)
            case "agent_config_update":  # instructions and tools of the agent: not for people
                return
            case _:
                yield Unknown(f"session item {name or ''}".strip(), "", "not known")

    # --- tools -----------------------------------------------------------------------------------------

    def _tool(
        self, update: pb.AgentSessionEvent.ToolExecutionUpdated, at: float | None
    ) -> Iterator[VoiceEvent]:
        match update.WhichOneof("update"):
            case "started":
                yield from self._tool_started(update.started.function_call, at)
            case "call_updated":
                call_id = _name(update.call_updated.call_id)
                progress = update.call_updated.message[:MAX_LINE_CHARACTERS]
                yield ToolStatusChanged(self._call(call_id).turn_id, call_id, "running", progress=progress)
            case "ended":
                yield from self._tool_ended(update.ended, at)
            case "reply_updated":  # whether its result was answered: the answer itself shows that
                return
            case name:
                yield Unknown(f"session tool update {name or ''}".strip(), "", "not known")

    def _tool_started(self, call: pb.FunctionCall, at: float | None) -> Iterator[VoiceEvent]:
        call_id = _name(call.call_id or call.id)
        if call_id in self._calls:
            return
        state = self._call(call_id)
        state.started_at = at
        yield StepSet(
            state.turn_id,
            Step(
                id=call_id,
                type="tool_call",
                name=_name(call.name),
                arguments=call.arguments[:MAX_TEXT_CHARACTERS],
                id_ref=call_id,
                status="running",
            ),
        )

    def _tool_ended(
        self, ended: pb.AgentSessionEvent.ToolExecutionUpdated.Ended, at: float | None
    ) -> Iterator[VoiceEvent]:
        call_id = _name(ended.call_id)
        state = self._call(call_id)
        seconds = None
        if at is not None and state.started_at is not None:
            seconds = max(0.0, at - state.started_at)
        status = _TOOL_WORDS.get(ended.status, "unknown")
        if not state.is_over:
            state.is_over = True
            yield ToolStatusChanged(state.turn_id, call_id, status, seconds)
        if ended.message:
            yield from self._tool_result(call_id, "", ended.message, is_error=status != "done")

    def _tools_executed(self, executed: pb.AgentSessionEvent.FunctionToolsExecuted) -> Iterator[VoiceEvent]:
        for call in executed.function_calls:
            yield from self._tool_started(call, None)
        for output in executed.function_call_outputs:
            yield from self._result(output)

    def _result(self, output: pb.FunctionCallOutput) -> Iterator[VoiceEvent]:
        call_id = _name(output.call_id)
        state = self._call(call_id)
        if not state.is_over:
            state.is_over = True
            yield ToolStatusChanged(state.turn_id, call_id, "failed" if output.is_error else "done")
        yield from self._tool_result(call_id, output.name, output.output, is_error=output.is_error)

    def _tool_result(self, call_id: str, name: str, text: str, *, is_error: bool) -> Iterator[VoiceEvent]:
        state = self._call(call_id)
        if state.has_result:
            return
        state.has_result = True
        yield StepSet(
            state.turn_id,
            Step(
                id=f"result-{call_id}",
                type="tool_result",
                content=text[:MAX_TEXT_CHARACTERS],
                name=_name(name),
                id_ref=call_id,
                success=not is_error,
            ),
        )

    def _call(self, call_id: str) -> _Call:
        state = self._calls.get(call_id)
        if state is None:
            while len(self._calls) >= MAX_CALLS:
                del self._calls[next(iter(self._calls))]
            state = self._calls[call_id] = _Call(self._turn_id)
        return state


def failure(text: str) -> str:
    """Return an agent's error for a person: livekit-agents sends the Python form, ``type='llm_error' …
    error=APIConnectionError('…', …) recoverable=True``.
    """
    shown = redact(text)[:MAX_LINE_CHARACTERS]
    parts = _FAILURE.search(shown)
    if parts is None:
        return shown or "The agent did not say what failed."
    again = " It is tried again." if shown.endswith("recoverable=True") else ""
    why = (
        parts[3].removeprefix("API Error: ").rstrip(".")
    )  # our chats begin every failure so (protocols.md §2)
    return f"{_FAILED_PARTS.get(parts[1], 'The agent')} failed: {why}.{again}"


def spoken_words(message: pb.DebugMessage) -> Iterator[VoiceEvent]:
    """Yield what an agent says, from a debug message: our console agents send it so, piece by piece
    (``type``, ``segment``, ``text``, ``is_final``, ``is_voiced``).
    """
    fields = message.payload.fields
    if fields["type"].string_value == SPOKEN_WORDS and (segment := _name(fields["segment"].string_value)):
        yield WordsSpoken(
            segment,
            fields["text"].string_value[:MAX_TEXT_CHARACTERS],
            is_final=fields["is_final"].bool_value,
            is_voiced=fields["is_voiced"].bool_value,
        )


def spoken_item(message: pb.ChatMessage) -> SpokenItem:
    """Return a message of the agent's history."""
    metrics = message.metrics
    return SpokenItem(
        id=_name(message.id),
        role=_ROLES.get(message.role, "assistant"),
        text="\n".join(part.text for part in message.content)[:MAX_TEXT_CHARACTERS],
        interrupted=message.interrupted,
        created_at=_time(message.created_at),
        started_at=_time(metrics.started_speaking_at),
        ended_at=_time(metrics.stopped_speaking_at),
        times=TurnTimes(
            hearing=_metric(metrics, "transcription_delay"),
            end_of_turn=_metric(metrics, "end_of_turn_delay"),
            model=_metric(metrics, "llm_node_ttft"),
            voice=_metric(metrics, "tts_node_ttfb"),
            whole=_metric(metrics, "e2e_latency"),
        ),
    )


_Metric = Literal["transcription_delay", "end_of_turn_delay", "llm_node_ttft", "tts_node_ttfb", "e2e_latency"]


def _metric(metrics: pb.MetricsReport, name: _Metric) -> float | None:
    value: float = getattr(metrics, name)
    return value if metrics.HasField(name) and math.isfinite(value) and value >= 0 else None


def _time(stamp: Timestamp) -> float | None:
    """Return seconds of the Unix clock; a missing stamp is 0 and means unknown."""
    return stamp.seconds + stamp.nanos / 1e9 if stamp.seconds > 0 else None


def _name(text: str) -> str:
    return text[:MAX_NAME_CHARACTERS]


def _agent_state(value: int) -> Iterator[VoiceEvent]:
    state = _AGENT_STATES.get(value)
    yield AgentStateChanged(state) if state else Unknown("agent state", str(value), "not known")


def _user_state(value: int) -> Iterator[VoiceEvent]:
    state = _USER_STATES.get(value)
    yield UserStateChanged(state) if state else Unknown("user state", str(value), "not known")


def agent_word(text: str) -> AgentWord | None:
    """Return the state in the attribute ``lk.agent.state``, ``None`` for any other word."""
    return next((word for word in _AGENT_STATES.values() if word == text), None)
