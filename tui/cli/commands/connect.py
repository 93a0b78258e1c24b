"""The connection of a command to its server: one client, opened for as long as the command runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agent_tui.clients.chat import ChatClient
from agent_tui.clients.conversations import Conversations
from agent_tui.clients.http import Net
from agent_tui.clients.rooms import RoomsClient
from agent_tui.config.file import DEMO_PROVIDER, missing_file
from agent_tui.config.room_file import FileAgent
from agent_tui.model.errors import ConfigError, NotFound, NotOffered
from agent_tui.model.events import AgentInfo, ConversationInfo, RoomInfo
from agent_tui.model.settings import settings_of
from tui.cli import output
from tui.cli.commands.asking import check_tools
from tui.cli.commands.new_room import NewRoom
from tui.cli.commands.pick import find_conversation, find_room
from tui.live.texts import unpriced_text
from tui.request import Server
from tui.screens.localised import localised

# The prompt of an agent with only a name: without it a model would not know whose turn it takes.
AGENT_PROMPT = (
    "You are {name}, one of several who talk a task through. Answer what the others said, by name, add what "
    "is new, and be brief. Speak the language of the task."
)

DEMO_ADVICE = "set up a provider with agent-tui models setup, or name it: --provider demo"


@asynccontextmanager
async def rooms_client(server: Server) -> AsyncGenerator[RoomsClient, None]:
    """Yield a client of ``server``, closed at the end; raises ``ConfigError`` for an unusable address."""
    async with Net(server.url, token=server.token, timeout=server.timeout) as net:
        yield RoomsClient(net, server.paths, run_timeout=server.run_timeout)


@asynccontextmanager
async def chat_client(server: Server) -> AsyncGenerator[ChatClient, None]:
    """Yield a client for the chats of ``server``, as ``rooms_client`` for its rooms."""
    async with Net(server.url, token=server.token, timeout=server.timeout) as net:
        yield ChatClient(net, server.paths, silence_seconds=server.timeout)


async def conversation_id(client: ChatClient, wanted: str) -> str:
    """Return the id of the wanted chat, as ``room_id``."""
    try:
        conversations: Sequence[ConversationInfo] = await client.list_all(archived=True)
    except (NotFound, NotOffered):
        return wanted
    return find_conversation(conversations, wanted)


async def room_id(client: RoomsClient, wanted: str) -> str:
    """Return the id of the wanted room, archived or not; on a server without a list, ``wanted`` is the id."""
    try:
        rooms: Sequence[RoomInfo] = await client.list_all(archived=True)
    except (NotFound, NotOffered):
        return wanted
    return find_room(rooms, wanted)


def refuse_demo(providers: Iterable[str]) -> None:
    """Raise ``ConfigError`` if the demo model is among the providers that would speak."""
    if DEMO_PROVIDER in providers:
        raise ConfigError("the demo model would answer, but nothing names it", DEMO_ADVICE)


def tell_demo(speakers: Iterable[AgentInfo | ConversationInfo], *, embedded: bool) -> None:
    """Say on stderr that the demo model speaks in place of a model that was named, or of those of a config
    file that was named and is not there; ``embedded``: our own backend reads it.
    """
    models = dict.fromkeys(speaker.model for speaker in speakers if speaker.provider_id == DEMO_PROVIDER)
    for name in models:
        if name not in ("", DEMO_PROVIDER):
            output.notice(localised(f"no provider is set up: the demo model answers in place of {name}"))
    if embedded and models and (missing := missing_file()):
        output.notice(localised(f"there is no file {missing} (AGENT_TUI_CONFIG): the demo model answers"))


def tell_unpriced(room: RoomInfo) -> None:
    """Say on stderr that the room's budget in dollars does not limit some of its models."""
    if text := unpriced_text(room):
        output.notice(text)


async def default_provider(client: Conversations[Any]) -> str | None:
    """Return the default provider, ``None`` if unknown; raises ``ConfigError`` if it is the demo model."""
    try:
        listed = await client.backend.providers()
    except NotOffered:
        return None
    refuse_demo(provider.id for provider in listed[:1])
    return listed[0].id if listed else None


async def create(client: RoomsClient, new: NewRoom, *, embedded: bool) -> RoomInfo:
    """Make the room that command line and room file describe, in our own backend if ``embedded``; raises
    ``ConfigError`` for tools that are not there, and if it is strict and the demo model would speak without
    being named.
    """
    if tools := new.values.get("enabled_tools"):
        await check_tools(client, tools)
    provider: str | None = new.provider
    is_named = bool(provider) or all(agent.provider for agent in new.agents or [FileAgent()])
    if new.strict and not is_named:
        provider = await default_provider(client)
    fields: dict[str, Any] = dict(new.values)
    if new.agents is not None:
        fields["agents"] = [_agent(agent, provider) for agent in new.agents]
    if provider:
        fields["provider_id"] = provider
    room = await client.create(**fields)
    tell_demo(room.agents, embedded=embedded and not is_named)
    tell_unpriced(room)
    return room


def _agent(agent: FileAgent, provider: str | None) -> dict[str, str]:
    fields = {setting.name: getattr(agent, setting.called) for setting in settings_of(AgentInfo).values()}
    fields["system_prompt"] = agent.prompt or AGENT_PROMPT.format(name=agent.name)
    fields["provider_id"] = agent.provider or provider or ""
    return {name: value for name, value in fields.items() if value}
