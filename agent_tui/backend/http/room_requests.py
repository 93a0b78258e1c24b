"""What requests about rooms say: the ids in their paths, their queries and their bodies, read and checked."""

from __future__ import annotations

import re
from http import HTTPStatus

from starlette.requests import Request

from agent_tui.backend.engine.rooms import AgentChange, NewAgent, NewRoom, RoomChange
from agent_tui.backend.http.body import Fields, wrong_field
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.model.errors import NotFound, Refused

DEFAULT_ROUNDS = 3
MAX_WAIT_SECONDS = 30.0
TIMES = ("next", "now")  # when a message is said

ID = re.compile(r"[A-Za-z0-9_.~-]{1,200}")
_WHOLE = re.compile(r"[0-9]{1,18}")  # fits 63 bits; int() alone would take " 1_0" and "٣"
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def room_id(request: Request) -> str:
    """Return the room the path names; raises ``NotFound`` for what is no id."""
    return path_id(request, "room_id", "room")


def agent_id(request: Request) -> str:
    """Return the agent the path names; raises ``NotFound`` for what is no id."""
    return path_id(request, "agent_id", "agent")


def message_id(request: Request) -> str:
    """Return the message the path names; raises ``NotFound`` for what is no id."""
    return path_id(request, "message_id", "message")


def path_id(request: Request, name: str, what: str) -> str:
    """Return the id that stands for ``name`` in the path; raises ``NotFound`` (no such ``what``) for what is
    no id.
    """
    found: str = request.path_params[name]
    if not ID.fullmatch(found):
        raise NotFound(f"There is no such {what}")
    return found


def number(request: Request, name: str) -> int | None:
    """Return a whole number of the query; raises ``Refused`` (400) for anything else."""
    text = request.query_params.get(name)
    return None if text is None else whole(text, name)


def whole(text: str, name: str) -> int:
    """Return ``text`` as a whole number; raises ``Refused`` (400) for anything else."""
    if not _WHOLE.fullmatch(text):
        raise Refused(f"{name} must be a whole number", status=HTTPStatus.BAD_REQUEST)
    return int(text)


def limit(request: Request) -> int | None:
    """Return the query's ``limit``."""
    found = number(request, "limit")
    if found == 0:
        raise Refused("limit must be at least 1", status=HTTPStatus.BAD_REQUEST)
    return found


def wait_seconds(request: Request) -> float:
    """Return how long the caller would wait, at most ``MAX_WAIT_SECONDS``."""
    text = request.query_params.get("wait", "0")
    if not _SECONDS.fullmatch(text):
        raise Refused("wait must be a number of seconds", status=HTTPStatus.BAD_REQUEST)
    return min(float(text), MAX_WAIT_SECONDS)


def switch(request: Request, name: str) -> bool:
    """Return whether the query switches ``name`` on."""
    return request.query_params.get(name, "0") not in ("", "0", "false")


def last_event_id(request: Request) -> int | None:
    """Return the ``Last-Event-ID`` header; an empty one says nothing, as in the SSE specification."""
    text = request.headers.get("last-event-id", "")
    return whole(text, "Last-Event-ID") if text else None


def new_room(fields: Fields, workspaces: Workspaces) -> NewRoom:
    """Return the room to make."""
    rounds = fields.number("max_rounds")
    agents = fields.objects("agents")
    return NewRoom(
        task=fields.needed_text("task"),
        name=fields.text("name") or "",
        execution_mode=fields.text("execution_mode") or "sequential",
        max_rounds=DEFAULT_ROUNDS if rounds is None else rounds,
        agents=None if agents is None else tuple(_new_agent(agent) for agent in agents),
        keep_running=fields.flag("keep_running") or False,
        max_tokens=fields.number("max_tokens") or 0,
        max_cost=fields.decimal("max_cost") or 0.0,
        answer_tokens=fields.number("answer_tokens") or 0,
        on_error=fields.text("on_error") or "continue",
        enabled_tools=fields.texts("enabled_tools") or (),
        workspace=workspaces.checked(fields.text("workspace")) or "",
        provider_id=fields.text("provider_id") or "",
    )


def _new_agent(fields: Fields) -> NewAgent:
    return NewAgent(
        name=fields.needed_text("name"),
        color=fields.text("color") or "",
        system_prompt=fields.text("system_prompt") or "",
        model=fields.text("model") or "",
        provider_id=fields.text("provider_id") or "",
    )


def room_change(fields: Fields, workspaces: Workspaces) -> RoomChange:
    """Return what to change about a room."""
    agents = fields.objects("agents")
    return RoomChange(
        name=fields.text("name"),
        task=fields.text("task"),
        max_rounds=fields.number("max_rounds"),
        execution_mode=fields.text("execution_mode"),
        keep_running=fields.flag("keep_running"),
        max_tokens=fields.number("max_tokens"),
        max_cost=fields.decimal("max_cost"),
        answer_tokens=fields.number("answer_tokens"),
        on_error=fields.text("on_error"),
        archived=fields.flag("archived"),
        enabled_tools=fields.texts("enabled_tools"),
        workspace=workspaces.checked(fields.text("workspace")),
        agents=None if agents is None else tuple(_agent_change(agent) for agent in agents),
    )


def _agent_change(fields: Fields) -> AgentChange:
    return AgentChange(
        id=fields.text("id") or "",
        name=fields.text("name"),
        color=fields.text("color"),
        system_prompt=fields.text("system_prompt"),
        model=fields.text("model"),
        provider_id=fields.text("provider_id"),
    )


def when(fields: Fields) -> str:
    """Return when a message is to be said."""
    found = fields.text("when") or "next"
    if found not in TIMES:
        raise wrong_field("when", f"must be one of: {', '.join(TIMES)}")
    return found
