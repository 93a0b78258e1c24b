"""The agents of a new room: chosen from templates, or written in the form."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from agent_tui.config.agent_templates import Template
from agent_tui.model.inert import inert_line
from tui.forms.fields import FormPart, Line, Marking
from tui.forms.new_room_fields import AGENTS, quick_names
from tui.forms.tool_list import MUTED
from tui.screens.words import say
from widgets.signs import DONE, TASK

MAX_PROMPT_CHARACTERS: Final = 2_000
NAME_CELLS: Final = 20  # with the mark and a gap: what the agents are for begins where the fields do


class AgentChoice(FormPart):
    """A checklist of agents, and three lines to write another one."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self.language = language
        self._templates: list[Template] = []
        self._own: list[Template] = []  # those that were written here
        self._chosen: set[str] = set()  # ids of templates
        self._chosen_at_first: set[str] = set()
        self._checklist = Marking(id="agents", compact=True, markup=False)
        self._lines = [
            Line("", placeholder=say(f"new.{name}"), most=MAX_PROMPT_CHARACTERS, id=name)
            for name in ("own_name", "own_prompt", "own_model")
        ]

    def compose(self) -> ComposeResult:
        yield self._checklist
        with Horizontal(classes="field", id="own"):
            yield Static(say("new.own"), classes="label", markup=False)
            yield from self._lines

    def on_mount(self) -> None:
        self._list()

    def offer(self, known: list[Template]) -> None:
        """Offer these agents. Those who speak if nobody is chosen are marked, and come first."""
        first = [template for template in known if template.id in AGENTS]
        self._templates = [*first, *(template for template in known if template not in first)]
        self._chosen = {template.id for template in first}
        self._chosen_at_first = set(self._chosen)
        self._list()

    @property
    def quick_names(self) -> list[str]:
        """The names of those who speak if nobody is chosen."""
        return quick_names(self._templates, self.language)

    @property
    def chosen(self) -> list[Template]:
        return [*(one for one in self._templates if one.id in self._chosen), *self._own]

    @property
    def is_nobody(self) -> bool:
        """Whether there are agents to choose from, and none is marked."""
        return bool(self._templates) and not self.chosen

    @property
    def is_changed(self) -> bool:
        """Whether other agents were chosen, or one was written."""
        is_chosen = self._chosen != self._chosen_at_first or bool(self._own)
        return is_chosen or any(line.value for line in self._lines)

    def speak(self, language: str) -> None:
        if language != self.language:
            self.language = language
            self._list()

    def _list(self) -> None:
        chosen = self.chosen
        self._checklist.show([self._row(one, one in chosen) for one in (*self._templates, *self._own)])

    def _row(self, template: Template, is_chosen: bool) -> Content:
        name, _, summary = template.in_language(self.language)
        marked = f"{DONE if is_chosen else TASK} {inert_line(name, 40)}"
        marked += " " * max(1, NAME_CELLS - cell_len(marked))
        return Content.assemble(marked, (inert_line(summary, 120), MUTED))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Mark an agent, or remove its mark; an agent that was written here is removed."""
        event.stop()
        at = event.option_index
        if at < len(self._templates):
            self._chosen ^= {self._templates[at].id}
        else:
            del self._own[at - len(self._templates)]
        self._list()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.add_own()
        self._lines[0].focus()
        self.call_after_refresh(self._lines[0].scroll_visible, animate=False)

    def add_own(self) -> None:
        """Add the agent that was written in the form, if it has a name."""
        name, prompt, model = (line.value.strip() for line in self._lines)
        if not name:
            return
        self._own.append(Template("", {"en": name}, {"en": prompt}, {"en": prompt}, model=model))
        for line in self._lines:
            line.value = ""
        self._list()
        self._checklist.highlighted = self._checklist.option_count - 1  # make it visible
