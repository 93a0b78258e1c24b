"""The agents of a new room: chosen from templates, or written in the form of an agent."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static

from agent_tui.config.agent_templates import Template
from agent_tui.model.events import AgentInfo
from agent_tui.model.inert import inert_line
from tui.forms.agent_form import AgentFormScreen
from tui.forms.fields import FormPart, Marking
from tui.forms.new_room_fields import AGENTS, agent_of, fields_of, quick_names
from tui.forms.tool_list import MUTED
from tui.link import RoomLink
from tui.live.key_hints import key_of, say_keys
from widgets.signs import DONE, TASK

NAME_CELLS: Final = 20  # with the mark and a gap: what the agents are for begins where the fields do


class AgentChoice(FormPart):
    """A checklist of agents."""

    about = "agents"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("a", "add", "Add an agent of your own", id="new.add")]

    def __init__(self, link: RoomLink, language: str) -> None:
        super().__init__()
        self._link = link
        self.language = language
        self._templates: list[Template] = []
        self._own: list[AgentInfo] = []  # those that were written here
        self._chosen: set[str] = set()  # ids of templates
        self._chosen_at_first: set[str] = set()
        self._checklist = Marking(id="agents", compact=True, markup=False)

    def compose(self) -> ComposeResult:
        yield self._checklist
        yield Static(say_keys("new.own", {"press": key_of(self.screen, "new.add")}), classes="label")

    def on_mount(self) -> None:
        self._list()

    def offer(self, templates: list[Template]) -> None:
        """Offer these agents. Those who speak if nobody is chosen are marked, and come first."""
        first = [template for template in templates if template.id in AGENTS]
        self._templates = [*first, *(template for template in templates if template not in first)]
        self._chosen = {template.id for template in first}
        self._chosen_at_first = set(self._chosen)
        self._list()

    @property
    def quick_names(self) -> list[str]:
        """The names of those who speak if nobody is chosen."""
        return quick_names(self._templates, self.language)

    def chosen(self, provider: str, model: str) -> list[dict[str, str]]:
        """Return the chosen agents as the server takes them; those without a model get this one."""
        chosen = [template for template in self._templates if template.id in self._chosen]
        agents = [agent_of(template, self.language, provider, model) for template in chosen]
        return agents + [fields_of(agent, provider, model) for agent in self._own]

    @property
    def is_nobody(self) -> bool:
        """Whether there are agents to choose from, and none is marked."""
        return bool(self._templates) and not (self._chosen or self._own)

    @property
    def is_changed(self) -> bool:
        """Whether other agents were chosen, or one was written."""
        return self._chosen != self._chosen_at_first or bool(self._own)

    def speak(self, language: str) -> None:
        if language != self.language:
            self.language = language
            self._list()

    def _list(self) -> None:
        rows = []
        for template in self._templates:
            name, _, summary = template.in_language(self.language)
            rows.append(_row(name, summary, template.id in self._chosen))
        self._checklist.show([*rows, *(_row(agent.name, agent.system_prompt, True) for agent in self._own)])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Mark an agent, or remove its mark; an agent that was written here is removed."""
        event.stop()
        at = event.option_index
        if at < len(self._templates):
            self._chosen ^= {self._templates[at].id}
        else:
            del self._own[at - len(self._templates)]
        self._list()

    def action_add(self) -> None:
        """Write an agent."""

        def add(agent: AgentInfo | None) -> None:
            if agent is not None:
                self._own.append(agent)
                self._list()
                self._checklist.highlighted = self._checklist.option_count - 1  # make it visible

        self.app.push_screen(AgentFormScreen(AgentInfo("", ""), self._link), add)


def _row(name: str, summary: str, is_chosen: bool) -> Content:
    marked = f"{DONE if is_chosen else TASK} {inert_line(name, 40)}"
    marked += " " * max(1, NAME_CELLS - cell_len(marked))
    return Content.assemble(marked, (inert_line(summary, 120), MUTED))
