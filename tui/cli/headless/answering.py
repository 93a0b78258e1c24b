"""One answer without a screen, followed to its end: from a chat server or from an agent on another server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from agent_tui.clients.agents.chats import AgentChats
from agent_tui.clients.announced import AnnouncedFrame, AnswerLeft
from agent_tui.clients.chat import ChatClient, Question
from agent_tui.clients.log_stream import Item
from agent_tui.config.file import TASKS, BackendConfig
from agent_tui.model import events as ev
from agent_tui.model.inert import inert_line
from agent_tui.wire.agent_socket import CHAT_BUSY
from agent_tui.wire.agent_tasks import ends_session
from agent_tui.wire.chat import TERMINAL, ChatDecoder
from tui.cli import output
from tui.cli.commands.asking import note_line
from tui.cli.headless.ask_input import AskInput
from tui.cli.headless.formats import Ending, Frame
from tui.cli.headless.interrupts import (
    PATIENCE_SECONDS,
    Interrupts,
    LinkTelling,
    Stop,
    take_until_ending,
    until_its_end,
)
from tui.cli.headless.telling import MAX_ERROR_CHARACTERS, Telling
from tui.link import OwnBackend
from tui.screens.words import say

LEAVE_SECONDS: Final = 3.0  # for an agent's answer to end after it was given up
TURN_ID: Final = f"{ev.LOCAL_ID}answer"

Asks = Callable[[ev.ToolStatusChanged], Awaitable[None]]  # takes the states of the answer's calls


async def server_answers(
    client: ChatClient,
    conversation_id: str,
    question: Question,
    telling: Telling,
    asks: Asks,
    interrupts: Interrupts,
) -> Ending:
    """Follow a chat server's answer; the first signal stops it. Return how it ended."""
    stop = Stop("plain.stopping", "stop", "answer", lambda: client.stop(conversation_id), telling.notice)
    decoder, link = ChatDecoder(TURN_ID), LinkTelling(telling.notice)

    async def take(item: Item) -> Ending | None:
        if isinstance(item, ev.LinkChanged):
            if item.status == "live":
                stop.under_way.set()
            link.take(item)
            return None
        event = decoder.decode(item.event, item.data)
        telling.take(event, (item.id, item.event, item.data))
        if isinstance(event, ev.ToolStatusChanged):
            await asks(event)
        if item.event == "done":
            return Ending("completed")
        return _failure(event, telling, stop) if item.event in TERMINAL else None

    frames = client.ask_frames(conversation_id, question, give_up_seconds=PATIENCE_SECONDS)
    return await until_its_end(interrupts, take_until_ending(frames, take), stop)


def _failure(event: ev.Event, telling: Telling, stop: Stop) -> Ending:
    last = telling.state.last_turn
    if last is not None and last.interrupted == "stop":
        return Ending("interrupted", None if stop.was_asked else "somebody else stopped it")
    if last is not None and last.interrupted == "length":
        return Ending("error", "the answer was cut off: the model ran out of tokens")
    content = event.content if isinstance(event, ev.RunFailed) else ""
    return Ending("error", inert_line(content, MAX_ERROR_CHARACTERS) or "the answer failed")


@asynccontextmanager
async def agent_client(
    backend: BackendConfig, wanted: str, tell: Callable[[str], None]
) -> AsyncGenerator[AgentChats, None]:
    """Yield a client of an agent; ``wanted`` is its chat's id, ``tell`` gets what belongs to no answer."""
    own = OwnBackend()
    client = AgentChats(
        backend,
        wanted,
        lambda event: tell(note_line(event)),
        give_up_seconds=PATIENCE_SECONDS,
        reach=own.reach,
    )
    try:
        yield client
    finally:
        await client.aclose()
        await own.close()


def _ending_of(announced: AnnouncedFrame, backend: BackendConfig) -> Ending | None:
    """Return how the answer ends with its last event; ``None`` if it goes on."""
    match next(reversed(announced.events), None):
        case ev.TurnDone():
            return Ending("completed")
        case ev.RunFailed(content):
            detail = inert_line(content, MAX_ERROR_CHARACTERS) or "the agent failed"
            if backend.kind == TASKS:
                return Ending("aborted" if ends_session(content) else "error", detail)
            return Ending("busy" if announced.data.get("code") == CHAT_BUSY else "error", detail)
        case _:
            return None


async def agent_answers(
    client: AgentChats,
    backend: BackendConfig,
    asked: AskInput,
    telling: Telling,
    asks: Asks,
    interrupts: Interrupts,
    *,
    tells_session: bool = True,
) -> Ending:
    """Follow the answer of an agent on another server, as ``server_answers``, and return how it ended."""
    untaken = "stopped before the agent took the question"
    stop = Stop(
        "plain.stopping", "stop", "answer", lambda: client.stop(""), telling.notice, LEAVE_SECONDS, untaken
    )

    async def take(announced: AnnouncedFrame) -> Ending | None:
        if not announced.name:
            stop.under_way.set()
            telling.take(ev.TurnStarted(TURN_ID, "", "assistant", backend.name, "", 0))
            if tells_session and backend.kind == TASKS:
                output.notice(say("plain.conversation", id=client.agent_id))
            return None

        frame: Frame | None = ("", announced.name, announced.data) if announced.data else None
        if frame is not None and not announced.events:
            telling.form.frame(*frame)
        for event in announced.events:
            telling.take(event, frame)
            frame = None
        if any(isinstance(event, ev.Unknown) for event in announced.events):
            telling.notice(say("plain.event", name=announced.name))
        if (ending := _ending_of(announced, backend)) is not None:
            return ending
        for event in announced.events if announced.call_id else ():
            if isinstance(event, ev.ToolStatusChanged):
                await asks(event)
        return None

    async def follow() -> Ending:
        try:
            frames = client.answer_frames(asked.content, asked.attachments, asked.files, TURN_ID)
            return await take_until_ending(frames, take)
        except AnswerLeft:
            return Ending("interrupted")

    return await until_its_end(interrupts, follow(), stop)
