"""The command tool: it runs what was asked, and nothing of it is left afterwards."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.tools.calling import run_tool
from agent_tui.backend.tools.programs import child as child_module
from agent_tui.backend.tools.programs import keeper
from agent_tui.backend.tools.programs.child import Child
from agent_tui.backend.tools.programs.environment import UMASK
from agent_tui.backend.tools.programs.orphans import ORPHANS, Orphans
from agent_tui.backend.tools.shell import RunCommand
from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.backend.tools.writing import WriteFile
from agent_tui.config.file import load
from agent_tui.model.errors import ConfigError
from tests.backend.tools.calls import called, refused

MARKED = "echo $$ > pid; mv pid there; sleep 600"  # says its process id when it runs
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc and a subreaper")


async def run(folder: Path, command: str, seconds: float = 60.0) -> dict[str, Any]:
    output = await called(RunCommand(seconds=seconds), folder, command=command)
    said: dict[str, Any] = json.loads(output.content)
    assert said["success"] is output.success
    return said


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def session_of(leader: int) -> list[int]:
    pids = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if is_alive(pid) and os.getsid(pid) == leader]


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def children_of(parent: int) -> set[str]:
    """Return the names of the processes whose parent is ``parent``."""
    return {name_of(pid) for pid, above in keeper.processes().items() if above == parent}


@pytest.fixture
def adopting() -> Iterator[None]:
    """This process adopts orphans, as the backend does."""
    ORPHANS.adopt()
    yield
    ORPHANS.adopt(wanted=False)


async def until(condition: Callable[[], bool]) -> None:
    """Return when another process made ``condition`` true; the test's own time-out ends the wait."""
    while not condition():  # noqa: ASYNC110 - nothing tells us
        await asyncio.sleep(0)


async def test_a_command_says_its_code_and_both_outputs_in_order(tmp_path: Path) -> None:
    assert await run(tmp_path, "pwd -L; echo err >&2; echo out; exit 3") == {
        "success": False,
        "exit_code": 3,
        "output": f"{tmp_path}\nerr\nout\n",
    }
    assert await run(tmp_path, "true") == {"success": True, "exit_code": 0, "output": ""}
    assert (await run(tmp_path, "kill -9 $$"))["exit_code"] == 137
    assert (await run(tmp_path, "no-such-program"))["exit_code"] == 127


async def test_what_tools_make_may_be_read_by_whom_the_user_says(tmp_path: Path) -> None:
    before = os.umask(0o077)  # as the backend does
    try:
        await run(tmp_path, "touch made")
        assert (await called(WriteFile(), tmp_path, path="new/file", content="x")).success
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("made", "new", "new/file")]
    assert modes == [0o666 & ~UMASK, 0o777 & ~UMASK, 0o666 & ~UMASK]


async def test_a_command_has_no_input_and_no_terminal(tmp_path: Path) -> None:
    said = await run(tmp_path, "cat; tty; read x || echo nothing to read; ls -l /dev/tty > /dev/tty")
    assert said["output"].startswith("not a tty\nnothing to read\n")


async def test_a_command_at_its_time_is_ended_and_keeps_what_it_said(tmp_path: Path) -> None:
    said = await run(tmp_path, "echo began; sleep 600", seconds=2.0)
    assert said == {
        "success": False,
        "exit_code": None,
        "error": "ended after 2 s, with everything it had started",
        "output": "began\n",
    }


async def test_a_command_may_tidy_up_when_it_is_ended(tmp_path: Path) -> None:
    said = await run(tmp_path, "trap 'echo tidied; exit' TERM; echo began; sleep 600 & wait", seconds=2.0)
    assert said["output"] == "began\ntidied\n"


FAMILIES = {
    "in the background": "sleep 600 & echo $!",
    "deaf": "(trap '' TERM HUP INT; sleep 600 & echo $!; wait) &",
    "in a session of its own": "setsid sleep 600 & echo $!",
    "a grandchild whose parents went": "(sh -c '(setsid sleep 600 & echo $!)' &); true",
    "without an environment": "env -i setsid nohup sleep 600 >&2 & echo $!",
    "stopped": "sleep 600 & echo $!; kill -STOP $!",
    "with its own output": "sleep 600 > /dev/null 2>&1 & echo $!",
}


@LINUX
@pytest.mark.parametrize("family", FAMILIES)
async def test_nothing_that_a_command_started_is_left_when_it_is_ended(tmp_path: Path, family: str) -> None:
    program = ("/bin/sh", "-c", f"{FAMILIES[family]}\nsleep 600")
    async with await Child.start(program, tmp_path, dict(os.environ)) as child:
        pid = int(await child.stdout.readline())
        assert is_alive(pid)
        child.let_go()
        assert (await child.wait() or 0) >= 128
        assert not is_alive(pid)


@LINUX
@pytest.mark.parametrize(
    "family", [family for family in FAMILIES if family != "a grandchild whose parents went"]
)
async def test_nothing_that_a_command_started_is_left_when_it_ends_by_itself(
    tmp_path: Path, family: str
) -> None:
    said = await run(tmp_path, FAMILIES[family])
    assert said["success"]
    assert not [pid for pid in said["output"].split() if is_alive(int(pid))]


ATTACKS = {
    "killed": "kill -9 $PPID",
    "stopped": "kill -STOP $PPID",
    "stopped again and again": "(trap '' TERM; while :; do kill -STOP $PPID; done) 2> /dev/null & sleep 0.1",
    "killed while others fork": "(while :; do setsid sleep 600 & sleep 0.01; done) & kill -9 $PPID",
}


# Starts every family; goes on when each of them has said its name and the id of its process.
EVERY_FAMILY = "\n".join(
    script.replace("echo $!", f'echo "{family}:" $! | tee -a said') for family, script in FAMILIES.items()
)
EVERY_FAMILY += f"\nuntil [ $(wc -l < said) -eq {len(FAMILIES)} ]; do sleep 0.01; done"


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.usefixtures("adopting")
async def test_what_a_command_started_ends_although_it_attacks_its_keeper(
    tmp_path: Path, attack: str
) -> None:
    command = f"{EVERY_FAMILY}\n{ATTACKS[attack]}\nsleep 600 & echo afterwards: $!; wait"
    said = await run(tmp_path, command, seconds=3.0)
    pids = {name: int(pid) for name, pid in (line.split(": ") for line in said["output"].splitlines())}
    assert pids.keys() - {"afterwards"} == FAMILIES.keys()
    assert [name for name, pid in pids.items() if is_alive(pid)] == []
    assert not children_of(os.getpid()) & {"sleep", "sh", "setsid"}
    assert said["exit_code"] is None
    killed = "ended because it killed the process that watches it, with everything it had started"
    late = "ended after 3 s, with everything it had started"
    assert said["error"] == (killed if attack.startswith("killed") else late)


@LINUX
@pytest.mark.usefixtures("adopting")
async def test_a_command_that_kills_its_keeper_harms_no_other_program(tmp_path: Path) -> None:
    other = await asyncio.create_subprocess_exec("sleep", "600")  # not a tool's: the backend's own
    try:
        beside = asyncio.create_task(run(tmp_path, "until [ -e over ]; do sleep 0.01; done; echo well"))
        await run(tmp_path, "kill -9 $PPID; wait")
        (tmp_path / "over").touch()
        assert (await beside)["output"] == "well\n"
        assert is_alive(other.pid)
    finally:
        other.kill()
        await other.wait()


@LINUX
@pytest.mark.usefixtures("adopting")
async def test_cancelling_a_call_ends_a_command_that_stopped_its_keeper(tmp_path: Path) -> None:
    there = tmp_path / "there"
    call = asyncio.create_task(run(tmp_path, "kill -STOP $PPID; echo $$ > pid; mv pid there; sleep 600"))
    await until(lambda: os.path.lexists(there))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not is_alive(await asyncio.to_thread(lambda: int(there.read_text())))


@pytest.mark.slow
@LINUX
@pytest.mark.usefixtures("adopting")
async def test_what_cannot_be_ended_is_said_and_not_waited_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a command became another user: signals to its processes are refused."""
    refusing = Orphans(kill=lambda pids: None)
    refusing.adopt()
    monkeypatch.setattr(child_module, "ORPHANS", refusing)
    before = keeper.below({os.getpid()}, keeper.processes())  # of other tests
    said = await run(tmp_path, "sleep 600 & sleep 601 & kill -9 $PPID; wait")
    below = keeper.below({os.getpid()}, keeper.processes())
    mine = [pid for pid in below if pid not in before and name_of(pid) == "sleep"]
    try:
        assert len(mine) == 2
        assert said["error"].startswith("ended because it killed the process that watches it, but these")
        assert all(f"sleep ({pid})" in said["error"] for pid in mine)
        assert await refusing.end() == ()
    finally:
        assert await ORPHANS.end() == ()


@pytest.mark.slow
@LINUX
async def test_where_orphans_cannot_be_found_nobody_says_that_they_ended(tmp_path: Path) -> None:
    said = await run(tmp_path, "sleep 600 & echo $!; kill -9 $PPID; wait")
    os.kill(int(said["output"]), signal.SIGKILL)
    assert "could not be ended: programs that this system does not let us find" in said["error"]


@LINUX
def test_processes_are_found_by_ps_as_by_proc() -> None:
    by_ps, by_proc = keeper.processes_by_ps(), keeper.processes()
    assert by_ps[os.getpid()] == by_proc[os.getpid()] == os.getppid()


@pytest.mark.slow
@LINUX
async def test_a_fork_bomb_is_put_out(tmp_path: Path) -> None:
    bomb = "grow() { sleep 600 & sh -c 'sleep 600 & sleep 600 & wait' & [ $1 -gt 0 ] && grow $(($1 - 1)); }"
    said = await run(tmp_path, f"echo $$; {bomb}; grow 40; wait", seconds=2.0)
    shell = int(said["output"].split()[0])
    assert not is_alive(shell)
    assert not session_of(shell)


@LINUX
async def test_cancelling_a_call_ends_the_command(tmp_path: Path) -> None:
    call = asyncio.create_task(run(tmp_path, MARKED))
    there = tmp_path / "there"
    await until(lambda: os.path.lexists(there))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not is_alive(await asyncio.to_thread(lambda: int(there.read_text())))


@LINUX
@pytest.mark.parametrize("turns", range(1, 7))  # of the loop, from the fork to the reading of the pipes
async def test_a_call_may_be_cancelled_while_its_command_begins(
    turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, spawn = tmp_path / "there", subprocess.Popen.__init__

    def spawned(*arguments: Any, **options: Any) -> None:
        """Return when the command runs, as on a machine with much to do."""
        spawn(*arguments, **options)
        while not os.path.lexists(there):
            pass

    monkeypatch.setattr(subprocess.Popen, "__init__", spawned)
    call = asyncio.create_task(RunCommand().run({"command": MARKED}, ToolPlace(tmp_path)))
    for _ in range(turns):
        await asyncio.sleep(0)
    call.cancel()
    async with asyncio.timeout(20):
        with pytest.raises(asyncio.CancelledError):
            await call
    assert not is_alive(await asyncio.to_thread(lambda: int(there.read_text())))
    await asyncio.to_thread(gc.collect)  # a pipe that is left open is a warning, and so an error


@LINUX
async def test_a_backend_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """The lifeline is closed by the system itself, whatever the backend died of."""
    program = (
        "import asyncio, pathlib\n"
        "from agent_tui.backend.tools.shell import RunCommand\n"
        "from agent_tui.backend.tools.tool import ToolPlace\n"
        "command = 'echo $$ > pid; mv pid there; sleep 600 & wait'\n"
        "asyncio.run(RunCommand().run({'command': command}, ToolPlace(pathlib.Path.cwd())))\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    backend = await asyncio.create_subprocess_exec(sys.executable, "-c", program, cwd=tmp_path, env=environ)
    there = tmp_path / "there"
    await until(there.exists)
    pid = int(await asyncio.to_thread(there.read_text))
    assert is_alive(pid)
    backend.kill()
    assert await backend.wait() == -signal.SIGKILL
    await until(lambda: not session_of(pid))


async def test_a_hundred_megabytes_cost_no_memory(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    output = await called(RunCommand(), tmp_path, command="echo begin; yes | head -c 100000000; echo end")
    assert output.size == 100_000_010
    assert output.success
    assert len(output.content) <= 100_000
    text = json.loads(output.content)["output"]
    assert text.startswith("begin\ny\n")
    assert text.endswith("y\nend\n")
    assert "left out" in text
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000  # kB


async def test_escape_sequences_and_broken_text_are_data(tmp_path: Path) -> None:
    output = await called(RunCommand(), tmp_path, command=r"printf '\033[2J\033]52;c;eA==\007\377\000ok'")
    assert "\x1b" not in output.content
    assert json.loads(output.content)["output"] == "\x1b[2J\x1b]52;c;eA==\x07\ufffd\0ok"


SECRET = "hidden-value"
SECRETS = {
    **dict.fromkeys(("GITHUB_PAT", "DATABASE_URL", "DB_PASS", "MYSQL_PWD", "PGPASSFILE", "A_KEY"), SECRET),
    **dict.fromkeys(("AGENT_TUI_TOKEN", "AWS_PROFILE", "PIP_INDEX_URL", "PLAIN"), SECRET),
    "HTTPS_PROXY": f"http://me:{SECRET}@127.0.0.1:8080",
    "http_proxy": f"{SECRET}@127.0.0.1:8080",
}
HARMLESS = {
    "HTTP_PROXY": "http://127.0.0.1:8080",
    "no_proxy": "localhost",
    "LC_TIME": "C",
    "TZ": "UTC",
    "AGENT_TUI_DATA": "/data",
    "AGENT_TUI_CONFIG": "/config.toml",
}


async def test_a_command_gets_harmless_variables_and_those_that_the_person_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**SECRETS, **HARMLESS, "MY_SETTING": "mine"}.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "config.toml"
    for pass_env, named in (("", {}), ('[tools]\npass_env = ["MY_SETTING"]\n', {"MY_SETTING": "mine"})):
        await asyncio.to_thread(path.write_text, pass_env)
        tool = Toolbox(lambda: load(path)).tool("run_command")
        assert tool is not None
        output = await called(tool, tmp_path, command="cat /proc/$PPID/environ 2> /dev/null; echo; env")
        assert SECRET not in output.content
        assert "MY_SETTING=" not in output.content or named
        printed = json.loads(output.content)["output"].splitlines()
        assert {f"{name}={value}" for name, value in {**HARMLESS, **named}.items()} <= set(printed)
        assert f"HOME={os.environ['HOME']}" in printed


async def test_what_is_no_command_or_has_no_folder_is_refused(tmp_path: Path) -> None:
    assert "NUL" in await refused(RunCommand(), tmp_path, command="a\0b")
    assert "surrogate" in await refused(RunCommand(), tmp_path, command="a\ud800")
    assert "non-empty" in await refused(RunCommand(), tmp_path, command="")
    assert "the value is too long" in await refused(RunCommand(), tmp_path, command="x" * 20_000)
    assert "no workspace" in await refused(RunCommand(), None, command="ls")
    assert "cannot be used" in await refused(RunCommand(), tmp_path / "gone", command="ls")


def test_asking_shows_the_exact_command(tmp_path: Path) -> None:
    ask = RunCommand().ask({"command": "make -n test"}, ToolPlace(tmp_path))
    assert (ask.call, ask.preview) == ("make -n test", f"in {tmp_path}\n60 s at most")
    hidden = "echo harmless" + " " * 3_000 + "; touch HIDDEN\nls \u200b"
    ask = RunCommand().ask({"command": hidden}, ToolPlace(tmp_path))
    assert ask.call == "echo harmless␣×3000; touch HIDDEN⏎ls <U+200B>"
    assert ask.preview.startswith("echo harmless␣×3000; touch HIDDEN\nls <U+200B>\n\nin ")
    long = "; ".join(f"echo {n}" for n in range(200))
    ask = RunCommand().ask({"command": long}, ToolPlace(tmp_path))
    assert ask.call.endswith(f"… ({len(long):,} characters)")
    assert ask.preview.startswith(f"{long}\n\nin ")


async def test_many_commands_at_once_do_not_mix(tmp_path: Path) -> None:
    said = await asyncio.gather(*(run(tmp_path, f"sleep 0.0{n}; echo {n}; exit {n}") for n in range(8)))
    assert [(one["exit_code"], one["output"]) for one in said] == [(n, f"{n}\n") for n in range(8)]


async def test_a_call_may_ask_for_less_time_than_there_is_and_the_model_knows_how_much_that_is(
    tmp_path: Path,
) -> None:
    tool = RunCommand(seconds=120)
    assert "ended after 120 seconds" in tool.spec.description
    assert tool.ask({"command": "make"}, ToolPlace(tmp_path)).preview.endswith("120 s at most")
    asked = {"command": "echo began; sleep 600", "seconds": 1.5}
    assert tool.ask(asked, ToolPlace(tmp_path)).preview.endswith("1.5 s at most")
    output = await called(tool, tmp_path, **asked)
    assert json.loads(output.content)["error"] == "ended after 1.5 s, with everything it had started"
    assert "121" in await refused(tool, tmp_path, command="make", seconds=121)


async def test_the_newest_lines_are_told_while_a_command_runs(tmp_path: Path) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    go_on = tmp_path / "go-on"
    os.mkfifo(go_on)
    lines = "one\\ntwo\\n  1%%\\r 90%%\\r\\n  three \\033[2J\\n\\nfou"
    command = f"printf '{lines}'; read x < {go_on}; head -c 3000000 /dev/zero | tr '\\0' x"
    place = ToolPlace(tmp_path, tell=told.put_nowait)
    running = asyncio.create_task(run_tool(RunCommand(), {"command": command}, place))
    assert await told.get() == " 90%\n  three ␛[2J\nfou"
    await asyncio.to_thread(go_on.write_text, "\n")
    assert (await running).success
    while not told.empty():
        newest = told.get_nowait().split("\n")
        assert (newest[-1].strip("foux"), len(newest) <= 3, len(newest[-1]) <= 200) == ("", True, True)


@pytest.mark.parametrize(("written", "seconds"), [("", 60.0), ("command_seconds = 900", 900.0)])
def test_the_config_file_says_how_long_a_command_may_take(
    tmp_path: Path, written: str, seconds: float
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[tools]\n{written}\n")
    assert load(path).tools.command_seconds == seconds
    path.write_text("[tools]\ncommand_seconds = 3601\n")
    with pytest.raises(ConfigError, match="command_seconds"):
        load(path)
