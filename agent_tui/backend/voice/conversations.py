"""The conversation of a voice room: begun or continued with it, and deleted if it stays empty."""

from __future__ import annotations

import logging

from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.model.errors import NotFound, StoreError
from agent_tui.model.events import ConversationInfo
from agent_tui.voice_instructions import spoken_prompt

log = logging.getLogger(__name__)


async def begin_conversation(engine: Engine, room: str, locale: str, workspace: str) -> ConversationInfo:
    """Make and return the conversation for a voice room's session. Its system prompt says, in the language of
    ``locale``, that the model is heard and not read; ``workspace`` is the folder of its tools, "" for none.
    """
    prompt = spoken_prompt(locale)
    new = {"title": room, "kind": "voice", "system_prompt": prompt, "workspace": workspace}
    return await engine.create(CHATS, new)


async def conversation_before(engine: Engine, conversation_id: str) -> ConversationInfo | None:
    """Return the voice conversation that is to be continued, ``None`` if there is none of that id."""
    before = await find_conversation(engine, conversation_id) if conversation_id else None
    return before if before is not None and before.kind == "voice" else None


async def find_conversation(engine: Engine, conversation_id: str) -> ConversationInfo | None:
    """Return the conversation, ``None`` if it does not exist (any more)."""
    try:
        return await engine.show(CHATS, conversation_id)
    except NotFound:
        return None


async def is_empty(engine: Engine, conversation_id: str) -> bool:
    """Return whether nobody has said anything in a conversation; raises ``StoreError``."""
    try:
        return not (await engine.messages(CHATS, conversation_id, None, 1)).messages
    except NotFound:  # it was deleted
        return True


async def end_conversation(engine: Engine, conversation_id: str) -> None:
    """Delete a voice session in which nobody said anything."""
    try:
        if await is_empty(engine, conversation_id):
            await engine.delete(CHATS, conversation_id)
    except NotFound:  # the conversation was deleted
        pass
    except StoreError as error:  # the room is over in any case
        log.warning("an empty voice conversation stays: %s", error)
