"""A LiveKit agent that hears tones instead of words and answers in tones: real in all else.

In a room: ``python -P -m tests.fakes.voice.voice_agent MODE…`` reads one line of JSON, ``{"url", "token"}``,
and says on its output ``{"state": "joined"}``. MODES: ``ptt`` (push to talk), ``no-session`` (no
``lk.agent.session``), ``plain`` (offers none of our own methods). Over the console transport:
``python -m livekit.agents console`` with this file.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

from livekit import rtc
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    Agent,
    AgentServer,
    AgentSession,
    JobContext,
    LanguageCode,
    function_tool,
    llm,
    stt,
    tts,
    utils,
)
from livekit.agents.voice import room_io

sys.path.insert(0, str(Path(__file__).parents[3]))  # livekit-agents runs this file by its path

from tests.fakes.voice.tones import RATE, STORY, phrase_of, tone

ANSWERS = {
    "tell me a long story": STORY,
    "who are you": "I am an agent that hears tones.",
}
QUIET_SECONDS = 0.3  # after so long the speech is over
WORD_SECONDS = 0.12


class Ears(stt.STT[Any]):
    """Hears the phrase whose tone is played."""

    def __init__(self) -> None:
        super().__init__(capabilities=stt.STTCapabilities(streaming=True, interim_results=True))

    async def _recognize_impl(self, buffer: Any, *, language: Any = NOT_GIVEN, conn_options: Any) -> Any:
        raise NotImplementedError

    def stream(self, *, language: Any = NOT_GIVEN, conn_options: Any = DEFAULT_API_CONNECT_OPTIONS) -> Any:
        return _Hearing(stt=self, conn_options=conn_options, sample_rate=RATE)


class _Hearing(stt.RecognizeStream):
    async def _run(self) -> None:
        heard, quiet = bytearray(), 0.0
        async for frame in self._input_ch:
            if isinstance(frame, self._FlushSentinel):
                continue
            sound = bytes(frame.data.cast("b"))
            if phrase_of(sound):
                if not heard:
                    self._event_ch.send_nowait(stt.SpeechEvent(stt.SpeechEventType.START_OF_SPEECH))
                was, quiet = len(heard), 0.0
                heard += sound
                if was < RATE * 2 * 0.3 <= len(heard):
                    words = phrase_of(bytes(heard)).split()
                    self._say(stt.SpeechEventType.INTERIM_TRANSCRIPT, " ".join(words[: len(words) // 2 or 1]))
            elif heard:
                quiet += frame.duration
                if quiet >= QUIET_SECONDS:
                    self._say(stt.SpeechEventType.FINAL_TRANSCRIPT, phrase_of(bytes(heard)))
                    self._event_ch.send_nowait(stt.SpeechEvent(stt.SpeechEventType.END_OF_SPEECH))
                    heard.clear()
        if heard:
            self._say(stt.SpeechEventType.FINAL_TRANSCRIPT, phrase_of(bytes(heard)))

    def _say(self, kind: stt.SpeechEventType, text: str) -> None:
        data = stt.SpeechData(language=LanguageCode("en"), text=text, confidence=1.0)
        self._event_ch.send_nowait(stt.SpeechEvent(kind, alternatives=[data]))


class Voice(tts.TTS[Any]):
    """Speaks a tone, as long as the words take."""

    def __init__(self) -> None:
        super().__init__(capabilities=tts.TTSCapabilities(streaming=False), sample_rate=RATE, num_channels=1)

    def synthesize(self, text: str, *, conn_options: Any = DEFAULT_API_CONNECT_OPTIONS) -> Any:
        return _Speaking(tts=self, input_text=text, conn_options=conn_options)


class _Speaking(tts.ChunkedStream):
    async def _run(self, output_emitter: tts.AudioEmitter) -> None:
        output_emitter.initialize(
            request_id=utils.shortuuid(), sample_rate=RATE, num_channels=1, mime_type="audio/pcm"
        )
        seconds = WORD_SECONDS * len(self._input_text.split())
        output_emitter.push(tone(440.0, seconds, RATE))
        output_emitter.flush()


class Mind(llm.LLM[Any]):
    """Answers what it knows and repeats the rest."""

    def chat(self, *, chat_ctx: Any, tools: Any = None, conn_options: Any = None, **_: Any) -> Any:
        options = conn_options or DEFAULT_API_CONNECT_OPTIONS
        return _Thinking(self, chat_ctx=chat_ctx, tools=tools or [], conn_options=options)


class _Thinking(llm.LLMStream):
    async def _run(self) -> None:
        items: list[Any] = list(self._chat_ctx.items)
        last = items[-1]
        if last.type == "function_call_output":
            self._send(content=str(last.output))
            return
        asked = next((item.text_content or "" for item in reversed(items) if _is_user(item)), "")
        if asked == "what time is it":
            call = llm.FunctionToolCall(name="clock", arguments='{"zone": "UTC"}', call_id=utils.shortuuid())
            self._send(tool_calls=[call])
        elif asked == "fail":
            raise RuntimeError("the model failed")
        else:
            for word in ANSWERS.get(asked, f"You said {asked}.").split():
                self._send(content=f"{word} ")

    def _send(self, **what: Any) -> None:
        delta = llm.ChoiceDelta(role="assistant", **what)
        self._event_ch.send_nowait(llm.ChatChunk(id=utils.shortuuid(), delta=delta))


def _is_user(item: Any) -> bool:
    return bool(item.type == "message" and item.role == "user")


class Toned(Agent):
    """Has one tool."""

    def __init__(self) -> None:
        super().__init__(instructions="Answer.")

    @function_tool
    async def clock(self, zone: str) -> str:
        """The time."""
        await asyncio.sleep(0.2)
        return f"It is half past nine in {zone}."


def new_session(turns: str = "stt", **parts: Any) -> AgentSession[None]:
    """Return a session that needs no model, no key and no network; ``parts`` stand in place of its own."""
    parts = {"stt": Ears(), "llm": Mind(), "tts": Voice(), **parts}
    handling: Any = {
        "turn_detection": turns,
        "preemptive_generation": {"enabled": False},
        "endpointing": {"min_delay": 0.1, "max_delay": 0.5},
        "interruption": {"min_duration": 0.1, "mode": "vad"},
    }
    return AgentSession(
        **parts, vad=None, aec_warmup_duration=None, user_away_timeout=None, turn_handling=handling,
    )  # fmt: skip


server = AgentServer(host="127.0.0.1", port=0)


@server.rtc_session()
async def entry(context: JobContext) -> None:
    """Serve the console transport."""
    await new_session().start(Toned(), room=context.room)


def offer(room: rtc.Room, session: AgentSession[None], modes: list[str]) -> None:
    """Offer the methods that our own agent has."""
    offered: Any = room.local_participant.register_rpc_method

    @offered("talk_to_me")
    async def talk_to_me(call: rtc.RpcInvocationData) -> str:
        session.room_io.set_participant(call.caller_identity)
        await room.local_participant.set_attributes({"agent-tui.listens-to": call.caller_identity})
        return "ok"

    @offered("interrupt")
    async def interrupt(call: rtc.RpcInvocationData) -> str:
        await session.interrupt(force=True)
        return "ok"

    if "ptt" not in modes:
        return

    @offered("start_turn")
    async def start_turn(call: rtc.RpcInvocationData) -> str:
        await session.interrupt(force=True)
        session.clear_user_turn()
        session.room_io.set_participant(call.caller_identity)
        session.input.set_audio_enabled(True)
        return "ok"

    @offered("end_turn")
    async def end_turn(call: rtc.RpcInvocationData) -> str:
        session.input.set_audio_enabled(False)
        session.commit_user_turn(transcript_timeout=5.0, stt_flush_duration=0.5)
        return "ok"

    @offered("cancel_turn")
    async def cancel_turn(call: rtc.RpcInvocationData) -> str:
        session.input.set_audio_enabled(False)
        session.clear_user_turn()
        return "ok"


async def take_files(readers: AsyncIterable[bytes], room: rtc.Room) -> None:
    """Say how large a file is."""
    size = 0
    async for chunk in readers:
        size += len(chunk)
    await room.local_participant.set_attributes({"test.file-bytes": str(size)})


async def main(modes: list[str]) -> None:
    """Serve one room."""
    line = json.loads(await asyncio.to_thread(sys.stdin.readline))
    room, gone = rtc.Room(), asyncio.Event()
    room.on("disconnected", lambda _: gone.set())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, gone.set)
    tasks: set[asyncio.Task[None]] = set()

    def file_came(reader: rtc.ByteStreamReader, _: str) -> None:
        tasks.add(asyncio.create_task(take_files(reader, room)))

    room.register_byte_stream_handler("agent-tui.file", file_came)
    await room.connect(line["url"], line["token"])
    session = new_session("manual" if "ptt" in modes else "stt")
    options = room_io.RoomOptions(close_on_disconnect=False)
    await session.start(Toned(), room=room, room_options=options, session_host="no-session" not in modes)
    if "plain" not in modes and "no-session" not in modes:
        offer(room, session, modes)
        attributes = {"agent-tui.files": "1"}
        if "ptt" in modes:
            session.input.set_audio_enabled(False)
            attributes["push-to-talk"] = "1"
        await room.local_participant.set_attributes(attributes)
    print(json.dumps({"state": "joined", "pid": os.getpid()}), flush=True)  # noqa: T201 - the protocol
    await gone.wait()
    await room.disconnect()
    await session.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
