"""Answers about anything besides rooms, conversations and messages, read tolerantly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_type_hints

from agent_tui.config.presets import is_for_words
from agent_tui.model.errors import ProtocolError
from agent_tui.model.events import QueuedMessage, RoomInfo
from agent_tui.wire.content import json_object
from agent_tui.wire.fields import items_of
from agent_tui.wire.rooms import decode_room, decode_rooms

R = TypeVar("R")
MOST_AMOUNT = 1e9  # of tokens or dollars: a higher value is nonsense


@dataclass(frozen=True, slots=True)
class SendResult:
    """The answer to a sent message: its ``id``, "queued" or "said", and the messages that wait now."""

    id: str
    status: str
    queue: tuple[QueuedMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class PausesSoon:
    """The room or chat called ``name`` costs money and pauses in ``seconds``, unless a key is pressed."""

    id: str
    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class RoomChanges:
    """The rooms that changed since a cursor; with ``is_all`` they are all rooms.

    An empty ``cursor`` means that this server does not report changes: request the list now and then.
    """

    rooms: tuple[RoomInfo, ...]
    removed: tuple[str, ...]
    cursor: str
    is_all: bool


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """A provider of models that the server knows; ``model`` is its default."""

    id: str
    name: str = ""
    kind: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model of a provider: the size of its context in tokens (0: unknown), and the price of a million
    tokens in US dollars (``None``: unknown).
    """

    id: str
    context_tokens: int = 0
    input_price: float | None = None
    output_price: float | None = None


@dataclass(frozen=True, slots=True)
class ProviderTest:
    """The result of a provider's test: its models, how many seconds its answer took (``None``: it was not
    asked), and whether the tested model takes no tools.
    """

    models: tuple[str, ...]
    answer_seconds: float | None = None
    has_no_tools: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A message, or a title (without ``message_id``), that a search found; in ``snippet`` each match is
    between U+0002 and U+0003.
    """

    conversation_id: str
    title: str = ""
    message_id: str = ""
    role: str = ""
    snippet: str = ""
    created_at: str = ""
    kind: str = ""  # room, chat or voice; may be empty for a chat


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool that the server's agents may use; ``parameters`` is its JSON schema, ``permission`` "read" or
    "ask", ``source`` "built-in" or the name of an MCP server (both are empty if unknown). A chat gets some
    ``only_if_named``, not by default.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    permission: str = ""
    source: str = ""
    only_if_named: bool = False


@dataclass(frozen=True, slots=True)
class ToolServer:
    """An MCP server that the backend uses: ``status`` idle, starting, ready or failed, how many of the tools
    that it ``offered`` are used, what is wrong or left out, and what helps.
    """

    name: str
    status: str = ""
    tools: int = 0
    offered: int = 0
    problem: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ToolRule:
    """A call that a person allowed: exactly that of ``pattern``, in ``folder`` if it has one. It applies
    everywhere, or in the conversation or room ``conversation_id``.
    """

    id: str
    tool: str = ""
    pattern: str = ""
    created_at: str = ""
    folder: str = ""
    conversation_id: str = ""


def read_queue(value: object) -> tuple[QueuedMessage, ...]:
    """Return the queue of ``{"queue": […]}`` or of a bare list; skips invalid items."""
    return decode_room({"id": "queue", "queue": items_of(value, "queue")}).queue


def read_said(value: object, when: str) -> SendResult:
    """Return the answer to ``say``; an empty one counts as what ``when`` asked for."""
    status = text_of(value, "status") or ("said" if when == "now" else "queued")
    return SendResult(text_of(value, "id"), status, read_queue(value))


def read_changes(value: object, asked_for_all: bool) -> RoomChanges:
    """Return the changes of an answer; a plain list of rooms is all of them."""
    answer = value if isinstance(value, Mapping) else {}
    is_all = answer.get("all")
    removed = tuple(str(id_) for id_ in items_of(answer, "removed") if isinstance(id_, str | int))
    cursor = text_of(answer, "cursor")
    return RoomChanges(
        tuple(decode_rooms(value)),
        removed,
        cursor,
        is_all if isinstance(is_all, bool) else asked_for_all or not cursor,
    )


def whole_list(value: object, many: str) -> object:
    """Return an answer that is ``{many: […]}`` or a bare list; raises ``ProtocolError`` for any other."""
    if not isinstance(value.get(many) if isinstance(value, Mapping) else value, list):
        raise ProtocolError(f"the server's answer is not a list of {many}")
    return value


def read_all(record: type[R], value: object, key: str) -> list[R]:
    """Return the records of ``{key: […]}`` or of a bare list; skips those without the first field.

    A value that does not fit the type of its field (text, number, mapping) counts as missing.
    """
    hints = get_type_hints(record)
    records = [
        record(**{name: _READERS[hint](item, name) for name, hint in hints.items()})
        for item in items_of(value, key)
    ]
    return [entry for entry in records if getattr(entry, next(iter(hints)))]


def read_models(value: object) -> list[ModelInfo]:
    """Return the models of ``{"models": […]}``, ``{"data": […]}`` or a bare list, each once; those that do
    not answer in words come last.
    """
    models = {}
    for item in [*items_of(value, "models")] or items_of(value, "data"):
        name = item if isinstance(item, str) else text_of(item, "id") or text_of(item, "name")
        if name and name not in models:
            tokens, *prices = (
                _amount(item, key) for key in ("context_tokens", "input_price", "output_price")
            )
            models[name] = ModelInfo(name, int(tokens or 0), *prices)
    return sorted(models.values(), key=lambda model: not is_for_words(model.id))


def _amount(item: object, name: str) -> float | None:
    value = item.get(name) if isinstance(item, Mapping) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 0 <= value < MOST_AMOUNT else None


def read_provider_test(value: object) -> ProviderTest:
    """Return the result of a provider's test."""
    seconds = value.get("answer_seconds") if isinstance(value, Mapping) else None
    answer_seconds = float(seconds) if isinstance(seconds, int | float) else None
    has_no_tools = isinstance(value, Mapping) and value.get("no_tools") is True
    return ProviderTest(tuple(model.id for model in read_models(value)), answer_seconds, has_no_tools)


def pauses_soon(data: str) -> PausesSoon | None:
    """Return the content of a ``presence`` frame; ``None`` if nothing pauses anymore."""
    value = json_object(data)
    seconds = value.get("seconds")
    if not isinstance(seconds, int | float):
        return None
    return PausesSoon(text_of(value, "id"), text_of(value, "name"), float(seconds))


def read_servers(value: object) -> list[ToolServer]:
    """Return the MCP servers of ``{"servers": […]}``, none if there are none."""
    return read_all(ToolServer, value, "servers") if isinstance(value, Mapping) else []


def _count(item: object, name: str) -> int:
    value = item.get(name) if isinstance(item, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0


def text_of(item: object, name: str) -> str:
    """Return a field of what may be an object; empty if it is neither a text nor a number."""
    value = item.get(name) if isinstance(item, Mapping) else None
    return str(value) if isinstance(value, str | int) else ""


def _flag(item: object, name: str) -> bool:
    return isinstance(item, Mapping) and item.get(name) is True


def _mapping(item: object, name: str) -> Mapping[str, Any]:
    value = item.get(name) if isinstance(item, Mapping) else None
    return value if isinstance(value, Mapping) else {}


# How a field is read, by its type.
_READERS: Mapping[Any, Callable[[object, str], Any]] = {
    str: text_of,
    int: _count,
    bool: _flag,
    Mapping[str, Any]: _mapping,
}
