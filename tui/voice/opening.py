"""Opens voice sessions: in a named LiveKit room, in one of our backend, or without a server.

``livekit``, PortAudio and the like are loaded when a session is opened, and in a thread: half a second that
no other command needs (architecture.md §5.7).
"""

from __future__ import annotations

import asyncio
import getpass
import importlib
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from agent_tui.clients.proxy import is_loopback
from agent_tui.config.file import config_path, data_path, load
from agent_tui.config.voice import LiveKit, VoiceConfig, named_livekit
from agent_tui.model.errors import AgentTuiError, Refused
from agent_tui.paths import current_folder
from agent_tui.voice_instructions import own_locale, spoken_prompt
from agent_tui.voice_parts import find_agent_python
from tui.request import Server, Source, reach
from tui.screens.localised import localised
from tui.screens.words import say
from tui.setting import change_table
from tui.voice.keeping import FLUSH_SECONDS, Keeper
from tui.voice.request import VoiceRequest
from tui.voice.session import NotSetUp, VoiceSession

if TYPE_CHECKING:
    from agent_tui.audio.clocked import ClockedSound
    from agent_tui.audio.devices import Direction
    from agent_tui.audio.sound import Sound
    from agent_tui.clients.chat import ChatClient
    from agent_tui.clients.http import Net
    from agent_tui.clients.voice.tokens import TokenSource

LIVEKIT_LOG: Final = "livekit.log"
NO_SERVER: Final = ("voice.no_server", "voice.no_network", "voice.server_failed")
NO_AGENT: Final = "voice.no_agent"
_HEAVY: Final = (
    "agent_tui.clients.http",
    "agent_tui.clients.chat",
    "agent_tui.clients.voice.room",
    "agent_tui.clients.voice.console",
    "agent_tui.audio.device_sound",
    "agent_tui.audio.wav",
)


class VoiceOpening:
    """A ``VoiceSource``: reads ``[voice]`` and asks the backend behind ``source``, each time again."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._net: Net | None = None
        self._conversations: dict[str, str] = {}  # the newest one's id in each room of our backend

    async def open(self, request: VoiceRequest, tell: Callable[[str], None]) -> VoiceSession:
        voice = load().voice
        await asyncio.to_thread(_load)
        if request.wav is not None:  # before anything is started that would be left
            from agent_tui.audio.wav import read_wav

            request = replace(request, speech=await asyncio.to_thread(read_wav, request.wav))
        if request.record is not None:
            from agent_tui.audio.recording import Recording

            Recording(request.record).close()  # says whether it can be written
        if request.script is not None:
            return self._scripted(request, voice, request.script)
        livekit = named_livekit(voice, url=request.url, token=request.token)
        if livekit is not None and not request.local_agent:
            return await self._open_on_server(request, voice, livekit)
        ours = livekit if livekit is not None and livekit.key else None
        tell(say("voice.starting" if ours is None else "voice.starting.agent"))
        return await self._ours(request, voice, tell, ours)

    async def aclose(self) -> None:
        net, self._net = self._net, None
        if net is not None:
            await net.aclose()

    async def devices(self) -> tuple[list[str], list[str]]:
        await asyncio.to_thread(_load)
        from agent_tui.audio.devices import list_devices

        listed = await list_devices()
        return [device.key for device in listed.of("input")], [device.key for device in listed.of("output")]

    def remember(self, direction: Direction, name: str) -> None:
        change_table(config_path(), "voice", {direction: name or None})

    # --- sessions --------------------------------------------------------------------------------------

    async def _open_on_server(
        self, request: VoiceRequest, voice: VoiceConfig, livekit: LiveKit
    ) -> VoiceSession:
        """Return a session on a named LiveKit server."""
        from agent_tui.clients.voice.tokens import Guest, claimed_room, new_identity, tokens_of

        name, room = _my_name(), claimed_room(livekit.token)
        guest = Guest(request.room, new_identity(name), name, request.agent or voice.agent.name)
        tokens = tokens_of(livekit, guest)
        host = _host(livekit.url or livekit.token_url)
        session = _in_a_room(request, voice, tokens, say("voice.place.server", host=host))
        return replace(session, room=room, keeper=Keeper(self._chats, room or request.room, host))

    async def _ours(
        self,
        request: VoiceRequest,
        voice: VoiceConfig,
        tell: Callable[[str], None],
        livekit: LiveKit | None,
    ) -> VoiceSession:
        """Return a session with our agent: in a room of our backend, or without a server if it cannot have
        one; with ``livekit`` in a room of that server.
        """
        from agent_tui.clients.voice.tokens import BackendTokens

        net = await self._backend()
        if livekit is not None and not is_loopback(urlsplit(net.base_url).hostname or ""):
            raise Refused(say("voice.far_backend"), say("voice.far_backend.why"))
        before = self._conversations.get(request.room, "")  # the backend that had the room may have crashed
        locale = own_locale()  # the backend may have been started from a terminal in another language
        tokens = BackendTokens(
            net,
            request.room,
            _my_name(),
            livekit=livekit,
            conversation_id=before,
            locale=locale,
            workspace=self._folder(),
        )
        try:
            ticket = await tokens.first()
        except Refused as error:
            if error.code == NO_AGENT:
                raise NotSetUp(error.title, error.detail) from error
            if livekit is not None or error.code not in NO_SERVER:
                raise
            tell(say("voice.starting.local", why=localised(error.title)))
            return await self._local(request, voice)
        self._conversations[request.room] = ticket.conversation_id
        place = say("voice.place.server", host=_host(livekit.url)) if livekit else say("voice.place.here")
        session = _in_a_room(request, voice, tokens, place)
        return replace(session, conversation_id=ticket.conversation_id, is_owner=ticket.is_owner)

    async def _local(self, request: VoiceRequest, voice: VoiceConfig) -> VoiceSession:
        """Return a session with our agent without a server."""
        from agent_tui.clients.voice.script import PythonAgent

        python = _agent_python()
        server = await asyncio.to_thread(reach, self._source)
        conversation = await (await self._chats()).create(
            kind="voice",
            title=request.room,
            system_prompt=spoken_prompt(voice.locale),
            workspace=self._folder(),
        )
        orders = {
            "url": "",
            "token": "",
            "room": request.room,
            "identity": f"agent-{request.room}",
            "backend_url": server.url,
            "backend_token": server.token,
            "conversation_id": conversation.id,
            "owners": ["me"],
            "locale": voice.locale or own_locale(),
            "agent": asdict(voice.agent),
        }
        arguments = ("-P", "-m", "agent_tui.voice_agent", "console")
        program = PythonAgent(python, arguments, name=say("voice.line.agent"), fed=json.dumps(orders))
        session = _with_program(request, voice, program, say("voice.place.local"))
        delete_empty = partial(self._delete_empty, conversation.id)
        return replace(session, conversation_id=conversation.id, delete_empty=delete_empty)

    async def _delete_empty(self, conversation_id: str) -> None:
        """Delete a conversation in which nobody said anything, unless the backend does not answer soon."""
        with suppress(AgentTuiError, TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                chats = await self._chats()
                if not await chats.messages_raw(conversation_id):
                    await chats.delete(conversation_id)

    def _scripted(self, request: VoiceRequest, voice: VoiceConfig, script: Path) -> VoiceSession:
        """Return a session with a person's own agent."""
        from agent_tui.clients.voice.script import agent_script

        program = agent_script(_agent_python(), script)
        session = _with_program(request, voice, program, say("voice.place.local"))
        return replace(session, keeper=Keeper(self._chats, request.name, secrets.token_hex(8)))

    def _folder(self) -> str | None:
        """Return the folder of the tools in a new session: the current one, if the backend is our own."""
        return None if isinstance(self._source, Server) else current_folder()

    async def _chats(self) -> ChatClient:
        from agent_tui.clients.chat import ChatClient

        return ChatClient(self._net or await self._backend())

    async def _backend(self) -> Net:
        from agent_tui.clients.http import Net

        server: Server = await asyncio.to_thread(reach, self._source)
        await self.aclose()
        self._net = Net(server.url, token=server.token, timeout=server.timeout)
        return self._net


def _load() -> None:
    """Load what sessions need; raises ``NotSetUp`` if a library is missing."""
    try:
        for name in _HEAVY:
            importlib.import_module(name)
    except ImportError as error:
        raise NotSetUp(
            say("voice.no_library", name=error.name or "livekit"), say("voice.card.setup")
        ) from error


def _agent_python() -> Path:
    """Return the Python that runs agents on this machine, without a server; raises ``NotSetUp``."""
    python = find_agent_python()
    if python is None:
        raise NotSetUp(say("voice.no_agent_python"), say("voice.card.setup"))
    return python


def _in_a_room(request: VoiceRequest, voice: VoiceConfig, tokens: TokenSource, place: str) -> VoiceSession:
    from agent_tui.audio.rings import ROOM_LIMITS
    from agent_tui.clients.voice.room import RoomClient

    sound, speech = _sound(request, voice, ROOM_LIMITS)
    log = data_path() / LIVEKIT_LOG
    return VoiceSession(RoomClient(tokens, sound, log_path=log), sound, place, speech=speech)


def _with_program(request: VoiceRequest, voice: VoiceConfig, program: Any, place: str) -> VoiceSession:
    from agent_tui.audio.rings import CONSOLE_LIMITS
    from agent_tui.clients.voice.console import ConsoleClient

    sound, speech = _sound(request, voice, CONSOLE_LIMITS)
    return VoiceSession(ConsoleClient(program, sound), sound, place, speech=speech)


def _sound(request: VoiceRequest, voice: VoiceConfig, limits: Any) -> tuple[Sound, ClockedSound | None]:
    """Return the session's sound, and the file that is played into it, if there is one."""
    from agent_tui.audio.clocked import silent_sound
    from agent_tui.audio.device_sound import DeviceSound
    from agent_tui.audio.echo import SoundProcessing
    from agent_tui.audio.recording import Recording
    from agent_tui.audio.wav import wav_sound

    if request.wav is not None:
        spoken = wav_sound(
            request.wav, speech=request.speech, record=request.record, limits=limits, is_held=True
        )
        return spoken, spoken
    if request.text_only:
        if request.record is not None:
            return wav_sound(None, record=request.record, limits=limits), None
        return silent_sound(say("voice.text_only"), limits), None
    recording = Recording(request.record, with_microphone=True) if request.record is not None else None
    return DeviceSound(
        input_name=request.input_name or voice.input,
        output_name=request.output_name or voice.output,
        limits=limits,
        processing=SoundProcessing(echo=request.uses_aec),
        recording=recording,
    ), None


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2]


def _my_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a process without a user
        return "terminal"
