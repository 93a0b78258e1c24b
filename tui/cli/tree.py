"""The parser of the command line, made from ``tui.cli.declared``.

The server options were removed before (``tui.cli.arguments``) and are the context's ``obj``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from typer._click.core import Command as ClickCommand
from typer._click.shell_completion import CompletionItem
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import agent_tui
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.model.records import RoomInfo
from agent_tui.model.settings import settings_of
from tui.cli import completion, exits, output
from tui.cli.arguments import CONNECTION_OPTIONS, HELP_OPTIONS, Connection, ScreenArguments, take_connection
from tui.cli.declared import COMMANDS, ROOT, Argument, Command, Option, path_in
from tui.cli.output import PROGRAM
from tui.cli.pages import help_page
from tui.language import CLI, translated
from tui.logs import start_logging
from tui.startup import choose_source, open_screen

OPEN_ROOM: Final = "--open"  # the hidden command behind `rooms ROOM`: nobody can type an option as one
PLAIN: Final = {  # the wording of Typer and pydantic: ours
    r"^Invalid value for '([^']*)': ": r"\1: ",
    r"Input should be a valid integer\b.*": "must be a whole number",
    r"Input should be a valid number\b.*": "must be a number",
    r"Input should be greater than or equal to ": "must be at least ",
    r"^Option '([^']*)' requires an argument$": r"\1: needs a value",
    r"^Got unexpected extra argument(?:s|\(s\))? \((.*)\)$": r"unexpected argument '\1'",
}
MAX_ABOUT_CHARACTERS: Final = 40  # Typer wraps what is longer, and fish takes each line for a word
_BY_NAME: Final = "tui.rooms.by_name"
_SETTINGS: Final = {one.option: one for one in settings_of(RoomInfo).values() if one.option}


def run(connection: Connection, arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code. Raises what the command raises."""
    if (wanted := completion.asked_for_script(arguments)) is not None:
        completion.set_up(*wanted)
        return exits.DONE
    start_logging()
    command = parser()
    try:
        with command.make_context(PROGRAM, list(arguments), obj=connection) as context:
            return int(command.invoke(context))
    except typer.Exit as finished:  # after a help page
        return finished.exit_code
    except typer.TyperException as error:
        raise _wrong_usage(error, arguments) from error


def complete() -> int:
    """Answer a shell that asks what may come next on its command line."""
    completion.answer(parser())
    return exits.DONE


def _wrong_usage(error: typer.TyperException, arguments: Sequence[str]) -> ConfigError:
    message = inert_line(error.format_message().replace("Value error, ", "")).rstrip(".")
    for pattern, plain in PLAIN.items():
        message = re.sub(pattern, plain, message)
    message = re.sub(r"^Missing argument '(.*)'$", lambda found: f"{found[1].upper()} is missing", message)
    context = getattr(error, "ctx", None)
    where = _path(context) if context is not None else path_in(arguments)
    return ConfigError(message, f"see {f'{PROGRAM} {where}'.strip()} --help")


# --- help --------------------------------------------------------------------------------------------------


def _path(context: Any) -> str:
    return str(context.command_path).removeprefix(PROGRAM).removesuffix(OPEN_ROOM).strip()


class _WithPage(ClickCommand):
    """A command or a group of them: its help is its page."""

    def get_help(self, ctx: Any) -> str:
        return help_page(_path(ctx))

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's parameters and, for a shell that completes, the options that name a server."""
        params = super().get_params(ctx)
        own = {name for param in params for name in param.opts}
        server = _server_options() if ctx.resilient_parsing else []
        return [*params, *(option for option in server if not own.intersection(option.opts))]


class _One(_WithPage, TyperCommand):
    """A command."""


class _Group(_WithPage, TyperGroup):
    """A group of commands."""


class _Program(_WithPage, TyperGroup):
    """All commands. The options that name a server were taken before, but for a shell that completes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.obj is None:
            ctx.obj, args = take_connection(
                args[:-1] if args[-1:] and args[-1] in CONNECTION_OPTIONS else args
            )
        return super().parse_args(ctx, args)


class _Rooms(_WithPage, TyperGroup):
    """``rooms``: a word that is not a command is a ROOM, and after ``--`` every word is."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_BY_NAME] = args[:1] == ["--"]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        items = super().shell_complete(ctx, incomplete)
        rooms = [(word, about) for word, about in completion.rooms(ctx) if word.startswith(incomplete)]
        return [*items, *(CompletionItem(word, help=about) for word, about in rooms)]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        by_name = ctx.meta[_BY_NAME]
        if by_name or self.get_command(ctx, args[0]) is None:
            return OPEN_ROOM, self.get_command(ctx, OPEN_ROOM), ["--", *args] if by_name else args
        return super().resolve_command(ctx, args)


# --- one command -------------------------------------------------------------------------------------------


def _callback(command: Command, *, is_group: bool = False) -> Any:
    """Return the function for the parser, with a parameter for everything that is declared."""
    arguments = () if is_group else command.arguments
    options = () if command.own_parser else command.options

    def called(context: typer.Context, **given: Any) -> int:
        if is_group and context.invoked_subcommand is not None:
            return exits.DONE
        values = {
            argument.field: _given_text(command, argument, given[argument.name.lower()])
            for argument in arguments
        }
        values |= {option.called: given[option.called] for option in options}
        connection: Connection = context.obj
        if command.local:
            _refuse_connection(connection, command.local)
        elif command.kinds is None:
            values["connection"] = connection
        else:
            values["source"] = choose_source(connection, *command.kinds, any_config=not command.needs_config)
        # Only now: it loads while the backend comes up.
        module, _, name = command.runs.partition(":")
        return getattr(import_module(module), name)(**values) or exits.DONE

    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    parameters += [*map(_argument, arguments), *map(_option, options)]
    # Typer reads both.
    called.__signature__ = Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _given_text(command: Command, argument: Argument, value: Any) -> Any:
    """Return an argument as it was given; raises ``ConfigError`` if it is empty."""
    if argument.optional and (value is None or argument.many):
        return value
    text = " ".join(value).strip() if argument.many else str(value)
    if not text.strip():
        page = argument.see or command.group
        raise ConfigError(argument.empty or f"{argument.name} is empty", f"see {PROGRAM} {page} --help")
    return text


def _refuse_connection(connection: Connection, subject: str) -> None:
    """Refuse server options for a command that is about this machine."""
    if any(value is not None for value in connection):
        raise ConfigError(f"{subject}: --url, --token, --token-file and --backend have no meaning here")


def _completion(declared: Argument | Option) -> Any:
    return getattr(completion, declared.completes) if declared.completes else None


def _argument(argument: Argument) -> Parameter:
    type_: Any = list[str] if argument.many else str
    declared = typer.Argument(autocompletion=_completion(argument))
    default = None if argument.optional else Parameter.empty
    return _parameter(argument.name.lower(), type_, declared, default)


def _option(option: Option) -> Parameter:
    choices, default = option.offered, option.default
    type_: Any = Path if option.type == "path" else option.type  # which --help does not need
    least: float | None = option.least
    if option.setting:
        setting = _SETTINGS[option.name]
        type_, choices = setting.type, setting.choices
        least = type_(setting.least) if type_ in (int, float) else None
        type_ = Path if setting.is_folder else str if type_ is tuple else type_
    if not option.wants:
        type_, default = bool, False
    elif choices:
        type_ = Literal[tuple(choices)]
    if option.many:
        type_ = list[type_]
    names = [option.name, *([option.short] if option.short else [])]
    about, variable = translated(CLI, option.text or "\n").partition("\n")[0], option.variable or None
    if len(about) > MAX_ABOUT_CHARACTERS:
        about = f"{about[: MAX_ABOUT_CHARACTERS - 3]}..."
    completes = _completion(option)
    declared: Any = typer.Option(*names, help=about, envvar=variable, min=least, autocompletion=completes)
    return _parameter(option.called, type_, declared, default)


@cache
def _server_options() -> list[Any]:
    app, completes = typer.Typer(add_completion=False), {"--backend": "backends"}
    options = [Option(name, "X", completes=completes.get(name, "")) for name in CONNECTION_OPTIONS]
    app.command()(_callback(Command("", "", "", "", options=options)))
    return list(get_command(app).params)


def _parameter(name: str, type_: Any, declared: Any, default: Any) -> Parameter:
    kind: Any = Annotated[type_ | None if default is None else type_, declared]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


# --- all of them -------------------------------------------------------------------------------------------


def _home(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", is_eager=True)] = False
) -> int:
    if version:
        output.say(f"{PROGRAM} {agent_tui.__version__}")
        raise typer.Exit
    is_alone = context.invoked_subcommand is None
    return open_screen(context.obj, ScreenArguments()) if is_alone else exits.DONE


def _tree() -> typer.Typer:
    app = typer.Typer(
        cls=_Program,
        invoke_without_command=True,
        callback=_home,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": [*HELP_OPTIONS]},
    )
    groups = {ROOT: app}
    for path in dict.fromkeys(command.group for command in COMMANDS.values() if command.group):
        group = COMMANDS[path]
        groups[path] = typer.Typer(
            cls=_Rooms if path == "rooms" else _Group,
            callback=_callback(group, is_group=True) if group.runs else None,
            invoke_without_command=bool(group.runs),
            rich_markup_mode=None,
        )
    for path, command in COMMANDS.items():
        last, brief = path.rpartition(" ")[2], translated(CLI, command.brief)
        if path in groups:
            app.add_typer(groups[path], name=path, help=brief)
            continue
        settings = {"ignore_unknown_options": True} if command.own_parser else {}
        adds = groups[command.group].command(last, cls=_One, help=brief, context_settings=settings)
        adds(_callback(command))
    groups["rooms"].command(OPEN_ROOM, cls=_One, hidden=True)(_callback(COMMANDS["rooms"]))
    return app


@cache
def parser() -> ClickCommand:
    """Return the parser of all commands."""
    return get_command(_tree())
