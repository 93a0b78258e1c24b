"""What the commands that ask one thing share: how a server is asked, and how its answer is told."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import TypeVar

from agent_tui.clients.chat import ChatClient
from agent_tui.config import DEMO_PROVIDER
from agent_tui.errors import ConfigError, NotOffered
from agent_tui.inert import inert_line
from tui import exits, output
from tui.output import OutputFormat
from tui.request import Server, Source, reach
from tui.screens.words import say

Client = TypeVar("Client")
Answer = TypeVar("Answer")
Opened = Callable[[Server], AbstractAsyncContextManager[Client]]  # ``connect.rooms_client``, say
MAX_NAME_CHARACTERS = 60


def asked(source: Source, opened: Opened[Client], question: Callable[[Client], Awaitable[Answer]]) -> Answer:
    """Return what the server answers; the embedded backend is waited for first."""
    server = reach(source)

    async def ask() -> Answer:
        async with opened(server) as client:
            return await question(client)

    return asyncio.run(ask())


async def check_tools(client: ChatClient, wanted: Sequence[str]) -> None:
    """Raise ``ConfigError`` for tools that the server does not name, where it names its tools."""
    try:
        known = {tool.name for tool in await client.tools()}
    except NotOffered:
        return
    if unknown := [inert_line(name) for name in wanted if name not in known]:
        raise ConfigError(f"there is no tool {', '.join(unknown)}", "agent-tui tools list names all")


def told(text: str, value: object, output_format: OutputFormat) -> int:
    """Print one thing: ``text`` for a person, ``value`` as JSON."""
    if output_format == "json":
        output.write_json(value)
    else:
        output.say(text)
    return exits.DONE


def listed(head: Sequence[str], rows: Iterable[Sequence[str]], nothing: str) -> int:
    """Print a table for a person; without rows stderr says ``nothing``."""
    if found := list(rows):
        output.say(output.table([head, *found]))
    else:
        output.notice(nothing)
    return exits.DONE


def check_may_delete(yes: bool) -> None:
    """Raise ``ConfigError`` where nobody has agreed and nobody can be asked."""
    if not yes and not sys.stdin.isatty():
        raise ConfigError("deleting needs --yes where nobody can be asked")


def agrees_to_delete(called: str) -> bool:
    """Ask the person at the terminal; without their yes stderr says that it was kept."""
    agrees = output.agrees(f"delete {called} and everything said in it?")
    if not agrees:
        output.notice("kept")
    return agrees


def called(id_: str, name: str) -> str:
    """Return a room or conversation as it is called where both its id and its name help."""
    name = inert_line(name, MAX_NAME_CHARACTERS)
    return f"{inert_line(id_)} ({name})" if name else inert_line(id_)


def model_named(provider_id: str, model: str) -> str:
    """Return the model in a line; whatever model was wished for, the demo is called the demo."""
    return "demo model" if provider_id == DEMO_PROVIDER else inert_line(model)


def spent(tokens: int, cost: float | None) -> str:
    """Return what was used, in words; nothing where that is nothing."""
    parts = [f"{tokens:,} tokens"] if tokens else []
    if cost is not None:
        parts.append(f"${cost:,.4f}")
    return " · ".join(parts)


def age(written: str) -> str:
    """Return how long ago a time was, in words up to a day, then as a date; nothing for no time."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return ""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    minutes = (datetime.now(UTC) - moment).total_seconds() // 60
    if minutes < 1:
        return say("time.now")
    if minutes < 60:
        return say("time.minutes", minutes=int(minutes))
    if minutes < 24 * 60:
        return say("time.hours", hours=int(minutes // 60))
    return moment.astimezone().strftime("%Y-%m-%d")
