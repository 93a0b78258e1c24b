"""The form of a new room: what it is about, who speaks, how far they may go, what they may use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from agent_tui.config.agent_templates import Template, language_of, templates
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import RoomInfo
from agent_tui.model.inert import inert_line
from agent_tui.model.settings import Setting
from tui.forms.fields import Field, Line, Marking, own
from tui.forms.model_form import ModelForm
from tui.forms.new_room_fields import FIRST, SETTINGS, OwnAgent, Written
from tui.forms.quick_room import quick_names, quick_room
from tui.forms.tool_list import RoomTools
from tui.forms.values import setting_field
from tui.language import short_language
from tui.link import RoomLink
from tui.live.key_hints import key_of
from tui.screens.words import say
from widgets.signs import DONE, TASK
from widgets.status_line import Part, StatusLine

MAX_PROMPT_CHARACTERS: Final = 2_000
SHORT_HINTS: Final = (  # key or id of a binding, word, rank
    ("enter", "start", 0),
    ("new.more", "more", 0),
    ("new.create", "create", 1),
    ("new.back", "back", 0),
    ("app.help.anywhere", "help", 2),
)
HINTS: Final = (
    ("tab", "next", 2),
    ("form.mark", "choose", 3),
    ("new.create", "create", 0),
    ("new.start", "start", 1),
    ("new.back", "back", 0),
    ("app.help.anywhere", "help", 0),
)
OWN: Final = {"own_name": 1, "own_prompt": 2, "own_model": 1}  # the lines of an agent of one's own


@dataclass(frozen=True, slots=True)
class Made:
    """The room that was made; ``start`` when it shall begin at once."""

    room: RoomInfo
    start: bool


class NewRoomScreen(ModelForm[Made | None]):
    """Makes a room and closes with it; with nothing when that was given up. It begins with the task alone:
    three agents who fit it are chosen, unless everything else is asked for, too.
    """

    CSS_PATH = ["../screens/room_dialogs.tcss", "new_room.tcss"]  # noqa: RUF012 - as Textual wants it
    AUTO_FOCUS = "#task"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "create(False)", "Create the room", id="new.create", priority=True),
        Binding("ctrl+g", "create(True)", "Create and start the room", id="new.start", priority=True),
        Binding("ctrl+o", "unfold", "More: agents, rounds, model, tools", id="new.more", priority=True),
        Binding("escape", "back", "Back without creating a room", id="new.back", priority=True),
    ]

    def __init__(self, link: RoomLink, *, ascii_only: bool) -> None:
        super().__init__(link, ascii_only=ascii_only)
        self._room_link = link
        self._language = short_language()
        self._templates: list[Template] = []
        self._chosen: set[str] = set()  # ids of templates
        self._own_agents: list[OwnAgent] = []
        self._is_asking = False
        self._is_short = True  # only the task is asked for

    def compose(self) -> ComposeResult:
        yield Static(f" {say('new.title')}", id="top", markup=False)
        with VerticalScroll(id="form", can_focus=False):
            for name in FIRST:
                yield self._field(SETTINGS[name])
            yield Static("", id="about", markup=False)
            yield Static(say("new.agents"), classes="label", markup=False)
            yield Marking(id="agents", compact=True, markup=False)
            with Horizontal(classes="field", id="own"):
                yield Static(say("new.own"), classes="label", markup=False)
                for name in OWN:
                    words = own(say(f"new.{name}"), ascii_only=self._ascii_only)
                    yield Line("", placeholder=words, most=MAX_PROMPT_CHARACTERS, id=name)
            yield from self.model_fields("", "")
            for name, setting in SETTINGS.items():
                if name not in FIRST:
                    yield self._field(setting)
            yield RoomTools((), self._room_link, ascii_only=self._ascii_only)
        yield Static("", id="problem", markup=False)
        yield StatusLine(id="hints", is_dim=True, ascii_only=self._ascii_only)

    def _field(self, setting: Setting) -> Field:
        value = setting.default if setting.default_in_form is None else setting.default_in_form
        return setting_field(setting, value, ascii_only=self._ascii_only)

    def on_mount(self) -> None:
        """Offer the agents and what runs them, as soon as they are known."""
        self._shown = self.values()
        self.set_class(True, "-short")
        self._hint()
        self._offer_agents()
        self.look_for_providers()

    def _hint(self) -> None:
        named = SHORT_HINTS if self._is_short else HINTS
        keys = {name: key_of(self, name, ascii_only=self._ascii_only) for name, _, _ in named if "." in name}
        hints = [Part(say(f"new.hint.{word}"), rank, keys.get(name, name)) for name, word, rank in named]
        self.query_one("#hints", StatusLine).show(part for part in hints if part.key)

    def action_unfold(self) -> None:
        """Ask for everything else, too."""
        self._is_short = False
        self.set_class(False, "-short")
        self._hint()

    # --- agents ------------------------------------------------------------------------------------------

    @work(group="templates", exclusive=True)
    async def _offer_agents(self) -> None:
        self._templates = await asyncio.to_thread(templates)
        self._list_agents()

    def _list_agents(self) -> None:
        names = quick_names(self._templates, self._language)
        self.query_one("#about", Static).update(say("new.about", agents=", ".join(names)))
        checklist = self.query_one("#agents", Marking)
        at = checklist.highlighted
        rows = []
        for template in self._templates:
            name, _, summary = template.in_language(self._language)
            rows.append(self._agent_row(name, summary, is_chosen=template.id in self._chosen))
        rows += [self._agent_row(agent.name, agent.prompt, is_chosen=True) for agent in self._own_agents]
        checklist.set_options([Option(Text(row, no_wrap=True, overflow="ellipsis")) for row in rows])
        if rows:
            checklist.highlighted = min(at or 0, len(rows) - 1)

    def _agent_row(self, name: str, summary: str, *, is_chosen: bool) -> str:
        row = f"{DONE if is_chosen else TASK} {inert_line(name, 40)}  {inert_line(summary, 120)}"
        return own(row, ascii_only=self._ascii_only)

    @on(OptionList.OptionSelected, "#agents")
    def choose_agent(self, event: OptionList.OptionSelected) -> None:
        """Take an agent, or leave it; one that was written here is gone then."""
        event.stop()
        at = event.option_index
        if at < len(self._templates):
            self._chosen ^= {self._templates[at].id}
        else:
            del self._own_agents[at - len(self._templates)]
        self._list_agents()

    @on(TextArea.Changed, "#task")
    def speak_its_language(self, event: TextArea.Changed) -> None:
        """Offer the agents in the language of the task."""
        event.stop()
        text = event.text_area.text
        language = language_of(text) if text.strip() else short_language()
        if language != self._language:
            self._language = language
            self._list_agents()

    def _add_own(self) -> bool:
        """Take the agent that was written in place, if it has a name."""
        lines = [self.query_one(f"#{name}", Line) for name in OWN]
        name, prompt, model = (line.value.strip() for line in lines)
        if not name:
            return False
        self._own_agents.append(OwnAgent(name, prompt, model))
        for line in lines:
            line.value = ""
        self._list_agents()
        checklist = self.query_one("#agents", Marking)
        checklist.highlighted = checklist.option_count - 1  # in sight
        return True

    # --- keys ----------------------------------------------------------------------------------------------

    def entered(self, line: Input) -> None:
        """Add the agent that was written; from any other line go on to the next field."""
        if line.id not in OWN:
            self.action_save()
        else:
            self._add_own()
            self.query_one("#own_name", Line).focus()

    def action_save(self) -> None:
        """Go on to the next field: a room is made by a key of its own. The task alone makes one at once."""
        if self._is_short:
            self.action_create(True)
        else:
            self.focus_next()

    @property
    def is_changed(self) -> bool:
        """Whether something was written or chosen."""
        is_begun = any(self.query_one(f"#{name}", Line).value for name in OWN)
        return super().is_changed or bool(self._chosen or self._own_agents or self._tools) or is_begun

    @property
    def _tools(self) -> set[str]:
        return self.query_one(RoomTools).marked

    # --- making it -----------------------------------------------------------------------------------------

    def _written(self) -> Written:
        chosen = [template for template in self._templates if template.id in self._chosen]
        return Written(self.values(), chosen, self._own_agents, self._language, self._tools)

    def action_create(self, start: bool) -> None:
        """Make the room, if everything is as it must be."""
        if self._is_asking:
            return
        self._add_own()  # what was written and not added is meant
        fields, problems = self._written().read()
        self.complain(problems)
        if not problems:
            self._create(fields, start)

    @work(group="create", exclusive=True)
    async def _create(self, fields: dict[str, Any], start: bool) -> None:
        self._is_asking = True
        try:
            if self._is_short:
                fields |= await asyncio.to_thread(quick_room, fields["task"])
            room = await (await self._room_link.client()).create(**fields)
        except AgentTuiError as error:
            self.blame(str(error), fields)
            return
        finally:
            self._is_asking = False
        self.dismiss(Made(room, start))
