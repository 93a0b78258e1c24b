"""What one row of the list of rooms says, column by column, at every width."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from rich.cells import cell_len, set_cell_size

from agent_tui.events import AgentInfo, RoomInfo
from agent_tui.inert import inert_line
from tui.screens import signs
from tui.screens.rooms_listing import Listing, moment_of, name_of
from tui.screens.words import count, say
from widgets.painter import cropped

Ink = Literal["plain", "strong", "dim", "failed", "agent"]
MAX_AGENT_CHARACTERS: Final = 24
MAX_WORDS_CHARACTERS: Final = 200
MAX_AGENTS: Final = 32  # more are never named in one row
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


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of a row; ``agent`` is whose name it is, for the colour."""

    text: str
    ink: Ink = "plain"
    agent: AgentInfo | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """Cells of each column at one width, 0 where it is left out. Columns stand two cells apart."""

    name: int
    round: int
    state: int
    tokens: int
    cost: int
    age: int


@dataclass(frozen=True, slots=True)
class Mark:
    """What this screen knows of a room: ``asked`` is what was asked of it and is not done yet."""

    asked: str = ""
    is_deleted: bool = False


GAP: Final = 2
TOKEN_CELLS: Final = 10  # "99.9 k tok"
MARGIN: Final = 1  # at the right, as the lines above and below have it
HEAD_CELLS: Final = 4  # the mark of the cursor, the sign of the status
NO_MARK: Final = Mark()


def form(room_cells: int, *, has_cost: bool) -> Form:
    """Return the columns for rows of so many cells."""
    left = room_cells - HEAD_CELLS - MARGIN
    if left >= 88:
        fixed = Form(0, 10, 0, TOKEN_CELLS, 9 if has_cost else 0, 11)
    elif left >= 68:
        fixed = Form(0, 5, 0, TOKEN_CELLS, 0, 10)
    elif left >= 48:
        fixed = Form(0, 5, 0, 0, 0, 10)
    else:
        return (
            Form(max(1, left - 5 - GAP), 5, 0, 0, 0, 0) if left >= 20 else Form(max(1, left), 0, 0, 0, 0, 0)
        )
    widths = [cells for cells in (fixed.round, fixed.tokens, fixed.cost, fixed.age) if cells]
    rest = left - sum(widths) - GAP * (len(widths) + 1)
    name = max(12, min(44, rest // 2))
    return Form(name, fixed.round, rest - name, fixed.tokens, fixed.cost, fixed.age)


def row(room: RoomInfo, shape: Form, age: str, mark: Mark = NO_MARK) -> list[Piece]:
    """Return the pieces of one row after the mark of the cursor, exactly as wide as ``shape`` says."""
    is_quiet = mark.is_deleted or room.archived
    ink: Ink = "dim" if is_quiet else "plain"
    sign = _SIGNS.get(room.status, signs.WAITING)
    pieces = [
        Piece(f"{sign} ", "failed" if room.status == "error" and not is_quiet else ink),
        Piece(_left(name_of(room) or say("room.untitled"), shape.name), ink),
    ]
    if shape.round:
        pieces.append(Piece(" " * GAP + _left(round_text(room, shape.round), shape.round), "dim"))
    if shape.state:
        pieces.append(Piece(" " * GAP))
        pieces += _filled(state(room, mark, shape.state), shape.state)
    if shape.tokens:
        pieces.append(Piece(" " * GAP + _right(tokens_text(room.tokens), shape.tokens), "dim"))
    if shape.cost:
        pieces.append(Piece(" " * GAP + _right(cost_text(room.cost), shape.cost), "dim"))
    if shape.age:
        pieces.append(Piece(" " * GAP + _right(age, shape.age), "dim"))
    return pieces


def state(room: RoomInfo, mark: Mark, cells: int) -> list[Piece]:
    """Say what goes on in a room: what was asked of it, who speaks, why it stands still, the last words."""
    if mark.is_deleted:
        return [Piece(say("list.deleted"), "dim")]
    if mark.asked:
        return [Piece(say(f"room.{mark.asked}"))]
    if room.archived:
        return [Piece(say("list.archived"), "dim")]
    match room.status:
        case "running":
            return agents(room.agents[:MAX_AGENTS], cells) or [Piece(say("room.live"))]
        case "paused":
            return [Piece(pause_text(room))]
        case "error":
            return [Piece(_failure(room), "failed")]
        case _:
            return _last_words(room)


def pause_text(room: RoomInfo) -> str:
    """Say why a room stands still: who was cut, or what stopped it."""
    reason = inert_line(room.interrupted, MAX_AGENT_CHARACTERS)
    if reason == "budget":
        return say("list.paused.budget")
    if reason == "error":
        return say("list.paused.error", failure=_failure(room))
    cut = [agent for agent in room.agents if agent.status == "cut"]
    known = reason if reason in ("crash", "handover", "unwatched") else "pause"
    if len(cut) == 1:
        return f"{_agent_name(cut[0])} {say(f'cut.{known}')}"
    return say("room.paused") if known == "pause" else say(f"room.paused.{known}")


def _failure(room: RoomInfo) -> str:
    failed = next((_agent_name(agent) for agent in room.agents if agent.status == "failed"), "")
    words = inert_line(room.last_words, MAX_WORDS_CHARACTERS)
    who = failed or inert_line(room.last_speaker, MAX_AGENT_CHARACTERS)
    if failed and room.last_speaker != failed:
        words = ""  # somebody else's
    return f"{who}: {words}" if who and words else f"{who} {say('agent.failed')}".strip()


def _last_words(room: RoomInfo) -> list[Piece]:
    words = inert_line(room.last_words, MAX_WORDS_CHARACTERS)
    if not words:
        return [Piece(say("list.idle"), "dim")] if room.status == "idle" else []
    return [Piece(say("list.words", words=words), "dim")]


def agents(all_agents: tuple[AgentInfo, ...], cells: int) -> list[Piece]:
    """Return names with the signs of what they do, as many as fit, and how many more there are."""
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


def tokens_text(tokens: int) -> str:
    """Return "1.3 k tok"; "" for none."""
    if tokens <= 0:
        return ""
    for limit, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        size = tokens / limit
        if size >= 0.9995 and tokens >= 1_000:  # "1.0 M", never "1000 k"
            return say("list.tokens", tokens=f"{size:.{1 if size < 99.95 else 0}f} {unit}")
    return say("list.tokens", tokens=str(tokens))


def cost_text(cost: float | None) -> str:
    """Return "$0.12"; "" where no price is known."""
    if not cost or not 0 < cost < 1e9:
        return ""
    return f"${cost:,.2f}" if cost >= 0.005 else "<$0.01"


def ago(when: str, now: datetime) -> str:
    """Return "2 min ago" for an ISO 8601 time; times are relative up to a day."""
    moment = moment_of(when)
    return age_text(moment, now.timestamp()) if moment else ""


def age_text(moment: float, now: float) -> str:
    """Return the same for seconds since 1970."""
    seconds = now - moment
    if not moment:
        return ""
    if seconds < 60:
        return say("time.now")
    if seconds < 3600:
        return say("time.minutes", minutes=int(seconds // 60))
    if seconds < 86_400:
        return say("time.hours", hours=int(seconds // 3600))
    if seconds < 2 * 86_400:
        return say("list.yesterday")
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d")


def heading(listing: Listing, key: str) -> str:
    """Say how many rooms there are and run, or are found."""
    if listing.needle:
        return say("list.found", found=count(len(listing)), all=count(listing.total))
    heads = say("rooms.count", running=count(listing.running), all=count(listing.total))
    return f"{heads} · {key} {say('list.hint.filter')}" if key else heads


@dataclass(frozen=True, slots=True)
class Hint:
    """An action of the list and how it is named in the last line."""

    binding_id: str
    word: str
    rank: int


HINTS: Final = (
    Hint("rooms.open", "open", 0),
    Hint("rooms.new", "new", 1),
    Hint("rooms.pause", "pause", 2),
    Hint("rooms.pause_all", "all", 5),
    Hint("rooms.delete", "delete", 4),
    Hint("rooms.undo", "undo", 3),
    Hint("rooms.sort", "sort", 7),
    Hint("rooms.archive", "archive", 8),
    Hint("app.help", "help", 2),
    Hint("app.quit.quick", "quit", 6),
)


def _left(text: str, cells: int) -> str:
    return set_cell_size(cropped(text, cells), cells)


def _right(text: str, cells: int) -> str:
    text = cropped(text, cells)
    return " " * (cells - cell_len(text)) + text


def _filled(pieces: list[Piece], cells: int) -> list[Piece]:
    """Return the pieces in exactly so many cells."""
    filled: list[Piece] = []
    for piece in pieces:
        text = cropped(piece.text, cells)
        cells -= cell_len(text)
        filled.append(Piece(text, piece.ink, piece.agent))
        if text != piece.text:
            break
    return [*filled, Piece(" " * cells)] if cells > 0 else filled
