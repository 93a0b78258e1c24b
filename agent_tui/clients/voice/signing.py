"""Tokens that are signed here, with the key and secret of a LiveKit server (livekit-api)."""

from __future__ import annotations

import asyncio
import warnings
from datetime import timedelta

import aiohttp
from livekit import api
from livekit.protocol import agent

from agent_tui.clients.voice.tokens import Guest, Ticket, server_url
from agent_tui.model.errors import ConfigError, ConnectFailed

OWNER = "agent-tui.owner"  # attribute of participants who may make the agent act
SIGNED_FOR = timedelta(minutes=10)  # the server renews the tokens of participants in the room
DISPATCH_SECONDS = 10.0
_UNDER_WAY = (agent.JobStatus.JS_PENDING, agent.JobStatus.JS_RUNNING)


class SignedTokens:
    """Signs a token for each join with the server's ``key`` and ``secret``."""

    def __init__(self, url: str, key: str, secret: str, guest: Guest) -> None:
        if not key or not secret:
            raise ConfigError(
                "the LiveKit server's key or secret is missing", "Both are needed to sign tokens."
            )
        self._url = server_url(url)
        self._key = key
        self._secret = secret
        self._guest = guest
        # Of a secret shorter than 32 bytes, which is the server's choice ("secret" in its development mode).
        warnings.filterwarnings("ignore", message="The HMAC key is", category=UserWarning)

    def __repr__(self) -> str:
        return f"SignedTokens({self._url!r})"

    async def ticket(self) -> Ticket:
        """Return a ticket whose token is valid for ten minutes."""
        guest = self._guest
        grants = api.VideoGrants(
            room_join=True,
            room=guest.room,
            can_publish_sources=["microphone"],
            can_update_own_metadata=False,
            can_manage_agent_session=True,
        )
        token = (
            api.AccessToken(self._key, self._secret)
            .with_identity(guest.identity)
            .with_name(guest.name or guest.identity)
            .with_ttl(SIGNED_FOR)
            .with_attributes({OWNER: "1"})
            .with_grants(grants)
        )
        if guest.agent:
            dispatch = api.RoomAgentDispatch(agent_name=guest.agent, metadata=guest.metadata)
            token = token.with_room_config(api.RoomConfiguration(agents=[dispatch]))
        return Ticket(self._url, token.to_jwt(), guest.room, guest.identity, is_owner=True)

    async def call_agent(self) -> bool:
        """Dispatch the agent to the existing room: a token does that only when it makes the room.

        An agent that is on its way is not called again: two would come.
        """
        guest = self._guest
        if not guest.agent:
            return False
        request = api.CreateAgentDispatchRequest(
            agent_name=guest.agent, room=guest.room, metadata=guest.metadata
        )
        http_url = self._url.replace("ws", "http", 1)
        try:
            async with (
                asyncio.timeout(DISPATCH_SECONDS),
                api.LiveKitAPI(http_url, self._key, self._secret) as server,
            ):
                dispatches = await server.agent_dispatch.list_dispatch(guest.room)
                own = (dispatch for dispatch in dispatches if dispatch.agent_name == guest.agent)
                jobs = [job for dispatch in own for job in dispatch.state.jobs]
                if not any(job.state.status in _UNDER_WAY for job in jobs):
                    await server.agent_dispatch.create_dispatch(request)
        except (aiohttp.ClientError, api.TwirpError, TimeoutError, OSError) as error:
            raise ConnectFailed("the agent could not be called", type(error).__name__) from error
        return False

    async def aclose(self) -> None:
        """Nothing is open."""
