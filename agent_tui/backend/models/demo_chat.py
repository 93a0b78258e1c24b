"""What the demo model says in a chat: it calls tools where a script can see what they are good for, says what
came of it, and elsewhere that it is a demo.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_tui.backend.models.demo_asked import Wish, asks_for_tools, is_hello, wishes_in
from agent_tui.backend.models.demo_chat_phrases import ChatPhrases
from agent_tui.backend.models.demo_chat_words import CHAT_PHRASES
from agent_tui.backend.models.demo_places import place_of
from agent_tui.backend.models.demo_task import Language, language_of, read_task, safe_line
from agent_tui.backend.models.model import (
    CallPiece,
    ChatMessage,
    ModelRequest,
    Piece,
    TextPiece,
    ThinkingPiece,
    ToolCall,
)
from agent_tui.inert import inert, inert_line

MAX_QUOTE_CHARACTERS = 100
MAX_SHOWN_LINES = 20
MAX_SHOWN_CHARACTERS = 2_000
MAX_NAMED_CHARACTERS = 120
MAX_RESULT_CHARACTERS = 300  # of a sum's, written in a sentence

HERE = Wish("current_time", {})  # the time where this machine is
_LANGUAGES: tuple[Language, ...] = ("en", "zh", "ru")
_FENCES = re.compile("`{3,}")
_TIMES = re.compile(r"(?<=\d)\s*\*\s*(?=\d)")
_LETTERS = re.compile(r"[^\W\d_]")


def chat_language(request: ModelRequest) -> Language:
    """Return the language of the newest of a person's words that has letters: a bare sum has none."""
    told = (message.content for message in reversed(request.messages) if message.role == "user")
    return language_of(next((text for text in (request.task, *told) if _LETTERS.search(text)), ""))


def chat_pieces(request: ModelRequest, talk: str) -> list[Piece]:
    """Return the answer in whole pieces: thoughts, words, calls; ``talk`` is what the script says of it."""
    chat = _Chat(request)
    if results := _results(request.messages):
        return [TextPiece(chat.told(results))]
    wishes = wishes_in(request.task)
    if wishes:
        return chat.wished(wishes)
    thought: list[Piece] = [ThinkingPiece(chat.words.thought_plain)] if request.thinking else []
    return [*thought, TextPiece(chat.plain(talk))]


def is_for_tools(request: ModelRequest) -> bool:
    """Return whether there is something to call for the task, or to say of what was called."""
    return bool(_results(request.messages) or wishes_in(request.task))


class _Chat:
    """One answer."""

    def __init__(self, request: ModelRequest) -> None:
        self._request = request
        self.language = chat_language(request)
        self.words: ChatPhrases = CHAT_PHRASES[self.language]
        self._space = "" if self.language == "zh" else " "
        self._offered = {tool.name for tool in request.tools}
        told = repr([(message.role, message.content) for message in request.messages])
        digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
        self._salt = digest[:8]
        self._rng = random.Random(int(digest[:8], 16))

    # --- before the results ----------------------------------------------------------------------------

    def wished(self, wishes: Sequence[Wish]) -> list[Piece]:
        """Return the thoughts, the words and the calls that wishes come to."""
        calls = [wish for wish in wishes if wish.tool in self._offered]
        told = self._not_called(wishes)
        if not calls:
            return [TextPiece("\n\n".join([*told, self._examples()]))]
        tools = dict.fromkeys(wish.tool for wish in calls)
        thoughts = [self._thought([wish for wish in calls if wish.tool == tool]) for tool in tools]
        if len(calls) > 1:
            thoughts.append(self.words.thought_several)
            asks = self.words.asks_several
        else:
            asks = self.words.asks[calls[0].tool].format(about=_bare(calls[0].about))
        pieces: list[Piece] = [ThinkingPiece(self._space.join(thoughts))]
        pieces.append(TextPiece("\n\n".join([*told, asks])))
        for number, wish in enumerate(calls):
            arguments = json.dumps(dict(wish.arguments), ensure_ascii=False)
            pieces.append(CallPiece(number, f"demo_{self._salt}_{number}", wish.tool, arguments))
        return pieces

    def _not_called(self, wishes: Sequence[Wish]) -> list[str]:
        told = [self.words.nowhere.format(place=_bare(wish.about)) for wish in wishes if not wish.tool]
        missing = dict.fromkeys(wish.tool for wish in wishes if wish.tool and wish.tool not in self._offered)
        return told + [self.words.off.format(tool=tool) for tool in missing]

    def _thought(self, wishes: Sequence[Wish]) -> str:
        """Return the thought before calls of one tool."""
        about = "`, `".join(_bare(wish.about) for wish in wishes)
        zones = ", ".join(wish.arguments.get("zone", "") for wish in wishes)
        phrase = self.words.thought_here if wishes[0] == HERE else self.words.thoughts[wishes[0].tool]
        return phrase.format(about=about, zone=zones)

    # --- without a tool --------------------------------------------------------------------------------

    def plain(self, talk: str) -> str:
        """Return an answer that no tool is needed for."""
        task = self._request.task
        if asks_for_tools(task):
            return self._tools()
        if is_hello(task):
            return f"{self.words.hello}\n\n{self._examples()}"
        if not task.strip():
            return f"{self.words.cannot_empty}\n\n{self._examples()}"
        quote = safe_line(_TIMES.sub(" × ", task), MAX_QUOTE_CHARACTERS)
        said = [self._rng.choice(self.words.cannot).format(quote=quote)]
        if read_task(task).kind != "question":
            said += [self.words.from_script, talk]
        return "\n\n".join([*said, self._examples()])

    def _examples(self) -> str:
        named = [name for name in self.words.examples if name in self._offered]
        if not named:
            return self.words.no_tools
        return "\n".join([self.words.examples_lead, "", *(f"- {self._example(name)}" for name in named)])

    def _example(self, name: str) -> str:
        return f"`{self.words.examples[name]}`"

    def _tools(self) -> str:
        if not self._offered:
            return self.words.no_tools
        own = [name for name in self.words.examples if name in self._offered]
        others = sorted(self._offered - set(self.words.examples))
        said = [self.words.tools_lead, ""] if own else []
        said += [f"- `{name}`: {self._example(name)}" for name in own]
        if others:
            said += [*([""] if own else []), self.words.others_lead, ""]
            said += [f"- `{_bare(name)}`" for name in others]
        return "\n".join(said)

    # --- with the results ------------------------------------------------------------------------------

    def told(self, results: Sequence[tuple[ToolCall, str]]) -> str:
        """Return what came of the calls, in sentences."""
        return "\n\n".join(self._result(call, content) for call, content in results)

    def _result(self, call: ToolCall, content: str) -> str:
        fields = _object(content)
        arguments = _object(call.arguments)
        match call.name, fields:
            case "run_command", {"exit_code": code, "output": str(output)} if code is not None:
                done = self.words.code.format(code=code)
                return f"{done}{self._space}{self._shown(call.name, '', output)}"
            case name, {"success": False}:
                error = safe_line(str(fields.get("error", content)), MAX_RESULT_CHARACTERS)
                return self.words.failed.format(tool=_bare(name), error=error)
            case "calculator", {"result": str(result)}:
                return self._sum(str(arguments.get("expression", "")), result, fields)
            case "current_time", {"time": str(moment)}:
                return self._time(moment, str(arguments.get("zone", "")), content)
            case "write_file", _:
                return self.words.wrote.format(said=safe_line(content, MAX_RESULT_CHARACTERS))
            case _:  # shown as it is
                pass
        about = next(iter(arguments.values()), "")
        return self._shown(call.name, str(about), content)

    def _sum(self, about: str, result: str, fields: Mapping[str, Any]) -> str:
        exact, fraction, rough = self.words.sums
        phrase = fraction if "about" in fields else exact if fields.get("exact", True) else rough
        shown = result if len(result) <= MAX_RESULT_CHARACTERS else f"{result[:MAX_RESULT_CHARACTERS]}…"
        return phrase.format(about=_bare(about), result=shown, value=fields.get("about", ""))

    def _time(self, moment: str, zone: str, content: str) -> str:
        try:
            then = datetime.fromisoformat(moment)
        except ValueError:
            return self._shown("current_time", "", content)
        day = self.words.day.format(
            weekday=self.words.weekdays[then.weekday()],
            day=then.day,
            month=self.words.months[then.month - 1],
            year=then.year,
        )
        offset = f"UTC{then:%z}"
        offset = "UTC" if offset in ("UTC", "UTC+0000") else f"{offset[:-2]}:{offset[-2:]}"
        if not zone:
            return self.words.time_here.format(clock=f"{then:%H:%M}", day=day, offset=offset)
        place = place_of(zone, self._request.task)
        name = place.names[_LANGUAGES.index(self.language)] if place else _bare(zone)
        return self.words.time.format(place=name, clock=f"{then:%H:%M}", day=day, offset=offset)

    def _shown(self, name: str, about: str, output: str) -> str:
        lead = self.words.done.get(name, "").format(about=_bare(about))
        lines = inert(output).strip("\n").split("\n")
        kept = "\n".join(lines[:MAX_SHOWN_LINES])[:MAX_SHOWN_CHARACTERS]
        if not kept.strip():
            return self.words.empty
        longest = max((len(fence) for fence in _FENCES.findall(kept)), default=2)
        fence = "`" * (longest + 1)
        left = len(lines) - kept.count("\n") - 1
        more = [self.words.more.format(count=left)] if left else []
        return "\n\n".join([*([lead] if lead else []), f"{fence}\n{kept}\n{fence}", *more])


def _results(messages: Sequence[ChatMessage]) -> list[tuple[ToolCall, str]]:
    """Return the calls of the answer under way and what came of each, in their order."""
    calls: list[ToolCall] = []
    contents: dict[str, str] = {}
    for message in reversed(messages):
        if message.role == "tool":
            contents[message.call_id] = message.content
        elif message.role == "assistant" and message.calls:
            calls = [*message.calls, *calls]
        else:
            break
    return [(call, contents[call.id]) for call in calls if call.id in contents]


def _object(text: str) -> dict[str, Any]:
    """Return the JSON object that ``text`` is, an empty one for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _bare(text: str) -> str:
    """Return ``text`` as one short line that cannot end the code span it stands in."""
    return inert_line(text, MAX_NAMED_CHARACTERS).replace("`", "'")
