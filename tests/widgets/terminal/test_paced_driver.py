"""What stands in the bytes of a terminal that answers, that is slow to answer, and that never does."""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from textual import events

from tests.fakes.terminal import ASKS_SYNC, IS_VT220, IS_WELL, KNOWS_SYNC, LEAVES_SCREEN, Terminal
from tests.tui.programs import own_environ
from widgets.terminal.pace import CHOKED_CHARACTERS, FIRST_ANSWERS
from widgets.terminal.paced_driver import (
    ASKS_IDENTITY,
    ASKS_STATUS,
    ENDS_FRAME,
    KEEPS_TITLE,
    RESTORES_TITLE,
    AnswerParser,
    hides_line,
)

pytestmark = pytest.mark.slow

PROGRAM = """
import os
os.environ["TEXTUAL_FPS"] = "240"
from textual.app import App
from widgets.terminal.frame_clock import FrameClock
from widgets.terminal.paced_driver import name_window
from widgets.transcript.transcript import Transcript

class Early:
    is_settled = is_answered = {settled}
    typed = b"\\x1b[1;2Pw\\xc3\\xa9"
    begun = b""
    def sift(self, data):
        self.is_answered |= b"LATE-ANSWER" in data
        typed, self.typed = self.typed + self.begun + data.replace(b"LATE-ANSWER", b""), b""
        self.begun = typed[-1:] if typed.endswith(b"\\x1b") else b""
        self.is_settled |= bool(self.begun)
        return typed[: len(typed) - len(self.begun)]
    def release(self):
        begun, self.begun = self.begun, b""
        return begun

class Program(App):
    def __init__(self):
        super().__init__()
        self.clock = FrameClock.for_app(self)
        self.early_input = Early() if {early} else None
        self.keys = ""
    def compose(self):
        yield Transcript(clock=self.clock)
    def on_ready(self):
        pane = self.query_one(Transcript)
        pane.turn_opened("t")
        if not {early}:
            self.set_interval(1 / 60, lambda: pane.text_added("t", "word "))
    def on_key(self, event):
        self.keys += f"<{{event.key}}>"
        self.query_one(Transcript).text_replaced("t", self.keys)
        if event.key in ("t", "T"):
            name_window(self, "one\\x1b]0;two\\x07" if event.key == "t" else "three")
        if event.key == "q":
            os.write(1, b"leaving")
            self.exit()
    def on_paste(self, event):
        self.keys += f"[{{event.text}}]"
        self.query_one(Transcript).text_replaced("t", self.keys)

Program().run()
"""
PAINTER = """
import os, sys
from textual.app import App
from textual.widgets import Static
from widgets.terminal.frame_clock import FrameClock

class Program(App):
    ticks = most = 0
    def __init__(self):
        super().__init__()
        self.clock = FrameClock.for_app(self)
    def compose(self):
        yield Static(id="all", markup=False)
    def on_ready(self):
        self.set_interval(1 / 60, self.tick)
    def tick(self):
        self.ticks += 1
        row = f"<{self.ticks:03}>" * 18 + "\\n"
        if self.ticks <= 300:
            self.query_one(Static).update(row * 30, layout=self.ticks == 1)
        self.most = max(self.most, self._driver.pace.waiting)
        if self.ticks == 300:
            with open(sys.argv[1], "w") as told:
                told.write(str(self.most))
    def on_key(self, event):
        self.exit()

Program().run()
"""
STATUS, IDENTITY, FRAME = ASKS_STATUS.encode(), ASKS_IDENTITY.encode(), ENDS_FRAME.encode()
MOVES = re.compile(rb"\x1b\[\d+;\d+H")  # Textual moves the cursor behind what it painted
LONG_IDENTITY = b"\x1b[?61;6;7;14;21;22;23;24;28;32;42c"  # Windows Terminal


class Slow(Terminal):
    """A terminal that answers the first ``patience`` questions for its status, then nothing by itself; held
    frames it knows if ``knows_sync``.
    """

    patience = 0
    knows_sync = True

    def answer(self, data: bytes) -> None:
        if self.knows_sync and ASKS_SYNC in data:
            os.write(self._terminal, KNOWS_SYNC)
        before = self.raw.count(STATUS) - data.count(STATUS)
        for _ in range(min(data.count(STATUS), self.patience - before)):
            self.say(IS_WELL)

    def say(self, answer: bytes) -> None:
        """Answer one question."""
        os.write(self._terminal, answer)

    def paints(self, after: int = 0) -> int:
        """Return how often something was painted behind the first ``after`` bytes."""
        return len(MOVES.findall(self.raw[after:]))

    def read_until_quiet(self, seconds: float) -> None:
        """Read until nothing came for ``seconds``."""
        while self._read(seconds):
            pass


@contextmanager
def slow(
    folder: Path, patience: int, *, early: bool = False, settled: bool = True, knows_sync: bool = True
) -> Iterator[Slow]:
    program = PROGRAM.format(early=early, settled=settled)
    opened = Slow([sys.executable, "-P", "-c", program], own_environ(folder), 60, 10, folder)
    opened.patience, opened.knows_sync = patience, knows_sync
    try:
        yield opened
    finally:
        opened.close()


def test_the_title_of_the_terminal_is_inert_and_its_own_is_restored_at_the_end(tmp_path: Path) -> None:
    with slow(tmp_path, 1000) as view:
        view.wait_for("word")
        view.send("t")
        view.wait_for(lambda _: b"\x1b]2;one" in view.raw)
        view.send("T")
        view.wait_for(lambda _: b"\x1b]2;three\x07" in view.raw)
        view.send("q")
        view.wait_for(lambda _: LEAVES_SCREEN in view.raw)
        raw = bytes(view.raw)
    assert b"\x1b]0;" not in raw
    assert raw.count(KEEPS_TITLE.encode()) == raw.count(RESTORES_TITLE.encode()) == 1
    assert raw.index(b"\x1b]2;three\x07") < raw.index(RESTORES_TITLE.encode())


def test_a_terminal_that_answers_is_asked_behind_frames_only_and_not_behind_each(tmp_path: Path) -> None:
    with slow(tmp_path, 1000) as view:
        view.wait_for(lambda _: view.raw.count(STATUS) >= FIRST_ANSWERS + 4)
        raw = bytes(view.raw)
    assert raw.count(FRAME + STATUS) >= raw.count(STATUS) - 2  # the first comes with the screen
    assert raw.count(FRAME) > raw.count(FRAME + STATUS)


@pytest.mark.parametrize("knows_sync", [True, False])
def test_a_terminal_that_owes_an_answer_gets_no_more_frames_until_it_has_answered(
    tmp_path: Path, knows_sync: bool
) -> None:
    with slow(tmp_path, 4, knows_sync=knows_sync) as view:
        view.wait_for(lambda _: view.raw.count(STATUS) == 5)
        asked = view.raw.rindex(STATUS)
        view.wait_for_bytes(IDENTITY, asked)  # the status may be lost
        before = len(view.raw)
        view.read_until_quiet(0.6)
        assert view.paints(asked) <= 12  # those until the answer was overdue
        assert view.paints(before) == 0
        assert view.raw.count(STATUS) == 5
        view.say(IS_WELL)
        view.wait_for(lambda _: view.paints(before) > 0)


def test_a_lost_answer_is_not_waited_for_once_a_later_question_is_answered(tmp_path: Path) -> None:
    with slow(tmp_path, 4) as view:
        view.wait_for_bytes(IDENTITY)
        before = len(view.raw)
        view.patience = 1000
        view.say(LONG_IDENTITY)
        view.wait_for(lambda _: view.raw[before:].count(STATUS) >= 3)
        assert view.raw.count(IDENTITY) == 1
        view.send("n")
        view.wait_for("<n>")
        assert "<1>" not in view.text  # no part of an answer is a key


def test_what_looks_like_an_answer_in_a_paste_is_none(tmp_path: Path) -> None:
    with slow(tmp_path, 4) as view:
        view.wait_for_bytes(IDENTITY)
        before = len(view.raw)
        pasted = IS_WELL.decode() + IS_VT220.decode()
        view.send(f"\x1b[200~{pasted}\x1b[201~")
        view.read_until_quiet(0.6)
        assert STATUS not in view.raw[before:]
        view.say(IS_WELL)
        view.wait_for_bytes(STATUS, before)


def test_keys_between_the_bytes_of_answers_are_keys(tmp_path: Path) -> None:
    with slow(tmp_path, 4) as view:
        view.wait_for_bytes(IDENTITY)
        view.patience = 1000
        view.send(f"a\x1b{IS_WELL.decode()}b{LONG_IDENTITY.decode()}c\x1b[A")
        view.wait_for("<a><escape><b><c><up>")


def test_a_terminal_that_never_answers_is_not_asked_and_gets_its_frames(tmp_path: Path) -> None:
    with slow(tmp_path, 0, knows_sync=False) as view:
        view.wait_for(lambda text: text.count("word") >= 60)
        assert view.raw.count(STATUS) == 1
        assert IDENTITY not in view.raw
        assert FRAME not in view.raw


@pytest.mark.parametrize(
    ("environ", "is_hidden"),
    [
        ({"TMUX": "/tmp/s,1,0", "SSH_CONNECTION": "1 2 3 4"}, True),
        ({"STY": "1.pts", "SSH_TTY": "/dev/pts/1"}, True),
        ({"TMUX": "/tmp/s,1,0"}, False),
        ({"SSH_CONNECTION": "1 2 3 4"}, False),
    ],
)
def test_a_multiplexer_behind_ssh_hides_the_line(environ: dict[str, str], is_hidden: bool) -> None:
    assert hides_line(environ) is is_hidden


def test_the_screen_is_not_left_before_the_open_question_is_answered(tmp_path: Path) -> None:
    with slow(tmp_path, 4) as view:
        view.wait_for(lambda _: view.raw.count(STATUS) == 5)
        view.send("q")
        view.wait_for_bytes(b"leaving")
        view.read_until_quiet(0.25)
        assert LEAVES_SCREEN not in view.raw
        view.say(IS_WELL)
        if IDENTITY in view.raw:
            view.say(IS_VT220)
        assert view.wait_for_end() == 0
        assert b"[0n" not in view.raw  # no echo
        assert view.is_as_before()


def test_what_was_typed_before_the_screen_began_comes_first(tmp_path: Path) -> None:
    with slow(tmp_path, 4, early=True) as view:
        view.wait_for("<shift+f1><w><é>")
        view.send("n")
        view.wait_for("<shift+f1><w><é><n>")


def test_answers_that_come_late_are_no_keys(tmp_path: Path) -> None:
    with slow(tmp_path, 4, early=True, settled=False) as view:
        view.wait_for("<é>")
        view.send("aLATE-ANSWERb")
        view.wait_for("<a><b>")
        assert "<L>" not in view.text


def test_a_screen_that_ends_at_once_waits_for_the_answers_to_what_was_asked_before_it(tmp_path: Path) -> None:
    with slow(tmp_path, 4, early=True, settled=False) as view:
        view.wait_for("<é>")
        view.send("q")
        view.wait_for_bytes(b"leaving")
        view.read_until_quiet(0.25)
        assert LEAVES_SCREEN not in view.raw
        view.send("LATE-ANSWER")
        assert view.wait_for_end() == 0
        assert b"LATE-ANSWER" not in view.raw  # no echo
        assert view.is_as_before()


def test_a_key_that_looked_like_the_last_answer_is_a_key(tmp_path: Path) -> None:
    with slow(tmp_path, 4, early=True, settled=False) as view:
        view.wait_for("<é>")
        view.send("\x1b")  # nothing else is expected once it came
        view.wait_for("<escape>")
        view.send("n")
        view.wait_for("<escape><n>")


def test_what_is_pasted_while_the_last_answer_comes_is_whole(tmp_path: Path) -> None:
    with slow(tmp_path, 4, early=True, settled=False) as view:
        view.wait_for("<é>")
        view.send("\x1b[200~one\x1b")
        view.send("[201~n")
        view.wait_for("[one]<n>")


def test_a_terminal_that_takes_nothing_stops_neither_the_program_nor_its_last_picture(tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    ear = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    command = [sys.executable, "-P", "-c", PAINTER, str(told)]
    with closing(Terminal(command, own_environ(tmp_path), 100, 40, tmp_path)) as view:
        view.wait_for("<00")
        ready, _, _ = select.select([ear], [], [], 30)  # the terminal reads nothing meanwhile
        assert ready, "the program stands still"
        most = int(os.read(ear, 100))
        os.close(ear)
        assert CHOKED_CHARACTERS < most <= CHOKED_CHARACTERS + 3 * 100 * 40  # a few paints, not hundreds
        view.wait_for(lambda text: text.count("<300>") == 18 * 30)
        view.send("q")
        assert view.wait_for_end() == 0
        assert LEAVES_SCREEN in view.raw
        assert view.is_as_before()


@pytest.mark.parametrize(
    ("sequence", "key", "character"),
    [
        ("\x1b[32;1:1;32u", "space", " "),
        ("\x1b[32;1:2;32u", "space", " "),
        ("\x1b[32;1:3u", "space_released", None),
        ("\x1b[32;:3u", "space_released", None),
        ("\x1b[109;1:1;109u", "m", "m"),
        ("\x1b[109;1:3u", "m_released", None),
        ("\x1b[109;5:1u", "ctrl+m", None),
        ("\x1b[1;1:1A", "up", None),
        ("\x1b[1;1:3A", "up_released", None),
        ("\x1b[13;1:1u", "enter", "\r"),
        ("\x1b[32u", "space", None),
    ],
)
def test_keys_that_come_with_what_happened_to_them_are_told_apart(
    sequence: str, key: str, character: str | None
) -> None:
    parser = AnswerParser(lambda question: None)
    found = [event for event in parser.feed(sequence) if isinstance(event, events.Key)]
    assert [event.key for event in found] == [key]
    if character is not None:
        assert found[0].character == character


PASTED = "a\x1b[31m\x1b\x1b[20y\x1bqb"


@pytest.mark.parametrize("at", range(len(PASTED) + 14))
def test_an_escape_character_in_a_paste_is_text_and_makes_no_key_of_what_follows(at: int) -> None:
    parser = AnswerParser(lambda question: None)
    sent = f"x\x1b[200~{PASTED}\x1b[201~\x1b[200~c\x1b[201~y"
    found = [*parser.feed(sent[:at])] if at else []  # it may come in two pieces
    found += parser.feed(sent[at:])
    keys = [event.key for event in found if isinstance(event, events.Key)]
    pastes = [event.text for event in found if isinstance(event, events.Paste)]
    assert keys == ["x", "y"]
    assert pastes == [PASTED.replace("\x1b", "␛"), "c"]
