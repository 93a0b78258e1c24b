"""What the demo model understands in a voice conversation: five intents about rooms, and nothing else.

It is not a language model and does not pretend to be one: for anything else it says in one sentence how to
connect one. Speech is often misheard, so intents are found by words, not by sentences.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from agent_tui.backend.models.demo.chat import results_in
from agent_tui.backend.models.demo.scripts import compiled, find, patterns, read
from agent_tui.backend.models.model import CallPiece, ModelRequest, Piece, TextPiece
from agent_tui.config.agent_templates import language_of
from agent_tui.model.inert import inert_line
from agent_tui.wire.content import json_object

IntentName = Literal["list", "about", "pause", "resume", "help"]

NO_SUCH_ROOM: Final = "there is no such room"  # as the tools about rooms word it
MAX_NAMED: Final = 5
MAX_SAID_CHARACTERS: Final = 200
_MOST_NAMED: Final = 100  # characters: a longer name may have been cut
_STATES: Final = ("running", "paused", "completed", "error")
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
    spoken = text[:_MAX_HEARD].casefold().replace("’", "'")
    for written, plain in read(_FILE)["spelling"]["as_said"]:
        spoken = re.sub(written, plain, spoken)
    (filler,), (opening,) = patterns("filler", _FILE), patterns("opening", _FILE)
    bare = opening.sub("", " ".join(filler.sub(" ", " ".join(spoken.split())).split()))
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
    words = _Words(_language(request))
    results, intent = results_in(request.messages), intent_of(request.task)
    if results and not (intent and intent.name == "resume" and _has_just_listed(request)):
        call, content = results[-1]
        return [TextPiece(words.result_text(call.name, json_object(content)))]
    if intent is None:
        return [TextPiece(words.say("else"))]
    if intent.name == "help":
        return [TextPiece(words.say("help"))]
    tool = _CALLS[intent.name]
    if tool not in {spec.name for spec in request.tools}:
        return [TextPiece(words.say("not_yours"))]
    arguments = {} if intent.name == "list" else {"room": _room_meant(intent, request)}
    if intent.name == "resume" and arguments["room"].isdigit() and not results:
        tool, arguments = _CALLS["list"], {}  # it asks, and whoever is asked has to see a name
    return [CallPiece(0, f"demo_voice_{len(request.messages)}", tool, json.dumps(arguments))]


def _has_just_listed(request: ModelRequest) -> bool:
    """Return whether the newest message is the result of a list with rooms in it."""
    newest = request.messages[-1]
    return newest.role == "tool" and bool(json_object(newest.content).get("rooms"))


def _room_meant(intent: Intent, request: ModelRequest) -> str:
    """Return the room that is meant: "the first one" is of the last list, "it" the last mentioned."""
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
    """Return the rooms in the order of the last list, and the last one mentioned, as ``_name_for_call``."""
    listed: list[str] = []
    names: Counter[str] = Counter()
    spoken_of = ""
    for message in request.messages:
        fields = json_object(message.content) if message.role == "tool" else {}
        if isinstance(rooms := fields.get("rooms"), list):
            valid_rooms = [room for room in rooms if isinstance(room, dict) and "id" in room]
            names = Counter(str(room.get("name", "")) for room in valid_rooms)
            listed = [_name_for_call(room, names) for room in valid_rooms]
            spoken_of = listed[0] if len(listed) == 1 else ""
        elif isinstance(fields.get("id"), str):
            spoken_of = _name_for_call(fields, names)
    return listed, spoken_of


def _name_for_call(room: Mapping[str, Any], names: Counter[str]) -> str:
    """Return a room's name for a call, which people are shown, or its id if the name is ambiguous."""
    name = str(room.get("name", ""))
    is_clear = any(map(str.isalpha, name)) and len(name) < _MOST_NAMED and names[name] < 2
    return name if is_clear else str(room["id"])


# --- what it says ------------------------------------------------------------------------------------------


def _language(request: ModelRequest) -> str:
    """Return the language of the question if its script shows it, else that of the system prompt."""
    language = language_of(request.task)
    if language != "en":
        return language
    return language_of("\n".join(message.content for message in request.messages if message.role == "system"))


class _Words:
    """Sentences in one language."""

    def __init__(self, language: str) -> None:
        self._texts = read(f"{language}/voice.toml")
        self._space = "" if language == "zh" else " "

    def say(self, name: str, **slots: object) -> str:
        """Return a sentence of the language's file with its slots filled."""
        return str(self._texts[name]).format(**slots)

    def joined(self, *sentences: str) -> str:
        """Return sentences one after the other."""
        return self._space.join(sentences)

    def result_text(self, name: str, fields: Mapping[str, Any]) -> str:
        """Return what the result of the call ``name`` says."""
        if fields.get("success") is False or ("name" not in fields and "rooms" not in fields):
            return self._failure(name, inert_line(str(fields.get("error", "")), MAX_SAID_CHARACTERS))
        room = _bare(fields.get("name", ""))
        match name:
            case "list_rooms":
                return self._rooms(fields)
            case "room_about":
                return self._about(room, fields)
            case "pause_room":
                return self.say("paused" if fields.get("changed") else "not_running", room=room)
            case "resume_room":
                return self.say("resumed" if fields.get("changed") else "runs_already", room=room)
            case _:
                return self.say("started", room=room)

    def _failure(self, name: str, why: str) -> str:
        if why.startswith("denied"):
            return self.say("denied")
        if name == "room_about" and why.startswith(NO_SUCH_ROOM):  # otherwise it was about something else
            return self.joined(self.say("no_such_room"), self.say("else"))
        return self.say("failed_why", why=why) if why else self.say("failed")

    def _rooms(self, fields: Mapping[str, Any]) -> str:
        rooms = [room for room in fields["rooms"] if isinstance(room, dict)]
        count = len(rooms) + int(fields.get("more") or 0)
        if not count:
            return self.say("no_rooms")
        counted: Sequence[str] = self._texts["rooms"]
        sentences = [counted[count - 1] if count <= len(counted) else self.say("many_rooms", count=count)]
        sentences += [
            self._state(_bare(room.get("name", "")) or self.say("nameless"), room)
            for room in rooms[:MAX_NAMED]
        ]
        if count > MAX_NAMED:
            sentences.append(self.say("more_rooms", count=count - MAX_NAMED))
        return self.joined(*sentences)

    def _about(self, room: str, fields: Mapping[str, Any]) -> str:
        task = _bare(fields.get("task", ""))
        sentences = [self.say("task", task=task) if task else self.say("no_task", room=room)]
        if agents := [str(agent) for agent in fields.get("agents", ())]:
            *others, last = agents
            names = self.say("between_agents").join(others)
            several = self.say("several_talk", agents=names, last=last)
            sentences.append(several if others else self.say("one_talks", agent=last))
        return self.joined(*sentences, self._state(self.say("it"), fields))

    def _state(self, room: str, fields: Mapping[str, Any]) -> str:
        """Return the sentence about the state of a room, which ``room`` names."""
        states: Mapping[str, str] = self._texts["state"]
        round_, rounds = fields.get("round"), fields.get("rounds")
        where = states["where"].format(round=round_, rounds=rounds) if round_ and rounds else ""
        status = str(fields.get("status"))
        return states[status if status in _STATES else "other"].format(room=room, where=where)


def _bare(text: object) -> str:
    """Return a name or a task as it is said within a sentence."""
    return inert_line(str(text), MAX_SAID_CHARACTERS).rstrip("?.! ？。！")
