"""The drafts of chats on disk: attachments and queues."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from agent_tui.model.events import Attachment
from tui.live.drafts import draft_path, read_json, write_kept

MAX_QUEUED: Final = 50
ENDING: Final = ".chat"  # of the name of a file


def new_key() -> str:
    """Return a key that makes a question one, however often it is sent."""
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class Waiting:
    """A waiting question. One that ``is_held`` is sent only when the person says so; later ones pass it."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    key: str = field(default_factory=new_key)
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class KeptDraft:
    """What is kept for one chat, besides the words of its draft."""

    attachments: tuple[Attachment, ...] = ()
    queue: tuple[Waiting, ...] = ()


def load_draft(conversation_id: str) -> KeptDraft:
    """Return what was kept for a chat; nothing if it cannot be read."""
    value = read_json(draft_path(conversation_id, ENDING))
    if not isinstance(value, Mapping):
        return KeptDraft()
    queue = filter(None, map(_waiting, _as_list(value.get("queue"))))
    return KeptDraft(_attachments(value.get("attachments")), tuple(queue))


def keep_draft(conversation_id: str, kept: KeptDraft) -> bool:
    """Keep it; return whether that was possible."""
    text = json.dumps(asdict(kept), ensure_ascii=False) if kept != KeptDraft() else ""
    return write_kept(draft_path(conversation_id, ENDING), text)


def next_in(queue: Sequence[Waiting]) -> Waiting | None:
    """Return the question that is sent next by itself."""
    return next((waits for waits in queue if not waits.is_held), None)


def edited(waits: Waiting, text: str) -> Waiting:
    """Return the question with another text. That is another question: the server may have the old one."""
    return waits if text == waits.text.strip() else replace(waits, text=text, key=new_key())


def moved(queue: Sequence[Waiting], at: int, step: int) -> tuple[Waiting, ...]:
    """Return the queue with one question a place further up or down."""
    to = at + step
    if not (0 <= at < len(queue) and 0 <= to < len(queue)):
        return tuple(queue)
    items = list(queue)
    items.insert(to, items.pop(at))
    return tuple(items)


def _waiting(value: object) -> Waiting | None:
    if not isinstance(value, Mapping) or not isinstance(text := value.get("text"), str):
        return None
    key = value.get("key")
    key = key if isinstance(key, str) and key else new_key()
    return Waiting(text, _attachments(value.get("attachments")), key)


def _attachments(value: object) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(item["name"], item["content"], item["type"])
        for item in _as_list(value)
        if isinstance(item, Mapping)
        and all(isinstance(item.get(name), str) for name in ("name", "content", "type"))
    )


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
