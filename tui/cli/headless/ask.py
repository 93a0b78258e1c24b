"""``agent-tui ask``: one question and its answer without a screen."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import suppress
from functools import partial
from typing import Final

from agent_tui.clients.chat import ChatClient, Question
from agent_tui.config.file import SOCKET, BackendConfig
from agent_tui.config.tool_rules import named_tools
from agent_tui.model.errors import AgentTuiError, ConfigError, NotFound, NotOffered, Refused
from agent_tui.paths import current_folder
from agent_tui.redaction import redacted
from agent_tui.state.conversation import ConversationState
from tui.cli import output
from tui.cli.commands import connect
from tui.cli.commands.asking import check_tools
from tui.cli.headless.answering import agent_answers, agent_client, server_answers
from tui.cli.headless.ask_input import AskInput, AskOptions
from tui.cli.headless.formats import Ending, FormatName, Record, format_named
from tui.cli.headless.interrupts import Interrupts, carried_out
from tui.cli.headless.telling import Telling, decide, streamed
from tui.request import Server, Source
from tui.screens.localised import localised
from tui.screens.words import say

NOTHING: Final = Record({"conversation": None}, ())
LOOK_SECONDS: Final = 2.0  # for the messages that a server stores
UNANSWERED: Final = ("error", "lost", "timeout")  # endings of an incomplete answer


def ask(source: Source, asked: AskInput, options: AskOptions, form_name: FormatName) -> int:
    """Ask, write the answer, and return the exit code; raises ``ConfigError`` before anything is written."""
    is_agent = isinstance(source, Server) and source.agent is not None
    form = format_named(form_name, is_plain=is_agent or None)
    telling = Telling(form)
    state = telling.state
    embedded = not isinstance(source, Server)

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, Record]:
        if server.agent is not None:
            return await _ask_agent(server.agent, asked, options, telling, interrupts)
        async with connect.chat_client(server) as client:
            id_ = await _conversation_id(client, options, embedded=embedded)
            question = Question(
                asked.content,
                asked.attachments,
                thinking_enabled=options.thinking,
                enabled_tools=options.tools,
            )
            asks = partial(decide, client, id_, options.allow, telling)
            try:
                ending = await server_answers(client, id_, question, telling, asks, interrupts)
            except Refused:
                await _drop_if_empty(client, id_, options, state)
                raise
            if ending.was_refused:
                await _drop_if_empty(client, id_, options, state)
            hint = _what_to_do(state, redacted(shlex.join([id_, *options.server])), ending)
            if hint and not ending.gave_up and await _has_messages(client, id_):
                output.notice(hint)
            if form_name != "json":
                return ending, NOTHING
            return ending, await Record.of(client, "conversation", id_, ending, streamed(asked, state))

    def finish(ending: Ending, record: Record) -> None:
        form.end(ending, state.whole_text(), record)

    return carried_out(source, errand, NOTHING, finish)


async def _drop_if_empty(client: ChatClient, id_: str, options: AskOptions, state: ConversationState) -> None:
    """Delete a new chat whose question was refused: it would stay in the list, empty."""
    if options.conversation is None and state.last_turn is None:
        with suppress(AgentTuiError):
            await client.delete(id_)


def _what_to_do(state: ConversationState, conversation: str, ending: Ending) -> str:
    """Return what helps if the answer is not complete; "" if it is, or if nothing was asked. ``conversation``
    is the words that name it and its server.
    """
    last = state.last_turn
    if ending.reason not in UNANSWERED or (last is None and not state.run_error):
        return ""
    is_begun = last is not None and last.role != "user" and bool(last.steps.all)  # as the chat sees it
    does = "c continues the answer, r retries it" if is_begun else "r retries the question"
    return localised(f"agent-tui chat {conversation} opens it: {does}")


async def _has_messages(client: ChatClient, conversation_id: str) -> bool:
    """Return whether a chat screen would show what was said; also ``True`` if the server does not say now."""
    with suppress(TimeoutError, AgentTuiError):
        async with asyncio.timeout(LOOK_SECONDS):
            try:
                await client.messages_raw(conversation_id)
            except (NotFound, NotOffered):
                return False
    return True


async def _conversation_id(client: ChatClient, options: AskOptions, *, embedded: bool) -> str:
    """Return the id of the conversation, a new one if none is named."""
    if wanted := [*(options.tools or ()), *named_tools(options.allow)]:
        await check_tools(client, wanted)
    wished = {"model": options.model, "provider_id": options.provider, "workspace": options.folder}
    if options.conversation is not None:
        id_ = await connect.conversation_id(client, options.conversation)
        if options.strict and options.provider is None:
            connect.refuse_demo([(await client.show(id_)).provider_id])
        if changes := {name: value for name, value in wished.items() if value is not None}:
            await client.change(id_, **changes)
        return id_
    if options.strict and options.provider is None:
        wished["provider_id"] = await connect.default_provider(client)
    if embedded and options.folder is None:
        wished["workspace"] = current_folder()
    try:
        made = await client.create(**wished, enabled_tools=options.tools, thinking_enabled=options.thinking)
    except NotOffered as error:
        raise NotOffered(error.title, "name one that is there: --conversation ID") from error
    output.notice(say("plain.conversation", id=made.id))
    if options.provider is None:
        connect.tell_demo([made], embedded=embedded)
    if options.folder is not None and not made.workspace:
        output.notice(
            localised(f"this server does not take a folder: its tools do not work in {options.folder}")
        )
    return made.id


async def _ask_agent(
    backend: BackendConfig, asked: AskInput, options: AskOptions, telling: Telling, interrupts: Interrupts
) -> tuple[Ending, Record]:
    """Ask an agent on another server; raises ``ConfigError`` for options that it does not support."""
    wanted = _agents_conversation(backend, options)
    async with agent_client(backend, wanted, telling.notice) as client:
        asks = partial(decide, client, "", options.allow, telling)
        ending = await agent_answers(client, backend, asked, telling, asks, interrupts)
        if ending.reason == "completed":
            await client.linger()
    about = {"conversation": {"id": client.agent_id or wanted or None}}
    return ending, Record(about, streamed(asked, telling.state))


def _agents_conversation(backend: BackendConfig, options: AskOptions) -> str:
    """Return the id of the session or chat, "" for a new session or chat 0."""
    given = {
        "--model": options.model,
        "--provider": options.provider,
        "--tools": options.tools,
        "--allow": None if backend.kind == SOCKET and backend.workspace else options.allow or None,
        "--workspace": options.workspace,
        "--thinking": options.thinking,
    }
    if named := [name for name, value in given.items() if value is not None]:
        raise ConfigError(
            f"{named[0]} is not for backends of kind {backend.kind}", "such an agent has settings of its own"
        )
    if backend.kind == SOCKET:
        if options.conversation is not None:
            raise ConfigError(
                "--conversation is not for backends of kind socket", "a chat is named by --chat-id"
            )
        return "" if options.chat_id is None else str(options.chat_id)
    return options.conversation or ""
