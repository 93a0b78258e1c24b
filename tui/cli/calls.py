"""What some commands check first. What they call is imported while the backend starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from agent_tui.config.file import CHAT, DEMO_PROVIDER, SOCKET
from agent_tui.model.errors import ConfigError
from tui import startup
from tui.cli.arguments import Connection, ScreenArguments
from tui.cli.commands.new_room import is_room_file, options_of, room_of_options
from tui.cli.output import PROGRAM, OutputFormat
from tui.request import ANSWERING, other_server, wants_embedded

NO_TOOLS: Final = "none"

# --- screens -----------------------------------------------------------------------------------------------


def open_rooms(connection: Connection, wanted: str | None = None, plain: bool = False) -> int:
    """Show the rooms, or the ``wanted`` one."""
    return startup.open_screen(connection, ScreenArguments(wanted, is_plain=plain))


def chat(connection: Connection, conversation: str | None, new: bool, plain: bool) -> int:
    if conversation and new:
        raise ConfigError("--new makes a conversation", f"see {PROGRAM} chat --help")
    asked = ScreenArguments(chat=conversation or "", is_new=new, is_plain=plain)
    return startup.open_screen(connection, asked)


def set_up_models() -> int:
    """Show the set-up of a provider."""
    return startup.open_screen(Connection(), ScreenArguments(setup=True))


# --- rooms -------------------------------------------------------------------------------------------------


def new_room(connection: Connection, output_format: OutputFormat, **given: Any) -> None:
    """Make a room; ``given`` are its options."""
    new = room_of_options(options_of(given))
    source = startup.choose_source(connection)
    from tui.cli.commands import rooms

    rooms.new_room(source, new, output_format)


def run_room(connection: Connection, room: str | None, output_format: Any, **given: Any) -> int:
    """Run a room to its end: an existing one, or one that ``given`` describes."""
    options, wanted = options_of(given), room
    if wanted is not None and options.from_file is None and is_room_file(wanted):
        options, wanted = replace(options, from_file=Path(wanted)), None
    if wanted is not None and options.strict and options.provider == DEMO_PROVIDER:
        options = replace(options, provider=None, strict=False)  # the demo model that speaks in it is meant
    only_new = options.given
    if wanted is not None and only_new:
        raise ConfigError(f"{only_new[0]} is for a new room", "give either ROOM or the options of a new one")
    if wanted is None and options.from_file is None and "task" not in options.values:
        raise ConfigError("nothing to run", "give ROOM, a room file, or --task to make a room first")
    new = None if wanted is not None else room_of_options(options)
    source = startup.choose_source(connection)
    from tui.cli.headless import rooms

    return rooms.run(source, new or wanted or "", output_format, options.changes, strict=options.strict)


# --- ask ---------------------------------------------------------------------------------------------------


def ask(
    connection: Connection,
    text: Sequence[str] | None,
    files: Sequence[Path] | None,
    output_format: Any,
    tools: str | None,
    allow: Sequence[str] | None,
    thinking: bool,
    **fields: Any,
) -> int:
    """Ask one question; ``fields`` are the other fields of ``AskOptions``."""
    if fields["conversation"] is not None and not fields["conversation"].strip():
        raise ConfigError("CONVERSATION is empty", f"see {PROGRAM} ask --help")
    from tui.cli.headless.ask_input import AskOptions, read_question

    fields |= {"tools": tool_list(tools), "allow": tuple(allow or ()), "thinking": thinking or None}
    options = AskOptions(server=connection.again, **fields)
    other = None if wants_embedded(connection) else other_server(connection, *ANSWERING)
    agent = other.agent if other is not None else None
    is_socket = agent is not None and agent.kind == SOCKET
    if options.chat_id is not None and not is_socket:
        raise ConfigError(
            "--chat-id is for backends of kind socket", "a conversation is named by --conversation"
        )
    asked = read_question(text or (), files or (), not is_socket)
    source = other or startup.choose_source(connection, CHAT)
    from tui.cli.headless import ask as headless

    return headless.ask(source, asked, options, output_format)


def tool_list(names: str | None) -> tuple[str, ...] | None:
    """Return the tools in ``--tools``, none for "none"; ``None`` if it is not given."""
    if names is None:
        return None
    listed = tuple(name.strip() for name in names.split(",") if name.strip())
    if not listed:
        raise ConfigError("--tools names none", f'give names with commas between them, or "{NO_TOOLS}"')
    return () if listed == (NO_TOOLS,) else listed
