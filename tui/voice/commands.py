"""The command ``agent-tui voice`` and its options. What it starts is imported when it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from agent_tui.config.file import CHAT, data_path, load
from agent_tui.config.voice import DEFAULT_ROOM, MAX_ROOM_CHARACTERS, TOKEN_VARIABLE, named_livekit
from agent_tui.model.errors import ConfigError
from agent_tui.voice_parts import PARTS, missing_parts, voice_folder
from tui.cli import exits, output
from tui.cli.arguments import Connection
from tui.cli.headless.formats import FormatName
from tui.cli.output import PROGRAM
from tui.cli.parts import Command, Group, Output, Yes, connection_of, no_connection
from tui.request import flag_token
from tui.startup import choose_source, open_voice
from tui.terminal import is_terminal
from tui.voice.request import VoiceRequest

WARNING: Final = (
    f"--token can be read by others in the list of processes; use {TOKEN_VARIABLE} or --token-file"
)

ASKED: Final = "asked"  # a file: it was offered once to get what was missing

voice = typer.Typer(cls=Group, invoke_without_command=True, rich_markup_mode=None)


@voice.callback(invoke_without_command=True)
def _voice(
    context: typer.Context,
    room: Annotated[str | None, typer.Option("--room")] = None,
    agent: Annotated[str, typer.Option("--agent")] = "",
    wav: Annotated[Path | None, typer.Option("--wav")] = None,
    record: Annotated[Path | None, typer.Option("--record")] = None,
    transcript: Annotated[Path | None, typer.Option("--transcript")] = None,
    text: Annotated[bool, typer.Option("--text")] = False,
    muted: Annotated[bool, typer.Option("--muted")] = False,
    headphones: Annotated[bool, typer.Option("--headphones")] = False,
    no_aec: Annotated[bool, typer.Option("--no-aec")] = False,
    input_name: Annotated[str, typer.Option("--input")] = "",
    output_name: Annotated[str, typer.Option("--output-device")] = "",
    output_format: Annotated[FormatName | None, typer.Option("--output")] = None,
) -> int:
    if context.invoked_subcommand is not None:
        return exits.DONE
    connection = connection_of(context)
    script = _script(agent)
    request = VoiceRequest(
        room=_room(room),
        agent="" if script is not None else agent,
        script=script,
        text_only=text,
        muted=muted,
        headphones=headphones,
        uses_aec=not no_aec,
        url=connection.url or "",
        token=_token(connection),
        input_name=input_name,
        output_name=output_name,
        wav=wav,
        record=record,
    )
    ours = Connection(backend=connection.backend)  # the address and the token were LiveKit's
    if wav is None and output_format is None:
        if transcript is not None:
            raise ConfigError("--transcript needs --wav FILE, or --text with --output", _HELP)
        _set_up_first(request)
        return open_voice(ours, request)
    if wav is None and not text:
        raise ConfigError("--output needs --wav FILE, or --text for lines from stdin", _HELP)
    source = choose_source(ours, CHAT)
    from tui.voice.headless import Wanted, talk, typed_lines
    from tui.voice.opening import VoiceOpening

    lines = typed_lines if wav is None else None
    return talk(source, VoiceOpening, request, Wanted(output_format or "text", transcript, lines))


_HELP: Final = f"see {PROGRAM} voice --help"


def _room(named: str | None) -> str:
    room = load().voice.room or DEFAULT_ROOM if named is None else named.strip()
    if not room or len(room) > MAX_ROOM_CHARACTERS:
        raise ConfigError(f"--room needs a name of at most {MAX_ROOM_CHARACTERS} characters", _HELP)
    return room


def _script(agent: str) -> Path | None:
    """Return the file that ``--agent`` names, ``None`` where it names an agent."""
    if not agent.endswith(".py"):
        return None
    path = Path(agent).expanduser()
    if not path.is_file():
        raise ConfigError(f"--agent {path}: there is no such file", _HELP)
    return path


def _token(connection: Connection) -> str:
    if connection.token is not None:
        output.complain(WARNING)
    return flag_token(connection)


def _set_up_first(request: VoiceRequest) -> None:
    """The first time that something is missing on this machine, offer to get it; who has answered, and got
    what they wanted, is not asked again.

    Not where a LiveKit server is named, whose agents are its own, and not without a terminal.
    """
    asked = voice_folder() / ASKED
    missing = missing_parts()
    if not missing or asked.exists() or not is_terminal():
        return
    if request.script is None and named_livekit(load().voice, url=request.url, token=request.token):
        return
    from tui.voice import setup

    chosen = setup.offered(missing)
    if chosen:
        setup.get(chosen, data_path())
    else:
        output.notice(f"{setup.COMMAND} gets it later.")
    asked.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    asked.touch()  # only now: what was broken off is offered again


@voice.command("setup", cls=Command)
def _setup(
    context: typer.Context,
    yes: Yes = False,
    remove: Annotated[bool, typer.Option("--remove")] = False,
    only: Annotated[list[str] | None, typer.Option("--only")] = None,
    hearing: Annotated[str, typer.Option("--hearing")] = "",
    speaking: Annotated[str, typer.Option("--voice")] = "",
) -> int:
    no_connection(context, "voice is set up on this machine")
    from tui.voice import setup

    names = [part.name for part in PARTS]
    unknown = [name for name in only or () if name not in names]
    if unknown:
        raise ConfigError(f"--only {unknown[0]}: there is no such part", f"there are {', '.join(names)}")
    wanted = [name for name in names if name in (only or ())]
    return setup.setup(yes=yes, remove=remove, only=wanted, hearing=hearing, voice=speaking)


@voice.command("devices", cls=Command)
def _devices(context: typer.Context, output_format: Output = "text") -> int:
    no_connection(context, "devices are those of this machine")
    from tui.voice import devices

    return devices.list_devices(output_format)
