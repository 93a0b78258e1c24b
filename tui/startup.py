"""Opens a screen: the embedded backend is started first, and the screen loads while it comes up."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from agent_tui.config import config_path, load
from agent_tui.errors import ConfigError
from tui import background
from tui.arguments import Connection, ScreenArguments
from tui.request import CHAT, ROOMS, ScreenRequest, Source, other_server, wants_embedded
from tui.runtime import begin
from tui.terminal import is_terminal, restored

INSTEAD = "use agent-tui rooms list or agent-tui rooms run"
INSTEAD_OF_CHAT = "use agent-tui ask"


def choose_source(connection: Connection, kind: str = ROOMS) -> Source:
    """Return where the rooms or chats are; the embedded backend, which has both, is started here, without
    waiting for it.

    Raises ``ConfigError`` when flags, environment or file are wrong.
    """
    if wants_embedded(connection):
        if connection.token is not None:
            raise ConfigError("--token needs --url or --backend", "your own backend has its own token")
        return begin()
    return other_server(connection, kind)


def open_rooms(connection: Connection, room: str | None, *, setup: bool = False) -> int:
    """Show the rooms, or the one that ``room`` names, until the user leaves; return the exit code.
    ``setup``: set up a provider of models instead.

    Raises ``ConfigError`` where no screen can be shown.
    """
    return open_screen(connection, ScreenArguments(room, setup=setup))


def open_chat(connection: Connection, chat: str, *, is_new: bool = False) -> int:
    """Show the chat that ``chat`` names ("": the newest, or with ``is_new`` a new one) until the user
    leaves; return the exit code.

    Raises ``ConfigError`` where no screen can be shown.
    """
    return open_screen(connection, ScreenArguments(chat=chat, is_new=is_new))


def open_screen(connection: Connection, asked: ScreenArguments) -> int:
    """Show what was asked for until the user leaves; return the exit code.

    Raises ``ConfigError`` where no screen can be shown.
    """
    kind, instead = (ROOMS, INSTEAD) if asked.chat is None else (CHAT, INSTEAD_OF_CHAT)
    if not is_terminal():
        raise ConfigError("a screen needs a terminal", instead)
    if os.environ.get("TERM") == "dumb":
        raise ConfigError("TERM=dumb cannot show a screen", instead)
    source = choose_source(connection, kind)
    config = load()
    with restored():
        request = ScreenRequest(
            source,
            asked.room,
            config,
            background.begin(os.environ),
            setup=asked.setup,
            chat=asked.chat,
            is_new=asked.is_new,
        )
        # Lazy: these load while the backend comes up and the terminal answers.
        from tui.app import run_rooms
        from tui.logs import start_logging

        start_logging()
        return run_rooms(request)


def serve(connection: Connection, options: Sequence[str]) -> NoReturn:
    """Become the backend: the same process, so that its number and its signals are the backend's own.

    The backend checks ``options`` itself. Raises ``ConfigError`` for options that point at another server.
    """
    if any(value is not None for value in connection):
        raise ConfigError("serve is a server itself", "its own options stand behind the word serve")
    command = [sys.executable, "-P", "-m", "agent_tui.backend", "serve", "--config", str(config_path())]
    sys.stdout.flush()
    os.execv(sys.executable, [*command, *options])  # noqa: S606  our own interpreter, no shell to want
