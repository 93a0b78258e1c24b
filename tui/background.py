"""Asks the terminal for its background before Textual is imported, and reads the answer after it: this costs
no time.

``OSC 11 ; ?`` asks for the color (xterm's control sequences, "Operating System Commands"). ``CSI c`` follows
it, which every terminal answers, and answers come in order. So when the second answer arrives first, the
terminal does not know its colour, and there is no need to wait.
"""

from __future__ import annotations

import os
import re
import select
import termios
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final

from tui.terminal import is_terminal
from widgets.palettes import LINUX_CONSOLE, Backdrop, linear

ASKS: Final = b"\x1b]11;?\x1b\\\x1b[c"
PATIENCE_SECONDS: Final = 0.1  # after the import: on a slower line the theme is dark
READ_BYTES: Final = 1024
_NUMBER: Final = re.compile(r"[0-9]|1[0-5]")  # of the sixteen colours

_COLOR = re.compile(
    rb"\x1b\]11;(?:rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?"
    rb"|[^\x07\x1b]{0,40})(?:\x07|\x1b\\)"
)
_IDENTITY = re.compile(rb"\x1b\[\?[\d;]{0,40}c")
_BEGUN = re.compile(rb"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]{0,40}\x1b?)?)?)?|\[(?:\?[\d;]{0,40})?)?\Z")


class Query:
    """A question to the terminal, and what separates its answers from what a person types. Until ``backdrop``
    is called, the terminal does not echo and does not wait for whole lines; ctrl+c works as always.
    """

    def __init__(self, environ: Mapping[str, str], modes: list[Any] | None) -> None:
        """``modes`` are the terminal's modes before the question; ``None`` if nothing was asked."""
        self.luminance: float | None = None
        self._environ = environ
        self._modes = modes
        self._was_asked = modes is not None
        self._is_identified = False  # the second answer came: the first is not waited for any longer
        self._typed = b""  # before anybody asked for it
        self._begun = b""  # what may begin an answer

    def backdrop(self) -> Backdrop:
        """Return what is known of the background, after 0.1 s at most; restores the terminal's modes."""
        if self._modes is not None:
            try:
                self._read(monotonic() + PATIENCE_SECONDS)
            finally:
                self.close()
        if self.luminance is not None:
            return Backdrop.of(self.luminance)
        return named_backdrop(self._environ)

    def close(self) -> None:
        """Restore the terminal's modes, whether the terminal answered or not."""
        modes, self._modes = self._modes, None
        if modes is not None:
            termios.tcsetattr(0, termios.TCSANOW, modes)

    @property
    def is_settled(self) -> bool:
        """Whether no more answers will come."""
        return not self._was_asked or (self._is_identified and self.luminance is not None)

    @property
    def is_answered(self) -> bool:
        """Whether the last answer arrived, or nothing was asked."""
        return not self._was_asked or self._is_identified

    def sift(self, data: bytes) -> bytes:
        """Return what was typed until now; what may begin an answer is kept until more arrives."""
        data = self._begun + data
        if color := _COLOR.search(data):
            if color[1] is not None:
                self.luminance = channels_luminance(*color.group(1, 2, 3))
            data = data[: color.start()] + data[color.end() :]
        identity = None if self._is_identified else _IDENTITY.search(data)  # a later one is not for us
        if identity:
            self._is_identified = True
            data = data[: identity.start()] + data[identity.end() :]
        begun = None if self.is_settled else _BEGUN.search(data)
        self._begun = begun[0] if begun else b""
        typed, self._typed = self._typed + data[: len(data) - len(self._begun)], b""
        return typed

    def release(self) -> bytes:
        """Return what was kept: nothing followed it, so it was a key."""
        begun, self._begun = self._begun, b""
        return begun

    def _read(self, deadline: float) -> None:
        while not self._is_identified:
            ready, _, _ = select.select([0], [], [], max(0.0, deadline - monotonic()))
            data = os.read(0, READ_BYTES) if ready else b""
            if not data:
                return
            self._typed = self.sift(data)


def begin(environ: Mapping[str, str]) -> Query:
    """Ask the terminal for its background and return at once. Asks nothing where no terminal would answer."""
    if not is_terminal() or environ.get("TERM", "dumb") == "dumb":
        return Query(environ, None)
    try:
        if os.tcgetpgrp(0) != os.getpgrp():  # in the background, asking would stop the program
            return Query(environ, None)
        modes = termios.tcgetattr(0)
        quiet = termios.tcgetattr(0)
        quiet[0] &= ~(termios.ICRNL | termios.IXON)
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(0, termios.TCSANOW, quiet)
    except (OSError, termios.error):
        return Query(environ, None)
    query = Query(environ, modes)
    try:
        os.write(1, ASKS)
    except BaseException:
        query.close()
        raise
    return query


def channels_luminance(*channels: bytes) -> float:
    """Return the luminance (0 to 1, WCAG 2) of red, green and blue, each 1 to 4 hex digits."""
    red, green, blue = (linear(int(channel, 16) / (16 ** len(channel) - 1)) for channel in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def named_backdrop(environ: Mapping[str, str]) -> Backdrop:
    """Return what the environment says. ``COLORFGBG`` ("15;0", "0;default;15") ends with the number of one of
    the sixteen colours, and the console of Linux is black.
    """
    number = environ.get("COLORFGBG", "").rpartition(";")[2]
    if _NUMBER.fullmatch(number):
        return Backdrop.numbered(int(number))
    return Backdrop.numbered(0) if environ.get("TERM") == LINUX_CONSOLE else Backdrop()
