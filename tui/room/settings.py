"""The room as it is to be: its name and task, its rounds and budget, its agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import AgentInfo, RoomChanged
from agent_tui.model.inert import inert_line
from agent_tui.model.settings import settings_of
from agent_tui.state.agents import Agent
from agent_tui.state.conversation import ConversationState
from tui.forms.agent_form import AgentFormScreen
from tui.forms.fields import FormPart, VimList, swatch
from tui.forms.form import Form
from tui.forms.new_room_fields import SETTINGS, in_sections
from tui.forms.tool_list import RoomTools
from tui.forms.values import read_changed, setting_field
from tui.link import RoomLink
from tui.live.texts import model_name
from tui.room.open_room import OpenRoom
from tui.screens.dialog import Dialog, framed
from tui.screens.localised import localised
from tui.screens.words import count, say, say_count

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

FIRST: Final = ("name", "task")  # above the sections
_SETTINGS: Final = settings_of(AgentInfo)


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

    def __init__(self, room: OpenRoom, agent: Agent | None = None) -> None:
        """With an ``agent``, only its form is used, which opens at its model."""
        super().__init__()
        self._room = room
        self._agent = agent
        self._state = state = room.state
        self._agents = AgentList(state, room.link)
        self._tools = RoomTools(state.room.enabled_tools, room.link)
        self._estimated = Static("", id="estimate", markup=False)
        beside = {"agents": (self._agents,), "tools": (self._tools,)}
        first = [part for name in FIRST for part in self._fields(name)]
        self._form = Form(*first, *in_sections(self._fields, beside))

    def _fields(self, name: str) -> Iterator[Widget]:
        yield setting_field(SETTINGS[name], getattr(self._state.room, name))
        if name == "max_rounds":
            yield self._estimated

    def compose(self) -> ComposeResult:
        yield framed(
            say("settings.title"), self._form, self._form.problem, hint=say("settings.hint"), classes="form"
        )

    def on_mount(self) -> None:
        """Open the form of the agent, and close both when that is closed."""
        self._estimate()
        if self._agent is not None:
            self._agents.choose_model(self._agent.id, self.action_save)

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
        here = {"", *(agent.id for agent in room.agents)}
        if "agents" in fields and any(queued.to not in here for queued in room.queue):
            self._room.host.tell(say("settings.whispers"))
        self.dismiss()

    async def _were_changed_elsewhere(self, client: RoomsClient) -> bool:
        """Whether the agents were changed elsewhere meanwhile: sending all would undo that."""
        room = await client.show(self._state.room.id)
        if not self._agents.differs(sorted(room.agents, key=lambda agent: agent.turn_order)):
            return False
        await self._room.take(RoomChanged(room))
        return True


def estimate(state: ConversationState, rounds: str) -> str:
    """Return what the rounds to come may use, judging by those that are over; "" while unknown."""
    done = state.round if state.room.status == "completed" else state.round - 1
    used = sum(turn.spent for turn in state.turns.values() if turn.round_number <= done)
    is_number = rounds.isascii() and rounds.isdecimal() and len(rounds) < 6
    left = int(rounds) - state.round if is_number else 0
    if done < 1 or not used or left <= 0:
        return ""
    tokens = count(round(used / done * left))
    return say_count("settings.estimate", left, tokens=tokens)


class AgentList(FormPart):
    """Lists the agents of a room; ``enter`` opens the form of one."""

    def __init__(self, state: ConversationState, link: RoomLink) -> None:
        super().__init__()
        self._link = link
        self._before = drafts(agent for agent in state.members.ordered if not agent.is_gone)
        self._agents = list(self._before.values())
        self._listed = VimList(markup=False, compact=True, id="agents")

    def compose(self) -> ComposeResult:
        yield Static(say("settings.agents"), classes="label", markup=False)
        yield self._listed

    def on_mount(self) -> None:
        self._list(0)

    @property
    def is_changed(self) -> bool:
        """Whether an agent, or the order, was changed."""
        return self._agents != list(self._before.values())

    def fields(self) -> list[dict[str, str]]:
        return [_changed(agent, self._before.get(agent.id)) for agent in self._agents]

    def differs(self, agents: Iterable[AgentInfo]) -> bool:
        """Whether these are not the agents that are changed here; an empty list says nothing."""
        others = list(drafts(agents).values())
        return bool(others) and others != list(self._before.values())

    def _list(self, at: int) -> None:
        rows = []
        for number, agent in enumerate(self._agents, 1):
            model = model_name(agent.model or agent.provider_id, agent.provider_id)
            words = inert_line(agent.name, 40) + (f" · {model}" if model else "")
            patch = swatch(self, agent.color, agent.name)
            rows.append(Option(Content.assemble(f"{number}  ", patch, f" {words}")))
        self._listed.set_options(rows)
        if rows:
            self._listed.highlighted = max(0, min(at, len(rows) - 1))

    @property
    def _at(self) -> int | None:
        return self._listed.highlighted if self._listed.has_focus else None

    # --- changing --------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._edit(event.option_index)

    def add(self) -> None:
        self._edit(len(self._agents))

    def choose_model(self, agent_id: str, done: Callable[[], None]) -> None:
        """Open the form of an agent at its model; call ``done`` when it is closed."""
        if agent_id in self._before:
            self._edit([*self._before].index(agent_id), "model", done)

    def _edit(self, at: int, first: str = "", done: Callable[[], None] = lambda: None) -> None:
        """Open the form of an agent, or of a new one after the last, at its ``first`` field."""
        known = self._agents[at] if at < len(self._agents) else AgentInfo("", "")

        def changed(agent: AgentInfo | None) -> None:
            if agent is not None:
                self._agents[at : at + 1] = [agent]
                self._list(at)
            done()

        self.app.push_screen(AgentFormScreen(known, self._link, first), changed)

    def drop(self) -> bool:
        """Remove the agent under the cursor; return False for the last one, which stays."""
        at = self._at
        if at is not None and len(self._agents) > 1:
            del self._agents[at]
            self._list(at)
            return True
        return at is None

    def move(self, step: int) -> None:
        """Let the agent under the cursor speak earlier or later."""
        at = self._at
        if at is not None and 0 <= at + step < len(self._agents):
            self._agents[at], self._agents[at + step] = self._agents[at + step], self._agents[at]
            self._list(at + step)


def drafts(agents: Iterable[Agent | AgentInfo]) -> dict[str, AgentInfo]:
    """Return the agents of a room by id, in order."""
    found = {}
    for agent in agents:
        fields: dict[str, Any] = {name: str(getattr(agent, name)) for name in _SETTINGS}
        found[agent.id] = AgentInfo(agent.id, **fields)
    return found


def _changed(agent: AgentInfo, before: AgentInfo | None) -> dict[str, str]:
    """Return the fields to send: of a known agent only what was changed."""
    known = before or AgentInfo("", "")
    now = {name: str(getattr(agent, name)) for name in _SETTINGS}
    changed = {name: value for name, value in now.items() if value != getattr(known, name)}
    return {"id": agent.id, **changed} if before is not None else changed
