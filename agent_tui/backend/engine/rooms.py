"""What callers say about rooms, checked; and rooms as callers see them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn
from uuid import uuid4

from agent_tui.backend.engine.agents import colors, default_agents
from agent_tui.backend.engine.tool_fields import checked_tools, checked_workspace
from agent_tui.backend.engine.turn import ModelSource
from agent_tui.backend.engine.words import storable
from agent_tui.backend.store.damage import tools_text
from agent_tui.backend.store.rows import RoomRow
from agent_tui.model.errors import ModelError, Refused
from agent_tui.model.events import AgentInfo, RoomInfo

MAX_TASK_CHARACTERS = 100_000
MAX_PROMPT_CHARACTERS = 100_000
MAX_ROOM_NAME_CHARACTERS = 200
MAX_AGENT_NAME_CHARACTERS = 100
MAX_MODEL_CHARACTERS = 200  # also of a provider's name
MAX_AGENTS = 64
MAX_ROUNDS = 1_000
MAX_BUDGET_TOKENS = 10**12
MAX_ANSWER_TOKENS = 10_000_000
MAX_BUDGET_COST = 1e9
DEFAULT_NAME_CHARACTERS = 60
MODES = ("sequential", "parallel")
ON_ERROR = ("continue", "pause")
# What an agent does while its newest turn has this status, in the words of ``events.AgentInfo``.
WORDS = {
    "streaming": "speaking",
    "completed": "said",
    "superseded": "said",
    "interrupted": "cut",
    "failed": "failed",
    "skipped": "skipped",
}


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent of a new room; what is empty gets a default (model and provider: the configured ones)."""

    name: str
    color: str = ""
    system_prompt: str = ""
    model: str = ""
    provider_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentChange:
    """An agent as it is to be; one without ``id`` is new. None leaves a field as it is."""

    id: str = ""
    name: str | None = None
    color: str | None = None
    system_prompt: str | None = None
    model: str | None = None
    provider_id: str | None = None


@dataclass(frozen=True, slots=True)
class NewRoom:
    """A room to make. ``agents`` None: three default ones; empty: none, and its run will fail.

    ``max_tokens`` and ``max_cost`` (US dollars) are its budget, 0 for none; ``answer_tokens`` is the most
    that one answer may have, 0 for what the provider's setting says; ``on_error`` says what a turn that
    failed does to it. ``enabled_tools`` are the names of those that its agents may use, in the folder
    ``workspace``. ``provider_id`` is that of agents that name none, empty for the default one.
    """

    task: str
    name: str = ""
    execution_mode: str = "sequential"
    max_rounds: int = 3
    agents: tuple[NewAgent, ...] | None = None
    keep_running: bool = False
    max_tokens: int = 0
    max_cost: float = 0.0
    answer_tokens: int = 0
    on_error: str = "continue"
    enabled_tools: tuple[str, ...] = ()
    workspace: str = ""
    provider_id: str = ""


@dataclass(frozen=True, slots=True)
class RoomChange:
    """What to change about a room; None leaves a field as it is. ``agents``: all of them, in turn order."""

    name: str | None = None
    task: str | None = None
    max_rounds: int | None = None
    execution_mode: str | None = None
    keep_running: bool | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    answer_tokens: int | None = None
    on_error: str | None = None
    archived: bool | None = None
    enabled_tools: tuple[str, ...] | None = None
    workspace: str | None = None
    agents: tuple[AgentChange, ...] | None = None


@dataclass(frozen=True, slots=True)
class RoomNews:
    """Rooms as they are now and ids of those that are gone, up to ``cursor``; ``is_all``: there are no
    other rooms.
    """

    rooms: list[RoomInfo]
    removed: tuple[str, ...]
    cursor: str
    is_all: bool


def room_row(new: NewRoom, models: ModelSource, now: str) -> RoomRow:
    """Return the row of a new room; raises ``Refused`` (422) for what is out of bounds."""
    task = _checked_task(new.task)
    agents = new.agents
    if agents is None:
        agents = tuple(NewAgent(name, system_prompt=prompt) for name, prompt in default_agents(task))
    _check_number(len(agents))
    agents = tuple(replace(agent, provider_id=agent.provider_id or new.provider_id) for agent in agents)
    return RoomRow(
        id=uuid4().hex,
        name=checked_name(new.name, "name", MAX_ROOM_NAME_CHARACTERS) or _default_name(task),
        task=task,
        execution_mode=_checked_mode(new.execution_mode),
        max_rounds=_checked_rounds(new.max_rounds),
        keep_running=new.keep_running,
        max_tokens=checked_tokens(new.max_tokens),
        max_cost=checked_cost(new.max_cost),
        answer_tokens=checked_answer(new.answer_tokens),
        on_error=_checked_on_error(new.on_error),
        tools=checked_tools(new.enabled_tools),
        workspace=checked_workspace(new.workspace),
        agents=_agents(agents, models),
        created_at=now,
        updated_at=now,
    )


def changed_values(row: RoomRow, change: RoomChange) -> dict[str, str | int | float | bool]:
    """Return the columns that ``change`` sets; raises ``Refused`` (422) for what is out of bounds."""
    values: dict[str, str | int | float | bool | None] = {
        "name": None if change.name is None else _checked_room_name(change.name),
        "task": None if change.task is None else _checked_task(change.task),
        "max_rounds": None if change.max_rounds is None else _checked_rounds(change.max_rounds),
        "execution_mode": None if change.execution_mode is None else _checked_mode(change.execution_mode),
        "keep_running": change.keep_running,
        "max_tokens": None if change.max_tokens is None else checked_tokens(change.max_tokens),
        "max_cost": None if change.max_cost is None else checked_cost(change.max_cost),
        "answer_tokens": None if change.answer_tokens is None else checked_answer(change.answer_tokens),
        "on_error": None if change.on_error is None else _checked_on_error(change.on_error),
        "archived": change.archived,
        "tools": None if change.enabled_tools is None else tools_text(checked_tools(change.enabled_tools)),
        "workspace": None if change.workspace is None else checked_workspace(change.workspace),
    }
    if change.max_rounds is not None and change.max_rounds < row.round_open:
        title = "max_rounds is below the current round"
        _refuse(title, f"Round {row.round_open} has begun; {row.round_open:,} rounds are the least.")
    return {name: value for name, value in values.items() if value is not None}


def changed_agents(
    row: RoomRow, changes: Sequence[AgentChange], models: ModelSource
) -> tuple[AgentInfo, ...]:
    """Return the room's agents after ``changes``, in their order; raises ``Refused`` (422)."""
    if not changes:
        _refuse("A room needs an agent", "The list of agents is empty.")
    _check_number(len(changes))
    known = {agent.id: agent for agent in row.agents}
    named = [change.id for change in changes if change.id]
    if strange := [agent_id for agent_id in named if agent_id not in known]:
        _refuse("There is no such agent in this room", f"agents: no agent has the id {strange[0][:100]!r}.")
    if len(set(named)) < len(named):
        _refuse("An agent is named twice", "agents: each id stands at most once.")
    wanted = [_wanted(known.get(change.id), change) for change in changes]
    shown = colors([agent.color for agent in wanted])
    made: list[AgentInfo] = []
    for place, (change, agent) in enumerate(zip(changes, wanted, strict=True)):
        before = known.get(change.id)
        if before is None:
            made.append(_agent(place, agent, shown[place], models))
        else:
            now = _agent(place, agent, shown[place], models, before.provider_id)
            made.append(replace(now, id=before.id, skip_next=before.skip_next))
    return tuple(made)


def _wanted(known: AgentInfo | None, change: AgentChange) -> NewAgent:
    """Return the agent that ``change`` describes; what it leaves out is as it was."""
    before = NewAgent("") if known is None else NewAgent(
        known.name, known.color, known.system_prompt, known.model, known.provider_id
    )  # fmt: skip
    provider = before.provider_id if change.provider_id is None else change.provider_id
    # Another provider has other models: the old one's name would mean nothing there.
    model = before.model if provider == before.provider_id else ""
    return NewAgent(
        name=before.name if change.name is None else change.name,
        color=before.color if change.color is None else change.color,
        system_prompt=before.system_prompt if change.system_prompt is None else change.system_prompt,
        model=model if change.model is None else change.model,
        provider_id=provider,
    )


def room_info(row: RoomRow, stands: Mapping[str, str]) -> RoomInfo:
    """Return the room as ``GET /api/rooms/{id}`` answers it; ``current_round`` is the newest that began.

    ``stands`` says how the newest turn of each agent's in that round stands (``queries.stands``).
    """
    return RoomInfo(
        id=row.id,
        name=row.name,
        task=row.task,
        status=row.status,
        execution_mode=row.execution_mode,
        current_round=row.round_open,
        max_rounds=row.max_rounds,
        agents=tuple(
            _as_it_stands(agent, WORDS.get(stands.get(agent.id, ""), "waiting")) for agent in row.agents
        ),
        last_event_id=row.last_seq,
        created_at=row.created_at,
        updated_at=row.updated_at,
        keep_running=row.keep_running,
        interrupted=row.interrupted if row.status == "paused" else "",
        max_tokens=row.max_tokens,
        max_cost=row.max_cost,
        answer_tokens=row.answer_tokens,
        tokens=row.used_tokens,
        cost=row.used_cost,
        on_error=row.on_error,
        archived=row.archived,
        last_speaker=row.last_speaker,
        last_words=row.last_words,
        queue=row.queue,
        enabled_tools=row.tools,
        workspace=row.workspace,
    )


def _as_it_stands(agent: AgentInfo, status: str) -> AgentInfo:
    # ``replace`` would take most of the time of a list of a thousand rooms.
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


def _refuse(title: str, detail: str = "") -> NoReturn:
    raise Refused(title, detail, status=422)


def _agents(agents: tuple[NewAgent, ...], models: ModelSource) -> tuple[AgentInfo, ...]:
    shown = colors([agent.color for agent in agents])
    return tuple(_agent(place, agent, shown[place], models) for place, agent in enumerate(agents))


def _agent(place: int, agent: NewAgent, color: str, models: ModelSource, before: str = "") -> AgentInfo:
    name = checked_name(agent.name, "name of an agent", MAX_AGENT_NAME_CHARACTERS)
    if not name:
        _refuse("The name of an agent is empty", f"Agent {place + 1} needs one.")
    provider = checked_provider(agent.provider_id, models, before)
    model = checked_name(agent.model, "model", MAX_MODEL_CHARACTERS) or models.default_model(provider)
    prompt = storable(agent.system_prompt)
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        _refuse(
            "A system_prompt is too long",
            f"It has {len(prompt):,} of at most {MAX_PROMPT_CHARACTERS:,} characters.",
        )
    return AgentInfo(uuid4().hex, name, color, model, place, prompt, provider)


def _check_number(agents: int) -> None:
    if agents > MAX_AGENTS:
        _refuse(f"A room has at most {MAX_AGENTS} agents", f"{agents} were named.")


def _checked_room_name(name: str) -> str:
    name = checked_name(name, "name", MAX_ROOM_NAME_CHARACTERS)
    if not name:
        _refuse("The name is empty", "A room needs a name that can be read.")
    return name


def checked_tokens(tokens: int) -> int:
    """Return a ceiling in tokens; raises ``Refused`` (422)."""
    if not 0 <= tokens <= MAX_BUDGET_TOKENS:
        _refuse("The budget is out of bounds", f"max_tokens is 0 (none) to {MAX_BUDGET_TOKENS:,}.")
    return tokens


def checked_answer(tokens: int) -> int:
    """Return the most tokens of one answer; raises ``Refused`` (422)."""
    if not 0 <= tokens <= MAX_ANSWER_TOKENS:
        detail = f"answer_tokens is 0 (what the provider allows) to {MAX_ANSWER_TOKENS:,}."
        _refuse("The longest answer is out of bounds", detail)
    return tokens


def checked_cost(cost: float) -> float:
    """Return a ceiling in US dollars; raises ``Refused`` (422)."""
    if not (math.isfinite(cost) and 0 <= cost <= MAX_BUDGET_COST):
        _refuse("The budget is out of bounds", f"max_cost is 0 (none) to {MAX_BUDGET_COST:,.0f} US dollars.")
    return cost


def _checked_on_error(on_error: str) -> str:
    if on_error not in ON_ERROR:
        _refuse("The on_error is unknown", f"It is one of: {', '.join(ON_ERROR)}.")
    return on_error


def _checked_task(task: str) -> str:
    if not task.strip():
        _refuse("The task is empty", "A room needs something to talk about.")
    if len(task) > MAX_TASK_CHARACTERS:
        _refuse(
            "The task is too long", f"It has {len(task):,} of at most {MAX_TASK_CHARACTERS:,} characters."
        )
    return storable(task)


def checked_name(name: str, what: str, limit: int) -> str:
    """Return a name fit to be stored; raises ``Refused`` (422) for one of more than ``limit`` characters."""
    if len(name) > limit:
        _refuse(f"The {what} is too long", f"It has {len(name):,} of at most {limit:,} characters.")
    return storable(name).strip()


def checked_provider(name: str, models: ModelSource, before: str = "") -> str:
    """Return a provider's name, the default one's for none.

    Raises ``Refused`` (422) for one that is not configured, unless it was so ``before``, and while the config
    file is broken.
    """
    name = checked_name(name, "provider_id", MAX_MODEL_CHARACTERS)
    try:
        name = name or models.default_provider()
        if name != before:
            models.check(name)
    except ModelError as error:
        raise Refused("The provider is not configured", str(error), status=422) from error
    return name


def _checked_mode(mode: str) -> str:
    if mode not in MODES:
        _refuse("The execution_mode is unknown", f"It is one of: {', '.join(MODES)}.")
    return mode


def _checked_rounds(rounds: int) -> int:
    if not 1 <= rounds <= MAX_ROUNDS:
        _refuse("The number of rounds is out of bounds", f"max_rounds is 1 to {MAX_ROUNDS:,}.")
    return rounds


def _default_name(task: str) -> str:
    return task.strip().splitlines()[0][:DEFAULT_NAME_CHARACTERS].strip()
