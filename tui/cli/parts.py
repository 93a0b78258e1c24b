"""What every command of the command line is made of: its help page, its server, its complaints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from agent_tui.model.errors import ConfigError
from tui.cli.arguments import Connection
from tui.cli.headless.formats import FormatName
from tui.cli.help_pages import HELP
from tui.cli.output import PROGRAM, OutputFormat

OPEN_ROOM = "--open"  # the hidden command behind `rooms ROOM`; as an option nobody can type it as a command

STRICT_VARIABLE = "AGENT_TUI_STRICT"  # for scripts: every command is given --strict

Output = Annotated[OutputFormat, typer.Option("--output")]
RunOutput = Annotated[FormatName, typer.Option("--output")]
OutFile = Annotated[Path | None, typer.Option("--out")]
Yes = Annotated[bool, typer.Option("--yes", "-y")]


class Command(TyperCommand):
    """A command whose help is its page of ``tui.cli.help_pages``."""

    def get_help(self, ctx: Any) -> str:
        return _page(ctx)


class Group(TyperGroup):
    """A group of commands whose help is its page of ``tui.cli.help_pages``."""

    def get_help(self, ctx: Any) -> str:
        return _page(ctx)


def _page(context: Any) -> str:
    path = context.command_path.removeprefix(PROGRAM).removesuffix(OPEN_ROOM).strip()
    return HELP[path]


def connection_of(context: typer.Context) -> Connection:
    """Return what the flags say about the server."""
    connection = context.obj
    assert isinstance(connection, Connection)
    return connection


def no_connection(context: typer.Context, subject: str) -> None:
    """Refuse flags that point elsewhere where the command is about this machine."""
    if any(value is not None for value in connection_of(context)):
        raise ConfigError(f"{subject}: --url, --token, --token-file and --backend have no meaning here")


def given(value: str, what: str, command: str) -> str:
    """Return the argument ``what`` of a command as it was given; raises ``ConfigError`` when it is empty."""
    if not value.strip():
        raise ConfigError(f"{what} is empty", f"see {PROGRAM} {command} --help")
    return value
