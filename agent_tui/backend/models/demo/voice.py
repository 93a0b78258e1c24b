"""What the demo model understands in a voice conversation: five intents about rooms, and nothing else.

It is not a language model and does not pretend to be one: for anything else it says in one sentence how to
connect one. Speech is often misheard, so intents are found by words, not by sentences.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from agent_tui.backend.models.demo.chat import results_in
from agent_tui.backend.models.demo.scripts import compiled, find, patterns, read
from agent_tui.backend.models.model import CallPiece, ModelRequest, Piece, TextPiece
from agent_tui.model.inert import inert_line
from agent_tui.wire.content import json_object

IntentName = Literal["list", "about", "pause", "resume", "help"]

NO_SUCH_ROOM: Final = "there is no such room"  # as the tools about rooms word it
MAX_NAMED: Final = 5
MAX_SAID_CHARACTERS: Final = 200
_CALLS: Final[Mapping[str, str]] = {
    "list": "list_rooms",
    "about": "room_about",
    "pause": "pause_room",
    "resume": "resume_room",
}

_FILE: Final = "voice.toml"
_MAX_HEARD: Final = 400  # characters that are looked at: a longer text is not a command


@cache
def _rules() -> tuple[tuple[IntentName, re.Pattern[str], re.Pattern[str]], ...]:
    """Return each intent, the words that mean it, and the condition for the whole sentence."""
    rules = read(_FILE)["rules"]
    return tuple((r["name"], compiled(r["words"], _FILE), compiled(r.get("where", ""), _FILE)) for r in rules)


@cache
def _ordinals() -> tuple[tuple[int, re.Pattern[str]], ...]:
    """Return the ordinals of a list of rooms; in Chinese they may touch other words."""
    words = r"(?<!\w)(?:{0})(?!\w)|(?:{0})(?=[\u4e00-\u9fff])"
    return tuple(
        (int(place), compiled(words.replace("{0}", named), _FILE))
        for place, named in read(_FILE)["ordinals"].items()
    )


@dataclass(frozen=True, slots=True)
class Intent:
    """What a person wants; ``words`` are those that may be the name of a room."""

    name: IntentName
    said: str
    words: str


def intent_of(text: str) -> Intent | None:
    """Return the intent of ``text``, ``None`` if it is none of the five."""
    said = text[:_MAX_HEARD].casefold().replace("’", "'")
    for written, plain in read(_FILE)["spelling"]["as_said"]:
        said = re.sub(written, plain, said)
    (filler,), (opening,) = patterns("filler", _FILE), patterns("opening", _FILE)
    bare = opening.sub("", " ".join(filler.sub(" ", " ".join(said.split())).split()))
    for name, words, where in _rules():
        if words.search(bare) and where.search(bare):
            return Intent(name, bare, _words_for_a_room(bare, words))
    return None


def _words_for_a_room(bare: str, words: re.Pattern[str]) -> str:
    (not_names,) = patterns("not_names", _FILE)
    for called in patterns("called", _FILE):
        if (found := called.search(bare)) and (name := " ".join(not_names.sub(" ", found[1]).split())):
            return name
    return "" if find("it", bare, _FILE) else " ".join(not_names.sub(" ", words.sub(" ", bare)).split())


def voice_pieces(request: ModelRequest) -> list[Piece]:
    """Return the answer in whole pieces: the result of the calls, or a call, or words alone."""
    if results := results_in(request.messages):
        return [TextPiece(" ".join(_told(call.name, json_object(content)) for call, content in results))]
    intent = intent_of(request.task)
    if intent is None:
        return [TextPiece(_ELSE)]
    if intent.name == "help":
        return [TextPiece(_HELP_SAID)]
    tool = _CALLS[intent.name]
    if tool not in {spec.name for spec in request.tools}:
        return [TextPiece(_NOT_YOURS)]
    arguments = {} if intent.name == "list" else {"room": _room_meant(intent, request)}
    return [CallPiece(0, f"demo_voice_{len(request.messages)}", tool, json.dumps(arguments))]


def _room_meant(intent: Intent, request: ModelRequest) -> str:
    """Return the room that is meant, as the tools understand it: "the first one" is that of the last list,
    "it" the last room that was mentioned.
    """
    listed, spoken_of = _known_rooms(request)
    for place, words in _ordinals():
        if words.search(intent.said):
            if listed and -len(listed) <= place < len(listed):
                return listed[place]
            return str(place + 1) if place >= 0 else "1"
    if intent.words:
        return intent.words
    return spoken_of or (listed[0] if listed else "1")


def _known_rooms(request: ModelRequest) -> tuple[list[str], str]:
    """Return the rooms in the order of the last list, and the last one mentioned, as ``_called``."""
    listed: list[str] = []
    names: Counter[str] = Counter()
    spoken_of = ""
    for message in request.messages:
        fields = json_object(message.content) if message.role == "tool" else {}
        if isinstance(rooms := fields.get("rooms"), list):
            told = [room for room in rooms if isinstance(room, dict) and "id" in room]
            names = Counter(str(room.get("name", "")) for room in told)
            listed = [_called(room, names) for room in told]
            spoken_of = listed[0] if len(listed) == 1 else ""
        elif isinstance(fields.get("id"), str):
            spoken_of = _called(fields, names)
    return listed, spoken_of


def _called(room: Mapping[str, Any], names: Counter[str]) -> str:
    """Return a room's name for a call: its name, which people are shown, or its id if the name is
    ambiguous.
    """
    name = str(room.get("name", ""))
    is_clear = any(map(str.isalpha, name)) and len(name) < _MOST_NAMED and names[name] < 2
    return name if is_clear else str(room["id"])


# --- what it says ------------------------------------------------------------------------------------------

_ELSE = (
    "Without a language model I only understand questions about rooms; to talk about anything, connect a"
    " model with F4 in agent-tui."
)
_HELP_SAID = (
    "You can ask what rooms are running and what one is about, and you can pause or resume one."
    " To talk about anything else, connect a model with F4."
)
_NOT_YOURS = "Only the owner of this session may do that."
_MOST_NAMED: Final = 100  # characters: a longer name may have been cut
_COUNTS: Final = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def _told(name: str, fields: Mapping[str, Any]) -> str:
    if fields.get("success") is False or ("name" not in fields and "rooms" not in fields):
        why = inert_line(str(fields.get("error", "")), MAX_SAID_CHARACTERS)
        if why.startswith("denied"):
            return "All right, I leave it as it is."
        if name == "room_about" and why.startswith(NO_SUCH_ROOM):  # otherwise it was about something else
            return f"There is no room like that. {_ELSE}"
        return f"That did not work: {why}." if why else "That did not work."
    room = inert_line(str(fields.get("name", "")), MAX_SAID_CHARACTERS).rstrip("?.! ")
    match name:
        case "list_rooms":
            return _rooms_told(fields)
        case "room_about":
            return _about_told(room, fields)
        case "pause_room":
            return f"Done. {room} is paused." if fields.get("changed") else f"{room} is not running."
        case "resume_room":
            return f"Done. {room} goes on." if fields.get("changed") else f"{room} is running already."
        case _:
            return f"Done. {room} has started."


def _rooms_told(fields: Mapping[str, Any]) -> str:
    rooms = [room for room in fields["rooms"] if isinstance(room, dict)]
    count = len(rooms) + int(fields.get("more") or 0)
    if not count:
        return "There are no rooms yet."
    number = _COUNTS[count] if count < len(_COUNTS) else str(count)
    told = [f"{number} room{'' if count == 1 else 's'}."]
    told += [f"{_name_of(room)} {_state_of(room)}." for room in rooms[:MAX_NAMED]]
    if count > MAX_NAMED:
        told.append(f"And {count - MAX_NAMED} more.")
    return " ".join(told)


def _about_told(room: str, fields: Mapping[str, Any]) -> str:
    task = inert_line(str(fields.get("task", "")), MAX_SAID_CHARACTERS).rstrip("?.! ")
    agents = [str(agent) for agent in fields.get("agents", ())]
    told = f"It is about this: {task}." if task else f"{room} has no task."
    if agents:
        *others, last = agents
        told += f" {', '.join(others)} and {last} talk in it." if others else f" {last} talks in it."
    return f"{told} It {_state_of(fields)}."


def _name_of(room: Mapping[str, Any]) -> str:
    return inert_line(str(room.get("name", "")), MAX_SAID_CHARACTERS).rstrip("?.! ") or "One without a name"


def _state_of(room: Mapping[str, Any]) -> str:
    status, round_, rounds = room.get("status"), room.get("round"), room.get("rounds")
    where = f" in round {round_} of {rounds}" if round_ and rounds else ""
    match status:
        case "running":
            return f"is running{where}"
        case "paused":
            return f"is paused{where}"
        case "completed":
            return "is finished"
        case "error":
            return "has failed"
        case _:
            return "has not started"
