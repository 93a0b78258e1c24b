"""The agent in a LiveKit room: its listener, push to talk, files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final

from livekit import rtc
from livekit.agents import llm
from livekit.agents.types import ATTRIBUTE_AGENT_STATE
from livekit.agents.voice import room_io
from livekit.agents.voice.remote_session import SessionHost

from agent_tui.model.events import Attachment
from agent_tui.voice_agent.assignment import Assignment
from agent_tui.voice_agent.conversation_llm import MAY_ACT
from agent_tui.voice_agent.parts import Parts
from agent_tui.voice_agent.people import Owners
from agent_tui.voice_agent.sentences import FILE_NO_TEXT, FILE_TAKEN, FILE_TOO_LARGE
from agent_tui.voice_agent.session import Session
from agent_tui.voice_agent.transport import RoomTransport
from agent_tui.voice_instructions import Language
from agent_tui.wire import voice as wire

AGENT_NAME: Final = "agent-tui"
MAX_FILE_BYTES: Final = 1 << 20
BACK_SECONDS: Final = 6.0  # how long a person may take after us to come back: livekit.rtc tries every 3 s
_STATE_SECONDS: Final = 0.3  # after which a state that arrived late is corrected

log = logging.getLogger(__name__)


class RoomSession:
    """One session in ``room``, which is already connected."""

    def __init__(self, assignment: Assignment, parts: Parts, room: rtc.Room) -> None:
        self._owners = Owners(assignment.owners)
        self._room = room
        self._session = Session(assignment, parts, self._is_owners)
        self._host = SessionHost(RoomTransport(room, self._is_linked))
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen, speak, and announce the features."""
        session = self._session.livekit
        self._host.register_session(session)
        await session.start(
            self._session.agent,
            room=self._room,
            room_options=room_io.RoomOptions(
                close_on_disconnect=False,
                audio_output=self._session.parts.voice is not None,
                text_input=room_io.TextInputOptions(text_input_cb=self._on_typed),
            ),
            session_host=False,  # the framework's takes orders from everyone
            record=False,
        )
        await self._host.start()
        self._room.on("participant_connected", self._on_joined)
        self._room.on("participant_disconnected", self._on_left)
        self._room.on("participant_attributes_changed", self._on_attributes)
        self._room.on("reconnected", self._on_reconnected)
        self._offer(wire.TALK_TO_ME, self._talk_to_me)
        self._offer(wire.START_TURN, self._start_turn)
        self._offer(wire.END_TURN, self._end_turn)
        self._offer(wire.CANCEL_TURN, self._cancel_turn)
        if self._session.is_manual:
            session.input.set_audio_enabled(False)
        offers = {wire.AGENT_NAME: AGENT_NAME}
        if self._session.takes_files:
            self._room.register_byte_stream_handler(wire.FILE_TOPIC, self._on_file)
            offers[wire.TAKES_FILES] = "1"
        if self._session.parts.ear:
            offers[wire.PUSH_TO_TALK] = "1"
        await self._room.local_participant.set_attributes(offers)
        self._say_whom()

    async def aclose(self) -> None:
        """End the session; the caller leaves the room."""
        await self._host.aclose()
        await self._session.aclose()

    # --- who is listened to ----------------------------------------------------------------------------

    def _linked(self) -> rtc.RemoteParticipant | None:
        return self._session.livekit.room_io.linked_participant

    def _is_linked(self, identity: str) -> bool:
        linked = self._linked()
        return linked is not None and linked.identity == identity

    def _is_owners(self) -> bool:
        linked = self._linked()
        return linked is not None and self._owners.has(linked.identity, linked.attributes)

    def _listen_to(self, identity: str | None) -> None:
        """Listen to another person. What began with the one before is nobody's command anymore, and a key of
        theirs keeps no turn open.
        """
        if identity is not None and self._is_linked(identity):
            return
        self._session.interrupt()
        self._session.cancel_turn()
        self._session.livekit.room_io.set_participant(identity)
        self._say_whom()

    def _say_whom(self) -> None:
        """Tell everyone in the room to whom it listens."""
        linked = self._linked()
        whom = {wire.LISTENS_TO: linked.identity if linked is not None else ""}
        self._spawn(self._room.local_participant.set_attributes(whom))

    def _on_joined(self, person: rtc.RemoteParticipant) -> None:
        linked = self._linked()
        # The framework links a person who comes into an empty room, but does not hear them.
        if _is_person(person) and (linked is None or linked.identity == person.identity):
            self._session.livekit.room_io.set_participant(person.identity)
            self._say_whom()

    def _on_left(self, person: rtc.RemoteParticipant) -> None:
        if self._room.connection_state == rtc.ConnectionState.CONN_RECONNECTING:
            return  # everyone seems to leave when the server dies, and comes back with it
        linked = self._linked()
        if linked is None or linked.identity == person.identity:
            self._listen_to_another()

    def _on_reconnected(self) -> None:
        self._spawn(self._wait_for_linked())

    async def _wait_for_linked(self) -> None:
        """Listen to another person if the one before does not come back after a crash of the server. Leave if
        our track was not published before the crash: nothing would be heard of us until we are started again.
        """
        await asyncio.sleep(BACK_SECONDS)
        heard = self._session.livekit.room_io.subscribed_fut
        if self._linked() is None:
            self._listen_to_another()
        elif heard is not None and not heard.done():
            await self._room.disconnect()

    def _listen_to_another(self) -> None:
        rest = [person for person in self._room.remote_participants.values() if _is_person(person)]
        owners = [person for person in rest if self._owners.has(person.identity, person.attributes)]
        following = next(iter(owners or rest), None)
        self._listen_to(following.identity if following else None)

    def _on_attributes(self, changed: dict[str, str], participant: rtc.Participant) -> None:
        if participant.identity == self._room.local_participant.identity and ATTRIBUTE_AGENT_STATE in changed:
            self._spawn(self._put_state_right())

    async def _put_state_right(self) -> None:
        """Send the state again if the room shows an older one: of two that are sent at nearly the same moment
        the earlier one can arrive last, and would stay.
        """
        await asyncio.sleep(_STATE_SECONDS)
        state, me = self._session.livekit.agent_state, self._room.local_participant
        if me.attributes.get(ATTRIBUTE_AGENT_STATE) != state:
            await me.set_attributes({ATTRIBUTE_AGENT_STATE: state})

    # --- what people may ask for -----------------------------------------------------------------------

    def _offer(self, name: str, act: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        async def called(data: rtc.RpcInvocationData) -> str:
            await act(data.caller_identity)
            return "ok"

        self._room.local_participant.register_rpc_method(name, called)

    async def _talk_to_me(self, identity: str) -> None:
        self._listen_to(identity)

    async def _start_turn(self, identity: str) -> None:
        self._listen_to(identity)
        self._session.start_turn()

    async def _end_turn(self, identity: str) -> None:
        if self._is_linked(identity):
            self._spawn(self._session.end_turn())

    async def _cancel_turn(self, identity: str) -> None:
        if self._is_linked(identity):
            self._session.cancel_turn()

    async def _on_typed(self, session: Any, event: room_io.TextInputEvent) -> None:
        """Answer typed words; they interrupt, unless they answer a call that asks."""
        person = event.participant
        may_act = person is not None and self._owners.has(person.identity, person.attributes)
        if self._session.answers_ask(event.text, by_owner=may_act):
            return
        self._session.interrupt()
        message = llm.ChatMessage(role="user", content=[event.text], extra={MAY_ACT: may_act})
        session.generate_reply(user_input=message)

    def _on_file(self, reader: rtc.ByteStreamReader, identity: str) -> None:
        if self._is_linked(identity):
            self._spawn(self._take_file(reader))

    async def _take_file(self, reader: rtc.ByteStreamReader) -> None:
        data = bytearray()
        with suppress(rtc.StreamError):
            async for chunk in reader:
                data += chunk
                if len(data) > MAX_FILE_BYTES:
                    return self._say_of_file(FILE_TOO_LARGE)
            try:
                text = data.decode()
            except UnicodeDecodeError:
                return self._say_of_file(FILE_NO_TEXT)
            self._session.attach(Attachment(reader.info.name, text, reader.info.mime_type))
            self._say_of_file(FILE_TAKEN)
        return None

    def _say_of_file(self, words: Mapping[Language, str]) -> None:
        self._session.livekit.say(words[self._session.talk.language])

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.warning("a request from the room failed", exc_info=error)


def _is_person(participant: rtc.RemoteParticipant) -> bool:
    return participant.kind != rtc.ParticipantKind.PARTICIPANT_KIND_AGENT
