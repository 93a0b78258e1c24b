"""What callers say about rooms, checked; and rooms as callers see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn
from uuid import uuid4

from agent_tui.backend.engine.agents import colors, default_agents
from agent_tui.backend.engine.turn import ModelSource
from agent_tui.backend.engine.words import storable
from agent_tui.backend.store.rows import RoomRow
from agent_tui.errors import Refused
from agent_tui.events import AgentInfo, Message, RoomInfo

MAX_TASK_CHARACTERS = 100_000
MAX_PROMPT_CHARACTERS = 100_000
MAX_ROOM_NAME_CHARACTERS = 200
MAX_AGENT_NAME_CHARACTERS = 100
MAX_MODEL_CHARACTERS = 200  # also of a provider's name
MAX_AGENTS = 64
MAX_ROUNDS = 1_000
DEFAULT_NAME_CHARACTERS = 60
MODES = ("sequential", "parallel")


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent of a new room; what is empty gets a default (model and provider: the configured ones)."""

    name: str
    color: str = ""
    system_prompt: str = ""
    model: str = ""
    provider_id: str = ""


@dataclass(frozen=True, slots=True)
class NewRoom:
    """A room to make. ``agents`` None: three default ones; empty: none, and its run will fail."""

    task: str
    name: str = ""
    execution_mode: str = "sequential"
    max_rounds: int = 3
    agents: tuple[NewAgent, ...] | None = None
    keep_running: bool = False


@dataclass(frozen=True, slots=True)
class RoomChange:
    """What to change about a room; None leaves a field as it is."""

    name: str | None = None
    task: str | None = None
    max_rounds: int | None = None
    execution_mode: str | None = None
    keep_running: bool | None = None

    @property
    def of_task(self) -> bool:
        """Whether it changes what a room does, not just how it is called and kept."""
        return not (self.task is None and self.max_rounds is None and self.execution_mode is None)


@dataclass(frozen=True, slots=True)
class MessagesPage:
    """Messages in order; ``next`` is the page's last id if others follow, ``as_of`` the seq it is true of."""

    messages: list[Message]
    next: str | None
    as_of: int


def room_row(new: NewRoom, models: ModelSource, now: str) -> RoomRow:
    """Return the row of a new room; raises ``Refused`` (422) for what is out of bounds."""
    task = _checked_task(new.task)
    agents = new.agents
    if agents is None:
        agents = tuple(NewAgent(name, system_prompt=prompt) for name, prompt in default_agents(task))
    if len(agents) > MAX_AGENTS:
        _refuse(f"A room has at most {MAX_AGENTS} agents", f"{len(agents)} were named.")
    return RoomRow(
        id=uuid4().hex,
        name=_checked_name(new.name, "name", MAX_ROOM_NAME_CHARACTERS) or _default_name(task),
        task=task,
        execution_mode=_checked_mode(new.execution_mode),
        max_rounds=_checked_rounds(new.max_rounds),
        keep_running=new.keep_running,
        agents=_agents(agents, models),
        created_at=now,
        updated_at=now,
    )


def changed_values(change: RoomChange) -> dict[str, str | int | bool]:
    """Return the columns that ``change`` sets; raises ``Refused`` (422) for what is out of bounds."""
    values: dict[str, str | int | bool] = {}
    if change.name is not None:
        values["name"] = _checked_name(change.name, "name", MAX_ROOM_NAME_CHARACTERS)
        if not values["name"]:
            _refuse("The name is empty", "A room needs a name that can be read.")
    if change.task is not None:
        values["task"] = _checked_task(change.task)
    if change.max_rounds is not None:
        values["max_rounds"] = _checked_rounds(change.max_rounds)
    if change.execution_mode is not None:
        values["execution_mode"] = _checked_mode(change.execution_mode)
    if change.keep_running is not None:
        values["keep_running"] = change.keep_running
    return values


def room_info(row: RoomRow) -> RoomInfo:
    """Return the room as ``GET /api/rooms/{id}`` answers it; ``current_round`` is the newest that began."""
    return RoomInfo(
        id=row.id,
        name=row.name,
        task=row.task,
        status=row.status,
        execution_mode=row.execution_mode,
        current_round=row.round_open,
        max_rounds=row.max_rounds,
        agents=row.agents,
        last_event_id=row.last_seq,
        created_at=row.created_at,
        updated_at=row.updated_at,
        keep_running=row.keep_running,
        interrupted=row.interrupted if row.status == "paused" else "",
    )


def _refuse(title: str, detail: str = "") -> NoReturn:
    raise Refused(title, detail, status=422)


def _agents(agents: tuple[NewAgent, ...], models: ModelSource) -> tuple[AgentInfo, ...]:
    shown = colors([agent.color for agent in agents])
    return tuple(_agent(place, agent, shown[place], models) for place, agent in enumerate(agents))


def _agent(place: int, agent: NewAgent, color: str, models: ModelSource) -> AgentInfo:
    name = _checked_name(agent.name, "name of an agent", MAX_AGENT_NAME_CHARACTERS)
    if not name:
        _refuse("The name of an agent is empty", f"Agent {place + 1} needs one.")
    provider = _checked_name(agent.provider_id, "provider_id", MAX_MODEL_CHARACTERS)
    provider = provider or models.default_provider()
    model = _checked_name(agent.model, "model", MAX_MODEL_CHARACTERS) or models.default_model(provider)
    prompt = storable(agent.system_prompt)
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        _refuse(
            "A system_prompt is too long",
            f"It has {len(prompt):,} of at most {MAX_PROMPT_CHARACTERS:,} characters.",
        )
    return AgentInfo(uuid4().hex, name, color, model, place, prompt, provider)


def _checked_task(task: str) -> str:
    if not task.strip():
        _refuse("The task is empty", "A room needs something to talk about.")
    if len(task) > MAX_TASK_CHARACTERS:
        _refuse(
            "The task is too long", f"It has {len(task):,} of at most {MAX_TASK_CHARACTERS:,} characters."
        )
    return storable(task)


def _checked_name(name: str, what: str, limit: int) -> str:
    if len(name) > limit:
        _refuse(f"The {what} is too long", f"It has {len(name):,} of at most {limit:,} characters.")
    return storable(name).strip()


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
