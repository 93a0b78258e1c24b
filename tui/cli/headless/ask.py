"""``agent-tui ask``: one question and its answer without a screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent_tui.clients.chat import ChatClient, Question
from agent_tui.clients.log_stream import Item
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, NotOffered
from agent_tui.model.inert import inert_line
from agent_tui.state.conversation import ConversationState
from agent_tui.wire.chat import TERMINAL, ChatDecoder
from agent_tui.wire.content import encodable
from agent_tui.wire.sse import Frame
from tui.cli import output
from tui.cli.commands import connect
from tui.cli.commands.asking import check_tools
from tui.cli.headless.ask_agents import ask_agent
from tui.cli.headless.ask_input import Asked, AskOptions
from tui.cli.headless.ask_telling import MAX_ERROR_CHARACTERS, Telling, decide, streamed
from tui.cli.headless.formats import AnswerText, Ending, Format, FormatName, Record, format_named
from tui.cli.headless.interrupts import (
    Interrupts,
    Stop,
    carried_out,
    followed,
    tell_link,
    until_its_end,
)
from tui.request import Server, Source

PATIENCE_SECONDS: Final = 10.0  # for everything that should come at once: a stop, a server that comes back
NOTHING: Final = Record({"conversation": None}, ())
UNANSWERED: Final = ("error", "lost", "timeout")  # ends of an answer that is not whole


def ask(source: Source, asked: Asked, options: AskOptions, form_name: FormatName) -> int:
    """Ask, write the answer, and return the exit code.

    Raises ``ConfigError`` for wrong usage, before anything is written to stdout.
    """
    is_agent = isinstance(source, Server) and source.agent is not None
    form = format_named(form_name, AnswerText, is_plain=is_agent or None)
    state = ConversationState()
    embedded = not isinstance(source, Server)

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, Record]:
        if server.agent is not None:
            return await ask_agent(server.agent, asked, options, Telling(form, state), interrupts)
        told = _Errand(server, embedded, asked, options, form, state)
        return await told.run(interrupts, wants_record=form_name == "json")

    def finish(ending: Ending, record: Record) -> None:
        form.end(ending, state.whole_text(), record)

    return carried_out(source, errand, NOTHING, finish)


@dataclass(slots=True)
class _Errand:
    """Everything between a reachable server and the end of the answer."""

    server: Server
    embedded: bool
    asked: Asked
    options: AskOptions
    form: Format
    state: ConversationState

    async def run(self, interrupts: Interrupts, *, wants_record: bool) -> tuple[Ending, Record]:
        """Find or make the conversation, ask, and fetch what is on record at the end."""
        async with connect.chat_client(self.server) as client:
            conversation_id = await self._conversation_id(client)
            question = Question(
                self.asked.content,
                self.asked.attachments,
                thinking_enabled=self.options.thinking,
                enabled_tools=self.options.tools,
            )
            telling = Telling(self.form, self.state)

            async def asks(call: ev.ToolStatusChanged) -> None:
                await decide(client, conversation_id, call, self.options.allow, telling)

            answer = Answering(client, conversation_id, question, telling, asks)
            ending = await answer.until_its_end(interrupts)
            if (told := self._what_to_do(conversation_id, ending)) and not ending.gave_up:
                output.notice(told)
            if not wants_record:
                return ending, NOTHING
            return ending, await self._record(client, conversation_id, ending)

    def _what_to_do(self, conversation_id: str, ending: Ending) -> str:
        """Return what helps where the answer is not whole; "" where it is, or where nothing was asked."""
        last = self.state.last_turn
        if ending.reason not in UNANSWERED or (last is None and not self.state.run_error):
            return ""
        is_begun = last is not None and last.role != "user" and bool(last.text)
        does = "c continues the answer, r retries it" if is_begun else "r retries the question"
        return f"agent-tui chat {conversation_id} opens it: {does}"

    async def _conversation_id(self, client: ChatClient) -> str:
        options = self.options
        if options.tools:
            await check_tools(client, options.tools)
        wished = {"model": options.model, "provider_id": options.provider, "workspace": options.folder}
        if options.conversation is not None:
            id_ = await connect.conversation_id(client, options.conversation)
            if options.strict and options.provider is None:
                connect.refuse_demo([(await client.show(id_)).provider_id])
            if changes := {name: value for name, value in wished.items() if value is not None}:
                await client.change(id_, **changes)
            return id_
        if options.strict and options.provider is None:
            async with connect.rooms_client(self.server) as rooms:
                wished["provider_id"] = await connect.default_provider(rooms)
        if self.embedded and options.folder is None:
            wished["workspace"] = folder()
        try:
            made = await client.create(
                **wished, enabled_tools=options.tools, thinking_enabled=options.thinking
            )
        except NotOffered as error:
            raise NotOffered(error.title, "name one that is there: --conversation ID") from error
        output.notice(f"conversation {made.id}")
        if options.folder is not None and not made.workspace:
            output.notice(f"this server does not take a folder: its tools do not work in {options.folder}")
        return made.id

    async def _record(self, client: ChatClient, conversation_id: str, ending: Ending) -> Record:
        """Return conversation and messages as the server answers them, else as they were streamed."""
        conversation: object = {"id": conversation_id}
        messages: Sequence[object] | None = None
        if not ending.gave_up:
            try:
                conversation = await client.show_raw(conversation_id)
                messages = await client.messages_raw(conversation_id)
            except AgentTuiError:
                pass
        said = streamed(self.asked, self.state) if messages is None else messages
        return Record({"conversation": conversation}, said)


@dataclass(slots=True)
class Answering:
    """One answer, followed to its end; ``asks`` takes what becomes of its calls."""

    client: ChatClient
    conversation_id: str
    question: Question
    telling: Telling
    asks: Callable[[ev.ToolStatusChanged], Awaitable[None]]
    stop: Stop = field(init=False)
    decoder: ChatDecoder = field(default_factory=lambda: ChatDecoder(f"{ev.LOCAL_ID}answer"))

    def __post_init__(self) -> None:
        self.stop = Stop(
            "stopping the answer",
            "stop",
            "answer",
            lambda: self.client.stop(self.conversation_id),
            self.telling.notice,
        )

    async def until_its_end(self, interrupts: Interrupts) -> Ending:
        """Follow the answer; the first signal has it stopped and waits for that, for 10 s at most."""
        frames = self.client.ask_frames(self.conversation_id, self.question, give_up_seconds=PATIENCE_SECONDS)
        return await until_its_end(
            interrupts,
            followed(frames, self._take),
            self.stop.ask,
            seconds=PATIENCE_SECONDS,
            too_late="the answer did not stop in time",
        )

    async def _take(self, item: Item) -> Ending | None:
        if isinstance(item, ev.LinkChanged):
            if item.status == "live":
                self.stop.under_way.set()
            tell_link(item, self.telling.notice)
            return None
        event = self.decoder.decode(item.event, item.data)
        self.telling.take(event, lambda form: form.frame(item.id, item.event, item.data))
        if isinstance(event, ev.ToolStatusChanged):
            await self.asks(event)
        return self._ending(item, event) if item.event in TERMINAL else None

    def _ending(self, frame: Frame, event: ev.Event) -> Ending:
        if frame.event == "done":
            return Ending("completed")
        last = self.telling.state.last_turn
        if last is not None and last.interrupted == "stop":
            return Ending("interrupted", None if self.stop.was_asked else "somebody else stopped it")
        if last is not None and last.interrupted == "length":
            return Ending("error", "the answer was cut off: the model ran out of tokens")
        content = event.content if isinstance(event, ev.RunFailed) else ""
        return Ending("error", inert_line(content, MAX_ERROR_CHARACTERS) or "the answer failed")


def folder() -> str | None:
    """Return the folder that tools may work in: where the command was given, if that can be told."""
    try:
        folder = str(Path.cwd())
    except OSError:  # it was deleted
        return None
    return folder if encodable(folder) == folder else None
