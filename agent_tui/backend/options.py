"""The options of the backend's two modes (cli.md, `serve`; `embedded` is for our own programs)."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from agent_tui.backend.http.auth import is_loopback, usable_token
from agent_tui.config.file import config_path, data_path
from agent_tui.model.errors import ConfigError
from agent_tui.paths import folder_exists, named_path

EMBEDDED_DATABASE = "agent-tui.db"
SERVE_DATABASE = "serve.db"  # not the embedded backend's: both may run at the same time
RUNTIME_FILE = "backend.json"
DEMO_TOKENS_PER_SECOND = 15.0  # a demo room of three rounds lasts more than a minute
DEMO_SEED = 1
LOOPBACK = "127.0.0.1"
MAX_PORT = 65535
_NUMBER = re.compile("[0-9.eE+-]+")
PLAIN = {  # argparse's wording: that of all commands
    r"^argument (\S+): invalid _whole value: .*": r"\1: must be a whole number",
    r"^argument (\S+): invalid float value: .*": r"\1: must be a number",
    r"^argument (\S+): expected one argument$": r"\1: needs a value",
    r"^argument (\S+): ignored explicit argument .*": r"\1: takes no value",
    r"^argument (\S+): not allowed with argument (\S+)$": r"\1: not together with \2",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a backend process.

    ``token``: the given one, empty: make a random one, ``None``: require none. ``resume``: rooms that were
    running continue. ``idle_seconds``: end after this long without clients, ``None``: never;
    ``unwatched_seconds`` likewise for pausing rooms that nobody watches. ``demo_rate``: tokens/s of each demo
    agent, 0: no pacing. ``workspaces``: tools of chats may work at or below these folders, ``None``: wherever
    a chat says.
    """

    mode: Literal["embedded", "serve"]
    database: Path
    config: Path
    demo_rate: float
    demo_seed: int
    host: str = LOOPBACK
    port: int = 0
    token: str | None = ""
    resume: bool = False
    idle_seconds: float | None = None
    unwatched_seconds: float | None = None
    workspaces: tuple[Path, ...] | None = None

    @property
    def data(self) -> Path:
        """Return the data folder, which has the parts of voice."""
        return self.database.parent if self.mode == "embedded" else data_path()

    @property
    def runtime_file(self) -> Path:
        """The file in which the embedded backend says how to reach it."""
        return self.database.with_name(RUNTIME_FILE)

    @property
    def token_file(self) -> Path:
        """The file into which `serve` writes a token that it made itself."""
        return self.database.with_name(f"{self.database.name}.token")

    @property
    def lock_file(self) -> Path:
        """The file that the one process using this database holds."""
        return self.database.with_name(f"{self.database.name}.lock")

    @property
    def log_file(self) -> Path:
        """The log of this process."""
        name = "backend.log" if self.mode == "embedded" else f"{self.database.name}.log"
        return self.database.with_name(name)


class _OneLineParser(argparse.ArgumentParser):
    """Reports errors in the options in one line, as every command does (cli.md)."""

    def error(self, message: str) -> NoReturn:
        for pattern, plain in PLAIN.items():
            message = re.sub(pattern, plain, message, flags=re.DOTALL)
        raise ConfigError(message, f"see {self.prog} --help")


def parse(arguments: list[str]) -> Settings:
    """Return the settings from ``arguments`` and the environment.

    Raises ``ConfigError`` for invalid ones; exits with 0 after ``--help``.
    """
    given, others = _parser().parse_known_args(arguments)
    if others:
        raise ConfigError(f"unexpected argument '{others[0]}'", f"see agent-tui {given.mode} --help")
    config = named_path(given.config, "--config") if given.config else config_path()
    rate = _number(given.demo_rate, "--demo-rate", "AGENT_TUI_DEMO_RATE", DEMO_TOKENS_PER_SECOND)
    seed = int(_number(given.demo_seed, "--demo-seed", "AGENT_TUI_DEMO_SEED", DEMO_SEED, is_whole=True))
    if given.mode == "embedded":
        return Settings(
            "embedded",
            _data_folder(Path(given.data)) / EMBEDDED_DATABASE,
            config,
            rate,
            seed,
            idle_seconds=_seconds(given.idle_seconds, "--idle-seconds"),
            unwatched_seconds=_seconds(given.unwatched_seconds, "--unwatched-seconds"),
        )
    host = given.host.strip("[]")
    if not host:
        raise ConfigError("--host", "must name an address; 127.0.0.1 is this machine alone")
    if not 0 <= given.port <= MAX_PORT:
        raise ConfigError(f"--port {given.port}", f"must be 0 to {MAX_PORT}; 0 picks a free one")
    return Settings(
        "serve",
        _database(given.database),
        config,
        rate,
        seed,
        host=host,
        port=given.port,
        token=_token(given, host),
        resume=not given.no_resume,
        workspaces=_workspaces(given.workspace),
    )


def _parser() -> argparse.ArgumentParser:
    parser = _OneLineParser(prog="agent-tui", description="The backend of agent-tui.")
    modes = parser.add_subparsers(dest="mode", required=True, parser_class=_OneLineParser)
    embedded = modes.add_parser("embedded", help="for the programs of one user; found by its runtime file")
    embedded.add_argument("--data", metavar="DIR", required=True, help="folder of the database")
    embedded.add_argument("--idle-seconds", type=float, default=30.0, help=argparse.SUPPRESS)
    embedded.add_argument("--unwatched-seconds", type=float, default=30.0, help=argparse.SUPPRESS)
    serve = modes.add_parser("serve", help="the backend alone", allow_abbrev=False)
    serve.add_argument("--host", default=LOOPBACK, help="address to listen on (default: %(default)s)")
    serve.add_argument("--port", type=_whole, default=0, help="0 picks a free one (default)")
    serve.add_argument(
        "--database", metavar="URL", help="sqlite:///path/file.db (default: in the data folder)"
    )
    tokens = serve.add_mutually_exclusive_group()
    tokens.add_argument("--token", help="the bearer token that clients must send")
    tokens.add_argument("--token-file", metavar="F", help="read the token from this file")
    tokens.add_argument("--no-token", action="store_true", help="ask for no token; on loopback only")
    serve.add_argument("--no-resume", action="store_true", help="rooms that ran stay paused")
    serve.add_argument(
        "--workspace",
        metavar="DIR",
        help="tools of chats may work in this folder and below (default: nowhere)",
    )
    for mode in (embedded, serve):
        mode.add_argument("--config", metavar="FILE", help="the config file (default: the user's)")
        mode.add_argument("--demo-rate", metavar="N", help="the demo model's tokens/s; 0: as fast as it goes")
        mode.add_argument("--demo-seed", metavar="N", help="what the demo model says, reproducibly")
    return parser


def _whole(text: str) -> int:
    """Return a whole number; raises ``ValueError`` for what only ``int`` takes, such as "1_0" and "٣"."""
    if not re.fullmatch("-?[0-9]{1,18}", text):
        raise ValueError
    return int(text)


def _number(
    given: str | None, option: str, variable: str, default: float, *, is_whole: bool = False
) -> float:
    name, text = (option, given) if given is not None else (variable, os.environ.get(variable, ""))
    if not text:
        return default
    try:
        value = _whole(text) if is_whole else float(text) if _NUMBER.fullmatch(text) else -1.0
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        wanted = "must be a whole number, 0 or more" if is_whole else "must be a number, 0 or more"
        raise ConfigError(f"{name} {text!r}", wanted)
    return value


def _seconds(value: float, option: str) -> float:
    if not value > 0:
        raise ConfigError(f"{option} {value}", "must be more than 0")
    return value


def _data_folder(folder: Path) -> Path:
    folder = named_path(folder, f"The data folder {folder} cannot be made", resolves=True)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"The data folder {folder} cannot be made", error.strerror or str(error)) from error
    return folder


def _database(url: str | None) -> Path:
    if url is None:
        return _data_folder(data_path()) / SERVE_DATABASE
    if url.startswith(("postgresql:", "postgresql+", "postgres:")):
        raise ConfigError(
            "--database: PostgreSQL is not offered by this version", "use sqlite:///path/file.db"
        )
    scheme, _, path = url.partition(":///")
    if scheme != "sqlite" or not path or "?" in path or path == ":memory:":
        raise ConfigError(f"--database {url!r}", "must be sqlite:///path/file.db")
    database = named_path(path, "--database", resolves=True)  # one lock, whichever links lead to it
    if folder_exists(database) or path.endswith("/"):
        raise ConfigError(f"--database: {database} is a folder", "name a file in it")
    if not folder_exists(database.parent):
        raise ConfigError(f"--database: there is no folder {database.parent}", "make it first")
    return database


def _workspaces(folder: str | None) -> tuple[Path, ...]:
    if folder is None:
        return ()
    found = named_path(folder, "--workspace", resolves=True)
    if not folder_exists(found):
        raise ConfigError(f"--workspace: there is no folder {found}", "make it first")
    return (found,)


def _token(given: argparse.Namespace, host: str) -> str | None:
    """Return the token to require: the given one, empty for a random one, ``None`` for none at all."""
    if given.no_token:
        if not is_loopback(host):
            raise ConfigError("--no-token", f"only on a loopback address, {host} is not one")
        return None
    if given.token is not None:
        token, source = str(given.token), "--token"
    elif given.token_file is not None:
        token, source = _read_token(Path(given.token_file)), f"--token-file {given.token_file}"
    else:
        token, source = os.environ.get("AGENT_TUI_TOKEN", ""), "AGENT_TUI_TOKEN"
        if not token:
            return ""
    if not usable_token(token):
        raise ConfigError(source, "must contain a token of visible ASCII characters without spaces")
    return token


def _read_token(path: Path) -> str:
    try:
        return named_path(path, "--token-file").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise ConfigError(f"--token-file {path} cannot be read", reason or str(error)) from error
