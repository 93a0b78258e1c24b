"""Which turn may be said again: a pure function of what is stored."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.backend.engine.plan import is_final
from agent_tui.backend.store.rows import RoomRow, TurnRow
from agent_tui.errors import Refused
from agent_tui.events import AgentInfo


def turn_to_retry(room: RoomRow, turns: Sequence[TurnRow], agent: AgentInfo) -> TurnRow:
    """Return the newest turn of ``agent``; raises ``Refused`` (409) when it cannot be said again.

    ``turns`` are those of the newest rounds. Others may have been cut after it, to speak later on,
    or passed over: that is not speaking.
    """
    if room.archived:
        raise Refused("The room is archived", "Take it out of the archive first.", status=409)
    own = [turn for turn in turns if turn.agent_id == agent.id]
    if not own:
        raise Refused(f"{agent.name} did not speak yet", "There is nothing to say again.", status=409)
    newest = max(own, key=lambda turn: turn.first_seq)
    if room.parallel:
        if newest.round < max(turn.round for turn in turns):
            detail = "Only turns of the newest round can be said again."
            raise Refused(f"A round began after {agent.name} spoke", detail, status=409)
        return newest
    for turn in turns:
        if turn.agent_id != agent.id and turn.first_seq > newest.first_seq and _spoke(turn):
            title = f"{turn.sender_name} spoke after {agent.name}"
            raise Refused(title, "Only the newest turn can be said again.", status=409)
    return newest


def _spoke(turn: TurnRow) -> bool:
    return turn.status == "streaming" or (is_final(turn) and turn.status != "skipped")
