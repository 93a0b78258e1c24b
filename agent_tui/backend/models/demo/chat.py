"""The demo model in a chat: it calls tools if a script can see what for, says their results, and otherwise
says that it is a demo.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from agent_tui.backend.models.demo.asked import ToolWish, asks_for_tools, is_hello, places_in, wishes_in
from agent_tui.backend.models.demo.debate import safe_line
from agent_tui.backend.models.demo.scripts import read
from agent_tui.backend.models.model import (
    CallPiece,
    ChatMessage,
    ModelRequest,
    Piece,
    TextPiece,
    ThinkingPiece,
    ToolCall,
)
from agent_tui.config.agent_templates import language_of
from agent_tui.model.inert import inert, inert_line
from agent_tui.wire.content import json_object

MAX_QUOTE_CHARACTERS = 100
MAX_SHOWN_LINES = 20
MAX_SHOWN_CHARACTERS = 2_000
MAX_NAMED_CHARACTERS = 120
MAX_RESULT_CHARACTERS = 300  # of a sum, written in a sentence

_FENCES = re.compile("`{3,}")
_LETTERS = re.compile(r"[^\W\d_]")


def chat_language(request: ModelRequest) -> str:
    """Return the language of the newest of a person's words with letters: a bare sum has none."""
    return language_of(_newest_words(request))


def _newest_words(request: ModelRequest) -> str:
    texts = (message.content for message in reversed(request.messages) if message.role == "user")
    return next((text for text in (request.task, *texts) if _LETTERS.search(text)), "")


def is_for_tools(request: ModelRequest) -> bool:
    """Return whether there is something to call for the task, or a result to report."""
    return bool(results_in(request.messages) or wishes_in(request.task))


def chat_pieces(request: ModelRequest) -> list[Piece]:
    """Return the answer in whole pieces: thoughts, words, calls."""
    chat = _Chat(request)
    if results := results_in(request.messages):
        return [TextPiece("\n\n".join(chat.result(call, content) for call, content in results))]
    if wishes := wishes_in(request.task):
        return chat.pieces_for(wishes)
    thought: list[Piece] = [ThinkingPiece(chat.say("thought_plain"))] if request.thinking else []
    return [*thought, TextPiece(chat.plain())]


class _Chat:
    """One answer."""

    def __init__(self, request: ModelRequest) -> None:
        self._request = request
        self._language = chat_language(request)
        self._texts = read(f"{self._language}/chat.toml")
        self._tools: Mapping[str, Mapping[str, str]] = self._texts["tools"]
        self._space = "" if self._language == "zh" else " "
        self._offered = {tool.name for tool in request.tools}
        messages = repr([(message.role, message.content) for message in request.messages])
        self._salt = hashlib.sha256(messages.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    def say(self, name: str, **slots: object) -> str:
        """Return a sentence of the chat's file with its slots filled."""
        return str(self._texts[name]).format(**slots)

    def pieces_for(self, wishes: Sequence[ToolWish]) -> list[Piece]:
        """Return the thoughts, the words and the calls for the wishes."""
        remarks = [self.say("nowhere", place=_bare(wish.about)) for wish in wishes if not wish.tool]
        missing = dict.fromkeys(wish.tool for wish in wishes if wish.tool and wish.tool not in self._offered)
        remarks += [self.say("off", tool=tool) for tool in missing]
        calls = [wish for wish in wishes if wish.tool in self._offered]
        if not calls:
            return [TextPiece("\n\n".join([*remarks, self._examples()]))]
        thoughts = [self._thought(tool, calls) for tool in dict.fromkeys(wish.tool for wish in calls)]
        asks = self._tools[calls[0].tool]["ask"].format(about=_bare(calls[0].about))
        if len(calls) > 1:
            thoughts.append(self.say("thought_several"))
            asks = self.say("asks_several")
        pieces: list[Piece] = []
        if remarks or _newest_words(self._request):  # the language of who asks with figures alone is unknown
            pieces += [ThinkingPiece(self._space.join(thoughts)), TextPiece("\n\n".join([*remarks, asks]))]
        for number, wish in enumerate(calls):
            arguments = json.dumps(dict(wish.arguments), ensure_ascii=False)
            pieces.append(CallPiece(number, f"demo_{self._salt}_{number}", wish.tool, arguments))
        return pieces

    def _thought(self, tool: str, calls: Sequence[ToolWish]) -> str:
        """Return the thought before the calls of one tool."""
        about = [wish.about for wish in calls if wish.tool == tool]
        if tool == "current_time" and not any(about):
            return self.say("thought_here")
        return self._tools[tool]["thought"].format(
            about="`, `".join(map(_bare, about)), zone=", ".join(about)
        )

    # --- without a tool --------------------------------------------------------------------------------

    def plain(self) -> str:
        """Return an answer that needs no tool."""
        task = self._request.task
        if asks_for_tools(task):
            return self._all_tools()
        if is_hello(task) or not task.strip():
            return f"{self.say('hello' if task.strip() else 'cannot_empty')}\n\n{self._examples()}"
        quote = safe_line(task, MAX_QUOTE_CHARACTERS)
        excuse = random.Random(self._salt).choice(self._texts["cannot"]).format(quote=quote)
        return "\n\n".join([excuse, self.say("connect"), self._examples()])

    def _examples(self) -> str:
        examples = [f"- `{tool['example']}`" for name, tool in self._tools.items() if name in self._offered]
        return "\n".join([self.say("examples_lead"), "", *examples]) if examples else self.say("no_tools")

    def _all_tools(self) -> str:
        own = [
            f"- `{name}`: `{tool['example']}`" for name, tool in self._tools.items() if name in self._offered
        ]
        others = [f"- `{_bare(name)}`" for name in sorted(self._offered.difference(self._tools))]
        lists = [
            f"{self.say(lead)}\n\n" + "\n".join(names)
            for lead, names in (("tools_lead", own), ("others_lead", others))
            if names
        ]
        return "\n\n".join(lists) or self.say("no_tools")

    # --- with the results ------------------------------------------------------------------------------

    def result(self, call: ToolCall, content: str) -> str:
        """Return the result of a call in a sentence; else the result as it is."""
        fields, arguments = json_object(content), json_object(call.arguments)
        about = str(next(iter(arguments.values()), ""))
        match call.name, fields:
            case "run_command", {"exit_code": code, "output": str(output)} if code is not None:
                return (
                    f"{self.say('code', code=code)}{self._space}{self._output_block(call.name, '', output)}"
                )
            case name, {"success": False}:
                error = safe_line(str(fields.get("error", content)), MAX_RESULT_CHARACTERS)
                return self.say("failed", tool=_bare(name), error=error)
            case "calculator", {"result": str(result)}:
                shown = (
                    result if len(result) <= MAX_RESULT_CHARACTERS else f"{result[:MAX_RESULT_CHARACTERS]}…"
                )
                form = (
                    "sum_fraction"
                    if "about" in fields
                    else "sum"
                    if fields.get("exact", True)
                    else "sum_rough"
                )
                return self.say(form, about=_bare(about), result=shown, value=fields.get("about", ""))
            case "current_time", {"time": str(moment)} if sentence := self._time(moment, about):
                return sentence
            case "write_file", _:
                return self.say("wrote", said=safe_line(content, MAX_RESULT_CHARACTERS))
            case _:
                return self._output_block(call.name, about, content)

    def _time(self, moment: str, zone: str) -> str:
        """Return the sentence for a time in ISO 8601, empty if it is not one."""
        try:
            then = datetime.fromisoformat(moment)
        except ValueError:
            return ""
        weekday = self._texts["weekdays"].split()[then.weekday()]
        month = self._texts["months"].split()[then.month - 1]
        day = self.say("day", weekday=weekday, day=then.day, month=month, year=then.year)
        offset = f"UTC{then:%z}".removesuffix("+0000")
        offset = f"{offset[:-2]}:{offset[-2:]}" if len(offset) > len("UTC") else "UTC"
        places = [place for _, place in places_in(self._request.task) if place.zone == zone]
        name = places[0].names[self._language] if places else _bare(zone)
        form = "time" if zone else "time_here"
        return self.say(form, place=name, clock=f"{then:%H:%M}", day=day, offset=offset)

    def _output_block(self, tool: str, about: str, output: str) -> str:
        lines = inert(output).strip("\n").split("\n")
        kept = "\n".join(lines[:MAX_SHOWN_LINES])[:MAX_SHOWN_CHARACTERS]
        if not kept.strip():
            return self.say("empty")
        fence = "`" * (max((len(fence) for fence in _FENCES.findall(kept)), default=2) + 1)
        left = len(lines) - kept.count("\n") - 1
        lead = self._tools.get(tool, {}).get("done", "").format(about=_bare(about))
        more = self.say("more", count=left) if left else ""
        return "\n\n".join(filter(None, (lead, f"{fence}\n{kept}\n{fence}", more)))


def results_in(messages: Sequence[ChatMessage]) -> list[tuple[ToolCall, str]]:
    """Return the calls of the current answer with their results, in order."""
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


def _bare(text: str) -> str:
    """Return ``text`` as one short line that cannot end its code span."""
    return inert_line(text, MAX_NAMED_CHARACTERS).replace("`", "'")
