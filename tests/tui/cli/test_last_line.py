"""The last line of defence: bugs, interrupts, readers that leave, disks that are full."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Literal

import pytest

from tests.fakes.servers.chat_server import OriginalChatServer, text
from tests.fakes.servers.rooms_server import OriginalRoomsServer, in_thread, run_events
from tests.tui.programs import PROGRAM, Home, one_line, own_environ
from tui import runtime
from tui.cli.headless.formats import Ending, Record, format_named
from tui.entry import end_of_nothing

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, own_environ(tmp_path))  # no command here starts a backend


def crashing(home: Home, error: str) -> subprocess.CompletedProcess[str]:
    code = f"""
import os, signal, sys, tui.startup
def fail(*_): raise {error}
tui.startup.open_screen = fail
from tui.__main__ import program
sys.argv = ["agent-tui"]
program()
"""
    return subprocess.run(
        [sys.executable, "-P", "-c", code], env=home.environ, capture_output=True, text=True, check=False
    )


def test_a_bug_is_one_line_and_only_its_place_is_in_the_log(home: Home) -> None:
    done = crashing(home, "RuntimeError('secret words')")
    assert (done.returncode, done.stdout) == (1, "")
    line = one_line(done.stderr)
    log = home.data / "agent-tui.log"
    assert str(log) in line
    assert "secret words" not in line
    logged = log.read_text(encoding="utf-8")
    assert "builtins.RuntimeError" in logged
    assert "secret words" not in logged
    assert log.stat().st_mode & 0o077 == 0


def test_a_bug_where_no_log_can_be_written_is_one_line_too(home: Home) -> None:
    home.data.write_text("in the way", encoding="utf-8")
    done = crashing(home, "RuntimeError()")
    assert done.returncode == 1
    assert one_line(done.stderr)


def test_a_process_ends_at_once_after_what_was_registered_for_its_end(home: Home) -> None:
    # Nothing of ours waits until Python takes its modules down one by one, which took a tenth of a second.
    (home.folder / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "class Last:\n"
        "    def __del__(self): sys.__stderr__.write('taken down\\n')\n"
        "last = Last()\n"
        "atexit.register(lambda: sys.stderr.write('registered\\n'))\n",
        encoding="utf-8",
    )
    paths = os.pathsep.join([str(home.folder), str(Path(runtime.__file__).parents[1])])
    done = home.run("config", "path", PYTHONPATH=paths)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{home.config}\n", "registered\n")


def test_serve_serves_without_a_stdout(home: Home) -> None:
    line = f"exec {shlex.join(PROGRAM)} serve >&-"
    with subprocess.Popen(["/bin/sh", "-c", line], env=home.environ, stderr=subprocess.PIPE) as serve:
        assert serve.stderr is not None
        assert serve.stderr.readline().startswith(b"agent-tui: the token is in ")
        serve.terminate()
        assert serve.wait() == 0


def test_an_interrupt_before_anything_ran_is_exit_code_3(home: Home) -> None:
    done = crashing(home, "KeyboardInterrupt")
    assert done.returncode == 3
    assert one_line(done.stderr) == "interrupted"


def test_an_interrupt_while_an_error_is_told_is_exit_code_3(home: Home) -> None:
    told = "lambda _: os.kill(os.getpid(), signal.SIGTERM)"
    error = f"type('Told', (__import__('agent_tui').model.errors.ConfigError,), {{'__str__': {told}}})('x')"
    done = crashing(home, error)
    assert (done.returncode, one_line(done.stderr)) == (3, "interrupted")


INTERRUPTED = """
import os, sys
module, number = sys.argv.pop(1), int(sys.argv.pop(1))
class Sender:
    def find_spec(self, name, *_):
        if name == module:
            os.kill(os.getpid(), number)
sys.meta_path.insert(0, Sender())
from tui.entry import program
program()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("module", ["tui.language", "tui.cli.commands.config"])
def test_a_signal_while_the_program_loads_or_runs_nothing_is_exit_code_3(
    home: Home, module: str, number: signal.Signals
) -> None:
    command = [sys.executable, "-P", "-c", INTERRUPTED, module, str(int(number)), "config", "path"]
    done = subprocess.run(command, env=home.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, one_line(done.stderr)) == (3, "", "interrupted")


@pytest.mark.parametrize("module", ["tui.language", "tui.cli.headless.interrupts"])
@pytest.mark.parametrize("form", ["json", "stream-json"])
@pytest.mark.parametrize(
    ("words", "about"),
    [
        (("--url", "http://127.0.0.1:9", "ask", "x"), {"conversation": None}),
        (("rooms", "run", "x"), {"room": None}),
    ],
)
def test_a_signal_before_a_run_begins_leaves_its_end(
    home: Home,
    module: str,
    form: Literal["json", "stream-json"],
    words: tuple[str, ...],
    about: dict[str, None],
) -> None:
    arguments = (*words, f"--output={form}") if form == "json" else (*words, "--output", form)
    command = [sys.executable, "-P", "-c", INTERRUPTED, module, str(int(signal.SIGTERM)), *arguments]
    done = subprocess.run(command, env=home.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, one_line(done.stderr)) == (3, "interrupted")
    with redirect_stdout(StringIO()) as written:
        format_named(form).end(Ending("interrupted"), "", Record(about))
    assert done.stdout == written.getvalue()


def test_only_runs_have_an_end() -> None:
    for words in ("ask x", "rooms list --output json", "doctor --json", "ask x --output text"):
        assert end_of_nothing(words.split()) == ""
    assert '"room":null,"conversation":null' in end_of_nothing(
        ["voice", "--wav", "a.wav", "--output", "json"]
    )


def written_to(home: Home, output: int, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *command],
        env=home.environ,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def test_a_stdin_that_is_closed_or_cannot_be_read_is_empty(home: Home) -> None:
    for command, said in (("rooms delete X", "--yes"), ("ask", "nothing to ask")):
        for redirection in ("<&-", f"0>{home.folder / 'written'}"):
            line = f"exec {shlex.join(PROGRAM)} {command} {redirection}"
            done = subprocess.run(
                ["/bin/sh", "-c", line], env=home.environ, capture_output=True, text=True, check=False
            )
            assert (done.returncode, said in one_line(done.stderr)) == (2, True), done


def test_a_reader_that_has_left_ends_the_program_quietly(home: Home) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = written_to(home, writing, "--help")
    os.close(writing)
    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.parametrize("command", ["--help", "serve --no-token"])
def test_a_full_disk_is_one_line(home: Home, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = written_to(home, full.fileno(), *command.split())
    assert done.returncode == 4
    assert "No space" in one_line(done.stderr)


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_an_answer_that_a_full_disk_does_not_take_ends_the_same_in_every_form(home: Home, form: str) -> None:
    with (
        in_thread(OriginalChatServer([text("It "), ("done", {})])) as server,
        Path("/dev/full").open("w") as full,
    ):
        command = ("ask", "x", "--conversation", "7", "--url", server.url, "--output", form)
        ran = written_to(home, full.fileno(), *command)
    assert ran.returncode == 4
    assert "No space" in ran.stderr.splitlines()[-1]


@pytest.mark.parametrize(("words", "code"), [("completed", 0), ("failed", 4)])
def test_progress_that_a_full_disk_does_not_take_changes_nothing(home: Home, words: str, code: int) -> None:
    events = run_events() if words == "completed" else [*run_events()[:3], ("error", {"content": "no"})]
    with in_thread(OriginalRoomsServer(events)) as server, Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [*PROGRAM, "rooms", "run", "r1", "--url", server.url, "--output", "stream-json"],
            env=home.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            check=False,
        )
    assert (ran.returncode, len(ran.stdout.splitlines())) == (code, len(events) + 1)
