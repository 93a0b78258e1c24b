"""The line for typing instead of talking, and its commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agent_tui.config.voice import MAX_ROOM_CHARACTERS
from agent_tui.model.inert import inert_line
from tui.live.commands import Commands, NotDone, completion, copy_newest
from tui.live.composer import Writing
from tui.live.exporting import export
from tui.live.host import Host
from tui.screens.words import say
from tui.voice.acts import VoiceActs
from tui.voice.asks import VoiceAsks
from tui.voice.request import VoiceRequest
from tui.voice.run import VoiceRun
from widgets.composer import Composer
from widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui.cli.export.document import Exported


class VoiceComposer(Writing):
    """Keeps the draft of one voice room. It sends nothing itself."""

    def __init__(self, room: str) -> None:
        placeholder, completer = say("voice.placeholder"), partial(completion, kind="voice")
        line = Composer(placeholder=placeholder, completer=completer, id="voice-line")
        super().__init__(f"voice {room}", line)
        self._waiting = ""  # what is sent once the agent is ready, unless it is changed before

    def _show_note(self) -> None:
        if self.line.text != self._waiting:
            self._waiting = ""
        self._show_in_note(say("voice.waits") if self._waiting else self._told)

    def wait(self, text: str) -> None:
        """Keep ``text`` in the line, and say that it waits for the agent."""
        self._waiting = text
        self._show_note()

    def take_waiting(self) -> str:
        """Return what waits for the agent, "" for nothing; it waits no more, and stays in the line."""
        waiting, self._waiting = self._waiting, ""
        self._show_note()
        return waiting if waiting == self.line.text else ""


def commands_of(
    run: VoiceRun,
    acts: VoiceActs,
    asks: VoiceAsks,
    transcript: Transcript,
    host: Host,
    open_voice: Callable[[VoiceRequest], None],
) -> Commands:
    """Return the commands of one voice room. ``open_voice`` joins another one."""

    def begin_another(name: str) -> None:
        room = inert_line(name, MAX_ROOM_CHARACTERS) or next_name(run.request.room)
        text_only, headphones = run.is_text_only, run.uses_headphones
        open_voice(replace(run.request, room=room, text_only=text_only, headphones=headphones))

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
        await export(name, run.request.room, read, asks.composer)

    return Commands(
        "voice",
        asks.composer,
        host,
        {
            "new": begin_another,
            "chats": lambda _: host.do("app.lists('chats')"),
            "rooms": lambda _: host.do("app.lists('rooms')"),
            "stop": lambda _: acts.do("interrupt"),
            "mute": lambda _: acts.do("mute"),
            "devices": lambda _: acts.do("devices"),
            "headphones": lambda _: acts.do("headphones"),
            "text": lambda _: acts.do("text_only"),
            "file": lambda path: acts.send_file(path) if path else acts.do("file"),
            "copy": lambda _: copy(),
            "export": write,
        },
    )


def next_name(room: str) -> str:
    """Return the name of the next room: "demo-2" after "demo"."""
    counted = re.fullmatch(r"(.*)-(\d{1,9})", room)
    return f"{counted[1]}-{int(counted[2]) + 1}" if counted else f"{room}-2"
