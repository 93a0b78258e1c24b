"""The rooms of a list: what a row shows at every width, and by what rows are found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.cells import cell_len

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.inert import inert_line
from tui.lists.texts import (
    MAX_NAME_CHARACTERS,
    MAX_WORDS_CHARACTERS,
    Ink,
    ListKind,
    Piece,
    begun,
    last_words,
)
from tui.live import signs
from tui.live.texts import model_name
from tui.screens.localised import localised
from tui.screens.words import say

MAX_AGENT_CHARACTERS: Final = 24
ROUND_CELLS: Final = (10, 5, 5, 5)  # of the round, by the width of a row
STATE_CELLS: Final = 200  # of the state, for the filter
MAX_AGENTS: Final = 32  # a row never names more
_SIGNS: Final = {
    "running": signs.SPEAKING,
    "paused": signs.PAUSED,
    "completed": signs.DONE,
    "error": signs.FAILED,
}
_AGENT_SIGNS: Final = {
    "speaking": signs.SPEAKING,
    "streaming": signs.SPEAKING,
    "thinking": signs.THINKING,
    "said": signs.DONE,
    "completed": signs.DONE,
    "cut": signs.CUT,
    "skipped": signs.CUT,
    "failed": signs.FAILED,
}


def name_of(room: RoomInfo) -> str:
    """Return a room's name, or its task, safe and in one line."""
    name = inert_line(room.name, MAX_NAME_CHARACTERS) or inert_line(room.task, MAX_NAME_CHARACTERS)
    return name or say("room.untitled")


def words_of(room: RoomInfo) -> Iterable[str]:
    """Return its name, its task, its agents, and its state: in the protocol's word and as it is shown."""
    shown = "".join(piece.text for piece in state(room, STATE_CELLS))
    about = (room.status, round_text(room, ROUND_CELLS[0]), shown)
    return (room.name, room.task, *about, *(agent.name for agent in room.agents))


def sign(room: RoomInfo) -> str:
    return signs.WARNS if room.asks else _SIGNS.get(room.status, signs.WAITING)


def state(room: RoomInfo, cells: int) -> list[Piece]:
    """Return the state of a room: who speaks, why it is paused, or the last words."""
    match room.status:
        case "running" if room.asks:
            return [Piece(say("chat.asks"), "warned")]
        case "running":
            return agents(room.agents[:MAX_AGENTS], cells) or [Piece(say("room.live"))]
        case "paused":
            return [Piece(pause_text(room), "failed" if room.interrupted == "error" else "plain")]
        case "error":
            return [Piece(_failure(room), "failed")]
        case _:
            return _last_words(room)


def _last_words(room: RoomInfo) -> list[Piece]:
    if words := last_words(room.last_words):
        return [Piece(say("list.words", words=words), "dim")]
    return [Piece(say("room.idle.no_key"), "dim")] if room.status == "idle" else []


def pause_text(room: RoomInfo) -> str:
    """Return why a room is not running: who was interrupted, or what stopped it."""
    reason = inert_line(room.interrupted, MAX_AGENT_CHARACTERS)
    if reason == "budget":
        return say("room.paused.budget")
    if reason == "error":
        return say("list.paused.error", failure=_failure(room))
    cut = [agent for agent in room.agents if agent.status == "cut"]
    cause = reason if reason in ("crash", "handover", "unwatched") else "pause"
    if len(cut) == 1:
        return say("list.agent", agent=_agent_name(cut[0]), state=say(f"cut.{cause}"))
    if cause == "pause":
        return say("room.paused.you" if reason == cause else "room.paused")
    return say(f"room.paused.{cause}")


def _failure(room: RoomInfo) -> str:
    failed = next((_agent_name(agent) for agent in room.agents if agent.status == "failed"), "")
    words = inert_line(localised(room.last_words), MAX_WORDS_CHARACTERS)
    who = failed or inert_line(room.last_speaker, MAX_AGENT_CHARACTERS)
    if failed and room.last_speaker != failed:
        words = ""  # another agent's
    if who and words:
        return f"{who}{say('between.detail')}{words}"
    return words or (say("list.agent", agent=who, state=say("agent.failed")) if who else say("agent.failed"))


def agents(all_agents: tuple[AgentInfo, ...], cells: int) -> list[Piece]:
    """Return as many names as fit, each with the sign of what the agent does, and how many are left out."""
    pieces: list[Piece] = []
    used = 0
    for index, agent in enumerate(all_agents):
        name, rest = _agent_name(agent), len(all_agents) - index
        more = f" +{rest - 1}" if rest > 1 else ""
        used += bool(pieces) + cell_len(name) + 2
        if pieces and used + cell_len(more) > cells:
            return [*pieces, Piece(f" +{rest}", "dim")]
        ink: Ink = "failed" if agent.status == "failed" else "plain"
        pieces += [Piece(" ")] if pieces else []
        pieces += [Piece(name, "plain", agent), Piece(f" {_agent_sign(agent)}", ink)]
    return pieces


def _agent_name(agent: AgentInfo) -> str:
    return inert_line(agent.name, MAX_AGENT_CHARACTERS) or inert_line(agent.id, MAX_AGENT_CHARACTERS)


def _agent_sign(agent: AgentInfo) -> str:
    return _AGENT_SIGNS.get(agent.status, signs.WAITING)


def round_text(room: RoomInfo, cells: int) -> str:
    """Return "round 2/3", "done 3/3" or, where that is too long, "2/3"."""
    word = "list.done" if room.status == "completed" else "rooms.round"
    long = say(word, round=room.current_round, most=room.max_rounds)
    return long if cell_len(long) <= cells else f"{room.current_round}/{room.max_rounds}"


def preview(room: RoomInfo) -> Iterable[tuple[str, str]]:
    """Yield more about a room: its whole task, its agents, its state and its last words."""
    if (task := begun(room.task)) != name_of(room):
        yield "task", task
    yield "agents", "\n".join(_agent_text(agent) for agent in room.agents[:MAX_AGENTS])
    standing = state(room, STATE_CELLS) if room.status != "completed" else []
    parts = (round_text(room, STATE_CELLS), "".join(piece.text for piece in standing))
    yield "state", " · ".join(filter(None, parts))
    speaker = inert_line(room.last_speaker, MAX_AGENT_CHARACTERS)
    yield "words", say("between.detail").join(filter(None, (speaker, last_words(room.last_words))))


def _agent_text(agent: AgentInfo) -> str:
    model = "" if agent.provider_id == DEMO_PROVIDER else model_name(agent.model, agent.provider_id)
    return f"{_agent_sign(agent)} {_agent_name(agent)} {model}".rstrip()


ROOMS: Final = ListKind(name_of, words_of, sign, round_text, state, ROUND_CELLS, preview)
