"""What the screens of a room and of a chat say alike: pure functions from what is known to text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Final, Literal, NamedTuple

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.budget import ceilings
from agent_tui.model.events import ConversationInfo, LinkChanged, Note, RoomInfo, ToolAsk, TurnNoted
from agent_tui.model.inert import inert_line, visible
from agent_tui.model.tool_forms import ToolForm
from agent_tui.paths import home_folder
from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import Steps, StepState
from agent_tui.state.turn import Turn
from tui.live import signs
from tui.screens.localised import localised
from tui.screens.words import count, list_of, ordinal_try, say, say_count, text_if_any
from widgets.units import size, tokens

# What our tools say about a call that asks, each as its last lines, by the words for it.
_PREVIEWS: Final = {
    re.compile(r"^in (?P<folder>[^\n]+)\n(?P<seconds>[\d.]+) s at most\Z", re.MULTILINE): "ask.where",
    re.compile(r"^The host (?P<ascii>\S+) stands for (?P<host>[^\n]+)\Z", re.MULTILINE): "ask.host",
    re.compile(r"\Ait would change nothing\Z"): "ask.no_change",
}
MAX_DETAIL_CHARACTERS: Final = 120
MAX_ERROR_CHARACTERS: Final = 398  # with its sign, what the last row of a message takes
MAX_TOOL_CHARACTERS: Final = 60
MAX_MODEL_CHARACTERS: Final = 60
MAX_REASON_CHARACTERS: Final = 40
MAX_FOLDER_CHARACTERS: Final = 60
MAX_SERVER_CHARACTERS: Final = 300
MAX_DESCRIPTION_CHARACTERS: Final = 200
BUILT_IN: Final = "built-in"  # the source of a tool that no MCP server brings
NEARLY_FULL_PERCENT: Final = 80  # of a context, from where on it is said loudly
KeyNow = Callable[[str], str]
Looking = Literal["", "find", "go_to", "found", "nothing"]
"""What the find bar is used for: something is written into it, or there are matches to go to, or none."""
Spot = tuple[str, str]
"""A turn and a step of it, by id; without a step the words of the turn."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A key ("" for letters) and what it does; in a narrow row a higher ``rank`` goes sooner, 0 never."""

    key: str
    text: str
    rank: int = 0


class Status(NamedTuple):
    """What is happening. ``pending`` names what is waited for, if the screen says since when."""

    text: str
    pending: str = ""


def possible(*hints: tuple[object, str, str, int]) -> list[Hint]:
    """Return those hints whose first value is true; the others are a key, the name of a text, and a rank."""
    return [Hint(key, say(text), rank) for can, key, text, rank in hints if can]


def choosing_hints() -> list[Hint]:
    """Return what keys do while what may be written is listed."""
    return [
        Hint("tab", say("hint.take")),
        Hint("ctrl+n", say("hint.next"), 1),
        Hint("esc", say("hint.close")),
    ]


def finding_hints(looking: Looking) -> list[Hint]:
    """Return what keys do while it is written what to find or where to go, or among what was found."""
    close = Hint("esc", say("hint.close"))
    if looking == "go_to":
        return [Hint("enter", say("hint.go_there")), close]
    if looking == "find":
        forth, back = Hint("↓", say("hint.next")), Hint("↑", say("hint.previous"), 1)
        return [forth, back, Hint("enter", say("hint.keep"), 1), close]
    steps = [Hint("n", say("hint.next")), Hint("N", say("hint.previous"), 1)]
    return [*steps, close] if looking == "found" else [close]


def link_status(link: LinkChanged, seconds_left: int) -> str:
    """Return the state of the connection, with its sign; "" while there is nothing to say."""
    detail = localised(inert_line(link.detail, MAX_DETAIL_CHARACTERS))
    match link.status:
        case "live" | "ended" | "lost":
            return ""
        case "refused":
            return f"{signs.FAILED} {say('link.refused', detail=detail) if detail else say('list.deleted')}"
        case "connecting" if link.attempt <= 1:
            return f"{signs.WAITING} {detail or say('link.connecting')}"
        case "connecting" | "waiting":
            attempt = ordinal_try(max(1, link.attempt))
            if link.status == "connecting" or seconds_left < 1:
                return f"{signs.WAITING} {say('link.trying', attempt=attempt)}"
            return f"{signs.WAITING} {say('link.waiting', seconds=seconds_left, attempt=attempt)}"


def told_apart(turn: Turn) -> list[str]:
    """Return what a person should know of how a turn's model was asked."""
    found = [guide(turn.guide)] if turn.guide is not None and turn.is_guide_news else []
    if turn.has_no_tools:
        found.append(say("turn.no_tools"))
    if turn.has_no_images:
        found.append(say("turn.no_images"))
    if turn.trimmed:
        found.append(left_out(turn.trimmed))
    if turn.shortened:
        found.append(say_count("turn.shortened", turn.shortened))
    found += [
        say("turn.server_missing", server=inert_line(localised(server), MAX_SERVER_CHARACTERS))
        for server in turn.server_news
    ]
    return found


def guide(note: Note) -> str:
    """Return which file of its folder a model was told, or why it was not."""
    return say(f"turn.{note.note}", file=inert_line(note.about, MAX_SERVER_CHARACTERS), size=size(note.count))


def model_name(model: str, provider_id: str) -> str:
    """Return what a model is called; the demo has one word for its model and its provider.

    llama.cpp names its model by the path of its file: the name of the file is enough.
    """
    if provider_id == DEMO_PROVIDER:
        return say("room.demo")
    return inert_line(model.rpartition("/")[2] if model.startswith("/") else model, MAX_MODEL_CHARACTERS)


def about_tool(name: str, source: str, description: str) -> str:
    """Return what a tool does: of one of the backend's own in a person's words, else as it was received."""
    own = text_if_any(f"tool.{name}") if source == BUILT_IN else ""
    return own or inert_line(description, MAX_DESCRIPTION_CHARACTERS)


def left_out(number: int) -> str:
    return say_count("turn.trimmed", number)


def told_server(name: str, problem: str) -> str:
    return inert_line(say("turn.server_missing", server=f"{name}{say('between.detail')}{localised(problem)}"))


def rate_limited(waits: TurnNoted | None) -> str:
    """Return when a rate-limited model is asked again, never later than the server said; "" once it was."""
    if waits is None:
        return ""
    try:
        left = (datetime.fromisoformat(waits.until) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):  # no time, or one without an offset
        return ""
    seconds = ceil(min(left, waits.seconds))
    return f"{signs.WAITING} {say('agent.rate_limited', seconds=seconds)}" if seconds > 0 else ""


def connected_text(link: LinkChanged) -> str:
    """Return "● connected" while all that happens comes in; what is wrong is said in the top line."""
    return f"{signs.SPEAKING} {say('link.connected')}" if link.status == "live" else ""


def why_cut(reason: str) -> str:
    """Return why a turn or an answer was cut, in a person's words; what nobody knows is shown as it came."""
    return _because("cut", reason)


def ending(turn: Turn) -> str:
    """Return the last row of a turn: empty when it simply ended."""
    if turn.superseded:
        return f"{signs.CUT} {say('turn.superseded')}"
    match turn.status:
        case "cut":
            return f"{signs.CUT} {why_cut(turn.interrupted)}"
        case "failed":
            error = inert_line(localised(turn.error), MAX_ERROR_CHARACTERS)
            return f"{signs.FAILED} {error or say('agent.failed')}"
        case "said" if turn.parts > 1:
            return f"{signs.CUT} {say('turn.continued')}"
        case "said" | "speaking":
            return ""


def short_folder(folder: str) -> str:
    """Return a folder's path, safe, with "~" for the home folder; "" stays."""
    home = str(home_folder() or "/")
    if home != "/" and (folder == home or folder.startswith(f"{home}/")):
        folder = f"~{folder[len(home) :]}"
    return inert_line(folder, MAX_FOLDER_CHARACTERS)


def whole_error(turn: Turn) -> str:
    """Return why a turn failed, if its last row cannot say all of it."""
    error = localised(turn.error) if turn.status == "failed" else ""
    return error if len(error) > MAX_ERROR_CHARACTERS else ""


def why_paused(reason: str) -> str:
    """Return why a room is paused, as ``why_cut``; one that a person paused is just that."""
    return say("room.paused") if reason in ("", "pause") else _because("room.paused", reason)


def _because(table: str, reason: str) -> str:
    words = text_if_any(f"{table}.{reason}")
    if not words or "{" in words:  # unknown, or a sentence that says more than a reason
        return say(f"{table}.other", reason=inert_line(reason, MAX_REASON_CHARACTERS))
    return words


def oddities(unknown_count: int) -> str:
    """Return how many events nobody understood, or nothing."""
    return say_count("room.unknown", unknown_count) if unknown_count else ""


def dollars(amount: float) -> str:
    """Return an amount of US dollars, small ones with the digits that say anything."""
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.4f}"


def unpriced_text(info: RoomInfo | ConversationInfo) -> str:
    """Return that the budget in dollars does not limit some models; "" if it limits all."""
    if not info.unpriced:
        return ""
    names = list_of(inert_line(name, MAX_MODEL_CHARACTERS) for name in info.unpriced)
    return say("room.unpriced", most=dollars(info.max_cost), models=names)


class UsedText(NamedTuple):
    """What was used, as a person reads it; what is not known is ""."""

    tokens: str = ""
    prompts: str = ""  # that they are counted, too
    cost: str = ""


def usage_text(state: ConversationState, spoken: int = 0) -> UsedText:
    """Return the tokens used (``spoken`` ones at least), and the cost, of their ceilings; "" if unknown."""
    if not state.is_known:
        return UsedText()
    ledger, (most_tokens, most_cost) = state.ledger, ceilings(state.info)
    number = max(ledger.tokens + _uncounted(state), spoken)
    text = say_count("used.tokens", number)
    if most_tokens:
        text = say("used.tokens.of", count=count(number), most=count(most_tokens))
    cost = dollars(ledger.cost) if ledger.cost else ""
    if state.info.unpriced and not cost:
        cost = say("room.cost.unknown")
    elif cost and most_cost:
        cost = say("used.cost.of", cost=cost, most=dollars(most_cost))
    return UsedText(text, say("used.prompts") if ledger.counts_prompts else "", cost)


def _uncounted(state: ConversationState) -> int:
    """Return an estimate of the tokens of what is being said, which nobody has counted yet."""
    turns = [agent.open_turn for agent in state.agents.values()]
    return sum(max(0, turn.estimated_tokens - turn.spent) for turn in turns if turn is not None)


def context(turns: Iterable[Turn], least_percent: int = 0) -> tuple[str, bool]:
    """Return how full the newest turn's context is ("" below ``least_percent``), and whether nearly full."""
    usage = next((turn.usage for turn in turns if turn.usage is not None and turn.usage.context), None)
    if usage is None:
        return "", False
    if not usage.context_limit:
        return "" if least_percent else say("used.context.tokens", tokens=tokens(usage.context)), False
    percent = min(100, ceil(100 * usage.context / usage.context_limit))
    if percent < least_percent:
        return "", False
    is_nearly_full = percent >= NEARLY_FULL_PERCENT
    text = say("used.context", percent=percent)
    return f"{signs.WARNS} {text}" if is_nearly_full else text, is_nearly_full


def under_way(steps: Steps) -> list[StepState]:
    """Return the calls that ask or run, the one that began first before the others."""
    found: list[StepState] = []
    for step in reversed(steps.all.values()):
        if step.type in ("text", "thinking"):
            break  # the calls before it are over
        if step.type == "tool_call" and step.status in ("asks", "running"):
            found.insert(0, step)
    return found


def needs(ask: ToolAsk | None) -> str:
    """Return what a tool's call needs of a person: approval, or values for a form."""
    return say("chat.asks" if ask is None or ask.form is None else "step.asks.form")


def asked_amount(form: ToolForm) -> str:
    """Return how many values a form asks for, in words."""
    return say_count("ask.amount", len(form.fields)) if form.fields else say("ask.amount.none")


def asked_call(ask: ToolAsk) -> str:
    """Return the call that asks, in one line; for a form, who asks for how many values."""
    if ask.form is None:
        return inert_line(ask.call)
    server = inert_line(ask.form.server, MAX_TOOL_CHARACTERS)
    return say("tool_form.title", server=server, amount=asked_amount(ask.form))


def asked_preview(ask: ToolAsk) -> str:
    """Return what a tool says about the call that asks, in the language spoken; a diff as it is."""
    text = visible(ask.preview)
    if ask.preview_type != "diff":
        for sentence, key in _PREVIEWS.items():
            if (found := sentence.search(text)) is not None:
                text = text[: found.start()] + say(key, **found.groupdict())
    return text


def asking(state: ConversationState) -> str:
    """Return what the oldest call that asks needs of a person, with its sign; "" if none asks."""
    if not (spots := state.asking):
        return f"{signs.PAUSED} {needs(None)}" if state.info.asks and not state.loaded else ""
    step = state.step(*spots[0])
    return f"{signs.PAUSED} {needs(step.ask if step is not None else None)}"


def tools_at_work(calls: Sequence[StepState]) -> str:
    """Return what calls that are under way do, with its sign."""
    first = next((call for call in calls if call.status == "asks"), None)
    if first is not None:
        return f"{signs.PAUSED} {needs(first.ask)}"
    if len(calls) > 1:
        return f"{signs.SPEAKING} {say_count('chat.using.several', len(calls))}"
    return f"{signs.SPEAKING} {say('chat.using', name=inert_line(calls[0].name, MAX_TOOL_CHARACTERS))}"
