"""Parts of the commands that ask one thing: how a server is asked, and how its answer is shown."""

from __future__ import annotations

import asyncio
import shutil
import sys
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from math import ceil
from os.path import commonprefix
from typing import Any, Generic, TypeVar

from agent_tui.clients.conversations import Conversations
from agent_tui.clients.records import ToolInfo, ToolServer
from agent_tui.model import events as ev
from agent_tui.model.budget import ceilings
from agent_tui.model.errors import AgentTuiError, ConfigError, NotOffered
from agent_tui.model.events import RoomInfo
from agent_tui.model.inert import inert_line
from tui.cli import output
from tui.cli.output import OutputFormat
from tui.live.texts import dollars, guide, left_out, why_paused
from tui.request import Server, Source, reach
from tui.screens.localised import localised
from tui.screens.words import count, list_of, say, say_count

Client = TypeVar("Client")
Shows = TypeVar("Shows", bound=Conversations[Any])
Answer = TypeVar("Answer")
Item = TypeVar("Item", RoomInfo, ev.ConversationInfo)
Opened = Callable[[Server], AbstractAsyncContextManager[Client]]  # such as ``connect.rooms_client``
MAX_NAME_CHARACTERS = 60
SHORT_ID_CHARACTERS = 8
NOTICE_SECONDS = 0.7  # before it is said what the command is waiting for


def ask_server(
    source: Source, opened: Opened[Client], question: Callable[[Client], Awaitable[Answer]]
) -> Answer:
    """Return the server's answer; waits for the embedded backend first."""
    server = reach(source, output.notice)

    async def ask() -> Answer:
        async with opened(server) as client:
            return await question(client)

    return asyncio.run(ask())


@dataclass(frozen=True, slots=True)
class CommandKind(Generic[Shows, Item]):
    """What commands do with one room or one conversation, and how it reads."""

    opened: Opened[Shows]
    id_of: Callable[[Shows, str], Awaitable[str]]  # from what a person wrote; raises for none and for several
    name: Callable[[Item], str]
    described: Callable[[Item], str]
    fields: Callable[[Item], object]  # for JSON

    def title_of(self, item: Item) -> str:
        """Return the id and the name of a room or conversation."""
        id_, name = inert_line(item.id), inert_line(self.name(item), MAX_NAME_CHARACTERS)
        return f"{id_} ({name})" if name else id_

    def ask(self, source: Source, question: Callable[[Shows], Awaitable[Answer]]) -> Answer:
        """Return the server's answer to ``question(client)``."""
        return ask_server(source, self.opened, question)

    def of_one(self, source: Source, wanted: str, act: Callable[[Shows, str], Awaitable[Answer]]) -> Answer:
        """Return the server's answer to ``act(client, id)`` about the ``wanted`` room or conversation."""

        async def acted(client: Shows) -> Answer:
            return await act(client, await self.id_of(client, wanted))

        return self.ask(source, acted)

    def show(self, source: Source, wanted: str, output_format: OutputFormat) -> None:
        """Print a room or conversation; as JSON as the server answered it."""
        if output_format == "json":
            output.write_json(self.of_one(source, wanted, lambda client, id_: client.show_raw(id_)))
        else:
            output.say(self.described(self.of_one(source, wanted, lambda client, id_: client.show(id_))))

    def delete(self, source: Source, wanted: str, yes: bool, output_format: OutputFormat) -> None:
        """Delete a room or conversation, after a question; raises ``ConfigError`` if nobody can be asked."""
        if not yes and not sys.stdin.isatty():
            raise ConfigError("deleting needs --yes where nobody can be asked")
        item: Item = self.of_one(source, wanted, lambda client, id_: client.as_known(id_))
        # Outside of the event loop, where ctrl+c would not end the question.
        if not yes and not output.agrees(
            localised(f"delete {self.title_of(item)} and everything said in it?")
        ):
            output.notice(localised("kept"))
            return
        self.ask(source, lambda client: client.delete(item.id))
        print_one(f"deleted {self.title_of(item)}", self.fields(item), output_format)


async def check_tools(client: Conversations[Any], wanted: Sequence[str]) -> None:
    """Raise ``ConfigError`` for tools that are not in the server's list, if it has one."""
    try:
        tools, servers = await client.backend.tools(is_waiting=False)
        unknown = _without(wanted, tools)
        starting = [server.name for server in servers if server.status == "starting"]
        if unknown and starting:
            listing = asyncio.ensure_future(client.backend.tools())
            if not (await asyncio.wait({listing}, timeout=NOTICE_SECONDS))[0]:
                output.notice(waiting_line(list_of(starting)))
            tools, servers = await listing
            unknown = _without(wanted, tools)
    except NotOffered:
        return
    if not unknown:
        return
    for server in servers:
        if server.problem and any(name.startswith(f"{server.name}__") for name in unknown):
            raise AgentTuiError(
                f"MCP server {inert_line(server.name)}: {inert_line(server.problem)}", inert_line(server.fix)
            )
    named = ", ".join(map(inert_line, unknown))
    raise ConfigError(f"there is no tool {named}", "agent-tui tools list names all")


def _without(wanted: Sequence[str], tools: Sequence[ToolInfo]) -> list[str]:
    names = {tool.name for tool in tools}
    return [name for name in wanted if name not in names]


def waiting_line(servers: str) -> str:
    """Return one line that says that these MCP servers are waited for."""
    return say("plain.servers", servers=inert_line(servers))


def note_line(event: ev.TurnNoted) -> str:
    """Return a note about a turn as one line; "" if there is nothing to say. It names the agent, except for
    an MCP server's problem, which is the same for all agents of a room.
    """
    match event.note:
        case "servers_wait" if event.about:
            return waiting_line(event.about)
        case "server_missing":
            return say("plain.server_missing", server=inert_line(localised(event.about)))
        case "form_declined":
            return say("turn.server_missing", server=inert_line(event.about))
        case "file_offered" | "file_saved" | "orphan":
            found = say(f"plain.{event.note}", about=inert_line(event.about))
        case "agent_left" | "not_cancelled":
            found = say(f"plain.{event.note}", about=localised(inert_line(event.about)))
        case "unreadable" | "file_refused":
            found = localised(inert_line(event.about))
        case "progress":
            found = inert_line(event.about)
        case "loading" | "no_tools" | "no_images":
            found = say(f"turn.{event.note}")
        case "guide_unread":
            found = guide(ev.Note(event.note, event.about))
        case "summarising":
            found = say("chat.summarising", count=count(event.count))
        case "trimmed" if event.count:
            found = left_out(event.count)
        case "shortened" if event.count:
            found = say_count("turn.shortened", event.count)
        case "rate_limit":
            found = say("agent.rate_limited", seconds=ceil(event.seconds))
        case _:
            return ""
    name = inert_line(event.agent_name, MAX_NAME_CHARACTERS)
    return f"{name}{say('between.detail')}{found}" if name else found


def step_line(step: ev.Step, agent_name: str = "") -> str:
    """Return one line about a step that tells of a file an agent offered; "" for any other step."""
    is_file = step.type in ("file_saved", "file_refused")
    return note_line(ev.TurnNoted("", step.type, about=step.name, agent_name=agent_name)) if is_file else ""


def server_line(server: ToolServer) -> str:
    """Return one line about an MCP server's problem, and what helps."""
    fix = f"; {server.fix}" if server.fix else ""
    return localised(inert_line(f"MCP server {server.name}: {server.problem}{fix}"))


def print_one(text: str, value: object, output_format: OutputFormat) -> None:
    """Print one thing: ``text`` for a person, ``value`` as JSON."""
    if output_format == "json":
        output.write_json(value)
    else:
        output.say(localised(text))


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], nothing: str) -> None:
    """Print a table, its second column cut to the terminal; without rows stderr says ``nothing``."""
    if found := list(rows):
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        output.say(output.table([[localised(name) for name in head], *found], width=width, crops=1))
    else:
        output.notice(localised(nothing))


def short_ids(named: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return for each id the shortest beginning that is unique among these ids and names."""
    words = sorted(word for pair in named for word in set(pair) if word)
    shortest = {}
    for id_, name in named:
        at = bisect_left(words, id_)
        others = words[max(0, at - 2) : at + 4]
        for own in {id_, name}.intersection(others):
            others.remove(own)  # once: another one may have the same name
        shared = max((len(commonprefix((id_, other))) for other in others), default=0)  # noqa: RUF071  no paths
        shortest[id_] = id_[: max(SHORT_ID_CHARACTERS, shared + 1)]
    return shortest


def status_of(room: RoomInfo) -> str:
    """Return the state of a room, with the reason."""
    return why_paused(room.interrupted) if room.status == "paused" else room.status


def standing(info: Item, status: str) -> str:
    """Return ``status`` for a person: while a tool waits for approval, that it does."""
    return say("chat.asks") if info.asks and info.status == "running" else localised(status)


def spent(tokens: int, cost: float | None) -> str:
    """Return the usage in words; "" if there is none."""
    parts = [say_count("used.tokens", tokens)] if tokens else []
    if cost is not None:
        parts.append(dollars(cost))
    return " · ".join(parts)


def budget(of: RoomInfo | ev.ConversationInfo) -> str:
    """Return the budget in words; "" if there is none."""
    return spent(*ceilings(of))
