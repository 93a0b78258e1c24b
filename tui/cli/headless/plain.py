"""``--plain``: a room or a chat as lines, for screen readers, logs and simple terminals.

Words and events are written line by line to stdout, and never changed. Lines of stdin are said to the room,
asked in the chat, or are commands; a word answers what asks for approval. In a terminal ctrl+c and ctrl+d
work as in a shell: they stop what is running, and leave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agent_tui.clients.chat import Question
from agent_tui.clients.conversations import Conversations
from agent_tui.clients.log_stream import decimal_id
from agent_tui.clients.rooms import RoomsClient
from agent_tui.config.file import BackendConfig
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, ConfigError, NotFound, NotOffered
from agent_tui.model.inert import inert, inert_line
from agent_tui.paths import current_folder
from agent_tui.state.conversation import ConversationState
from tui.cli import output
from tui.cli.commands import connect
from tui.cli.headless.answering import Asks, agent_answers, agent_client, server_answers
from tui.cli.headless.ask_input import AskInput
from tui.cli.headless.formats import Ending, Record, TextFormat, speaker_line
from tui.cli.headless.interrupts import Interrupts, carried_out
from tui.cli.headless.lines import CTRL_C, TypedLines
from tui.cli.headless.rooms import Run
from tui.cli.headless.telling import NOT_ALLOWED, Telling
from tui.link import RoomLink
from tui.live.texts import asked_call, asked_preview, model_name
from tui.request import Server, Source
from tui.room.first import first_room
from tui.screens.localised import localised
from tui.screens.words import list_of, say

LEFT: Final = Ending("completed")  # leaving stops nothing
# The words that answer a call that asks, and their decisions on the wire.
WORDS: Final = {
    **dict.fromkeys(("y", "yes", "once"), "once"),
    **dict.fromkeys(("c", "conversation"), "conversation"),
    **dict.fromkeys(("a", "always"), "always"),
    **dict.fromkeys(("n", "no"), "deny"),
}


def rooms(source: Source, wanted: str | None) -> int:
    """Show the ``wanted`` room as lines until it is over or left; return the exit code."""
    embedded = not isinstance(source, Server)

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, Record]:
        link = RoomLink(server)
        try:
            found = await first_room(link, wanted)
        finally:
            await link.close()
        if isinstance(found, list):
            raise ConfigError(say("plain.which"), say("plain.which.how"))
        async with connect.rooms_client(server) as client:
            talk = _Room(client, found.room_id, interrupts, embedded, found.start)
            return await talk.run(), Record()

    return _run_plain(source, errand)


def chat(source: Source, wanted: str, *, is_new: bool) -> int:
    """Show a chat as lines, as ``rooms`` does a room: the ``wanted`` one, else the newest or a new one; of an
    agent on another server the wanted session or chat, else a new session or chat 0.
    """
    embedded = not isinstance(source, Server)

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, Record]:
        if server.agent is not None:
            return await _agents_chat(server.agent, wanted, interrupts), Record()
        async with connect.chat_client(server) as client:
            listed = [] if wanted or is_new else await client.list_all()
            if wanted:
                id_ = await connect.conversation_id(client, wanted)
            elif listed:
                id_ = listed[0].id
            else:
                id_ = (await client.create(workspace=current_folder() if embedded else None)).id

            async def answers(text: str, telling: Telling, asks: Asks) -> Ending:
                return await server_answers(client, id_, Question(text), telling, asks, interrupts)

            talk = _Chat(client, await client.as_known(id_), interrupts, answers)
            try:
                return await talk.run(await _said_so_far(client, id_)), Record()
            finally:
                if not wanted and not listed and not talk.has_asked:  # a new chat stays if it has a question
                    with suppress(AgentTuiError):
                        await client.delete(id_)

    return _run_plain(source, errand)


async def _agents_chat(backend: BackendConfig, wanted: str, interrupts: Interrupts) -> Ending:
    async with agent_client(backend, wanted, output.notice) as client:

        async def answers(text: str, telling: Telling, asks: Asks) -> Ending:
            is_new, asked = not client.agent_id, AskInput(text)
            return await agent_answers(
                client, backend, asked, telling, asks, interrupts, tells_session=is_new
            )

        info = await client.open(wanted)
        id_ = client.agent_id
        title = say("plain.conversation", id=id_) if id_ else say("plain.session.new")
        return await _Chat(client, replace(info, title=title), interrupts, answers).run(())


async def _said_so_far(client: Conversations[Any], id_: str) -> Sequence[ev.Message]:
    """Return what is stored, if the server shows it."""
    try:
        return (await client.messages(id_))[0]
    except (NotFound, NotOffered):
        return ()


def _run_plain(source: Source, errand: Callable[[Server, Interrupts], Any]) -> int:
    with output.whole_lines():
        return carried_out(source, errand, Record(), lambda *_: output.end_line())


@dataclass(slots=True)
class _Asks:
    """The calls that wait for a person's decision, the oldest first, each with what it asks."""

    client: Any  # for rooms, chats or an agent on another server
    id_: str
    waiting: list[tuple[ev.ToolStatusChanged, ev.ToolAsk]] = field(default_factory=list)
    tell: Callable[[str], None] = output.notice

    def take(self, event: ev.ToolStatusChanged, who: str) -> None:
        """Take the state of a call; say what it asks."""
        at = (event.turn_id, event.step_id)
        self.waiting = [(asked, ask) for asked, ask in self.waiting if (asked.turn_id, asked.step_id) != at]
        if event.status == "asks" and (ask := event.ask) is not None:
            self.waiting.append((event, ask))
            self.tell(say("plain.asks", who=who, call=asked_call(ask)))
            for line in asked_preview(ask).splitlines():
                self.tell(f"  {line}")
            self.tell(say("plain.asks.words" if ask.form is None else "plain.asks.form"))

    async def answer(self, line: str) -> bool:
        """Take a line as the answer to the oldest call that asks; return whether there is one."""
        if not self.waiting:
            return False
        ask = self.waiting[0][1]
        word, _, reason = line.strip().partition(" ")
        decision = WORDS.get(word.lower().rstrip(",.:"), "")
        if not decision or (ask.form is not None and decision != "deny"):
            output.notice(say("plain.asks.words" if ask.form is None else "plain.asks.form"))
        else:
            await self._decide(decision, reason)
        return True

    async def deny(self) -> None:
        """Deny all waiting calls: nobody can type anymore."""
        while self.waiting:
            self.tell(say("plain.denied", call=asked_call(self.waiting[0][1])))
            await self._decide("deny", NOT_ALLOWED)

    async def _decide(self, decision: str, reason: str) -> None:
        event, ask = self.waiting.pop(0)
        pattern, reason = ask.pattern if decision == "always" else "", reason if decision == "deny" else ""
        if ask.form is not None:
            decision, reason = "decline", ""
        await _run_call(self.client.answer(self.id_, event.turn_id, event.step_id, decision, pattern, reason))


async def _run_call(call: Awaitable[object], done: str = "") -> None:
    """Run a typed call, and say its result."""
    try:
        await call
        if done:
            output.notice(done)
    except AgentTuiError as error:
        output.notice(localised(error))


@dataclass(slots=True)
class _Typing:
    """Runs lines: ``commands``, a word for the call that asks, or else ``words``."""

    interrupts: Interrupts
    asks: _Asks
    help: str
    commands: Mapping[str, Callable[[], Awaitable[object]]]
    words: Callable[[str], Awaitable[object]]
    reads_on: bool = False  # what was asked through a pipe is answered before leaving
    lines: TypedLines = field(init=False)
    was_ctrl_c: bool = False

    def __post_init__(self) -> None:
        self.lines = TypedLines(self.interrupts)

    async def take(self, line: str) -> Ending | None:
        """Run a line; return the reason if it leaves."""
        was_ctrl_c, self.was_ctrl_c = self.was_ctrl_c, line == CTRL_C
        match line.strip():
            case _ if line == CTRL_C:
                output.notice("")
                if was_ctrl_c:
                    return Ending("interrupted")
                await self.stop()
            case "":
                pass
            case "/quit" if self.reads_on and not self.lines.is_terminal:
                self.lines.has_ended = True  # a writer to a pipe waits for no answer before
            case "/quit":
                return LEFT
            case "/help":
                output.notice(say(self.help))
            case command if command in self.commands:
                await self.commands[command]()
            case command if command.startswith("/"):
                output.notice(say("plain.unknown", command=inert_line(command)))
            case words:
                if not await self.asks.answer(words):
                    await self.words(words)
        return None

    async def stop(self) -> None:
        """Stop what is running."""
        if not self.interrupts.stop():
            output.notice(say("plain.nothing"))

    async def line_before(self, working: asyncio.Future[Any]) -> str | None:
        """Return the next line; ``None`` if there are no more, or ``working`` is done first."""
        reading = asyncio.ensure_future(self.lines.next())
        try:
            await asyncio.wait({working, reading}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reading.cancel()
        return reading.result() if reading.done() else None

    async def during(self, work: Awaitable[Ending]) -> tuple[Ending, bool]:
        """Return how ``work`` ends or why it was left before, and whether it was."""
        working = asyncio.ensure_future(work)
        try:
            while not working.done() and not self.lines.has_ended:
                line = await self.line_before(working)
                if line is not None and (ending := await self.take(line)) is not None:
                    return ending, True
            if self.lines.has_ended and self.lines.is_terminal and not working.done():
                return LEFT, True  # ctrl+d
            if self.reads_on and self.lines.has_ended:
                await self.asks.deny()
            return await working, False
        finally:
            working.cancel()


@dataclass(slots=True)
class _Room:
    """One room while it is open here. ``starts``: it is resumed as soon as possible."""

    client: RoomsClient
    id_: str
    interrupts: Interrupts
    embedded: bool
    starts: bool
    begun_behind: int = 0  # the id of the event before a run that another client began
    is_running: bool = False
    telling: Telling = field(init=False)
    typing: _Typing = field(init=False)

    def __post_init__(self) -> None:
        self.telling = Telling(TextFormat(has_names=True), ConversationState(ev.RoomInfo("")))
        commands = {"/pause": self._pause, "/resume": self._resume}
        asks = _Asks(self.client, self.id_)
        self.typing = _Typing(self.interrupts, asks, "plain.help", commands, self._say_to_room)

    async def run(self) -> Ending:
        """Print what was said so far, then what happens; a room that is not running waits for a line."""
        room = await self.client.as_known(self.id_)
        agents = list_of(inert_line(agent.name) for agent in room.agents)
        name = inert_line(room.name) or say("room.untitled")
        output.notice(say("plain.room", name=name, agents=agents) if agents else name)
        for message in await _said_so_far(self.client, self.id_):
            if message.status != "streaming" and not message.superseded:
                self._say_stored(message)
        if room.status != "completed":
            output.notice(say("plain.help"))
        attending = asyncio.ensure_future(self._attend())
        try:
            while self.starts or room.status == "running" or (ending := await self._stand(room)) is None:
                self.starts, self.is_running = False, True
                begun, self.begun_behind = self.begun_behind, 0
                run = Run(self.client, self.id_, self.embedded, self.telling, self._take_event, begun)
                ending, is_left = await self.typing.during(run.until_its_end(self.interrupts))
                if is_left or self.interrupts.is_ending or ending.reason not in ("paused", "interrupted"):
                    return ending
                self.is_running, room = False, await self.client.as_known(self.id_)
            return ending
        finally:
            attending.cancel()

    async def _stand(self, room: ev.RoomInfo) -> Ending | None:
        """Wait until the room is resumed, here or elsewhere; return the reason if it is left."""
        if room.status == "completed":
            output.notice(say("plain.completed"))
            return LEFT
        output.notice(say("plain.stands" if room.status == "paused" else "plain.not_running"))
        watching = asyncio.ensure_future(self._watch(room.last_event_id))
        try:
            while not self.starts and not watching.done():
                line = await self.typing.line_before(watching)
                if line is None and self.typing.lines.has_ended:
                    return LEFT
                if line is not None and (ending := await self.typing.take(line)) is not None:
                    return ending
        finally:
            watching.cancel()
        return None

    async def _watch(self, last_id: int) -> None:
        """Return when another client resumes the room; never on a server that does not tell."""
        with suppress(AgentTuiError):
            async with aclosing(self.client.event_frames(self.id_, last_id)) as frames:
                async for frame in frames:
                    if not isinstance(frame, ev.LinkChanged) and frame.event == "room_started":
                        self.begun_behind = (decimal_id(frame.id) or 1) - 1
                        output.notice(say("plain.goes_on"))
                        return
        await asyncio.Event().wait()

    def _say_stored(self, message: ev.Message) -> None:
        if message.role == "user":
            output.notice(f"{say('plain.you')}{say('between.detail')}{message.text}")
        self.telling.take(ev.MessageStored(message))
        if message.interrupted:
            output.notice(say("plain.cut", who=inert_line(message.sender_name)))

    async def _take_event(self, event: ev.Event) -> None:
        if not isinstance(event, ev.ToolStatusChanged | ev.TurnEnded):
            return
        who = self.telling.speaker(event.turn_id)
        if isinstance(event, ev.ToolStatusChanged):
            self.typing.asks.take(event, who)
        elif event.interrupted:
            output.notice(say("plain.cut", who=who))

    async def _pause(self) -> None:
        if self.is_running:
            await _run_call(self.client.pause(self.id_))
        else:
            output.notice(say("plain.not_running"))

    async def _resume(self) -> None:
        if self.is_running:
            output.notice(say("plain.speaks"))
        self.starts = not self.is_running

    async def _say_to_room(self, words: str) -> None:
        await _run_call(self.client.say(self.id_, words), say("plain.said"))

    async def _attend(self) -> None:
        """Count as a reader who can answer tools, as long as a person can type."""
        with suppress(AgentTuiError):
            async with aclosing(self.client.backend.attend()) as notices:
                async for _ in notices:
                    if self.typing.lines.has_ended:
                        return


@dataclass(slots=True)
class _Chat:
    """One chat while it is open here; ``answers`` asks a question in it."""

    client: Any  # for chats, or an agent on another server
    info: ev.ConversationInfo
    interrupts: Interrupts
    answers: Callable[[str, Telling, Asks], Awaitable[Ending]]
    model: str = ""
    is_answering: bool = False
    has_asked: bool = False
    waiting: list[str] = field(default_factory=list)  # questions
    notes_told: set[str] = field(default_factory=set)  # lines that are said once
    typing: _Typing = field(init=False)

    def __post_init__(self) -> None:
        self.model = model_name(self.info.model, self.info.provider_id) or say("plain.answers")
        asks = _Asks(self.client, self.info.id)
        self.typing = _Typing(self.interrupts, asks, "plain.chat.help", {}, self._queue, True)
        self.typing.commands = dict.fromkeys(("/pause", "/stop"), self.typing.stop)

    async def run(self, messages: Sequence[ev.Message]) -> Ending:
        """Print what was said so far, then ask what is typed, line by line."""
        name = inert_line(self.info.title) or say("chat.untitled")
        output.notice(say("plain.chat", name=name, model=self.model) if self.info.model else name)
        for message in messages:
            if message.status != "streaming":
                who = say("plain.you") if message.role == "user" else self._speaker(message)
                output.write(f"{speaker_line(who)}\n{inert(message.text)}\n\n")
                if message.interrupted:
                    output.notice(say("plain.cut", who=who))
        output.notice(say("plain.chat.help"))
        while True:
            if self.waiting:
                ending, is_left = await self._ask(self.waiting.pop(0))
                if is_left:
                    return ending
            elif (line := await self.typing.lines.next()) is None:
                return LEFT
            elif (left := await self.typing.take(line)) is not None:
                return left

    def _speaker(self, message: ev.Message) -> str:
        """Return who said a stored answer: the chat's model, as above the answers to come, or another one."""
        is_ours = message.sender_name in ("", self.info.model)
        return self.model if is_ours else inert_line(message.sender_name)

    async def _ask(self, question: str) -> tuple[Ending, bool]:
        """Return how an answer ended, and whether the chat is left with it."""
        telling = Telling(TextFormat(), notes_told=self.notes_told)
        asks = self.typing.asks
        asks.waiting, asks.tell = [], telling.notice
        output.notice(speaker_line(self.model))
        self.is_answering = self.has_asked = True
        ending, is_left = await self.typing.during(self.answers(question, telling, self._take_event))
        self.is_answering = False
        if self.typing.was_ctrl_c:
            self.waiting.clear()
        output.end_line()
        if not is_left and ending.reason != "completed":
            output.notice(localised(ending.told) or say("plain.stopped"))
        return ending, is_left or self.interrupts.is_ending

    async def _take_event(self, event: ev.ToolStatusChanged) -> None:
        self.typing.asks.take(event, self.model)
        if self.typing.lines.has_ended:
            await self.typing.asks.deny()

    async def _queue(self, words: str) -> None:
        self.waiting.append(words)
        if self.is_answering:
            output.notice(say("plain.queued"))
