"""Which server a command uses, and what a screen is asked to show."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from agent_tui.config.file import CHAT, EMBEDDED, ROOMS, SOCKET, TASKS, BackendConfig, Config, load
from agent_tui.config.table import is_address
from agent_tui.model.errors import ConfigError
from agent_tui.paths import named_path
from tui.background import Query
from tui.cli import output
from tui.cli.arguments import Connection
from tui.runtime import Starting
from tui.screens.localised import localised
from tui.voice.request import VoiceRequest

WARNING = (
    "--token can be read by others in the list of processes; use AGENT_TUI_TOKEN, --token-file,"
    " or token_env in the config file"
)
ANSWERING = (CHAT, TASKS, SOCKET)  # kinds of servers that answer questions


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is running already. ``timeout`` is in seconds without a byte, ``paths`` overrides URL
    paths, ``agent`` says how to reach an agent service or socket. ``run_timeout`` is the ``timeout`` that is
    set for it: a room may think for longer than the default.
    """

    url: str
    token: str = field(default="", repr=False)
    timeout: float = 30.0
    paths: Mapping[str, str] = field(default_factory=dict)
    agent: BackendConfig | None = None
    run_timeout: float | None = None

    @property
    def host(self) -> str:
        """The host for a person, without a login that may be in the address."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


Source = Starting | Server


@dataclass(frozen=True, slots=True)
class ScreenRequest:
    """What ``tui.app.run_rooms`` gets: where the rooms are, and which one to open (as the user wrote it;
    ``None`` is the list). ``source`` is the embedded backend, which may still be starting, or another server.
    ``background`` is the question that the terminal was asked before the screen's code was loaded.
    """

    source: Source
    room: str | None
    config: Config
    background: Query | None = None
    setup: bool = False  # set up a provider of models, and no room
    home: bool = False  # the home screen, above which the others open
    chat: str | None = None  # the chat to open, as the user wrote it; "" is the newest; None: rooms
    is_new: bool = False  # open a chat that is made now
    voice: VoiceRequest | None = None  # the voice room to join

    @property
    def embedded(self) -> bool:
        """Whether the rooms are in the backend that this program started or found."""
        return isinstance(self.source, Starting)


def reach(source: Source, tell: Callable[[str], object] = lambda line: None) -> Server:
    """Return the server behind ``source``. Blocks while the embedded backend starts (20 s at most), and for
    10 s more while one that this program cannot use is in use; ``tell`` gets a line about that.

    Raises what ``Starting.wait`` raises.
    """
    if isinstance(source, Server):
        return source
    endpoint = source.wait(lambda line: tell(localised(line)))
    return Server(endpoint.url, endpoint.token)


def wants_embedded(connection: Connection) -> bool:
    """Return whether flags and environment choose the embedded backend. Reads no file."""
    if connection.backend is not None or connection.url is not None:
        return connection.backend == EMBEDDED and connection.url is None
    return not os.environ.get("AGENT_TUI_URL")


def other_server(connection: Connection, *kinds: str) -> Server:
    """Return the server that the flags name, else the environment, else the file.

    ``kinds`` are the protocols it may speak, by default rooms. A token on the command line causes a warning.
    Raises ``ConfigError`` when what is named cannot be used.
    """
    server = _named_server(connection, kinds or (ROOMS,))
    if connection.token is not None:
        output.complain(WARNING)
    return server


def _named_server(connection: Connection, kinds: Sequence[str]) -> Server:
    config = load()  # errors in it are reported, also where it does not name the server
    token = flag_token(connection) or os.environ.get("AGENT_TUI_TOKEN", "")
    if connection.backend is not None:
        if connection.url is not None:
            raise ConfigError("--url and --backend name two servers", "give one of them")
        return _from_file(connection.backend, config, token, kinds)
    if connection.url is not None:
        return Server(_check_address(connection.url, "--url"), token)
    return Server(_check_address(os.environ.get("AGENT_TUI_URL", ""), "AGENT_TUI_URL"), token)


def flag_token(connection: Connection) -> str:
    """Return the token of the flags, or ""; raises ``ConfigError``."""
    if connection.token_file is None:
        return connection.token or ""
    if connection.token is not None:
        raise ConfigError("--token and --token-file name two tokens", "give one of them")
    path = named_path(connection.token_file, "--token-file")
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        raise ConfigError(f"--token-file {path} cannot be read", why or str(error)) from error
    if not token:
        raise ConfigError(f"--token-file {path} is empty")
    return token


def _from_file(name: str, config: Config, token: str, kinds: Sequence[str]) -> Server:
    backend = config.backends.get(name)
    if backend is None:
        names = ", ".join(sorted(config.backends))
        raise ConfigError(
            f"no [backends.{name}] in {config.path}", f"there: {names}" if names else "it names no backends"
        )
    if backend.kind not in kinds:
        needed = " or ".join(kinds)
        raise ConfigError(f"backends.{name} is of kind {backend.kind}", f"this command needs kind {needed}")
    url = _check_address(backend.url, f"backends.{name}.url", ("ws", "wss") if backend.kind == SOCKET else ())
    token = token or os.environ.get(backend.token_env, "") or backend.token
    agent = replace(backend, token=token) if backend.kind in (TASKS, SOCKET) else None
    run_timeout = backend.timeout if backend.has_timeout else None
    return Server(url, token, backend.timeout, backend.paths, agent, run_timeout)


def _check_address(url: str, origin: str, more: tuple[str, ...] = ()) -> str:
    if not is_address(url) or urlsplit(url).scheme not in ("http", "https", *more):
        raise ConfigError(f"{origin} is not an address like http://127.0.0.1:8000")
    return url
