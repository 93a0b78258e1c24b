"""What the demo model understands in a voice conversation: five intents about rooms, and nothing else.

It is no language model and does not pretend to be one: for anything else it says in one sentence how to
connect one. What was said is often misheard, so the intents are found by their words, not by sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from agent_tui.backend.models.model import CallPiece, ModelRequest, Piece, TextPiece
from agent_tui.inert import inert_line

IntentName = Literal["list", "about", "pause", "resume", "help"]

MARK: Final = "list_rooms"  # who is offered this tool speaks with somebody about rooms
MAX_NAMED: Final = 5
MAX_SAID_CHARACTERS: Final = 200
_CALLS: Final[Mapping[str, str]] = {
    "list": "list_rooms",
    "about": "room_about",
    "pause": "pause_room",
    "resume": "resume_room",
}

# With what speech recognition makes of them.
_PAUSE = (
    r"pause[ds]?|pausing|paws?|pores?|halt|hold|freeze|suspend|interrupt|stop|quiet|silence|hush|shush|break"
    r"|停|暂停|停止|пауз\w*|приостанов\w*|останов\w*|стоп"
)
_RESUME = (
    r"resum\w*|continue|unpause|restart|proceed|unfreeze|wake|carry on|go on|keep going|move on|pick up"
    r"|start (?:.*)?(?:again|up|over)|back on|let .* (?:run|go|talk|speak)|get .* going|go ahead with"
    r"|继续|恢复|продолж\w*|возобнов\w*"
)
_ABOUT = (
    r"about|topic|subject|describe|explain|summar\w+|detail\w*|discuss\w*|talking|saying|said|debat\w*|argu\w*"
    r"|what is .* doing|how is .* (?:going|doing|coming)|what happened|happening in|status of|purpose"
    r"|关于|讨论什么|说什么|о чём|о чем|про что|тема|расскажи"
)
_LIST = (
    r"list|which rooms|what rooms|all (?:the |my |of )*rooms|every room|rooms? (?:are|do|is|we|i|exist)"
    r"|any rooms?|how many|what is (?:running|going on|active|open|live)|what have|anything (?:running|going)"
    r"|overview|who is (?:talking|running)|show (?:me )?(?:the |my |all )*rooms|rooms$|running|active"
    r"|going on"
    r"|哪些|列出|有什么房间|какие|список|сколько комнат"
)
_HELP = (
    r"help|what can (?:you|i|we)|what do you (?:do|know|understand)|how do(?:es)? (?:this|it|i|you)"
    r"|command\w*|options|instructions|who are you|what are you|capab\w+|abilit\w+|帮助|你能做什么|помощь"
    r"|помоги|что ты умеешь"
)
_WORDS: Final[tuple[tuple[IntentName, str], ...]] = (
    ("help", _HELP),
    ("resume", _RESUME),
    ("pause", _PAUSE),
    ("about", _ABOUT),
    ("list", _LIST),
)
_INTENTS: Final = tuple(
    (name, re.compile(rf"(?<!\w)(?:{words})(?!\w)|(?:{words})(?=[\u4e00-\u9fff])|^(?:{words})$"))
    for name, words in _WORDS
)
_SHORT = ((r"what's", "what is"), (r"who's", "who is"), (r"how's", "how is"), (r"let's", "let us"))
_FILLER = re.compile(
    r"\b(?:please|(?<!what )(?:can|could|would|will) you|i want you to|i would like you to|i want to"
    r"|i would like to|hey|hi|hello|okay|ok|um+|uh+|so|well|now|just|for me"
    r"|for a (?:moment|minute|second|bit|while)|thanks?|thank you|right|tell me|let me know"
    r"|go and|agent|computer)\b"
)
_NOT_NAMES = re.compile(
    r"\b(?:the|a|an|my|this|that|it|them|they|room|rooms|conversation|debate|discussion|chat|one|is|are|was|what"
    r"|which|who|how|do|does|did|me|us|you|to|in|on|of|for|with|and|about|up|off|down|again|going|doing|talk|let"
    r"|there|get|put|make|have|give|be|being|over|here|some|more|number|first|second|third|fourth|fifth|last"
    r"|latest|running|paused|talking|saying|say|said|discuss\w*)\b"
)
_ORDINALS: Final = {
    **dict.fromkeys(("first", "1st", "number one", "room one", "第一", "первую", "первая", "первой"), 0),
    **dict.fromkeys(("second", "2nd", "number two", "room two", "第二", "вторую", "вторая", "второй"), 1),
    **dict.fromkeys(("third", "3rd", "number three", "room three", "第三", "третью", "третья", "третьей"), 2),
    **dict.fromkeys(("fourth", "4th", "number four", "room four", "第四"), 3),
    **dict.fromkeys(("fifth", "5th", "number five", "room five", "第五"), 4),
    **dict.fromkeys(("last", "最后", "последнюю", "последняя"), -1),
}


@dataclass(frozen=True, slots=True)
class Intent:
    """What somebody wants; ``words`` are those that may name a room."""

    name: IntentName
    said: str
    words: str


def intent_of(text: str) -> Intent | None:
    """Return what ``text`` asks for, ``None`` where that is none of the five."""
    said = text.casefold().replace("’", "'")
    for short, long in _SHORT:
        said = re.sub(short, long, said)
    said = " ".join(re.sub(r"[^\w\s']", " ", said).split())
    bare = " ".join(_FILLER.sub(" ", said).split())
    for name, words in _INTENTS:
        if words.search(bare):
            rest = _NOT_NAMES.sub(" ", words.sub(" ", bare))
            return Intent(name, bare, " ".join(rest.split()))
    return None


def voice_pieces(request: ModelRequest) -> list[Piece]:
    """Return the answer in whole pieces: what came of the calls, or a call, or words alone."""
    results = _results(request)
    if results:
        return [TextPiece(" ".join(_told(name, fields) for name, fields in results))]
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
    """Return the room that is meant, as the tools understand it: "the first one" is that of the list that
    was told last, "it" the room that was spoken of last.
    """
    listed, spoken_of = _known_rooms(request)
    for words, place in _ORDINALS.items():
        if re.search(rf"(?<!\w){words}(?!\w)|{words}(?=[\u4e00-\u9fff])", intent.said):
            if listed and -len(listed) <= place < len(listed):
                return listed[place]
            return str(place + 1) if place >= 0 else "1"
    if intent.words:
        return intent.words
    return spoken_of or (listed[0] if listed else "1")


def _known_rooms(request: ModelRequest) -> tuple[list[str], str]:
    """Return the ids of the rooms in the order that they were told last, and that of the one told of last."""
    listed: list[str] = []
    spoken_of = ""
    for message in request.messages:
        fields = _object(message.content) if message.role == "tool" else {}
        if isinstance(rooms := fields.get("rooms"), list):
            listed = [str(room["id"]) for room in rooms if isinstance(room, dict) and "id" in room]
            spoken_of = listed[0] if len(listed) == 1 else ""
        elif isinstance(room_id := fields.get("id"), str):
            spoken_of = room_id
    return listed, spoken_of


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
_COUNTS: Final = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def _told(name: str, fields: Mapping[str, Any]) -> str:
    if fields.get("success") is False or ("name" not in fields and "rooms" not in fields):
        why = inert_line(str(fields.get("error", "")), MAX_SAID_CHARACTERS)
        if why.startswith("denied"):
            return "All right, I leave it as it is."
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


def _results(request: ModelRequest) -> list[tuple[str, dict[str, Any]]]:
    """Return the tools that were called for this question, each with what came of it."""
    found: list[tuple[str, dict[str, Any]]] = []
    for message in reversed(request.messages):
        if message.role == "user":
            break
        if message.role == "tool":
            found.insert(0, (message.name, _object(message.content)))
    return found


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def is_voice(tools: Sequence[Any]) -> bool:
    """Return whether somebody who is offered these tools speaks with a person about rooms."""
    return any(tool.name == MARK for tool in tools)
