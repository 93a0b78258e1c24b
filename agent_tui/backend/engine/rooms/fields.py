"""Checks what callers send about rooms, returns what that stores, and rooms as callers see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from agent_tui.backend.engine.agents import colors, default_agents, distinct_names
from agent_tui.backend.engine.fields import (
    check_settings,
    columns,
    refuse,
    settings_of_new,
    stored_settings,
    with_model,
)
from agent_tui.backend.engine.record import USER_NAME, run_paused
from agent_tui.backend.engine.resources import ModelSource
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.store.rows import AgentsSet, ConversationRow, ConversationSet, InboxPut
from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.records import MAX_AGENTS
from agent_tui.model.settings import Values

DEFAULT_NAME_CHARACTERS = 60
# An agent's status by that of its newest turn, in the words of ``events.AgentInfo``.
WORDS = {
    "streaming": "speaking",
    "completed": "said",
    "superseded": "said",
    "interrupted": "cut",
    "failed": "failed",
    "skipped": "skipped",
}


def room_row(new: Values, models: ModelSource, now: str) -> ConversationRow:
    """Return the row of a new room; raises ``Refused`` (422) for invalid values.

    ``agents`` of ``new``, each the settings of one: three default ones if it names none; an empty list means
    none, and its run will fail. ``provider_id`` is for agents that name none, empty for the default one.
    """
    values = settings_of_new(RoomInfo, new)
    task = values["task"]
    agents: Sequence[Values] | None = new.get("agents")
    if agents is None:
        agents = [{"name": name, "system_prompt": prompt} for name, prompt in default_agents(task)]
    _check_number(len(agents))
    provider = new.get("provider_id") or ""
    made = [settings_of_new(AgentInfo, agent) for agent in agents]
    made = [agent | {"provider_id": agent["provider_id"] or provider} for agent in made]
    names = distinct_names([agent["name"] for agent in made])
    made = [agent | {"name": name} for agent, name in zip(made, names, strict=True)]
    palette = colors([agent["color"] for agent in made])
    return ConversationRow(
        **columns(values | {"name": values["name"] or _default_name(task)}),
        id=uuid4().hex,
        is_named=bool(values["name"]),
        agents=tuple(_agent(place, agent, palette[place], models) for place, agent in enumerate(made)),
        created_at=now,
        updated_at=now,
    )


def changed_values(row: ConversationRow, change: Values) -> dict[str, Any]:
    """Return the columns that ``change`` sets; raises ``Refused`` (422) for invalid values."""
    values = columns(check_settings(RoomInfo, change))
    if "name" in values:
        values["is_named"] = True
    if values.get("max_rounds", row.round_open) < row.round_open:
        title = "max_rounds is below the current round"
        refuse(title, f"Round {row.round_open} has begun; at least {row.round_open:,} rounds are needed.")
    return values


def changed_agents(
    row: ConversationRow, changes: Sequence[Values], models: ModelSource
) -> tuple[AgentInfo, ...]:
    """Return the room's agents after ``changes``, in their order; raises ``Refused`` (422).

    Each has the ``id`` of an existing agent and its changes; one without ``id`` is new.
    """
    if not changes:
        refuse("A room needs an agent", "The list of agents is empty.")
    _check_number(len(changes))
    agents = {agent.id: agent for agent in row.agents}
    ids = [change["id"] for change in changes if change.get("id")]
    if strange := [agent_id for agent_id in ids if agent_id not in agents]:
        refuse("There is no such agent in this room", f"agents: no agent has the id {strange[0][:100]!r}.")
    if len(set(ids)) < len(ids):
        refuse("An agent is named twice", "agents: an id may occur only once.")
    before = [agents.get(change.get("id", ""), AgentInfo("", "")) for change in changes]
    changed = [check_settings(AgentInfo, change) for change in changes]
    names = distinct_names([agent.get("name", was.name) for was, agent in zip(before, changed, strict=True)])
    changed = [{**agent, "name": name} for agent, name in zip(changed, names, strict=True)]
    palette = colors([agent.get("color", was.color) for was, agent in zip(before, changed, strict=True)])
    return tuple(
        _agent(place, agent, palette[place], models, was)
        for place, (was, agent) in enumerate(zip(before, changed, strict=True))
    )


def changed_room(row: ConversationRow, change: Values, models: ModelSource, now: str) -> ChangeSet:
    """Return what ``change`` writes; raises ``Refused`` (422) for invalid values.

    A new task of a room that was started is also said to the room, so that agents and readers get it. More
    rounds make a completed room a paused one, at once or, while it repeats a turn, before its next round.
    """
    values = changed_values(row, change)
    written = ChangeSet()
    if values:
        written.changes.append(ConversationSet(values))
    if "agents" in change:
        written.changes.append(AgentsSet(changed_agents(row, change["agents"], models)))
    task = values.get("task", row.task)
    if row.run_seq and task != row.task:
        written.changes.append(InboxPut(uuid4().hex, str(task), "", "next", USER_NAME, "", now))
    if int(values.get("max_rounds", row.max_rounds)) > row.round_done >= row.max_rounds:
        if row.status == "running":
            written.changes.append(ConversationSet({"desired": "paused"}))
        elif row.status == "completed":
            written.add(run_paused(row, ""))
            written.changes.append(ConversationSet({"desired": "paused"}))
    return written


def room_info(
    row: ConversationRow, turn_states: Mapping[str, str] = MappingProxyType({}), *, running: bool, asks: bool
) -> RoomInfo:
    """Return the room as ``GET /api/rooms/{id}`` answers it; ``current_round`` is the newest that began.

    ``turn_states`` has the state of each agent's newest turn in that round (``reads.turn_states``). A room
    that is stored as running but is not is shown as interrupted.
    """
    if row.status == "running" and not running:
        row = replace(row, status="paused", interrupted="crash")
    return RoomInfo(
        **stored_settings(RoomInfo, row),
        id=row.id,
        status=row.status,
        current_round=row.round_open,
        agents=tuple(
            _with_status(agent, WORDS.get(turn_states.get(agent.id, ""), "waiting")) for agent in row.agents
        ),
        last_event_id=row.last_seq,
        created_at=row.created_at,
        updated_at=row.updated_at,
        interrupted=row.interrupted if row.status == "paused" else "",
        tokens=row.used_tokens,
        cost=row.used_cost,
        last_speaker=row.last_speaker,
        last_words=row.last_words,
        queue=row.queue,
        asks=asks,
    )


def _with_status(agent: AgentInfo, status: str) -> AgentInfo:
    # ``replace`` would take most of the time needed for a list of a thousand rooms.
    return AgentInfo(
        agent.id,
        agent.name,
        agent.color,
        agent.model,
        agent.turn_order,
        agent.system_prompt,
        agent.provider_id,
        agent.skip_next,
        status,
        agent.tokens,
    )


def _agent(
    place: int, wanted: Values, color: str, models: ModelSource, was: AgentInfo | None = None
) -> AgentInfo:
    """Return an agent with the ``wanted`` settings; the rest is as it ``was``."""
    was = was or AgentInfo("", "")
    if not wanted.get("name", was.name):
        refuse("The name of an agent is empty", f"Agent {place + 1} needs one.")
    provider, model = with_model(wanted, models, provider=was.provider_id, model=was.model)
    return replace(
        AgentInfo(was.id or uuid4().hex, was.name, system_prompt=was.system_prompt, skip_next=was.skip_next),
        **{**wanted, "color": color, "turn_order": place, "provider_id": provider, "model": model},
    )


def _check_number(agents: int) -> None:
    if agents > MAX_AGENTS:
        refuse(f"A room has at most {MAX_AGENTS} agents", f"{agents} were named.")


def _default_name(task: str) -> str:
    """Return the first line of a task, or as many of its words as a name has room for."""
    line = task.strip().splitlines()[0].strip()
    if len(line) <= DEFAULT_NAME_CHARACTERS:
        return line
    cut = line[: DEFAULT_NAME_CHARACTERS - 1]
    return f"{(cut.rpartition(' ')[0] or cut).rstrip(' ,.;:–-')}…"
