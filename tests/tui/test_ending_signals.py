"""Signals that end a screen, sent at every stage of its life: the terminal is always as it was before."""

from __future__ import annotations

import re
import signal
import sys
from itertools import product
from pathlib import Path

import pytest

from tests.fakes.terminal import ENTERS_SCREEN, LEAVES_SCREEN, Terminal, terminal
from tests.thorough import THOROUGH, of_many
from tests.tui.programs import own_environ
from tui.background import ASKS

pytestmark = pytest.mark.slow

# Sends itself a signal at its N-th function call, and prints how many calls there were.
PROGRAM = """
import atexit, os, sys
at, number = int(sys.argv.pop(1)), int(sys.argv.pop(1))
calls = 0
def count(frame, event, argument):  # returns no function for the lines: it is told of calls alone
    global calls
    calls += 1
    if calls == at:
        sys.settrace(None)
        os.kill(os.getpid(), number)
def told():
    sys.settrace(None)
    print("calls:", calls, flush=True)
atexit.register(told)
from tui.__main__ import program
sys.settrace(count)
program()
"""
NOBODY = [
    "rooms",
    "--url",
    "http://127.0.0.1:9",
]  # a server that does not answer: the screen stays and says so
NUMBERS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
NEVER = 1 << 60
STEPS = 48 if THOROUGH else 16  # each signal comes in every quarter of a start
MILESTONES = (ASKS, ENTERS_SCREEN, b"\x1b[?2004h", b"127.0.0.1:9")
EVERY = tuple(product(MILESTONES, NUMBERS))
# Only ctrl+c is also taken by Python and by asyncio; the others go one way, whatever their number.
EVERY_DAY = (
    *((milestone, signal.SIGINT) for milestone in MILESTONES),
    *zip(MILESTONES, (*NUMBERS[:3], signal.SIGTERM), strict=True),
)


def opened(folder: Path, at: int, number: int) -> list[str]:
    return [sys.executable, "-P", "-c", PROGRAM, str(at), str(number), *NOBODY]


def left_on(raw: bytes) -> list[bytes]:
    """Return the modes that were set and not put back, of all that a program wrote."""
    last = dict(re.findall(rb"\x1b\[\?(\d+)([hl])", raw))
    usual = (b"7", b"25")  # lines wrap and the cursor is seen
    left = [mode for mode, state in last.items() if (state == b"l") == (mode in usual)]
    if len(re.findall(rb"\x1b\[>\d+u", raw)) > raw.count(b"\x1b[<u"):
        left.append(b"kitty keys")
    return left


def assert_tidy(view: Terminal) -> None:
    assert view.is_as_before()
    assert left_on(bytes(view.raw)) == []


def calls_of_a_start(folder: Path) -> int:
    """Return how many functions are called from the start to the first frame and until it is left again."""
    with terminal(opened(folder, NEVER, 0), own_environ(folder), folder) as view:
        view.send("q")  # typed ahead: the program leaves as soon as there is a screen
        assert view.wait_for_end() in (0, 5)
        found = re.search(rb"calls: (\d+)", bytes(view.raw))
        assert found
        assert_tidy(view)
        return int(found[1])


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> int:
    return calls_of_a_start(tmp_path_factory.mktemp("counted"))


@pytest.mark.parametrize("step", range(STEPS))
def test_a_signal_at_any_moment_of_a_start_leaves_the_terminal_as_it_was(
    tmp_path: Path, calls: int, step: int
) -> None:
    number = NUMBERS[(step + step // len(NUMBERS)) % len(NUMBERS)]
    at = max(1, calls * step // STEPS)
    with terminal(opened(tmp_path, at, number), own_environ(tmp_path), tmp_path) as view:
        view.send("q")
        code = view.wait_for_end()
        assert_tidy(view)
        assert (
            code in (0, 3, 5) or ASKS not in view.raw
        )  # the system's own end only where nothing was changed


@pytest.mark.parametrize(("milestone", "number"), of_many(EVERY, EVERY_DAY))
def test_a_signal_after_each_thing_that_a_start_writes_leaves_the_terminal_as_it_was(
    tmp_path: Path, milestone: bytes, number: signal.Signals
) -> None:
    command = [sys.executable, "-P", "-m", "tui", *NOBODY]
    with terminal(command, own_environ(tmp_path), tmp_path) as view:
        view.wait_for_bytes(milestone)
        view.kill(number)
        assert view.wait_for_end() == 3
        assert_tidy(view)
        assert "11;rgb" not in view.text  # no echo of an answer
        assert (ENTERS_SCREEN in view.raw) == (LEAVES_SCREEN in view.raw)
