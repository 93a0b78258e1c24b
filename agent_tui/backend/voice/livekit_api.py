"""Tokens for a LiveKit server and questions to it. This loads LiveKit's library, which takes half a second:
import it in a thread, when voice begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp
from google.protobuf.json_format import ParseDict, ParseError
from livekit import api
from livekit.protocol.models import ParticipantInfo

from agent_tui.model.errors import Refused

OWNER_ATTRIBUTE = "agent-tui.owner"
AGENT_NAME_ATTRIBUTE = "lk.agent.name"
_RESERVED = ("lk.", "agent-tui.")  # beginnings of attributes by which programs decide who is what
TOKEN_LIFE = timedelta(minutes=10)  # the server renews the tokens of participants in the room
CALL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Participant:
    """A participant of a LiveKit room."""

    identity: str
    name: str
    is_agent: bool
    is_owner: bool


@dataclass(frozen=True, slots=True)
class Signer:
    """Makes tokens with one server's key and secret."""

    key: str
    secret: str

    def person(
        self,
        room: str,
        identity: str,
        name: str,
        *,
        is_owner: bool,
        room_config: Mapping[str, Any] | None = None,
        metadata: str = "",
        attributes: Mapping[str, str] | None = None,
    ) -> str:
        """Return a token for a person: to join this room, to be heard there and to write.

        Nobody can change what the token says about them, so nobody else can claim to be an owner; LiveKit's
        ``attributes`` and ours are left out. Raises ``Refused`` (422) for a ``room_config`` that LiveKit does
        not know.
        """
        grants = api.VideoGrants(
            room_join=True,
            room=room,
            can_publish_sources=["microphone"],
            can_update_own_metadata=False,
            can_manage_agent_session=is_owner,
        )
        token = self._token(identity, name).with_grants(grants)
        own_attributes = {
            key: value for key, value in (attributes or {}).items() if not key.startswith(_RESERVED)
        }
        if is_owner:
            own_attributes[OWNER_ATTRIBUTE] = "1"
        if own_attributes:
            token = token.with_attributes(own_attributes)
        if metadata:
            token = token.with_metadata(metadata)
        if room_config:
            token = token.with_room_config(_room_config(room_config))
        return token.to_jwt()

    def agent(self, room: str, identity: str, name: str) -> str:
        """Return a token for our agent; its kind lets it write under the identity of the people it hears."""
        grants = api.VideoGrants(room_join=True, room=room, agent=True, can_update_own_metadata=True)
        token = self._token(identity, name).with_kind("agent").with_grants(grants)
        return token.with_attributes({AGENT_NAME_ATTRIBUTE: name}).to_jwt()

    def _token(self, identity: str, name: str) -> api.AccessToken:
        token = api.AccessToken(self.key, self.secret).with_ttl(TOKEN_LIFE)
        return token.with_identity(identity).with_name(name)


class RoomCalls:
    """Calls to one server; each returns ``None`` if the server does not answer."""

    def __init__(self, url: str, key: str, secret: str) -> None:
        self._api = api.LiveKitAPI(url, key, secret, timeout=aiohttp.ClientTimeout(total=CALL_SECONDS))

    async def people(self) -> dict[str, list[Participant]] | None:
        """Return the participants of all rooms, including agents."""
        with suppress(api.TwirpError, aiohttp.ClientError, TimeoutError):
            rooms = (await self._api.room.list_rooms(api.ListRoomsRequest())).rooms
            requests = (api.ListParticipantsRequest(room=room.name) for room in rooms)
            answers = await asyncio.gather(*map(self._api.room.list_participants, requests))
            return {
                room.name: [_participant(info) for info in answer.participants]
                for room, answer in zip(rooms, answers, strict=True)
            }
        return None

    async def people_in(self, room: str) -> list[Participant] | None:
        """Return the participants of one room, including agents."""
        with suppress(api.TwirpError, aiohttp.ClientError, TimeoutError):
            answer = await self._api.room.list_participants(api.ListParticipantsRequest(room=room))
            return [_participant(info) for info in answer.participants]
        return None

    async def remove(self, room: str, identity: str) -> None:
        """Remove a person from a room; no error if they are not there."""
        with suppress(api.TwirpError, aiohttp.ClientError, TimeoutError):
            await self._api.room.remove_participant(api.RoomParticipantIdentity(room=room, identity=identity))

    async def delete(self, room: str) -> None:
        """Delete a room, and send everyone out of it."""
        with suppress(api.TwirpError, aiohttp.ClientError, TimeoutError):
            await self._api.room.delete_room(api.DeleteRoomRequest(room=room))

    async def aclose(self) -> None:
        await self._api.aclose()


def _participant(info: ParticipantInfo) -> Participant:
    is_agent = info.kind == ParticipantInfo.Kind.AGENT
    return Participant(info.identity, info.name, is_agent, info.attributes.get(OWNER_ATTRIBUTE) == "1")


def _room_config(fields: Mapping[str, Any]) -> api.RoomConfiguration:
    try:
        return ParseDict(dict(fields), api.RoomConfiguration(), ignore_unknown_fields=True)
    except ParseError:
        raise Refused("room_config is not LiveKit's", status=422) from None
