"""What goes into the store and comes out of it of chats, as plain data (schema.py says what it means)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agent_tui.model.events import Step, ToolAsk

Value = str | int | float | bool | None
RuleScope = Literal["exact", "wide", "suspended"]


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A chat as stored: what its room, its agent and its conversation say of it."""

    id: str
    agent_id: str
    name: str
    system_prompt: str
    model: str
    provider_id: str
    status: str = "idle"
    desired: str = "idle"
    interrupted: str = ""
    round_open: int = 0
    last_seq: int = 0
    created_at: str = ""
    updated_at: str = ""
    max_tokens: int = 0
    max_cost: float = 0.0
    answer_tokens: int = 0
    on_resume: str = "continue"
    archived: bool = False
    used_tokens: int = 0
    used_cost: float | None = None
    last_words: str = ""
    temperature: float | None = None
    thinking: bool | None = None
    tools: tuple[str, ...] | None = None
    workspace: str = ""
    head: str = ""
    is_named: bool = False
    cut: str = ""  # why the answer at its head was cut or failed, as the turn has it
    error: str = ""
    damaged: str = ""  # as of a room
    kind: str = "chat"


@dataclass(frozen=True, slots=True)
class Link:
    """A message's place in the tree of its chat; ``role`` is user or assistant."""

    id: str
    parent: str
    role: str
    first_seq: int


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A step of the answer ``message_id``; ``place`` N is that of ``step-N``."""

    message_id: str
    place: int
    step: Step
    started_at: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message, or a title (no ``message_id``), in which words were found; ``snippet`` has them between
    U+0002 and U+0003.
    """

    conversation_id: str
    title: str
    message_id: str
    role: str
    snippet: str
    created_at: str


@dataclass(frozen=True, slots=True)
class ToolRule:
    """Calls that run without being asked for; ``room_id`` empty: in every conversation.

    ``scope`` is "exact" for the one call of ``pattern`` in ``folder`` ("" for calls that work in none),
    "wide" for a glob of an earlier version that a person confirmed, "suspended" for one that covers nothing.
    """

    id: str
    tool: str
    pattern: str
    created_at: str
    room_id: str = ""
    folder: str = ""
    scope: RuleScope = "exact"


# --- changes -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChatCreated:
    """The chat with its agent."""

    row: ChatRow


@dataclass(frozen=True, slots=True)
class ChatSet:
    """Columns of the conversation and of its agent."""

    values: Mapping[str, Value]
    agent: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class StepPut:
    """A step stands on record, in place of what stood there before."""

    stored: StoredStep


@dataclass(frozen=True, slots=True)
class StepStands:
    """How a call stands now, and what it asks if it asks; refused for one that is not on record."""

    message_id: str
    place: int
    status: str
    seconds: float | None = None
    success: bool = True
    ask: ToolAsk | None = None


@dataclass(frozen=True, slots=True)
class SpokenSet:
    """How a message was spoken; refused for one that is not on record."""

    message_id: str
    spoken: str


@dataclass(frozen=True, slots=True)
class RulePut:
    """Such calls run from now on; nothing new if that rule is there."""

    rule: ToolRule


@dataclass(frozen=True, slots=True)
class RuleConfirmed:
    """A suspended rule holds again, as wide as it is."""

    id: str


@dataclass(frozen=True, slots=True)
class RuleDropped:
    """The rule does not hold any more."""

    id: str


@dataclass(frozen=True, slots=True)
class Searchable:
    """The message is found by its words from now on."""

    message_id: str
    role: str
    text: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Unsearchable:
    """At most so many of the chat's messages are not found any more."""

    most: int


RuleChange = RulePut | RuleConfirmed | RuleDropped
ChatChange = ChatCreated | ChatSet | StepPut | StepStands | SpokenSet | RuleChange | Searchable | Unsearchable
