"""The next step of a room or a chat: pure functions of what is stored. The runner carries it out.

Nothing is replayed after a crash or a pause: the next step follows from the rows alone, so a room resumes
with the interrupted turn, whatever the cause.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agent_tui.backend.engine.agents import is_synthesis
from agent_tui.backend.engine.budget import used_up
from agent_tui.backend.store.reads.turns import FINAL_REASONS
from agent_tui.backend.store.rows import ConversationRow, TurnRow
from agent_tui.model.events import QueuedMessage

CUT_IN = "interject"  # the reason of a turn that a person's words interrupted (protocols.md §1, point 8)
NO_AGENTS = "No agents in room"  # protocols.md §1, the text of ``error``
MOST_FAILURES = 3  # of one provider in a row, in a sequential room: then it pauses


@dataclass(frozen=True, slots=True)
class StartRun:
    """``room_started``; the first time the room's task is said, too."""

    resumed: bool


@dataclass(frozen=True, slots=True)
class CloseTurns:
    """Turns that a process left open when it died: mark them as cut."""

    turns: tuple[TurnRow, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class OpenRound:
    """``round_start``, in a parallel room also ``parallel_start``."""

    round: int


@dataclass(frozen=True, slots=True)
class DueTurn:
    """One agent is due: ``attempt`` counts from 1; ``supersedes`` is the message to be said again,
    ``continues`` the one to be continued. If both are set, it is continued if it has any words, else said
    again.
    """

    round: int
    agent_id: str
    attempt: int
    supersedes: str = ""
    continues: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """Store what people said, in its order."""

    words: tuple[QueuedMessage, ...]


@dataclass(frozen=True, slots=True)
class Skip:
    """The agent's turn is skipped, as requested."""

    turn: DueTurn


@dataclass(frozen=True, slots=True)
class Speak:
    """Speak these turns together: one in a sequential room, all unfinished ones in a parallel one."""

    turns: tuple[DueTurn, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Agents are speaking: wait until one ends or a person acts."""


@dataclass(frozen=True, slots=True)
class CloseRound:
    """``round_end``; in a parallel room after ``parallel_end``."""

    round: int


@dataclass(frozen=True, slots=True)
class Complete:
    """``room_completed``."""


@dataclass(frozen=True, slots=True)
class Pause:
    """``room_paused``; the failed turns with the messages ``again`` are continued or said again when the room
    is resumed.
    """

    reason: str
    again: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fail:
    """``error``: the run cannot continue."""

    content: str


@dataclass(frozen=True, slots=True)
class Rest:
    """No answer is due: the chat waits for its next question."""


Step = (
    StartRun
    | CloseTurns
    | OpenRound
    | Say
    | Skip
    | Speak
    | Wait
    | CloseRound
    | Complete
    | Pause
    | Fail
    | Rest
)


def plan_answer(chat: ConversationRow, turns: Sequence[TurnRow], cut: str, speaking: Collection[str]) -> Step:
    """Return the next step of a chat, as ``plan`` does for a room. A question begins its own answer; one that
    a process left open when it died is closed, and not given again.
    """
    if speaking:
        return Wait()
    left_open = tuple(row for row in turns if row.status == "streaming")
    return CloseTurns(left_open, cut or "crash") if left_open else Rest()


def plan(room: ConversationRow, turns: Sequence[TurnRow], cut: str, speaking: Collection[str] = ()) -> Step:
    """Return the next step of a room that is running or is to run.

    ``turns`` are all attempts of its newest three rounds, ``speaking`` the ids of the agents whose turns are
    running in this process. ``cut`` is the reason why the room is to stop speaking, empty while it may
    continue. What needs no model is done in any case: a round whose turns are finished is closed, and after
    the last one the room is completed.
    """
    if room.status != "running":
        return StartRun(resumed=room.run_seq > 0)
    left_open = tuple(row for row in turns if row.status == "streaming" and row.agent_id not in speaking)
    if left_open:
        return CloseTurns(left_open, cut or "crash")
    newest = _newest(turns)
    due = _due(room, newest, speaking, {row.message_id: row for row in turns})
    ready = _ready(room, due, speaking)
    failed = _failures_that_pause(room, newest)
    if speaking:
        urgent = tuple(words for words in room.queue if words.when == "now")
        if urgent and not cut:
            return Say(urgent)
        has_to_wait = cut or failed or used_up(room) or not (ready and room.parallel)
        return Wait() if has_to_wait else _speak(room, newest, ready)
    if not room.agents:
        return Fail(NO_AGENTS)
    if failed:
        return Pause(cut or "error", failed)
    if not due:
        return _step_between_turns(room, cut)
    if cut or used_up(room):
        return Pause(cut or "budget")
    return Say(room.queue) if room.queue else _speak(room, newest, ready)


def is_final(turn: TurnRow) -> bool:
    """Return whether the attempt counts: it is not repeated unless a person asks for that."""
    if turn.status == "interrupted":
        return turn.reason in FINAL_REASONS
    return turn.status != "streaming"


Newest = Mapping[tuple[int, str], TurnRow]


def _newest(turns: Sequence[TurnRow]) -> Newest:
    """Return the latest attempt at each turn, by round and agent."""
    return {(row.round, row.agent_id): row for row in sorted(turns, key=lambda row: row.attempt)}


def _due(
    room: ConversationRow, newest: Newest, speaking: Collection[str], parts: Mapping[str, TurnRow]
) -> tuple[DueTurn, ...]:
    """Return the turns that a person asked to retry, then the unfinished ones. ``parts`` are all attempts, by
    their messages.
    """
    requested, due = [], []
    opened = {room.round_open} if room.round_open > room.round_done else set()
    for round_ in sorted({round_ for round_, _ in newest} | opened):
        for agent in room.agents:
            last = newest.get((round_, agent.id))
            if agent.id in speaking:
                continue
            if last is None:
                if round_ in opened:
                    due.append(DueTurn(round_, agent.id, 1))
            elif last.again:
                old = "" if last.status == "skipped" else last.message_id
                requested.append(DueTurn(round_, agent.id, last.attempt + 1, old))
            elif last.to_continue:
                requested.append(
                    DueTurn(
                        round_,
                        agent.id,
                        last.attempt + 1,
                        last.message_id,
                        last.message_id,
                    )
                )
            elif not is_final(last):
                continues = last.message_id if _goes_on(room, last, parts) else ""
                due.append(DueTurn(round_, agent.id, last.attempt + 1, continues=continues))
    return (*requested, *due)


def _ready(room: ConversationRow, due: tuple[DueTurn, ...], speaking: Collection[str]) -> tuple[DueTurn, ...]:
    """Return the turns that can begin: all in a parallel room, else one; a synthesis after all others."""
    others = tuple(turn for turn in due if not is_synthesis(room, turn.round, turn.agent_id))
    if room.parallel:
        return others or (() if speaking else due)
    return (others or due)[:1]


def _goes_on(room: ConversationRow, cut: TurnRow, parts: Mapping[str, TurnRow]) -> bool:
    """Return whether the next attempt continues the one that was ``cut``.

    It is repeated if the room's settings say so, and if a person's words interrupted it: they are to change
    what is said. A finished turn whose rest was asked for is continued in any case.
    """
    if room.on_resume == "continue" and cut.reason != CUT_IN:
        return True
    part = parts.get(cut.continues)
    while part is not None and not is_final(part):
        part = parts.get(part.continues)
    return part is not None


def _failures_that_pause(room: ConversationRow, newest: Newest) -> tuple[str, ...]:
    """Return the failed turns of the open round, by their messages, if they are to pause the room.

    One is enough if the room says so (``on_error``). Otherwise all turns of the round have to fail, or in a
    sequential room the newest ``MOST_FAILURES`` of one provider: continuing would waste the other rounds.
    """
    if room.round_open == room.round_done:
        return ()
    agent_ids = {agent.id for agent in room.agents}
    rows = {
        agent_id: row
        for (round_, agent_id), row in newest.items()
        if round_ == room.round_open and agent_id in agent_ids
    }
    failed = tuple(row.message_id for row in rows.values() if _has_failed(row))
    if room.on_error == "pause":
        return failed
    none_spoke = rows.keys() == agent_ids and all(
        _has_failed(row) or row.status == "skipped" for row in rows.values()
    )
    if none_spoke or (not room.parallel and _is_provider_dead(room, newest)):
        return failed
    return ()


def _is_provider_dead(room: ConversationRow, newest: Newest) -> bool:
    """Return whether the provider's newest turns since the room was resumed have all failed."""
    providers = {agent.id: agent.provider_id for agent in room.agents}
    failures: dict[str, list[bool]] = {}
    for row in sorted(newest.values(), key=lambda row: row.first_seq):
        if row.agent_id in providers and row.first_seq > room.run_seq and row.status != "skipped":
            failures.setdefault(providers[row.agent_id], []).append(_has_failed(row))
    return any(len(recent) >= MOST_FAILURES and all(recent[-MOST_FAILURES:]) for recent in failures.values())


def _has_failed(row: TurnRow) -> bool:
    return row.status == "failed" and not (row.again or row.to_continue)


def _step_between_turns(room: ConversationRow, cut: str) -> Step:
    """Return the next step when no agent is due."""
    if room.round_open > room.round_done:
        return CloseRound(room.round_open)
    if room.round_done >= room.max_rounds:
        # What came during the last turn is still said.
        return Say(room.queue) if room.queue else Complete()
    if cut or room.desired == "paused":
        return Pause(cut or room.interrupted)
    return Pause("budget") if used_up(room) else OpenRound(room.round_open + 1)


def _speak(room: ConversationRow, newest: Newest, chosen: tuple[DueTurn, ...]) -> Step:
    skipping = {agent.id for agent in room.agents if agent.skip_next}
    for turn in chosen:
        last = newest.get((turn.round, turn.agent_id))
        is_asked = last is not None and (last.again or last.to_continue)
        if turn.agent_id in skipping and not is_asked:
            return Skip(turn)
    return Speak(chosen)
