"""The room as it is to be: its name and task, its rounds and budget, its agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.inert import inert_line
from agent_tui.state.agents import Agent
from agent_tui.state.conversation import ConversationState
from tui.forms.agent_form import AgentDraft, AgentFormScreen
from tui.forms.fields import Listed, own, swatch
from tui.forms.form import Form
from tui.forms.suspended_rules import SuspendedRules
from tui.forms.tool_list import RoomTools
from tui.forms.values import read_changed, setting_field, settings_in
from tui.link import RoomLink
from tui.live.key_hints import Hints
from tui.screens.localised import localised
from tui.screens.words import count, say, say_count
from widgets.composer import Composer

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

FIRST: Final = ("name", "task", "max_rounds", "execution_mode")  # of the fields


class SettingsScreen(Form[None]):
    """Changes the room with one call, and gives the answer to ``take``."""

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

    def __init__(
        self,
        state: ConversationState,
        link: RoomLink,
        take: Callable[[RoomInfo], Awaitable[None]],
        *,
        ascii_only: bool = False,
    ) -> None:
        super().__init__(ascii_only=ascii_only)
        self._state = state
        self._link = link
        self._take = take
        self._before = drafts(agent for agent in state.members.ordered if not agent.is_gone)
        self._agents = list(self._before.values())

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide"):
            yield Static(say("settings.title"), classes="title", markup=False)
            with VerticalScroll(id="form", can_focus=False):
                settings = settings_in(RoomInfo)
                for setting in ({name: settings[name] for name in FIRST} | settings).values():
                    value = getattr(self._state.room, setting.name)
                    yield setting_field(setting, value, ascii_only=self._ascii_only)
                    if setting.name == "max_rounds":
                        yield Static("", id="estimate", markup=False)
                yield Static(say("settings.agents"), classes="label", markup=False)
                yield Listed(markup=False, compact=True, id="agents")
                yield RoomTools(self._state.room.enabled_tools, self._link, ascii_only=self._ascii_only)
                yield SuspendedRules(self._link, self._state.room.id, ascii_only=self._ascii_only)
            yield Static("", classes="error", id="problem", markup=False)
            yield Hints(say("settings.hint"), ascii_only=self._ascii_only)

    def on_mount(self) -> None:
        """Show the room as it is."""
        self.query_one("#task", Composer).put(self._state.room.task)
        self._shown = self.values()
        self._list_agents(0)
        self._estimate()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what more rounds may use."""
        if event.input.id == "max_rounds":
            self._estimate()

    def _estimate(self) -> None:
        text = estimate(self._state, self.field("max_rounds").value)
        shown = self.query_one("#estimate", Static)
        shown.update(text)
        shown.set_class(bool(text), "-open")

    # --- agents ----------------------------------------------------------------------------------------

    def _list_agents(self, at: int) -> None:
        listed = self._listed
        listed.clear_options()
        for number, agent in enumerate(self._agents, 1):
            model = inert_line(agent.model or agent.provider_id, 40)
            dot = own(" · ", ascii_only=self._ascii_only)
            words = inert_line(agent.name, 40) + (f"{dot}{model}" if model else "")
            patch = swatch(self, agent.color, agent.name, ascii_only=self._ascii_only)
            listed.add_option(Option(Content.assemble(f"{number}  ", patch, f" {words}")))
        if self._agents:
            listed.highlighted = max(0, min(at, len(self._agents) - 1))

    @property
    def _listed(self) -> OptionList:
        return self.query_one("#agents", OptionList)

    @property
    def _at(self) -> int | None:
        listed = self._listed
        return listed.highlighted if listed.has_focus else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Change the agent that was chosen."""
        event.stop()
        at = event.option_index

        def changed(agent: AgentDraft | None) -> None:
            if agent is not None:
                self._agents[at] = agent
                self._list_agents(at)

        self.app.push_screen(self._form(self._agents[at]), changed)

    def action_add(self) -> None:
        """Add an agent, who speaks last."""

        def added(agent: AgentDraft | None) -> None:
            if agent is not None:
                self._agents.append(agent)
                self._list_agents(len(self._agents) - 1)

        self.app.push_screen(self._form(AgentDraft()), added)

    def _form(self, agent: AgentDraft) -> AgentFormScreen:
        return AgentFormScreen(agent, self._link, ascii_only=self._ascii_only)

    def action_remove(self) -> None:
        """Remove the agent; a room has one at least."""
        at = self._at
        if at is None:
            return
        if len(self._agents) < 2:
            self.complain({"": say("settings.last_agent")})
            return
        del self._agents[at]
        self._list_agents(at)

    def action_move(self, step: int) -> None:
        """Let the agent speak earlier or later."""
        at = self._at
        if at is not None and 0 <= at + step < len(self._agents):
            self._agents[at], self._agents[at + step] = self._agents[at + step], self._agents[at]
            self._list_agents(at + step)

    # --- keeping it ------------------------------------------------------------------------------------

    @property
    def is_changed(self) -> bool:
        """Whether a field, an agent or a tool is not as it was."""
        return super().is_changed or self._has_other_agents or self._has_other_tools

    @property
    def _has_other_agents(self) -> bool:
        return self._agents != list(self._before.values())

    @property
    def _has_other_tools(self) -> bool:
        return self.query_one(RoomTools).marked != set(self._state.room.enabled_tools)

    def action_save(self) -> None:
        """Change what is different, if nothing is wrong with it."""
        fields, problems = read_changed(self, {"max_rounds": self._state.round})
        self.complain(problems)
        if problems:
            return
        if self._has_other_agents:
            fields["agents"] = [agent.fields(self._before.get(agent.id)) for agent in self._agents]
        if self._has_other_tools:
            fields["enabled_tools"] = sorted(self.query_one(RoomTools).marked)
        if fields:
            self._save(fields)
        else:
            self.dismiss()

    @work(group="save", exclusive=True)
    async def _save(self, fields: dict[str, Any]) -> None:
        try:
            client = await self._link.client()
            if "agents" in fields and await self._were_changed_elsewhere(client):
                self.complain({"": say("settings.agents_changed")})
                return
            room = await client.change(self._state.room.id, **fields)
        except AgentTuiError as error:
            self.blame(localised(error), fields)
            return
        await self._take(room)
        self.dismiss()

    async def _were_changed_elsewhere(self, client: RoomsClient) -> bool:
        """Whether the room has other agents than those that are changed here, as after a change in another
        terminal: all are sent, and what was done there would be undone. The room behind learns of it.
        """
        room = await client.show(self._state.room.id)
        agents = drafts(sorted(room.agents, key=lambda agent: agent.turn_order))
        if not agents or list(agents.values()) == list(self._before.values()):
            return False
        await self._take(room)
        return True


def drafts(agents: Iterable[Agent | AgentInfo]) -> dict[str, AgentDraft]:
    """Return agents of a room by their ids, in their order."""
    return {
        agent.id: AgentDraft(
            agent.id, agent.name, agent.color, agent.system_prompt, agent.model, agent.provider_id
        )
        for agent in agents
    }


def estimate(state: ConversationState, rounds: str) -> str:
    """Return what the rounds that are left may use, as those before did; ``""`` while that is not known."""
    used, done = state.ledger.tokens, state.round
    left = int(rounds) - done if rounds.isascii() and rounds.isdecimal() and len(rounds) < 6 else 0
    if not used or not done or left <= 0:
        return ""
    tokens = count(round(used / done * left))
    return say_count("settings.estimate", left, tokens=tokens)
