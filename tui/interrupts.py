"""SIGINT and SIGTERM for a command that can end a run in an orderly way."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While open: the first signal calls ``on_first``, the next one ends the program at once.

    Without ``on_first`` there is nothing to be orderly about and the first one ends it. The end comes as
    ``KeyboardInterrupt``, also out of a write that nobody reads, which an event loop's handler never sees.
    """

    def __init__(self) -> None:
        self.on_first: Callable[[], object] | None = None
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

    def _received(self, number: int, frame: FrameType | None) -> None:
        on_first, self.on_first = self.on_first, None
        if on_first is None:
            raise KeyboardInterrupt
        on_first()
