"""The command ``agent-tui voice`` and its options. What it starts is imported when needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from agent_tui.config.file import CHAT, data_path, load
from agent_tui.config.voice import (
    DEFAULT_ROOM,
    KEY_VARIABLE,
    MAX_ROOM_CHARACTERS,
    SECRET_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    named_livekit,
)
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.paths import file_exists, named_path
from agent_tui.voice_parts import PARTS, find_agent_python, missing_parts, voice_folder
from tui.cli import output
from tui.cli.arguments import Connection, ScreenArguments
from tui.cli.headless.formats import FormatName
from tui.cli.output import PROGRAM
from tui.request import flag_token
from tui.screens.localised import localised
from tui.startup import choose_source, open_screen
from tui.terminal import is_terminal
from tui.voice.request import VoiceRequest

WARNING: Final = (
    f"--token can be read by others in the list of processes; use {TOKEN_VARIABLE} or --token-file"
)

ASKED: Final = "asked"  # a file: setup was offered once


def voice(
    connection: Connection,
    room: str | None,
    agent: str,
    text: bool,
    output_format: FormatName | None,
    wav: Path | None,
    transcript: Path | None,
    no_aec: bool,
    **fields: Any,
) -> int:
    """Talk on a screen or without one; ``fields`` are the others of ``VoiceRequest``."""
    script = _script(agent)
    request = VoiceRequest(
        room=_room(room),
        agent="" if script is not None else agent,
        script=script,
        text_only=text,
        uses_aec=not no_aec,
        url=connection.url or "",
        token=_token(connection),
        wav=wav,
        **fields,
    )
    if text or wav is not None:
        for option, device in (("--input", request.input_name), ("--output-device", request.output_name)):
            if device:
                raise ConfigError(f"{option} has no meaning with {'--text' if text else '--wav'}", _HELP)
    ours = Connection(backend=connection.backend)  # the address and the token were LiveKit's
    if wav is None and output_format is None:
        if transcript is not None:
            raise ConfigError("--transcript needs --wav FILE, or --text with --output", _HELP)
        if not text:  # what is typed is neither heard nor spoken; what else is missing, the screen says
            _set_up_first(request)
        return open_screen(ours, ScreenArguments(), voice=request)
    if wav is None and not text:
        raise ConfigError("--output needs --wav FILE, or --text for lines from stdin", _HELP)
    source = choose_source(ours, CHAT)
    from tui.voice.headless.talk import talk

    return talk(source, request, output_format or "text", transcript)


_HELP: Final = f"see {PROGRAM} voice --help"


def _room(named: str | None) -> str:
    room = load().voice.room or DEFAULT_ROOM if named is None else " ".join(named.split())
    if not room or room != inert_line(room, MAX_ROOM_CHARACTERS):
        raise ConfigError(f"--room needs a name of at most {MAX_ROOM_CHARACTERS} characters", _HELP)
    return room


def _script(agent: str) -> Path | None:
    """Return the file that ``--agent`` names, ``None`` if it names an agent."""
    if not agent.endswith(".py"):
        return None
    path = named_path(agent, "--agent")
    if not file_exists(path):
        raise ConfigError(f"--agent {path}: there is no such file", _HELP)
    return path


def _token(connection: Connection) -> str:
    if connection.token is not None:
        output.complain(WARNING)
    return flag_token(connection)


def _set_up_first(request: VoiceRequest) -> None:
    """Offer setup the first time that something is missing on this machine; after an answer, with everything
    wanted installed, do not ask again.

    Not if a LiveKit server is named, whose agents are its own, and not without a terminal.
    """
    asked = voice_folder() / ASKED
    missing = missing_parts()
    if not missing or file_exists(asked) or not is_terminal():
        return
    if request.script is None and named_livekit(load().voice, url=request.url, token=request.token):
        return
    from tui.voice.setup import setup

    chosen = setup.ask_for_parts(missing)
    if chosen:
        setup.get(chosen, data_path())
    else:
        output.notice(localised(f"{setup.COMMAND} gets it later."))
    asked.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    asked.touch()  # only now: an interrupted setup is offered again


def setup(yes: bool, remove: bool, only: Sequence[str] | None, hearing: str, voice: str) -> int:
    """Get what voice needs, or delete it."""
    from tui.voice.setup import setup as getting

    names = [part.name for part in PARTS]
    unknown = [name for name in only or () if name not in names]
    if unknown:
        raise ConfigError(f"--only {unknown[0]}: there is no such part", f"there are {', '.join(names)}")
    wanted = [name for name in names if name in (only or ())]
    return getting.setup(yes=yes, remove=remove, only=wanted, hearing=hearing, voice=voice)


def serve_agent(name: str) -> NoReturn:
    """Become the worker of our voice agent, in the Python that has its libraries; raises ``ConfigError``."""
    needed = (URL_VARIABLE, KEY_VARIABLE, SECRET_VARIABLE)
    if missing := [variable for variable in needed if not os.environ.get(variable)]:
        raise ConfigError("a worker needs a LiveKit server", f"set {', '.join(missing)}")
    if sys.stdin.isatty():
        raise ConfigError("voice-agent reads on stdin for whom it works", f"see {PROGRAM} voice-agent --help")
    python = find_agent_python(data_path())
    if python is None:
        raise ConfigError("the libraries of the voice agent are missing", f"{PROGRAM} voice setup gets them")
    command = [str(python), "-P", "-m", "agent_tui.voice_agent", "worker", "--name", name]
    os.execv(python, command)  # noqa: S606  no shell to want
