"""Which room or conversation the user means: by its id, its name, or the beginning of either."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.model.errors import ConfigError, NotFound
from agent_tui.model.events import ConversationInfo, RoomInfo
from agent_tui.model.inert import inert_line

MAX_CANDIDATES_NAMED = 5
MAX_NAME_CHARACTERS = 60


def find_room(rooms: Sequence[RoomInfo], wanted: str) -> str:
    """Return the id of the room that ``wanted`` means: by its id, else its name, else a unique beginning. An
    archived one is meant only if no other is.

    Raises ``NotFound`` if there is none and ``ConfigError`` naming the candidates if there are several.
    """
    return _find([(room.id, room.name, room.archived) for room in rooms], wanted, "room")


def find_conversation(conversations: Sequence[ConversationInfo], wanted: str) -> str:
    """Return the id of the conversation that ``wanted`` means, as ``find_room`` for a room."""
    named = [(chat.id, chat.title, chat.archived) for chat in conversations]
    return _find(named, wanted, "conversation")


def _find(named: Sequence[tuple[str, str, bool]], wanted: str, noun: str) -> str:
    current = [(id_, name) for id_, name, is_archived in named if not is_archived]
    found = _named(current, wanted) or _named([(id_, name) for id_, name, _ in named], wanted)
    shown, plural = inert_line(wanted, MAX_NAME_CHARACTERS), f"{noun}s"
    if not found:
        hint = f"agent-tui {plural} list names them"
        if noun == "room" and " " in wanted.strip():  # a task, perhaps
            hint = "agent-tui rooms list names them; agent-tui rooms run --task TEXT makes a new one"
        raise NotFound(f'there is no {noun} "{shown}"', hint)
    if len(found) > 1:
        names = [f"{id_} ({inert_line(name, MAX_NAME_CHARACTERS)})" for id_, name in found]
        names[MAX_CANDIDATES_NAMED:] = ["…"] if len(names) > MAX_CANDIDATES_NAMED else []
        raise ConfigError(f'"{shown}" fits {len(found)} {plural}', ", ".join(names))
    return found[0][0]


def _named(pairs: Sequence[tuple[str, str]], wanted: str) -> Sequence[tuple[str, str]]:
    """Return the pairs of an id and a name that ``wanted`` fits best."""
    return (
        [pair for pair in pairs if pair[0] == wanted]
        or [pair for pair in pairs if pair[1] == wanted]
        or [pair for pair in pairs if pair[0].startswith(wanted) or pair[1].startswith(wanted)]
    )
