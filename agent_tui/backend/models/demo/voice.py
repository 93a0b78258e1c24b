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

NO_SUCH_ROOM: Final = "there is no such room"  # as the tools about rooms say it
MARK: Final = "list_rooms"  # who is offered this tool speaks with somebody about rooms
MAX_NAMED: Final = 5
MAX_SAID_CHARACTERS: Final = 200
_CALLS: Final[Mapping[str, str]] = {
    "list": "list_rooms",
    "about": "room_about",
    "pause": "pause_room",
    "resume": "resume_room",
}

# One room, several, what points at one. "Rum" and "paws" are what speech recognition makes of them.
_ONE = "room|rum|one|conversation|debate|discussion|session|chat"
_SEVERAL = "rooms|rums|conversations|debates|discussions|sessions|chats"
_POINTED_AT = (
    f"it|that|this|them|they|there|everything|everybody|everyone|agents?|{_ONE}|{_SEVERAL}"
    "|first|second|third|fourth|fifth|last|number"
)
_NOW = r"(?: (?:at the moment|at present|today|currently|here|in here|then))?$"

_QUESTION = r"why|when|who|where|what|which|did|does|do|has|have|had|is|was|are|were"

# A command comes first, or after who shall obey, or before what is meant: "the bus did not stop" is none.
# Nobody says these of anything but a room; of the others what they are about has to be said, too.
_CLEARLY_PAUSE = r"pause[ds]?|pausing|paws?|pores?|suspend\w*"
_CLEARLY_RESUME = r"resum\w*|re (?:zoom|sume|assume)|presume|un(?:pause|freeze|hold|suspend|stop)"
_PAUSE = (
    r"halt\w*|hold|hang on|freeze|interrupt|stop|stopping|stand by"
    r"|cease|cut|end|kill|shut (?:down|off|up)|(?:switch|turn) .*off|quiet\w*|silence|hush|shush|(?:put"
    r"|place|set) .*on (?:hold|pause|ice)|(?:take|have|get|give|allow) .*a"
    r" (?:break|rest|pause)"
)
_RESUME = (
    r"continue|restart|proceed"
    r"|wake|re(?:activate|launch|open)|relaunch|kick off|carry on|go on|keep (?:it |them )?going|move on"
    r"|on (?:you|they|it) goe?s?|pick (?:it )?up"
    r"|start (?:.*)?(?:again|up|over|back)|(?:take|get|bring) .*off (?:hold|pause|ice)|back (?:on|in"
    r"|to (?:work|life))"
    r"|let .* (?:run|go|talk|speak|work)|(?:get|set|put|bring) .*(?:back|going|moving|running|talking"
    r"|working|started)"
    r"|go ahead with"
)
_LEADS = (
    rf"(?:let us|we|you|they|them|{_POINTED_AT})(?: (?:should|must|can|could|may|will|needs? to|ha(?:ve"
    rf"|s) to|to))?"
    r"|and|then|or|quick|now"
)
_OBEYING = rf"(?:we|they|them|{_POINTED_AT}) (?:should|must|needs? to|ha(?:ve|s) to)|(?:let|make) .*"


def _command(verbs: str) -> str:
    return (
        rf"(?:^|\b(?:{_LEADS}) )(?:{verbs})\b"
        rf"|(?<!\bnot )(?<!\bnever )\b(?:{verbs})\b(?= (?:\w+ ){{0,4}}?(?:{_POINTED_AT})\b)"
    )


_SAID_TO_THE_AGENT = (
    r".*\b(?:that thought|let it go|cut it out|knock it off|(?:hold|hang) on (?:a|one) second)\b"
    r"|hold (?:it|this|that)$"
    r"|(?:let us )?(?:stop|end|close|quit|leave) (?:this|our|the) (?:conversation|session|chat)$"
)

_ABOUT = (
    r"about(?! (?:time|you|yourself|me)\b)|topic|subject|purpose|describe|explain|summar\w+|sum(?: \w+)? up"
    r"|details?|discuss\w*|talking"
    r"|say|saying"
    r"|said|debat(?:e|ing)|argu\w*|(?:is|are) .*(?:doing|up to|getting on)|how (?:is|are) .*(?:going|coming)"
    r"|ha(?:s|ve) .*(?:got to|done|decided|agreed|found|happened|come)|what happened|happening in|status"
    r"|progress"
    r"|news|latest|catch (?:me|us) up|brief (?:me|us)|fill (?:me|us) in|update"
    rf"|(?:^| )(?:{_QUESTION}|how) .*(?:they|them|(?:that|this|first|second|third|fourth|fifth"
    rf"|last) (?:{_ONE})"
    rf"|(?:the|that|this) (?:\w+ )?(?:{_ONE}))"
)
_ASKED = (
    rf"^(?:{_QUESTION})|what|which|how|who|where|why|tell|describe|explain|summar\w+|sum|give|catch|brief"
    rf"|fill|any|{_ONE}"
    r"|first|second|third|fourth|fifth|last"
)
# What is said of the agent, or asked of anything in the world.
_SMALL_TALK = (
    rf"(?:what|how) about (?!.*\b(?:{_POINTED_AT})\b)|how are you\b"
    r"|(?:what|how|why|where|who) (?:do|did|would|are|were|will) you (?:think|say|said|mean|doing|feel)\b"
)
_MADE = "(?:start|make|create|open|begin|set up|found) (?:me )?(?:a|another|one|new)"
_ALL_ROOMS = (
    r"(?:which|what|how many|all|every|each|any|some|show|read|name|see|list|tell|my|our|other|through|there)"
    rf" (?:\w+ ){{0,3}}?(?:{_SEVERAL})|(?:{_SEVERAL}) (?:are|do|is|exist)|^(?:the )?(?:{_SEVERAL})$"
)
_LIST = (
    rf"list(?: of)?(?: (?:the|my|all|them|everything|{_SEVERAL}))*$|overview|rundown"
    rf"|(?:which|what|how many|any|every|each) (?:{_ONE}|agents)"
    r"|how many(?: of them)?(?: are| do| have|$)"
    r"|(?:what|who|anything|everything|something|agents)(?: (?:else|is|are|has|have|that|i|we|you|got|do"
    r"|still|all))*"
    rf" (?:running|active|live|working|going on|(?:going|happening|open|there|on|got|have){_NOW})"
)
_DOES = (
    "can|could|should|may|might|do|does|am|are|is|supposed|meant|able|to|of|sorts?|kinds?|things?|stuff"
    "|else|words"
)
_HELP = (
    r"(?:^|(?:can|could|would) (?:you|anybody|somebody) |need (?:some |your )?)help(?: (?:me|us|out|here))*$"
    r"|help (?:me |us )?out|guidance|guide me|a hint|examples?(?! of (?!what))"
    r"|commands?(?! (?:of|for|does|has))"
    r"|options(?! for)|instructions(?! (?:for|of))|who are you|what are you$"
    r"|capab\w+|abilit\w+|i am (?:lost|confused|stuck)"
    r"|i do not (?:understand|get it)"
    rf"|(?:what|how|which)(?: (?:{_DOES}))* (?:you|i|we|this|it|one|to)(?: (?:{_DOES}|you|i))*"
    r" (?:do|say|ask|understand|know|use|work|try|help|talk|tell|answer|handle|offer)"
    r"(?: (?:to|with|for|about|from|you|me|this|that|it|here|for|next|instead))*$"
    r"|how (?:do|can|could|would) (?:i|you|we|one) (?:pause|resume|stop|start|continue|list|see|hear)"
    rf"(?: \w+){{0,4}} (?:{_POINTED_AT})\b"
)
_OTHER_LANGUAGES: Final[Mapping[IntentName, str]] = {
    "help": r"帮助|你能做什么|\bпомощь|\bпомоги|\bчто ты умеешь",
    "resume": r"继续|恢复|\bпродолж|\bвозобнов",
    "pause": r"停|\bпауз|\bприостанов|\bостанов|\bстоп",
    "list": r"哪些|列出|有什么房间|\bкакие|\bсписок|\bсколько комнат",
    "about": r"关于|讨论什么|说什么|\bо ч[её]м|\bпро что|\bтема|\bрасскажи",
}


@dataclass(frozen=True, slots=True)
class _Rule:
    """An intent is meant where its words are said and ``where`` holds for the whole sentence."""

    name: IntentName
    words: re.Pattern[str]
    where: re.Pattern[str]


def _rule(name: IntentName, words: str, where: str = "") -> _Rule:
    return _Rule(name, re.compile(words), re.compile(where))


_COMMANDED = rf"^(?!(?:{_QUESTION})\b)"
# "Stop" alone, and "hold on" or "go on", are said to whoever speaks: the voice agent itself heeds the first.
_COMMANDED_A_ROOM = rf"{_COMMANDED}(?=.*\b(?:{_POINTED_AT})\b)(?!{_SAID_TO_THE_AGENT})"
_RULES: Final = (
    _rule("help", rf"\b(?:{_HELP})\b"),
    _rule("resume", _command(_CLEARLY_RESUME), _COMMANDED),
    _rule("resume", _command(_RESUME), _COMMANDED_A_ROOM),
    _rule("pause", _command(_CLEARLY_PAUSE), _COMMANDED),
    _rule("pause", rf"{_command(_PAUSE)}|\b(?:{_OBEYING}) wait\b", _COMMANDED_A_ROOM),
    _rule("list", rf"\b(?:{_ALL_ROOMS})\b"),
    _rule("about", rf"\b(?:{_ABOUT})\b", rf"^(?!{_MADE}\b|{_SMALL_TALK}).*\b(?:{_ASKED})\b"),
    _rule("list", rf"\b(?:{_LIST})\b"),
    *(_rule(name, words) for name, words in _OTHER_LANGUAGES.items()),
)
_MAX_HEARD = 400  # characters of what is said that are looked at: more is no command
_AS_SAID = (  # what is written together or apart, however somebody says or hears it
    (r"\b(what|who|how|where|that|there)'?s\b", r"\1 is"),
    (r"\blet's\b", "let us"),
    (r"n't\b", " not"),
    (r"\bi'm\b", "i am"),
    (r"'re\b", " are"),
    (r"'ve\b", " have"),
    (r"[^\w\s']", " "),
    (r"\bun (?=paus|freez|hold|suspend)", "un"),
)
_FILLER = re.compile(
    r"\b(?:please|i(?: would|'d)? (?:want|like)(?: you)? to|(?:is|would) it (?:be )?possible to|hey|hi"
    r"|hello|okay"
    r"|ok|um+|uh+|hmm+|so|well|now|just|for me|for a (?:moment|minute|second|bit|while)|thanks?|thank you"
    r"|all right|alright|right|tell me(?= what| how| which| who)|let me know|go and|agent|computer)\b"
)
_OPENING = re.compile(
    r"^(?:(?:and|but|then|yes|yeah|no|oh|maybe|actually|i think|i guess|quickly?|(?:can|could|would"
    r"|will) you) )+"
)
_NOT_NAMES = re.compile(
    r"\b(?:the|a|an|my|this|that|it|them|they|rooms?|rums?|conversations?|debates?|discussions?|chats?"
    r"|one|is|are"
    r"|was|what|which|who|how|where|why|do|does|did|has|have|me|us|you|we|i|to|in|on|of|for|with|and"
    r"|about|up|off"
    r"|down|again|going|doing|talk|let|there|get|got|put|make|give|tell|be|being|over|here|some|more|any"
    r"|all|number"
    r"|first|second|third|fourth|fifth|last|latest|running|paused|talking|saying|say|said|agents?"
    r"|discuss\w*|at"
    r"|moment|today|tomorrow|until|till|later|before|after|because|if|while|far|not|can|could|would|will"
    r"|should|must)\b"
)
# "The budget room", "that debate about tabs": what a room is called, whatever else is in the sentence.
_CALLED = (
    re.compile(rf"\b(?:the|my|our|that|this) ((?:(?!the\b|that\b|this\b|my\b)\w+ ){{1,5}}?)(?:{_ONE})\b"),
    re.compile(rf"\b(?:{_ONE}) (?:about|on(?! hold| ice| pause)|called|named) (?:the )?(.+)$"),
)
_IT = re.compile(
    r"\b(?:it|them|they|there|(?:that|this)(?: (?:room|rum|one|conversation|debate|discussion|chat))?)\b"
)
_ORDINALS: Final = {
    **dict.fromkeys(("first", "1st", "number one", "room one", "第一", "первую", "первая", "первой"), 0),
    **dict.fromkeys(("second", "2nd", "number two", "room two", "第二", "вторую", "вторая", "второй"), 1),
    **dict.fromkeys(("third", "3rd", "number three", "room three", "第三", "третью", "третья", "третьей"), 2),
    **dict.fromkeys(("fourth", "4th", "number four", "room four", "第四"), 3),
    **dict.fromkeys(("fifth", "5th", "number five", "room five", "第五"), 4),
    **dict.fromkeys((f"last (?:{_ONE})", "最后", "последнюю", "последняя"), -1),
}


@dataclass(frozen=True, slots=True)
class Intent:
    """What somebody wants; ``words`` are those that may name a room."""

    name: IntentName
    said: str
    words: str


def intent_of(text: str) -> Intent | None:
    """Return what ``text`` asks for, ``None`` where that is none of the five."""
    said = text[:_MAX_HEARD].casefold().replace("’", "'")
    for written, plain in _AS_SAID:
        said = re.sub(written, plain, said)
    bare = _OPENING.sub("", " ".join(_FILLER.sub(" ", " ".join(said.split())).split()))
    for rule in _RULES:
        if rule.words.search(bare) and rule.where.search(bare):
            return Intent(rule.name, bare, _words_for_a_room(bare, rule.words))
    return None


def _words_for_a_room(bare: str, words: re.Pattern[str]) -> str:
    for called in _CALLED:
        if (found := called.search(bare)) and (name := " ".join(_NOT_NAMES.sub(" ", found[1]).split())):
            return name
    return "" if _IT.search(bare) else " ".join(_NOT_NAMES.sub(" ", words.sub(" ", bare)).split())


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
        if name == "room_about" and why.startswith(NO_SUCH_ROOM):  # or it was about something else
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
