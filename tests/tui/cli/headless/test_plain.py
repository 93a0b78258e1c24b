"""``--plain``: a room or a chat as lines; nothing in its bytes moves a cursor or paints."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tui.programs import PROGRAM, SECONDS, Home, home_at, one_line

pytestmark = pytest.mark.slow

TASK = "Rewrite the onboarding mail"
FORBIDDEN = {0x1B, 0x08, 0x07, 0x0D, 0x9B}


@dataclass(slots=True)
class Plain:
    """A program in plain mode. ``read`` and ``write`` are descriptors of what it says and hears."""

    process: subprocess.Popen[bytes]
    output: int
    input: int
    seen: bytes = b""

    def until(self, words: str, times: int = 1) -> str:
        """Read until ``words`` were written so often; return all that was written."""
        while self.seen.count(words.encode()) < times:
            data = os.read(self.output, 65_536)
            assert data, self.seen.decode()
            self.seen += data
        return self.seen.decode()

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self.input, f"{line}\n".encode())

    def ended(self) -> int:
        """Read to the end; return the exit code."""
        while True:
            try:
                data = os.read(self.output, 65_536)
            except OSError:  # the other side of a terminal is closed
                data = b""
            if not data:
                return self.process.wait(SECONDS)
            self.seen += data

    def check_bytes(self) -> None:
        """Nothing that was written does more than write."""
        assert not FORBIDDEN & set(self.seen)
        self.seen.decode()


@contextmanager
def plain(home: Home, *arguments: str, by: str = "pipe") -> Iterator[Plain]:
    """Start the program, its streams being pipes or a terminal that changes no byte."""
    if by == "pty":
        master, slave = pty.openpty()
        tty.setraw(slave)
        streams, ours = (slave, slave), (master, master)
    else:
        (hears, typed), (said, writes) = os.pipe(), os.pipe()
        streams, ours = (hears, writes), (said, typed)
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        env=home.environ,
        cwd=home.folder,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[1],
    )
    for descriptor in set(streams):
        os.close(descriptor)
    try:
        yield Plain(process, ours[0], ours[1])
    finally:
        process.kill()
        process.wait(SECONDS)
        for descriptor in set(ours):
            os.close(descriptor)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with home_at(tmp_path_factory.mktemp("plain"), begun=True) as one:
        yield one


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home where the demo speaks slowly enough to be paused."""
    with home_at(tmp_path_factory.mktemp("slow"), rate="40", begun=True) as one:
        yield one


@pytest.mark.parametrize("by", ["pipe", "pty"])
def test_a_room_is_told_in_lines_by_name_to_its_end(home: Home, by: str) -> None:
    room = home.new_room(TASK, max_rounds=1, synthesis=True, name=f"Mail by {by}")
    with plain(home, "rooms", room, "--plain", by=by) as program:
        program.until("/resume starts it")
        program.type("/resume")
        said = program.until("Nothing is decided")
        assert program.ended() == 0
    program.check_bytes()
    lines = said.splitlines()
    assert lines[0] == f"Mail by {by} – agents: Engineer, Critic, Writer"
    assert [line for line in lines if line in ("Engineer:", "Critic:", "Writer:")] == [
        "Engineer:",
        "Critic:",
        "Writer:",
    ]
    assert "round 1 of 1" in lines


def test_a_room_that_is_over_is_read_and_left(home: Home) -> None:
    room = home.new_room(TASK, max_rounds=1)
    home.main("rooms", "run", room)
    done = home.run("rooms", room, "--plain")
    assert done.returncode == 0, done
    assert f"You: {TASK}" in done.stdout
    assert done.stdout.endswith("the room is done\n")
    assert done.stderr == ""


@pytest.mark.parametrize("by", ["pipe", "pty"])
def test_what_is_typed_pauses_resumes_and_is_said(slow: Home, by: str) -> None:
    room = slow.new_room(TASK, name=f"Slow by {by}")
    with plain(slow, "rooms", room, "--plain", by=by) as program:
        program.until("/resume starts it")
        program.type("/resume")
        program.until("Engineer:")
        program.type("/pause")
        program.until("Engineer was cut off\npaused\n")
        program.until("/resume starts it", 2)
        assert slow.room(room)["status"] == "paused"
        program.type("/nothing")
        program.until("/nothing: unknown command")
        program.type("Mind the tone")
        program.until("sent, everyone reads it")
        assert slow.room(room)["queue"][0]["content"] == "Mind the tone"
        assert "Engineer was cut off\nType a line" in slow.run("rooms", room, "--plain").stdout
        program.type("/resume")
        program.until("Critic:")
        program.type("/quit")
        assert program.ended() == 0
    program.check_bytes()


def test_ctrl_c_pauses_the_room_and_ends(slow: Home) -> None:
    room = slow.new_room(TASK)
    with plain(slow, "rooms", room, "--plain") as program:
        program.until("/resume starts it")
        program.type("/resume")
        program.until("Engineer:")
        program.process.send_signal(signal.SIGINT)
        assert program.ended() == 3
    assert slow.room(room)["status"] == "paused"
    program.check_bytes()


def test_ctrl_c_stops_an_answer_and_ends(slow: Home) -> None:
    with plain(slow, "chat", "--new", "--plain") as program:
        program.until("Type a question")
        program.type("Who are you?")
        program.until("demo model", 3)  # with the name above it, in the answer
        program.process.send_signal(signal.SIGINT)
        assert program.ended() == 3
    assert "stopping the answer" in program.seen.decode()
    program.check_bytes()
    seen_again = slow.run("chat", "--plain").stdout
    assert "You:\nWho are you?\n\ndemo model:\n" in seen_again
    assert "\n\ndemo model was cut off\nType a question" in seen_again


def test_ctrl_c_in_a_terminal_stops_an_answer_and_the_second_one_leaves(slow: Home) -> None:
    with plain(slow, "chat", "--new", "--plain", by="pty") as program:
        program.until("Type a question")
        program.type("Who are you?")
        program.until("demo model", 3)  # with the name above it, in the answer
        program.process.send_signal(signal.SIGINT)
        program.until("stopped by you")
        program.type("/help")
        program.until("Type a question", 2)
        program.process.send_signal(signal.SIGINT)
        program.until("nothing to stop")
        program.process.send_signal(signal.SIGINT)
        assert program.ended() == 3
    program.check_bytes()


@pytest.mark.parametrize(("command", "speaks"), [("rooms", "Engineer:"), ("chat", "demo model:")])
def test_ctrl_d_in_a_terminal_leaves_at_once_while_somebody_speaks(
    slow: Home, command: str, speaks: str
) -> None:
    wanted = slow.new_room(TASK) if command == "rooms" else "--new"
    with plain(slow, command, wanted, "--plain", by="pty") as program:
        mode = termios.tcgetattr(program.input)
        mode[3] |= termios.ICANON
        termios.tcsetattr(program.input, termios.TCSANOW, mode)
        program.until("Type a")
        program.type("/resume" if command == "rooms" else "Who are you?")
        program.until(speaks)
        os.write(program.input, b"\x04")
        assert program.ended() == 0
    assert b"Critic:" not in program.seen
    assert b"f4" not in program.seen
    program.check_bytes()


@pytest.mark.parametrize("by", ["pipe", "pty"])
def test_a_chat_answers_line_by_line_and_asks_before_it_acts(home: Home, by: str) -> None:
    with plain(home, "chat", "--new", "--plain", by=by) as program:
        program.until("Type a question")
        program.type("what is 17 * 23")
        program.until("**391**")
        program.type("write notes.txt: hello")
        program.until("demo model needs approval:")
        program.until("Type y (once)")
        program.type("perhaps")
        program.until("Type y (once)", 2)
        assert not Path(home.folder, "notes.txt").exists()
        program.type("y")
        program.until("Done. notes")
        program.type("write notes.txt: bye")
        program.until("Type y (once)", 3)
        program.type("n not that")
        program.until("not that")
        program.type("/quit")
        assert program.ended() == 0
    assert Path(home.folder, "notes.txt").read_text(encoding="utf-8") == "hello\n"
    Path(home.folder, "notes.txt").unlink()
    program.check_bytes()


def test_a_new_chat_that_was_asked_nothing_is_not_kept(home: Home) -> None:
    before = chats_of(home)
    with plain(home, "chat", "--new", "--plain") as program:
        program.until("Type a question")
        program.type("/quit")
        assert program.ended() == 0
    assert chats_of(home) == before


def chats_of(home: Home) -> set[str]:
    return {chat["id"] for chat in home.api("GET", "/api/conversations")["conversations"]}


@pytest.mark.parametrize("leaves", ["", "/quit\n"])
def test_what_was_asked_through_a_pipe_is_answered_before_it_is_left(home: Home, leaves: str) -> None:
    done = home.run("chat", "--new", "--plain", stdin=f"what is 2 + 2\n{leaves}")
    assert done.returncode == 0, done
    assert "**4**" in done.stdout
    assert done.stderr == ""


def test_that_an_mcp_server_is_missing_is_said_before_the_first_answer_only(tmp_path: Path) -> None:
    with home_at(tmp_path, begun=True) as home:
        with home.config.open("a", encoding="utf-8") as file:
            file.write('[mcp.gone]\ncommand = "no-such-program"\n')
        done = home.run("chat", "--new", "--plain", stdin="what is 2 + 2\nwhat is 3 + 3\n")
    assert "**6**" in done.stdout
    assert done.stdout.count("MCP server gone: ") == 1


def test_what_asks_behind_the_end_of_the_input_is_denied(home: Home) -> None:
    done = home.run("chat", "--new", "--plain", stdin="write late.txt: hello\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "demo model needs approval: " in done.stdout
    assert "denied, no one is left to ask: " in done.stdout
    assert not Path(home.folder, "late.txt").exists()


def test_a_room_that_stands_notices_that_somebody_else_resumed_it(slow: Home) -> None:
    room = slow.new_room(TASK)
    with plain(slow, "rooms", room, "--plain") as program:
        program.until("/resume starts it")
        with plain(slow, "rooms", room, "--plain") as other:
            other.until("/resume starts it")
            other.type("/resume")
            program.until("the room was resumed\nround 1 of 3")
            program.until("Engineer:")
            program.type("/resume")
            program.until("the room is already running")
            program.type("/pause")
            other.until("Engineer was cut off\npaused\n")
        program.until("/resume starts it", 2)
        program.type("/resume")
        program.until("Critic:")
        program.type("/quit")
        assert program.ended() == 0


def test_a_room_that_stands_is_left_at_the_end_of_the_input(slow: Home) -> None:
    done = slow.run("rooms", slow.new_room(TASK), "--plain", stdin="/nothing\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "/nothing: unknown command" in done.stdout


@pytest.mark.parametrize("command", ["rooms", "chat"])
def test_what_goes_wrong_is_said_on_stderr(home: Home, command: str) -> None:
    done = home.run(command, "--plain", "nosuchone")
    assert (done.returncode, done.stdout) == (4, "")
    assert "nosuchone" in one_line(done.stderr)


def test_without_a_room_that_is_meant_one_has_to_be_named(home: Home) -> None:
    home.new_room(TASK)
    home.new_room(TASK)
    done = home.run("rooms", "--plain")
    assert done.returncode == 2
    assert "there are several rooms" in done.stderr
