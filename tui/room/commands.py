"""What the commands of a room's line do (``tui.live.commands`` lists them)."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from tui.live.commands import Commands, NotDone, copy_newest
from tui.live.exporting import export
from tui.room.acts import RoomActs
from tui.room.open_room import OpenRoom
from tui.room.running import Running
from tui.screens.words import say

if TYPE_CHECKING:
    from tui.cli.export.document import Exported


def commands_of(room: OpenRoom, runs: Running, acts: RoomActs) -> Commands:
    """Return what runs the commands of one room."""
    host = room.host

    def run(is_pause: bool, _: str) -> None:
        if (room.state.room.status == "running") is is_pause:
            runs.pause_or_resume()
        else:
            raise NotDone(say("command.pause.not" if is_pause else "command.resume.not"))

    return Commands(
        "room",
        room.composer,
        host,
        {
            "model": lambda _: acts.open("settings"),
            "settings": lambda _: acts.open("settings"),
            "changes": lambda _: acts.open("changes"),
            "new": lambda _: host.do("app.elsewhere('new_room')"),
            "rooms": lambda _: host.do("app.leave_room"),
            "chats": lambda _: host.do("app.lists('chats')"),
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
    agent = room.focused_agent
    copy_newest(
        room.panes.active, agent.turns[-1].text if agent is not None and agent.turns else "", room.host
    )


def _export(room: OpenRoom, name: str) -> Coroutine[Any, Any, None]:
    async def read() -> Exported:
        # Lazy: loaded only for an export.
        from tui.cli.export.document import fetch

        return await fetch(await room.client(), room.id)

    info = room.state.room
    return export(name, info.name or info.task or say("room.untitled"), read, room.composer)
