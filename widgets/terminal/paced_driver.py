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
from contextlib import suppress
from math import inf
from threading import Event, Lock
from time import monotonic
from typing import Final, Protocol

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.constants import DISABLE_KITTY_KEY
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys
from textual.message import Message

from agent_tui.model.inert import inert_line
from widgets.terminal.hold import Hold
from widgets.terminal.output import Output
from widgets.terminal.pace import Pace
from widgets.terminal.private import driver_of

ENDS_FRAME: Final = "\x1b[?2026l"  # if the terminal can hold frames back
# What every terminal answers, in the order of the questions: its status (CSI 0n or 3n), and its type,
# CSI ? n;…c (ECMA-48 8.3.35 and 8.3.24, xterm's control sequences).
ASKS_STATUS: Final = "\x1b[5n"
ASKS_IDENTITY: Final = "\x1b[c"
ANSWERS: Final = {
    ASKS_STATUS: re.compile(r"\x1b\[[03]n"),
    ASKS_IDENTITY: re.compile(r"\x1b\[\?[\d;]*c"),
}
IDENTITY_BEGUN: Final = re.compile(r"\x1b\[\?[\d;]{1,100}")
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
PASTE_BEGINS: Final = "\x1b[200~"  # xterm's "bracketed paste mode"
PASTE_ENDS: Final = "\x1b[201~"
ESCAPE: Final = "\x1b"
ESCAPE_SHOWN: Final = "\N{SYMBOL FOR ESCAPE}"  # as ``inert`` shows it
PARSER_CHARACTERS: Final = 24  # of a sequence; Textual's parser takes one with more than 32 for keys
UNSEEN_RATE: Final = 10_000.0  # characters a second: the assumed rate of a line that cannot be measured
EARLY_SECONDS: Final = 2.0  # for answers that are still on their way when the screen begins
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
    """Whether tmux or screen runs over SSH: it answers and takes everything at once, whatever the speed of
    the line.
    """
    has_multiplexer = bool(environ.get("TMUX") or environ.get("STY"))
    return has_multiplexer and bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))


class AnswerParser(XTermParser):
    """Textual's parser, which also knows the answers to our questions. Pasted text is neither an answer nor a
    key: Textual's takes what follows an ``ESC`` in it for keys, and tmux, for one, does not keep these out.
    """

    def __init__(self, answered: Callable[[str], None]) -> None:
        """``answered`` gets the question that an answer belongs to."""
        super().__init__()
        self._answered = answered
        self._begun = ""  # of an answer that is too long for Textual's parser
        self._is_pasting = False
        # The last characters, if a paste may begin or end with them; those of an end are not parsed yet.
        self._tail = ""

    def feed(self, data: str) -> Iterable[Message]:
        """Parse what came; an empty text means the end."""
        passed = self._with_plain_pastes(data)
        return super().feed(passed) if passed or not data else ()

    def _with_plain_pastes(self, data: str) -> str:
        """Return ``data`` with visible escape characters inside pastes, wherever these are divided."""
        passed = ""
        while data:
            mark = PASTE_ENDS if self._is_pasting else PASTE_BEGINS
            tail = self._tail
            text, found, data = (tail + data).partition(mark)
            begun = (mark[:length] for length in range(len(mark) - 1, 0, -1))
            self._tail = "" if found else next(filter(text.endswith, begun), "")
            if self._is_pasting:
                passed += text.removesuffix(self._tail).replace(ESCAPE, ESCAPE_SHOWN) + found
            else:
                passed += (text + found)[len(tail) :]
            self._is_pasting = self._is_pasting != bool(found)
        return passed

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        text = self._begun + sequence
        for question, answer in ANSWERS.items():
            if answer.fullmatch(text):
                self._begun = ""
                self._answered(question)
                return [events.Key(Keys.Ignore, None)]
        if IDENTITY_BEGUN.fullmatch(text) and len(text) >= PARSER_CHARACTERS:
            self._begun = text
            return [events.Key(Keys.Ignore, None)]
        self._begun = ""
        if (key := KEY_EVENT.fullmatch(sequence)) is not None:
            code, modifiers, what, rest = key.groups()
            held = "" if modifiers == "1" else modifiers
            keys = super()._sequence_to_key_events(f"\x1b[{code};{held}{rest}", alt)
            if what == RELEASED:
                return [events.Key(f"{event.key}{RELEASED_KEY}", None) for event in keys]
            return keys
        return super()._sequence_to_key_events(sequence, alt)


def name_window(app: App[object], title: str) -> None:
    driver = driver_of(app)
    if isinstance(driver, PacedDriver):
        driver.name_window(title)


def tell_releases(app: App[object], is_wanted: bool) -> None:
    driver = driver_of(app)
    if isinstance(driver, PacedDriver) and not DISABLE_KITTY_KEY:
        driver.tell_releases(is_wanted)


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
        self._owes_identity = False  # an answer that was asked for before the screen began

    def start_application_mode(self) -> None:
        """Take the terminal, at the start and after each suspension."""
        self._is_leaving = False
        assert self._file is not None, "a program in a terminal has its stderr"
        self._output = Output(self._file.fileno(), self._file.encoding, self._took)
        self._output.start()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # as Textual has it
        if self.input_tty:
            with self._asking:
                self._ask(ASKS_STATUS)

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
        if self._output is None or not self._output.is_open:  # lent to another program
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
                self._ask(ASKS_STATUS)

    def is_behind(self) -> bool:
        """Whether the terminal has not yet taken what it was given. Asks again if an answer may be lost."""
        now = monotonic()
        with self._asking:
            if not self._is_leaving and self.pace.may_ask_again(now):
                self._ask(ASKS_IDENTITY if self.pace.is_open(ASKS_STATUS) else ASKS_STATUS)
        return self.pace.is_behind(now)

    def _ask(self, question: str) -> None:
        self._is_answered.clear()
        self.pace.asked(question, monotonic())
        self.write(question)

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

    def _answer_came(self, question: str) -> None:
        """Note an answer. Runs in the reading thread, so that answers are timed exactly."""
        now = monotonic()
        if question == ASKS_IDENTITY and self._owes_identity:  # it was asked before the screen began
            self._owes_identity = False
            return
        with self._asking:
            self.pace.answered(question, now)
            if not self.pace.is_asked:
                self._is_answered.set()

    def run_input_thread(self) -> None:
        """Read what the terminal sends until the screen ends, with one parser: with two, a key or a paste
        that begins while answers are still expected would be lost.
        """
        parser = AnswerParser(self._answer_came)
        decode = getincrementaldecoder("utf-8")("replace").decode
        early, self._early = self._early, None
        self._owes_identity = early is not None and not early.is_answered
        deadline = monotonic() + EARLY_SECONDS
        typed: bytes | None = early.sift(b"") if early else b""
        while typed is not None:
            if early is None or early.is_answered:
                self._is_early_answered.set()
            if early is not None and early.is_answered:
                self._owes_identity = False
            if text := decode(typed):  # an empty text means the end to the parser
                for event in parser.feed(text):
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)
            typed = None if self.exit_event.is_set() else self._read()
            if early is not None and typed is not None:
                typed = early.sift(typed) if typed else early.release()
                if early.is_settled or monotonic() > deadline:
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
