"""One agent of a room: what it is called, what it is told, which model speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from agent_tui.errors import AgentTuiError
from tui.link import RoomLink
from tui.screens.form_fields import Choice, Field, Line
from tui.screens.words import say
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
        names = ("name", "color", "system_prompt", "model", "provider_id")
        if before is None:
            return {name: str(getattr(self, name)) for name in names if getattr(self, name)}
        changed = {name: str(getattr(self, name)) for name in names}
        return {"id": self.id} | {
            name: value for name, value in changed.items() if value != getattr(before, name)
        }


class AgentFormScreen(ModalScreen[AgentDraft | None]):
    """Closes with the agent as it is to be, or with nothing."""

    CSS_PATH = "room_dialogs.tcss"
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Keep it", id="agent_form.save", priority=True),
        Binding("escape", "dismiss", "Back, nothing changed", id="agent_form.back", priority=True),
    ]

    def __init__(self, agent: AgentDraft, link: RoomLink) -> None:
        super().__init__()
        self._agent = agent
        self._link = link

    def compose(self) -> ComposeResult:
        agent = self._agent
        with Vertical(classes="dialog wide"):
            yield Static(say("agent_form.title"), classes="title", markup=False)
            with VerticalScroll(id="form", can_focus=False):
                yield Field("name", say("agent_form.name"), Line(agent.name, id="name"))
                yield Field("prompt", say("agent_form.prompt"), Composer(id="prompt"))
                placeholder = say("agent_form.model.default")
                yield Field(
                    "model", say("agent_form.model"), Line(agent.model, placeholder=placeholder, id="model")
                )
                nobody = [(agent.provider_id, agent.provider_id or say("agent_form.provider.default"))]
                yield Field(
                    "provider", say("agent_form.provider"), Choice(nobody, agent.provider_id, id="provider")
                )
            yield Static(say("form.hint"), classes="hint", markup=False)

    def on_mount(self) -> None:
        """Show the prompt, and ask which providers there are."""
        self.query_one("#prompt", Composer).put(self._agent.system_prompt)
        self._look_for_providers()

    @work(group="providers", exclusive=True)
    async def _look_for_providers(self) -> None:
        try:
            client = await self._link.client()
            known = await client.providers()
        except AgentTuiError:
            return  # what was chosen stays; the server says what is wrong with it
        options = [(provider.id, provider.name or provider.id) for provider in known]
        if not self._agent.provider_id:
            options = [("", say("agent_form.provider.default")), *options]
        self.query_one("#provider", Choice).offer(options)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep it."""
        event.stop()
        self.action_save()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Keep it."""
        event.stop()
        self.action_save()

    def action_save(self) -> None:
        """Close with what was written."""
        values = {name: self.query_one(f"#field-{name}", Field).value for name in _NAMES}
        if not values["name"].strip():
            self.query_one("#field-name", Field).complain(say("agent_form.no_name"))
            return
        self.dismiss(
            AgentDraft(
                self._agent.id,
                values["name"].strip(),
                self._agent.color,
                values["prompt"].strip(),
                values["model"].strip(),
                values["provider"],
            )
        )


_NAMES = ("name", "prompt", "model", "provider")
