"""The room as it is to be: its name and task, its rounds and budget, its agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import RoomChanged, RoomInfo
from agent_tui.state.conversation import ConversationState
from tui.forms.form import Form
from tui.forms.suspended_rules import SuspendedRules
from tui.forms.tool_list import RoomTools
from tui.forms.values import read_changed, setting_field, settings_in
from tui.room.agent_list import AgentList
from tui.room.open_room import OpenRoom
from tui.screens.dialog import Dialog, framed
from tui.screens.localised import localised
from tui.screens.words import count, say, say_count

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

FIRST: Final = ("name", "task", "max_rounds", "execution_mode")  # of the fields


class SettingsScreen(Dialog[None]):
    """Changes the room with one call."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "#max_rounds"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="settings.save", priority=True),
        Binding("escape", "back", "Back without saving", id="settings.back", priority=True),
        Binding("a", "add", "Add an agent", id="settings.add"),
        Binding("d,delete", "remove", "Remove the agent", id="settings.remove"),
        Binding("ctrl+up", "move(-1)", "Move the agent up", id="settings.earlier"),
        Binding("ctrl+down", "move(1)", "Move the agent down", id="settings.later"),
    ]

    def __init__(self, room: OpenRoom) -> None:
        super().__init__()
        self._room = room
        self._state = state = room.state
        self._agents = AgentList(state, room.link)
        self._tools = RoomTools(state.room.enabled_tools, room.link)
        self._estimated = Static("", id="estimate", markup=False)
        self._form = Form(
            *self._settings(), self._agents, self._tools, SuspendedRules(room.link, state.room.id)
        )

    def _settings(self) -> Iterator[Widget]:
        settings = settings_in(RoomInfo)
        for setting in ({name: settings[name] for name in FIRST} | settings).values():
            value = getattr(self._state.room, setting.name)
            yield setting_field(setting, value)
            if setting.name == "max_rounds":
                yield self._estimated

    def compose(self) -> ComposeResult:
        yield framed(
            say("settings.title"), self._form, self._form.problem, hint=say("settings.hint"), classes="form"
        )

    def on_mount(self) -> None:
        self._estimate()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "max_rounds":
            self._estimate()

    def _estimate(self) -> None:
        text = estimate(self._state, self._form.field("max_rounds").value)
        self._estimated.update(text)
        self._estimated.set_class(bool(text), "-open")

    def action_add(self) -> None:
        self._agents.add()

    def action_remove(self) -> None:
        """Remove the agent; a room keeps at least one."""
        if not self._agents.drop():
            self._form.complain({"": say("settings.last_agent")})

    def action_move(self, step: int) -> None:
        self._agents.move(step)

    def action_back(self) -> None:
        """Close without saving; ask first if something was changed."""
        self._form.leave()

    # --- keeping it ------------------------------------------------------------------------------------

    def action_save(self) -> None:
        fields, problems = read_changed(self._form, {"max_rounds": self._state.round})
        self._form.complain(problems)
        if problems:
            return
        if self._agents.is_changed:
            fields["agents"] = self._agents.fields()
        if self._tools.is_changed:
            fields["enabled_tools"] = sorted(self._tools.marked)
        if fields:
            self._save(fields)
        else:
            self.dismiss()

    @work(group="save", exclusive=True)
    async def _save(self, fields: dict[str, Any]) -> None:
        try:
            client = await self._room.client()
            if "agents" in fields and await self._were_changed_elsewhere(client):
                self._form.complain({"": say("settings.agents_changed")})
                return
            room = await client.change(self._state.room.id, **fields)
        except AgentTuiError as error:
            self._form.blame(localised(error), fields)
            return
        await self._room.take(RoomChanged(room))
        self.dismiss()

    async def _were_changed_elsewhere(self, client: RoomsClient) -> bool:
        """Whether the agents were changed elsewhere meanwhile: sending all would undo that."""
        room = await client.show(self._state.room.id)
        if not self._agents.differs(sorted(room.agents, key=lambda agent: agent.turn_order)):
            return False
        await self._room.take(RoomChanged(room))
        return True


def estimate(state: ConversationState, rounds: str) -> str:
    """Return what the remaining rounds may use, judging by those before; "" while unknown."""
    used, done = state.ledger.tokens, state.round
    left = int(rounds) - done if rounds.isascii() and rounds.isdecimal() and len(rounds) < 6 else 0
    if not used or not done or left <= 0:
        return ""
    tokens = count(round(used / done * left))
    return say_count("settings.estimate", left, tokens=tokens)
