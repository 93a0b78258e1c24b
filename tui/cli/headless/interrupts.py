"""Ends a command that follows a run in good order, after signals and after a lost output."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, NotFound, NotOffered, not_written
from tui.cli import exits, output
from tui.cli.headless.formats import Ending
from tui.entry import SIGNALS
from tui.request import Server, Source, reach
from tui.screens.localised import localised
from tui.screens.words import say

PATIENCE_SECONDS = 10.0  # for everything that should come at once: a stop, a server that comes back
T = TypeVar("T")
Errand = Callable[[Server, "Interrupts"], Coroutine[Any, Any, tuple[Ending, T]]]


class Interrupts:
    """While open: the first signal calls ``on_first``, a ctrl+c after it ends the errand at once. Other
    signals after it change nothing: ``timeout`` sends one twice. An output that nobody reads or that cannot
    be written counts as the first signal, never as the next; ``lost`` is why.

    Without ``on_first`` the first signal ends the errand at once. It is cancelled; only during a write that
    nobody reads, which blocks its event loop, ``KeyboardInterrupt`` is raised. Between two steps of a library
    that would be lost, or become another error. ``on_ctrl_c`` may handle ctrl+c itself: it returns whether it
    did. ``is_embedded``: the errand is done by our own backend.
    """

    def __init__(self, *, is_embedded: bool = False) -> None:
        self.is_embedded = is_embedded
        self.on_first: Callable[[], object] | None = None
        self.on_ctrl_c: Callable[[], bool] | None = None
        self.lost: OSError | None = None
        self.is_ending = False
        self._cancel: Callable[[], object] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                self._before[number] = signal.signal(number, self._on_signal)
        output.on_lost = self._output_lost
        return self

    def __exit__(self, *_: object) -> None:
        output.on_lost = None
        for number, handler in self._before.items():
            signal.signal(number, handler)

    async def run_errand(self, errand: Coroutine[Any, Any, T]) -> T:
        """Return what ``errand`` returns; a signal that ends it cancels it."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # coroutines run in tasks
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        pipe = _stdout_pipe()
        if pipe is not None:
            loop.add_reader(pipe, self._reader_left, loop, pipe)  # nothing is read: this only notices the end
        try:
            return await errand
        finally:
            self._cancel = None
            if pipe is not None:
                loop.remove_reader(pipe)

    def stop(self) -> bool:
        """Do what the first signal does, and continue; return whether there was something to do."""
        on_first, self.on_first = self.on_first, None
        if on_first is not None:
            on_first()
        return on_first is not None

    def ending(self, ending: Ending) -> Ending:
        """Return how the errand ended, considering a lost output."""
        if self.lost is None:
            return ending
        if isinstance(self.lost, BrokenPipeError) or self.lost.errno == errno.EIO:  # a terminal that is gone
            return Ending("interrupted", "nobody reads the output any more")
        return Ending("error", str(not_written(output.NOT_WRITTEN, self.lost)))

    def _reader_left(self, loop: asyncio.AbstractEventLoop, pipe: int) -> None:
        loop.remove_reader(pipe)
        output.drop(pipe)
        self._output_lost(BrokenPipeError())

    def _output_lost(self, error: OSError) -> None:
        if self.is_ending:
            return
        self.lost = error
        self._end()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            if self.on_ctrl_c is None or not self.on_ctrl_c():
                self._end()
        elif not self.is_ending or output.is_writing:
            self._end()

    def _end(self) -> None:
        self.is_ending = True
        if self.stop():
            return
        if self._cancel is not None and not output.is_writing:
            self._cancel()
        else:
            raise KeyboardInterrupt


async def take_until_ending(
    items: AsyncGenerator[T, None], take: Callable[[T], Awaitable[Ending | None]], source: str = "stream"
) -> Ending:
    """Pass every item to ``take``, until it returns an ending."""
    async with aclosing(items):
        async for item in items:
            if (ending := await take(item)) is not None:
                return ending
    return Ending("lost", f"the {source} ended before its last event")


@dataclass(slots=True)
class Stop:
    """How the first signal ends a run in good order: ``call`` is made when the run is ``under_way``, and its
    end is waited for, this many ``seconds``.

    ``doing`` is the sentence that says it, ``name`` is the name of the call, ``subject`` what it stops,
    ``tell`` writes a line to stderr. ``early`` is said if the run has not begun; without it, that is waited
    for.
    """

    doing: str
    name: str
    subject: str
    call: Callable[[], Awaitable[object]]
    tell: Callable[[str], object] = output.notice
    seconds: float = PATIENCE_SECONDS
    early: str = ""
    under_way: asyncio.Event = field(default_factory=asyncio.Event)
    was_asked: bool = False

    async def ask(self) -> str:
        """Stop the run; return why it continues, in one line, else nothing."""
        self.was_asked = True
        self.tell(say(self.doing))
        if self.early and not self.under_way.is_set():
            return self.early
        await self.under_way.wait()  # before that there is nothing to stop
        why = ""
        try:
            await self.call()
        except (NotFound, NotOffered):
            why = f"this server offers no {self.name}: the {self.subject} was left as it is"
        except AgentTuiError as error:
            why = f"the {self.name} was not taken: {error}"
        if why:
            self.tell(localised(why))
        return why


async def until_its_end(
    interrupts: Interrupts, follow: Coroutine[Any, Any, Ending], stop: Stop | None = None
) -> Ending:
    """Return how ``follow`` ends; the first signal asks for its ``stop`` and waits, or leaves it."""
    loop = asyncio.get_running_loop()
    left_because = f"the {stop.subject} did not {stop.name} in time" if stop is not None else None
    try:
        async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:

            async def stop_it(stop: Stop) -> None:
                nonlocal left_because
                if why := await stop.ask():
                    left_because = why
                    limit.reschedule(loop.time())

            def interrupted() -> None:
                limit.reschedule(loop.time() + (stop.seconds if stop is not None else 0))
                if stop is not None:
                    stopping.append(group.create_task(stop_it(stop)))

            stopping: list[asyncio.Task[None]] = []
            interrupts.on_first = lambda: loop.call_soon_threadsafe(interrupted)
            try:
                end = await follow
            except AgentTuiError as error:
                end = Ending.of(error, has_begun=not interrupts.is_embedded)
            for task in stopping:
                task.cancel()
    except TimeoutError:
        return Ending("interrupted", left_because)
    except BaseExceptionGroup as group_error:
        raise group_error.exceptions[0] from None  # there is only ever one, from the following itself
    finally:
        interrupts.on_first = None
    return end


@dataclass(slots=True)
class LinkTelling:
    """Says on stderr that the connection is waited for, once for all tries, and that it is there again."""

    tell: Callable[[str], object] = output.notice
    is_lost: bool = False

    def take(self, link: ev.LinkChanged) -> None:
        """Take a state of the connection."""
        if link.status == "waiting" and link.attempt <= 1:
            self.is_lost = True
            self.tell(say("plain.reconnecting", why=localised(link.detail)))
        elif link.status == "live" and self.is_lost:
            self.is_lost = False
            self.tell(say("link.connected"))


def _stdout_pipe() -> int | None:
    """Return the descriptor of stdout if it is a pipe."""
    try:
        descriptor = sys.stdout.fileno()
        return descriptor if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else None
    except (OSError, ValueError):
        return None


def carried_out(source: Source, errand: Errand[T], nothing: T, finish: Callable[[Ending, T], object]) -> int:
    """Run ``errand`` and have ``finish`` write its end, with ``nothing`` if it failed; say on stderr what
    went wrong, and return the exit code. Raises ``ConfigError`` and the like for wrong usage.
    """
    with Interrupts(is_embedded=not isinstance(source, Server)) as interrupts:
        try:
            server = reach(source, output.notice)
            ending, brought = asyncio.run(interrupts.run_errand(errand(server, interrupts)))
        except (KeyboardInterrupt, asyncio.CancelledError):
            ending, brought = Ending("interrupted"), nothing
        except AgentTuiError as error:
            ending, brought = Ending.of(error), nothing
        try:
            finish(interrupts.ending(ending), brought)
        except KeyboardInterrupt:
            if interrupts.lost is None:
                raise
        ending = interrupts.ending(ending)
        if ending.code not in (exits.DONE, exits.PAUSED):
            output.complain(ending.told or ending.reason)
        return ending.code
