"""What a change of a room puts on record."""

from __future__ import annotations

from uuid import uuid4

from agent_tui.backend.engine import record
from agent_tui.backend.engine.fields import waits
from agent_tui.backend.engine.rooms import changed_agents, changed_values
from agent_tui.backend.engine.turn import ModelSource
from agent_tui.backend.engine.written import Written
from agent_tui.backend.store.rows import AgentsSet, ConversationRow, ConversationSet, InboxPut, NewEvent
from agent_tui.model import events as ev
from agent_tui.model.errors import Refused
from agent_tui.model.events import RoomInfo
from agent_tui.model.settings import Values


def changed(row: ConversationRow, change: Values, models: ModelSource, now: str) -> Written:
    """Return what ``change`` writes; raises ``Refused``: 422 for what is out of bounds, 409 for what runs.

    A new task of a room that was started is also said to the room, so that agents and readers learn of
    it. More rounds for a room that is completed make it a paused one, at once or, while it says a turn
    again, after that.
    """
    values = changed_values(row, change)
    if row.status == "running" and waits(RoomInfo, change):
        raise Refused("The room is running", "Pause it, then it can be archived.", status=409)
    written = Written()
    if values:
        written.changes.append(ConversationSet(values))
    if "agents" in change:
        written.changes.append(AgentsSet(changed_agents(row, change["agents"], models)))
    task = values.get("task", row.task)
    if row.run_seq and task != row.task:
        said = InboxPut(uuid4().hex, str(task), "", "next", record.USER_NAME, "", now)
        written.changes.append(said)
    if int(values.get("max_rounds", row.max_rounds)) > row.round_done >= row.max_rounds:
        written.add(reopened(row))
    return written


def reopened(row: ConversationRow) -> Written:
    """All rounds are over and there are more now: the room stands still until somebody resumes it.

    If it runs, to say a turn again, ``plan`` makes it stand still before the next round.
    """
    if row.status == "running":
        return Written([], [ConversationSet({"desired": "paused"})])
    if row.status != "completed":
        return Written()
    paused = NewEvent.of(ev.RunPaused(row.id, row.round_open or None))
    return Written([paused], [ConversationSet({"status": "paused", "desired": "paused", "interrupted": ""})])


def removed(row: ConversationRow, change: Values) -> list[str]:
    """Return the ids of the agents that ``change`` takes out of the room."""
    if "agents" not in change:
        return []
    kept = {agent.get("id") for agent in change["agents"]}
    return [agent.id for agent in row.agents if agent.id not in kept]
