"""Opens a screen. The embedded backend is started first, and the screen's code is loaded meanwhile."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from agent_tui.config.file import CHAT, ROOMS, config_path, load
from agent_tui.model.errors import ConfigError
from tui import background, runtime
from tui.cli import exits, output
from tui.cli.arguments import Connection, ScreenArguments
from tui.request import ANSWERING, WARNING, ScreenRequest, Source, other_server, wants_embedded
from tui.runtime import Starting, begin
from tui.screens.localised import localised
from tui.terminal import is_terminal, restoring
from tui.voice.request import VoiceRequest

CHOICES = {"w": "wait for it", "s": "stop it", "q": "quit"}
INSTEAD = "use agent-tui rooms --plain, agent-tui rooms list or agent-tui rooms run"
INSTEAD_OF_CHAT = "use agent-tui chat --plain or agent-tui ask"
INSTEAD_OF_SETUP = "edit the file that agent-tui config path prints"
INSTEAD_OF_VOICE = "use agent-tui voice --wav FILE, or --text --output text"


def choose_source(connection: Connection, *kinds: str, any_config: bool = False) -> Source:
    """Return where the rooms or chats are. The embedded backend, which has both, is started here without
    waiting for it; with ``any_config`` it may be one with another config file. ``kinds`` are the protocols
    that another server may speak, by default rooms.

    Raises ``ConfigError`` when flags, environment or file are wrong.
    """
    if wants_embedded(connection):
        load()  # our own backend reads the same file: errors in it are reported before anything is done
        if connection.token is not None or connection.token_file is not None:
            option = "--token" if connection.token is not None else "--token-file"
            raise ConfigError(f"{option} needs --url or --backend", "your own backend has its own token")
        return begin(any_config=any_config)
    return other_server(connection, *kinds)


def open_screen(connection: Connection, asked: ScreenArguments, *, voice: VoiceRequest | None = None) -> int:
    """Show what was asked for, or a ``voice`` room, until the user leaves; return the exit code.

    Raises ``ConfigError`` where no screen can be shown.
    """
    kinds, instead = ((ROOMS,), INSTEAD) if asked.chat is None else (ANSWERING, INSTEAD_OF_CHAT)
    if asked.setup:
        instead = INSTEAD_OF_SETUP
    if voice is not None:
        kinds, instead = (CHAT,), INSTEAD_OF_VOICE
    if asked.is_plain:
        source = choose_source(connection, *kinds)
        from tui.cli.headless import plain  # lazy: it loads while the backend comes up

        if asked.chat is None:
            return plain.rooms(source, asked.room)
        return plain.chat(source, asked.chat, is_new=asked.is_new)
    if not is_terminal():
        raise ConfigError("a screen needs a terminal", instead)
    if os.environ.get("TERM") == "dumb":
        raise ConfigError("TERM=dumb cannot show a screen", instead)
    source = choose_source(connection, *kinds)
    config = load()
    if isinstance(source, Starting) and not _may_open(source):
        return exits.DONE
    with restoring():
        request = ScreenRequest(
            source,
            asked.room,
            config,
            background.begin(os.environ),
            setup=asked.setup,
            home=asked.home and isinstance(source, Starting),  # another server has its own list
            chat=asked.chat,
            is_new=asked.is_new,
            voice=voice,
        )
        # Lazy: these load while the backend comes up and the terminal answers.
        from tui.app import run_rooms
        from tui.logs import start_logging

        start_logging()
        return run_rooms(request)


def _may_open(source: Starting) -> bool:
    """Return whether the screen can open. If a backend of another version, or with another config file,
    is working, which this program cannot show, the person chooses to wait, to stop that work or to leave.
    Raises ``AgentBusy`` if a program is open with another config file, and stays so.
    """
    work = source.in_the_way(lambda line: output.notice(localised(line)))
    if not work:
        return True
    choice = output.choice(
        localised(f"{work} under way, which this program cannot show."),
        {letter: localised(meaning) for letter, meaning in CHOICES.items()},
    )
    if choice == "q":
        return False
    if choice == "s":
        runtime.stop()
    else:
        output.notice(localised("waiting; ctrl+c leaves"))
    while source.in_the_way():
        time.sleep(runtime.BUSY_POLL_SECONDS)
    return True


def serve(connection: Connection, options: Sequence[str]) -> NoReturn:
    """Become the backend: in the same process, so that its number and its signals are the backend's own.

    The backend checks ``options`` itself. Raises ``ConfigError`` for options that point to another server.
    """
    if any(value is not None for value in connection):
        raise ConfigError("serve is a server itself", "put its options after the word serve")
    command = [sys.executable, "-P", "-m", "agent_tui.backend", "serve", "--config", str(config_path())]
    options, token = _without_token(options)
    if token:
        os.environ["AGENT_TUI_TOKEN"] = token
        output.complain(WARNING)
    sys.stdout.flush()
    os.execv(sys.executable, [*command, *options])  # noqa: S606  our own interpreter, no shell to want


def _without_token(options: Sequence[str]) -> tuple[list[str], str]:
    """Return the options of `serve` without ``--token``, and its value: the list of processes would show it
    as long as the backend runs. With other options about tokens, all of them stay, and the backend refuses
    them.
    """
    rest, token = [], ""
    words = iter(options)
    for word in words:
        name, has_value, value = word.partition("=")
        if name == "--token":
            token = value if has_value else next(words, "")
        else:
            rest.append(word)
    asks_otherwise = any(word.partition("=")[0] in ("--token-file", "--no-token") for word in rest)
    return (list(options), "") if asks_otherwise or not token else (rest, token)
