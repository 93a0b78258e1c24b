"""Finds the embedded backend of this user, or starts it.

The backend is a process of its own (architecture.md §7). It writes ``backend.json`` into the data folder when
it listens, and holds ``agent-tui.db.lock`` as long as it lives: if several start at once, one wins and the
others end with code 6. Nothing heavy is imported here, since this runs before the first frame.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple

import agent_tui
from agent_tui.config.file import config_path, data_path
from agent_tui.model.errors import AgentBusy, AgentTuiError, ConfigError, ConnectFailed, DiskFull, not_written
from agent_tui.model.inert import inert_line

if TYPE_CHECKING:
    import http.client

RUNTIME_FILE = "backend.json"
DATABASE = "agent-tui.db"
LOCK_FILE = f"{DATABASE}.lock"
LOG_FILE = "backend.log"
START_SECONDS = 20.0
LOOK_SECONDS = 1.0  # after which it checks what takes so long
UPGRADING = "upgrading"  # what the lock says while the database is upgraded (agent_tui/backend/lock.py)
STOP_SECONDS = 10.0
POLL_SECONDS = 0.02
ANSWER_SECONDS = 2.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024
MAX_RUNTIME_BYTES = 64 * 1024
MAX_COMPLAINT_BYTES = 64 * 1024
INSTEAD_OF_CUTTING = "try again when it is done, or cut it: agent-tui backend stop"
BUSY_SECONDS = 10.0  # how long to wait until a backend that we cannot use may be ended
BUSY_POLL_SECONDS = 0.2
OK, BAD_REQUEST, CONFLICT, STOPPING = 200, 400, 409, 503  # HTTP
EXIT_DONE = 0  # the backend's own exit codes: it got no requests for a while
EXIT_USAGE = 2  # a folder or file is wrong
EXIT_FULL = 4  # there is no space for them
EXIT_LOCKED = 6  # another process uses the database

WORK_NAMES = ("rooms_running", "answers_running", "voice_rooms")  # of the fields of ``Work``, on the wire

# Backends that this program started. They are kept so that this module alone notices when they end.
_children: list[subprocess.Popen[bytes]] = []
_LOOPBACK_URL = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A backend as in the runtime file; trusted only while its process is there and ``/health`` answers with
    the same ``instance``.
    """

    url: str
    token: str = field(repr=False)
    version: str
    pid: int
    instance: str = ""
    protocol: int = 0  # older versions did not write it
    config: str = ""  # the config file that it reads; older versions did not write it


class Work(NamedTuple):
    """How much work a backend has, or had when it was stopped."""

    rooms: int = 0
    answers: int = 0
    voice_rooms: int = 0


class Starting:
    """A backend that is starting. ``wait`` may be called from any thread, and again after a failure."""

    def __init__(self, data: Path, config: Path, *, any_config: bool = False) -> None:
        """With ``any_config``, a backend that reads another config file is used, too."""
        self._data = data
        self._config = config
        self._any_config = any_config
        self._release: Callable[[], object] = lambda: None  # ends the call that says that we use a backend
        self._child: subprocess.Popen[bytes] | None = None
        self._answered = False  # our child answered once: if it is gone, it did not fail at its start
        self._complaints: IO[bytes] | None = None  # the child's stderr
        self._waiting = threading.Lock()  # held by the one thread that looks; the others get its result
        self._failures = 0
        self._failure_of_last: AgentTuiError | None = None
        if not _alive(_read_runtime(data)):
            self._spawn()

    @property
    def is_new(self) -> bool:
        """Whether it had to be started."""
        return self._child is not None

    def is_at(self, url: str) -> bool:
        """Return whether the backend of this folder is still the one at ``url``; sends and starts nothing."""
        for child in _children:
            child.poll()  # without this, a child that ended seems alive
        runtime = _read_runtime(self._data)
        return runtime is not None and runtime.url == url and _alive(runtime)

    def wait(self, tell: Callable[[str], object] = lambda line: None) -> Endpoint:
        """Return the running backend, ours or one that another process started meanwhile.

        A backend of another version is used if it speaks our protocol, and replaced if it is older and idle;
        one with another config file is replaced if it is idle and no program or command uses it. What is in
        use is never stopped, but waited for, for 10 s, and ``tell`` gets a line about that. Blocks for at
        most 20 s more. From now on, as long as this object lives, the backend counts as in use. Raises
        ``ConfigError`` for a folder or database that cannot be used, ``AgentBusy`` when ``agent-tui serve``
        uses the database, another version is working or newer or another config file is in use,
        ``ConnectFailed`` when nothing answers. Threads that wait at the same time get the same answer or
        error.
        """
        failures = self._failures
        with self._waiting:
            if self._failures > failures and self._failure_of_last is not None:
                raise self._failure_of_last
            try:
                return self._wait(tell)
            except AgentTuiError as error:
                self._failures, self._failure_of_last = self._failures + 1, error
                raise
            finally:
                self._forget_complaints()

    def _wait(self, tell: Callable[[str], object]) -> Endpoint:
        deadline = time.monotonic() + START_SECONDS
        busy_since = 0.0
        upgrading = False
        while time.monotonic() < deadline:
            runtime = _read_runtime(self._data)
            if runtime is not None and _is_it(runtime):
                if self._is_usable(runtime):
                    if self._use(runtime):
                        return self._endpoint(runtime)
                elif user := self._user_of(runtime):
                    if not busy_since:
                        busy_since = time.monotonic()
                        tell(f"waiting for {user}")
                    if time.monotonic() - busy_since > BUSY_SECONDS:
                        raise self._refusal(runtime, user)
                    deadline = time.monotonic() + START_SECONDS
                    time.sleep(BUSY_POLL_SECONDS)
                    continue
                else:
                    condition = "if_idle=1" if self._is_ours(runtime) else "if_idle=1&if_unused=1"
                    _end(self._data, runtime, condition)
                    self._child = None
            self._spawn_if_needed()
            is_late = deadline - time.monotonic() < START_SECONDS - LOOK_SECONDS
            # Upgrading the database takes the longer the larger it is.
            if is_late and UPGRADING in (_lock_holder(self._data) or "").split():
                if not upgrading:
                    tell("bringing the database up to date")
                deadline, upgrading = time.monotonic() + START_SECONDS, True
            time.sleep(POLL_SECONDS)
        raise ConnectFailed("the backend does not answer", f"see {self._data / LOG_FILE}")

    def in_the_way(self, tell: Callable[[str], object] = lambda line: None) -> str:
        """Return the work of a backend that this program cannot use and must not stop, since it is of another
        version or reads another config file, as "2 rooms and 1 answer of agent-tui 0.1.0", or "". A program
        that is open with another config file is waited for, as in ``wait``, which says what is raised.
        """
        runtime = _read_runtime(self._data)
        if runtime is None or (runtime.version == agent_tui.__version__ and self._is_ours(runtime)):
            return ""  # quickly: this is asked before the first frame
        if not _is_it(runtime) or self._is_usable(runtime):
            return ""
        user = self._user_of(runtime)
        if self._is_ours(runtime) or (user and user != _program_on(runtime)):
            return user
        self.wait(tell)
        return ""

    def _is_ours(self, runtime: Endpoint) -> bool:
        """Return whether a backend reads our config file: another one has other models."""
        is_same = not runtime.config or os.path.realpath(runtime.config) == os.path.realpath(self._config)
        return is_same or self._any_config

    def _is_usable(self, runtime: Endpoint) -> bool:
        """Return whether this program can use a backend as it is; raises as ``_version_fits``."""
        return self._is_ours(runtime) and _version_fits(runtime)

    def _use(self, runtime: Endpoint) -> bool:
        """Tell a backend that it is used, by a call that stays open; return whether it is not stopping."""
        call = ExitStack()
        try:
            answer = call.enter_context(_calling(runtime.url, "GET", "/api/backend/use", runtime.token))
        except ConnectFailed:
            return False
        self._release()  # the call to an earlier one
        self._release = weakref.finalize(self, call.close)
        return answer.status != STOPPING  # another version may not have this call

    def _user_of(self, runtime: Endpoint) -> str:
        """Return why a backend must not be ended: its work, with what sets it apart from ours, or a program
        with another config file, or "". A screen counts more than its work: it would start it again.
        """
        try:
            answer = _told_by(runtime)
        except ConnectFailed:
            return ""  # it is ending by itself: nothing can be interrupted
        counts = zip(_counts(answer), ("room", "answer", "voice room"), strict=True)
        counted = " and ".join(_count_of(count, what) for count, what in counts if count)
        if self._is_ours(runtime):
            return f"{counted} of agent-tui {inert_line(runtime.version, 40)}" if counted else ""
        if answer.get("programs_open") or (answer.get("in_use") and not counted):
            return _program_on(runtime)
        return f"{counted} with the config file {inert_line(runtime.config)}" if counted else ""

    def _refusal(self, runtime: Endpoint, work: str) -> AgentBusy:
        if work != _program_on(runtime):
            return AgentBusy(f"{work} under way", INSTEAD_OF_CUTTING)
        title = f"a program is open with another config file, {inert_line(runtime.config)}"
        return AgentBusy(title, "close it first")

    def _endpoint(self, runtime: Endpoint) -> Endpoint:
        ours = self._child is not None and self._child.pid == runtime.pid
        self._answered = ours
        if self._child is not None and not ours:
            self._child.terminate()  # it lost the race: it must not start working when the winner ends
            self._child = None  # nor is its end a failure, when another one is needed
        return runtime

    def _spawn_if_needed(self) -> None:
        """Start the backend if none runs, also when ours lost the race for the lock."""
        if self._child is not None:
            code = self._child.poll()
            if code is None:
                return
            self._child = None
            if code not in (EXIT_DONE, EXIT_LOCKED) and not self._answered:
                raise self._failure(code)
        holder = _lock_holder(self._data)
        if holder is None:
            self._spawn()
        elif "serve" in holder:
            raise AgentBusy("the database is in use by agent-tui serve", f"point --url at it ({holder})")

    def _spawn(self) -> None:
        """Start the backend process, detached from our terminal; returns at once."""
        try:
            self._data.mkdir(mode=0o700, parents=True, exist_ok=True)
            complaints = TemporaryFile(buffering=0, dir=self._data)  # noqa: SIM115  closed, it is gone
        except OSError as error:
            raise not_written(f"{self._data}: cannot be written", error) from error
        self._forget_complaints()
        self._complaints = complaints
        self._answered = False
        command = [sys.executable, "-P", "-m", "agent_tui.backend", "embedded"]
        _children[:] = [child for child in _children if child.poll() is None]
        self._child = subprocess.Popen(
            [*command, "--data", str(self._data), "--config", str(self._config)],
            cwd=self._data,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )
        _children.append(self._child)

    def _forget_complaints(self) -> None:
        if self._complaints is not None:
            self._complaints.close()
            self._complaints = None

    def _failure(self, code: int) -> AgentTuiError:
        complaint = _last_line(self._complaints) if self._complaints else ""
        if code == EXIT_FULL:
            return DiskFull(complaint or f"{self._data}: the disk is full")
        if code == EXIT_USAGE:
            return ConfigError(complaint or f"{self._data}: the backend cannot use this folder")
        return ConnectFailed("the backend ended at its start", complaint or f"exit code {code}")


def begin(*, any_config: bool = False) -> Starting:
    """Start the embedded backend unless it is running; returns at once. With ``any_config``, one that reads
    another config file is used, too.

    Raises ``ConfigError`` when the data folder cannot be written, ``DiskFull`` when the disk is full.
    """
    return Starting(data_path(), config_path(), any_config=any_config)


def find() -> Endpoint | None:
    """Return the embedded backend if it is running; never starts one."""
    runtime = _read_runtime(data_path())
    return runtime if runtime is not None and _is_it(runtime) else None


def stop() -> Work | None:
    """Stop the embedded backend and wait until it is gone; return the work that was interrupted, or ``None``
    if no backend was running.

    Raises ``ConnectFailed`` when it does not end within 10 s.
    """
    runtime = find()
    return None if runtime is None else _end(data_path(), runtime)


def _count_of(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def under_way(endpoint: Endpoint) -> Work:
    """Return the work of a backend; raises ``ConnectFailed``."""
    return _counts(_told_by(endpoint))


def _told_by(endpoint: Endpoint) -> dict[str, object]:
    """Return what a backend says about itself; raises ``ConnectFailed``."""
    status, answer = _call(endpoint.url, "GET", "/api/backend", endpoint.token)
    if status != OK:
        raise ConnectFailed("the backend does not say what it does", f"status {status}")
    return answer


def _counts(answer: dict[str, object]) -> Work:
    found = [answer.get(name) for name in WORK_NAMES]
    return Work(*(count if isinstance(count, int) else 0 for count in found))


# --- the runtime file and the lock -----------------------------------------------------------------------


def _read_runtime(data: Path) -> Endpoint | None:
    """Return the contents of the runtime file, or ``None`` if it is missing, not ours or malformed."""
    try:
        descriptor = os.open(data / RUNTIME_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
            return None
        value = json.loads(os.read(descriptor, MAX_RUNTIME_BYTES))
    except (ValueError, RecursionError):
        return None
    finally:
        os.close(descriptor)
    match value:
        case {"url": str(url), "token": str(token), "version": str(version), "instance": str(instance)}:
            pid, protocol, config = value.get("pid"), value.get("protocol"), str(value.get("config") or "")
        case _:
            return None
    is_whole = _LOOPBACK_URL.fullmatch(url) and token and version and instance
    if not is_whole or not isinstance(pid, int) or pid <= 0:
        return None
    protocol = protocol if type(protocol) is int else 0
    config = os.fsdecode(config.encode(errors="surrogateescape"))  # it is UTF-8, but may not be so here
    return Endpoint(url, token, version, pid, instance, protocol, config)


def _alive(runtime: Endpoint | None) -> bool:
    """Return whether the process in the runtime file exists; it may be another program by now."""
    if runtime is None:
        return False
    try:
        os.kill(runtime.pid, 0)
    except (ProcessLookupError, PermissionError):  # or it is somebody else's: the file is stale
        return False
    return True


def _lock_holder(data: Path) -> str | None:
    """Return what the holder of the database lock wrote into it, or ``None`` if it is free.

    To look, this takes the lock for a moment. A backend that starts at that moment ends with code 6, and is
    started again by the program that started it.
    """
    try:
        descriptor = os.open(data / LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return inert_line(os.read(descriptor, 200).decode("utf-8", "replace"))
    finally:
        os.close(descriptor)
    return None


def _last_line(file: IO[bytes]) -> str:
    size = os.fstat(file.fileno()).st_size
    start = max(0, size - MAX_COMPLAINT_BYTES)
    text = os.pread(file.fileno(), MAX_COMPLAINT_BYTES, start).decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    return inert_line(lines[-1], 500).removeprefix("agent-tui: ") if lines else ""


# --- talking to it ---------------------------------------------------------------------------------------


def _is_it(runtime: Endpoint) -> bool:
    """Return whether the backend that wrote the runtime file answers there. Only then is the token sent.

    Anybody on this machine may have asked a backend for its ``instance``, and listen on its port when it was
    killed: its process has to be there, too.
    """
    if not _alive(runtime):
        return False
    try:
        status, answer = _call(runtime.url, "GET", "/health", "")
    except ConnectFailed:
        return False
    return status == OK and answer.get("instance") == runtime.instance


def _version_fits(runtime: Endpoint) -> bool:
    """Return whether the version of a backend is one to use: our own, or one with our protocol that is newer
    or has work to do. Raises ``AgentBusy`` for a newer one with another protocol.
    """
    if runtime.version == agent_tui.__version__:
        return True
    is_newer = _numbers(runtime.version) > _numbers(agent_tui.__version__)
    if runtime.protocol == agent_tui.BACKEND_PROTOCOL:
        return is_newer or any(_under_way_now(runtime))
    if is_newer and not any(_under_way_now(runtime)):
        title = f"the backend of a newer agent-tui ({inert_line(runtime.version, 40)}) is running"
        raise AgentBusy(title, "use that program, or end its backend: agent-tui backend stop")
    return False


def _under_way_now(runtime: Endpoint) -> Work:
    try:
        return under_way(runtime)
    except ConnectFailed:
        return Work()  # it is ending by itself: nothing can be interrupted


def _program_on(runtime: Endpoint) -> str:
    return f"a program with the config file {inert_line(runtime.config)}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version))


def _end(data: Path, runtime: Endpoint, condition: str = "") -> Work:
    """Ask a backend to stop, and wait until it has released the database, which another one may then have;
    return the work that was interrupted.

    With a ``condition``, such as "if_idle=1", a backend that does not meet it is left running.
    """
    try:
        status, answer = _call(runtime.url, "POST", f"/api/backend/stop?{condition}", runtime.token)
    except ConnectFailed:
        status, answer = 0, {}  # perhaps it was ending by itself: the lock will show that
    if condition and status == CONFLICT:
        return Work()
    if status >= BAD_REQUEST and status != STOPPING:
        raise ConnectFailed("the backend refuses to stop", f"status {status}, process {runtime.pid}")
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        holder = _lock_holder(data)
        if holder is None or holder.split()[:1] not in ([str(runtime.pid)], []):  # []: it is written just now
            return _counts(answer)
        time.sleep(POLL_SECONDS)
    raise ConnectFailed("the backend does not stop", f"process {runtime.pid}")


def _call(url: str, method: str, path: str, token: str) -> tuple[int, dict[str, object]]:
    """Return the status and JSON object of one call; raises ``ConnectFailed``."""
    with _calling(url, method, path, token) as answer:
        value = json.loads(answer.read(MAX_ANSWER_BYTES) or b"{}")
    return answer.status, value if isinstance(value, dict) else {}


@contextmanager
def _calling(url: str, method: str, path: str, token: str) -> Iterator[http.client.HTTPResponse]:
    """Give the answer of one call as it begins; raises ``ConnectFailed``. Never uses a proxy."""
    match = _LOOPBACK_URL.fullmatch(url)
    if match is None:
        raise ConnectFailed("the backend is not on this machine", url)
    import http.client  # lazy: 30 ms that the start of the backend need not wait for

    host, port = match.group(1).strip("[]"), int(match.group(2))
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request(method, path, headers=headers)
        yield connection.getresponse()
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        raise ConnectFailed("the backend does not answer", type(error).__name__) from error
    finally:
        connection.close()
