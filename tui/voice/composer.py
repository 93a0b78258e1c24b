"""The line for typing instead of talking, and its commands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.live.commands import Commands, NotDone, completion, copy_newest
from tui.live.composer import Writing
from tui.live.exporting import export
from tui.live.host import Host
from tui.screens.words import say
from tui.voice.acts import VoiceActs
from tui.voice.asks import VoiceAsks
from tui.voice.run import VoiceRun
from widgets.composer import Composer
from widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui.cli.export.document import Exported


def line_of(name: str) -> Writing:
    """Return the line of a voice session, with its draft."""
    completer = partial(completion, kind="voice")
    return Writing(
        f"voice {name}", Composer(placeholder=say("voice.placeholder"), completer=completer, id="voice-line")
    )


def commands_of(
    run: VoiceRun,
    acts: VoiceActs,
    asks: VoiceAsks,
    transcript: Transcript,
    host: Host,
) -> Commands:

    def copy() -> None:
        lines = (line for line in reversed(run.state.lines.all.values()) if line.kind == "agent")
        newest = next(lines, None)
        copy_newest(transcript, newest.text.text if newest is not None else "", host)

    async def read() -> Exported:
        # Lazy: loaded only for an export.
        from tui.cli.export.conversations import fetch

        return await fetch(await asks.client(), run.log_id)

    async def write(name: str) -> None:
        if not (run.log_id and len(run.state.lines)):
            raise NotDone(say("command.export.nothing"))
        await export(name, run.name, read, asks.composer)

    return Commands(
        "voice",
        asks.composer,
        host,
        {
            "chats": lambda _: host.do("app.lists('chats')"),
            "rooms": lambda _: host.do("app.lists('rooms')"),
            "stop": lambda _: acts.do("interrupt"),
            "mute": lambda _: acts.do("mute"),
            "devices": lambda _: acts.do("devices"),
            "headphones": lambda _: acts.do("headphones"),
            "text": lambda _: acts.do("text_only"),
            "settings": lambda _: asks.open_settings(),
            "file": acts.send_file,
            "copy": lambda _: copy(),
            "export": write,
        },
    )
