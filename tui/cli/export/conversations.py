"""``agent-tui conversations export``: a conversation as one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agent_tui.clients.chat import ChatClient
from agent_tui.model.chains import join_chains
from agent_tui.model.events import ConversationInfo, Message
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from agent_tui.wire.chat import decode_messages
from agent_tui.wire.chat_encode import conversation_fields, stored_message_fields
from tui.cli.commands.conversations import CONVERSATIONS
from tui.cli.export.document import (
    Document,
    Exported,
    check_spoken,
    export,
    form_of,
    moment,
    on_record,
    spent,
    state_named,
)
from tui.cli.headless.formats import as_told
from tui.cli.output import PROGRAM
from tui.live.texts import model_name
from tui.request import Source
from tui.screens.words import say, say_count


def export_conversation(
    source: Source, wanted: str, form: Literal["md", "json", "html", "srt"] | None, out: Path | None
) -> None:
    """Write the shown branch of the conversation that ``wanted`` means; raises as ``export_room``, and
    ``ConfigError`` for subtitles of one that was not spoken.
    """
    exported = CONVERSATIONS.of_one(source, wanted, fetch)
    form = form or form_of(out, "srt")
    if form == "srt":
        check_spoken(exported, f"see {PROGRAM} conversations export --help")
    export(exported, form, out)


async def fetch(client: ChatClient, conversation_id: str) -> Exported:
    """Return the document of a conversation; raises as ``on_record``."""
    refusal = "this server does not offer the messages of a conversation"
    info, fields = await on_record(client, conversation_id, "conversation", conversation_fields, refusal)
    return of_conversation(info, decode_messages(fields["messages"])), fields


def on_screen(state: ConversationState) -> Exported:
    """Return the document of a conversation from a screen, for servers that store none."""
    info = state.conversation
    messages = [_message(info.id, turn) for turn in state.turns.values()]
    raw = [stored_message_fields(message) for message in messages]
    return of_conversation(info, messages), {"conversation": conversation_fields(info), "messages": raw}


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


def of_conversation(conversation: ConversationInfo, messages: Sequence[Message]) -> Document:
    found = [
        (say("export.conversation"), conversation.id),
        (say("export.status"), state_named(conversation.status)),
        (say("export.model"), _model(conversation, messages)),
        (say("export.prompt"), conversation.system_prompt),
        (say("export.used"), spent(conversation, messages)),
        (say("export.made"), moment(conversation.created_at)),
        (say("export.changed"), moment(conversation.updated_at)),
        (say("export.left_out"), _left_out(messages)),
    ]
    facts = [(label, text) for label, text in found if text]
    return Document(
        conversation.title or conversation.id, facts, [_named(message) for message in join_chains(messages)]
    )


def _model(conversation: ConversationInfo, messages: Sequence[Message]) -> str:
    """Return the model's name; "" for a voice session in which only other people's agents answered."""
    speakers = {message.sender_name for message in messages if message.role == "assistant"}
    is_others = conversation.kind == "voice" and speakers and conversation.model not in speakers
    return "" if is_others else model_name(conversation.model, conversation.provider_id)


def _named(message: Message) -> Message:
    """Return a message whose speaker, in a chat its model, has the name that screens show."""
    return replace(message, sender_name=model_name(message.sender_name, provider_id=message.sender_name))


def _left_out(messages: Sequence[Message]) -> str:
    """Return how many other versions of these messages the chat has, in words; "" for none."""
    others = sum(len(set(message.versions) - {message.id}) for message in messages)
    return say_count("export.versions", others) if others else ""
