"""One agent of a room: its name, its instructions, its model."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from agent_tui.model.colors import hex_color
from agent_tui.model.events import AgentInfo
from agent_tui.model.settings import settings_of
from tui.forms.fields import Field, Line
from tui.forms.form import Form
from tui.forms.model_fields import ModelFields
from tui.link import RoomLink
from tui.screens.dialog import Dialog, framed
from tui.screens.words import say
from widgets.composer import Composer

_SETTINGS: Final = settings_of(AgentInfo)


def _color(text: str) -> str:
    if text and not hex_color(text):
        raise ValueError(say("agent_form.no_color"))
    return text


class AgentFormScreen(Dialog[AgentInfo | None]):
    """Closes with the changed agent, or with ``None``; an agent without an id is new."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="agent_form.save", priority=True),
        Binding("escape", "back", "Back without saving", id="agent_form.back", priority=True),
    ]

    def __init__(self, agent: AgentInfo, link: RoomLink) -> None:
        super().__init__()
        self._agent = agent
        prompt, instructions = Composer(id="prompt", may_be_empty=True), agent.system_prompt
        color = Line(agent.color, placeholder=say("agent_form.color.default"), id="color")
        self._form = Form(
            Field("name", say("agent_form.name"), Line(agent.name, id="name"), _SETTINGS["name"]),
            Field("prompt", say("agent_form.prompt"), prompt, _SETTINGS["system_prompt"], text=instructions),
            ModelFields(link, agent.provider_id, agent.model),
            Field("color", say("agent_form.color"), color, _SETTINGS["color"], read=_color),
        )

    def compose(self) -> ComposeResult:
        yield framed(say("agent_form.title"), self._form, hint=say("agent_form.hint"), classes="form")

    def action_save(self) -> None:
        """Close with the agent; a field that was not changed keeps what the server sent, safe or not."""
        changed = self._form.changes()
        if changed is None:
            return
        agent = replace(self._agent, **changed)
        if agent.name:
            self.dismiss(agent)
        else:
            self._form.complain({"name": say("agent_form.no_name")})

    def action_back(self) -> None:
        """Close without a result; ask first if something was changed."""
        self._form.leave()
