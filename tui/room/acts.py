"""What a person does with a room's agents and settings, by keys and by slash commands."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError
from agent_tui.state.agents import Agent
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import FINISHED_BY, Turn
from tui.live.changes import ChangesScreen
from tui.live.commands import Commands, NotDone, copy_newest
from tui.live.exporting import export
from tui.room.open_room import OpenRoom
from tui.room.queue import QueueScreen
from tui.room.running import RoomRun
from tui.room.settings import room_settings
from tui.screens.dialog import ask_first
from tui.screens.words import count, say

if TYPE_CHECKING:
    from tui.cli.export.document import Exported

Act = Literal["stop", "skip", "retry", "continue"]


class PaneActs:
    """Acts on the agent of the current pane, and on the room."""

    def __init__(self, room: OpenRoom) -> None:
        self._room = room
        self._missing: Mapping[str, str] = {}

    # --- what can be done ------------------------------------------------------------------------------

    def why_not(self, act: str) -> str:
        """Return why an act (also say, queue, settings) is impossible now, as a sentence; "" if it is not."""
        state = self._room.state
        if act == "continue" and state.link.status == "lost":
            return ""
        missing = self._missing.get("change" if act == "settings" else act, "")
        if missing:
            return missing
        if not state.loaded:
            return say("help.why.not_loaded")
        if act == "queue":
            return "" if state.queue else say("queue.none")
        if act not in ("stop", "skip", "retry", "continue"):
            return ""
        reason = why_not(state, self._room.focused_agent, act)
        return say(f"help.why.{reason}") if reason else ""

    def note(self, event: ev.Event) -> None:
        """Ask another server what it lacks once the room is loaded; ours has everything."""
        if isinstance(event, ev.RoomLoaded) and not self._room.link.is_embedded:
            self._room.host.run("missing", self._look_what_is_missing(), exclusive=True)

    async def _look_what_is_missing(self) -> None:
        try:
            client = await self._room.client()
            self._missing = await client.missing(self._room.id)
        except AgentTuiError:
            return  # then each call says so itself
        if "say" in self._missing:
            self._room.composer.line.placeholder = self._missing["say"]
        self._room.host.show_soon()

    # --- one agent -------------------------------------------------------------------------------------

    def act(self, act: Act) -> None:
        """Act on the agent of the current pane. A retry in a paused room resumes all, so it asks first."""
        room, reason = self._room, self.why_not(act)
        agent, host = room.focused_agent, room.host
        if agent is None or reason:
            host.tell(reason or say("help.why.not_now"))
            return

        def do() -> None:
            host.run("act", self._do(act, agent))

        resumes = act in ("retry", "continue") and room.state.room.status == "paused"
        if resumes and len(room.state.agents) > 1:
            ask_first(host.screen.app, say("room.resumes"), do)
        else:
            do()

    async def _do(self, act: Act, agent: Agent) -> None:
        """Act on an agent; say that the rest of its turn comes, until it begins."""
        newest = agent.turns[-1] if act == "continue" else None
        part_id = newest.part_id if newest is not None else ""
        if await self._room.changed_by(self._act(act, agent.id)) and newest is not None:
            newest.rest_of = part_id
            self._room.host.show_soon()

    async def _act(self, act: Act, agent_id: str) -> ev.RoomInfo:
        client = await self._room.client()
        calls = {
            "stop": client.stop_agent,
            "skip": client.skip_agent,
            "retry": client.retry_agent,
            "continue": client.continue_agent,
        }
        return await calls[act](self._room.id, agent_id)

    def open(self, what: str, *, begins_at: str = "") -> None:
        """Show the queue, the settings (from the field ``begins_at`` on), or the files that tools changed."""
        room, host = self._room, self._room.host
        if not host.allows(self.why_not(what)):
            return
        if what == "queue":
            host.open(QueueScreen(room))
        elif what == "settings":
            host.open(room_settings(room, begins_at=begins_at))
        else:
            host.open(ChangesScreen(room, self._said_by))

    def _said_by(self, message_id: str) -> str:
        """Return whose turn a message is, and of which round."""
        turn = self._room.state.turn_of(message_id)
        if turn is None:
            return ""
        return say("changes.turn", name=turn.sender_name, round=count(turn.round_number))


def why_not(state: ConversationState, agent: Agent | None, act: str) -> str:
    """Return the end of the text key that says why an act on the agent is impossible; "" if it is not."""
    if agent is None:
        return "no_agent"
    if agent.is_gone:
        return "gone"
    if act == "stop":
        return "" if agent.open_turn is not None else "not_speaking"
    if act == "skip":
        return "" if state.room.status != "completed" else "room_done"
    if not agent.turns:
        return "nothing_to_retry" if act == "retry" else "nothing_to_continue"
    newest = agent.turns[-1]
    if act == "continue":
        return _why_not_on(state, newest)
    for turn in reversed(state.turns.values()):
        if turn is newest:
            break
        is_anothers = turn.role != "user" and turn.agent_id != agent.id
        if is_anothers and (
            state.room.execution_mode != "parallel" or turn.round_number > newest.round_number
        ):
            return "spoke_after"
    return ""


def _why_not_on(state: ConversationState, newest: Turn) -> str:
    """Return the same for continuing an agent's newest turn."""
    if newest.will_continue:
        return "will_continue"
    is_broken_off = newest.status in ("cut", "failed") and newest.interrupted != "skip"
    if not is_broken_off or newest.superseded or not (newest.length or newest.steps):
        return "nothing_to_continue"
    if newest.status == "cut" and newest.interrupted not in FINISHED_BY:
        return "goes_on_itself"
    return "round_over" if newest.round_number < state.round - 1 else ""


def commands_of(room: OpenRoom, runs: RoomRun, acts: PaneActs) -> Commands:
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
            "model": lambda _: acts.open("settings", begins_at="agents"),  # each has its own
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
