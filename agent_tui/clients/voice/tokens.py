"""Sources of the address and token of a voice room (protocols.md §5).

There are four: given by a person; signed here with the server's key and secret (``signing``); an endpoint in
LiveKit's standard form; our backend. Tokens and secrets are in no ``repr``, error or log.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from agent_tui.clients.http import Net
from agent_tui.clients.records import text_of
from agent_tui.config.voice import LiveKit
from agent_tui.model.errors import ConfigError, NotFound, NotOffered, ProtocolError, Refused, Unauthorized
from agent_tui.model.inert import inert_line
from agent_tui.redaction import shown_url
from agent_tui.wire.voice import token_claims

BACKEND_PATH = "api/voice/token"
ABOUT_PATH = "api/voice"
STARTING_SECONDS = 60.0  # additional time for the backend: it starts the server and the agent
MAX_NAME_CHARACTERS = 200
MAX_TOKEN_CHARACTERS = 64_000
_WS_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


@dataclass(frozen=True, slots=True)
class Ticket:
    """What one join needs. ``is_owner``: the agent may be told to act; ``agent_identity`` and
    ``conversation_id`` are our backend's, empty elsewhere.
    """

    url: str
    token: str = field(repr=False)
    room: str = ""
    identity: str = ""
    conversation_id: str = ""
    agent_identity: str = ""
    is_owner: bool = False


class TokenSource(Protocol):
    """Gives a ticket for each join: tokens last minutes, sessions hours."""

    async def ticket(self) -> Ticket:
        """Return a ticket; raises ``AgentTuiError``."""
        ...

    async def call_agent(self) -> bool:
        """Call the agent once more, if that is possible; return whether it is being started, which may take
        long. Raises ``AgentTuiError``.
        """
        ...

    async def aclose(self) -> None: ...


def new_identity(name: str) -> str:
    """Return a unique identity for a participant called ``name``: two terminals may join."""
    plain = "".join(char if char.isalnum() else "-" for char in name.lower())[:MAX_NAME_CHARACTERS].strip("-")
    return f"{plain or 'terminal'}-{secrets.token_hex(4)}"


def server_url(text: str) -> str:
    """Return the address of a LiveKit server with the scheme ws or wss; raises ``ConfigError``."""
    try:
        parts = urlsplit(text.strip())
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError as error:
        raise ConfigError(
            "that is not the address of a LiveKit server", "It looks like wss://host."
        ) from error
    scheme = _WS_SCHEMES.get(parts.scheme)
    if scheme is None or not parts.hostname or not port_is_valid:
        raise ConfigError("that is not the address of a LiveKit server", "It looks like wss://host.")
    if "@" in parts.netloc or parts.query:
        raise ConfigError("the address of the LiveKit server holds a password or a query", "Leave it out.")
    return urlunsplit((scheme, parts.netloc, parts.path, "", ""))


class StaticToken:
    """A token that was given to a person. It is used for every join until it expires."""

    def __init__(self, url: str, token: str) -> None:
        self._ticket = _ticket(server_url(url), token)

    def __repr__(self) -> str:
        return f"StaticToken({self._ticket.url!r})"

    async def ticket(self) -> Ticket:
        """Return the ticket."""
        return self._ticket

    async def call_agent(self) -> bool:
        """Do nothing: a token cannot call an agent into a room that exists."""
        return False

    async def aclose(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class Guest:
    """The participant, the room, and the agent to dispatch: ``agent`` is the name for that, empty if agents
    come by themselves; ``metadata`` is passed to it.
    """

    room: str
    identity: str
    name: str = ""
    agent: str = ""
    metadata: str = ""

    def room_config(self) -> dict[str, Any]:
        """Return LiveKit's ``room_config`` in its JSON form, empty without an agent's name."""
        if not self.agent:
            return {}
        return {"agents": [{"agent_name": self.agent, "metadata": self.metadata}]}


class EndpointTokens:
    """Asks a token endpoint in LiveKit's standard form: ``POST {room_name, participant_identity, …}`` →
    ``{server_url, participant_token}``.
    """

    def __init__(self, url: str, guest: Guest, environ: Mapping[str, str] | None = None) -> None:
        base, self._path = _split(url)
        self._net = Net(base, environ=environ)
        self._guest = guest

    def __repr__(self) -> str:
        return f"EndpointTokens({self._net.base_url!r})"

    async def ticket(self) -> Ticket:
        """Ask for a ticket; raises ``AgentTuiError``."""
        guest = self._guest
        body: dict[str, Any] = {
            "room_name": guest.room,
            "participant_identity": guest.identity,
            "participant_name": guest.name or guest.identity,
        }
        if config := guest.room_config():
            body["room_config"] = config
        where = shown_url(self._net.base_url)
        try:
            answer = await self._net.call("POST", self._path, json=body)
        except Unauthorized as error:
            hint = "Check [voice] token_url; agent-tui sends it no token."
            raise Unauthorized(f"{where} gives out no token", hint, status=error.status) from error
        except (NotFound, NotOffered) as error:
            raise NotFound(f"{where} has no token endpoint there", "Check [voice] token_url.") from error
        return _read(answer)

    async def call_agent(self) -> bool:
        """Do nothing: the endpoint only issues tokens."""
        return False

    async def aclose(self) -> None:
        """Close the connections."""
        await self._net.aclose()


def tokens_of(livekit: LiveKit, guest: Guest, environ: Mapping[str, str] | None = None) -> TokenSource:
    """Return the source for a named server: the given token, else its endpoint, else its key."""
    if livekit.token:
        return StaticToken(livekit.url, livekit.token)
    if livekit.token_url:
        return EndpointTokens(livekit.token_url, guest, environ)
    from agent_tui.clients.voice.signing import SignedTokens  # lazy: it loads LiveKit's libraries

    return SignedTokens(livekit.url, livekit.key, livekit.secret, guest)


class BackendTokens:
    """Asks our backend, which starts LiveKit's server and the agent if they are not running; with ``livekit``
    only our agent, in a room of that server.

    The caller owns ``net``. Raises ``Refused`` if no server is available, with the ``code``
    ``voice.no_server``, ``voice.no_agent`` or ``voice.server_failed``.
    """

    def __init__(
        self,
        net: Net,
        room: str,
        name: str = "",
        *,
        is_guest: bool = False,
        livekit: LiveKit | None = None,
        conversation_id: str = "",
        locale: str = "",
        workspace: str | None = None,
    ) -> None:
        """``livekit`` has a key and a secret; the backend gets them, so it has to be on this machine.
        ``conversation_id`` is the one to go on with, if the room has to be made anew, ``locale`` the language
        that is spoken here, ``workspace`` the folder of the tools in a new conversation.
        """
        self._net = net
        self._first: Ticket | None = None
        self._agent = ""  # its identity
        self._body: dict[str, Any] = {"room_name": room}
        if name:
            self._body["participant_name"] = name
        if is_guest:
            self._body["guest"] = True
        if conversation_id:
            self._body["conversation_id"] = conversation_id
        if locale:
            self._body["locale"] = locale
        if workspace:
            self._body["workspace"] = workspace
        if livekit is not None:
            fields = {"url": server_url(livekit.url), "key": livekit.key, "secret": livekit.secret}
            self._body["livekit"] = fields

    def __repr__(self) -> str:
        return f"BackendTokens({self._net.base_url!r})"

    async def first(self) -> Ticket:
        """Ask for the ticket of the first join, which ``ticket`` returns then; raises ``AgentTuiError``."""
        self._first = await self._ask_for_ticket()
        return self._first

    async def ticket(self) -> Ticket:
        """Return a ticket for each join; raises ``AgentTuiError``."""
        first, self._first = self._first, None
        return first if first is not None else await self._ask_for_ticket()

    async def _ask_for_ticket(self) -> Ticket:
        """Ask for a ticket, with the same identity each time: the agent keeps listening to a participant who
        comes back.
        """
        answer = await self._net.call("POST", BACKEND_PATH, json=self._body, patience=STARTING_SECONDS)
        ticket = _read(answer)
        self._body["participant_identity"], self._agent = ticket.identity, ticket.agent_identity
        return ticket

    async def call_agent(self) -> bool:
        """Ask again, unless the agent is being started: the backend starts it if it is not running.
        Raises ``Refused`` if it had failed before: it may fail again.
        """
        about = await self._net.call("GET", ABOUT_PATH)
        rooms = about.get("rooms") if isinstance(about, Mapping) else None
        agents = [room.get("agent") for room in rooms or () if isinstance(room, Mapping)]
        agent = next((one for one in agents if text_of(one, "identity") == self._agent), None)
        state, why = text_of(agent, "state"), text_of(agent, "detail")
        if state == "starting":
            return True
        await self._ask_for_ticket()
        if state == "failed" and why:
            raise Refused(why.splitlines()[0])
        return False

    async def aclose(self) -> None:
        """Do nothing: nothing of ours is open."""


def _split(url: str) -> tuple[str, str]:
    """Return (origin, path with query) of a token endpoint; ``Net`` reports what is wrong with it."""
    try:
        parts = urlsplit(url.strip())
    except ValueError as error:
        raise ConfigError(
            "[voice] token_url is not an address", "It looks like https://host/token."
        ) from error
    path = urlunsplit(("", "", parts.path, parts.query, "")).lstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, "", "", "")), path


def _read(answer: Any) -> Ticket:
    """Return the ticket of an endpoint's answer; LiveKit's own examples use both kinds of names."""
    if not isinstance(answer, Mapping):
        raise ProtocolError("the token endpoint's answer is not a token")
    url = _text(answer, "server_url", "serverUrl")
    token = _text(answer, "participant_token", "participantToken")
    try:
        return _ticket(
            server_url(url),
            token,
            room=_text(answer, "room_name", "roomName"),
            identity=_text(answer, "participant_identity", "participantIdentity"),
            conversation_id=_text(answer, "conversation_id"),
            agent_identity=_text(answer, "agent_identity"),
            is_owner=answer.get("owner") is True,
        )
    except ConfigError as error:
        raise ProtocolError("the token endpoint's answer is not a token", error.title) from error


def _text(answer: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := answer.get(name), str)), "")


def claimed_room(token: str) -> str:
    """Return the room that a token is for, "" if it does not say."""
    video = token_claims(token).get("video")
    room = video.get("room") if isinstance(video, Mapping) else None
    return inert_line(str(room or ""), MAX_NAME_CHARACTERS)


def _ticket(
    url: str,
    token: str,
    room: str = "",
    identity: str = "",
    conversation_id: str = "",
    agent_identity: str = "",
    is_owner: bool = False,
) -> Ticket:
    """Return a ticket; a missing room or identity is read from the token."""
    token = token.strip()
    if not token or len(token) > MAX_TOKEN_CHARACTERS or not all("!" <= char <= "~" for char in token):
        raise ConfigError("the LiveKit token is empty or cannot be sent", "Copy all of it, without blanks.")
    claims = token_claims(token)
    return Ticket(
        url,
        token,
        room[:MAX_NAME_CHARACTERS] or claimed_room(token),
        (identity or str(claims.get("sub") or ""))[:MAX_NAME_CHARACTERS],
        conversation_id,
        agent_identity,
        is_owner,
    )
