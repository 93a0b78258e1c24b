"""One agent of a room: what it is called, what it is told, which model speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from agent_tui.errors import AgentTuiError, NotOffered
from agent_tui.inert import inert_line
from tui.link import RoomLink
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.form_fields import MAX_LINE_CHARACTERS, Choice, Field, Line, Picking, own, shown_color
from tui.screens.words import say
from widgets.color import PALETTE, PALETTE_ON_LIGHT, is_color
from widgets.composer import Composer

if TYPE_CHECKING:
    from agent_tui.clients.room_answers import ProviderInfo


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


_FIELDS: Final = {
    "name": "name",
    "prompt": "system_prompt",
    "provider": "provider_id",
    "model": "model",
    "color": "color",
}  # of the form, and what they are of an agent


class AgentFormScreen(ModalScreen[AgentDraft | None]):
    """Closes with the agent as it is to be, or with nothing."""

    CSS_PATH = "room_dialogs.tcss"
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Keep it", id="agent_form.save", priority=True),
        Binding("escape", "dismiss", "Back, nothing changed", id="agent_form.back", priority=True),
    ]

    def __init__(self, agent: AgentDraft, link: RoomLink, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._ascii_only = ascii_only
        self._agent = agent
        self._link = link
        self._providers: list[ProviderInfo] = []  # the default one first
        self._shown: dict[str, str] = {}  # by field, before anything was touched

    def compose(self) -> ComposeResult:
        agent = self._agent
        with Vertical(classes="dialog wide"):
            yield Static(say("agent_form.title"), classes="title", markup=False)
            with VerticalScroll(id="form", can_focus=False):
                yield Field("name", say("agent_form.name"), Line(agent.name, id="name"))
                yield Field("prompt", say("agent_form.prompt"), Composer(id="prompt", may_be_empty=True))
                nobody = [(agent.provider_id, agent.provider_id or say("agent_form.provider.default"))]
                choice = Choice(nobody, agent.provider_id, id="provider", ascii_only=self._ascii_only)
                yield Field("provider", say("agent_form.provider"), choice)
                for name, value in (("model", agent.model), ("color", agent.color)):
                    placeholder = say(f"agent_form.{name}.default")
                    line = Picking(value, placeholder=placeholder, id=name)
                    yield Field(name, say(f"agent_form.{name}"), line)
            yield Static(self._own("agent_form.hint"), classes="hint", markup=False)

    def _own(self, key: str) -> str:
        return own(say(key), ascii_only=self._ascii_only)

    def on_mount(self) -> None:
        """Show the prompt, and ask which providers there are."""
        self.query_one("#prompt", Composer).put(self._agent.system_prompt)
        self._shown = {name: self.query_one(f"#field-{name}", Field).value for name in _FIELDS}
        self._look_for_providers()

    @work(group="providers", exclusive=True)
    async def _look_for_providers(self) -> None:
        """Offer the server's providers; where there are none to be had, say why, and keep what is chosen."""
        field = self.query_one("#field-provider", Field)
        try:
            client = await self._link.client()
            self._providers = await client.providers()
        except NotOffered as error:
            field.withhold(error.title)
            return
        except AgentTuiError as error:
            field.remark(str(error))
            return
        options = [(provider.id, provider.name or provider.id) for provider in self._providers]
        self.query_one("#provider", Choice).offer([("", self._default_provider), *options])

    @property
    def _default_provider(self) -> str:
        first = self._providers[0].name or self._providers[0].id if self._providers else ""
        if not first:
            return say("agent_form.provider.default")
        return say("agent_form.provider.default.name", name=inert_line(first, 40))

    # --- choosing from lists ---------------------------------------------------------------------------

    def on_picking_asked(self, event: Picking.Asked) -> None:
        """Show what there is to choose from."""
        event.stop()
        line = event.line

        def chosen(value: str | None) -> None:
            if value is not None:
                line.value = inert_line(value, MAX_LINE_CHARACTERS)
                line.action_end()

        if line.id == "model":
            title = say("agent_form.models", provider=self._provider_name)
            asking = ChooseScreen(title, self._models, line.value, may_type=True, ascii_only=self._ascii_only)
        else:
            asking = ChooseScreen(
                say("agent_form.colors"), self._colors, line.value, ascii_only=self._ascii_only
            )
        self.app.push_screen(asking, chosen)

    @property
    def _provider_name(self) -> str:
        choice = self.query_one("#provider", Choice)
        return next((one.name or one.id for one in self._providers if one.id == choice.value), choice.label)

    async def _models(self) -> list[Candidate]:
        """Ask the chosen provider for its models."""
        provider_id = self.query_one("#provider", Choice).value
        client = await self._link.client()
        known = self._providers or await client.providers()
        provider = next((one for one in known if one.id == provider_id), known[0] if known else None)
        offered = await client.models(provider_id or (provider.id if provider is not None else ""))
        own = provider.model if provider is not None else ""
        default = say("agent_form.model.default.name", name=own) if own else say("agent_form.model.default")
        return [Candidate("", default), *(Candidate(model, model) for model in offered)]

    async def _colors(self) -> list[Candidate]:
        own = PALETTE if self.app.current_theme.dark else PALETTE_ON_LIGHT
        colors = [Candidate(color, color, color) for color in own]
        return [Candidate("", say("agent_form.color.default")), *colors]

    def on_choice_changed(self, event: Choice.Changed) -> None:
        """Leave the model of another provider out: one that is not known there would fail every turn."""
        event.stop()
        line = self.query_one("#model", Picking)
        is_as_before = self.query_one("#provider", Choice).value == self._shown["provider"]
        if is_as_before and not line.value:
            line.value = self._shown["model"]
        elif not is_as_before and line.value == self._shown["model"]:
            line.value = ""

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show a colour in itself."""
        if event.input.id == "color":
            event.input.styles.color = shown_color(self, event.value.strip()) or None

    # --- keeping it ------------------------------------------------------------------------------------

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
        agent = {field: self._kept(name, field) for name, field in _FIELDS.items()}
        for name in _FIELDS:
            self.query_one(f"#field-{name}", Field).complain("")
        if not agent["name"]:
            self._blame("name", say("agent_form.no_name"))
        elif agent["color"] not in ("", self._agent.color) and not is_color(agent["color"]):
            self._blame("color", say("agent_form.no_color"))
        else:
            self.dismiss(AgentDraft(self._agent.id, **agent))

    def _kept(self, name: str, field: str) -> str:
        """Return what a field says now; what was not touched stays as it came, harmless or not."""
        value = self.query_one(f"#field-{name}", Field).value
        return str(getattr(self._agent, field)) if value == self._shown[name] else value.strip()

    def _blame(self, name: str, problem: str) -> None:
        field = self.query_one(f"#field-{name}", Field)
        field.complain(problem)
        field.inner.focus()
