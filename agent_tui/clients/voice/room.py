"""A voice session in a LiveKit room (``livekit.rtc``; protocols.md §5)."""

from __future__ import annotations

import asyncio
import logging
import secrets
import stat
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path

from livekit import rtc

from agent_tui.audio.sound import Sound
from agent_tui.clients.voice.link_quality import LinkQuality
from agent_tui.clients.voice.microphone import Microphone
from agent_tui.clients.voice.native_log import keep_native_log
from agent_tui.clients.voice.people import joined_order, listened_to, persons
from agent_tui.clients.voice.playback import Playback
from agent_tui.clients.voice.room_agent import ABSENT_SECONDS, RoomAgent
from agent_tui.clients.voice.room_link import JOIN_SECONDS, JoinFailed, RtcLink
from agent_tui.clients.voice.running import SessionTasks, finish, stop
from agent_tui.clients.voice.tokens import Ticket, TokenSource
from agent_tui.clients.voice.words import WordStreams
from agent_tui.model.errors import (
    AgentTuiError,
    ConfigError,
    ConnectFailed,
    NotOffered,
    Refused,
    TimedOut,
    TransportError,
)
from agent_tui.model.voice import (
    AgentJoined,
    LinkMoved,
    MicChanged,
    PeopleChanged,
    Person,
    SessionFailed,
    Transport,
    VoiceEvent,
    WordsLost,
    WordsTyped,
)
from agent_tui.network import has_interface
from agent_tui.wire import voice as wire
from agent_tui.wire import voice_reasons as why

BACK_SECONDS = 6.0  # how long an agent may take to come back after a reconnect: livekit.rtc tries every 3 s
PUBLISH_TRIES = 3  # each takes up to 10 s
REJOIN_DELAYS = (1.0, 2.0, 4.0, 8.0)
TURN_SECONDS = 600.0  # for an answer to a line that goes to the agent's session
MAX_FILE_BYTES = 25 * 1024 * 1024
MAX_TALKERS = 8  # tracks that are played at once

log = logging.getLogger(__name__)

_ENDS = ("left", "duplicate_identity", "removed", "room_deleted", "room_closed")  # the others are failures


class RoomClient:
    """One session in a voice room: a ``VoiceClient``.

    The caller owns ``tokens`` and ``sound``: it opens and closes them. ``log_path`` is the file for the log
    of ``livekit.rtc``. ``absent_seconds`` is how long to wait for an agent before its absence is explained,
    ``back_seconds`` how long it may take to come back after a reconnect, ``rejoin_delays`` are the pauses
    before each try to join again.
    """

    def __init__(
        self,
        tokens: TokenSource,
        sound: Sound,
        *,
        log_path: Path | None = None,
        join_seconds: float = JOIN_SECONDS,
        absent_seconds: float = ABSENT_SECONDS,
        back_seconds: float = BACK_SECONDS,
        rejoin_delays: Sequence[float] = REJOIN_DELAYS,
    ) -> None:
        self._tokens = tokens
        self._sound = sound
        self._log_path = log_path
        self._join_seconds = join_seconds
        self._absent_seconds = absent_seconds
        self._back_seconds = back_seconds
        self._rejoin_delays = rejoin_delays
        self._is_muted = False
        self._begin()

    def _begin(self) -> None:
        """Forget what an earlier session of this client knew."""
        self._running = SessionTasks()
        self._link: RtcLink | None = None
        self._mic = Microphone(self._sound)
        self._mic.is_muted = self._is_muted
        self._playback = Playback(self._sound)
        self._playing: dict[str, asyncio.Task[None]] = {}
        self._agent = RoomAgent(
            self._running, self._tokens, self._mic, self._playback, self._people_now, self._absent_seconds
        )
        self._words = WordStreams(self._running, self._people_now)
        self._speaking: frozenset[str] = frozenset()
        self._people: tuple[Person, ...] = ()
        self._heard_left: tuple[str, str] = "", ""  # an agent that cannot be asked, and to whom it listened
        self._quality = LinkQuality(self._running)
        self._is_talking = False
        self._has_turn = False  # granted by the agent
        self._was_muted = False  # before the person began to talk
        self._is_reconnecting = False
        self._rejoins = 0

    @property
    def transport(self) -> Transport:
        """Return the name of the transport."""
        return "room"

    # --- the session -----------------------------------------------------------------------------------

    async def events(self) -> AsyncGenerator[VoiceEvent, None]:
        """Join, yield what happens, and leave when closed. Ends after ``LinkMoved`` ended or failed; can be
        called again then.
        """
        keep_native_log(self._log_path)
        self._begin()
        running = self._running
        running.spawn(self._mic.run())
        running.spawn(self._agent.read())
        running.spawn(self._join())
        try:
            yield LinkMoved("connecting")
            yield MicChanged(self._is_muted)
            async with aclosing(running.events()) as events:
                async for event in events:
                    yield event
        finally:
            await finish(self._end(running))

    async def _end(self, running: SessionTasks) -> None:
        """Stop everything, the microphone first, and leave the room."""
        await running.end()
        link, self._link = self._link, None
        if link is not None:
            await link.leave()

    # --- joining ---------------------------------------------------------------------------------------

    async def _join(self) -> None:
        link: RtcLink | None = None
        try:
            if not has_interface():
                raise JoinFailed(why.NO_INTERFACE)
            ticket = await self._tokens.ticket()
            link = self._link = self._new_link()
            await link.join(ticket, self._join_seconds)
        except JoinFailed as error:
            self._running.put(partial(self._not_joined, link, error.reason))
            return
        except AgentTuiError as error:
            self._running.put(partial(self._not_joined, None, _no_ticket(error)))
            return
        self._running.put(partial(self._on_joined, link, ticket))
        await self._publish(link)

    async def _publish(self, link: RtcLink) -> None:
        """Publish the microphone; if the server dies meanwhile, try again when it is back."""
        failed = ""
        for _ in range(PUBLISH_TRIES):
            try:
                await link.publish()
            except NotOffered as error:
                self._is_muted = self._mic.is_muted = True
                self._running.tell(MicChanged(is_muted=True), SessionFailed(str(error)))
                return
            except TransportError as error:
                failed = str(error)
                if link.is_left:
                    return
            else:
                self._running.put(partial(self._on_published, link))
                return
        self._running.tell(SessionFailed(failed))

    def _new_link(self) -> RtcLink:
        put = self._running.put
        link = RtcLink(
            put,
            {
                "disconnected": self._disconnected,
                "reconnecting": self._reconnecting,
                "reconnected": self._reconnected,
                "participant_connected": self._came,
                "participant_disconnected": self._went,
                "participant_attributes_changed": self._attributes,
                "participant_name_changed": lambda *_: self._people_now(),
                "track_muted": self._muted,
                "track_unmuted": self._muted,
                "track_subscribed": self._track_came,
                "track_unsubscribed": self._track_went,
                "local_track_subscribed": self._mic_heard,
                "active_speakers_changed": self._speakers,
                "connection_quality_changed": self._quality.changed,
            },
        )
        link.read_text(wire.TRANSCRIPTION_TOPIC, put, self._words.came)
        link.read_text(wire.CHAT_TOPIC, put, self._words.typed)
        link.read_bytes(wire.SESSION_TOPIC, put, self._agent.stream_came)
        return link

    def _not_joined(self, link: RtcLink | None, reason: why.Reason) -> Iterable[VoiceEvent]:
        if link is not None:
            self._drop(link)
        if self._rejoins and reason.is_retryable:
            yield from self._join_again(reason)
        else:
            yield LinkMoved("failed", reason.detail, reason.word, self._rejoins)

    def _on_joined(self, link: RtcLink, ticket: Ticket) -> Iterable[VoiceEvent]:
        if link.is_left:
            return
        self._agent.expected = ticket.agent_identity
        self._rejoins = 0
        yield LinkMoved("connected")
        for participant in joined_order(link.room.remote_participants.values()):
            yield from self._agent.came(link, participant)
        yield from self._people_now()
        self._running.spawn(self._quality.measure(link))
        if self._agent.info is None:
            self._agent.wait_for(why.AGENT_ABSENT)

    def _on_published(self, link: RtcLink) -> Iterable[VoiceEvent]:
        if link.is_left or link.track is None:
            return ()
        if self._is_muted:
            link.track.mute()
        self._mic.send_to(link.source)
        self._agent.send_early(link)
        return self._people_now()

    def _disconnected(self, link: RtcLink, number: int) -> Iterable[VoiceEvent]:
        self._drop(link)
        reason = why.of_disconnect(number)
        if reason.is_retryable:
            yield from self._join_again(reason)
        else:
            is_end = reason.word in _ENDS
            yield LinkMoved("ended" if is_end else "failed", reason.detail, reason.word)

    def _drop(self, link: RtcLink) -> None:
        """Forget a room that is over, except what will be the same when it is joined again."""
        self._mic.send_to(None)
        self._link = None
        link.is_left = True
        self._running.spawn(link.leave())
        stop(*self._playing.values())
        self._playing.clear()
        self._agent.forget()
        self._is_reconnecting = False

    def _join_again(self, reason: why.Reason) -> Iterable[VoiceEvent]:
        if self._rejoins >= len(self._rejoin_delays):
            yield LinkMoved("failed", reason.detail, reason.word, self._rejoins)
            return
        delay = self._rejoin_delays[self._rejoins]
        self._rejoins += 1
        yield LinkMoved("reconnecting", reason.detail, reason.word, self._rejoins)
        self._running.spawn(self._join_later(delay))

    async def _join_later(self, delay: float) -> None:
        await self._running.pause(delay)
        await self._join()

    def _reconnecting(self, link: RtcLink) -> Iterable[VoiceEvent]:
        self._is_reconnecting = True
        yield LinkMoved("reconnecting", "The connection to the LiveKit server is interrupted.", "interrupted")

    def _reconnected(self, link: RtcLink) -> Iterable[VoiceEvent]:
        self._is_reconnecting = False
        yield LinkMoved("connected")
        if self._agent.identity in link.room.remote_participants:
            self._agent.find_session(link)
        elif self._agent.info is not None:
            self._running.spawn(self._wait_until_back(link, self._agent.identity))
        yield from self._people_now()

    async def _wait_until_back(self, link: RtcLink, identity: str) -> None:
        await asyncio.sleep(self._back_seconds)
        if not link.is_left and identity not in link.room.remote_participants:
            self._running.put(partial(self._agent.went, link, identity))

    # --- people ----------------------------------------------------------------------------------------

    def _people_now(self) -> Iterable[VoiceEvent]:
        link = self._link
        if link is None or not link.room.isconnected():
            return
        agent = self._agent.identity
        speaking = self._speaking | ({agent} if self._agent.word == "speaking" else set())
        self._look_who_left(link)
        left = self._heard_left[1] if self._heard_left[0] == agent else ""
        heard = listened_to(link.room, agent, self._words.last_heard, left)
        people = persons(link.room, agent, heard, speaking, i_am_muted=self._is_muted)
        if people != self._people:
            self._people = people
            yield PeopleChanged(people)

    def _look_who_left(self, link: RtcLink) -> None:
        """Note to whom an agent listened that cannot be asked to listen to another participant."""
        agent, heard = self._agent.info, next((person for person in self._people if person.is_heard), None)
        if agent is None or agent.takes_requests or heard is None or heard.is_me or self._is_reconnecting:
            return
        if heard.identity not in link.room.remote_participants:
            self._heard_left = agent.identity, heard.identity

    def _came(self, link: RtcLink, participant: rtc.RemoteParticipant) -> Iterable[VoiceEvent]:
        yield from self._agent.came(link, participant)
        yield from self._people_now()

    def _went(self, link: RtcLink, participant: rtc.RemoteParticipant) -> Iterable[VoiceEvent]:
        if not self._is_reconnecting:  # while reconnecting it is not reported
            yield from self._agent.went(link, participant.identity)
            yield from self._people_now()

    def _attributes(
        self, link: RtcLink, changed: dict[str, str], participant: rtc.Participant
    ) -> Iterable[VoiceEvent]:
        if isinstance(participant, rtc.RemoteParticipant):
            yield from self._agent.changed(link, changed, participant)
        yield from self._people_now()

    def _muted(self, link: RtcLink, participant: rtc.Participant, _: object) -> Iterable[VoiceEvent]:
        if link.track is not None and participant.identity == link.room.local_participant.identity:
            is_muted = link.track.muted
            if is_muted != self._is_muted:  # by the server
                self._is_muted = self._mic.is_muted = is_muted
                yield MicChanged(is_muted, self._is_talking)
        yield from self._people_now()

    def _speakers(self, link: RtcLink, speakers: list[rtc.Participant]) -> Iterable[VoiceEvent]:
        agent = self._agent.identity  # an agent says itself to whom it listens
        self._speaking = frozenset(speaker.identity for speaker in speakers if speaker.identity != agent)
        return self._people_now()

    # --- sound -----------------------------------------------------------------------------------------

    def _track_came(
        self, link: RtcLink, track: rtc.Track, _: object, participant: rtc.RemoteParticipant
    ) -> Iterable[VoiceEvent]:
        if track.kind == rtc.TrackKind.KIND_AUDIO and len(self._playing) < MAX_TALKERS:
            self._playing[track.sid] = self._running.spawn(self._playback.play(track, participant.identity))
        return self._people_now()

    def _track_went(
        self, link: RtcLink, _: object, publication: rtc.RemoteTrackPublication, __: object
    ) -> Iterable[VoiceEvent]:
        stop(self._playing.pop(publication.sid, None))
        return self._people_now()

    def _mic_heard(self, link: RtcLink, _: object) -> Iterable[VoiceEvent]:
        self._mic.stop_recording()
        link.is_known.set()
        return ()

    # --- what a person does ----------------------------------------------------------------------------

    def _with_agent(self) -> tuple[RtcLink, AgentJoined]:
        link = self._link
        if link is None or not link.room.isconnected() or self._is_reconnecting:
            raise ConnectFailed("the voice room is not connected", "Wait until it is connected, or retry.")
        if self._agent.info is None:
            raise Refused("no agent is in the room", "Wait until one joins, or retry.")
        return link, self._agent.info

    async def say(self, text: str) -> None:
        """Send a typed line; it interrupts the agent if it is speaking.

        livekit-agents drops what is typed by anyone except the participant it listens to. So the agent is
        asked to listen to this terminal, or if it takes no such request, the line goes to its session. Raises
        ``NotOffered`` if neither is possible.
        """
        link, agent = self._with_agent()
        heard = next((person for person in self._people if person.is_heard), None)
        is_heard = heard.is_me if heard is not None else not self._heard_left[1]
        if not is_heard and not agent.takes_requests and not agent.has_session:
            raise NotOffered("the agent does not listen to you", "It does not receive what you type.")
        key = f"typed-{secrets.token_hex(8)}"
        self._running.tell(WordsTyped(key, text))
        self._playback.silence(agent.identity, on=False)
        try:
            await link.wait_until_known()
            if not is_heard and not agent.takes_requests:
                self._running.spawn(self._run_input(link, key, text))
                return
            if not is_heard:
                await self.ask_to_listen()
            await link.send_text(wire.encodable(text))
        except (TransportError, NotOffered):
            self._running.tell(WordsLost(key))
            raise

    async def _run_input(self, link: RtcLink, key: str, text: str) -> None:
        """Have the agent's session answer a line; returns after that turn."""
        try:
            await link.requests.run_input(wire.encodable(text), TURN_SECONDS)
        except TimedOut:
            log.warning("the agent did not end its turn in time")
        except (TransportError, Refused) as error:
            self._running.tell(WordsLost(key), SessionFailed(str(error)))

    async def interrupt(self) -> None:
        """Interrupt the agent: by its own method, by a push-to-talk turn that is cancelled, else only here:
        what it continues to say in this turn is not played.
        """
        link, agent = self._with_agent()
        self._playback.silence(agent.identity, on=self._agent.word in ("speaking", "thinking"))
        try:
            await link.call(wire.INTERRUPT, agent.identity)
        except NotOffered:
            # A turn would also make an agent listen to us that listens to another participant.
            is_heard = any(person.is_me and person.is_heard for person in self._people)
            if agent.has_push_to_talk and not self._is_talking and is_heard:
                await link.call(wire.START_TURN, agent.identity)
                await link.call(wire.CANCEL_TURN, agent.identity)

    async def mute(self, muted: bool) -> None:
        """Stop or resume sending the microphone; applies to rooms joined later, too."""
        self._is_muted = self._mic.is_muted = muted
        link = self._link
        if link is not None and link.track is not None and link.room.isconnected():
            (link.track.mute if muted else link.track.unmute)()
        self._running.put(self._mic_now)

    def _mic_now(self) -> Iterable[VoiceEvent]:
        yield MicChanged(self._is_muted, self._is_talking)
        yield from self._people_now()

    async def start_talking(self) -> None:
        """Begin a push-to-talk turn; if the agent has none, unmute."""
        link, agent = self._with_agent()
        self._has_turn = False
        if agent.has_push_to_talk:
            with suppress(NotOffered):
                await link.call(wire.START_TURN, agent.identity)
                self._has_turn = True
                self._listens_to_me(link)
        self._is_talking, self._was_muted = True, self._is_muted
        await self.mute(False)

    async def stop_talking(self, *, cancel: bool = False) -> None:
        """End the push-to-talk turn, or cancel it; if the agent has none, mute."""
        if not self._is_talking:
            return
        self._is_talking = False
        link, agent = self._link, self._agent.info
        try:
            if link is not None and agent is not None and self._has_turn:
                await link.call(wire.CANCEL_TURN if cancel else wire.END_TURN, agent.identity)
        finally:
            await self.mute(self._was_muted or not self._has_turn)

    async def send_file(self, path: Path) -> None:
        """Send a file to the agent; raises ``NotOffered`` if it takes none."""
        link, agent = self._with_agent()
        if not agent.takes_files:
            raise NotOffered("this agent takes no files", "Type what it is to know.")
        try:
            about = await asyncio.to_thread(path.stat)
        except OSError as error:
            raise ConfigError(f"{path.name} cannot be read", error.strerror or str(error)) from error
        if not stat.S_ISREG(about.st_mode):
            raise ConfigError(f"{path.name} is not a file")
        if about.st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{path.name} is too large", f"At most {MAX_FILE_BYTES:,} bytes can be sent.")
        await link.send_file(path, agent.identity)

    async def ask_to_listen(self) -> None:
        """Ask the agent to listen to this terminal; raises ``NotOffered`` if it cannot be asked."""
        link, agent = self._with_agent()
        try:
            await link.call(wire.TALK_TO_ME, agent.identity)
        except NotOffered as error:
            why_not = "It listens to whoever came first."
            raise NotOffered("this agent cannot be asked to listen to you", why_not) from error
        self._listens_to_me(link)

    def _listens_to_me(self, link: RtcLink) -> None:
        self._words.last_heard = link.room.local_participant.identity
        self._running.put(self._people_now)

    async def retry(self) -> None:
        """Do now what is waited for: the next join, or another call for an agent that did not come."""
        self._running.retry()


def _no_ticket(error: AgentTuiError) -> why.Reason:
    """Return why there is no ticket; a refusal of our backend has a reason of its own."""
    match error:
        case Refused(code=code):
            word = code or why.NO_TOKEN.word
        case ConnectFailed():
            word = "unreachable"
        case _:
            word = "endpoint_failed"
    retryable = isinstance(error, TransportError) and error.retryable
    line = f"{error.title}." if error.detail else error.title  # other languages know it alone
    return why.Reason(word, line, error.detail, retryable)
