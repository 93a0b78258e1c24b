"""The form of a new room: its task, its agents, its limits, its tools."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static, TextArea

from agent_tui.config.agent_templates import language_of, templates
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import RoomInfo
from agent_tui.model.settings import Setting
from tui.forms.agent_choice import AgentChoice
from tui.forms.fields import Field
from tui.forms.form import Form
from tui.forms.model_fields import ModelFields
from tui.forms.new_room_fields import SETTINGS, first_value, in_sections, quick_room, read_room
from tui.forms.tool_list import ToolList
from tui.forms.values import setting_field
from tui.language import short_language
from tui.link import RoomLink
from tui.live.key_hints import Hints
from tui.screens.dialog import Dialog
from tui.screens.localised import localised
from tui.screens.words import list_of, say


@dataclass(frozen=True, slots=True)
class MadeRoom:
    """The new room; ``start`` if it begins at once."""

    room: RoomInfo
    start: bool


class NewRoomScreen(Dialog[MadeRoom | None]):
    """Makes a room and closes with it, or with ``None`` when it is cancelled. At first it asks only for the
    task, and three agents are chosen; a key shows all other fields.
    """

    CSS_PATH = ["../screens/room_dialogs.tcss", "new_room.tcss"]  # noqa: RUF012 - as Textual wants it
    AUTO_FOCUS = "#task"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "create(False)", "Create the room", id="new.create", priority=True),
        Binding("ctrl+g", "create(True)", "Create and start the room", id="new.start", priority=True),
        Binding("ctrl+o", "unfold", "More: agents, rounds, model, tools", id="new.more", priority=True),
        Binding("escape", "back", "Back without creating a room", id="new.back", priority=True),
    ]

    def __init__(self, link: RoomLink) -> None:
        super().__init__()
        self._link = link
        self._is_asking = False
        self._about = Static("", id="about", markup=False)  # while the form asks only for the task
        self._agents = AgentChoice(link, short_language())
        self._tools = ToolList((), link, say("settings.tools"))
        self._form = Form(self._field(SETTINGS["task"]), self._about)

    def _field(self, setting: Setting) -> Field:
        return setting_field(setting, first_value(setting))

    def compose(self) -> ComposeResult:
        yield Static(f" {say('new.title')}", id="top", markup=False)
        yield self._form
        yield self._form.problem
        yield Hints(say("new.hint.short"))

    def on_mount(self) -> None:
        """Show who will speak, as soon as that is known."""
        self._offer_agents()

    @work(group="templates", exclusive=True)
    async def _offer_agents(self) -> None:
        self._agents.offer(await asyncio.to_thread(templates))
        self._tell_agents()

    def _tell_agents(self) -> None:
        self._about.update(say("new.about", agents=list_of(self._agents.quick_names)))

    @property
    def _is_short(self) -> bool:
        return self._about.parent is not None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer more fields only once."""
        return action != "unfold" or self._is_short

    async def action_unfold(self) -> None:
        await self._about.remove()
        beside = {"agents": (self._agents, ModelFields(self._link)), "tools": (self._tools,)}
        sections = in_sections(lambda name: [self._field(SETTINGS[name])], beside)
        await self._form.mount(self._field(SETTINGS["name"]), *sections)
        for hints in self.query(Hints):  # none, if the form was left meanwhile
            hints.tell(say("new.hint"))

    @on(TextArea.Changed, "#task")
    def speak_its_language(self, event: TextArea.Changed) -> None:
        event.stop()
        text = event.text_area.text
        self._agents.speak(language_of(text) if text.strip() else short_language())
        self._tell_agents()

    # --- keys ----------------------------------------------------------------------------------------------

    def action_save(self) -> None:
        """Go to the next field: a room is made with another key. With only the task, make it at once."""
        if self._is_short:
            self.action_create(True)
        else:
            self.focus_next()

    def action_back(self) -> None:
        """Close without a result; ask first if something was written."""
        self._form.leave()

    # --- making it -----------------------------------------------------------------------------------------

    def action_create(self, start: bool) -> None:
        """Make the room, if all fields are valid."""
        if self._is_asking:
            return
        values = self._form.values()
        agents = self._agents.chosen(values.get("provider", ""), values.get("model", "").strip())
        fields, problems = read_room(values, agents, self._tools.enabled or ())
        if not self._is_short and self._agents.is_nobody:
            problems[""] = say("new.nobody")
        self._form.complain(problems)
        if not problems:
            self._create(fields, start)

    @work(group="create", exclusive=True)
    async def _create(self, fields: dict[str, Any], start: bool) -> None:
        self._is_asking = True
        try:
            if self._is_short:
                fields |= await asyncio.to_thread(quick_room, fields["task"])
            room = await (await self._link.client()).create(**fields)
        except AgentTuiError as error:
            self._form.complain({"": localised(error)})
            return
        finally:
            self._is_asking = False
        self.dismiss(MadeRoom(room, start))
