"""What reaches a terminal that takes its time, through a pipe that nobody reads at first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from threading import Event

import pytest

from widgets.terminal.output import PIECE_CHARACTERS, Output

MUCH = "".join(f"<{number} é 字>" for number in range(40_000))  # more than any pipe holds


class Line:
    """A pipe with an ``Output`` at its one end."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.taken: list[int] = []
        self.took_first = Event()
        self.output = Output(self.writer, "utf-8", self._took)

    def _took(self, size: int) -> None:
        self.taken.append(size)
        self.took_first.set()

    def read(self, size: int) -> bytes:
        """Read exactly ``size`` bytes."""
        data = b""
        while len(data) < size:
            data += os.read(self.reader, size - len(data))
        return data


@pytest.fixture
def line() -> Iterator[Line]:
    line = Line()
    yield line
    if not line.output.is_given_up:
        line.output.stop(0.01)
    for end in (line.reader, line.writer):
        os.close(end)


def test_writing_never_waits_and_everything_comes_in_order(line: Line) -> None:
    line.output.start()
    for start in range(0, len(MUCH), 1000):
        line.output.write(MUCH[start : start + 1000])
    line.output.write("end")
    expected = (MUCH + "end").encode()
    assert line.read(len(expected)) == expected
    line.output.stop()
    assert sum(line.taken) == len(MUCH) + 3
    assert max(line.taken) <= PIECE_CHARACTERS


def test_everything_written_before_the_end_is_written(line: Line) -> None:
    line.output.write("one ")
    line.output.write("two")
    line.output.start()
    line.output.stop()
    assert not line.output.is_alive()
    line.output.write("after")
    assert not line.output.is_open
    os.close(line.writer)
    line.writer = os.open(os.devnull, os.O_WRONLY)  # something for the fixture to close
    assert os.read(line.reader, 100) == b"one two"


def test_a_terminal_that_takes_nothing_at_the_end_is_not_waited_for(line: Line) -> None:
    line.output.start()
    line.output.write(MUCH)
    assert line.took_first.wait(10)
    line.output.stop(0.05)
    assert line.output.is_given_up
    assert sum(line.taken) < len(MUCH)


def test_what_a_terminal_that_is_gone_would_have_got_is_dropped(line: Line) -> None:
    os.close(line.reader)
    line.reader = os.open(os.devnull, os.O_RDONLY)
    line.output.start()
    line.output.write(MUCH)
    line.output.stop()
    assert not line.output.is_alive()
    assert sum(line.taken) == len(MUCH)  # nothing is waited for


def test_characters_without_an_encoding_stop_nothing(line: Line) -> None:
    line.output.start()
    line.output.write("a\ud800b")
    assert line.read(8) == rb"a\ud800b"


def test_a_library_that_sends_the_descriptor_elsewhere_swallows_nothing(line: Line) -> None:
    line.output.start()
    line.output.write("before ")
    assert line.read(7) == b"before "
    kept, nowhere = os.dup(line.writer), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, line.writer)  # as sounddevice does with descriptor 2 while PortAudio begins
    line.output.write("meanwhile ")
    line.output.write("after")
    line.output.stop()
    os.dup2(kept, line.writer)
    for copy in (kept, nowhere):
        os.close(copy)
    os.set_blocking(line.reader, False)
    assert line.read(15) == b"meanwhile after"
