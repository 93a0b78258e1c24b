"""``agent-tui conversations export``: a conversation as one document."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_tui.clients.chat import ChatClient
from agent_tui.model.chains import joined
from agent_tui.model.errors import AgentTuiError, NotFound, NotOffered
from agent_tui.model.events import ConversationInfo, Message
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from agent_tui.wire.chat import decode_messages
from agent_tui.wire.chat_encode import conversation_fields, stored_message_fields
from tui.cli import exits
from tui.cli.commands import connect
from tui.cli.commands.asking import asked
from tui.cli.export.document import (
    Document,
    deliver,
    deliver_json,
    moment,
    named,
    rendered,
    spent,
    state_named,
    with_prompts,
)
from tui.cli.export.srt import subtitles
from tui.cli.headless.formats import as_told
from tui.request import Source
from tui.screens.words import say, say_count


@dataclass(frozen=True, slots=True)
class ExportedChat:
    """What a server has on record of one conversation; the raw ones are as it answered them."""

    conversation: ConversationInfo
    messages: Sequence[Message]
    raw_conversation: object
    raw_messages: Sequence[object]


def export_conversation(
    source: Source, wanted: str, form: Literal["md", "json", "html", "srt"], out: Path | None
) -> int:
    """Write the conversation that ``wanted`` means to ``out`` or stdout: the branch of it that is shown.

    Raises ``ConfigError`` when the file cannot be written, and what the client raises.
    """

    async def chat_of(client: ChatClient) -> ExportedChat:
        return await fetch(client, await connect.conversation_id(client, wanted))

    chat = asked(source, connect.chat_client, chat_of)
    if form == "json":
        deliver_json(raw_fields(chat), out)
    elif form == "srt":
        deliver(subtitles(joined(chat.messages)), out, is_harmless=True)
    else:
        deliver(rendered(of_conversation(chat.conversation, chat.messages), form), out)
    return exits.DONE


async def fetch(client: ChatClient, conversation_id: str) -> ExportedChat:
    """Return what the server has on record. Raises ``NotOffered`` for one that keeps no messages."""
    try:
        messages = await client.messages_raw(conversation_id)
    except (NotFound, NotOffered) as error:
        await client.as_known(conversation_id)
        raise NotOffered("this server does not offer what was said", str(error)) from error
    conversation = await client.as_known(conversation_id)
    raw: object = conversation_fields(conversation)
    with contextlib.suppress(AgentTuiError):
        raw = await client.show_raw(conversation_id)
    return ExportedChat(conversation, decode_messages(messages), raw, messages)


def shown(state: ConversationState) -> ExportedChat:
    """Return the conversation as a screen has it, for servers that keep none."""
    messages = [_message(state.conversation.id, turn) for turn in state.turns.values()]
    raw = [stored_message_fields(message) for message in messages]
    return ExportedChat(state.conversation, messages, conversation_fields(state.conversation), raw)


def _message(conversation_id: str, turn: Turn) -> Message:
    return Message(
        turn.id,
        conversation_id,
        turn.role,
        "",
        turn.text,
        turn.sender_name,
        turn.sender_color,
        turn.round_number,
        turn.token_count,
        turn.created_at,
        interrupted=turn.interrupted,
        error=turn.error,
        usage=turn.usage,
        steps=() if turn.role == "user" else tuple(as_told(step) for step in turn.steps.all.values()),
        attachments=turn.attachments,
        seconds=turn.seconds,
    )


def raw_fields(chat: ExportedChat) -> dict[str, object]:
    """Return the document that is JSON: all as the server answered it."""
    return {"conversation": chat.raw_conversation, "messages": list(chat.raw_messages)}


def of_conversation(conversation: ConversationInfo, messages: Sequence[Message]) -> Document:
    """Return the document of a conversation."""
    found = [
        (say("export.conversation"), conversation.id),
        (say("export.status"), state_named(conversation.status)),
        (say("export.model"), named(conversation.provider_id, conversation.model)),
        (say("export.prompt"), conversation.system_prompt),
        (say("export.used"), spent(conversation.tokens, conversation.cost)),
        (say("export.made"), moment(conversation.created_at)),
        (say("export.changed"), moment(conversation.updated_at)),
        (say("export.left_out"), _left_out(messages)),
    ]
    facts = with_prompts([(label, text) for label, text in found if text], messages)
    return Document(conversation.title or conversation.id, facts, joined(messages))


def _left_out(messages: Sequence[Message]) -> str:
    """Say how many versions of these messages the chat has besides; "" for none."""
    others = sum(len(set(message.versions) - {message.id}) for message in messages)
    return say_count("export.versions", others) if others else ""
