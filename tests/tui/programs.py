"""Runs the program as a user would: its own process, its own home, its own backend."""

from __future__ import annotations

import http.client
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pytest

from tests.fakes.forked import talking
from tui import runtime
from tui.__main__ import main

PROGRAM = [sys.executable, "-P", "-m", "tui"]
SECONDS = 60
# Left out: what changes what we do, and what would have every process compile its libraries anew.
OURS = (
    *("AGENT_TUI_", "XDG_", "LC_", "COLORTERM", "TERM", "_AGENT_TUI_", "PYTHONDONTWRITEBYTECODE"),
    *("TMUX", "STY", "SSH_"),
)


def own_environ(home: Path, rate: str = "0") -> dict[str, str]:
    """Return an environment in which nothing of this user's is seen or touched.

    The demo model says ``rate`` tokens a second, 0 for as fast as it goes.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
    home.mkdir(parents=True, exist_ok=True)
    return kept | {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "AGENT_TUI_DATA": str(home / "data"),
        "AGENT_TUI_CONFIG": str(home / "config.toml"),
        "AGENT_TUI_DEMO_RATE": rate,
    }


@dataclass(frozen=True, slots=True)
class Home:
    """One user: ``data`` is the folder of the backend, ``config`` the config file."""

    folder: Path
    environ: Mapping[str, str]

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    def run(self, *arguments: str, **changes: Any) -> subprocess.CompletedProcess[str]:
        """Run one command to its end; ``changes`` are further variables, or ``stdin``.

        It is forked unless there are such variables: modules may read those as they are imported.
        """
        stdin = changes.pop("stdin", "")
        if not changes:
            with piped(stdin) as read:
                process = talking("tui", arguments, self.folder, self.environ, read.fileno())
            out, err = process.communicate(timeout=SECONDS)
            return subprocess.CompletedProcess(process.args, process.returncode, out, err)
        return subprocess.run(
            [*PROGRAM, *arguments],
            env={**self.environ, **changes},
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )

    def main(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Do what ``run`` does in this process: without the half second that a new one takes to load."""
        environ = {**self.environ, **changes}
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
        with piped(environ.pop("stdin", "")) as stdin, pytest.MonkeyPatch.context() as patch:
            for name in set(os.environ) - set(environ):
                patch.delenv(name)
            for name, value in environ.items():
                patch.setenv(name, value)
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["agent-tui", *arguments])
            patch.setattr(sys, "stdin", stdin)
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            patch.setattr(logging.root, "handlers", [*logging.root.handlers])  # ours does not stay
            code = main()
        out, err = (stream.buffer.getvalue().decode() for stream in streams)
        return subprocess.CompletedProcess(arguments, code, out, err)

    def answer(self, *arguments: str) -> Any:
        """Return what a command that succeeds printed as JSON."""
        done = self.main(*arguments)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def api(self, method: str, path: str, body: object = None) -> Any:
        """Return the JSON that the backend answers; quicker than a command."""
        if not (self.data / "backend.json").exists():  # it ends by itself after 30 s without anybody
            self.main("rooms", "list")
        told = json.loads((self.data / "backend.json").read_text(encoding="utf-8"))
        return answer_of(told["url"], method, path, body, told["token"])

    def new_room(self, task: str, **fields: object) -> str:
        """Make a room in the backend and return its id."""
        room_id: str = self.api("POST", "/api/rooms", {"task": task, **fields})["id"]
        return room_id

    def room(self, room_id: str) -> Any:
        """Return a room as the backend answers it."""
        return self.api("GET", f"/api/rooms/{room_id}")

    def clear(self) -> None:
        """Delete all rooms and the config file: the next ``rooms`` makes a demo room, as at a first start."""
        for room in self.api("GET", "/api/rooms?archived=1")["rooms"]:
            self.api("DELETE", f"/api/rooms/{room['id']}")
        self.config.unlink(missing_ok=True)

    def start(self, *arguments: str, is_new: bool = False, **changes: str) -> subprocess.Popen[str]:
        """Start one command, forked as by ``run`` unless it ``is_new``; the test ends it."""
        if not (changes or is_new):
            with Path(os.devnull).open() as nothing:
                return talking("tui", arguments, self.folder, self.environ, nothing.fileno())
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            env={**self.environ, **changes},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def backend(self, mode: str, *options: str, **variables: str) -> subprocess.Popen[str]:
        """Start a backend of this home, forked; it says where it listens."""
        self.data.mkdir(parents=True, exist_ok=True)
        config = self.environ.get("AGENT_TUI_CONFIG", "")
        arguments = [mode, *(["--config", config] if config else []), *options]
        with Path(os.devnull).open() as nothing:
            environ = {**self.environ, **variables}
            return talking("agent_tui.backend", arguments, self.folder, environ, nothing.fileno())

    def stop(self) -> None:
        """Stop the backend of this home."""
        self.main("backend", "stop")
        reap(self.data)


def answer_of(url: str, method: str, path: str, body: object = None, token: str = "") -> Any:
    """Return the JSON that a backend answers."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=SECONDS)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def impatient(folder: Path, name: str) -> str:
    """Return a PYTHONPATH with which our programs wait only half a second where ``name`` (a constant of a
    module of ``tui``, "module.NAME") says how long.
    """
    folder /= "impatient"
    folder.mkdir()
    module = name.partition(".")[0]
    (folder / "sitecustomize.py").write_text(f"from tui import {module}\n{name} = 0.5\n", encoding="utf-8")
    return os.pathsep.join([str(folder), str(Path(runtime.__file__).parents[1])])


def reap(data: Path) -> None:
    """Wait for the ends of the backends on ``data`` that were started in this process."""
    for child in runtime._children:
        if str(data) in str(child.args):
            child.wait(SECONDS)


@contextmanager
def home_at(folder: Path, rate: str = "0", *, begun: bool = False) -> Iterator[Home]:
    """Give a home and stop its backend at the end. It is started by the first command that needs it, or is
    ``begun``: forked, which takes a tenth of the time.
    """
    home = Home(folder, own_environ(folder, rate))
    with home.backend("embedded", "--data", str(home.data)) if begun else nullcontext() as backend:
        if backend is not None:
            assert backend.stdout is not None
            assert backend.stdout.readline().startswith("listening on ")
        try:
            yield home
        finally:
            home.stop()


@contextmanager
def served(
    home: Home, *options: str, database: str = "served.db", token: str | Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Give a running ``serve`` and its address; it asks for no token, or for ``token``, which may be the
    options that say so.
    """
    url = f"sqlite:///{home.folder / database}"
    if isinstance(token, str):
        process = home.backend("serve", "--database", url, *options, AGENT_TUI_TOKEN=token)
    elif token:
        process = home.start("serve", *token, "--database", url, *options, is_new=True)
    else:
        process = home.backend("serve", "--no-token", "--database", url, *options)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on http://"), (line, process.stderr and process.stderr.read())
        yield process, line.removeprefix("listening on ").strip()
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        process.communicate(timeout=SECONDS)


def piped(text: str) -> TextIO:
    """Return a pipe from which ``text`` can be read to its end; it must not be more than a pipe holds."""
    read, write = os.pipe()
    os.write(write, text.encode())
    os.close(write)
    return os.fdopen(read, encoding="utf-8")


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for the end of a process that was read from; return what it wrote since.

    ``communicate`` would read behind the back of the buffer that ``readline`` left, and lose what is in it.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        out, err = process.stdout.read(), process.stderr.read()
        process.wait(timeout=SECONDS)
    return out, err


def one_line(text: str) -> str:
    """Return the only line of ``text``, which begins with the program's name."""
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    assert text.startswith("agent-tui: "), text
    return text.removeprefix("agent-tui: ").rstrip("\n")


def events(lines: Sequence[str]) -> list[dict[str, Any]]:
    """Return the objects of a stream-json output."""
    return [json.loads(line) for line in lines]
