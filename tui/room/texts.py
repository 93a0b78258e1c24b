"""What a room screen says about a room: pure functions from state to text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

from agent_tui.model.events import QueuedMessage
from agent_tui.model.inert import inert_line
from agent_tui.state.agents import Agent
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from tui.live import signs
from tui.live import texts as live_texts
from tui.live.texts import (
    MAX_DETAIL_CHARACTERS,
    Hint,
    KeyNow,
    Looking,
    asking,
    choosing_hints,
    finding_hints,
    link_status,
    possible,
    rate_limited,
    told_apart,
    tools_at_work,
    under_way,
    why_cut,
    why_paused,
)
from tui.screens.localised import localised
from tui.screens.words import count, say, say_count, text_if_any
from widgets.units import duration, elapsed

Intent = Literal["", "pausing", "resuming", "starting"]
UNHEARD = ("connecting", "waiting", "lost", "refused")  # states of a connection over which nothing comes
NAMELESS = ("", "用户")  # what servers of the protocol call a person who gave no name
MAX_TITLE_CHARACTERS = 300
LAST_WORDS_CHARACTERS = 400
MAX_QUEUED_CHARACTERS = 200
# What begins headings, quotes, items, fences, tables and rules; what marks emphasis and code.
_MARKS = re.compile(r"^[\s#>]+|^\s*[-*+]\s+|^\s*```.*|^[\s|:*_=~-]+$|\*\*|~~|`|^\s*\||\|\s*$")
HALF_FULL_PERCENT = 60  # of an agent's context: from where on its header says so
HEADER_MARGIN_CELLS = 8  # gutter, divider, separator and a space around the name and the model
SILENT_SECONDS = 5  # without a character: then its rate says less than since when


@dataclass(frozen=True, slots=True)
class PendingRequests:
    """What this terminal asked for without an answer yet; ``by_us``: the pause was asked here."""

    intent: Intent = ""
    by_us: bool = False


def title(state: ConversationState) -> str:
    """Return the room's name and task, without a name that only begins the task; "" while unknown."""
    if not state.is_known:
        return ""
    name, task = state.room.name.strip(), state.room.task.strip()
    if name and task and not task.startswith(name.removesuffix("…")):
        text = say("room.title", name=name, task=task)
    else:
        text = task or name or say("room.untitled")
    return inert_line(text, MAX_TITLE_CHARACTERS)


def progress(state: ConversationState) -> list[str]:
    """Return "round 2 of 3" and "parallel", what is known of them, and how many agents have no pane."""
    mode = state.room.execution_mode
    words = text_if_any(f"setting.execution_mode.{mode}") or mode
    others = len(state.members.others)
    hidden = [say_count("room.others", others)] if others else []
    if state.round:
        return [say("room.round", round=state.round, most=state.room.max_rounds or "?"), words, *hidden]
    return [words, *hidden] if state.loaded else []


def status(
    state: ConversationState, asked: PendingRequests, seconds_left: int = 0, key_now: KeyNow = str
) -> str:
    """Return the real state of the room in one text, with its sign; ``key_now`` as below."""
    link = _link(state, seconds_left, key_now)
    if link:
        return link
    if asked.intent:
        return f"{signs.WAITING} {say('room.' + asked.intent)}"
    if asks := asking(state):
        return asks
    if state.room.archived and state.room.status != "running":
        return f"{signs.DONE} {say('chat.archived')}"
    match state.room.status:
        case "running":
            return f"{signs.SPEAKING} {say('room.live')}"
        case "paused":
            return f"{signs.PAUSED} {_paused(state, asked, key_now)}"
        case "completed":
            unanswered = ".unanswered" if is_unanswered(state) else ""
            return f"{signs.DONE} {say(f'room.completed{unanswered}')}"
        case "error":
            detail = inert_line(localised(state.run_error), MAX_DETAIL_CHARACTERS)
            return f"{signs.FAILED} {say('room.error', detail=detail)}"
        case _:
            return f"{signs.WAITING} {_with_key('room.idle', key_now('p'))}"


def is_unanswered(state: ConversationState) -> bool:
    """Return whether a person spoke last, after the last turn began."""
    newest = next(reversed(state.turns.values()), None)
    return newest is not None and newest.role == "user"


def _with_key(name: str, key: str) -> str:
    return say(name, press=key) if key else say(f"{name}.no_key")


def _link(state: ConversationState, seconds_left: int, key_now: KeyNow) -> str:
    match state.link.status:
        case "connecting" if state.is_known and not state.loaded and not state.link.detail:
            return ""  # what the list said holds
        case "ended" if state.room.status == "idle":
            detail = localised(inert_line(state.link.detail, MAX_DETAIL_CHARACTERS))
            return f"{signs.WAITING} {detail or say('link.ended')}"
        case "lost":
            return f"{signs.CUT} {_with_key('link.lost', key_now('c'))}"
        case _:
            return link_status(state.link, seconds_left)


def _paused(state: ConversationState, asked: PendingRequests, key_now: KeyNow) -> str:
    reason = state.room.interrupted
    if reason in ("", "pause"):
        return say("room.paused.you" if reason or asked.by_us else "room.paused")
    if reason == "budget":
        is_used_up = state.ledger.is_used_up(state.room)
        return _to_raise(say("room.paused.budget"), key_now("e")) if is_used_up else say("room.paused")
    return why_paused(reason)


def why_no_round(state: ConversationState, key: str) -> str:
    """Return why a completed room cannot have another round, and which key changes that; "" if it can."""
    if state.room.archived:
        return say("room.is_archived")
    return _to_raise(say("room.used_up"), key) if state.ledger.is_used_up(state.room) else ""


def no_agents(key: str) -> str:
    """Return what is shown instead of panes in a room without agents; ``key`` opens its settings."""
    return _with_key("room.no_agents", key)


def _to_raise(text: str, key: str) -> str:
    return f"{text} · {say('room.paused.raise', press=key)}" if key else text


@dataclass(frozen=True, slots=True)
class RoomShown:
    """What is in sight. ``is_writing``: keys go to the composer."""

    panes: int = 0
    is_zoomed: bool = False
    is_timeline: bool = False
    begins_in_timeline: bool = False
    is_following: bool = True
    has_selection: bool = False
    looking: Looking = ""
    is_writing: bool = False
    has_ask: bool = False  # there is a bar with a question
    is_asking: bool = False  # which has the focus
    is_choosing: bool = False  # what may be written is listed
    when: str = "next"  # the moment that is meant
    can: frozenset[str] = frozenset()  # of stop, skip, retry, continue, say: for the agent that keys act on
    is_skipped: bool = False  # its next turn


def hints(state: ConversationState, shown: RoomShown = RoomShown()) -> list[Hint]:
    """Return the key hints of the screen, the most important first: only what is possible now."""
    if shown.is_choosing:
        return choosing_hints()
    if shown.looking in ("find", "go_to"):
        return finding_hints(shown.looking)
    if shown.has_selection:
        return [Hint("y", say("hint.copy")), Hint("esc", say("hint.clear"), 1)]
    if shown.is_writing:
        return _writing_hints(state, shown)
    if shown.is_asking:
        return [Hint("tab", say("hint.read")), *_pause_anywhere(state)]
    if shown.looking:
        return finding_hints(shown.looking)
    return [*_main_hint(state), *_reading_hints(state, shown)]


def _reading_hints(state: ConversationState, shown: RoomShown) -> list[Hint]:
    can, has_others = shown.can, shown.panes > 1 and not shown.is_timeline
    return possible(
        ("say" in can, "i", "hint.say", 2),
        ("stop" in can, "s", "hint.stop", 6),
        ("skip" in can, "x", "hint.skip.undo" if shown.is_skipped else "hint.skip", 10),
        # After a drop the key of continuing does something else, and says so.
        ("continue" in can and state.link.status != "lost", "c", "hint.continue", 1),
        ("retry" in can, "r", "hint.retry", 11),
        (not shown.is_following, "end", "hint.newest", 1),
        (has_others, "tab", "hint.tab", 4),
        (has_others, "z", *(("hint.back", 3) if shown.is_zoomed else ("hint.zoom", 5))),
        (shown.panes, "t", _other_view(shown), 3),
        (shown.panes, "/", "hint.find", 9),
        (True, "ctrl+p", "hint.palette", 14),
        (True, "?", "hint.help", 1),
        (True, "q", "hint.quit", 13),
    )


def _other_view(shown: RoomShown) -> str:
    if shown.is_timeline is not shown.begins_in_timeline and not shown.is_zoomed:
        return "hint.back"
    return "hint.panes" if shown.is_timeline else "hint.timeline"


def _writing_hints(state: ConversationState, shown: RoomShown) -> list[Hint]:
    """Return what keys do in the composer, where letters are only letters."""
    other = "now" if shown.when == "next" else "next"
    may_cut = state.room.status == "running"
    return [
        Hint("enter", say("hint.send")),
        *([Hint("tab", say("hint.answer"))] if shown.has_ask else []),
        *([Hint("ctrl+n", say(f"hint.when.{other}"), 1)] if may_cut else []),
        Hint("alt+enter", say("hint.new_line"), 5),
        Hint("", say("hint.whisper"), 6),
        *_pause_anywhere(state),
        Hint("esc", say("hint.back"), 1),
    ]


def _pause_anywhere(state: ConversationState) -> list[Hint]:
    """Return what ctrl+s does, where a letter is only a letter."""
    if state.room.status == "completed":
        return []  # sending adds a round
    return [Hint("ctrl+s", main.text, 3) for main in _main_hint(state) if main.key == "p"]


def _main_hint(state: ConversationState) -> list[Hint]:
    """Return what the key that pauses and resumes does; nothing while the room is not loaded, archived, or
    gone.
    """
    if state.link.status == "lost":
        return [Hint("c", say("hint.continue"))]
    if state.link.status == "refused" or (not state.loaded and state.link.status != "ended"):
        return []
    if state.room.archived and state.room.status != "running":
        return []
    match state.room.status:
        case "running":
            return [Hint("p", say("hint.pause"))]
        case "paused" | "completed" as status if state.ledger.is_used_up(state.room):
            return [Hint("e", say("hint.raise"), 0 if status == "paused" else 2)]
        case "paused" | "error":
            return [Hint("p", _resume_hint(state))]
        case "completed":
            return [Hint("p", say("hint.round"), 2)]
        case _:
            return [Hint("p", say("hint.start"))]


def _resume_hint(state: ConversationState) -> str:
    due = state.members.due(state.room)
    if len(due) == 1:
        return say("hint.resume.who", name=inert_line(due[0].name, 20))
    return say_count("hint.resume.all", len(due)) if due else say("hint.resume")


def models(state: ConversationState) -> str:
    names = {model(agent) for agent in state.members.ordered}
    return names.pop() if len(names) == 1 else ""


def usage_text(state: ConversationState, spoken: int) -> live_texts.UsedText:
    """Return what was used, see ``live_texts.usage_text``; the demo costs nothing."""
    used = live_texts.usage_text(state, spoken)
    is_demo = bool(state.agents) and all(agent.provider_id == "demo" for agent in state.agents.values())
    is_free = not used.cost and (state.ledger.cost == 0 or is_demo)
    return used._replace(cost=say("room.cost.none")) if is_free else used


def model(agent: Agent) -> str:
    return live_texts.model_name(agent.model, agent.provider_id)


def doing(agent: Agent, state: ConversationState, rate: int, since_seconds: int) -> str:
    """Return what the agent does, with its sign; ``rate`` in tokens/s, ``since_seconds`` without a word."""
    if agent.is_gone:
        return f"{signs.CUT} {say('agent.gone')}"
    if agent.skip_next and agent.open_turn is None:
        return f"{signs.WAITING} {say('agent.skip_next')}"
    if agent.turns and agent.turns[-1].will_continue:
        return f"{signs.WAITING} {say('agent.will_continue')}"
    if agent.open_turn is not None and (waits := rate_limited(agent.open_turn.waits)):
        return waits
    match agent.word:
        case "speaking" | "thinking":
            return _at_work(agent, state, rate, since_seconds)
        case "said":
            return f"{signs.DONE} {say('agent.said')}"
        case "cut":
            return f"{signs.PAUSED} {why_cut(agent.turns[-1].interrupted)}"
        case "failed":
            return f"{signs.FAILED} {say('agent.failed')}"
        case "skipped":
            return f"{signs.CUT} {say('agent.skipped')}"
        case "waiting":
            speaking = state.members.speaking
            if state.room.execution_mode != "parallel" and len(speaking) == 1:
                name = inert_line(speaking[0].name, 20)
                return f"{signs.WAITING} {say('agent.waits_for', name=name)}"
            return f"{signs.WAITING} {say('agent.waiting')}"


def _at_work(agent: Agent, state: ConversationState, rate: int, since_seconds: int) -> str:
    """Return what an agent does that speaks or thinks."""
    turn, time = agent.open_turn, elapsed(since_seconds)
    if agent.word == "speaking" and state.link.status in UNHEARD:
        return f"{signs.WAITING} {say('agent.unheard')}"
    if working := _with_tools(agent):
        return working
    if agent.word == "speaking" and since_seconds >= SILENT_SECONDS:
        return f"{signs.WAITING} {say('agent.silent', time=time)}"
    if agent.word == "speaking":
        return f"{signs.SPEAKING} {say('agent.speaking', rate=rate)}"
    if turn is not None and turn.waits_for:
        servers = inert_line(turn.waits_for, 60)
        return f"{signs.WAITING} {say('agent.servers', servers=servers, time=time)}"
    if turn is not None and turn.is_loading:
        return f"{signs.WAITING} {say('agent.loading', time=time)}"
    return f"{signs.THINKING} {say('agent.thinking', time=time)}"


def _with_tools(agent: Agent) -> str:
    """Return what the tools do that an agent waits for, with a sign; "" while there are none."""
    turn = agent.open_turn
    calls = under_way(turn.steps) if turn is not None else []
    return tools_at_work(calls) if calls else ""


def characters_received(agent: Agent) -> int | None:
    """Return how many characters of the agent's current turn came so far, thoughts and calls included;
    ``None`` while nothing is to come: it does not speak, or its tools are at work.
    """
    turn = agent.open_turn
    if turn is None or agent.word != "speaking" or _with_tools(agent):
        return None
    return sum(step.content.length + step.arguments.length for step in turn.steps.all.values())


def summary(
    agent: Agent, state: ConversationState, since_seconds: int, rate: int | None = None
) -> tuple[str, str, str, bool]:
    """Return the strip's sign, words, colour, and whether these grow; with a ``rate`` what the agent does."""
    sign, _, words = doing(agent, state, rate or 0, since_seconds).partition(" ")
    if rate is not None:
        full, _ = context(agent)
        return sign, f"{words} · {full}" if full else words, agent.color, False
    is_growing = agent.word == "speaking" and not _with_tools(agent) and since_seconds < SILENT_SECONDS
    if is_growing or agent.word == "said":
        words = last_words(agent.turns[-1]) or words
    elif agent.word == "failed":
        words = inert_line(localised(agent.turns[-1].error), MAX_DETAIL_CHARACTERS) or words
    return sign, words, agent.color, is_growing


def last_words(turn: Turn) -> str:
    """Return the last line of a turn that says anything, without Markdown; looks at its end only."""
    for line in reversed(turn.since(turn.length - LAST_WORDS_CHARACTERS).splitlines()):
        words = inert_line(_MARKS.sub("", line), LAST_WORDS_CHARACTERS)
        if words:
            return words
    return ""


def context(agent: Agent) -> tuple[str, bool]:
    """Return how full an agent's context is, once that matters, and whether it is nearly full."""
    return live_texts.context(reversed(agent.turns), HALF_FULL_PERCENT)


def header(agent: Agent, what: str, cells: int, spoken: int) -> str:
    """Return what the agent does for its header, with as many numbers as ``cells`` allow."""
    room = cells - cell_len(inert_line(agent.name, 40)) - cell_len(model(agent)) - HEADER_MARGIN_CELLS
    # Why it was cut off is said below its text as well.
    text = what if cell_len(what) <= room or agent.word != "cut" else f"{signs.PAUSED} {say('agent.cut')}"
    full, is_nearly_full = context(agent)
    if is_nearly_full:
        return f"{full} · {text}"
    extras = [full, say("agent.tokens", count=count(spoken)) if spoken else ""]
    if agent.turns:
        extras.append(say("agent.round", round=agent.turns[-1].round_number))
        usage = agent.turns[-1].usage
        if usage is not None and usage.first_token_seconds is not None:
            extras.append(say("agent.first_token", time=duration(usage.first_token_seconds)))
    for extra in filter(None, extras):
        longer = f"{extra} · {text}"
        if cell_len(longer) > room:
            break
        text = longer
    return text


def labels_of(state: ConversationState) -> dict[str, str]:
    """Return the ids of the room's agents by what to call them after an ``@``: equal names are numbered."""
    found: dict[str, str] = {}
    for agent in state.members.ordered:
        if agent.is_gone:
            continue
        label, number = agent.name, 1
        while label in found:
            number += 1
            label = f"{agent.name} ({number})"
        if label:
            found[label] = agent.id
    return found


def queued_words(state: ConversationState, queued: QueuedMessage) -> str:
    """Return a queued message in one line, after whom it is for."""
    words = inert_line(queued.content, MAX_QUEUED_CHARACTERS)
    if not queued.to:
        return words
    name = next((label for label, agent_id in labels_of(state).items() if agent_id == queued.to), "")
    if not name:
        return say("queue.whisper.gone", words=words)
    return say("queue.whisper", name=inert_line(name, 40), words=words)


def person_title(turn: Turn) -> str:
    """Return the heading of a person's message: its sender and, for a whisper, its receiver."""
    who = inert_line(turn.sender_name, 60)
    who = say("room.you") if who in NAMELESS else who
    if not turn.to:
        return who
    if turn.to_name == turn.to:  # only its id is known
        return say("turn.whisper.gone", name=who)
    return say("turn.whisper", name=who, to=inert_line(turn.to_name, 60))


def turn_title(turn: Turn) -> str:
    """Return the heading of a turn in its pane: its round, and what its model was not told."""
    parts = [say("agent.round", round=turn.round_number)] if turn.round_number else []
    parts += [say("turn.synthesis")] if turn.is_synthesis else []
    return " · ".join([*parts, *told_apart(turn)])
