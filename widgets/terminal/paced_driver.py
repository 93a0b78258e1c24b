"""Textual's driver, which also knows what the terminal has taken, and asks it. It relies on how the Linux
driver works inside: everything is written by ``write``, frames end with ``flush``, keys come through
``XTermParser`` and its ``_sequence_to_key_events``. Textual's writing thread has nothing to do here: its
queue blocks the loop.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from math import inf
from threading import Event, Lock
from time import monotonic
from typing import Any, Final, Protocol

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.constants import DISABLE_KITTY_KEY
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys
from textual.screen import Screen

from agent_tui.model.inert import inert_line
from widgets.terminal.output import Output
from widgets.terminal.pace import Pace
from widgets.terminal.private import driver_of

ENDS_FRAME: Final = "\x1b[?2026l"  # if the terminal can hold frames back
# What every terminal answers: its status, CSI 0n or 3n (ECMA-48 8.3.35, xterm's control sequences).
ASKS_STATUS: Final = "\x1b[5n"
STATUS: Final = re.compile(r"\x1b\[[03]n")
# Kitty's keyboard protocol, "progressive enhancement": Textual asks for all keys as escape codes. With this
# additional flag they come with the type of event. Textual's parser does not know such codes.
TELLS_RELEASES: Final = "\x1b[=2;2u"
TELLS_NO_RELEASES: Final = "\x1b[=2;3u"
# XTWINOPS: the title is pushed onto the terminal's stack before ours is set, and popped at the end. Terminals
# without a stack get an empty title, which most take for their own.
KEEPS_TITLE: Final = "\x1b[22;2t"
RESTORES_TITLE: Final = "\x1b]2;\x07\x1b[23;2t"
MAX_TITLE_CHARACTERS: Final = 80
NO_TITLES: Final = ("linux", "dumb")  # values of TERM
KEY_EVENT: Final = re.compile(r"\x1b\[([\d:]*);(\d*):([123])((?:;[\d:]*)?[u~ABCDEFHPQRS])")
RELEASED: Final = "3"
RELEASED_KEY: Final = "_released"  # after the name of a key that was released
UNSEEN_RATE: Final = 10_000.0  # characters a second: the assumed rate of a line that cannot be measured
EARLY_SECONDS: Final = 2.0  # after the screen begins, for answers that may never come
LEAVE_SECONDS: Final = 1.0  # how long a screen that ends at once waits for them: the shell would get them
KEY_SECONDS: Final = 0.1  # a lone ``ESC`` is a key if nothing follows it for this long
READ_BYTES: Final = 4096


class EarlyInput(Protocol):
    """An app's ``early_input``: what came from the terminal before the screen began."""

    @property
    def is_settled(self) -> bool:
        """Whether from now on only keys will come."""

    @property
    def is_answered(self) -> bool:
        """Whether the answer came that every terminal gives, after all others that it gives at once."""

    def sift(self, data: bytes) -> bytes:
        """Return what was typed, in everything that came before and in ``data``."""

    def release(self) -> bytes:
        """Return what was kept in case more comes."""


def hides_line(environ: Mapping[str, str]) -> bool:
    """Whether tmux or screen runs over SSH: it takes and answers everything at once on any line."""
    has_multiplexer = bool(environ.get("TMUX") or environ.get("STY"))
    return has_multiplexer and bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))


class AnswerParser(XTermParser):
    """Textual's parser, which also knows released keys, and answers to our question outside of pastes."""

    def __init__(self, answered: Callable[[], None]) -> None:
        super().__init__()
        self._answered = answered

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if STATUS.fullmatch(sequence):
            self._answered()
            return [events.Key(Keys.Ignore, None)]
        if (key := KEY_EVENT.fullmatch(sequence)) is not None:
            code, modifiers, what, rest = key.groups()
            held = "" if modifiers == "1" else modifiers
            keys = super()._sequence_to_key_events(f"\x1b[{code};{held}{rest}", alt)
            if what == RELEASED:
                return [events.Key(f"{one.key}{RELEASED_KEY}", None) for one in keys]
            return keys
        return super()._sequence_to_key_events(sequence, alt)


def paced(app: App[Any]) -> PacedDriver | None:
    """Return the driver of an app that runs in a terminal, ``None`` before and after there is one."""
    driver = driver_of(app)
    return driver if isinstance(driver, PacedDriver) else None


def name_window(app: App[Any], title: str) -> None:
    if (driver := paced(app)) is not None:
        driver.name_window(title)


def tell_releases(app: App[Any], is_wanted: bool) -> None:
    if not DISABLE_KITTY_KEY and (driver := paced(app)) is not None:
        driver.tell_releases(is_wanted)


class Hold:
    """Paints nothing between ``begin`` and ``release``; then what changed is painted once. After a layout
    that Textual's own timer did not cause, Textual drops what it batched: then the whole screen is painted
    again.
    """

    def __init__(self, app: App[object]) -> None:
        self._app = app
        self._batch = ExitStack()
        self._before: list[Screen[object]] = []
        self._is_dropped = False
        self.is_held = False

    def begin(self) -> None:
        """Hold painting back. To be called in the app's own thread."""
        if self.is_held or not self._app.is_running:  # what an app writes while it ends is not painted
            return
        self.is_held = True
        self._is_dropped = False
        self._batch.enter_context(self._app.batch_update())
        self._before = list(self._app.screen_stack)
        for screen in self._before:
            screen.screen_layout_refresh_signal.subscribe(self._app, self._note_layout, immediate=True)

    def release(self) -> None:
        if not self.is_held:
            return
        self.is_held = False
        for screen in self._before:
            screen.screen_layout_refresh_signal.unsubscribe(self._app)
        self._batch.close()
        screens = self._app.screen_stack
        if self._is_dropped or screens != self._before:
            self._app.refresh()
        # A screen checks what to paint only when it becomes idle. A hidden screen must
        # not: Textual would paint everything again for it.
        for screen in screens[-2:] if self._app.screen.is_modal else screens[-1:]:
            screen.check_idle()
        self._before = []

    def _note_layout(self, _: Screen[object]) -> None:
        self._is_dropped = True


class PacedDriver(LinuxDriver):
    """Writes without blocking the event loop, and keeps a ``Pace``; when too much is waiting, painting is
    held. A terminal is asked when the screen begins, and then after frames if the pace allows it, unless it
    never answered: an idle screen asks nothing.
    """

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.pace = Pace(UNSEEN_RATE if hides_line(os.environ) else inf)
        self._hold = Hold(app)
        self._output: Output | None = None
        self._is_leaving = False
        self._title = ""  # that we gave the terminal
        self._asking = Lock()  # questions are asked in the app's thread, answers come in the reading thread
        self._is_answered = Event()
        self._early: EarlyInput | None = getattr(app, "early_input", None)
        self._is_early_answered = Event()

    def start_application_mode(self) -> None:
        """Take the terminal, at the start and after each suspension."""
        self._is_leaving = False
        assert self._file is not None, "a program in a terminal has its stderr"
        self._output = Output(self._file.fileno(), self._file.encoding, self._took)
        self._output.start()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # as Textual has it
        if self.input_tty:
            with self._asking:
                self._ask()

    def tell_releases(self, is_wanted: bool) -> None:
        """Ask the terminal to tell when keys are released: then "space_released" follows "space"."""
        self.write(TELLS_RELEASES if is_wanted else TELLS_NO_RELEASES)

    def name_window(self, title: str) -> None:
        """Set the terminal's title; "" restores its own, and so does leaving."""
        title = inert_line(title, MAX_TITLE_CHARACTERS)
        if title == self._title or os.environ.get("TERM", "") in NO_TITLES:
            return
        if title:
            keeps = "" if self._title else KEEPS_TITLE
            self.write(f"{keeps}\x1b]2;{title}\x07")
        else:
            self.write(RESTORES_TITLE)
        self._title = title

    def stop_application_mode(self) -> None:
        """Give the terminal back, with its own title."""
        self.name_window("")
        super().stop_application_mode()

    def close(self) -> None:
        """Wait until everything is written, unless the terminal is gone."""
        if self._output is not None:
            self._output.stop()
            self.pace.left()
        self._hold.release()
        super().close()

    def write(self, data: str) -> None:
        if self._output is None or self._output.is_ending:  # lent to another program
            return
        begins = not data.startswith(ENDS_FRAME)  # this belongs to what was begun before
        is_choked = self.pace.is_choked and begins
        self.pace.gave(len(data), monotonic())
        self._output.write(data)
        if is_choked and not self._is_leaving and self._is_in_loop():
            self._hold.begin()
            if not self.pace.waiting:  # all was taken just before, when there was nothing to release
                self._hold.release()

    def flush(self) -> None:
        """End a frame, with a question after it if one is due."""
        with self._asking:
            if not self._is_leaving and self.pace.may_ask(monotonic()):
                self._ask()

    def _ask(self) -> None:
        self._is_answered.clear()
        self.pace.asked(monotonic())
        self.write(ASKS_STATUS)

    def _is_in_loop(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:  # the thread that reads keys
            return False

    def _took(self, size: int) -> None:
        """Note what the terminal has taken; runs in the thread that writes."""
        self.pace.took(size, monotonic())
        if self._hold.is_held and not self.pace.waiting:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._hold.release)

    def _answer_came(self) -> None:
        """Note an answer. Runs in the reading thread, so that answers are timed exactly."""
        now = monotonic()
        with self._asking:
            self.pace.answered(now)
            self._is_answered.set()

    def run_input_thread(self) -> None:
        """Read to the end with one parser: a second would lose a key or paste begun before an answer."""
        parser = AnswerParser(self._answer_came)
        decode = getincrementaldecoder("utf-8")("replace").decode
        early, self._early = self._early, None
        deadline = monotonic() + EARLY_SECONDS
        typed: bytes | None = early.sift(b"") if early else b""
        while typed is not None:
            if early is None or early.is_answered:
                self._is_early_answered.set()
            if text := decode(typed):  # an empty text means the end to the parser
                for event in parser.feed(text):
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)
            typed = None if self.exit_event.is_set() else self._read()
            if early is not None and typed is not None:
                typed = early.sift(typed) if typed else early.release()
                if early.is_settled or (early.is_answered and monotonic() > deadline):
                    typed += early.release()
                    early = None

    def _read(self) -> bytes | None:
        """Return what came; empty if nothing came for a while, ``None`` if nothing can come anymore."""
        ready, _, _ = select.select([self.fileno], [], [], KEY_SECONDS)
        if not ready:
            return b""
        try:
            return os.read(self.fileno, READ_BYTES) or None
        except OSError:  # the terminal hung up
            return None

    def disable_input(self) -> None:
        """Stop reading after the open questions are answered: the answers would be typed into the shell."""
        self._is_leaving = True
        if not self.exit_event.is_set():
            self._is_early_answered.wait(LEAVE_SECONDS)
        if seconds := self.pace.answer_due(monotonic()):
            self._is_answered.wait(seconds)
        super().disable_input()
