"""The command line (cli.md): its commands and options; what they do stands in the modules beside.

Which server is meant was taken off before (``tui.cli.arguments``) and comes along as the context's ``obj``.
The commands of ``rooms`` are in ``tui.cli.rooms``, those about chats in ``tui.cli.chat``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.main import get_command

import agent_tui
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from tui.cli import completion, exits, output
from tui.cli.arguments import HELP_OPTIONS, Connection
from tui.cli.chat import add_chat_commands
from tui.cli.commands import backend as backend_commands
from tui.cli.commands import config as config_commands
from tui.cli.output import PROGRAM
from tui.cli.parts import OPEN_ROOM, Command, Group, Output, connection_of, no_connection
from tui.cli.rooms import rooms
from tui.logs import start_logging
from tui.startup import choose_source, open_rooms, serve
from tui.voice.commands import voice


def run(connection: Connection, arguments: Sequence[str]) -> int:
    """Carry out one command line and return its exit code.

    Raises ``ConfigError`` for wrong usage and whatever the command itself raises.
    """
    if (wanted := completion.asked_for_script(arguments)) is not None:
        completion.set_up(*wanted)
        return exits.DONE
    start_logging()
    command = get_command(app)
    try:
        with command.make_context(PROGRAM, list(arguments), obj=connection) as context:
            return int(command.invoke(context))
    except typer.Exit as finished:  # after a help page
        return finished.exit_code
    except typer.TyperException as error:
        raise _wrong_usage(error) from error


def complete(arguments: Sequence[str]) -> int:
    """Answer a shell that asks what may come next on its command line."""
    completion.answer(get_command(app), arguments, os.environ)
    return exits.DONE


def _wrong_usage(error: typer.TyperException) -> ConfigError:
    message = inert_line(error.format_message().replace("Value error, ", "")).rstrip(".")
    context = getattr(error, "ctx", None)
    where = context.command_path.removesuffix(OPEN_ROOM).strip() if context is not None else PROGRAM
    return ConfigError(message, f"see {where} --help")


# --- the program -----------------------------------------------------------------------------------------

app = typer.Typer(
    cls=Group,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": [*HELP_OPTIONS]},
)
backend = typer.Typer(cls=Group, rich_markup_mode=None)
config = typer.Typer(cls=Group, rich_markup_mode=None)
models = typer.Typer(cls=Group, invoke_without_command=True, rich_markup_mode=None)
app.add_typer(rooms, name="rooms")
add_chat_commands(app)


@app.callback()
def _home(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", is_eager=True)] = False,
) -> int:
    if version:
        output.say(f"{PROGRAM} {agent_tui.__version__}")
        raise typer.Exit
    return open_rooms(connection_of(context), None) if context.invoked_subcommand is None else exits.DONE


@app.command("serve", cls=Command, context_settings={"ignore_unknown_options": True})
def _serve(context: typer.Context, options: Annotated[list[str] | None, typer.Argument()] = None) -> int:
    return serve(connection_of(context), options or [])


app.add_typer(backend, name="backend")
app.add_typer(config, name="config")
app.add_typer(models, name="models")
app.add_typer(voice, name="voice")


# --- models ----------------------------------------------------------------------------------------------


@models.callback(invoke_without_command=True)
def _models(context: typer.Context, output_format: Output = "text") -> int:
    if context.invoked_subcommand is not None:
        return exits.DONE
    source = choose_source(connection_of(context))
    from tui.cli.commands import models as models_commands

    return models_commands.list_models(source, output_format)


@models.command("setup", cls=Command)
def _setup(context: typer.Context) -> int:
    no_connection(context, "providers are set up for the backend of this machine")
    return open_rooms(connection_of(context), None, setup=True)


# --- the embedded backend and the config file ------------------------------------------------------------


@backend.command("status", cls=Command)
def _status(context: typer.Context, output_format: Output = "text") -> int:
    no_connection(context, "the embedded backend is on this machine")
    return backend_commands.status(output_format)


@backend.command("stop", cls=Command)
def _stop(context: typer.Context) -> int:
    no_connection(context, "the embedded backend is on this machine")
    return backend_commands.stop()


@config.command("path", cls=Command)
def _path(context: typer.Context) -> int:
    no_connection(context, "the config file is on this machine")
    return config_commands.path()


@config.command("show", cls=Command)
def _show_config(context: typer.Context) -> int:
    no_connection(context, "the config file is on this machine")
    return config_commands.show()


@config.command("check", cls=Command)
def _check(context: typer.Context) -> int:
    no_connection(context, "the config file is on this machine")
    return config_commands.check()


@config.command("keys", cls=Command)
def _keys(context: typer.Context, output_format: Output = "text") -> int:
    no_connection(context, "the config file is on this machine")
    return config_commands.keys(output_format)


@app.command("doctor", cls=Command)
def _doctor(context: typer.Context, as_json: Annotated[bool, typer.Option("--json")] = False) -> int:
    no_connection(context, "doctor looks at this machine")
    from tui.cli.doctor import checks as doctor  # lazy: it looks at everything, the screens' parts too

    return doctor.run(as_json)
