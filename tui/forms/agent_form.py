"""One agent of a room: its name, its instructions, its model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from agent_tui.model.events import AgentInfo
from agent_tui.model.settings import settings_of
from tui.forms.fields import Field, Line, Picking, shown_color
from tui.forms.form import Form
from tui.forms.model_fields import ModelFields, pick_for
from tui.link import RoomLink
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.dialog import Dialog, framed
from tui.screens.words import say
from widgets.color import PALETTE, PALETTE_ON_LIGHT, is_color
from widgets.composer import Composer

# The fields of the form, and the agent's settings.
_FIELDS: Final = {setting.called: setting.name for setting in settings_of(AgentInfo).values()}


class AgentFormScreen(Dialog[AgentInfo | None]):
    """Closes with the changed agent, or with ``None``; an agent without an id is new."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="agent_form.save", priority=True),
        Binding("escape", "back", "Back without saving", id="agent_form.back", priority=True),
    ]

    def __init__(self, agent: AgentInfo, link: RoomLink, first: str = "") -> None:
        """``first`` is the field that has the focus at first, the name if it is empty."""
        super().__init__()
        self._agent = agent
        self._first = first
        prompt = Composer(id="prompt", may_be_empty=True)
        color = Picking(agent.color, placeholder=say("agent_form.color.default"), id="color")
        self._form = Form(
            Field("name", say("agent_form.name"), Line(agent.name, id="name")),
            Field("prompt", say("agent_form.prompt"), prompt, text=agent.system_prompt),
            ModelFields(link, agent.provider_id, agent.model),
            Field("color", say("agent_form.color"), color),
        )

    def compose(self) -> ComposeResult:
        yield framed(say("agent_form.title"), self._form, hint=say("agent_form.hint"), classes="form")

    def on_mount(self) -> None:
        if self._first:
            self._form.field(self._first).inner.focus()

    def on_picking_asked(self, event: Picking.Asked) -> None:
        event.stop()
        own = PALETTE if self.app.current_theme.dark else PALETTE_ON_LIGHT
        colors = [Candidate("", say("agent_form.color.default")), *(Candidate(one, one, one) for one in own)]
        pick_for(event.line, ChooseScreen(say("agent_form.colors"), colors, event.line.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "color":
            event.input.styles.color = shown_color(self, event.value.strip()) or None

    def action_save(self) -> None:
        agent: dict[str, Any] = {name: self._kept(field, name) for field, name in _FIELDS.items()}
        if not agent["name"]:
            self._form.complain({"name": say("agent_form.no_name")})
        elif agent["color"] not in ("", self._agent.color) and not is_color(agent["color"]):
            self._form.complain({"color": say("agent_form.no_color")})
        else:
            self.dismiss(replace(self._agent, **agent))

    def _kept(self, field: str, name: str) -> str:
        """Return the value of a field; one that was not changed keeps what the server sent, safe or not."""
        shown = self._form.field(field)
        return shown.value.strip() if shown.is_changed else str(getattr(self._agent, name))

    def action_back(self) -> None:
        """Close without a result; ask first if something was changed."""
        self._form.leave()
