"""The commands of ``agent-tui rooms`` and their options; what they do stands in the modules beside.

They import what they need themselves, after the backend was started: the two load side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import typer
from typer._click.shell_completion import CompletionItem

from agent_tui.model.errors import ConfigError
from agent_tui.model.settings import Setting
from tui.cli import completion, exits
from tui.cli.commands.new_room import OPTIONS, RoomOptions, described, is_room_file, values_of
from tui.cli.parts import (
    OPEN_ROOM,
    STRICT_VARIABLE,
    Command,
    Group,
    OutFile,
    Output,
    RunOutput,
    Yes,
    connection_of,
    given,
    no_connection,
)
from tui.startup import choose_source, open_rooms

_BY_NAME = "tui.rooms.by_name"

Room = Annotated[str, typer.Argument(autocompletion=completion.rooms)]
OptionalRoom = Annotated[str | None, typer.Argument(autocompletion=completion.rooms)]
ExportFormat = Annotated[Literal["md", "json", "html", "toml"], typer.Option("--format")]


def _option(setting: Setting) -> Any:
    """Return what a setting is on the command line."""
    least: dict[str, Any] = {"min": setting.type(setting.least)} if setting.type in (int, float) else {}
    option = typer.Option(setting.option, **least)
    if setting.type is bool:
        return Annotated[bool, option]
    if setting.type is tuple:
        return Annotated[list[str] | None, option]
    if setting.is_folder:
        return Annotated[Path | None, option]
    type_: Any = Literal[setting.choices] if setting.choices else setting.type
    return Annotated[type_ | None, option]


# The options of a new room: field of ``RoomOptions`` or what a setting is called → what it is on the command
# line.
_OWN: Final[Mapping[str, Any]] = {
    "from_file": Annotated[Path | None, typer.Option("--from")],
    "agents": Annotated[list[str] | None, typer.Option("--agent")],
    "templates": Annotated[list[str] | None, typer.Option("--template", autocompletion=completion.templates)],
    "provider": Annotated[str | None, typer.Option("--provider", autocompletion=completion.providers)],
    "strict": Annotated[bool, typer.Option("--strict", envvar=STRICT_VARIABLE)],
}
_OF_A_ROOM: Final = {**_OWN, **{setting.called: _option(setting) for setting in OPTIONS.values()}}


def takes_room_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of a new room in place of its parameter ``options``."""

    @wraps(command)
    def called(**given: Any) -> int:
        said = {name: given.pop(name) for name in _OF_A_ROOM}
        options = RoomOptions(**{name: said[name] for name in _OWN}, values=values_of(said))
        return command(options=options, **given)

    of_a_room = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=False if get_args(kind)[0] is bool else None,
            annotation=kind,
        )
        for name, kind in _OF_A_ROOM.items()
    ]
    own = [one for one in signature(command, eval_str=True).parameters.values() if one.name != "options"]
    parameters = [*(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *of_a_room]
    # Typer reads both.
    called.__signature__ = Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


class RoomsGroup(Group):
    """``rooms``: a word that is no command is a ROOM, and behind ``--`` every word is."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_BY_NAME] = args[:1] == ["--"]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        items = super().shell_complete(ctx, incomplete)
        rooms = [] if incomplete.startswith("-") else completion.rooms(ctx)
        return [*items, *(CompletionItem(word, help=about) for word, about in rooms)]

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
    return open_rooms(connection_of(context), given(room, "ROOM", "rooms"))


@rooms.command("list", cls=Command)
def _list(context: typer.Context, output_format: Output = "text") -> int:
    source = choose_source(connection_of(context))
    from tui.cli.commands import rooms as rooms_commands

    return rooms_commands.list_rooms(source, output_format)


@rooms.command("new", cls=Command)
@takes_room_options
def _new(context: typer.Context, options: RoomOptions, output_format: Output = "text") -> int:
    new = described(options)
    source = choose_source(connection_of(context))
    from tui.cli.commands import rooms as rooms_commands

    return rooms_commands.new_room(source, new, output_format)


@rooms.command("show", cls=Command)
def _show(context: typer.Context, room: Room, output_format: Output = "text") -> int:
    wanted = given(room, "ROOM", "rooms")
    source = choose_source(connection_of(context))
    from tui.cli.commands import rooms as rooms_commands

    return rooms_commands.show_room(source, wanted, output_format)


@rooms.command("delete", cls=Command)
def _delete(context: typer.Context, room: Room, yes: Yes = False, output_format: Output = "text") -> int:
    wanted = given(room, "ROOM", "rooms")
    source = choose_source(connection_of(context))
    from tui.cli.commands import rooms as rooms_commands

    return rooms_commands.delete_room(source, wanted, yes, output_format)


@rooms.command("pause", cls=Command)
def _pause(context: typer.Context, room: Room, output_format: Output = "text") -> int:
    wanted = given(room, "ROOM", "rooms")
    source = choose_source(connection_of(context))
    from tui.cli.commands import rooms as rooms_commands

    return rooms_commands.pause_room(source, wanted, output_format)


@rooms.command("resume", cls=Command)
def _resume(context: typer.Context, room: Room, output_format: Output = "text") -> int:
    wanted = given(room, "ROOM", "rooms")
    source = choose_source(connection_of(context))
    from tui.cli.commands import rooms as rooms_commands

    return rooms_commands.resume_room(source, wanted, output_format)


@rooms.command("run", cls=Command)
@takes_room_options
def _run(
    context: typer.Context,
    options: RoomOptions,
    room: OptionalRoom = None,
    output_format: RunOutput = "text",
) -> int:
    wanted = None if room is None else given(room, "ROOM", "rooms")
    if wanted is not None and options.from_file is None and is_room_file(wanted):
        options, wanted = replace(options, from_file=Path(wanted)), None
    only_new = options.given
    if wanted is not None and only_new:
        raise ConfigError(f"{only_new[0]} is for a new room", "give either ROOM or the options of a new one")
    if wanted is None and options.from_file is None and "task" not in options.values:
        raise ConfigError("nothing to run", "give ROOM, a room file, or --task to make a room first")
    new = None if wanted is not None else described(options)
    source = choose_source(connection_of(context))
    from tui.cli.headless import rooms as headless

    return headless.run(source, new or wanted or "", output_format, options.changes, strict=options.strict)


@rooms.command("export", cls=Command)
def _export(context: typer.Context, room: Room, form: ExportFormat = "md", out: OutFile = None) -> int:
    wanted = given(room, "ROOM", "rooms")
    source = choose_source(connection_of(context))
    from tui.cli.export import document as export

    return export.export_room(source, wanted, form, out)


@rooms.command("templates", cls=Command)
def _templates(
    context: typer.Context,
    output_format: Output = "text",
    keep: Annotated[str | None, typer.Option("--keep", autocompletion=completion.templates)] = None,
) -> int:
    no_connection(context, "the templates are on this machine")
    from tui.cli.commands import templates as template_commands

    if keep is not None:
        return template_commands.keep_template(keep, output_format)
    return template_commands.list_templates(output_format)
