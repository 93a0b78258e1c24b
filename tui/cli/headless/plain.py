"""``--plain``: a room or a chat as lines, for screen readers, logs and terminals that can do nothing else.

What is said and what happens is written line by line to stdout, and nothing is taken back. Lines of stdin are
said to the room, asked in the chat, or are commands; what asks for approval is answered by a word.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, Final

from agent_tui.clients.chat import ChatClient, Question
from agent_tui.clients.conversations import Conversations
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, ConfigError
from agent_tui.model.inert import inert, inert_line
from agent_tui.state.conversation import ConversationState
from tui.cli import output
from tui.cli.commands import connect
from tui.cli.headless.answer import Answer
from tui.cli.headless.ask import Answering, folder
from tui.cli.headless.ask_telling import Telling
from tui.cli.headless.formats import AnswerText, Ending, Record, RoomText
from tui.cli.headless.interrupts import Interrupts, carried_out
from tui.cli.headless.rooms import Run
from tui.first_room import first_room
from tui.link import RoomLink
from tui.request import Server, Source
from tui.screens.words import say

LEFT: Final = Ending("completed")  # whoever leaves lets things go on
CHUNK_BYTES: Final = 65_536
# What may be typed for an answer to a call that asks, and what it means on the wire.
WORDS: Final = {
    **dict.fromkeys(("y", "yes", "once"), "once"),
    **dict.fromkeys(("c", "conversation"), "conversation"),
    **dict.fromkeys(("a", "always"), "always"),
    **dict.fromkeys(("n", "no"), "deny"),
}


def rooms(source: Source, wanted: str | None) -> int:
    """Show the room that is ``wanted`` as lines until it is over or left; return the exit code."""
    embedded = not isinstance(source, Server)

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, Record]:
        link = RoomLink(server)
        try:
            found = await first_room(link, wanted, os.environ)
        finally:
            await link.close()
        if isinstance(found, list):
            raise ConfigError(say("plain.which"), say("plain.which.how"))
        async with connect.rooms_client(server) as client:
            talk = _Room(client, found.room_id, Lines(), embedded=embedded)
            return await talk.run(interrupts, starts=found.start), Record()

    return _shown(source, errand)


def chat(source: Source, wanted: str, *, is_new: bool) -> int:
    """Show a chat as lines, as ``rooms`` does a room: the ``wanted`` one, else the newest or a new one."""

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, Record]:
        if server.agent is not None:
            raise ConfigError(say("plain.no_agents"), say("plain.no_agents.how"))
        async with connect.chat_client(server) as client:
            listed = [] if wanted or is_new else await client.listed()
            if wanted:
                id_ = await connect.conversation_id(client, wanted)
            elif listed:
                id_ = listed[0].id
            else:
                id_ = (await client.create(workspace=folder())).id
            return await _Chat(client, id_, Lines()).run(interrupts), Record()

    return _shown(source, errand)


def _shown(source: Source, errand: Callable[[Server, Interrupts], Any]) -> int:
    with output.whole_lines():
        return carried_out(source, errand, Record(), lambda *_: output.end_line())


class Lines:
    """What is typed, line by line. It is read beside the loop: stdin may be a terminal, a pipe or a file."""

    def __init__(self) -> None:
        self.has_ended = False
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        Thread(target=self._read, daemon=True).start()  # nobody can end a reading that waits

    async def next(self) -> str | None:
        """Return the next line, ``None`` at the end of the input."""
        line = None if self.has_ended else await self._queue.get()
        self.has_ended = line is None
        return line

    def _read(self) -> None:
        decoder, held = codecs.getincrementaldecoder("utf-8")("replace"), ""
        # Not by ``sys.stdin``: the interpreter could not end while a thread holds its buffer.
        with suppress(OSError, AttributeError, ValueError, RuntimeError):
            descriptor = sys.stdin.fileno()
            while data := os.read(descriptor, CHUNK_BYTES):
                *lines, held = (held + decoder.decode(data)).split("\n")
                for line in lines:
                    self._loop.call_soon_threadsafe(self._queue.put_nowait, line.rstrip("\r"))
        with suppress(RuntimeError):  # the loop is closed
            if held:
                self._loop.call_soon_threadsafe(self._queue.put_nowait, held)
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)


@dataclass(slots=True)
class _Asks:
    """The calls that wait for a person's word, the oldest first."""

    client: Conversations[Any]
    id_: str
    waiting: list[ev.ToolStatusChanged] = field(default_factory=list)
    tell: Callable[[str], None] = output.notice

    async def take(self, event: ev.ToolStatusChanged, who: str) -> None:
        """Take what becomes of a call; say what it asks."""
        at = (event.turn_id, event.step_id)
        self.waiting = [one for one in self.waiting if (one.turn_id, one.step_id) != at]
        if event.status == "asks" and event.ask is not None:
            self.waiting.append(event)
            self._say(event, who)

    def _say(self, event: ev.ToolStatusChanged, who: str) -> None:
        ask = event.ask
        assert ask is not None
        self.tell(say("plain.asks", who=who, call=inert_line(ask.call)))
        for line in inert(ask.preview).splitlines():
            self.tell(f"  {line}")
        self.tell(say("plain.asks.form" if ask.form is not None else "plain.asks.words"))

    async def answer(self, line: str) -> bool:
        """Take a line for the answer to the oldest call that asks; return whether there is one."""
        if not self.waiting or line.startswith("/"):
            return False
        asked = self.waiting[0]
        word, _, reason = line.strip().partition(" ")
        decision = WORDS.get(word.lower().rstrip(",.:"), "")
        is_form = asked.ask is not None and asked.ask.form is not None
        if not decision or (is_form and decision != "deny"):
            output.notice(say("plain.asks.form" if is_form else "plain.asks.words"))
            return True
        pattern = asked.ask.pattern if asked.ask is not None and decision == "always" else ""
        del self.waiting[0]
        await _done(
            self.client.answer(
                self.id_,
                asked.turn_id,
                asked.step_id,
                "decline" if is_form else decision,
                pattern,
                reason if decision == "deny" and not is_form else "",
            )
        )
        return True


async def _done(call: Awaitable[object], done: str = "") -> None:
    """Make a call that somebody typed, and say what came of it."""
    try:
        await call
    except AgentTuiError as error:
        output.notice(str(error))
    else:
        if done:
            output.notice(done)


async def _while_typing(
    work: Awaitable[Ending], lines: Lines, typed: Callable[[str], Awaitable[bool]]
) -> Ending:
    """Return how ``work`` ends, or ``LEFT`` once ``typed`` says of a line that it leaves."""
    working = asyncio.ensure_future(work)
    try:
        while not working.done() and not lines.has_ended:
            reading = asyncio.ensure_future(lines.next())
            try:
                await asyncio.wait({working, reading}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                reading.cancel()
            if reading.done() and (line := reading.result()) is not None and await typed(line):
                return LEFT
        return await working
    finally:
        working.cancel()


@dataclass(slots=True)
class _Room:
    """One room, as long as it is open here."""

    client: RoomsClient
    id_: str
    lines: Lines
    embedded: bool
    answer: Answer = field(default_factory=Answer)
    form: RoomText = field(default_factory=RoomText)
    asks: _Asks = field(init=False)

    def __post_init__(self) -> None:
        self.asks = _Asks(self.client, self.id_)

    async def run(self, interrupts: Interrupts, *, starts: bool) -> Ending:
        """Say what was said so far, then what happens; a room that stands still waits for a word."""
        room = await self.client.show(self.id_)
        output.notice(say("plain.room", name=inert_line(room.name), agents=_names(room)))
        messages, _ = await self.client.messages(self.id_)
        for message in messages:
            if message.status != "streaming" and not message.superseded:
                self._say_stored(message)
        output.notice(say("plain.help"))
        attending = asyncio.ensure_future(self._attend())
        try:
            ending = Ending(room.status)
            while starts or room.status == "running" or await self._may_start(room):
                run = Run(self.client, self.id_, self.embedded, self.form, self.answer, self._heard)
                work = run.until_its_end(interrupts)
                ending = await _while_typing(work, self.lines, lambda line: self._typed(line, speaks=True))
                if ending is LEFT or ending.reason != "paused":
                    return ending
                starts, room = False, await self.client.show(self.id_)
            return LEFT if room.status in ("completed", "idle") else ending
        finally:
            attending.cancel()

    async def _may_start(self, room: ev.RoomInfo) -> bool:
        """Wait until somebody lets the room go on; return whether they do, and do not leave."""
        if room.status == "completed":
            output.notice(say("plain.completed"))
            return False
        output.notice(say("plain.stands"))
        while (line := await self.lines.next()) is not None:
            if line.strip() == "/resume":
                return True
            if await self._typed(line, speaks=False):
                return False
        return False

    def _say_stored(self, message: ev.Message) -> None:
        if message.role == "user":
            output.notice(f"{say('plain.you')}: {message.text}")
        self.form.said(self.answer.apply(ev.MessageStored(message)))

    async def _heard(self, event: ev.Event) -> None:
        if not isinstance(event, ev.ToolStatusChanged | ev.TurnEnded):
            return
        turn = self.answer.turns.get(event.turn_id)
        who = "" if turn is None else inert_line(turn.sender_name)
        if isinstance(event, ev.ToolStatusChanged):
            await self.asks.take(event, who)
        elif event.interrupted:
            output.notice(say("plain.cut", who=who))

    async def _typed(self, line: str, *, speaks: bool) -> bool:
        """Do what a line says; return whether it leaves."""
        match line.strip():
            case "":
                pass
            case "/quit":
                return True
            case "/help":
                output.notice(say("plain.help"))
            case "/pause":
                await _done(self.client.pause(self.id_))
            case "/resume":
                output.notice(say("plain.speaks"))
            case command if command.startswith("/"):
                output.notice(say("plain.unknown", command=inert_line(command)))
            case words:
                if not await self.asks.answer(words):
                    await _done(self.client.say(self.id_, words), say("plain.said"))
        return False

    async def _attend(self) -> None:
        """Be there for what tools ask, as long as somebody can type."""
        with suppress(AgentTuiError):
            async with aclosing(self.client.backend.attend()) as notices:
                async for _ in notices:
                    if self.lines.has_ended:
                        return


@dataclass(slots=True)
class _Chat:
    """One chat, as long as it is open here."""

    client: ChatClient
    id_: str
    lines: Lines
    asks: _Asks = field(init=False)
    model: str = ""
    waiting: list[str] = field(default_factory=list)  # questions

    def __post_init__(self) -> None:
        self.asks = _Asks(self.client, self.id_)

    async def run(self, interrupts: Interrupts) -> Ending:
        """Say what was said so far, then ask what is typed, line by line."""
        info = await self.client.show(self.id_)
        self.model = inert_line(info.model) or say("plain.answers")
        output.notice(say("plain.chat", name=inert_line(info.title) or self.id_, model=self.model))
        messages, _ = await self.client.messages(self.id_)
        for message in messages:
            if message.status != "streaming":
                who = say("plain.you") if message.role == "user" else inert_line(message.sender_name)
                output.write(f"{who or self.model}:\n{inert(message.text)}\n\n")
        output.notice(say("plain.chat.help"))
        while True:
            question = self.waiting.pop(0) if self.waiting else await self.lines.next()
            if question is None:
                return LEFT
            if question.startswith("/"):
                if await self._typed(question):
                    return LEFT
                continue
            if question.strip() and (await self._answered(question, interrupts)) is LEFT:
                return LEFT

    async def _answered(self, question: str, interrupts: Interrupts) -> Ending:
        telling = Telling(AnswerText(), ConversationState())
        self.asks = _Asks(self.client, self.id_, tell=telling.notice)
        answer = Answering(self.client, self.id_, Question(question), telling, self._heard)
        output.notice(f"{self.model}:")
        ending = await _while_typing(answer.until_its_end(interrupts), self.lines, self._typed)
        output.end_line()
        if answer.stop.was_asked:
            raise asyncio.CancelledError  # ctrl+c: the answer is stopped, and the program ends
        if ending.reason != "completed":
            output.notice(ending.detail or say("plain.stopped"))
        return ending

    async def _heard(self, event: ev.ToolStatusChanged) -> None:
        await self.asks.take(event, self.model)

    async def _typed(self, line: str) -> bool:
        match line.strip():
            case "":
                pass
            case "/quit":
                return True
            case "/help":
                output.notice(say("plain.chat.help"))
            case "/pause" | "/stop":
                await _done(self.client.stop(self.id_))
            case command if command.startswith("/"):
                output.notice(say("plain.unknown", command=inert_line(command)))
            case words:
                if not await self.asks.answer(words):
                    self.waiting.append(words)
                    output.notice(say("plain.queued"))
        return False


def _names(room: ev.RoomInfo) -> str:
    return ", ".join(inert_line(agent.name) for agent in room.agents)
