"""The commands of ``agent-tui rooms`` and their options; what they do stands in the modules beside.

They import what they need themselves, after the backend was started: the two load side by side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from agent_tui.errors import ConfigError
from tui import exits
from tui.cli_parts import OPEN_ROOM, Command, Group, connection_of, given, no_connection
from tui.formats import FormatName
from tui.new_room import Mode, OnError, RoomOptions, described, is_room_file
from tui.startup import choose_source, open_rooms

_BY_NAME = "tui.rooms.by_name"

Room = Annotated[str, typer.Argument()]
OptionalRoom = Annotated[str | None, typer.Argument()]
Output = Annotated[Literal["text", "json"], typer.Option("--output")]
RunOutput = Annotated[FormatName, typer.Option("--output")]
FromFile = Annotated[Path | None, typer.Option("--from")]
Task = Annotated[str | None, typer.Option("--task")]
Name = Annotated[str | None, typer.Option("--name")]
Agents = Annotated[list[str] | None, typer.Option("--agent")]
Templates = Annotated[list[str] | None, typer.Option("--template")]
Rounds = Annotated[int | None, typer.Option("--rounds", min=1)]
RoomMode = Annotated[Mode | None, typer.Option("--mode")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=0)]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0)]
AfterError = Annotated[OnError | None, typer.Option("--on-error")]
KeepRunning = Annotated[bool, typer.Option("--keep-running")]
Yes = Annotated[bool, typer.Option("--yes", "-y")]
ExportFormat = Annotated[Literal["md", "json", "html", "toml"], typer.Option("--format")]
OutFile = Annotated[Path | None, typer.Option("--out")]


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


rooms = typer.Typer(cls=RoomsGroup, invoke_without_command=True, rich_markup_mode=None)


@rooms.callback()
def _rooms(context: typer.Context) -> int:
    return open_rooms(connection_of(context), None) if context.invoked_subcommand is None else exits.DONE


@rooms.command(OPEN_ROOM, cls=Command, hidden=True)
def _open(context: typer.Context, room: Room) -> int:
    return open_rooms(connection_of(context), given(room))


@rooms.command("list", cls=Command)
def _list(context: typer.Context, output_format: Output = "text") -> int:
    source = choose_source(connection_of(context))
    from tui import rooms_commands

    return rooms_commands.list_rooms(source, output_format)


@rooms.command("new", cls=Command)
def _new(
    context: typer.Context,
    from_file: FromFile = None,
    task: Task = None,
    name: Name = None,
    agent: Agents = None,
    template: Templates = None,
    rounds: Rounds = None,
    mode: RoomMode = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    on_error: AfterError = None,
    keep_running: KeepRunning = False,
    output_format: Output = "text",
) -> int:
    options = RoomOptions(
        from_file, task, name, agent, template, rounds, mode, keep_running, max_tokens, max_cost, on_error
    )
    new = described(options)
    source = choose_source(connection_of(context))
    from tui import rooms_commands

    return rooms_commands.new_room(source, new, output_format)


@rooms.command("show", cls=Command)
def _show(context: typer.Context, room: Room, output_format: Output = "text") -> int:
    wanted = given(room)
    source = choose_source(connection_of(context))
    from tui import rooms_commands

    return rooms_commands.show_room(source, wanted, output_format)


@rooms.command("delete", cls=Command)
def _delete(context: typer.Context, room: Room, yes: Yes = False, output_format: Output = "text") -> int:
    wanted = given(room)
    source = choose_source(connection_of(context))
    from tui import rooms_commands

    return rooms_commands.delete_room(source, wanted, yes, output_format)


@rooms.command("pause", cls=Command)
def _pause(context: typer.Context, room: Room, output_format: Output = "text") -> int:
    wanted = given(room)
    source = choose_source(connection_of(context))
    from tui import rooms_commands

    return rooms_commands.pause_room(source, wanted, output_format)


@rooms.command("resume", cls=Command)
def _resume(context: typer.Context, room: Room, output_format: Output = "text") -> int:
    wanted = given(room)
    source = choose_source(connection_of(context))
    from tui import rooms_commands

    return rooms_commands.resume_room(source, wanted, output_format)


@rooms.command("run", cls=Command)
def _run(
    context: typer.Context,
    room: OptionalRoom = None,
    from_file: FromFile = None,
    task: Task = None,
    name: Name = None,
    agent: Agents = None,
    template: Templates = None,
    rounds: Rounds = None,
    mode: RoomMode = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    on_error: AfterError = None,
    keep_running: KeepRunning = False,
    output_format: RunOutput = "text",
) -> int:
    wanted = None if room is None else given(room)
    if wanted is not None and from_file is None and is_room_file(wanted):
        from_file, wanted = Path(wanted), None
    options = RoomOptions(
        from_file, task, name, agent, template, rounds, mode, keep_running, max_tokens, max_cost, on_error
    )
    only_new = options.given
    if wanted is not None and only_new:
        raise ConfigError(f"{only_new[0]} is for a new room", "give either ROOM or the options of a new one")
    if wanted is None and from_file is None and task is None:
        raise ConfigError("nothing to run", "give ROOM, a room file, or --task to make a room first")
    new = None if wanted is not None else described(options)
    source = choose_source(connection_of(context))
    from tui import headless

    return headless.run(source, new or wanted or "", output_format, options.changes)


@rooms.command("export", cls=Command)
def _export(context: typer.Context, room: Room, form: ExportFormat = "md", out: OutFile = None) -> int:
    wanted = given(room)
    source = choose_source(connection_of(context))
    from tui import export

    return export.export_room(source, wanted, form, out)


@rooms.command("templates", cls=Command)
def _templates(context: typer.Context, output_format: Output = "text") -> int:
    no_connection(context, "the templates are on this machine")
    from tui import template_commands

    return template_commands.list_templates(output_format)
