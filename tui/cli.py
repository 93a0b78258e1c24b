"""The command line (cli.md): its commands and options; what they do stands in the modules beside.

Which server is meant was taken off before (``tui.arguments``) and comes along as the context's ``obj``.
The commands import what they need themselves, after the backend was started: the two load side by side.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import agent_tui
from agent_tui.errors import ConfigError
from agent_tui.inert import inert_line
from tui import backend_commands, config_commands, exits, output
from tui.arguments import Connection, completing
from tui.formats import FormatName
from tui.help_pages import HELP
from tui.logs import start_logging
from tui.new_room import Mode, NewRoom, parse_agent
from tui.output import PROGRAM
from tui.startup import choose_source, open_rooms, serve

OPEN_ROOM = "--open"  # the hidden command behind `rooms ROOM`; as an option nobody can type it as a command
_BY_NAME = "tui.rooms.by_name"

Room = Annotated[str, typer.Argument()]
OptionalRoom = Annotated[str | None, typer.Argument()]
Output = Annotated[Literal["text", "json"], typer.Option("--output")]
RunOutput = Annotated[FormatName, typer.Option("--output")]
Task = Annotated[str | None, typer.Option("--task")]
Name = Annotated[str | None, typer.Option("--name")]
Agents = Annotated[list[str] | None, typer.Option("--agent")]
Rounds = Annotated[int | None, typer.Option("--rounds", min=1)]
RoomMode = Annotated[Mode | None, typer.Option("--mode")]
KeepRunning = Annotated[bool, typer.Option("--keep-running")]
Yes = Annotated[bool, typer.Option("--yes", "-y")]


def run(connection: Connection, arguments: Sequence[str]) -> int:
    """Carry out one command line and return its exit code.

    Raises ``ConfigError`` for wrong usage and whatever the command itself raises.
    """
    start_logging()
    command = get_command(app)
    if completing(os.environ):
        command.main(args=list(arguments), prog_name=PROGRAM)  # answers the shell and exits
    try:
        with command.make_context(PROGRAM, list(arguments), obj=connection) as context:
            return int(command.invoke(context))
    except typer.Exit as finished:  # after a help page
        return finished.exit_code
    except typer.TyperException as error:
        raise _wrong_usage(error) from error


def _wrong_usage(error: typer.TyperException) -> ConfigError:
    message = inert_line(error.format_message().replace("Value error, ", "")).rstrip(".")
    context = getattr(error, "ctx", None)
    where = context.command_path.removesuffix(OPEN_ROOM).strip() if context is not None else PROGRAM
    return ConfigError(message, f"see {where} --help")


class Command(TyperCommand):
    """A command whose help is its page of ``tui.help_pages``."""

    def get_help(self, ctx: Any) -> str:
        return _page(ctx)


class Group(TyperGroup):
    """A group of commands whose help is its page of ``tui.help_pages``."""

    def get_help(self, ctx: Any) -> str:
        return _page(ctx)


class RoomsGroup(Group):
    """``rooms``: a word that is no command is a ROOM, and behind ``--`` every word is."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_BY_NAME] = args[:1] == ["--"]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        if ctx.meta[_BY_NAME]:
            return OPEN_ROOM, self.get_command(ctx, OPEN_ROOM), ["--", *args]
        if self.get_command(ctx, args[0]) is None:
            return OPEN_ROOM, self.get_command(ctx, OPEN_ROOM), args
        return super().resolve_command(ctx, args)


def _page(context: Any) -> str:
    path = context.command_path.removeprefix(PROGRAM).removesuffix(OPEN_ROOM).strip()
    return HELP[path]


def _connection(context: typer.Context) -> Connection:
    connection = context.obj
    assert isinstance(connection, Connection)
    return connection


def _no_connection(context: typer.Context, subject: str) -> None:
    """Refuse flags that point elsewhere where the command is about this machine."""
    if any(value is not None for value in _connection(context)):
        raise ConfigError(f"{subject}: --url, --token and --backend have no meaning here")


def _given(room: str) -> str:
    if not room.strip():
        raise ConfigError("ROOM is empty", f"see {PROGRAM} rooms --help")
    return room


# --- the program -----------------------------------------------------------------------------------------

app = typer.Typer(
    cls=Group, invoke_without_command=True, rich_markup_mode=None, pretty_exceptions_enable=False
)
rooms = typer.Typer(cls=RoomsGroup, invoke_without_command=True, rich_markup_mode=None)
backend = typer.Typer(cls=Group, rich_markup_mode=None)
config = typer.Typer(cls=Group, rich_markup_mode=None)
app.add_typer(rooms, name="rooms")


@app.callback()
def _home(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", is_eager=True)] = False,
) -> int:
    if version:
        output.say(f"{PROGRAM} {agent_tui.__version__}")
        raise typer.Exit
    return open_rooms(_connection(context), None) if context.invoked_subcommand is None else exits.DONE


@app.command("serve", cls=Command, context_settings={"ignore_unknown_options": True})
def _serve(context: typer.Context, options: Annotated[list[str] | None, typer.Argument()] = None) -> int:
    return serve(_connection(context), options or [])


app.add_typer(backend, name="backend")
app.add_typer(config, name="config")


# --- rooms -----------------------------------------------------------------------------------------------


@rooms.callback()
def _rooms(context: typer.Context) -> int:
    return open_rooms(_connection(context), None) if context.invoked_subcommand is None else exits.DONE


@rooms.command(OPEN_ROOM, cls=Command, hidden=True)
def _open(context: typer.Context, room: Room) -> int:
    return open_rooms(_connection(context), _given(room))


@rooms.command("list", cls=Command)
def _list(context: typer.Context, output_format: Output = "text") -> int:
    source = choose_source(_connection(context))
    from tui import rooms_commands

    return rooms_commands.list_rooms(source, output_format)


@rooms.command("new", cls=Command)
def _new(
    context: typer.Context,
    task: Task = None,
    name: Name = None,
    agent: Agents = None,
    rounds: Rounds = None,
    mode: RoomMode = None,
    keep_running: KeepRunning = False,
    output_format: Output = "text",
) -> int:
    new = _new_room(task, name, agent, rounds, mode, keep_running)
    source = choose_source(_connection(context))
    from tui import rooms_commands

    return rooms_commands.new_room(source, new, output_format)


@rooms.command("show", cls=Command)
def _show(context: typer.Context, room: Room, output_format: Output = "text") -> int:
    wanted = _given(room)
    source = choose_source(_connection(context))
    from tui import rooms_commands

    return rooms_commands.show_room(source, wanted, output_format)


@rooms.command("delete", cls=Command)
def _delete(context: typer.Context, room: Room, yes: Yes = False, output_format: Output = "text") -> int:
    wanted = _given(room)
    source = choose_source(_connection(context))
    from tui import rooms_commands

    return rooms_commands.delete_room(source, wanted, yes, output_format)


@rooms.command("pause", cls=Command)
def _pause(context: typer.Context, room: Room, output_format: Output = "text") -> int:
    wanted = _given(room)
    source = choose_source(_connection(context))
    from tui import rooms_commands

    return rooms_commands.pause_room(source, wanted, output_format)


@rooms.command("resume", cls=Command)
def _resume(context: typer.Context, room: Room, output_format: Output = "text") -> int:
    wanted = _given(room)
    source = choose_source(_connection(context))
    from tui import rooms_commands

    return rooms_commands.resume_room(source, wanted, output_format)


@rooms.command("run", cls=Command)
def _run(
    context: typer.Context,
    room: OptionalRoom = None,
    task: Task = None,
    name: Name = None,
    agent: Agents = None,
    rounds: Rounds = None,
    mode: RoomMode = None,
    keep_running: KeepRunning = False,
    output_format: RunOutput = "text",
) -> int:
    wanted = None if room is None else _given(room)
    only_new = {"--task": task, "--name": name, "--agent": agent, "--rounds": rounds, "--mode": mode}
    given = [option for option, value in only_new.items() if value is not None]
    if wanted is not None and given:
        raise ConfigError(f"{given[0]} is for a new room", "give either ROOM or the options of a new one")
    if wanted is None and task is None:
        raise ConfigError("nothing to run", "give ROOM, or --task to make a room first")
    new = None if wanted is not None else _new_room(task, name, agent, rounds, mode, keep_running)
    source = choose_source(_connection(context))
    from tui import headless

    return headless.run(source, new or wanted or "", output_format, keep_running)


def _new_room(
    task: str | None,
    name: str | None,
    agents: list[str] | None,
    rounds: int | None,
    mode: Mode | None,
    keep_running: bool,
) -> NewRoom:
    if task is None or not task.strip():
        raise ConfigError("a new room needs --task", f"see {PROGRAM} rooms new --help")
    named = None if agents is None else tuple(map(parse_agent, agents))
    return NewRoom(task, name or "", named or None, rounds, mode, keep_running)


# --- the embedded backend and the config file ------------------------------------------------------------


@backend.command("status", cls=Command)
def _status(context: typer.Context, output_format: Output = "text") -> int:
    _no_connection(context, "the embedded backend is on this machine")
    return backend_commands.status(output_format)


@backend.command("stop", cls=Command)
def _stop(context: typer.Context) -> int:
    _no_connection(context, "the embedded backend is on this machine")
    return backend_commands.stop()


@config.command("path", cls=Command)
def _path(context: typer.Context) -> int:
    _no_connection(context, "the config file is on this machine")
    return config_commands.path()


@config.command("show", cls=Command)
def _show_config(context: typer.Context) -> int:
    _no_connection(context, "the config file is on this machine")
    return config_commands.show()


@config.command("check", cls=Command)
def _check(context: typer.Context) -> int:
    _no_connection(context, "the config file is on this machine")
    return config_commands.check()


@config.command("keys", cls=Command)
def _keys(context: typer.Context, output_format: Output = "text") -> int:
    _no_connection(context, "the config file is on this machine")
    return config_commands.keys(output_format)
