"""``agent-tui conversations list|search|show|delete|rename``: one answer each, as text or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Final

from agent_tui.clients.chat import ChatClient
from agent_tui.clients.records import Hit, read_all
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import ConversationInfo
from agent_tui.model.inert import inert_line
from agent_tui.wire.chat_encode import conversation_fields
from tui.cli import output
from tui.cli.commands import asking, connect
from tui.cli.output import OutputFormat
from tui.lists.order import ago, by_activity
from tui.live.texts import model_name
from tui.request import Source
from tui.screens.localised import localised
from tui.screens.words import count, list_of, say

HEAD: Final = ("ID", "TITLE", "STATUS", "MODEL", "TOKENS", "CHANGED")
MAX_SNIPPET_CHARACTERS: Final = 300
NO_CONVERSATIONS: Final = 'no conversations yet; agent-tui ask "…" begins one'
NOTHING_FOUND: Final = "nothing was found"
UNTITLED: Final = "untitled"
_MARKS: Final = str.maketrans("", "", "\2\3")  # around the matches of a search


def list_conversations(source: Source, archived: bool, output_format: OutputFormat) -> None:
    """Print the conversations in the order of the screen; as JSON the body of ``GET /api/conversations``."""
    if output_format == "json":
        which = {"archived": "1"} if archived else None
        output.write_json(CONVERSATIONS.ask(source, lambda client: client.list_raw(which)))
        return
    everything = CONVERSATIONS.ask(source, lambda client: client.list_all(archived=True))
    short = _short(everything)
    wanted = [conversation for conversation in everything if archived or not conversation.archived]
    rows = [_row(conversation, short) for conversation in sorted(wanted, key=by_activity)]
    asking.print_table(HEAD, rows, NO_CONVERSATIONS)


def search(source: Source, wanted: str, limit: int, output_format: OutputFormat) -> None:
    """Print the messages that contain ``wanted``, newest first; as JSON the body of ``GET /api/search``."""
    if output_format == "json":
        output.write_json(CONVERSATIONS.ask(source, lambda client: client.search_raw(wanted, limit)))
        return

    async def find(client: ChatClient) -> tuple[list[Hit], Mapping[str, str]]:
        hits = read_all(Hit, await client.search_raw(wanted, limit), "hits")
        return hits, await ids_of_conversations(client) if hits else {}

    hits, short = CONVERSATIONS.ask(source, find)
    if any(hit.kind == "room" for hit in hits):
        with suppress(AgentTuiError):  # not every server of chats lists rooms
            rooms = asking.ask_server(
                source, connect.rooms_client, lambda client: client.list_all(archived=True)
            )
            short = {**short, **asking.short_ids([(room.id, room.name) for room in rooms])}
    if hits:
        output.say("\n\n".join(_hit_text(hit, short) for hit in hits))
    else:
        output.notice(localised(NOTHING_FOUND))


def rename(source: Source, wanted: str, title: str, output_format: OutputFormat) -> None:
    """Give a conversation another title."""
    renamed = CONVERSATIONS.of_one(source, wanted, lambda client, id_: client.change(id_, title=title))
    asking.print_one(
        f"renamed {CONVERSATIONS.title_of(renamed)}", conversation_fields(renamed), output_format
    )


async def ids_of_conversations(client: ChatClient) -> Mapping[str, str]:
    """Return the short id of every conversation, by its whole id."""
    return _short(await client.list_all(archived=True))


# --- how conversations read --------------------------------------------------------------------------------


def _short(conversations: Sequence[ConversationInfo]) -> Mapping[str, str]:
    return asking.short_ids([(conversation.id, conversation.title) for conversation in conversations])


def _row(conversation: ConversationInfo, short: Mapping[str, str]) -> tuple[str, ...]:
    return (
        short[conversation.id],
        inert_line(conversation.title, asking.MAX_NAME_CHARACTERS) or UNTITLED,
        _status(conversation),
        model_name(conversation.model, conversation.provider_id),
        count(conversation.tokens),
        ago(conversation.updated_at),
    )


def _status(conversation: ConversationInfo) -> str:
    status = f"{conversation.status}, archived" if conversation.archived else conversation.status
    return asking.standing(conversation, status)


def _facts(conversation: ConversationInfo) -> str:
    temperature, tools = conversation.temperature, conversation.enabled_tools
    default = say("fact.all" if conversation.kind == "voice" else "command.tools.default")
    facts = [
        ("id", conversation.id),
        ("title", conversation.title),
        ("status", _status(conversation)),
        ("system prompt", conversation.system_prompt),
        ("model", model_name(conversation.model, conversation.provider_id)),
        ("provider", conversation.provider_id),
        ("temperature", "" if temperature is None else f"{temperature:g}"),
        ("thinking", {True: say("fact.on"), False: say("fact.off"), None: ""}[conversation.thinking_enabled]),
        ("tools", default if tools is None else list_of(tools) or say("fact.none")),
        ("folder", conversation.workspace),
        ("budget", asking.budget(conversation)),
        ("used", asking.spent(conversation.tokens, conversation.cost)),
        ("last message", conversation.last_words),
        ("created", ago(conversation.created_at)),
        ("changed", ago(conversation.updated_at)),
    ]
    return output.table([(localised(label), text) for label, text in facts if text])


def _hit_text(hit: Hit, short: Mapping[str, str]) -> str:
    id_ = short.get(hit.conversation_id, hit.conversation_id)
    title = inert_line(hit.title, asking.MAX_NAME_CHARACTERS) or UNTITLED
    kind = localised("room") if hit.kind == "room" else ""
    about = (inert_line(id_), title, kind, localised(inert_line(hit.role)), ago(hit.created_at))
    words = inert_line(hit.snippet.translate(_MARKS), MAX_SNIPPET_CHARACTERS)
    return f"{'  '.join(text for text in about if text)}\n  {words}"


CONVERSATIONS: Final = asking.CommandKind(
    connect.chat_client, connect.conversation_id, attrgetter("title"), _facts, conversation_fields
)
show: Final = CONVERSATIONS.show
delete: Final = CONVERSATIONS.delete
