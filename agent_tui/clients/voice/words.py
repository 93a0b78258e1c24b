"""Words of a voice room from text streams: what is heard, spoken and typed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from livekit import rtc

from agent_tui.clients.voice.room_link import RtcLink
from agent_tui.clients.voice.running import SessionTasks
from agent_tui.model.voice import VoiceEvent, WordsHeard, WordsLost, WordsSpoken
from agent_tui.wire import voice as wire

MAX_SEGMENTS = 500
MAX_READERS = 100  # at once; more than a few are a flood


class WordStreams:
    """Reads text streams. ``people`` is called when a participant was heard."""

    def __init__(self, running: SessionTasks, people: Callable[[], Iterable[VoiceEvent]]) -> None:
        self._running = running
        self._people = people
        self._segments: dict[str, None] = {}  # the agent's, that were reported
        self._reading: set[asyncio.Task[None]] = set()
        self.last_heard = ""  # the participant whose words the agent understood last

    def came(self, link: RtcLink, reader: rtc.TextStreamReader, identity: str) -> Iterable[VoiceEvent]:
        """Read a stream of ``lk.transcription``: the agent's words, or what it understands of a
        participant.
        """
        attributes = reader.info.attributes or {}
        segment = attributes.get("lk.segment_id") or reader.info.stream_id
        track = attributes.get("lk.transcribed_track_id", "")
        is_mine = link.track is not None and track == link.track.sid
        if identity == link.agent and not is_mine:
            self._read(reader, self._report_spoken(reader, segment, is_voiced=bool(track)))
        else:
            me = link.room.local_participant.identity
            self._read(reader, self._report_heard(reader, segment, me if is_mine else identity))
        return ()

    def _read(self, reader: rtc.TextStreamReader, work: Coroutine[Any, Any, None]) -> None:
        if len(self._reading) >= MAX_READERS:
            work.close()
            reader.close()
            return
        task = self._running.spawn(work)
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _report_spoken(self, reader: rtc.TextStreamReader, segment: str, *, is_voiced: bool) -> None:
        """Report what the agent says, piece by piece; a repeated segment comes as a whole."""
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
                    self._running.tell(WordsSpoken(segment, piece, is_voiced=is_voiced))
        except rtc.StreamError:
            self._running.tell(WordsLost(segment))
            return
        rest = whole if is_whole else ""
        last = WordsSpoken(segment, rest, is_final=_is_final(reader), is_whole=is_whole, is_voiced=is_voiced)
        self._running.tell(last)

    async def _report_heard(self, reader: rtc.TextStreamReader, segment: str, identity: str) -> None:
        """Report what a person is heard to say: each stream has the whole segment so far."""
        text = await _read(reader)
        if text is None:
            self._running.tell(WordsLost(segment))
        else:
            heard = WordsHeard(segment, text, _is_final(reader), identity)
            self._running.put(partial(self._now_heard, heard))

    def _now_heard(self, heard: WordsHeard) -> Iterable[VoiceEvent]:
        self.last_heard = heard.identity
        yield heard
        yield from self._people()

    def typed(self, link: RtcLink, reader: rtc.TextStreamReader, identity: str) -> Iterable[VoiceEvent]:
        """Read what another participant typed."""
        self._read(reader, self._report_typed(reader, identity))
        return ()

    async def _report_typed(self, reader: rtc.TextStreamReader, identity: str) -> None:
        text = await _read(reader)
        if text is not None:
            self._running.tell(WordsHeard(reader.info.stream_id, text, is_final=True, identity=identity))


async def _read(reader: rtc.TextStreamReader) -> str | None:
    text = ""
    try:
        async for piece in reader:
            text += piece[: wire.MAX_TEXT_CHARACTERS - len(text)]
    except rtc.StreamError:
        return None
    return text


def _is_final(reader: rtc.TextStreamReader) -> bool:
    return (reader.info.attributes or {}).get("lk.transcription_final") == "true"
