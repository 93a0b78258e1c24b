"""``agent-tui voice`` without a screen: says a file or lines, and waits for the answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from itertools import islice
from math import inf
from pathlib import Path
from typing import Final, TextIO

from agent_tui.clients.chat import ChatClient
from agent_tui.model.errors import AgentTuiError, NotFound, Refused, not_written
from agent_tui.model.events import Step, ToolStatusChanged, TurnNoted
from agent_tui.model.voice import (
    AgentStateChanged,
    LinkMeasured,
    LinkMoved,
    SessionFailed,
    UserStateChanged,
    VoiceEvent,
)
from agent_tui.state.voice import VoiceState
from agent_tui.state.voice_lines import VoiceLine
from tui.cli import output
from tui.cli.commands import connect
from tui.cli.commands.asking import note_line
from tui.cli.headless.formats import Ending, FormatName, as_told
from tui.cli.headless.interrupts import Interrupts, carried_out, take_until_ending, until_its_end
from tui.cli.headless.lines import TypedLines
from tui.cli.headless.telling import declined, refusal
from tui.request import Server, Source
from tui.screens.localised import localised
from tui.voice.endings import ending_of
from tui.voice.headless.formats import SAID, VoiceFormat, line_text, said_lines, voice_format
from tui.voice.opening import VoiceOpening
from tui.voice.request import VoiceRequest
from tui.voice.session import VoiceSession

BEGIN_SECONDS: Final = 0.8  # how long the agent listens before the file begins: it may greet first
QUIET_SECONDS: Final = 1.2  # how long nothing happens after an answer that is complete
UNANSWERED_SECONDS: Final = 3.0  # after this long an agent that heard and only listens has nothing to say
HEARD_SECONDS: Final = 20.0  # how long after the end of a file something of it must be understood
ANSWER_SECONDS: Final = 120.0  # an answer with nothing new for this long is given up
LOOK_SECONDS: Final = 0.05
PLAYED_SECONDS: Final = 0.35  # a room sends silence, too: this much of it always waits to be played
GROWN_SHARE: Final = 1.125  # an answer is written again when it grew so much, and by as many characters
GROWN_CHARACTERS: Final = 12


def talk(source: Source, request: VoiceRequest, form_name: FormatName, written_to: Path | None) -> int:
    """Say the file, or without one the lines of stdin; write what both sides said, at the end also into the
    file ``written_to``; return the exit code. Raises ``ConfigError`` for wrong usage, before anything is
    written to stdout.
    """
    form, state = voice_format(form_name), VoiceState(joined_at=time.time())
    lines = typed_lines if request.wav is None else None
    transcript = _open_transcript(written_to)
    room, kept_as = request.room, ""

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, None]:
        nonlocal room, kept_as
        voice = VoiceOpening(source)
        try:
            session = await voice.open(request, output.notice)
            room = session.room or room
            async with connect.chat_client(server) as client, asyncio.TaskGroup() as group:
                denying = group.create_task(follow_log(client, session))
                ending = await HeadlessTalk(session, form, state, lines).run(interrupts)
                denying.cancel()
            kept_as = session.log_id if said_lines(state) else ""  # a log of nothing is deleted
            return ending, None
        finally:
            await voice.aclose()

    def finish(ending: Ending, _: None) -> None:
        form.end(ending, state, room, kept_as)
        if transcript is not None:
            texts = [text for line in said_lines(state) if (text := line_text(line))]
            try:
                with transcript:
                    transcript.writelines(f"{text}\n" for text in texts)
            except OSError as error:
                raise not_written(f"--transcript {written_to} cannot be written", error) from error

    return carried_out(source, errand, None, finish)


async def follow_log(client: ChatClient, session: VoiceSession) -> None:
    """Refuse what tools of the session's conversation ask: without a screen nobody can allow it, or fill in a
    form. Notes of its answers are written, each kind once.
    """
    reported: set[str] = set()
    if not (conversation_id := session.asks_in):
        return
    try:
        async with aclosing(client.follow(conversation_id)) as events:
            async for event in events:
                if isinstance(event, TurnNoted) and event.note not in reported:
                    reported.add(event.note)
                    if line := note_line(event):
                        output.notice(line)
                if isinstance(event, ToolStatusChanged) and (ask := event.ask) is not None:
                    output.notice(declined(ask) if ask.form else localised(f"denied: {ask.call}"))
                    decision, why = refusal(ask)
                    with suppress(Refused):  # another client was faster
                        await client.answer(
                            conversation_id, event.turn_id, event.step_id, decision, reason=why
                        )
    except NotFound:
        pass  # nothing was said in the session, and its log was deleted with it
    except AgentTuiError as error:
        output.notice(localised(error))


def _open_transcript(path: Path | None) -> TextIO | None:
    try:
        return path.open("w", encoding="utf-8", errors="replace") if path is not None else None
    except OSError as error:
        raise not_written(f"--transcript {path} cannot be written", error) from error


async def typed_lines() -> AsyncGenerator[str, None]:
    """Yield the non-empty lines of stdin."""
    lines = TypedLines()
    while (line := await lines.next()) is not None:
        if line.strip():
            yield line.strip()


class HeadlessTalk:
    """One session, from joining to the end of the last answer."""

    def __init__(
        self,
        session: VoiceSession,
        form: VoiceFormat,
        state: VoiceState,
        lines: Callable[[], AsyncGenerator[str, None]] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``lines`` are typed one after the other; without them the session's file is played."""
        self._session = session
        self._state = state
        self._lines = lines
        self._now = now
        self._told = TalkOutput(form, state, now)
        self._moved_at = now()  # when something last happened

    async def run(self, interrupts: Interrupts) -> Ending:
        """Join, say what there is to say, wait for the answers, and leave."""
        try:
            return await until_its_end(interrupts, self._first_ending())
        finally:
            await self._session.aclose()
            self._told.finish()

    async def _first_ending(self) -> Ending:
        await self._session.sound.open()
        follow = take_until_ending(self._session.client.events(), self._take, "session")
        work = [asyncio.create_task(what) for what in (follow, self._speak())]
        try:
            done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
            return next(task for task in work if task in done).result()
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    async def _take(self, event: VoiceEvent) -> Ending | None:
        self._state.apply(event)
        if not isinstance(event, LinkMeasured):
            self._moved_at = self._now()
        self._told.take(event)
        self._session.keep(event, self._state.agent.name if self._state.agent else "")
        return ending_of(event) if isinstance(event, LinkMoved) else None

    async def _speak(self) -> Ending:
        speech = self._session.speech
        await self._until(lambda: self._is_quiet(BEGIN_SECONDS))
        if self._lines is not None:
            async with aclosing(self._lines()) as lines:
                async for line in lines:
                    before = len(self._state.lines)
                    self._told.asked()
                    await self._session.client.say(line)
                    if (ending := await self._answer(before)) is not None:
                        return ending
            return Ending("completed")
        if speech is None:
            return Ending("error", "there is nothing to say")
        before, heard = len(self._state.lines), self._state.heard
        if heard is not None and not heard.is_me:  # a typed line asks for that itself
            await self._session.client.ask_to_listen()
        speech.begin()
        await self._until(lambda: speech.is_over)
        self._told.played()
        if not await self._until(
            lambda: any(line.kind == "person" for line in self._lines_since(before)), HEARD_SECONDS
        ):
            return Ending("error", "the agent understood nothing of the file")
        return await self._answer(before) or Ending("completed")

    async def _answer(self, before: int) -> Ending | None:
        """Wait for the whole answer to what was said after this many lines; return why there is none. To
        words like "Stop" an agent may say nothing.
        """
        while True:
            last = next(reversed(self._lines_since(before)), None)
            if last is not None and last.kind == "agent" and self._is_quiet(QUIET_SECONDS):
                return None
            is_heard = last is not None and last.item_id  # it is in the agent's history
            if is_heard and self._is_quiet(UNANSWERED_SECONDS):
                return None
            if self._now() - self._moved_at > ANSWER_SECONDS:
                return Ending("timeout", f"nothing came of the agent for {ANSWER_SECONDS:.0f} seconds")
            await asyncio.sleep(LOOK_SECONDS)

    def _lines_since(self, before: int) -> list[VoiceLine]:
        """Return what both sides said after this many lines."""
        return [line for line in islice(self._state.lines.all.values(), before, None) if line.kind in SAID]

    def _is_quiet(self, seconds: float) -> bool:
        """Whether the agent has only listened for this long, with nothing left to be played."""
        is_played = self._session.sound.queued_seconds < PLAYED_SECONDS
        return self._state.phase == "listening" and is_played and self._now() - self._moved_at >= seconds

    async def _until(self, condition: Callable[[], bool], seconds: float = inf) -> bool:
        """Wait for a condition; return whether it became true in time."""
        began = self._now()
        while not condition():
            if self._now() - began > seconds:
                return False
            await asyncio.sleep(LOOK_SECONDS)
        return True


class TalkOutput:
    """Passes on to a format what is new: words as they grow and when they are final, steps, times."""

    def __init__(self, form: VoiceFormat, state: VoiceState, now: Callable[[], float]) -> None:
        self._form = form
        self._state = state
        self._now = now
        self._final: set[str] = set()  # ids of lines that were written as final
        self._growing: dict[str, str] = {}  # what was written of the others
        self._steps: dict[tuple[str, str], Step] = {}
        self._user = ""  # what the person does; "" if the agent does not say
        self._asked_at: float | None = None  # when a person had said something that is not answered yet
        self._measured: float | None = None  # and how long it took until the agent spoke

    def asked(self) -> None:
        """Note that a person has said something now."""
        self._asked_at, self._measured = self._now(), None

    def played(self) -> None:
        """Note that the file was played: its end counts where the agent does not say when a person speaks."""
        if not self._user:
            self.asked()

    def take(self, event: VoiceEvent) -> None:
        """Write what is new after an event, which the state has taken."""
        match event:
            case UserStateChanged(state):
                if state == "listening" and self._user == "speaking":
                    self.asked()
                self._user = state
            case AgentStateChanged(state):
                if state == "speaking" and self._asked_at is not None:
                    self._measured = self._now() - self._asked_at
                    self._asked_at = None
                self._form.agent_state(state)
            case SessionFailed(message):
                output.notice(localised(message))
            case _:
                pass
        self._tell()

    def finish(self) -> None:
        """End: every line is final as it is."""
        self._state.lines.changed.update(line.id for line in said_lines(self._state))
        self._tell(is_over=True)

    def _tell(self, *, is_over: bool = False) -> None:
        lines = self._state.lines
        changed = [line for line in map(lines.all.get, lines.changed) if line is not None]
        lines.changed.clear()
        for line in sorted(changed, key=lambda line: int(line.id[1:])):
            if line.kind in SAID:
                self._tell_words(line, is_over=is_over)
            elif line.kind == "step":
                self._tell_step(line)

    def _tell_words(self, line: VoiceLine, *, is_over: bool) -> None:
        text = line.text.text
        if line.id in self._final or not text or self._state.is_earlier(line):
            return
        agent = self._state.agent
        keeps_items = agent is None or agent.has_session  # then the item is the final version
        is_final = bool(line.item_id) or is_over or (not keeps_items and line.status != "open")
        written = self._growing.get(line.id, "")
        has_grown = line.kind == "person" or len(text) >= len(written) * GROWN_SHARE + GROWN_CHARACTERS
        if not is_final and (written == text or not has_grown):
            return
        self._growing[line.id] = text
        if is_final:
            self._final.add(line.id)
            del self._growing[line.id]
        self._form.words(line, is_final=is_final)
        if is_final and line.kind == "agent":
            if line.times.whole is None:
                line.times = replace(line.times, whole=self._measured)
            if line.times.whole is not None:
                self._form.metrics(line)
            self._measured = None

    def _tell_step(self, line: VoiceLine) -> None:
        call = self._state.lines.step_of(line)
        for step in map(as_told, filter(None, (call, call.result))):
            if self._steps.get((line.turn_id, step.id)) != step:
                self._steps[line.turn_id, step.id] = step
                self._form.step(step)
