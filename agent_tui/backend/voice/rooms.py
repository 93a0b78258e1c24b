"""The voice rooms of this machine: one LiveKit server for all of them, an agent and a conversation for each.

In a room of another server only the agent is ours.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.engine.unwatched import OpenPrograms
from agent_tui.backend.voice.agent import JOIN_SECONDS, Orders, VoiceAgent, agent_settings
from agent_tui.backend.voice.conversations import (
    begin_conversation,
    conversation_before,
    end_conversation,
    find_conversation,
    is_empty,
)
from agent_tui.backend.voice.last_words import LogFile
from agent_tui.backend.voice.program import ProgramEnded
from agent_tui.backend.voice.server import KEY, VoiceServer, is_old, server_version
from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.config.voice import MAX_ROOM_CHARACTERS, VoiceConfig
from agent_tui.model.errors import AgentTuiError, Refused
from agent_tui.model.inert import inert_line
from agent_tui.network import has_interface
from agent_tui.voice_instructions import own_locale
from agent_tui.voice_parts import find_agent_python, find_server, located_server, missing_parts, voice_folder

if TYPE_CHECKING:  # takes half a second, and is only needed once a person talks
    from agent_tui.backend.voice.livekit_api import Participant, RoomCalls, Signer

LEFT_SECONDS = 30.0  # a room that everyone has left for this long is over
LOOK_SECONDS = 2.0  # between checks who is in the rooms
OWN_LOOKS_PER_OTHER = 5  # another server's room is checked once for this many checks of ours
OWNER_PREFIX = "owner-"
GUEST_PREFIX = "guest-"
MAX_NAME_CHARACTERS = 60
NONCE_BYTES = 4  # of a backend, in identities on servers where others sign tokens, too
SUFFIX_BYTES = 3  # of identities: the same person twice counts as two people in the room

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OtherServer:
    """Another LiveKit server (``url`` begins with ws), with the key and secret for its tokens."""

    url: str
    key: str = field(repr=False)
    secret: str = field(repr=False)

    @property
    def api_url(self) -> str:
        """Return the address of its API."""
        return f"http{self.url.removeprefix('ws')}"


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """The participant, and the room to join. ``room_config`` is LiveKit's, as its token endpoints take it;
    our agent does not come without ``with_agent``. ``locale`` is the spoken language; ``server`` the room's,
    ``None``: ours. ``metadata`` and ``attributes`` are the participant's. ``conversation_id`` is the one to
    go on with if the room is not in use: after a crash of the backend it is not. ``workspace`` is the folder
    of the tools in a conversation that begins, an owner's only.
    """

    room: str
    name: str = ""
    identity: str = ""
    is_guest: bool = False
    with_agent: bool = True
    locale: str = ""
    room_config: Mapping[str, Any] | None = None
    server: OtherServer | None = None
    metadata: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    conversation_id: str = ""
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class BackendAddress:
    """How our agent reaches this backend; ``is_local``: only this machine can reach it."""

    url: str
    token: str = field(repr=False)
    is_local: bool = True


@dataclass(slots=True)
class VoiceRoom:
    """A room in use: ``seen_at`` (monotonic) is when a person was last in it, or was given a token."""

    conversation_id: str
    locale: str
    seen_at: float
    server: OtherServer | None = None  # its server, ``None``: ours
    agent: VoiceAgent | None = None
    people: list[Participant] = field(default_factory=list)
    is_demo: bool = False  # it began without a model, and the demo answers


# The address of a room's server, empty for ours, and the room's name.
RoomKey = tuple[str, str]


class VoiceRooms:
    """All voice rooms. The server is started for the first one and ended after the last one."""

    def __init__(
        self,
        data: Path,
        config: Callable[[], VoiceConfig],
        engine: Engine,
        presence: OpenPrograms,
        address: BackendAddress,
        *,
        left_seconds: float = LEFT_SECONDS,
        look_seconds: float = LOOK_SECONDS,
        join_seconds: float = JOIN_SECONDS,
    ) -> None:
        self._data = data
        self._config = config
        self._engine = engine
        self._presence = presence
        self._address = address
        self._left_seconds = left_seconds
        self._look_seconds = look_seconds
        self._join_seconds = join_seconds
        folder = voice_folder(data)
        self._server_file = LogFile(folder / "server.log")
        self._agent_file = LogFile(folder / "agent.log")
        self._rooms: dict[RoomKey, VoiceRoom] = {}
        self._server: VoiceServer | None = None
        self._livekit: tuple[Signer, RoomCalls] | None = None
        self._other_servers: dict[OtherServer, tuple[Signer, RoomCalls]] = {}
        self._nonce = secrets.token_hex(NONCE_BYTES)
        self._looks = 0
        self._changing = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._attending: asyncio.Task[None] | None = None
        self._known_version: tuple[Path, str] | None = None
        self._closed = False

    # --- what is asked ---------------------------------------------------------------------------------

    @property
    def rooms(self) -> int:
        """Return how many voice rooms are in use."""
        return len(self._rooms)

    async def token(self, request: TokenRequest) -> dict[str, Any]:
        """Return what a client needs to join, in LiveKit's words and ours; starts server and agent.

        Raises ``Refused``: 409 with a ``code`` if there is no server or no agent, 403 if a guest asks for
        what is the owner's, 422 for an invalid name.
        """
        request = check_token_request(request)
        async with self._changing:
            self._check_is_local()
            server = request.server or self._require_server()
            key = (request.server.url if request.server is not None else "", request.room)
            if request.with_agent and key not in self._rooms:
                self._require_agent()
            room = await self._ensure_room(key, request)
            try:
                if isinstance(server, VoiceServer):
                    server.start()  # before the agent, which waits for it
                if request.with_agent:
                    self._start_agent(key, room)
                signer = await self._ready(server)
            finally:
                room.seen_at = time.monotonic()
                self._watch()
        identity = identity_of(request, self._owner_prefix(request.server))
        token = signer.person(
            request.room,
            identity,
            request.name,
            is_owner=not request.is_guest,
            room_config=request.room_config,
            metadata=request.metadata,
            attributes=request.attributes,
        )
        return {
            "server_url": server.url,
            "participant_token": token,
            "room_name": request.room,
            "participant_name": request.name,
            "participant_identity": identity,
            "conversation_id": room.conversation_id,
            "agent_identity": room.agent.identity if room.agent is not None else None,
            "owner": not request.is_guest,
        }

    async def about(self) -> dict[str, Any]:
        """Return what is installed and running: server, agent's Python, rooms and the people in them; no
        secrets.
        """
        await self._look()
        located, python = located_server(self._data), find_agent_python(self._data)
        server = self._server
        version = "" if located is None else await self._version(located[0])
        return {
            "server": {
                "state": "stopped" if server is None else server.state,
                "path": None if located is None else str(located[0]),
                "source": None if located is None else located[1],
                "version": version or None,
                "is_old": is_old(version),
                "url": server.url if server is not None and server.state == "running" else None,
                "detail": "" if server is None else server.why,
            },
            "agent": {"python": None if python is None else str(python)},
            "missing_parts": [part.name for part in missing_parts(self._data)],
            "rooms": [_about_room(key, room) for key, room in sorted(self._rooms.items())],
            "missing": [
                {"code": missing.code, "title": missing.title, "detail": missing.detail}
                for missing in self._missing()
            ],
        }

    async def _version(self, path: Path) -> str:
        """Return the version of the program at ``path``; it is asked only once."""
        if self._known_version is None or self._known_version[0] != path:
            self._known_version = path, await server_version(path)
        return self._known_version[1]

    async def aclose(self) -> None:
        """Make the agents leave and end the server; nothing is started anymore."""
        self._closed = True
        tasks = [task for task in (self._watching, self._attending) if task is not None]
        for task in tasks:
            task.cancel()
        rooms = list(self._rooms.values())
        self._rooms.clear()
        await asyncio.gather(
            *(room.agent.stop() for room in rooms if room.agent is not None),
            self._end_servers(),
            *tasks,
            return_exceptions=True,
        )
        self._server_file.close()
        self._agent_file.close()

    # --- what is needed --------------------------------------------------------------------------------

    def _missing(self) -> list[Refused]:
        missing = []
        for check in (self._require_server, self._require_agent):
            try:
                check()
            except Refused as error:
                missing.append(error)
        return missing

    def _check_is_local(self) -> None:
        if not self._address.is_local:
            _refuse_server(
                "This backend has no voice rooms", "Voice rooms are for one machine, and others can reach it."
            )

    def _require_server(self) -> VoiceServer:
        self._check_is_local()
        path = find_server(self._data)
        if path is None:
            _refuse_server("There is no livekit-server on this machine", "Run: agent-tui voice setup")
        if not has_interface():
            _refuse_server(
                "This machine has no network interface but loopback",
                "LiveKit needs another one, even for calls on one machine.",
                code="voice.no_network",
            )
        if self._server is None or (self._server.path != path and not self._has_ours):
            self._server = VoiceServer(path, voice_folder(self._data), self._server_file)
        return self._server

    def _require_agent(self) -> Path:
        python = find_agent_python(self._data)
        if python is None:
            raise Refused(
                "The voice agent is not installed",
                "Run: agent-tui voice setup",
                status=409,
                code="voice.no_agent",
            )
        return python

    async def _ready(self, server: VoiceServer | OtherServer) -> Signer:
        """Wait for the server that is starting; raises ``Refused`` (409) if it fails."""
        if isinstance(server, OtherServer):
            return (await self._signer_and_calls(server))[0]
        state, _ = await asyncio.gather(server.wait_until_started(), asyncio.to_thread(_load_livekit))
        if state != "running":
            why = server.why
            await self._end_rooms([key for key in self._rooms if not key[0]])
            _refuse_server("The livekit-server does not start", why, code="voice.server_failed")
        return (await self._signer_and_calls(server))[0]

    @property
    def _has_ours(self) -> bool:
        """Whether a room on our own server is in use."""
        return any(not url for url, _ in self._rooms)

    async def _signer_and_calls(self, server: VoiceServer | OtherServer) -> tuple[Signer, RoomCalls]:
        """Return the signer and the calls for the running server."""
        livekit = await asyncio.to_thread(_load_livekit)
        if isinstance(server, OtherServer):
            if server not in self._other_servers:
                calls = livekit.RoomCalls(server.api_url, server.key, server.secret)
                self._other_servers[server] = livekit.Signer(server.key, server.secret), calls
            return self._other_servers[server]
        if self._livekit is None:
            calls = livekit.RoomCalls(server.api_url, KEY, server.secret)
            self._livekit = livekit.Signer(KEY, server.secret), calls
        return self._livekit

    # --- rooms -----------------------------------------------------------------------------------------

    def _owner_prefix(self, server: OtherServer | None) -> str:
        """Return how the identities of this backend's person begin. On servers where others sign tokens, too,
        all other people are guests of our agent.
        """
        return OWNER_PREFIX if server is None else f"{OWNER_PREFIX}{self._nonce}-"

    async def _ensure_room(self, key: RoomKey, request: TokenRequest) -> VoiceRoom:
        room = self._rooms.get(key)
        workspace, before_id = ("", "") if request.is_guest else (request.workspace, request.conversation_id)
        if room is not None and await find_conversation(self._engine, room.conversation_id) is None:
            if room.agent is not None:  # it worked for the deleted conversation
                await room.agent.stop()
                room.agent = None
            conversation = await begin_conversation(
                self._engine, request.room, self._locale(room.locale), workspace
            )
            room.conversation_id, room.is_demo = conversation.id, conversation.provider_id == DEMO_PROVIDER
        elif room is None:
            conversation = await conversation_before(self._engine, before_id) or await begin_conversation(
                self._engine, request.room, self._locale(request.locale), workspace
            )
            is_demo = conversation.provider_id == DEMO_PROVIDER
            room = VoiceRoom(conversation.id, request.locale, time.monotonic(), is_demo=is_demo)
        if self._closed:
            raise Refused("The backend is stopping", status=503)
        room.server = request.server  # the key may be a new one
        self._rooms[key] = room
        return room

    def _start_agent(self, key: RoomKey, room: VoiceRoom) -> None:
        if room.agent is None:
            python = find_agent_python(self._data)
            if python is None:
                return

            async def orders() -> Orders:
                return await self._orders(key[1], room)

            async def is_gone() -> None:
                # After a crash the server believes for twenty seconds that the agent is still there.
                if (server := room.server or self._server) is not None and room.agent is not None:
                    await (await self._signer_and_calls(server))[1].remove(key[1], room.agent.identity)

            async def is_over() -> bool:
                self._looks = 0  # check now, on whatever server
                await self._look()
                return not room.people

            room.agent = VoiceAgent(
                key[1],
                f"agent-{key[1]}" if room.server is None else f"agent-{key[1]}-{self._nonce}",
                (python, voice_folder(self._data)),
                self._agent_file,
                lambda: self._config().agent,
                orders,
                is_gone,
                is_over,
                self._join_seconds,
            )
        room.agent.start()

    async def _orders(self, name: str, room: VoiceRoom) -> Orders:
        """Return the orders for a room's agent, when there is a server for it."""
        assert room.agent is not None
        server: VoiceServer | OtherServer | None = room.server or self._server
        assert server is not None
        if isinstance(server, VoiceServer) and await server.wait_until_started() != "running":
            raise ProgramEnded("there is no LiveKit server")
        signer, _ = await self._signer_and_calls(server)
        config = self._config()
        return {
            "url": server.url,
            "token": signer.agent(name, room.agent.identity, "agent-tui"),
            "room": name,
            "identity": room.agent.identity,
            "backend_url": self._address.url,
            "backend_token": self._address.token,
            "conversation_id": room.conversation_id,
            "owners": [self._owner_prefix(room.server)],
            "locale": self._locale(room.locale),
            "greets": await is_empty(self._engine, room.conversation_id),
            "agent": agent_settings(config.agent),
        }

    def _locale(self, of_terminal: str) -> str:
        """Return the spoken language of a room: the config file's, the terminal's, or ours."""
        return self._config().locale or of_terminal or own_locale()

    async def _end_rooms(self, keys: list[RoomKey]) -> None:
        rooms = [(key, room) for key in keys if (room := self._rooms.pop(key, None)) is not None]
        await asyncio.gather(*(room.agent.stop() for _, room in rooms if room.agent is not None))
        for (url, name), room in rooms:
            if self._livekit is not None and not url:
                await self._livekit[1].delete(name)
            await end_conversation(self._engine, room.conversation_id)
        await self._end_servers()

    async def _end_servers(self) -> None:
        """End what no room needs anymore."""
        used = {room.server for room in self._rooms.values()}
        for server in [other for other in self._other_servers if other not in used]:
            await self._other_servers.pop(server)[1].aclose()
        if self._has_ours:
            return
        livekit, self._livekit = self._livekit, None
        if livekit is not None:
            await livekit[1].aclose()
        if self._server is not None:
            await self._server.stop()

    # --- who is there ----------------------------------------------------------------------------------

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch_rooms())

    async def _watch_rooms(self) -> None:
        """Check regularly who is there, and end what everyone has left."""
        while self._rooms:
            await asyncio.sleep(self._look_seconds)
            try:
                async with self._changing:
                    await self._look()
                    await self._end_left()
                    await self._take_models()
            except Exception:  # the last line of defence: rooms that never end keep the backend running
                log.exception("a look at the voice rooms failed")

    async def _take_models(self) -> None:
        """Let rooms that began without a model use one that was connected since: the demo advises that."""
        for room in self._rooms.values():
            with suppress(AgentTuiError):  # it is answering, or nothing is known of models: the next time
                if room.is_demo and (provider := self._engine.default_provider()) != DEMO_PROVIDER:
                    await self._engine.change(CHATS, room.conversation_id, {"provider_id": provider})
                    room.is_demo = False

    async def _look(self) -> None:
        """Note who is in which room; a server that does not answer tells nothing."""
        now = time.monotonic()
        people_by_room = await self._livekit[1].people() if self._livekit is not None else None
        is_turn, self._looks = self._looks % OWN_LOOKS_PER_OTHER == 0, self._looks + 1
        for (url, name), room in list(self._rooms.items()):
            people = None if people_by_room is None or url else people_by_room.get(name, [])
            if room.server is not None and is_turn:
                people = await (await self._signer_and_calls(room.server))[1].people_in(name)
                prefix = self._owner_prefix(room.server)  # our agent does not stay for strangers alone
                people = people and [person for person in people if person.identity.startswith(prefix)]
            if people is not None:
                room.people = [person for person in people if not person.is_agent]
            if people and room.people:
                room.seen_at = now
        self._attend()

    async def _end_left(self) -> None:
        now = time.monotonic()
        is_lost = self._server is not None and self._server.state == "failed"
        empty = [
            key
            for key, room in self._rooms.items()
            if (is_lost and room.server is None) or now - room.seen_at > self._left_seconds
        ]
        if empty:
            await self._end_rooms(empty)
            self._attend()
        for room in self._rooms.values():
            if room.people and room.agent is not None and room.agent.state == "stopped":
                room.agent.start()

    def _attend(self) -> None:
        """Count an owner in a voice room as present: their terminal may show nothing else."""
        is_there = any(person.is_owner for room in self._rooms.values() for person in room.people)
        if is_there and self._attending is None:
            self._attending = asyncio.create_task(_attend(self._presence))
        elif not is_there and self._attending is not None:
            self._attending.cancel()
            self._attending = None


def check_token_request(request: TokenRequest) -> TokenRequest:
    """Return the request if it can be granted; raises ``Refused``: 422 for invalid names, 403 for a guest's
    ``room_config``.
    """
    request = replace(request, room=" ".join(request.room.split()), name=" ".join(request.name.split()))
    for name, what in ((request.room, "room_name"), (request.name, "participant_name")):
        if name != inert_line(name, MAX_ROOM_CHARACTERS):
            raise Refused(f"{what} must be one line of at most {MAX_ROOM_CHARACTERS} characters", status=422)
    if not request.room:
        raise Refused("room_name is missing", status=422)
    if request.is_guest and request.room_config:
        raise Refused(
            "A guest cannot set up a room", "Leave out room_config.", status=403, code="voice.guest"
        )
    return request


def identity_of(request: TokenRequest, owner_prefix: str = OWNER_PREFIX) -> str:
    """Return the identity with which a person joins: the requested one if its beginning fits, else a new one.
    The beginning says whether they are an owner, whatever they ask for.
    """
    prefix = GUEST_PREFIX if request.is_guest else owner_prefix
    wanted = request.identity[: 2 * MAX_NAME_CHARACTERS]
    if wanted.startswith(prefix) and wanted == inert_line(wanted, 2 * MAX_NAME_CHARACTERS):
        return wanted
    wish = (request.identity or request.name)[:MAX_NAME_CHARACTERS]
    readable = "".join(c if c.isalnum() else "-" for c in wish)
    return f"{prefix}{readable}{'-' if readable else ''}{secrets.token_hex(SUFFIX_BYTES)}"


def _refuse_server(title: str, detail: str, code: str = "voice.no_server") -> NoReturn:
    """Raise a refusal: there can be no server."""
    raise Refused(title, detail, status=409, code=code)


def _about_room(key: RoomKey, room: VoiceRoom) -> dict[str, Any]:
    people = [
        {"identity": person.identity, "name": person.name, "owner": person.is_owner} for person in room.people
    ]
    agent = room.agent
    return {
        "name": key[1],
        "server_url": key[0] or None,
        "conversation_id": room.conversation_id,
        "people": people,
        "agent": None
        if agent is None
        else {
            "identity": agent.identity,
            "state": agent.state,
            "detail": agent.why,
            "notices": agent.notices,
        },
    }


def _load_livekit() -> Any:
    from agent_tui.backend.voice import livekit_api  # see TYPE_CHECKING above

    return livekit_api


async def _attend(presence: OpenPrograms) -> None:
    async with aclosing(presence.attend()) as notices:
        async for _ in notices:
            pass
