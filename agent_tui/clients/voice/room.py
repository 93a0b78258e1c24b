"""A voice session in a LiveKit room (``livekit.rtc``; protocols.md §5).

What the room's callbacks tell goes through one queue, as calls to make; ``events`` makes them one after the
other and yields what they return. So everything here happens in the order it came, in one task. Who an agent
is, says its kind; what it says of itself counts, of others only their own words do.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from livekit import rtc

from agent_tui.audio.sound import Sound
from agent_tui.clients.voice.ending import to_the_end
from agent_tui.clients.voice.microphone import Microphone
from agent_tui.clients.voice.native_log import keep_native_log
from agent_tui.clients.voice.network import has_interface
from agent_tui.clients.voice.people import is_agent, joined_order, listened_to, persons
from agent_tui.clients.voice.playback import Playback
from agent_tui.clients.voice.room_link import JOIN_SECONDS, Act, JoinFailed, RoomLink, read_message
from agent_tui.clients.voice.tokens import Ticket, TokenSource
from agent_tui.errors import (
    AgentTuiError,
    ConfigError,
    ConnectFailed,
    NotOffered,
    ProtocolError,
    Refused,
    TimedOut,
    TransportError,
)
from agent_tui.events import Unknown
from agent_tui.model.voice import (
    AgentJoined,
    AgentLeft,
    AgentStateChanged,
    AgentWord,
    LinkMeasured,
    LinkMoved,
    MicChanged,
    PeopleChanged,
    Person,
    Quality,
    SessionFailed,
    Transport,
    VoiceEvent,
    WordsHeard,
    WordsLost,
    WordsSpoken,
    WordsTyped,
)
from agent_tui.wire import voice as wire
from agent_tui.wire import voice_reasons as why

PING_SECONDS = 5.0  # so long an agent may take to answer before it counts as one without a session
PING_EVERY_SECONDS = 0.5
ANSWER_SECONDS = 10.0
MEASURE_EVERY_SECONDS = 2.0
ABSENT_SECONDS = 20.0  # as LiveKit's own clients wait
CALL_AGAIN_SECONDS = 5.0  # a dispatch that met no worker is lost: it is repeated once
BACK_SECONDS = 6.0  # an agent has so long to come back after a reconnect: livekit.rtc tries every 3 s
PUBLISH_TRIES = 3  # each takes up to 10 s
REJOIN_DELAYS = (1.0, 2.0, 4.0, 8.0)
MAX_FILE_BYTES = 25 * 1024 * 1024
MAX_SEGMENTS = 500
MAX_TALKERS = 8  # tracks that are played at once

_ENDS = ("left", "duplicate_identity", "removed", "room_deleted", "room_closed")  # the others are failures
_QUALITIES: dict[int, Quality] = {0: "poor", 1: "good", 2: "excellent", 3: "lost"}
_NOTHING: tuple[VoiceEvent, ...] = ()

log = logging.getLogger(__name__)


class RoomClient:
    """One session in a voice room: a ``VoiceClient``.

    ``tokens`` and ``sound`` stay the caller's: it opens and closes them. ``log_path`` is the file for the log
    of ``livekit.rtc``. ``absent_seconds`` is how long an agent is waited for before its absence is explained,
    ``rejoin_delays`` are the pauses before each try to join again.
    """

    def __init__(
        self,
        tokens: TokenSource,
        sound: Sound,
        *,
        log_path: Path | None = None,
        join_seconds: float = JOIN_SECONDS,
        absent_seconds: float = ABSENT_SECONDS,
        rejoin_delays: Sequence[float] = REJOIN_DELAYS,
    ) -> None:
        self._tokens = tokens
        self._sound = sound
        self._log_path = log_path
        self._join_seconds = join_seconds
        self._absent_seconds = absent_seconds
        self._rejoin_delays = rejoin_delays
        self._queue: asyncio.Queue[Act] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_muted = False
        self._begin()

    def _begin(self) -> None:
        """Forget what an earlier session of this client knew."""
        self._queue = asyncio.Queue()
        self._tasks = set()
        self._link: RoomLink | None = None
        self._ticket: Ticket | None = None
        self._mic = Microphone(self._sound)
        self._mic.is_muted = self._is_muted
        self._playback = Playback(self._sound)
        self._playing: dict[str, asyncio.Task[None]] = {}
        self._decoder = wire.SessionDecoder()
        self._agent: AgentJoined | None = None
        self._agent_word: AgentWord | None = None
        self._probing: asyncio.Task[None] | None = None
        self._waiting_for_agent: asyncio.Task[None] | None = None
        self._session_readers: asyncio.Queue[rtc.ByteStreamReader] = asyncio.Queue()
        self._segments: dict[str, None] = {}  # of the agent, that were told
        self._speaking: frozenset[str] = frozenset()
        self._last_heard = ""  # whose words the agent understood last
        self._people: tuple[Person, ...] = ()
        self._quality: Quality = "unknown"
        self._is_talking = False
        self._is_reconnecting = False
        self._retried = asyncio.Event()
        self._rejoins = 0

    @property
    def transport(self) -> Transport:
        """Return what carries the session."""
        return "room"

    # --- the session -----------------------------------------------------------------------------------

    async def events(self) -> AsyncGenerator[VoiceEvent, None]:
        """Join, yield what happens, and leave when closed. Ends after ``LinkMoved`` ended or failed; can be
        called again then.
        """
        keep_native_log(self._log_path)
        self._begin()
        self._spawn(self._mic.run())
        self._spawn(self._read_session())
        self._spawn(self._join())
        try:
            yield LinkMoved("connecting")
            yield MicChanged(self._is_muted)
            while True:
                act = await self._queue.get()
                for event in act():
                    yield event
                    if isinstance(event, LinkMoved) and event.status in ("ended", "failed"):
                        return
        finally:
            await to_the_end(self._end())

    async def _end(self) -> None:
        """Stop everything, the microphone first, and leave the room."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        link, self._link = self._link, None
        if link is not None:
            await link.leave()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a part of the voice session failed", exc_info=error)
            self._tell(SessionFailed("A part of this terminal's voice session failed; its log says where."))

    def _put(self, act: Act) -> None:
        self._queue.put_nowait(act)

    def _tell(self, *events: VoiceEvent) -> None:
        self._put(lambda: events)

    # --- joining ---------------------------------------------------------------------------------------

    async def _join(self) -> None:
        """Join once, and say how that went."""
        link: RoomLink | None = None
        try:
            if not has_interface():
                raise JoinFailed(why.NO_INTERFACE)
            ticket = await self._tokens.ticket()
            link = self._link = self._new_link()
            await link.join(ticket, self._join_seconds)
        except JoinFailed as error:
            self._put(partial(self._not_joined, link, error.reason))
            return
        except AgentTuiError as error:
            self._put(partial(self._not_joined, None, _no_ticket(error)))
            return
        self._put(partial(self._joined, link, ticket))
        await self._publish(link)

    async def _publish(self, link: RoomLink) -> None:
        """Publish the microphone; a server that dies meanwhile is asked again when it is back."""
        failed = ""
        for _ in range(PUBLISH_TRIES):
            try:
                await link.publish()
            except NotOffered as error:
                self._is_muted = self._mic.is_muted = True
                self._tell(MicChanged(is_muted=True), SessionFailed(str(error)))
                return
            except TransportError as error:
                failed = str(error)
                if link is not self._link:
                    return
            else:
                self._put(partial(self._published, link))
                return
        self._tell(SessionFailed(failed))

    def _new_link(self) -> RoomLink:
        link = RoomLink(
            self._put,
            {
                "disconnected": self._disconnected,
                "reconnecting": self._reconnecting,
                "reconnected": self._reconnected,
                "participant_connected": self._came,
                "participant_active": self._came,
                "participant_disconnected": self._went,
                "participant_attributes_changed": self._attributes,
                "participant_name_changed": self._someone,
                "track_muted": self._muted,
                "track_unmuted": self._muted,
                "track_subscribed": self._track_came,
                "track_unsubscribed": self._track_went,
                "local_track_subscribed": self._agent_hears,
                "active_speakers_changed": self._speakers,
                "connection_quality_changed": self._measured,
            },
        )
        link.read_text(wire.TRANSCRIPTION_TOPIC, self._put, self._words_came)
        link.read_text(wire.CHAT_TOPIC, self._put, self._line_came)
        link.read_bytes(wire.SESSION_TOPIC, self._put, self._session_came)
        return link

    def _not_joined(self, link: RoomLink | None, reason: why.Reason) -> Iterable[VoiceEvent]:
        if link is self._link:
            self._link = None
        if link is not None:
            self._spawn(link.leave())
        if self._rejoins and reason.is_retryable:
            yield from self._join_again(reason)
        else:
            yield LinkMoved("failed", reason.detail, reason.word, self._rejoins)

    def _joined(self, link: RoomLink, ticket: Ticket) -> Iterable[VoiceEvent]:
        if link is not self._link:
            return
        self._ticket = ticket
        self._rejoins = 0
        yield LinkMoved("connected")
        for participant in joined_order(link.room.remote_participants.values()):
            yield from self._came(link, participant)
        yield from self._people_now()
        self._spawn(self._measure(link))
        if self._agent is None:
            self._wait_for_agent(why.AGENT_ABSENT)

    def _published(self, link: RoomLink) -> Iterable[VoiceEvent]:
        if link is not self._link or link.track is None:
            return _NOTHING
        if self._is_muted:
            link.track.mute()
        self._mic.send_to(link.source)
        if self._agent is not None and self._agent_word is not None:
            self._send_early(link, self._agent.identity)
        return self._people_now()

    def _disconnected(self, link: RoomLink, number: int) -> Iterable[VoiceEvent]:
        if link is not self._link:
            return
        self._drop(link)
        reason = why.of_disconnect(number)
        if reason.is_retryable:
            yield from self._join_again(reason)
        else:
            is_end = reason.word in _ENDS
            yield LinkMoved("ended" if is_end else "failed", reason.detail, reason.word)

    def _drop(self, link: RoomLink) -> None:
        """Forget a room that is over, as far as it will not be the same when it is joined again."""
        self._mic.send_to(None)
        self._link = None
        self._spawn(link.leave())
        for playing in self._playing.values():
            playing.cancel()
        self._playing.clear()
        self._stop(self._waiting_for_agent, self._probing)
        self._agent = self._agent_word = None
        self._is_reconnecting = False

    def _stop(self, *tasks: asyncio.Task[None] | None) -> None:
        for task in tasks:
            if task is not None:
                task.cancel()

    def _join_again(self, reason: why.Reason) -> Iterable[VoiceEvent]:
        if self._rejoins >= len(self._rejoin_delays):
            yield LinkMoved("failed", reason.detail, reason.word, self._rejoins)
            return
        delay = self._rejoin_delays[self._rejoins]
        self._rejoins += 1
        yield LinkMoved("reconnecting", reason.detail, reason.word, self._rejoins)
        self._spawn(self._join_later(delay))

    async def _join_later(self, delay: float) -> None:
        await self._pause(delay)
        await self._join()

    async def _pause(self, seconds: float) -> bool:
        """Wait; return at once, with true, when the person wants to try now."""
        self._retried.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._retried.wait()
        except TimeoutError:
            return False
        return True

    def _reconnecting(self, link: RoomLink) -> Iterable[VoiceEvent]:
        if link is self._link:
            self._is_reconnecting = True
            yield LinkMoved(
                "reconnecting", "The connection to the LiveKit server is interrupted.", "interrupted"
            )

    def _reconnected(self, link: RoomLink) -> Iterable[VoiceEvent]:
        if link is not self._link:
            return
        self._is_reconnecting = False
        yield LinkMoved("connected")
        if self._agent is None:
            return
        if self._agent.identity in link.room.remote_participants:
            self._find_session(link, self._agent.identity)
        else:
            self._spawn(self._wait_until_back(link, self._agent.identity))
        yield from self._people_now()

    async def _wait_until_back(self, link: RoomLink, identity: str) -> None:
        """Tell of an agent that does not come back behind its server."""
        await asyncio.sleep(BACK_SECONDS)
        if identity not in link.room.remote_participants:
            self._put(partial(self._agent_went, link, identity))

    async def _measure(self, link: RoomLink) -> None:
        """Tell every two seconds how good the connection is."""
        while link is self._link:
            await asyncio.sleep(MEASURE_EVERY_SECONDS)
            round_trip = await link.round_trip()
            if round_trip is not None:
                self._tell(LinkMeasured(self._quality, round_trip))

    # --- people ----------------------------------------------------------------------------------------

    def _people_now(self) -> Iterable[VoiceEvent]:
        """Yield everybody in the room when that changed."""
        link = self._link
        if link is None or not link.room.isconnected():
            return
        agent = self._agent.identity if self._agent else ""
        speaking = self._speaking | ({agent} if self._agent_word == "speaking" else set())
        heard = listened_to(link.room, agent, self._last_heard)
        people = persons(link.room, agent, heard, speaking, i_am_muted=self._is_muted)
        if people != self._people:
            self._people = people
            yield PeopleChanged(people)

    def _someone(self, link: RoomLink, *_: object) -> Iterable[VoiceEvent]:
        return self._people_now() if link is self._link else _NOTHING

    def _came(self, link: RoomLink, participant: rtc.RemoteParticipant) -> Iterable[VoiceEvent]:
        if link is not self._link:
            return
        if self._is_agent(participant) and (
            self._agent is None or self._agent.identity == participant.identity
        ):
            yield from self._agent_came(link, participant)
        yield from self._people_now()

    def _went(self, link: RoomLink, participant: rtc.RemoteParticipant) -> Iterable[VoiceEvent]:
        if link is not self._link or self._is_reconnecting:  # then it is no news
            return
        if self._agent is not None and self._agent.identity == participant.identity:
            yield from self._agent_went(link, participant.identity)
        yield from self._people_now()

    def _muted(self, link: RoomLink, participant: rtc.Participant, _: object) -> Iterable[VoiceEvent]:
        if link is not self._link:
            return
        if link.track is not None and participant.identity == link.room.local_participant.identity:
            is_muted = link.track.muted
            if is_muted != self._is_muted:  # by the server
                self._is_muted = self._mic.is_muted = is_muted
                yield MicChanged(is_muted, self._is_talking)
        yield from self._people_now()

    def _speakers(self, link: RoomLink, speakers: list[rtc.Participant]) -> Iterable[VoiceEvent]:
        if link is not self._link:
            return _NOTHING
        agent = self._agent.identity if self._agent else ""
        self._speaking = frozenset(one.identity for one in speakers if one.identity != agent)
        return self._people_now()

    def _measured(self, link: RoomLink, who: rtc.Participant | None, quality: int) -> Iterable[VoiceEvent]:
        if link is self._link and who is not None and who.identity == link.room.local_participant.identity:
            self._quality = _QUALITIES.get(int(quality), "unknown")
            yield LinkMeasured(self._quality)

    # --- the agent -------------------------------------------------------------------------------------

    def _is_agent(self, participant: rtc.RemoteParticipant) -> bool:
        expected = self._ticket.agent_identity if self._ticket else ""
        return is_agent(participant, expected)

    def _agent_came(self, link: RoomLink, participant: rtc.RemoteParticipant) -> Iterable[VoiceEvent]:
        known = self._agent
        has_session = known is not None and known.has_session
        self._agent = _introduced(participant, has_session=has_session)
        link.agent = participant.identity
        if known is None:
            self._decoder = wire.SessionDecoder()
            self._wait_for_agent(why.AGENT_SILENT)
        if self._agent != known:
            yield self._agent
        yield from self._agent_word_now(link, participant)
        self._find_session(link, participant.identity)

    def _agent_word_now(self, link: RoomLink, participant: rtc.RemoteParticipant) -> Iterable[VoiceEvent]:
        """Yield the agent's state as its attribute has it: the only source until its session is found."""
        word = wire.agent_word(participant.attributes.get(wire.AGENT_STATE, ""))
        if word is None or (self._agent is not None and self._agent.has_session):
            return
        self._send_early(link, participant.identity)  # whoever has a state also listens
        if word != self._agent_word:
            yield from self._agent_does(word)

    def _agent_does(self, word: AgentWord) -> Iterable[VoiceEvent]:
        before, self._agent_word = self._agent_word, word
        if word != "initializing":
            self._stop(self._waiting_for_agent)
        if word not in ("speaking", "thinking") and self._agent is not None:
            self._playback.silence(self._agent.identity, on=False)
        yield AgentStateChanged(word)
        if "speaking" in (before, word):
            yield from self._people_now()

    def _agent_went(self, link: RoomLink, identity: str) -> Iterable[VoiceEvent]:
        if link is not self._link or self._agent is None or self._agent.identity != identity:
            return
        self._agent = self._agent_word = None
        self._stop(self._probing)
        yield AgentLeft(identity)
        self._wait_for_agent(why.AGENT_LEFT)
        for other in joined_order(link.room.remote_participants.values()):
            if self._agent is None and self._is_agent(other):
                yield from self._agent_came(link, other)

    def _attributes(
        self, link: RoomLink, changed: dict[str, str], participant: rtc.Participant
    ) -> Iterable[VoiceEvent]:
        if link is not self._link:
            return
        if isinstance(participant, rtc.RemoteParticipant) and self._is_agent(participant):
            if self._agent is None:
                yield from self._agent_came(link, participant)
            elif self._agent.identity == participant.identity:
                now = _introduced(participant, has_session=self._agent.has_session)
                if now != self._agent:
                    self._agent = now
                    yield now
                if wire.AGENT_STATE in changed:
                    yield from self._agent_word_now(link, participant)
                    if not now.has_session:
                        self._find_session(link, participant.identity)
        yield from self._people_now()

    def _wait_for_agent(self, reason: why.Reason) -> None:
        self._stop(self._waiting_for_agent)
        self._waiting_for_agent = self._spawn(self._explain_absence(reason))

    async def _explain_absence(self, reason: why.Reason) -> None:
        """Say after a while that the agent did not come or does not begin; try again when told to."""
        while True:
            early = min(CALL_AGAIN_SECONDS, self._absent_seconds)
            if not await self._pause(early):
                if reason is why.AGENT_ABSENT:
                    await self._call_agent()
                if not await self._pause(self._absent_seconds - early):
                    self._tell(LinkMoved("connected", reason.detail, reason.word))
                    self._retried.clear()
                    await self._retried.wait()
            self._tell(LinkMoved("connected", "Waiting for the agent."))
            await self._call_agent()

    async def _call_agent(self) -> None:
        try:
            await self._tokens.call_agent()
        except AgentTuiError as error:
            self._tell(SessionFailed(str(error)))

    # --- the agent's session ---------------------------------------------------------------------------

    def _find_session(self, link: RoomLink, identity: str) -> None:
        """Ask the agent for its history and state, which only agents with a session answer."""
        if self._probing is None or self._probing.done():
            self._probing = self._spawn(self._probe(link, identity))

    async def _probe(self, link: RoomLink, identity: str) -> None:
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._answered(link)
        except TimeoutError:
            return
        self._put(partial(self._session_found, link, identity))
        try:
            await link.requests.ask("get_chat_history", ANSWER_SECONDS)
            await link.requests.ask("get_session_state", ANSWER_SECONDS)
        except (TransportError, Refused) as error:
            log.warning("the agent's history is not known: %s", error.title)

    async def _answered(self, link: RoomLink) -> None:
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

    def _session_found(self, link: RoomLink, identity: str) -> Iterable[VoiceEvent]:
        if link is not self._link or self._agent is None or self._agent.identity != identity:
            return
        self._send_early(link, identity)
        if not self._agent.has_session:
            participant = link.room.remote_participants.get(identity)
            if participant is not None:
                self._agent = _introduced(participant, has_session=True)
                yield self._agent

    def _session_came(
        self, link: RoomLink, reader: rtc.ByteStreamReader, identity: str
    ) -> Iterable[VoiceEvent]:
        if link is self._link and self._agent is not None and self._agent.identity == identity:
            self._session_readers.put_nowait(reader)
        else:
            reader.close()
        return _NOTHING

    async def _read_session(self) -> None:
        """Read the messages of the agent's session one after the other: their order counts."""
        while True:
            reader = await self._session_readers.get()
            data = await read_message(reader)
            self._put(partial(self._session_said, data))

    def _session_said(self, data: bytes | None) -> Iterable[VoiceEvent]:
        link, agent = self._link, self._agent
        if link is None or agent is None:
            return
        try:
            message = wire.decode(data or b"")
        except ProtocolError as error:
            yield Unknown("session message", "", error.title)
            return
        if message.HasField("response"):
            link.requests.answered(message.response)
        if not agent.has_session:
            yield from self._session_found(link, agent.identity)
        yield from self._shown(self._decoder.message(message))

    def _shown(self, events: Iterable[VoiceEvent]) -> Iterator[VoiceEvent]:
        for event in events:
            match event:
                case WordsHeard():  # text streams tell the same, and of whom
                    continue
                case AgentStateChanged(word):
                    if word != self._agent_word:
                        yield from self._agent_does(word)
                case _:
                    yield event

    # --- words -----------------------------------------------------------------------------------------

    def _words_came(
        self, link: RoomLink, reader: rtc.TextStreamReader, identity: str
    ) -> Iterable[VoiceEvent]:
        if link is not self._link:
            reader.close()
            return _NOTHING
        attributes = reader.info.attributes or {}
        segment = attributes.get("lk.segment_id") or reader.info.stream_id
        track = attributes.get("lk.transcribed_track_id", "")
        is_mine = link.track is not None and track == link.track.sid
        agent = self._agent.identity if self._agent else ""
        if identity == agent and not is_mine:
            self._spawn(self._read_spoken(reader, segment, is_voiced=bool(track)))
        else:
            me = link.room.local_participant.identity
            self._spawn(self._read_heard(reader, segment, me if is_mine else identity))
        return _NOTHING

    async def _read_spoken(self, reader: rtc.TextStreamReader, segment: str, *, is_voiced: bool) -> None:
        """Read what the agent says, piece by piece; a segment that comes again comes whole."""
        is_whole = segment in self._segments
        self._segments[segment] = None
        if len(self._segments) > MAX_SEGMENTS:
            del self._segments[next(iter(self._segments))]
        whole = ""
        try:
            async for piece in reader:
                piece = piece[: wire.MAX_TEXT_CHARACTERS - len(whole)]
                whole += piece
                if piece and not is_whole:
                    self._tell(WordsSpoken(segment, piece, is_voiced=is_voiced))
        except rtc.StreamError:
            self._tell(WordsLost(segment))
            return
        is_final = (reader.info.attributes or {}).get("lk.transcription_final") == "true"
        rest = whole if is_whole else ""
        self._tell(WordsSpoken(segment, rest, is_final=is_final, is_whole=is_whole, is_voiced=is_voiced))

    async def _read_heard(self, reader: rtc.TextStreamReader, segment: str, identity: str) -> None:
        """Read what a person is heard to say: each stream has the whole segment so far."""
        text = ""
        try:
            async for piece in reader:
                text += piece[: wire.MAX_TEXT_CHARACTERS - len(text)]
        except rtc.StreamError:
            self._tell(WordsLost(segment))
            return
        is_final = (reader.info.attributes or {}).get("lk.transcription_final") == "true"
        self._put(partial(self._words_heard, WordsHeard(segment, text, is_final, identity)))

    def _words_heard(self, heard: WordsHeard) -> Iterable[VoiceEvent]:
        self._last_heard = heard.identity
        yield heard
        yield from self._people_now()

    def _line_came(self, link: RoomLink, reader: rtc.TextStreamReader, identity: str) -> Iterable[VoiceEvent]:
        """Read what somebody else in the room typed."""
        self._spawn(self._read_line(reader, identity))
        return _NOTHING

    async def _read_line(self, reader: rtc.TextStreamReader, identity: str) -> None:
        text = ""
        try:
            async for piece in reader:
                text += piece[: wire.MAX_TEXT_CHARACTERS - len(text)]
        except rtc.StreamError:
            return
        self._tell(WordsHeard(reader.info.stream_id, text, is_final=True, identity=identity))

    # --- sound -----------------------------------------------------------------------------------------

    def _track_came(
        self, link: RoomLink, track: rtc.Track, _: object, participant: rtc.RemoteParticipant
    ) -> Iterable[VoiceEvent]:
        is_sound = track.kind == rtc.TrackKind.KIND_AUDIO
        if link is self._link and is_sound and len(self._playing) < MAX_TALKERS:
            self._playing[track.sid] = self._spawn(self._playback.play(track, participant.identity))
        return self._people_now()

    def _track_went(
        self, link: RoomLink, _: object, publication: rtc.RemoteTrackPublication, __: object
    ) -> Iterable[VoiceEvent]:
        self._stop(self._playing.pop(publication.sid, None))
        return self._people_now()

    def _agent_hears(self, link: RoomLink, _: object) -> Iterable[VoiceEvent]:
        self._mic.stop_recording()
        link.is_known.set()
        return _NOTHING

    def _send_early(self, link: RoomLink, identity: str) -> None:
        """Send an agent what was said while it could not hear; it waits for that until it comes."""
        if link.track is not None and identity not in link.early_sent:
            link.early_sent.add(identity)
            self._spawn(self._sent_early(link, identity))

    async def _sent_early(self, link: RoomLink, identity: str) -> None:
        try:
            await link.send_early(self._mic.take_early(), identity)
        except TransportError as error:
            log.info("what was said while joining was not sent: %s", error.title)

    # --- what a person does ----------------------------------------------------------------------------

    def _here(self) -> RoomLink:
        link = self._link
        if link is None or not link.room.isconnected() or self._is_reconnecting:
            raise ConnectFailed("the voice room is not connected", "Wait until it is, or retry.")
        return link

    def _with_agent(self) -> tuple[RoomLink, AgentJoined]:
        link = self._here()
        if self._agent is None:
            raise Refused("no agent is in the room", "Wait until one joins, or retry.")
        return link, self._agent

    async def say(self, text: str) -> None:
        """Send a typed line; it interrupts the agent if it speaks."""
        link, agent = self._with_agent()
        key = f"typed-{secrets.token_hex(8)}"
        self._tell(WordsTyped(key, text))
        self._playback.silence(agent.identity, on=False)
        try:
            await link.until_known()
            await link.send_text(wire.encodable(text))
        except TransportError:
            self._tell(WordsLost(key))
            raise

    async def interrupt(self) -> None:
        """Make the agent be silent: by its own method, by a push-to-talk turn that is taken back, else only
        here: what it goes on to say in this turn is not played.
        """
        link, agent = self._with_agent()
        self._playback.silence(agent.identity, on=self._agent_word in ("speaking", "thinking"))
        try:
            await link.call(wire.INTERRUPT, agent.identity)
        except NotOffered:
            if agent.has_push_to_talk and not self._is_talking:
                await link.call(wire.START_TURN, agent.identity)
                await link.call(wire.CANCEL_TURN, agent.identity)

    async def mute(self, muted: bool) -> None:
        """Stop or go on sending the microphone; holds for rooms joined later, too."""
        self._set_muted(muted)

    def _set_muted(self, muted: bool) -> None:
        self._is_muted = self._mic.is_muted = muted
        link = self._link
        if link is not None and link.track is not None and link.room.isconnected():
            (link.track.mute if muted else link.track.unmute)()
        self._put(self._mic_now)

    def _mic_now(self) -> Iterable[VoiceEvent]:
        yield MicChanged(self._is_muted, self._is_talking)
        yield from self._people_now()

    async def start_talking(self) -> None:
        """Begin a push-to-talk turn; where the agent offers none, unmute."""
        link, agent = self._with_agent()
        if agent.has_push_to_talk:
            await link.call(wire.START_TURN, agent.identity)
        self._is_talking = True
        self._set_muted(False)

    async def stop_talking(self, *, cancel: bool = False) -> None:
        """End the push-to-talk turn, or take it back; where the agent offers none, mute."""
        if not self._is_talking:
            return
        self._is_talking = False
        link, agent = self._link, self._agent
        if link is None or agent is None or not agent.has_push_to_talk:
            self._set_muted(True)
            return
        self._put(self._mic_now)
        await link.call(wire.CANCEL_TURN if cancel else wire.END_TURN, agent.identity)

    async def send_file(self, path: Path) -> None:
        """Send a file to the agent; raises ``NotOffered`` where it takes none."""
        link, agent = self._with_agent()
        if not agent.takes_files:
            raise NotOffered("this agent takes no files", "Type what it is to know.")
        try:
            size = (await asyncio.to_thread(path.stat)).st_size
        except OSError as error:
            raise ConfigError(f"{path.name} cannot be read", error.strerror or str(error)) from error
        if size > MAX_FILE_BYTES:
            raise ConfigError(f"{path.name} is too large", f"At most {MAX_FILE_BYTES:,} bytes can be sent.")
        await link.send_file(path, agent.identity)

    async def ask_to_listen(self) -> None:
        """Ask the agent to listen to this terminal; raises ``NotOffered`` where it cannot be asked."""
        link, agent = self._with_agent()
        await link.call(wire.TALK_TO_ME, agent.identity)

    async def retry(self) -> None:
        """Try now what is waited for: the next join, or an agent that did not come."""
        self._retried.set()


def _introduced(participant: rtc.RemoteParticipant, *, has_session: bool) -> AgentJoined:
    attributes = participant.attributes
    name = attributes.get(wire.AGENT_NAME) or participant.name
    return AgentJoined(
        participant.identity,
        name[: wire.MAX_NAME_CHARACTERS],
        has_session=has_session,
        has_push_to_talk=attributes.get(wire.PUSH_TO_TALK) == "1",
        takes_files=attributes.get(wire.TAKES_FILES) == "1",
    )


def _no_ticket(error: AgentTuiError) -> why.Reason:
    """Return why no ticket was given; a refusal of our backend has a word of its own."""
    word = error.code if isinstance(error, Refused) and error.code else why.NO_TOKEN.word
    retryable = isinstance(error, TransportError) and error.retryable
    return why.Reason(word, f"{error.title}.", error.detail, retryable)
