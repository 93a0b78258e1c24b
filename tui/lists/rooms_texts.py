"""The rooms of a list: what a row shows at every width, and by what rows are sorted and found."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from rich.cells import cell_len

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.inert import inert_line
from tui.lists.listing import MAX_NAME_CHARACTERS, ListKind
from tui.lists.texts import (
    MAX_WORDS_CHARACTERS,
    NO_MARK,
    ColumnWidths,
    Head,
    ItemMark,
    ListHint,
    Piece,
    PreviewText,
    begun,
    last_words,
    paragraph,
    put_away,
    row_of,
)
from tui.live import signs
from tui.live.texts import model_name
from tui.screens.localised import localised
from tui.screens.words import say
from widgets.painter import cropped

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
_STATUS_ORDER: Final = {"running": 0, "error": 1, "paused": 2, "idle": 3, "completed": 4}
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
    return inert_line(room.name, MAX_NAME_CHARACTERS) or inert_line(room.task, MAX_NAME_CHARACTERS)


def words_of(room: RoomInfo) -> Iterable[str]:
    """Return its name, its task, its agents, and its state: in the protocol's word and as it is shown."""
    shown = "".join(piece.text for piece in state(room, NO_MARK, STATE_CELLS))
    about = (room.status, round_text(room, ROUND_CELLS[0]), shown)
    return (room.name, room.task, *about, *(agent.name for agent in room.agents))


def rank_of(room: RoomInfo) -> int:
    """Return the sort key of its status: running first, done last."""
    return _STATUS_ORDER.get(room.status, len(_STATUS_ORDER))


def row(room: RoomInfo, shape: ColumnWidths, age: str, mark: ItemMark = NO_MARK) -> list[Piece]:
    """Return the pieces of one row after the cursor mark, exactly as wide as ``shape`` says."""
    head = Head(
        signs.WARNS if room.asks else _SIGNS.get(room.status, signs.WAITING),
        name_of(room) or say("room.untitled"),
        is_bad=room.status == "error",
        asks=bool(room.asks),
        is_quiet=mark.is_deleted or room.archived,
        short=mark.short,
    )
    extra, told = round_text(room, shape.extra), state(room, mark, shape.state)
    return row_of(shape, head, extra, told, room, age)


def state(room: RoomInfo, mark: ItemMark, cells: int) -> list[Piece]:
    """Return the state of a room: what was asked of it, who speaks, why it is paused, or the last words."""
    if mark.asked:
        return [Piece(say(f"room.{mark.asked}"))]
    if away := put_away(mark, is_archived=room.archived):
        return [away]
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


def state_cells(room: RoomInfo, mark: ItemMark) -> int:
    """Return how many cells its state needs."""
    return sum(cell_len(piece.text) for piece in state(room, mark, STATE_CELLS))


def pause_text(room: RoomInfo) -> str:
    """Return why a room is not running: who was interrupted, or what stopped it."""
    reason = inert_line(room.interrupted, MAX_AGENT_CHARACTERS)
    if reason == "budget":
        return say("list.paused.budget")
    if reason == "error":
        return say("list.paused.error", failure=_failure(room))
    cut = [agent for agent in room.agents if agent.status == "cut"]
    known = reason if reason in ("crash", "handover", "unwatched") else "pause"
    if len(cut) == 1:
        return f"{_agent_name(cut[0])} {say(f'cut.{known}')}"
    if known == "pause":
        return say("room.paused.you" if reason == known else "room.paused")
    return say(f"room.paused.{known}")


def _failure(room: RoomInfo) -> str:
    failed = next((_agent_name(agent) for agent in room.agents if agent.status == "failed"), "")
    words = inert_line(localised(room.last_words), MAX_WORDS_CHARACTERS)
    who = failed or inert_line(room.last_speaker, MAX_AGENT_CHARACTERS)
    if failed and room.last_speaker != failed:
        words = ""  # another agent's
    if who and words:
        return f"{who}{say('between.detail')}{words}"
    return words or f"{who} {say('agent.failed')}".strip()


def _last_words(room: RoomInfo) -> list[Piece]:
    words = last_words(room.last_words)
    if not words:
        return [Piece(say("list.idle"), "dim")] if room.status == "idle" else []
    return [Piece(say("list.words", words=words), "dim")]


def agents(all_agents: tuple[AgentInfo, ...], cells: int) -> list[Piece]:
    """Return as many names as fit, each with the sign of what the agent does, and how many are left out."""
    pieces: list[Piece] = []
    used = 0
    for index, agent in enumerate(all_agents):
        name = _agent_name(agent)
        rest = len(all_agents) - index - 1
        reserve = cell_len(f" +{rest}") if rest else 0
        wanted = bool(pieces) + cell_len(name) + 2
        if used + wanted + reserve > cells:
            if not pieces:
                return [
                    Piece(cropped(name, max(1, cells - 2)), "agent", agent),
                    Piece(f" {_agent_sign(agent)}"),
                ]
            pieces.append(Piece(f" +{rest + 1}", "dim"))
            break
        if pieces:
            pieces.append(Piece(" "))
        is_failure = agent.status == "failed"
        pieces += [
            Piece(name, "agent", agent),
            Piece(f" {_agent_sign(agent)}", "failed" if is_failure else "plain"),
        ]
        used += wanted
    return pieces


def _agent_name(agent: AgentInfo) -> str:
    return inert_line(agent.name, MAX_AGENT_CHARACTERS) or inert_line(agent.id, MAX_AGENT_CHARACTERS)


def _agent_sign(agent: AgentInfo) -> str:
    return _AGENT_SIGNS.get(agent.status, signs.WAITING)


def round_text(room: RoomInfo, cells: int) -> str:
    """Return "round 2/3", "done 3/3" or, where that is too long, "2/3"."""
    short = f"{room.current_round}/{room.max_rounds}"
    word = "list.done" if room.status == "completed" else "rooms.round"
    long = say(word, round=room.current_round, most=room.max_rounds)
    return long if cell_len(long) <= cells else short


def preview(room: RoomInfo) -> list[PreviewText]:
    """Return more about a room: its whole task, its agents, its state and its last words."""
    agents_told: list[str | Piece] = []
    for agent in room.agents[:MAX_AGENTS]:
        end = "\n" if agents_told else ""
        agents_told += [f"{end}{_agent_sign(agent)} ", Piece(_agent_name(agent), "agent", agent)]
        agents_told.append(f" {model}" if (model := _agent_model(agent)) else "")
    standing = state(room, NO_MARK, STATE_CELLS) if room.status != "completed" else []
    task = begun(room.task)
    return [
        PreviewText("", (Piece(name_of(room) or say("room.untitled")),)),
        *(paragraph("task", task) if task != name_of(room) else ()),
        *paragraph("agents", *agents_told),
        *paragraph("state", round_text(room, STATE_CELLS), " · " if standing else "", *standing),
        *paragraph("words", *_who_said(room)),
    ]


def _who_said(room: RoomInfo) -> list[str | Piece]:
    """Return who spoke last, and what they said."""
    words = last_words(room.last_words)
    speaker = inert_line(room.last_speaker, MAX_AGENT_CHARACTERS)
    agent = next((agent for agent in room.agents if speaker and _agent_name(agent) == speaker), None)
    name = Piece(speaker, "plain" if agent is None else "agent", agent)
    return [name, ": " if speaker and words else "", words]


def _agent_model(agent: AgentInfo) -> str:
    return "" if agent.provider_id == DEMO_PROVIDER else model_name(agent.model, agent.provider_id)


def _all(rooms: Collection[RoomInfo]) -> str:
    """Return what the key for all rooms does; "" for nothing."""
    here = [room for room in rooms if not room.archived]
    if any(room.status == "running" for room in here):
        return "pause_all"
    is_paused = any(room.status == "paused" and room.interrupted != "budget" for room in here)
    return "resume_all" if is_paused else ""


def _sort(rooms: Collection[RoomInfo]) -> str:
    return "sort" if len(rooms) > 1 else ""


ROOMS: Final = ListKind(name_of, words_of, rank_of, ROUND_CELLS, row, state_cells, preview)

HINTS: Final = (
    ListHint("rooms.open", "open", 0),
    ListHint("rooms.new", "new", 1),
    ListHint("rooms.pause", "pause", 2),
    ListHint("rooms.search", "search", 5),
    ListHint("rooms.pause_all", _all, 6),
    ListHint("rooms.delete", "delete", 4),
    ListHint("rooms.undo", "undo", 3),
    ListHint("rooms.sort", _sort, 8),
    ListHint("rooms.archive", "archive", 9),
    ListHint("app.lists", "chats", 10),
    ListHint("app.help", "help", 2),
    ListHint("app.quit.quick", "quit", 6),
)
