"""Messages of people to a room: what is refused, and what is stored."""

from __future__ import annotations

from dataclasses import dataclass

from agent_tui.backend.engine.words import storable
from agent_tui.backend.store.rows import ConversationRow, InboxPut, InboxSet
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import QueuedMessage

MAX_WORDS_CHARACTERS = 100_000
MAX_QUEUE = 1_000  # of one room; each answer about the queue lists them all
WHEN = ("next", "now")

Queue = tuple[QueuedMessage, ...]


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """A message to a room, as received."""

    content: str
    when: str
    to: str
    client_key: str


def put(room: ConversationRow, words: InboxMessage, message_id: str, now: str) -> InboxPut:
    """Return the write that queues ``words``; raise ``Refused`` (409, 422)."""
    if room.archived:
        raise Refused("The room is archived", "Take it out of the archive first.", status=409)
    if room.status == "completed":
        raise Refused("The room is completed", "Add a round first: nobody would answer.", status=409)
    if len(room.queue) >= MAX_QUEUE:
        raise Refused("Too many messages are queued", f"The queue holds {MAX_QUEUE:,} messages.", status=409)
    if words.when not in WHEN:
        raise Refused("Unknown time to say it", f"when is one of: {', '.join(WHEN)}.", status=422)
    return InboxPut(
        id=message_id,
        content=_check_content(words.content),
        to_agent=_checked_to(room, words.to),
        when_=words.when,
        sender_name="",
        client_key=words.client_key,
        created_at=now,
    )


def change(room: ConversationRow, message_id: str, content: str | None, to: str | None) -> InboxSet:
    """Return what changes a waiting message; ``None`` leaves a field as it is. Raises ``Refused`` (422)."""
    values = {}
    if content is not None:
        values["content"] = _check_content(content)
    if to is not None:
        values["to_agent"] = _checked_to(room, to)
    return InboxSet((message_id,), values or {"state": "queued"})


def drop(message_id: str) -> InboxSet:
    """Return what removes a waiting message."""
    return InboxSet((message_id,), {"state": "removed"})


def check_waits(message_id: str, state: str) -> None:
    """Raise ``Refused`` (409) for a message that was said, ``NotFound`` for one that was removed."""
    if state == "taken":
        raise Refused("This was already said", "What is said cannot be changed.", status=409)
    if state != "queued":
        raise NotFound(f"There is no message {message_id[:100]} in the queue", status=404)


def _check_content(content: str) -> str:
    if not content.strip():
        raise Refused("The message is empty", "Say something.", status=422)
    if len(content) > MAX_WORDS_CHARACTERS:
        detail = f"It has {len(content):,} of at most {MAX_WORDS_CHARACTERS:,} characters."
        raise Refused("The message is too long", detail, status=422)
    return storable(content)


def _checked_to(room: ConversationRow, to: str) -> str:
    if to and all(agent.id != to for agent in room.agents):
        detail = "A whisper is for an agent that takes turns in this room."
        raise Refused(f"There is no agent {to[:100]} in this room", detail, status=422)
    return to
