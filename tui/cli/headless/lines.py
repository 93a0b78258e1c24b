"""Reads lines while something is followed without a screen."""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
from contextlib import suppress
from threading import Thread
from typing import Final

from tui.cli.headless.interrupts import Interrupts

CHUNK_BYTES: Final = 65_536
CTRL_C: Final = "\x03"


class TypedLines:
    """The typed lines. They are read beside the loop: stdin may be a terminal, a pipe or a file.

    With ``interrupts`` a ctrl+c in a terminal counts as a line, as long as more may be typed.
    """

    def __init__(self, interrupts: Interrupts | None = None) -> None:
        self.has_ended = False
        self.is_terminal = sys.stdin.isatty()
        self._is_pressed = False
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        if interrupts is not None and self.is_terminal:
            interrupts.on_ctrl_c = self._ctrl_c
        Thread(target=self._read, daemon=True).start()  # a blocked read cannot be ended

    async def next(self) -> str | None:
        """Return the next line, ``None`` at the end of the input."""
        line = None if self.has_ended else await self._queue.get()
        self.has_ended = line is None
        self._is_pressed = self._is_pressed and line != CTRL_C
        return line

    def _ctrl_c(self) -> bool:
        if self.has_ended or self._is_pressed:  # nobody reads on: the loop may be blocked by a write
            return False
        self._is_pressed = True
        self._loop.call_soon_threadsafe(self._queue.put_nowait, CTRL_C)
        return True

    def _read(self) -> None:
        decoder, held = codecs.getincrementaldecoder("utf-8")("replace"), ""
        # Not through ``sys.stdin``: the interpreter could not end while a thread holds its buffer.
        with suppress(OSError, AttributeError, ValueError, RuntimeError):
            descriptor = sys.stdin.fileno()
            while data := os.read(descriptor, CHUNK_BYTES):
                *lines, held = (held + decoder.decode(data)).split("\n")
                for line in lines:
                    self._loop.call_soon_threadsafe(self._queue.put_nowait, line.rstrip("\r"))
        with suppress(RuntimeError):  # the loop is closed
            if held:
                self._loop.call_soon_threadsafe(self._queue.put_nowait, held)
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)
