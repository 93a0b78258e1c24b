"""What callers say about chats, checked; and chats as callers see them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from typing import NoReturn
from uuid import uuid4

from agent_tui.backend.engine.rooms import (
    MAX_MODEL_CHARACTERS,
    MAX_PROMPT_CHARACTERS,
    MAX_ROOM_NAME_CHARACTERS,
    checked_answer,
    checked_cost,
    checked_name,
    checked_provider,
    checked_tokens,
)
from agent_tui.backend.engine.tool_fields import checked_tools, checked_workspace
from agent_tui.backend.engine.turn import ModelSource
from agent_tui.backend.engine.words import checked_key, storable
from agent_tui.backend.store.chat_rows import ChatRow, Value
from agent_tui.model.errors import Refused
from agent_tui.model.events import Attachment, ConversationInfo, Spoken
from agent_tui.wire.content import dump

MAX_CONTENT_CHARACTERS = 1_000_000
MAX_ATTACHMENTS = 20
MAX_FILE_NAME_CHARACTERS = 1_000
MAX_TEMPERATURE = 2.0
TITLE_CHARACTERS = 60
CHAT_KINDS = ("chat", "voice")


class Unset(Enum):
    """Stands where None would mean something."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A chat to make; what is left out gets a default (model and provider: the configured ones)."""

    title: str = ""
    system_prompt: str = ""
    model: str = ""
    provider_id: str = ""
    temperature: float | None = None
    thinking_enabled: bool | None = None
    enabled_tools: tuple[str, ...] | None = None
    workspace: str = ""
    max_tokens: int = 0
    max_cost: float = 0.0
    answer_tokens: int = 0  # as of a room
    kind: str = "chat"
    client_key: str = ""  # with the same one again it is the same conversation


@dataclass(frozen=True, slots=True)
class ConversationChange:
    """What to change about a chat; None, and ``UNSET`` where None means something, leaves it as it is.

    ``head`` is the id of a message whose branch is to be shown.
    """

    title: str | None = None
    system_prompt: str | None = None
    model: str | None = None
    provider_id: str | None = None
    temperature: float | Unset | None = UNSET
    thinking_enabled: bool | Unset | None = UNSET
    enabled_tools: tuple[str, ...] | Unset | None = UNSET
    workspace: str | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    answer_tokens: int | None = None
    archived: bool | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks. ``thinking`` and ``tools`` None: as the conversation says.

    ``parent_id`` is the answer that it follows, "" the beginning of the conversation, None the newest one
    of the shown branch. ``again`` is the id of a question that is to be answered once more, ``continues``
    that of an answer which is to be finished, both without content. The same ``client_key`` again is the
    same question.

    ``system_prompt`` holds for this answer alone, in place of the conversation's. ``answer_id`` is what its
    answer shall be called, empty: a new id. With ``is_alone`` nobody is asked what a tool may do.
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
class Recorded:
    """What was said in a voice session: how the message ``message_id`` was spoken, or else a whole message
    that no model of ours was asked for. The same ``client_key`` again is the same message.

    ``speaker`` is who said it, for an assistant; ``is_cut``: somebody cut in.
    """

    spoken: Spoken
    message_id: str = ""
    client_key: str = ""
    role: str = ""
    content: str = ""
    speaker: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer that was begun; its events are those ``after`` this seq."""

    message_id: str
    after: int


def chat_row(new: NewConversation, models: ModelSource, now: str) -> ChatRow:
    """Return the row of a new chat; raises ``Refused`` (422) for what is out of bounds."""
    title = checked_name(new.title, "title", MAX_ROOM_NAME_CHARACTERS)
    provider = checked_provider(new.provider_id, models)
    model = checked_name(new.model, "model", MAX_MODEL_CHARACTERS) or models.default_model(provider)
    if new.kind not in CHAT_KINDS:
        _refuse("There is no such kind of conversation", f"kind is {' or '.join(CHAT_KINDS)}.")
    return ChatRow(
        id=id_of(new.client_key) if new.client_key else uuid4().hex,
        agent_id=uuid4().hex,
        name=title,
        system_prompt=_checked_prompt(new.system_prompt),
        model=model,
        provider_id=provider,
        created_at=now,
        updated_at=now,
        max_tokens=checked_tokens(new.max_tokens),
        max_cost=checked_cost(new.max_cost),
        answer_tokens=checked_answer(new.answer_tokens),
        temperature=_checked_temperature(new.temperature),
        thinking=new.thinking_enabled,
        tools=_tools(new.enabled_tools),
        workspace=checked_workspace(new.workspace),
        is_named=bool(title),
        kind=new.kind,
    )


def changed_row(row: ChatRow, change: ConversationChange, models: ModelSource) -> ChatRow:
    """Return the chat as it is to be, but for its head; raises ``Refused`` (422)."""
    if change.title is not None:
        title = checked_name(change.title, "title", MAX_ROOM_NAME_CHARACTERS)
        if not title:
            _refuse("The title is empty", "A conversation needs a title that can be read.")
        row = replace(row, name=title, is_named=True)
    if change.system_prompt is not None:
        row = replace(row, system_prompt=_checked_prompt(change.system_prompt))
    row = _with_model(row, change, models)
    if not isinstance(change.temperature, Unset):
        row = replace(row, temperature=_checked_temperature(change.temperature))
    if not isinstance(change.enabled_tools, Unset):
        row = replace(row, tools=_tools(change.enabled_tools))
    if not isinstance(change.thinking_enabled, Unset):
        row = replace(row, thinking=change.thinking_enabled)
    if change.workspace is not None:
        row = replace(row, workspace=checked_workspace(change.workspace))
    if change.max_tokens is not None:
        row = replace(row, max_tokens=checked_tokens(change.max_tokens))
    if change.max_cost is not None:
        row = replace(row, max_cost=checked_cost(change.max_cost))
    if change.answer_tokens is not None:
        row = replace(row, answer_tokens=checked_answer(change.answer_tokens))
    if change.archived is not None:
        row = replace(row, archived=change.archived)
    return row


def changed_columns(row: ChatRow) -> tuple[dict[str, Value], dict[str, Value], dict[str, Value]]:
    """Return what of ``row`` can be changed: columns of the room, the conversation, the agent."""
    names = ("name", "max_tokens", "max_cost", "answer_tokens", "archived")
    in_room: dict[str, Value] = {name: getattr(row, name) for name in names}
    in_chat: dict[str, Value] = {
        name: getattr(row, name) for name in ("temperature", "thinking", "workspace", "head", "is_named")
    }
    in_chat["tools"] = None if row.tools is None else dump(list(row.tools))
    agent: dict[str, Value] = {name: getattr(row, name) for name in ("system_prompt", "model", "provider_id")}
    return in_room, in_chat, agent


def checked_question(question: Question) -> Question:
    """Return the question fit to be stored; raises ``Refused`` (422)."""
    if question.again or question.continues:
        if question.content or question.attachments or question.parent_id is not None:
            _refuse("A question asked again has no new words", "Leave out content, attachments, parent_id.")
        if question.again and question.continues:
            _refuse("An answer is continued or given again, not both", "Leave out again or continues.")
    elif not question.content.strip() and not question.attachments:
        _refuse("The question is empty", "Say something, or attach a file.")
    if len(question.content) > MAX_CONTENT_CHARACTERS:
        length = f"It has {len(question.content):,} of at most {MAX_CONTENT_CHARACTERS:,} characters."
        _refuse("The question is too long", length)
    if len(question.attachments) > MAX_ATTACHMENTS:
        _refuse("There are too many attachments", f"{MAX_ATTACHMENTS} are the most.")
    return replace(
        question,
        content=storable(question.content),
        attachments=tuple(map(_checked_attachment, question.attachments)),
        client_key=checked_key(question.client_key),
        tools=_tools(question.tools),
        system_prompt=None if question.system_prompt is None else _checked_prompt(question.system_prompt),
    )


def checked_recorded(recorded: Recorded) -> Recorded:
    """Return what was said, fit to be stored; raises ``Refused`` (422)."""
    if recorded.message_id:
        if recorded.content or recorded.role:
            _refuse("A message on record has its words", "Leave out role and content, or message_id.")
    elif recorded.role not in ("user", "assistant"):
        _refuse("Nobody said this", "role is user or assistant.")
    elif not recorded.client_key:
        _refuse("The message has no client_key", "With the same one again it is the same message.")
    elif not recorded.content.strip():
        _refuse("The message is empty", "content is what was said.")
    for text in (recorded.content, recorded.spoken.text):
        if len(text) > MAX_CONTENT_CHARACTERS:
            _refuse("The message is too long", f"{MAX_CONTENT_CHARACTERS:,} characters are the most.")
    return replace(
        recorded,
        content=storable(recorded.content),
        client_key=checked_key(recorded.client_key),
        speaker=checked_name(recorded.speaker, "speaker", MAX_MODEL_CHARACTERS),
        spoken=replace(recorded.spoken, text=storable(recorded.spoken.text)),
    )


def id_of(*keys: str) -> str:
    """Return the id that these keys always give, as long as any other."""
    return sha256("\0".join(keys).encode(errors="replace")).hexdigest()[: len(uuid4().hex)]


def title_of(question: Question) -> str:
    """Return the title of a conversation that begins with this: the first line, or a file's name."""
    words = question.content.strip() or question.attachments[0].name
    return words.splitlines()[0][:TITLE_CHARACTERS].strip()


def conversation_info(row: ChatRow, *, running: bool, asks: bool = False) -> ConversationInfo:
    """Return the chat as ``GET /api/conversations/{id}`` answers it."""
    return ConversationInfo(
        id=row.id,
        title=row.name,
        status="running" if running else "idle",
        system_prompt=row.system_prompt,
        model=row.model,
        provider_id=row.provider_id,
        temperature=row.temperature,
        thinking_enabled=row.thinking,
        enabled_tools=row.tools,
        workspace=row.workspace,
        head=row.head,
        archived=row.archived,
        max_tokens=row.max_tokens,
        max_cost=row.max_cost,
        answer_tokens=row.answer_tokens,
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


def _with_model(row: ChatRow, change: ConversationChange, models: ModelSource) -> ChatRow:
    if change.provider_id is None and change.model is None:
        return row
    provider = row.provider_id
    if change.provider_id is not None:
        provider = checked_provider(change.provider_id, models, row.provider_id)
    # Another provider has other models: the old one's name would mean nothing there.
    model = row.model if provider == row.provider_id else ""
    if change.model is not None:
        model = checked_name(change.model, "model", MAX_MODEL_CHARACTERS)
    return replace(row, provider_id=provider, model=model or models.default_model(provider))


def _checked_prompt(prompt: str) -> str:
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        length = f"It has {len(prompt):,} of at most {MAX_PROMPT_CHARACTERS:,} characters."
        _refuse("The system_prompt is too long", length)
    return storable(prompt)


def _checked_temperature(temperature: float | None) -> float | None:
    if temperature is not None and not 0 <= temperature <= MAX_TEMPERATURE:
        _refuse("The temperature is out of bounds", f"It is 0 to {MAX_TEMPERATURE:g}.")
    return temperature


def _tools(tools: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if tools is None else checked_tools(tools)


def _checked_attachment(attachment: Attachment) -> Attachment:
    name = " ".join(storable(attachment.name).split())
    if not 0 < len(name) <= MAX_FILE_NAME_CHARACTERS:
        _refuse("An attachment needs a name", f"Of at most {MAX_FILE_NAME_CHARACTERS:,} characters.")
    type_ = storable(attachment.type[:MAX_FILE_NAME_CHARACTERS])
    return Attachment(name, storable(attachment.content), type_)


def _refuse(title: str, detail: str) -> NoReturn:
    raise Refused(title, detail, status=422)
