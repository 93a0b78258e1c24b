"""The room as it is to be: its name and task, its rounds and budget, its agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.model.errors import Refused
from agent_tui.model.events import AgentInfo, RoomChanged
from agent_tui.model.inert import inert_line
from agent_tui.model.settings import settings_of
from agent_tui.state.agents import Agent
from agent_tui.state.conversation import ConversationState
from tui.forms.agent_form import AgentFormScreen
from tui.forms.fields import FormPart, VimList, swatch
from tui.forms.new_room_fields import SETTINGS, in_sections
from tui.forms.settings import SettingsScreen
from tui.forms.tool_list import ToolList
from tui.forms.values import setting_field
from tui.link import RoomLink
from tui.live.texts import model_name
from tui.room.open_room import OpenRoom
from tui.screens.words import count, say, say_count

FIRST: Final = ("name", "task")  # above the sections
_SETTINGS: Final = settings_of(AgentInfo)


def room_settings(room: OpenRoom, *, begins_at: str = "") -> SettingsScreen:
    """Return the dialog that changes a room; it begins at a field (its id), or at a limit that is reached."""
    info = room.state.room

    def fields(name: str) -> Iterator[Widget]:
        yield setting_field(SETTINGS[name], getattr(info, name))
        if name == "max_rounds" and (expected := estimate(room.state)):
            yield Static(expected, classes="label", markup=False)

    async def change(**changed: Any) -> None:
        client = await room.client()
        if "agents" in changed and agents.differs((now := await client.show(room.id)).agents):
            await room.take(RoomChanged(now))
            raise Refused(say("settings.agents_changed"))
        await room.take(RoomChanged(await client.change(room.id, **changed)))

    agents = AgentList((agent for agent in room.state.members.ordered if not agent.is_gone), room.link)
    tools = ToolList(info.enabled_tools, room.link, say("settings.tools"))
    first = [part for name in FIRST for part in fields(name)]
    parts = [*first, *in_sections(fields, {"agents": (agents,), "tools": (tools,)})]
    begins_at = begins_at or room.state.ledger.limit_reached(info)
    return SettingsScreen(say("settings.title"), say("settings.hint"), parts, change, begins_at=begins_at)


def estimate(state: ConversationState) -> str:
    """Return what the rounds to come may use, judging by those that are over; "" while unknown."""
    done = state.round - (state.room.status != "completed")
    used = sum(turn.spent for turn in state.turns.values() if turn.round_number <= done)
    left = state.room.max_rounds - state.round
    if done < 1 or not used or left <= 0:
        return ""
    return say_count("settings.estimate", left, tokens=count(round(used / done * left)))


class AgentList(FormPart):
    """Lists the agents of a room; ``enter`` opens the form of one."""

    about = "agents"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "Add an agent", id="settings.add"),
        Binding("d,delete", "remove", "Remove the agent", id="settings.remove"),
        Binding("ctrl+up", "move(-1)", "Move the agent up", id="settings.earlier"),
        Binding("ctrl+down", "move(1)", "Move the agent down", id="settings.later"),
    ]

    def __init__(self, agents: Iterable[Agent], link: RoomLink) -> None:
        super().__init__()
        self._link = link
        self._before = drafts(agents)
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

    def changes(self) -> dict[str, Any]:
        return {"agents": [_changed_fields(agent, self._before.get(agent.id)) for agent in self._agents]}

    def differs(self, agents: Iterable[AgentInfo]) -> bool:
        """Whether these are not the agents that are changed here; an empty list says nothing."""
        others = drafts(sorted(agents, key=lambda agent: agent.turn_order))
        return bool(others) and [*others.values()] != [*self._before.values()]

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

    # --- changing --------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._edit(event.option_index)

    def action_add(self) -> None:
        self._edit(len(self._agents))

    def _edit(self, at: int) -> None:
        """Open the form of an agent, or of a new one after the last."""
        edited = self._agents[at] if at < len(self._agents) else AgentInfo("", "")

        def changed(agent: AgentInfo | None) -> None:
            if agent is not None:
                self._agents[at : at + 1] = [agent]
                self._list(at)

        self.app.push_screen(AgentFormScreen(edited, self._link), changed)

    def action_remove(self) -> None:
        """Remove the agent under the cursor; a room keeps at least one."""
        at = self._listed.highlighted
        if at is not None and len(self._agents) > 1:
            del self._agents[at]
            self._list(at)
        else:
            self.app.notify(say("settings.last_agent"), severity="warning", markup=False)

    def action_move(self, step: int) -> None:
        """Let the agent under the cursor speak earlier or later."""
        at = self._listed.highlighted
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


def _changed_fields(agent: AgentInfo, before: AgentInfo | None) -> dict[str, str]:
    """Return the fields to send: of a known agent only what was changed."""
    base = before or AgentInfo("", "")
    now = {name: str(getattr(agent, name)) for name in _SETTINGS}
    changed = {name: value for name, value in now.items() if value != getattr(base, name)}
    return {"id": agent.id, **changed} if before is not None else changed
