"""What the commands of a room's line do (``tui.live.commands`` lists them)."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Final

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui.live.commands import Commands, copy_newest, path_for_export
from tui.room.acts import RoomActs
from tui.room.open_room import OpenRoom
from tui.room.running import Running
from tui.screens.localised import localised
from tui.screens.words import say

MAX_WORDS: Final = 300


def commands_of(room: OpenRoom, runs: Running, acts: RoomActs) -> Commands:
    """Return what runs the commands of one room."""
    host = room.host

    def run(is_pause: bool, _: str) -> None:
        if (room.state.room.status == "running") is is_pause:
            runs.pause_or_resume()
        else:
            room.composer.tell(say("command.pause.not" if is_pause else "command.resume.not"))

    return Commands(
        "room",
        room.composer,
        host,
        {
            "model": lambda _: acts.open("settings"),
            "settings": lambda _: acts.open("settings"),
            "changes": lambda _: acts.open("changes"),
            "new": lambda _: host.do("app.new_room"),
            "rooms": lambda _: host.do("app.leave_room"),
            "chats": lambda _: host.do("app.lists"),
            "pause": partial(run, True),
            "resume": partial(run, False),
            "stop": lambda _: acts.act("stop"),
            "retry": lambda _: acts.act("retry"),
            "skip": lambda _: acts.act("skip"),
            "timeline": lambda _: host.do("timeline"),
            "copy": lambda _: _copy(room),
            "export": partial(_export, room),
        },
    )


def _copy(room: OpenRoom) -> None:
    """Copy what the agent said last in whose pane the reader is."""
    agent = room.focused_agent
    copy_newest(
        room.panes.active, agent.turns[-1].text if agent is not None and agent.turns else "", room.host
    )


def _export(room: OpenRoom, name: str) -> None:
    path = path_for_export(name, room.state.room.name or room.state.room.task or say("room.untitled"))
    if os.path.lexists(path):
        room.composer.tell(say("command.exists", file=inert_line(str(path), MAX_WORDS)))
    else:
        room.host.run("export", _write(room, path), exclusive=True)


async def _write(room: OpenRoom, path: Path) -> None:
    # Lazy: whoever never exports does not wait for it.
    from tui.cli.export.document import fetch, of_room, rendered, write_file
    from tui.cli.output import json_line

    ending = path.suffix.lower()
    try:
        exported = await fetch(await room.client(), room.id)
        if ending == ".json":
            text = json_line({"room": exported.raw_room, "messages": list(exported.raw_messages)}) + "\n"
        else:
            document = of_room(exported.room, exported.messages)
            text = rendered(document, "html" if ending in (".html", ".htm") else "md")
        write_file(path, text)
    except AgentTuiError as error:
        room.composer.tell(localised(error))
    else:
        room.composer.tell(say("command.exported", file=inert_line(str(path), MAX_WORDS)))
