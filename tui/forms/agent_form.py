"""One agent of a room: what it is called, what it is told, which model speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, Static

from agent_tui.model.events import AgentInfo
from agent_tui.model.settings import settings_of
from tui.forms.fields import Field, Line, Picking, shown_color
from tui.forms.model_form import ModelForm
from tui.link import RoomLink
from tui.live.key_hints import Hints
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.words import say
from widgets.color import PALETTE, PALETTE_ON_LIGHT, is_color
from widgets.composer import Composer


@dataclass(frozen=True, slots=True)
class AgentDraft:
    """An agent as it is to be; without an id it is a new one."""

    id: str = ""
    name: str = ""
    color: str = ""
    system_prompt: str = ""
    model: str = ""
    provider_id: str = ""

    def fields(self, before: AgentDraft | None) -> dict[str, str]:
        """Return what the wire needs to be told: of one that is known only what is different."""
        names = settings_of(AgentInfo)
        if before is None:
            return {name: str(getattr(self, name)) for name in names if getattr(self, name)}
        changed = {name: str(getattr(self, name)) for name in names}
        return {"id": self.id} | {
            name: value for name, value in changed.items() if value != getattr(before, name)
        }


# The fields of the form, and what they are of an agent.
_FIELDS: Final = {setting.called: setting.name for setting in settings_of(AgentInfo).values()}


class AgentFormScreen(ModelForm[AgentDraft | None]):
    """Closes with the agent as it is to be, or with nothing."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="agent_form.save", priority=True),
        Binding("escape", "back", "Back without saving", id="agent_form.back", priority=True),
    ]

    def __init__(self, agent: AgentDraft, link: RoomLink, *, ascii_only: bool = False) -> None:
        super().__init__(link, ascii_only=ascii_only)
        self._agent = agent

    def compose(self) -> ComposeResult:
        agent = self._agent
        with Vertical(classes="dialog wide"):
            yield Static(say("agent_form.title"), classes="title", markup=False)
            with VerticalScroll(id="form", can_focus=False):
                yield Field("name", say("agent_form.name"), Line(agent.name, id="name"))
                yield Field("prompt", say("agent_form.prompt"), Composer(id="prompt", may_be_empty=True))
                yield from self.model_fields(agent.provider_id, agent.model)
                line = Picking(agent.color, placeholder=say("agent_form.color.default"), id="color")
                yield Field("color", say("agent_form.color"), line)
            yield Hints(say("agent_form.hint"), ascii_only=self._ascii_only)

    def on_mount(self) -> None:
        """Show the prompt, and ask which providers there are."""
        self.query_one("#prompt", Composer).put(self._agent.system_prompt)
        self._shown = self.values()
        self.look_for_providers()

    # --- choosing from lists ---------------------------------------------------------------------------

    def asking_for(self, line: Picking) -> ChooseScreen:
        """Return the list that a line is filled from."""
        if line.id == "model":
            return super().asking_for(line)
        title = say("agent_form.colors")
        return ChooseScreen(title, self._colors, line.value, ascii_only=self._ascii_only)

    async def _colors(self) -> list[Candidate]:
        own = PALETTE if self.app.current_theme.dark else PALETTE_ON_LIGHT
        colors = [Candidate(color, color, color) for color in own]
        return [Candidate("", say("agent_form.color.default")), *colors]

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show a colour in itself."""
        if event.input.id == "color":
            event.input.styles.color = shown_color(self, event.value.strip()) or None

    # --- keeping it ------------------------------------------------------------------------------------

    def action_save(self) -> None:
        """Close with what was written."""
        agent = {field: self._kept(name, field) for name, field in _FIELDS.items()}
        if not agent["name"]:
            self.complain({"name": say("agent_form.no_name")})
        elif agent["color"] not in ("", self._agent.color) and not is_color(agent["color"]):
            self.complain({"color": say("agent_form.no_color")})
        else:
            self.dismiss(AgentDraft(self._agent.id, **agent))

    def _kept(self, name: str, field: str) -> str:
        """Return what a field says now; what was not touched stays as it came, harmless or not."""
        value = self.field(name).value
        return str(getattr(self._agent, field)) if value == self._shown[name] else value.strip()
