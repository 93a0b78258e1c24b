"""The one reader of event streams: yields each frame once, over as many connections as needed.

Bytes come from ``http``, ``LogStream`` makes frames of them, ``follow`` makes events: three generators from
the socket to a screen's loop. A GET reconnects automatically, since the same request has the same answer. A
POST is never repeated: the rest of its answer is read with GET, if its frames had ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, suppress
from dataclasses import dataclass
from typing import TypeVar

from agent_tui.clients.clock import SYSTEM_CLOCK, Clock, Watch, nap
from agent_tui.clients.http import Net, StreamedResponse
from agent_tui.clients.retry import Backoff, Patience
from agent_tui.model.errors import (
    AgentTuiError,
    ConnectFailed,
    NotFound,
    NotOffered,
    Refused,
    StreamLost,
    TimedOut,
    TransportError,
)
from agent_tui.model.events import ConversationInfo, Event, LinkChanged, RoomInfo
from agent_tui.wire.content import SplitPairs
from agent_tui.wire.sse import MAX_EVENT_BYTES, Frame, SSEParser

M = TypeVar("M")
L = TypeVar("L", RoomInfo, ConversationInfo)
Item = Frame | LinkChanged

IDLE_SECONDS = 45.0  # three heartbeats of our own backend, which sends one every 15 s
STEADY_SECONDS = 10.0  # a connection that lasted this long does not count as a failed try
FRAMES_PER_TURN = 64  # then other tasks of the loop may run
GIVE_UP_SECONDS = 10.0  # cli.md: without a screen at most 10 s

_ERRORS = ("error", "agent_error")  # frames that quote what went wrong
_PIECES = ("message_chunk", "process_step_delta")  # frames that add to a text
_NEWS = ("queue_changed",)  # it may be said without being in the log
_GONE = 410
_NO_CONTENT = (204, 205)
_RELOADS = 3  # in a row, without an event in between
_REREADS = 3  # of a conversation that became idle while it was read
_MAX_ID_DIGITS = 18  # fits 63 bits; no event id is longer


@dataclass(frozen=True, slots=True)
class Post:
    """The POST at the beginning of a stream: it is sent once.

    It is interrupted after ``silence_seconds`` without a byte (``None``: only if a heartbeat was heard
    before), and so is the GET that reads the rest of its answer, which then raises ``TimedOut``. ``explain``
    returns the error to raise instead of a refusal.
    """

    path: str
    params: Mapping[str, str]
    json: object = None
    silence_seconds: float | None = None
    explain: Callable[[Refused], Awaitable[Refused]] | None = None


class _FramesMissing(Exception):
    """Frames before this one are missing: they are requested from the server."""


class LogStream:
    """``async for`` yields the frames of a stream and ``LinkChanged`` in between.

    With ``after``, ids count the frames of a log (protocols.md §1): it begins after that id, each frame comes
    once, and missing ones are requested. Without, it is any event stream, whose ids are sent as
    ``Last-Event-ID``. It begins with ``post`` if there is one, and ends after the frame for which
    ``is_last``. Frames whose data is not ``is_ours`` get another name. Silence of ``idle_timeout`` seconds
    counts as a lost connection if the server sent comments (its heartbeat) before.

    It reconnects after transport errors, 408, 425, 429, 5xx and a clean end, and stops after 204
    (``LinkChanged("ended")``). Raises ``Refused`` and ``ProtocolError`` at once, ``ConnectFailed`` after
    ``give_up_seconds`` without anything new and without a connection (one that ends at once does not count),
    and ``StreamLost`` if the rest of a POST cannot be read.
    """

    def __init__(
        self,
        net: Net,
        path: str,
        params: Mapping[str, str] | None = None,
        last_event_id: str = "",
        idle_timeout: float = IDLE_SECONDS,
        *,
        after: int | None = None,
        post: Post | None = None,
        is_last: Callable[[Frame], bool] | None = None,
        is_ours: Callable[[str], bool] | None = None,
        headers: Mapping[str, str] | None = None,
        give_up_seconds: float | None = None,
        backoff: Backoff | None = None,
        clock: Clock = SYSTEM_CLOCK,
        max_event_bytes: int = MAX_EVENT_BYTES,
    ) -> None:
        self._net = net
        self._path = path
        self._params = dict(params or {})
        self._event_id = str(after) if after else last_event_id
        self._is_log = after is not None or post is not None
        self.last = None if post is not None else after  # the last decimal id of a log
        self._asked_from: int | None = None
        self._has_gaps = False  # this is how the server counts
        self._has_ids = True  # as far as known: its ids increase
        self._post = post
        self._lost: TransportError | None = None  # how the POST was lost
        self._is_last = is_last
        self._is_ours = is_ours
        self._pairs = SplitPairs()
        self._headers = headers or {}
        self._idle_timeout = idle_timeout
        self._patience = Patience(clock, backoff or Backoff(), give_up_seconds)
        self._clock = clock
        self._max_event_bytes = max_event_bytes
        self._heartbeat = False  # whether there ever was a comment
        self._live_at: float | None = None  # when this connection's answer came
        self._frames = 0  # of this connection
        self._has_news = False  # whether one of them was new

    def __aiter__(self) -> AsyncGenerator[Item, None]:
        return self._items()

    @property
    def _silence_seconds(self) -> float | None:
        return None if self._post is None else self._post.silence_seconds

    @property
    def _is_posting(self) -> bool:
        return self._post is not None and self._lost is None

    async def _items(self) -> AsyncGenerator[Item, None]:
        self._patience.sign_of_life()  # time counts from here
        while True:
            yield LinkChanged("connecting", attempt=self._patience.backoff.attempt)
            watch = Watch(self._clock, notice_sleep=not self._is_posting)
            parser = SSEParser(self._event_id, self._max_event_bytes, self._heartbeat_callback(watch))
            error: AgentTuiError = StreamLost("the stream ended")
            try:
                async with watch, AsyncExitStack() as exit_stack:
                    answer = await watch.run(exit_stack.enter_async_context(self._open(watch)))
                    if answer.status in _NO_CONTENT:
                        yield LinkChanged("ended", "the server has nothing more to send")
                        break
                    self._note_live(watch)
                    yield LinkChanged("live")
                    while chunk := await watch.run(anext(answer.body, b"")):
                        for frame in parser.feed(chunk):
                            if self._is_new(frame):
                                self._has_news = True
                                frame = self._safe_frame(frame)
                                yield frame
                                if self._is_last is not None and self._is_last(frame):
                                    return
                            self._frames += 1
                            if self._frames % FRAMES_PER_TURN == 0:
                                await asyncio.sleep(0)
            except _FramesMissing:
                self._event_id = str(self.last or "")
                self._patience.backoff.reset()
                self._patience.sign_of_life()
                continue
            except AgentTuiError as caught:
                error = caught
            waiting = await self._wait_after(error, parser, watch)
            if waiting is not None:
                yield waiting
                await nap(self._clock, waiting.delay)
        if self._post is not None:
            raise await self._lost_post(self._post, self._lost or StreamLost("the stream has no last event"))

    def _open(self, watch: Watch) -> AbstractAsyncContextManager[StreamedResponse]:
        """Return the request for the next connection; ``watch`` gets how long it may be silent."""
        self._live_at, self._frames, self._has_news = None, 0, False
        headers = {**self._headers, **_last_event_id_header(self._event_id)}
        if self._post is not None and self._lost is None:
            post, watch.limit = self._post, self._post.silence_seconds
            return self._net.stream("POST", post.path, json=post.json, params=post.params, headers=headers)
        watch.limit = self._patience.seconds_left()
        after = {"after": self._event_id or "0"} if self._is_log else {}
        return self._net.stream("GET", self._path, params={**self._params, **after}, headers=headers)

    def _heartbeat_callback(self, watch: Watch) -> Callable[[str], None]:
        def heard(_: str) -> None:
            self._heartbeat = True
            if self._silence_seconds is None:
                watch.limit = self._idle_timeout

        return heard

    def _note_live(self, watch: Watch) -> None:
        self._live_at = self._clock.time()
        if not self._is_posting:
            watch.limit = self._silence_seconds or (self._idle_timeout if self._heartbeat else None)

    def _is_new(self, frame: Frame) -> bool:
        """Return whether ``frame`` is new; raises ``_FramesMissing`` if frames before it are missing."""
        if not self._is_log:
            return True
        if not frame.data and not (self._is_last is not None and self._is_last(frame)):
            return False  # an empty frame after a comment is not an event (protocols.md §1, fault 7)
        number, last = decimal_id(frame.id), self.last
        if self._is_posting:  # nothing is sent again on the first connection
            self._has_ids = self._has_ids and (number is None or last is None or number > last)
            self.last = (last if number is None else number) if self._has_ids else None
            return True
        if number is not None and last is not None:
            if number <= last:
                # Without an id of its own: an error that could not be stored, but ends the run, or news.
                is_last = self._is_last is not None and self._is_last(frame)
                return number == last and (is_last or frame.event in _NEWS)
            if number > last + 1 and not self._has_gaps:
                # They are requested once: what the server does not send then, it does not have.
                self._has_gaps = self._asked_from == last
                self._asked_from = last
                if not self._has_gaps:
                    raise _FramesMissing
        self.last = last if number is None else number
        return True

    def _safe_frame(self, frame: Frame) -> Frame:
        """Return ``frame`` as it may be shown, with whole characters; one about another conversation gets a
        name that nobody knows.
        """
        if self._is_ours is not None and not self._is_ours(frame.data):
            return frame._replace(event=f"{frame.event} of another")
        if frame.event in _PIECES and (self._pairs.held or "\\ud" in frame.data or "\\uD" in frame.data):
            return frame._replace(data=self._pairs.joined_data(frame.event, frame.data))
        if frame.event in _ERRORS:
            return frame._replace(data=self._net.redacted_error(frame.data))
        return frame

    async def _wait_after(self, error: AgentTuiError, parser: SSEParser, watch: Watch) -> LinkChanged | None:
        """Return the wait before the next connection, ``None`` for none; raises errors that another
        connection cannot fix.
        """
        self._event_id = parser.last_event_id  # an id may have come without an event
        backoff = self._patience.backoff
        if self._post is not None and self._lost is None:
            await self._after_post(self._post, error)
            return None
        if isinstance(error, TimedOut) and self._silence_seconds is not None and self._live_at is not None:
            raise error
        if not isinstance(error, TransportError):
            if self._post is not None and self._lost is not None and isinstance(error, NotFound | NotOffered):
                error = await self._lost_post(self._post, self._lost)
            raise error
        if parser.retry is not None:
            backoff.server_wishes(parser.retry)
        live_seconds = 0.0 if self._live_at is None else self._clock.time() - self._live_at
        if live_seconds >= STEADY_SECONDS or self._has_news:
            backoff.reset()
            self._patience.sign_of_life()
        else:  # a model may be thinking, or the server repeats what is known, or closes at once
            self._patience.was_connected(live_seconds)
        delay = 0.0 if watch.slept else self._patience.delay_after(error)
        return LinkChanged("waiting", str(error), delay, backoff.attempt)

    async def _after_post(self, post: Post, error: AgentTuiError) -> None:
        """Read the rest of a POST from the log; raises if that is not possible."""
        if self.last is None or not isinstance(error, StreamLost | TimedOut):
            raise await self._lost_post(post, error)
        self._lost = error
        self._event_id = str(self.last)
        self._patience.sign_of_life()

    async def _lost_post(self, post: Post, error: AgentTuiError) -> AgentTuiError:
        if isinstance(error, Refused) and post.explain is not None:
            explained = await post.explain(error)
            if explained is not error:
                explained.__cause__ = error
            return explained
        if isinstance(error, StreamLost) or (isinstance(error, TimedOut) and post.silence_seconds is None):
            lost = StreamLost("broke off", str(error))
            lost.__cause__ = error
            return lost
        return error


def decimal_id(frame_id: str) -> int | None:
    """Return a decimal event id, ``None`` for any other id."""
    if frame_id.isascii() and frame_id.isdigit() and len(frame_id) <= _MAX_ID_DIGITS:
        return int(frame_id)
    return None


def _last_event_id_header(last_event_id: str) -> dict[str, str]:
    value = last_event_id.strip()
    return {"Last-Event-ID": value} if value and all(char >= " " and char != "\x7f" for char in value) else {}


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation as it is stored, and the event id from which to follow it.

    ``read`` makes an event from the name and the data of each following frame; ``None`` means that everything
    must be loaded again.
    """

    event: Event
    as_of: int
    read: Callable[[str, str], Event | None]


@dataclass(frozen=True, slots=True)
class Source:
    """Something that can be followed; every call raises what ``Net.call`` raises.

    ``load`` returns its stored state, ``stream`` the frames after an id, ``last_event_id`` the end of its
    log. ``ended_detail`` says why nothing can be followed on a server without a log.
    """

    load: Callable[[], Awaitable[StoredConversation]]
    stream: Callable[[int], LogStream]
    last_event_id: Callable[[], Awaitable[int]]
    ended_detail: str
    clock: Clock
    give_up_seconds: float | None


async def read_settled(
    messages: Callable[[], Awaitable[tuple[list[M], int | None]]], show: Callable[[], Awaitable[L]]
) -> tuple[list[M], L, int]:
    """Return a consistent snapshot: messages, their room or chat, the event id that they correspond to."""
    stored: list[M] = []
    as_of: int | None = None
    for _ in range(_REREADS):
        with suppress(NotFound, NotOffered):  # no such call, or no such thing: what follows shows which
            stored, as_of = await messages()
        # Read after the messages: what happened in between comes again as events, and changes nothing.
        conversation = await show()
        if as_of is None:
            as_of = conversation.last_event_id
        if conversation.status == "running" or conversation.last_event_id <= as_of:
            break  # else it became idle in between, and those messages lack its last words
    return stored, conversation, as_of or 0


async def follow(reach: Callable[[], Awaitable[Source]], starting: str = "") -> AsyncGenerator[Event, None]:
    """Yield a conversation as it is stored, and then everything that happens in it.

    ``LinkChanged`` in between is the state of the connection. Waits for a server that is not there, forever
    or for the source's ``give_up_seconds`` (``ConnectFailed``). Loads again when the server lost our place.
    Ends only for a server that has no log, after ``LinkChanged("ended")``. Raises ``NotFound`` if there is no
    such conversation, or no longer. With ``starting``, a text, a lost server is reached again with ``reach``
    instead of raising.
    """
    yield LinkChanged("connecting")
    place = _Place(await reach())
    while True:
        try:
            first = await place.load()
            yield first
            if isinstance(first, LinkChanged):
                await nap(place.source.clock, first.delay)
                yield LinkChanged("connecting", attempt=first.attempt)
                continue
            async with aclosing(aiter(place.stream)) as items:
                async for item in items:
                    event = place.read(item) if isinstance(item, Frame) else await place.link_changed(item)
                    if event is not None:
                        yield event
                    elif place.is_lost:
                        break
                else:
                    return  # after 204
        except Refused as error:
            if (ended := place.refused(error)) is not None:
                yield ended
                return
        except (ConnectFailed, StreamLost, TimedOut):
            if not starting:
                raise
            yield LinkChanged("connecting", starting)
            place = _Place(await reach())


def ready(source: Source) -> Callable[[], Awaitable[Source]]:
    """Return the way to a source that is there."""

    async def reach() -> Source:
        return source

    return reach


class _Place:
    """How far a source was followed; ``is_lost`` when everything must be loaded again."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.is_lost = True
        self.stream: LogStream
        self._was_live = False
        self._barren_loads = 0  # loads since the last event
        self._loading = Patience(source.clock, Backoff(), source.give_up_seconds)
        self._read: Callable[[str, str], Event | None]

    async def load(self) -> Event:
        """Return what is stored, or the wait before it is asked for again."""
        patience = self._loading
        watch = Watch(self.source.clock, notice_sleep=True)
        watch.limit = patience.seconds_left()
        try:
            async with watch:
                loaded = await watch.run(self.source.load())
        except TransportError as error:
            delay = 0.0 if watch.slept else patience.delay_after(error)
            return LinkChanged("waiting", str(error), delay, patience.backoff.attempt)
        self.stream, self._read = self.source.stream(loaded.as_of), loaded.read
        self.is_lost = self._was_live = False
        self._barren_loads += 1
        return loaded.event

    def read(self, frame: Frame) -> Event | None:
        """Return the event of ``frame``, ``None`` of one that has everything loaded again."""
        self._barren_loads = 0
        event = self._read(frame.event, frame.data)
        if event is None:
            self._lose()
        return event

    async def link_changed(self, link: LinkChanged) -> LinkChanged | None:
        """Return the link event to yield: none for the first connection, or for one that lost our place."""
        if link.status == "live":
            if self._was_live and await self._has_other_store():
                self._lose()
                return None
            self._was_live = True
        is_known = link.status == "connecting" and not self._was_live and not link.attempt
        return None if is_known else link  # the first "connecting" was yielded before it was loaded

    def refused(self, error: Refused) -> LinkChanged | None:
        """Return the end if there is no log, ``None`` to load again; raises ``error`` otherwise."""
        if self.is_lost:
            raise error  # it could not be loaded
        if isinstance(error, NotFound | NotOffered) and not self._was_live:
            return LinkChanged("ended", self.source.ended_detail)
        if error.status != _GONE or self._barren_loads >= _RELOADS:
            raise error
        self._lose()
        return None

    def _lose(self) -> None:
        self.is_lost = True
        self._loading = Patience(self.source.clock, Backoff(), self.source.give_up_seconds)

    async def _has_other_store(self) -> bool:
        """Return whether the server, after reconnecting, has fewer events than we saw: it has another
        store.
        """
        try:
            return await self.source.last_event_id() < (self.stream.last or 0)
        except (TransportError, NotFound, NotOffered):
            # The stream will meet the same failure and come back here; if it goes on, the server just shows
            # no single room or chat.
            return False
