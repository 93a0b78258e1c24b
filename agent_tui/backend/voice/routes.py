"""The calls about voice: a token to join a room, in LiveKit's standard form, and the state of voice."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.http.body import Fields, read_fields
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.routing import by_method
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.voice.rooms import OtherServer, TokenRequest, VoiceRooms
from agent_tui.config.voice import DEFAULT_ROOM
from agent_tui.model.errors import Refused


class VoiceRoutes:
    """The routes under ``/api/voice``."""

    def __init__(self, rooms: VoiceRooms, workspaces: Workspaces) -> None:
        self._rooms = rooms
        self._workspaces = workspaces

    def routes(self) -> list[Route]:
        return [by_method("/api/voice", GET=self.about), by_method("/api/voice/token", POST=self.token)]

    async def about(self, _request: Request) -> Response:
        return json_answer(await self._rooms.about())

    async def token(self, request: Request) -> Response:
        answer = await self._rooms.token(token_request(await read_fields(request), self._workspaces))
        response = json_answer(answer, HTTPStatus.CREATED)  # as LiveKit's standard has it
        response.headers["cache-control"] = "no-store"
        return response


def token_request(fields: Fields, workspaces: Workspaces) -> TokenRequest:
    """Return the request in a token request's body; raises ``Refused`` (422) for wrong types and folders.

    ``room_name``, ``participant_…`` and ``room_config`` are LiveKit's (its token endpoints), ``guest``,
    ``agent``, ``locale``, ``livekit``, ``conversation_id`` and ``workspace`` ours.
    """
    room_config = fields.mapping("room_config") or {}
    named = bool(room_config.get("agents"))
    agent = fields.flag("agent")
    return TokenRequest(
        room=fields.text("room_name") or DEFAULT_ROOM,
        name=fields.text("participant_name") or "",
        identity=fields.text("participant_identity") or "",
        is_guest=fields.flag("guest") or False,
        with_agent=not named if agent is None else agent,
        locale=(fields.text("locale") or "")[:40],
        room_config=room_config,
        server=_elsewhere(fields.object("livekit")),
        metadata=fields.text("participant_metadata") or "",
        attributes=_attributes(fields.object("participant_attributes")),
        conversation_id=fields.text("conversation_id") or "",
        workspace=workspaces.check(fields.text("workspace")) or "",
    )


def _attributes(fields: Fields | None) -> dict[str, str]:
    return {} if fields is None else {name: fields.needed_text(name) for name in fields.names}


def _elsewhere(fields: Fields | None) -> OtherServer | None:
    if fields is None:
        return None
    url = fields.needed_text("url").rstrip("/")
    if not url.startswith(("ws://", "wss://")):
        raise Refused("livekit.url must begin with ws:// or wss://", status=422)
    return OtherServer(url, fields.needed_text("key"), fields.needed_text("secret"))
