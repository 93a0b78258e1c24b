"""Checks what callers send about chats, and returns chats as callers see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from types import MappingProxyType
from uuid import uuid4

from agent_tui.backend.engine.fields import (
    check_settings,
    checked_value,
    columns,
    refuse,
    settings_of_new,
    stored_settings,
    with_model,
)
from agent_tui.backend.engine.resources import ModelSource
from agent_tui.backend.engine.words import checked_key, storable
from agent_tui.backend.store.rows import CHATS, AgentsSet, Change, ConversationRow, ConversationSet
from agent_tui.model.events import AgentInfo, Attachment, ConversationInfo, SpeechRecord
from agent_tui.model.images import (
    IMAGE_TYPES,
    MAX_IMAGE_BYTES,
    attached_image,
    bytes_of,
    image_data,
    is_image,
)
from agent_tui.model.settings import Setting, Values, settings_of

MAX_CONTENT_CHARACTERS = 1_000_000
MAX_KEEP_CHARACTERS = 4_000  # of what a summary should keep
MAX_ATTACHMENTS = 20
MAX_FILE_NAME_CHARACTERS = 1_000
TITLE_CHARACTERS = 60

_SPEAKER = Setting(name="speaker", most=200, is_name=True)
_SETTINGS = settings_of(ConversationInfo)
_OF_AGENT = settings_of(ConversationInfo).keys() & settings_of(AgentInfo).keys()


@dataclass(frozen=True, slots=True)
class QuestionFields:
    """A question. ``thinking`` and ``tools`` ``None``: as the conversation's settings.

    ``parent_id`` is the answer that it follows, "" the beginning of the conversation, ``None`` the newest one
    of the shown branch. ``again`` is the id of a question to answer again, ``continues`` that of an answer to
    continue, both without content. The same ``client_key`` again is the same question. ``system_prompt`` is
    for this answer only, instead of the conversation's. ``answer_id`` is the id for its answer, "" for a new
    one. With ``is_alone`` nobody is asked what a tool may do.
    """

    content: str = ""
    attachments: tuple[Attachment, ...] = ()
    thinking: bool | None = None
    tools: tuple[str, ...] | None = None
    parent_id: str | None = None
    again: str = ""
    continues: str = ""
    client_key: str = ""
    system_prompt: str | None = None
    answer_id: str = ""
    is_alone: bool = False


@dataclass(frozen=True, slots=True)
class RecordedSpeech:
    """What was said in a voice session: how the message ``message_id`` was spoken, or else a whole message
    that no model of ours was asked for. The same ``client_key`` again is the same message. ``speaker`` is who
    said it, for an assistant; ``is_cut``: the person cut in.
    """

    spoken: SpeechRecord
    message_id: str = ""
    client_key: str = ""
    role: str = ""
    content: str = ""
    speaker: str = ""
    is_cut: bool = False


def chat_row(new: Values, models: ModelSource, now: str) -> ConversationRow:
    """Return the row of a new chat; raises ``Refused`` (422) for invalid values.

    Besides the settings, ``new`` may have its ``kind``, and a ``client_key``: the same one again is the same
    conversation.
    """
    values = settings_of_new(ConversationInfo, new)
    provider, model = with_model(values, models)
    kind = new.get("kind") or CHATS[0]
    if kind not in CHATS:
        refuse("There is no such kind of conversation", f"kind is {' or '.join(CHATS)}.")
    key = new.get("client_key")
    row = ConversationRow(
        id=id_of(key) if key else uuid4().hex,
        name="",
        agents=(AgentInfo(uuid4().hex, model),),
        created_at=now,
        updated_at=now,
        is_named=bool(values["title"]),
        kind=kind,
    )
    return _with(row, values | {"provider_id": provider, "model": model})


def changed_row(row: ConversationRow, change: Values, models: ModelSource) -> ConversationRow:
    """Return the changed chat; raises ``Refused`` (422)."""
    values = check_settings(ConversationInfo, change)
    if "provider_id" in values or "model" in values:
        was = row.agent
        provider, model = with_model(values, models, provider=was.provider_id, model=was.model)
        values |= {"provider_id": provider, "model": model}
    return replace(_with(row, values), is_named=row.is_named or "title" in values)


def _with(row: ConversationRow, values: Values) -> ConversationRow:
    of_agent = {name: value for name, value in values.items() if name in _OF_AGENT}
    own = {name: value for name, value in values.items() if name not in _OF_AGENT}
    return replace(row, **columns(own), agents=(replace(row.agent, **of_agent),))


def changes_to(row: ConversationRow) -> list[Change]:
    """Return what stores everything in ``row`` that can be changed."""
    settings = stored_settings(ConversationInfo, row, row.agent)
    own = columns({name: value for name, value in settings.items() if name not in _OF_AGENT})
    return [ConversationSet(own | {"is_named": row.is_named}), AgentsSet(row.agents)]


def checked_question(question: QuestionFields) -> QuestionFields:
    """Return the question, safe to store; raises ``Refused`` (422)."""
    if question.again or question.continues:
        if question.content or question.attachments or question.parent_id is not None:
            refuse("A retried question cannot have new words", "Leave out content, attachments, parent_id.")
        if question.again and question.continues:
            refuse("An answer is continued or given again, not both", "Leave out again or continues.")
    elif not question.content.strip() and not question.attachments:
        refuse("The question is empty", "Say something, or attach a file.")
    if len(question.content) > MAX_CONTENT_CHARACTERS:
        length = f"It has {len(question.content):,} of at most {MAX_CONTENT_CHARACTERS:,} characters."
        refuse("The question is too long", length)
    if len(question.attachments) > MAX_ATTACHMENTS:
        refuse("There are too many attachments", f"At most {MAX_ATTACHMENTS} attachments.")
    return replace(
        question,
        content=storable(question.content),
        attachments=tuple(map(_checked_attachment, question.attachments)),
        client_key=checked_key(question.client_key),
        tools=checked_value(_SETTINGS["enabled_tools"], question.tools),
        system_prompt=checked_value(_SETTINGS["system_prompt"], question.system_prompt),
    )


def checked_keep(keep: str) -> str:
    """Return what a summary should keep in one paragraph; raises ``Refused`` (422) if it is too long."""
    if len(keep) > MAX_KEEP_CHARACTERS:
        refuse("keep is too long", f"At most {MAX_KEEP_CHARACTERS:,} characters.")
    return storable(" ".join(keep.split()))


def checked_recorded(recorded: RecordedSpeech) -> RecordedSpeech:
    """Return what was said, safe to store; raises ``Refused`` (422)."""
    if recorded.message_id:
        if recorded.content or recorded.role:
            refuse("A stored message already has its words", "Leave out role and content, or message_id.")
    elif recorded.role not in ("user", "assistant"):
        refuse("Nobody said this", "role is user or assistant.")
    elif not recorded.client_key:
        refuse("The message has no client_key", "With the same one again it is the same message.")
    elif not recorded.content.strip():
        refuse("The message is empty", "content is what was said.")
    for text in (recorded.content, recorded.spoken.text):
        if len(text) > MAX_CONTENT_CHARACTERS:
            refuse("The message is too long", f"At most {MAX_CONTENT_CHARACTERS:,} characters.")
    return replace(
        recorded,
        content=storable(recorded.content),
        client_key=checked_key(recorded.client_key),
        speaker=checked_value(_SPEAKER, recorded.speaker),
        spoken=replace(recorded.spoken, text=storable(recorded.spoken.text)),
    )


def id_of(*keys: str) -> str:
    """Return the id for these keys, always the same, as long as any other id."""
    return sha256("\0".join(keys).encode(errors="replace")).hexdigest()[: len(uuid4().hex)]


def title_of(question: QuestionFields) -> str:
    """Return the title of a conversation with this beginning: the first line, or a file's name."""
    words = question.content.strip() or question.attachments[0].name
    return words.splitlines()[0][:TITLE_CHARACTERS].strip()


def conversation_info(
    row: ConversationRow,
    turn_states: Mapping[str, str] = MappingProxyType({}),
    *,
    running: bool,
    asks: bool = False,
) -> ConversationInfo:
    """Return the chat as ``GET /api/conversations/{id}`` answers it; ``turn_states`` is for rooms."""
    return ConversationInfo(
        **stored_settings(ConversationInfo, row, row.agent),
        id=row.id,
        status="running" if running else "idle",
        tokens=row.used_tokens,
        cost=row.used_cost,
        last_words=row.last_words,
        asks=asks,
        interrupted="" if running else row.cut,
        error="" if running else row.error,
        last_event_id=row.last_seq,
        created_at=row.created_at,
        updated_at=row.updated_at,
        kind=row.kind,
    )


def _checked_attachment(attachment: Attachment) -> Attachment:
    name = " ".join(storable(attachment.name).split())
    if not 0 < len(name) <= MAX_FILE_NAME_CHARACTERS:
        refuse("An attachment needs a name", f"Of at most {MAX_FILE_NAME_CHARACTERS:,} characters.")
    type_ = storable(attachment.type[:MAX_FILE_NAME_CHARACTERS])
    if is_image(attachment):
        return _checked_image(name, attachment)
    return Attachment(name, storable(attachment.content), type_)


def _checked_image(name: str, attachment: Attachment) -> Attachment:
    """Return an image with the type of its bytes; raises ``Refused`` (422)."""
    if bytes_of(attachment) > MAX_IMAGE_BYTES:
        most = f"It has {bytes_of(attachment):,} of at most {MAX_IMAGE_BYTES:,} bytes."
        refuse(f"The image {name[:100]} is too large", most)
    image = attached_image(name, image_data(attachment))
    if image is None:
        refuse(f"{name[:100]} is not an image", f"content is the base64 of one of: {', '.join(IMAGE_TYPES)}.")
    return image
