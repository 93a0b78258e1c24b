"""The agent of a voice room as a client knows it: its presence, its state, and the messages of its session.

The participant's kind says who is an agent. Its state is an attribute until its session is found, which sends
far more: byte streams with one message each (``lk.agent.session``). An agent without a session is followed by
the attribute.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from livekit import rtc

from agent_tui.clients.voice.microphone import Microphone
from agent_tui.clients.voice.people import is_agent, joined_order
from agent_tui.clients.voice.playback import Playback
from agent_tui.clients.voice.room_link import RtcLink, read_message
from agent_tui.clients.voice.running import SessionTasks, stop
from agent_tui.clients.voice.tokens import TokenSource
from agent_tui.model.errors import AgentTuiError, ProtocolError, Refused, TimedOut, TransportError
from agent_tui.model.events import Unknown
from agent_tui.model.voice import (
    AgentJoined,
    AgentLeft,
    AgentStateChanged,
    AgentWord,
    LinkMoved,
    SessionFailed,
    VoiceEvent,
    WordsHeard,
    WordsSpoken,
)
from agent_tui.wire import voice as wire
from agent_tui.wire import voice_reasons as why

PING_SECONDS = 5.0  # how long an agent may take to answer before it counts as one without a session
PING_EVERY_SECONDS = 0.5
ANSWER_SECONDS = 10.0
ABSENT_SECONDS = 20.0  # as LiveKit's own clients wait
CALL_AGAIN_SECONDS = 5.0  # a dispatch that met no worker is lost: it is repeated once

log = logging.getLogger(__name__)


class RoomAgent:
    """One agent after the other. ``people`` is called when it begins or stops speaking.

    ``info`` is what is known about the current agent, ``word`` is its state.
    """

    def __init__(
        self,
        running: SessionTasks,
        tokens: TokenSource,
        mic: Microphone,
        playback: Playback,
        people: Callable[[], Iterable[VoiceEvent]],
        absent_seconds: float,
    ) -> None:
        self._running = running
        self._tokens = tokens
        self._mic = mic
        self._playback = playback
        self._people = people
        self._absent_seconds = absent_seconds
        self._decoder = wire.SessionDecoder()
        self._readers: asyncio.Queue[tuple[RtcLink, rtc.ByteStreamReader]] = asyncio.Queue()
        self._probing: asyncio.Task[None] | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._link: RtcLink | None = None  # the room that the agent joined
        self.expected = ""  # the identity of our own agent, if known
        self.info: AgentJoined | None = None
        self.word: AgentWord | None = None

    @property
    def identity(self) -> str:
        """Return its identity, empty if there is no agent."""
        return self.info.identity if self.info is not None else ""

    # --- coming and going ------------------------------------------------------------------------------

    def came(self, link: RtcLink, participant: rtc.RemoteParticipant) -> Iterable[VoiceEvent]:
        """Take a participant who joined as the agent, if it is one and there is no other."""
        if not is_agent(participant, self.expected) or self.identity not in ("", participant.identity):
            return
        previous = self.info
        self.info = _agent_joined(participant, has_session=previous is not None and previous.has_session)
        self._link, link.agent = link, participant.identity
        if previous is None:
            self._decoder = wire.SessionDecoder()
            self.wait_for(why.AGENT_SILENT)
        if self.info != previous:
            yield self.info
        yield from self._attribute(link, participant)
        self.find_session(link)

    def changed(
        self, link: RtcLink, changed: dict[str, str], participant: rtc.RemoteParticipant
    ) -> Iterable[VoiceEvent]:
        """Take changed attributes of a participant."""
        if self.info is None:
            yield from self.came(link, participant)
        elif self.identity == participant.identity:
            info = _agent_joined(participant, has_session=self.info.has_session)
            if info != self.info:
                self.info = info
                yield info
            if wire.AGENT_STATE in changed and not info.has_session:
                yield from self._attribute(link, participant)
                self.find_session(link)

    def went(self, link: RtcLink, identity: str) -> Iterable[VoiceEvent]:
        """Note that a participant has left; another agent in the room takes its place."""
        if not identity or identity != self.identity:
            return
        self.forget()
        yield AgentLeft(identity)
        self.wait_for(why.AGENT_LEFT)
        for other in joined_order(link.room.remote_participants.values()):
            yield from self.came(link, other)

    def forget(self) -> None:
        """Forget the agent."""
        stop(self._probing, self._waiting)
        self.info = self.word = None

    def _attribute(self, link: RtcLink, participant: rtc.RemoteParticipant) -> Iterable[VoiceEvent]:
        word = wire.agent_word(participant.attributes.get(wire.AGENT_STATE, ""))
        if word is None or (self.info is not None and self.info.has_session):
            return
        if word != self.word:
            yield from self._does(word)
        self.send_early(link)

    def _does(self, word: AgentWord) -> Iterable[VoiceEvent]:
        before, self.word = self.word, word
        if word != "initializing":
            stop(self._waiting)
        if word not in ("speaking", "thinking"):
            self._playback.silence(self.identity, on=False)
        yield AgentStateChanged(word)
        if "speaking" in (before, word):
            yield from self._people()

    def send_early(self, link: RtcLink) -> None:
        """Send the agent what was said while it could not hear, after it has begun: it waits for that."""
        has_begun = self.info is not None and (self.word is not None or self.info.has_session)
        if link.track is not None and has_begun and self.identity not in link.early_sent:
            link.early_sent.add(self.identity)
            self._running.spawn(self._send_early(link, self.identity))

    async def _send_early(self, link: RtcLink, identity: str) -> None:
        try:
            await link.send_early(self._mic.take_early(), identity)
        except TransportError as error:
            log.info("what was said while joining was not sent: %s", error.title)

    # --- being absent ----------------------------------------------------------------------------------

    def wait_for(self, reason: why.Reason) -> None:
        """Explain after a while, for this ``reason``, that there is no agent or that it does not begin."""
        stop(self._waiting)
        self._waiting = self._running.spawn(self._explain(reason))

    async def _explain(self, reason: why.Reason) -> None:
        while True:
            if not await self._is_retried(reason):
                self._running.tell(LinkMoved("connected", reason.detail, reason.word))
                await self._running.wait_until_retried()
            self._running.tell(LinkMoved("connected", "Waiting for the agent."))
            if self.info is None:
                await self._call()
            elif self._link is not None:  # it is there: another one would not help
                self.find_session(self._link)

    async def _is_retried(self, reason: why.Reason) -> bool:
        """Wait as long as an agent may take, and longer for one that our backend still starts; return whether
        the person wants to try now.
        """
        early = min(CALL_AGAIN_SECONDS, self._absent_seconds)
        if await self._running.pause(early):
            return True
        is_starting = reason is why.AGENT_ABSENT and await self._call()
        if await self._running.pause(self._absent_seconds - early):
            return True
        while is_starting:
            if await self._running.pause(early):
                return True
            is_starting = await self._call()
        return False

    async def _call(self) -> bool:
        """Call the agent; return whether it is being started."""
        try:
            return await self._tokens.call_agent()
        except AgentTuiError as error:
            self._running.tell(SessionFailed(str(error)))
            return False

    # --- its session -----------------------------------------------------------------------------------

    def find_session(self, link: RtcLink) -> None:
        """Ask the agent for its history and state, which only agents with a session answer. Earlier requests
        are given up: their answers may be lost.
        """
        stop(self._probing)
        self._probing = self._running.spawn(self._probe(link))

    async def _probe(self, link: RtcLink) -> None:
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._ping_until_answered(link)
        except TimeoutError:
            return
        try:
            await link.requests.ask("get_chat_history", ANSWER_SECONDS)
            await link.requests.ask("get_session_state", ANSWER_SECONDS)
        except (TransportError, Refused) as error:
            log.warning("the agent's history is not known: %s", error.title)

    async def _ping_until_answered(self, link: RtcLink) -> None:
        """Ping the agent until it answers: it may have joined and not begun its session yet."""
        while True:
            try:
                await link.requests.ask("ping", PING_EVERY_SECONDS)
            except TimedOut:
                continue
            except (TransportError, Refused):
                await asyncio.sleep(PING_EVERY_SECONDS)
            else:
                return

    def stream_came(self, link: RtcLink, reader: rtc.ByteStreamReader, identity: str) -> Iterable[VoiceEvent]:
        """Queue a message of the session for reading; messages of others are ignored."""
        if identity and identity == self.identity:
            self._readers.put_nowait((link, reader))
        else:
            reader.close()
        return ()

    async def read(self) -> None:
        """Read the messages of the session one after the other: their order matters."""
        while True:
            link, reader = await self._readers.get()
            data = await read_message(reader)
            self._running.put(partial(self._take_message, link, data))

    def _take_message(self, link: RtcLink, data: bytes | None) -> Iterable[VoiceEvent]:
        if link.is_left or self.info is None:
            return
        try:
            message = wire.decode(data or b"")
        except ProtocolError as error:
            yield Unknown("session message", "", error.title)
            return
        if message.HasField("response"):
            link.requests.answered(message.response)
        if not self.info.has_session:
            yield from self._session_found(link)
        for event in self._decoder.message(message):
            yield from self._pass_on(event)

    def _session_found(self, link: RtcLink) -> Iterable[VoiceEvent]:
        participant = link.room.remote_participants.get(self.identity)
        if participant is not None:
            self.info = _agent_joined(participant, has_session=True)
            yield self.info
        self.send_early(link)

    def _pass_on(self, event: VoiceEvent) -> Iterator[VoiceEvent]:
        match event:
            case WordsHeard() | WordsSpoken():  # text streams say the same, and from whom
                return
            case AgentStateChanged(word):
                if word != self.word:
                    yield from self._does(word)
            case _:
                yield event


def _agent_joined(participant: rtc.RemoteParticipant, *, has_session: bool) -> AgentJoined:
    attributes = participant.attributes
    name = attributes.get(wire.AGENT_NAME) or participant.name
    return AgentJoined(
        participant.identity,
        name[: wire.MAX_NAME_CHARACTERS],
        has_session=has_session,
        has_push_to_talk=attributes.get(wire.PUSH_TO_TALK) == "1",
        takes_files=attributes.get(wire.TAKES_FILES) == "1",
        takes_requests=wire.LISTENS_TO in attributes or attributes.get(wire.TAKES_FILES) == "1",
    )
