"""The fields for a model: its provider and its name, chosen from lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalGroup

from agent_tui.model.errors import AgentTuiError, NotOffered
from agent_tui.model.events import AgentInfo
from agent_tui.model.inert import inert_line
from agent_tui.model.settings import settings_of
from tui.forms.fields import MAX_LINE_CHARACTERS, Choice, Field, Picking
from tui.link import Link
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.localised import localised
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.records import ProviderInfo

_SETTINGS: Final = settings_of(AgentInfo)  # a chat has the same


class ModelFields(VerticalGroup):
    """A field for the provider and one for the model."""

    def __init__(self, link: Link[Any], provider_id: str = "", model: str = "") -> None:
        super().__init__()
        self._link = link
        self._providers: list[ProviderInfo] = []  # the default one first
        nobody = [(provider_id, provider_id or say("agent_form.provider.default"))]
        self._choice = Choice(nobody, provider_id, id="provider")
        default = say("agent_form.model.default")
        self._line = Picking(model, self._pick, placeholder=default, id="model")
        label = say("agent_form.provider")
        self._provider = Field("provider", label, self._choice, _SETTINGS["provider_id"])
        self._model = Field("model", say("agent_form.model"), self._line, _SETTINGS["model"])

    def compose(self) -> ComposeResult:
        yield self._provider
        yield self._model

    def on_mount(self) -> None:
        self.look_for_providers()

    @work(group="providers", exclusive=True)
    async def look_for_providers(self) -> None:
        """Offer the server's providers. If there are none, say why, and keep the current one."""
        try:
            client = await self._link.client()
            self._providers = await client.backend.providers()
        except NotOffered as error:
            self._choice.disabled = True
            self._provider.complain(localised(error.title))
            return
        except AgentTuiError as error:
            self._provider.complain(localised(error))
            return
        self._provider.complain("")  # from the last time
        options = [(provider.id, provider.name or provider.id) for provider in self._providers]
        self._choice.offer([("", self._default_provider), *options])

    @property
    def _default_provider(self) -> str:
        first = self._providers[0].name or self._providers[0].id if self._providers else ""
        if not first:
            return say("agent_form.provider.default")
        return say("agent_form.provider.default.name", name=inert_line(first, 40))

    def _pick(self) -> None:
        """Fill in the model that a person chooses from a list."""

        def chosen(model: str | None) -> None:
            if model is not None:
                self._line.value = inert_line(model, MAX_LINE_CHARACTERS)
                self._line.action_end()

        value = self._choice.value
        named = (provider.name or provider.id for provider in self._providers if provider.id == value)
        title = say("agent_form.models", provider=next(named, self._choice.label))
        self.app.push_screen(ChooseScreen(title, self._models, self._line.value, may_type=True), chosen)

    async def _models(self) -> list[Candidate]:
        """Ask the chosen provider for its models."""
        provider_id = self._choice.value
        client = await self._link.client()
        providers = self._providers or await client.backend.providers()
        by_id = {provider.id: provider for provider in providers}
        provider = by_id.get(provider_id, next(iter(providers), None))
        offered = await client.backend.models(provider_id or (provider.id if provider is not None else ""))
        own = provider.model if provider is not None else ""
        default = say("agent_form.model.default.name", name=own) if own else say("agent_form.model.default")
        return [Candidate("", default), *(Candidate(model, model) for model in offered)]

    def on_choice_changed(self, event: Choice.Changed) -> None:
        """Clear the model when the provider changes: every turn with an unknown model would fail."""
        event.stop()
        if self._provider.is_changed and self._line.value == self._model.before:
            self._line.value = ""
        elif not self._provider.is_changed and not self._line.value:
            self._line.value = self._model.before
