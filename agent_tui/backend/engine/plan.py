"""What comes next in a room: a pure function of what is stored. The runner carries it out.

Nothing is replayed after a crash or a pause: the next step follows from the rows alone, so a room goes on
with the very turn that was cut, whoever cut it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.backend.store.rows import RoomRow, TurnRow

NO_AGENTS = "No agents in room"  # protocols.md §1, the text of ``error``


@dataclass(frozen=True, slots=True)
class StartRun:
    """``room_started``; the first time the task is said as well."""

    resumed: bool


@dataclass(frozen=True, slots=True)
class CloseTurns:
    """Turns that a process left open when it died: mark them cut."""

    turns: tuple[TurnRow, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class OpenRound:
    """``round_start``, in a parallel room ``parallel_start`` as well."""

    round: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One agent is due: ``attempt`` counts from 1."""

    round: int
    turn_order: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Speak:
    """These turns, all at once: one in a sequential room, all unfinished ones in a parallel one."""

    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class CloseRound:
    """``round_end``, in a parallel room after ``parallel_end``."""

    round: int


@dataclass(frozen=True, slots=True)
class Complete:
    """``room_completed``."""


@dataclass(frozen=True, slots=True)
class Pause:
    """``room_paused``."""

    reason: str


@dataclass(frozen=True, slots=True)
class Fail:
    """``error``: the run cannot go on."""

    content: str


Step = StartRun | CloseTurns | OpenRound | Speak | CloseRound | Complete | Pause | Fail


def plan(room: RoomRow, turns: Sequence[TurnRow], cut: str) -> Step:
    """Return the next step of a room that is not completed.

    ``turns`` are all attempts of its newest round; none of them is under way in this process. ``cut`` is
    the reason why the room is to stop speaking, empty while it may go on. What costs no words is done all
    the same: a round whose turns are finished is closed, and after the last one the room is completed.
    """
    if room.status != "running":
        return StartRun(resumed=room.run_seq > 0)
    left_open = tuple(turn for turn in turns if turn.status == "streaming")
    if left_open:
        return CloseTurns(left_open, cut or "crash")
    if not room.agents:
        return Fail(NO_AGENTS)
    if room.round_open > room.round_done:
        due = _due(room, turns)
        if not due:
            return CloseRound(room.round_open)
        if cut:
            return Pause(cut)
        return Speak(due if room.parallel else due[:1])
    if room.round_done >= room.max_rounds:
        return Complete()
    return Pause(cut) if cut else OpenRound(room.round_open + 1)


def _due(room: RoomRow, turns: Sequence[TurnRow]) -> tuple[Turn, ...]:
    """Return the turns of the open round that nobody completed and that did not fail, in turn order."""
    finished = {turn.turn_order for turn in turns if turn.status in ("completed", "failed")}
    attempts = dict.fromkeys(range(len(room.agents)), 0)
    for turn in turns:
        attempts[turn.turn_order] = max(attempts[turn.turn_order], turn.attempt)
    return tuple(
        Turn(room.round_open, place, attempt + 1)
        for place, attempt in attempts.items()
        if place not in finished
    )
