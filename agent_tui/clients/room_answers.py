"""What the calls about rooms answer besides rooms and messages, read tolerantly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from agent_tui.model.events import QueuedMessage, RoomInfo
from agent_tui.wire.fields import listed
from agent_tui.wire.rooms import decode_room, decode_rooms


@dataclass(frozen=True, slots=True)
class Said:
    """What became of a person's words: ``id`` of their message, "queued" or "said", and who waits now."""

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
    """The rooms that changed since a cursor; with ``is_all`` they are all there are.

    An empty ``cursor`` means that this server does not say what changed: ask it now and then.
    """

    rooms: tuple[RoomInfo, ...]
    removed: tuple[str, ...]
    cursor: str
    is_all: bool


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """A provider of models that the server knows; ``model`` is the one it takes where none is named."""

    id: str
    name: str = ""
    kind: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class ProviderTest:
    """What a provider offers, how many seconds it took to answer (``None``: it was not asked), and whether
    the model that was asked takes no tools.
    """

    models: tuple[str, ...]
    answer_seconds: float | None = None
    has_no_tools: bool = False


def read_queue(value: object) -> tuple[QueuedMessage, ...]:
    """Return the queue of ``{"queue": […]}`` or of a bare list; skips what does not fit."""
    return decode_room({"id": "queue", "queue": listed(value, "queue")}).queue


def read_said(value: object, when: str) -> Said:
    """Return what an answer to ``say`` means; an empty one is taken at the word of ``when``."""
    status = text_of(value, "status") or ("said" if when == "now" else "queued")
    return Said(text_of(value, "id"), status, read_queue(value))


def read_changes(value: object, asked_for_all: bool) -> RoomChanges:
    """Return the changes of an answer; a plain list of rooms is all of them."""
    answer = value if isinstance(value, Mapping) else {}
    is_all = answer.get("all")
    removed = tuple(str(id_) for id_ in listed(answer, "removed") if isinstance(id_, str | int))
    cursor = text_of(answer, "cursor")
    return RoomChanges(
        tuple(decode_rooms(value)),
        removed,
        cursor,
        is_all if isinstance(is_all, bool) else asked_for_all or not cursor,
    )


def read_providers(value: object) -> list[ProviderInfo]:
    """Return the providers of ``{"providers": […]}`` or of a bare list; skips what has no id."""
    read = []
    for item in listed(value, "providers"):
        id_ = text_of(item, "id")
        if id_:
            read.append(
                ProviderInfo(id_, text_of(item, "name"), text_of(item, "kind"), text_of(item, "model"))
            )
    return read


def read_models(value: object) -> list[str]:
    """Return the ids of the models of ``{"models": […]}``, ``{"data": […]}`` or a bare list, each once."""
    items = [*listed(value, "models")] or listed(value, "data")
    named = (
        item if isinstance(item, str) else text_of(item, "id") or text_of(item, "name") for item in items
    )
    return list(dict.fromkeys(name for name in named if name))


def read_provider_test(value: object) -> ProviderTest:
    """Return what a test of a provider found."""
    seconds = value.get("answer_seconds") if isinstance(value, Mapping) else None
    took = float(seconds) if isinstance(seconds, int | float) else None
    has_no_tools = isinstance(value, Mapping) and value.get("no_tools") is True
    return ProviderTest(tuple(read_models(value)), took, has_no_tools)


def pauses_soon(data: str) -> PausesSoon | None:
    """Return what a frame of ``presence`` says; ``None`` where nothing pauses any more."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    seconds = value.get("seconds") if isinstance(value, Mapping) else None
    if not isinstance(seconds, int | float):
        return None
    return PausesSoon(text_of(value, "id"), text_of(value, "name"), float(seconds))


def text_of(item: object, name: str) -> str:
    """Return a field of what may be an object; empty where it is no text and no number."""
    value = item.get(name) if isinstance(item, Mapping) else None
    return str(value) if isinstance(value, str | int) else ""
