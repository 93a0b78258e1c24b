"""``agent-tui conversations list|search|delete|rename``: one answer each, as text or as JSON."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, Literal, TypeVar

from agent_tui.clients.chat import ChatClient
from agent_tui.clients.chat_answers import Hit, read_hits
from agent_tui.config import DEMO_PROVIDER
from agent_tui.errors import ConfigError
from agent_tui.events import ConversationInfo
from agent_tui.inert import inert_line
from agent_tui.wire.chat import decode_conversations
from agent_tui.wire.chat_encode import conversation_fields
from tui import connect, exits, output
from tui.request import Source, reach
from tui.rooms_commands import age

OutputFormat = Literal["text", "json"]
Answer = TypeVar("Answer")
MAX_TITLE_CHARACTERS: Final = 60
MAX_SNIPPET_CHARACTERS: Final = 300
NO_CONVERSATIONS: Final = 'no conversations yet; agent-tui ask "…" begins one'
NOTHING_FOUND: Final = "nothing was found"
UNTITLED: Final = "untitled"
_MARKS: Final = str.maketrans("", "", "\2\3")  # around what a search found


def ask_server(source: Source, question: Callable[[ChatClient], Awaitable[Answer]]) -> Answer:
    """Return what the server answers; the embedded backend is waited for first."""
    server = reach(source)

    async def ask() -> Answer:
        async with connect.chat_client(server) as client:
            return await question(client)

    return asyncio.run(ask())


def list_conversations(source: Source, archived: bool, output_format: OutputFormat) -> int:
    """Print the conversations; as JSON the body of ``GET /api/conversations`` as it was answered."""
    body = ask_server(source, lambda client: client.conversations_raw(archived))
    if output_format == "json":
        output.write_json(body)
        return exits.DONE
    conversations = decode_conversations(body)
    if conversations:
        now = datetime.now(UTC)
        head = ("ID", "TITLE", "STATUS", "MODEL", "TOKENS", "CHANGED")
        output.say(output.table([head, *(_row(conversation, now) for conversation in conversations)]))
    else:
        output.notice(NO_CONVERSATIONS)
    return exits.DONE


def search(source: Source, words: str, limit: int, output_format: OutputFormat) -> int:
    """Print the messages that hold ``words``, newest first; as JSON the body of ``GET /api/search``."""
    body = ask_server(source, lambda client: client.search_raw(words, limit))
    if output_format == "json":
        output.write_json(body)
        return exits.DONE
    hits = read_hits(body)
    if hits:
        now = datetime.now(UTC)
        output.say("\n\n".join(_told(hit, now) for hit in hits))
    else:
        output.notice(NOTHING_FOUND)
    return exits.DONE


def delete(source: Source, wanted: str, yes: bool, output_format: OutputFormat) -> int:
    """Delete a conversation, asking first; raises ``ConfigError`` when nobody can be asked."""
    if not yes and not sys.stdin.isatty():
        raise ConfigError("deleting needs --yes where nobody can be asked")

    async def deleted(client: ChatClient) -> ConversationInfo | None:
        id_ = await connect.conversation_id(client, wanted)
        conversation = await client.conversation_as_known(id_)
        if not yes and not output.agrees(f"delete {called(conversation)} and everything said in it?"):
            return None
        await client.delete(id_)
        return conversation

    conversation = ask_server(source, deleted)
    if conversation is None:
        output.notice("kept")
        return exits.DONE
    return _print(conversation, f"deleted {called(conversation)}", output_format)


def rename(source: Source, wanted: str, title: str, output_format: OutputFormat) -> int:
    """Give a conversation another title."""

    async def renamed(client: ChatClient) -> ConversationInfo:
        return await client.change(await connect.conversation_id(client, wanted), title=title)

    conversation = ask_server(source, renamed)
    return _print(conversation, f"renamed {called(conversation)}", output_format)


# --- how conversations read --------------------------------------------------------------------------------


def called(conversation: ConversationInfo) -> str:
    """Return a conversation as it is called where both its id and its title help."""
    title = inert_line(conversation.title, MAX_TITLE_CHARACTERS)
    return f"{inert_line(conversation.id)} ({title})" if title else inert_line(conversation.id)


def _print(conversation: ConversationInfo, text: str, output_format: OutputFormat) -> int:
    if output_format == "json":
        output.write_json(conversation_fields(conversation))
    else:
        output.say(text)
    return exits.DONE


def _row(conversation: ConversationInfo, now: datetime) -> tuple[str, ...]:
    title = inert_line(conversation.title, MAX_TITLE_CHARACTERS) or UNTITLED
    status = f"{conversation.status}, archived" if conversation.archived else conversation.status
    model = "demo model" if conversation.provider_id == DEMO_PROVIDER else conversation.model
    tokens = f"{conversation.tokens:,}"
    return conversation.id, title, status, model, tokens, age(conversation.updated_at, now)


def _told(hit: Hit, now: datetime) -> str:
    title = inert_line(hit.title, MAX_TITLE_CHARACTERS) or UNTITLED
    about = (inert_line(hit.conversation_id), title, inert_line(hit.role), age(hit.created_at, now))
    words = inert_line(hit.snippet.translate(_MARKS), MAX_SNIPPET_CHARACTERS)
    return f"{'  '.join(text for text in about if text)}\n  {words}"
