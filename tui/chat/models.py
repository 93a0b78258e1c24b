"""The model picker of a chat: the models of all providers."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui.chat.open_chat import OpenChat
from tui.live.texts import dollars
from tui.screens.choose import Candidate, Candidates, ChooseScreen
from tui.screens.localised import localised
from tui.screens.words import say
from widgets.units import tokens

if TYPE_CHECKING:
    from agent_tui.clients.records import ModelInfo, ProviderInfo

BETWEEN: Final = "\n"  # a provider's id and a model's name, as one value
MAX_WORDS: Final = 120


def pick_model(chat: OpenChat) -> None:
    """Let the person choose one of the models of all providers, from the next question on."""

    def chosen(value: str | None) -> None:
        if value is not None and value != now:
            provider, _, model = value.partition(BETWEEN)
            chat.host.run("settings", use_model(chat, model, provider))

    info = chat.state.conversation
    now = f"{info.provider_id}{BETWEEN}{info.model}"
    hint = "command.models.hint" if chat.link.is_embedded else "choose.hint"  # others set up their own
    chat.host.open(ChooseScreen(say("command.models"), partial(_models, chat), now, hint=hint), chosen)


async def use_model(chat: OpenChat, model: str, provider: str | None = None) -> bool:
    """Use this model, without a ``provider`` that of the current one; return whether that succeeded."""
    fields = {"model": model} if provider is None else {"provider_id": provider, "model": model}
    name = inert_line(" · ".join(filter(None, (model, provider))), MAX_WORDS)
    note = say("command.model.chosen", model=name or say("chat.model.default"))
    return await chat.change_and_tell(note, **fields)


async def _models(chat: OpenChat) -> Candidates:
    """Return the models of all providers; one that does not answer has its default, and says why."""
    # Lazy: pydantic is read with the client only.
    from agent_tui.clients.records import ModelInfo

    client = await chat.client()
    providers = await client.backend.providers()

    async def of(provider: ProviderInfo) -> list[Candidate]:
        default = ModelInfo(provider.model)
        try:
            models, why = await client.backend.list_models(provider.id), ""
        except AgentTuiError as error:
            models, why = [], localised(inert_line(str(error), MAX_WORDS))
        if default.id and all(model.id != default.id for model in models):
            models = [*models, default]
        return [_candidate(provider.id, model, why) for model in models]

    found = await asyncio.gather(*map(of, providers))
    default = Candidate(BETWEEN, say("chat.model.default"))
    return [default, *chain.from_iterable(found)]


def _candidate(provider: str, model: ModelInfo, why: str) -> Candidate:
    shown = say("room.demo") if provider == model.id == DEMO_PROVIDER else f"{model.id} · {provider}"
    return Candidate(f"{provider}{BETWEEN}{model.id}", shown, detail=why or _about(model))


def _about(model: ModelInfo) -> str:
    """Return the context size and prices of a model; "" if unknown."""
    facts = []
    if model.context_tokens:
        facts.append(say("command.models.context", tokens=tokens(model.context_tokens)))
    input_price, output_price = model.input_price, model.output_price
    if input_price is not None and output_price is not None:
        price = say("command.models.price", input=dollars(input_price), output=dollars(output_price))
        facts.append(price if input_price or output_price else say("room.cost.none"))
    return " · ".join(facts)
