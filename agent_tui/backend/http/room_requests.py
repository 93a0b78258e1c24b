"""Reads and checks requests about rooms: the ids in their paths, their queries and their bodies."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from starlette.requests import Request

from agent_tui.backend.http.body import Fields, wrong_field
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import AgentInfo, RoomInfo

MAX_WAIT_SECONDS = 30.0
TIMES = ("next", "now")  # when a message is said

ID = re.compile(r"[A-Za-z0-9_.~-]{1,200}")
_WHOLE = re.compile(r"[0-9]{1,18}")  # fits 63 bits; int() alone would take " 1_0" and "٣"
MOST = 10**18 - 1
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def path_id(request: Request, name: str, what: str) -> str:
    """Return the id for ``name`` in the path; raises ``NotFound`` (no such ``what``) for an invalid one."""
    id_: str = request.path_params[name]
    if not ID.fullmatch(id_):
        raise NotFound(f"There is no such {what}")
    return id_


def number(request: Request, name: str, least: int = 0) -> int | None:
    """Return a whole number of the query; raises ``Refused`` (400) for anything else."""
    text = request.query_params.get(name)
    return None if text is None else whole(text, name, least)


def whole(text: str, name: str, least: int = 0) -> int:
    """Return ``text`` as a whole number; raises ``Refused`` (400) for anything else."""
    if not _WHOLE.fullmatch(text) or int(text) < least:
        title = f"{name} must be a whole number from {least} to {MOST:,}"
        raise Refused(title, status=HTTPStatus.BAD_REQUEST)
    return int(text)


def limit(request: Request) -> int | None:
    """Return the query's ``limit``."""
    return number(request, "limit", least=1)


def wait_seconds(request: Request) -> float:
    """Return how long the caller wants to wait, at most ``MAX_WAIT_SECONDS``."""
    text = request.query_params.get("wait", "0")
    if not _SECONDS.fullmatch(text):
        raise Refused("wait must be a number of seconds", status=HTTPStatus.BAD_REQUEST)
    return min(float(text), MAX_WAIT_SECONDS)


def switch(request: Request, name: str) -> bool:
    """Return whether the query switches ``name`` on."""
    return request.query_params.get(name, "0") not in ("", "0", "false")


def last_event_id(request: Request) -> int | None:
    """Return the ``Last-Event-ID`` header; an empty one means nothing, as in the SSE specification."""
    text = request.headers.get("last-event-id", "")
    return whole(text, "Last-Event-ID") if text else None


def new_room(fields: Fields, workspaces: Workspaces) -> dict[str, Any]:
    """Return the room to make, as ``Engine.create`` takes it."""
    new = settings(fields, RoomInfo, workspaces, is_new=True)
    if (agents := fields.objects("agents")) is not None:
        new["agents"] = [agent.settings(AgentInfo, is_new=True) for agent in agents]
    return new | {"provider_id": fields.text("provider_id")}


def room_change(fields: Fields, workspaces: Workspaces) -> dict[str, Any]:
    """Return the changes of a room, as ``Engine.change`` takes them."""
    change = settings(fields, RoomInfo, workspaces)
    if (agents := fields.objects("agents")) is not None:
        change["agents"] = [agent.settings(AgentInfo) | {"id": agent.text("id")} for agent in agents]
    return change


def settings(fields: Fields, record: type, workspaces: Workspaces, *, is_new: bool = False) -> dict[str, Any]:
    """Return the settings of ``record``, as ``Fields.settings`` does; raises ``Refused`` (422) also for a
    folder in which tools may not work.
    """
    values = fields.settings(record, is_new=is_new)
    if "workspace" in values:
        values["workspace"] = workspaces.check(values["workspace"])
    return values


def when(fields: Fields) -> str:
    """Return when a message is to be said."""
    time = fields.text("when") or "next"
    if time not in TIMES:
        raise wrong_field("when", f"must be one of: {', '.join(TIMES)}")
    return time
