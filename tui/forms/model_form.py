"""The part of a form that says which model speaks: its provider and its name, picked from what there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from textual import work

from agent_tui.model.errors import AgentTuiError, NotOffered
from agent_tui.model.events import AgentInfo
from agent_tui.model.inert import inert_line
from agent_tui.model.settings import settings_of
from tui.forms.fields import MAX_LINE_CHARACTERS, Choice, Field, Picking
from tui.forms.form import Form
from tui.link import Link
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.records import ProviderInfo

R = TypeVar("R")
_SETTINGS: Final = settings_of(AgentInfo)  # of a chat they are the same


class ModelForm(Form[R]):
    """A form with a field for the provider and one for the model."""

    def __init__(self, link: Link[Any], *, ascii_only: bool = False) -> None:
        super().__init__(ascii_only=ascii_only)
        self._link = link
        self._providers: list[ProviderInfo] = []  # the default one first

    def model_fields(self, provider_id: str, model: str) -> Iterator[Field]:
        """Yield both fields with what is chosen now."""
        nobody = [(provider_id, provider_id or say("agent_form.provider.default"))]
        choice = Choice(nobody, provider_id, id="provider", ascii_only=self._ascii_only)
        yield Field("provider", say("agent_form.provider"), choice, _SETTINGS["provider_id"])
        line = Picking(model, placeholder=say("agent_form.model.default"), id="model")
        yield Field("model", say("agent_form.model"), line, _SETTINGS["model"])

    @work(group="providers", exclusive=True)
    async def look_for_providers(self) -> None:
        """Offer the server's providers; where there are none to be had, say why, and keep what is chosen."""
        field, choice = self.field("provider"), self.query_one("#provider", Choice)  # it may close meanwhile
        try:
            client = await self._link.client()
            self._providers = await client.backend.providers()
        except NotOffered as error:
            field.withhold(error.title)
            return
        except AgentTuiError as error:
            field.remark(str(error))
            return
        field.remark("")  # of the last time
        options = [(provider.id, provider.name or provider.id) for provider in self._providers]
        choice.offer([("", self._default_provider), *options])

    @property
    def _default_provider(self) -> str:
        first = self._providers[0].name or self._providers[0].id if self._providers else ""
        if not first:
            return say("agent_form.provider.default")
        return say("agent_form.provider.default.name", name=inert_line(first, 40))

    def asking_for(self, line: Picking) -> ChooseScreen:
        """Return the list that a line is filled from."""
        title = say("agent_form.models", provider=self._provider_name)
        return ChooseScreen(title, self._models, line.value, may_type=True, ascii_only=self._ascii_only)

    def on_picking_asked(self, event: Picking.Asked) -> None:
        """Show what there is to choose from."""
        event.stop()
        line = event.line

        def chosen(value: str | None) -> None:
            if value is not None:
                line.value = inert_line(value, MAX_LINE_CHARACTERS)
                line.action_end()

        self.app.push_screen(self.asking_for(line), chosen)

    @property
    def _provider_name(self) -> str:
        choice = self.query_one("#provider", Choice)
        return next((one.name or one.id for one in self._providers if one.id == choice.value), choice.label)

    async def _models(self) -> list[Candidate]:
        """Ask the chosen provider for its models."""
        provider_id = self.query_one("#provider", Choice).value
        client = await self._link.client()
        known = self._providers or await client.backend.providers()
        provider = next((one for one in known if one.id == provider_id), known[0] if known else None)
        offered = await client.backend.models(provider_id or (provider.id if provider is not None else ""))
        own = provider.model if provider is not None else ""
        default = say("agent_form.model.default.name", name=own) if own else say("agent_form.model.default")
        return [Candidate("", default), *(Candidate(model, model) for model in offered)]

    def on_choice_changed(self, event: Choice.Changed) -> None:
        """Leave the model of another provider out: one that is not known there would fail every turn."""
        event.stop()
        if event.choice.id != "provider":
            return
        line = self.query_one("#model", Picking)
        is_as_before = event.choice.value == self._shown["provider"]
        if is_as_before and not line.value:
            line.value = self._shown["model"]
        elif not is_as_before and line.value == self._shown["model"]:
            line.value = ""
