"""The agents of a room as they are to be: listed, changed, added, removed and put in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.model.events import AgentInfo
from agent_tui.model.inert import inert_line
from agent_tui.model.settings import settings_of
from agent_tui.state.agents import Agent
from agent_tui.state.conversation import ConversationState
from tui.forms.agent_form import AgentFormScreen
from tui.forms.fields import Listed, Part, swatch
from tui.link import RoomLink
from tui.live.texts import model_name
from tui.screens.words import say

_SETTINGS: Final = settings_of(AgentInfo)


class AgentList(Part):
    """Lists the agents of a room; ``enter`` opens the form of one."""

    def __init__(self, state: ConversationState, link: RoomLink) -> None:
        super().__init__()
        self._link = link
        self._before = drafts(agent for agent in state.members.ordered if not agent.is_gone)
        self._agents = list(self._before.values())
        self._listed = Listed(markup=False, compact=True, id="agents")

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
        listed = self._listed
        listed.clear_options()
        for number, agent in enumerate(self._agents, 1):
            model = model_name(agent.model or agent.provider_id, agent.provider_id)
            words = inert_line(agent.name, 40) + (f" · {model}" if model else "")
            patch = swatch(self, agent.color, agent.name)
            listed.add_option(Option(Content.assemble(f"{number}  ", patch, f" {words}")))
        if self._agents:
            listed.highlighted = max(0, min(at, len(self._agents) - 1))

    @property
    def _at(self) -> int | None:
        return self._listed.highlighted if self._listed.has_focus else None

    # --- changing --------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._edit(event.option_index)

    def add(self) -> None:
        self._edit(len(self._agents))

    def _edit(self, at: int) -> None:
        """Open the form of an agent, or of a new one after the last."""
        known = self._agents[at] if at < len(self._agents) else AgentInfo("", "")

        def changed(agent: AgentInfo | None) -> None:
            if agent is not None:
                self._agents[at : at + 1] = [agent]
                self._list(at)

        self.app.push_screen(AgentFormScreen(known, self._link), changed)

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
    named = {name: str(getattr(agent, name)) for name in _SETTINGS}
    changed = {name: value for name, value in named.items() if value != getattr(known, name)}
    return {"id": agent.id, **changed} if before is not None else changed
