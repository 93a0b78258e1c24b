"""Decides which turn may be retried or continued: pure functions of what is stored."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.backend.engine.plan import is_final
from agent_tui.backend.store.rows import ConversationRow, TurnRow
from agent_tui.model.errors import Refused
from agent_tui.model.events import AgentInfo


def turn_to_retry(room: ConversationRow, turns: Sequence[TurnRow], agent: AgentInfo) -> TurnRow:
    """Return the newest turn of ``agent``; raises ``Refused`` (409) if it cannot be said again.

    ``turns`` are those of the newest rounds. Others may have been interrupted after it, to speak later, or
    skipped: that does not count as speaking.
    """
    if room.archived:
        raise Refused("The room is archived", "Take it out of the archive first.", status=409)
    newest = _newest(turns, agent)
    if newest is None:
        raise Refused(f"{agent.name} did not speak yet", "There is nothing to retry.", status=409)
    if room.parallel:
        if newest.round < max(turn.round for turn in turns):
            detail = "Only turns of the newest round can be retried."
            raise Refused(f"A round began after {agent.name} spoke", detail, status=409)
        return newest
    first_seq = _first_seq(newest, turns)
    for turn in turns:
        if turn.agent_id != agent.id and turn.first_seq > first_seq and _spoke(turn):
            title = f"{turn.sender_name} spoke after {agent.name}"
            raise Refused(title, "Only the newest turn can be retried.", status=409)
    return newest


def turn_to_continue(room: ConversationRow, turns: Sequence[TurnRow], agent: AgentInfo) -> TurnRow:
    """Return the newest turn of ``agent``; raises ``Refused`` (409) if it is not over, or complete.

    ``turns`` are those of the newest two rounds. Whether it said anything is not known here.
    """
    if room.archived:
        raise Refused("The room is archived", "Take it out of the archive first.", status=409)
    newest = _newest(turns, agent)
    if newest is None:
        detail = "Only turns of the newest two rounds can be continued."
        raise Refused(f"{agent.name} has not spoken", detail, status=409)
    if newest.status == "streaming":
        raise Refused(f"{agent.name} is speaking", "Wait for the end of the turn.", status=409)
    if newest.status not in ("interrupted", "failed") or newest.reason == "skip":
        raise Refused(
            f"The turn of {agent.name} is complete", "There is nothing left to continue.", status=409
        )
    if not is_final(newest):
        raise Refused(f"{agent.name} speaks when the room goes on", "Resume the room.", status=409)
    return newest


def _newest(turns: Sequence[TurnRow], agent: AgentInfo) -> TurnRow | None:
    own = [turn for turn in turns if turn.agent_id == agent.id]
    return max(own, key=lambda turn: turn.first_seq, default=None)


def _first_seq(turn: TurnRow, turns: Sequence[TurnRow]) -> int:
    """Return the seq where the turn began, or where the first of the attempts that it continues began."""
    parts = {part.message_id: part for part in turns}
    while turn.continues in parts:
        turn = parts[turn.continues]
    return turn.first_seq


def _spoke(turn: TurnRow) -> bool:
    return turn.status == "streaming" or (is_final(turn) and turn.status != "skipped")
