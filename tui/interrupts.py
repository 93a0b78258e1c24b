"""A command that follows a run to its end: SIGINT and SIGTERM end it in an orderly way."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from types import FrameType, TracebackType
from typing import Any, TypeVar

from agent_tui.errors import AgentTuiError, NotFound, NotOffered
from tui import exits, output
from tui.formats import Ending
from tui.request import Server, Source, reach

SIGNALS = (signal.SIGINT, signal.SIGTERM)
T = TypeVar("T")
Errand = Callable[[Server, "Interrupts"], Coroutine[Any, Any, tuple[Ending, T]]]


class Interrupts:
    """While open: the first signal calls ``on_first``, the next one ends the errand at once.

    Without ``on_first`` there is nothing to be orderly about and the first one ends it. The errand is
    cancelled; only out of a write that nobody reads, which holds its event loop, the end comes as
    ``KeyboardInterrupt``. Between two steps of a library that would be lost, or become another error.
    """

    def __init__(self) -> None:
        self.on_first: Callable[[], object] | None = None
        self._cancel: Callable[[], object] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    async def ending(self, errand: Coroutine[Any, Any, T]) -> T:
        """Return what ``errand`` does; a signal that ends it cancels it."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # coroutines run in tasks
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return await errand
        finally:
            self._cancel = None

    def _received(self, number: int, frame: FrameType | None) -> None:
        on_first, self.on_first = self.on_first, None
        if on_first is not None:
            on_first()
        elif self._cancel is not None and not output.is_writing:
            self._cancel()
        else:
            raise KeyboardInterrupt


async def until_its_end(
    interrupts: Interrupts,
    follow: Coroutine[Any, Any, T],
    stop: Callable[[], Coroutine[Any, Any, str]],
    *,
    seconds: float,
    too_late: str,
) -> tuple[T | None, str]:
    """Return what ``follow`` does; the first signal calls ``stop`` and waits so many seconds for the end.

    ``stop`` says why it could not be asked for, in a line, else nothing. Returns ``None`` and why where the
    end did not come: that line, or ``too_late``.
    """
    loop = asyncio.get_running_loop()
    left_because = too_late
    try:
        async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:

            async def stop_it() -> None:
                nonlocal left_because
                if why := await stop():
                    left_because = why
                    limit.reschedule(loop.time())

            def interrupted() -> None:
                limit.reschedule(loop.time() + seconds)
                stopping.append(group.create_task(stop_it()))

            stopping: list[asyncio.Task[None]] = []
            interrupts.on_first = lambda: loop.call_soon_threadsafe(interrupted)
            end = await follow
            for task in stopping:
                task.cancel()
    except TimeoutError:
        return None, left_because
    except BaseExceptionGroup as group_error:
        raise group_error.exceptions[0] from None  # there is only ever one, from the following itself
    finally:
        interrupts.on_first = None
    return end, ""


async def why_it_goes_on(stop: Awaitable[object], what: str, subject: str) -> str:
    """Await the call that stops a run; return why it does not, in a line, else nothing. ``what`` the call
    is called, ``subject`` is what it stops.
    """
    try:
        await stop
    except (NotFound, NotOffered):
        return f"this server offers no {what}: the {subject} was left as it is"
    except AgentTuiError as error:
        return f"the {what} was not taken: {error}"
    return ""


def carried_out(source: Source, errand: Errand[T], nothing: T) -> tuple[Ending, T]:
    """Return how ``errand`` ended and what it brought, ``nothing`` where it failed.

    Raises ``ConfigError`` and the like for wrong usage.
    """
    with Interrupts() as interrupts:
        try:
            return asyncio.run(interrupts.ending(errand(reach(source, output.notice), interrupts)))
        except (KeyboardInterrupt, asyncio.CancelledError):
            return Ending("interrupted"), nothing
        except AgentTuiError as error:
            return Ending.of(error), nothing


def concluded(ending: Ending) -> int:
    """Say on stderr what went wrong, in one line, and return the exit code."""
    if ending.code not in (exits.DONE, exits.PAUSED):
        output.complain(ending.detail or ending.reason)
    return ending.code
