"""One call of a model: a task that listens, and keeps what it received until that is taken.

This task is the only one in the engine that is ever cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.words import failure, storable
from agent_tui.backend.models.model import (
    ApartPiece,
    CallPiece,
    CutPiece,
    Model,
    ModelRequest,
    NotePiece,
    Piece,
    StepPiece,
    TextPiece,
    ThinkingPiece,
    UsagePiece,
    close,
)
from agent_tui.model import events as ev
from agent_tui.model.errors import ModelError

MAX_TEXT_CHARACTERS = 1_000_000  # of one call; as much again for thoughts and for tool arguments
# The most that may wait to be stored: a model that is faster than the disk has to wait.
MAX_WAITING_PIECES = 256
MAX_WAITING_CHARACTERS = 64 * 1024
MAX_RETRY_AFTER_SECONDS = 30.0  # the most that an overloaded server may ask for
TOO_MANY_REQUESTS = 429  # HTTP
MIN_RATE_LIMIT_SECONDS = 0.5  # even if the provider says 0

MAX_NAME_CHARACTERS = 1_000  # of a tool or a file that an agent names

StepEvent = ev.StepSet | ev.StepAdded | ev.ToolStatusChanged
# What may be kept of a model's answer until it is taken.
Heard = TextPiece | ThinkingPiece | CallPiece | StepPiece

log = logging.getLogger(__name__)

# Calls that did not end when they were cancelled: kept, because the loop might lose them.
_lingering: set[asyncio.Task[None]] = set()


class Call:
    """Asks ``model`` as soon as it is created. When it has ``ended``, ``error`` says why it failed:
    ``failed`` and the reason. ``keeps`` are the types of pieces that ``take`` returns; ``silence_seconds`` is
    how long the model may be silent, ``None`` for the time in ``timing``.
    """

    def __init__(
        self,
        model: Model,
        request: ModelRequest,
        timing: Timing,
        *,
        keeps: tuple[type[Heard], ...] = (TextPiece,),
        failed: str = "LLM stream failed",
        silence_seconds: float | None = None,
    ) -> None:
        self.error = ""
        self.stop_reason = ""  # why the model stopped before the end of its answer, e.g. "length"
        self._keeps = keeps
        self._failed = failed
        self.ended = False  # by itself, with or without an error
        self.cut = False  # by ``cancel``
        self.usage: UsagePiece | None = None  # the newest
        self.first_piece_seconds: float | None = None  # from the request to the first piece
        self._model = model
        self._request = request
        self._timing = timing
        self._silence_seconds = timing.stall if silence_seconds is None else silence_seconds
        self._notes: list[NotePiece] = []
        self._waiting: list[Heard] = []
        self._waiting_characters = 0
        self._characters: dict[type[Heard], int] = {}
        self._asked_at = asyncio.get_running_loop().time()
        self._has_begun = False  # a piece has come: another try would repeat words
        self._news = asyncio.Event()
        self._taken = asyncio.Event()
        self._task = asyncio.create_task(self._listen(), name="model-call")
        self._task.add_done_callback(self._on_done)

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.ended or self.cut

    async def wait_for_news(self) -> None:
        """Wait until something came or the call is over."""
        await self._news.wait()
        self._news.clear()

    def take(self) -> list[Heard]:
        """Return what came since the last time, of the types in ``keeps``."""
        pieces, self._waiting = self._waiting, []
        self._waiting_characters = 0
        self._taken.set()
        return pieces

    def take_notes(self) -> list[NotePiece]:
        """Return the notes about the call since the last time."""
        notes, self._notes = self._notes, []
        return notes

    def cancel(self) -> None:
        """Stop listening; what came so far stays. Does nothing to a call that ended."""
        if not self.ended:
            self.cut = True
            self._task.cancel()
            self._news.set()

    async def wait_until_gone(self) -> None:
        """Wait until the call has released everything, but not forever."""
        self.cancel()
        await asyncio.wait({self._task}, timeout=self._timing.grace)
        if not self._task.done():
            log.warning("a cancelled model call did not end in %s s", self._timing.grace)
            _lingering.add(self._task)
            self._task.add_done_callback(_lingering.discard)

    async def _listen(self) -> None:
        try:
            await self._try()
        except Exception as error:  # noqa: BLE001 - a model may raise anything (architecture.md §10)
            self.error = f"{self._failed}: {failure(error)}"

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # by the model itself, unless we cut it
            self.error = f"{self._failed}: the call was cancelled"
        elif (error := task.exception()) is not None:  # anything but an ``Exception``
            self.error = f"{self._failed}: {type(error).__name__}"
        self.ended = not self.cut
        self._news.set()

    async def _try(self) -> None:
        delays, waited = iter(self._timing.retries), 0.0
        while True:
            try:
                return await self._stream()
            except ModelError as error:
                if not error.retryable or self._has_begun:
                    raise
                # Not the provider's words: they may quote what it was sent.
                log.info("a model call failed before its first piece (%s), trying again", error.status)
                wanted = error.retry_after
                if error.status == TOO_MANY_REQUESTS and wanted is not None:
                    wanted = max(wanted, MIN_RATE_LIMIT_SECONDS)
                    waited += wanted
                    if waited > self._timing.rate_limit:
                        raise
                    until = self._timing.until(wanted)
                    self._notes.append(NotePiece("rate_limit", until=until, seconds=wanted))
                    self._news.set()
                    await self._timing.sleep(wanted)
                    continue
                if (delay := next(delays, None)) is None:
                    raise
                await self._timing.sleep(max(delay, min(wanted or 0.0, MAX_RETRY_AFTER_SECONDS)))

    async def _stream(self) -> None:
        pieces = self._model.stream(self._request)
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(None) as patience:
                while True:
                    patience.reschedule(clock() + self._silence_seconds)
                    piece = await anext(pieces, None)
                    if piece is None:
                        return
                    self._hear(piece)
                    if self._is_full:
                        patience.reschedule(None)  # the wait is our own
                        await self._wait_until_taken()
        except TimeoutError as error:
            if patience.expired():
                title = f"no answer for {self._silence_seconds:g} s"
                advice = "The model was given up; its provider's timeout sets how long to wait."
                raise ModelError(title, advice) from error
            raise
        finally:
            await close(pieces)

    def _hear(self, piece: Piece) -> None:
        if isinstance(piece, NotePiece):
            self._notes.append(piece)
            self._news.set()
            return
        if not self._has_begun:
            self._has_begun = True
            self.first_piece_seconds = asyncio.get_running_loop().time() - self._asked_at
        match piece:
            case TextPiece(text):
                text = self._keepable(piece, text)
                self._keep(TextPiece(text), len(text))
                self._check(piece, "said")
            case ThinkingPiece(text):
                text = self._keepable(piece, text)
                self._keep(ThinkingPiece(text), len(text))
                self._check(piece, "thought")
            case CallPiece(arguments=text):
                text = self._keepable(piece, text)
                kept = replace(piece, id=storable(piece.id), name=storable(piece.name), arguments=text)
                self._keep(kept, len(text) + 1)
                self._check(piece, "asked tools for")
            case StepPiece():
                event, text = self._keepable_step(piece)
                self._keep(StepPiece(event), len(text) + 1)
                self._check(piece, "did")
            case UsagePiece():
                self.usage = piece if piece.is_credible else self.usage
            case CutPiece(reason):
                self.stop_reason = reason
            case ApartPiece():
                pass  # nothing is done with it here

    def _keepable(self, piece: Heard, text: str) -> str:
        """Return the part of ``text`` that may be kept, safe to store."""
        kind = type(piece)
        before = self._characters.get(kind, 0)
        self._characters[kind] = before + len(text)
        return storable(text[: max(0, MAX_TEXT_CHARACTERS - before)])

    def _keepable_step(self, piece: StepPiece) -> tuple[StepEvent, str]:
        """Return the part of a step that may be kept, and its words."""
        match piece.event:
            case ev.StepSet(_, step) as event:
                name = storable(step.name[:MAX_NAME_CHARACTERS])
                content, arguments = (self._keepable(piece, text) for text in (step.content, step.arguments))
                kept = replace(step, name=name, content=content, arguments=arguments)
                return replace(event, step=kept), content + arguments
            case ev.StepAdded() as event:
                content, arguments = (
                    self._keepable(piece, text) for text in (event.content, event.arguments)
                )
                return replace(event, content=content, arguments=arguments), content + arguments
            case event:
                progress = self._keepable(piece, event.progress[:MAX_NAME_CHARACTERS])
                return replace(event, progress=progress), progress

    def _check(self, piece: Heard, did: str) -> None:
        if self._characters[type(piece)] > MAX_TEXT_CHARACTERS:
            title = f"it {did} more than {MAX_TEXT_CHARACTERS:,} characters"
            raise ModelError(title, "The rest was left out.")

    def _keep(self, piece: Heard, characters: int) -> None:
        if not characters or not isinstance(piece, self._keeps):
            return
        self._waiting.append(piece)
        self._waiting_characters += characters
        self._news.set()

    @property
    def _is_full(self) -> bool:
        return len(self._waiting) >= MAX_WAITING_PIECES or self._waiting_characters >= MAX_WAITING_CHARACTERS

    async def _wait_until_taken(self) -> None:
        self._taken.clear()
        await self._taken.wait()
