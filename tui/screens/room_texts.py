"""What a room screen says about a room: pure functions from state to text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_tui.inert import inert_line
from agent_tui.state.room import RoomState
from agent_tui.state.turn import Agent, Turn
from tui.screens.signs import Signs
from tui.screens.words import ENGLISH, count, ordinal_try, say

Intent = Literal["", "pausing", "resuming", "starting"]
MAX_TITLE_CHARACTERS = 300
MAX_DETAIL_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Asked:
    """What this terminal asked for and has not yet been told: ``by_us`` is true once we asked a pause."""

    intent: Intent = ""
    by_us: bool = False


def title(state: RoomState) -> str:
    """Return what the room is about, in one harmless line."""
    return inert_line(state.task or state.name or say("room.untitled"), MAX_TITLE_CHARACTERS)


def progress(state: RoomState) -> str:
    """Return "round 2 of 3 · parallel", or nothing before the first round."""
    if not state.round:
        return state.mode if state.loaded else ""
    return f"{say('room.round', round=state.round, most=state.max_rounds or '?')} · {state.mode}"


def status(state: RoomState, asked: Asked, signs: Signs, seconds_left: int = 0) -> str:
    """Return the one text that says what is really going on, with its sign."""
    link = _link(state, signs, seconds_left)
    if link:
        return link
    if asked.intent:
        return f"{signs.waiting} {say('room.' + asked.intent)}"
    match state.status:
        case "running":
            return f"{signs.speaking} {say('room.live')}"
        case "paused":
            return f"{signs.paused} {_paused(state, asked)}"
        case "completed":
            return f"{signs.done} {say('room.completed')}"
        case "error":
            detail = inert_line(state.run_error, MAX_DETAIL_CHARACTERS)
            return f"{signs.failed} {say('room.error', detail=detail)}"
        case _:
            return f"{signs.waiting} {say('room.idle')}"


def _link(state: RoomState, signs: Signs, seconds_left: int) -> str:
    link = state.link
    detail = inert_line(link.detail, MAX_DETAIL_CHARACTERS)
    match link.status:
        case "live":
            return ""
        case "connecting" if link.attempt > 1:
            return f"{signs.waiting} {say('link.trying', attempt=ordinal_try(link.attempt))}"
        case "connecting":
            return f"{signs.waiting} {detail or say('link.connecting')}"
        case "waiting":
            attempt = ordinal_try(max(1, link.attempt))
            return f"{signs.waiting} {say('link.waiting', seconds=seconds_left, attempt=attempt)}"
        case "ended":
            return "" if state.status == "running" else f"{signs.waiting} {detail or say('link.ended')}"
        case "lost":
            return f"{signs.cut} {say('link.lost')}"
        case "refused":
            return f"{signs.failed} {say('link.refused', detail=detail)}"


def _paused(state: RoomState, asked: Asked) -> str:
    reason = state.pause_reason
    if reason in ("", "pause"):
        return say("room.paused.you" if asked.by_us else "room.paused")
    key = f"room.paused.{reason}"
    return say(key) if key in ENGLISH else say("room.paused.other", reason=inert_line(reason, 40))


def hints(state: RoomState, *, can_resume: bool = True) -> list[str]:
    """Return the key hints, the most important first."""
    return [_main_hint(state, can_resume), say("hint.tab"), say("hint.help"), say("hint.quit")]


def _main_hint(state: RoomState, can_resume: bool) -> str:
    if state.link.status == "lost":
        return say("hint.continue")
    match state.status:
        case "running":
            return say("hint.pause")
        case "paused" | "error" if can_resume:
            due = state.due
            if len(due) == 1:
                return say("hint.resume.who", name=inert_line(due[0].name, 20))
            return say("hint.resume.all", count=len(due)) if due else say("hint.resume")
        case "completed":
            return ""
        case _:
            return say("hint.start")


def summary(state: RoomState) -> str:
    """Return "demo model · 1,284 tokens" and, when there are any, the count of unknown events."""
    models = list(dict.fromkeys(model(agent) for agent in state.ordered_agents))
    parts = [models[0]] if len(models) == 1 and models[0] else []
    parts.append(say("room.tokens", count=count(state.tokens)))
    if state.unknown_count:
        parts.append(say("room.unknown", count=count(state.unknown_count)))
    return " · ".join(parts)


def model(agent: Agent) -> str:
    """Return which model speaks for the agent; the demo model is always called that."""
    return say("room.demo") if agent.provider_id == "demo" else inert_line(agent.model, 60)


def doing(agent: Agent, state: RoomState, signs: Signs, rate: int, since_seconds: int) -> str:
    """Return what the agent is doing, with its sign. ``rate`` in tokens/s, ``since_seconds`` of thinking."""
    match agent.word:
        case "speaking":
            return f"{signs.speaking} {say('agent.speaking', rate=rate)}"
        case "thinking":
            return f"{signs.thinking} {say('agent.thinking', seconds=since_seconds)}"
        case "said":
            return f"{signs.done} {say('agent.said')}"
        case "cut":
            return f"{signs.paused} {cut_reason(agent.turns[-1])}"
        case "failed":
            return f"{signs.failed} {say('agent.failed')}"
        case "waiting":
            speaking = state.speaking
            if state.mode != "parallel" and len(speaking) == 1:
                name = inert_line(speaking[0].name, 20)
                return f"{signs.waiting} {say('agent.waits_for', name=name)}"
            return f"{signs.waiting} {say('agent.waiting')}"


def header_variants(agent: Agent, what: str) -> list[str]:
    """Return the right side of a pane's header, the fullest first, for panes that get narrower."""
    if not agent.turns:
        return [what]
    round_text = say("agent.round", round=agent.turns[-1].round_number)
    tokens = say("agent.tokens", count=count(agent.tokens))
    return [f"{round_text} · {tokens} · {what}", f"{tokens} · {what}", what]


def cut_reason(turn: Turn) -> str:
    """Return why a turn was cut, in a person's words."""
    key = f"cut.{turn.interrupted}"
    return say(key) if key in ENGLISH else say("cut.other", reason=inert_line(turn.interrupted, 40))


def ending(turn: Turn, signs: Signs) -> str:
    """Return the dim last row of a turn: empty when it simply ended."""
    match turn.status:
        case "cut":
            return f"{signs.cut} {cut_reason(turn)}"
        case "failed":
            return f"{signs.failed} {inert_line(turn.error, 400) or say('agent.failed')}"
        case "said" | "speaking":
            return ""
