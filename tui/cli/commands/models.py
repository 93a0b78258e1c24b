"""``agent-tui models``: each provider with its models, or why it has none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.clients.records import ProviderInfo
from agent_tui.clients.rooms import RoomsClient
from agent_tui.config.file import DEMO_PROVIDER, config_path, load
from agent_tui.model.errors import AgentTuiError, TransportError
from agent_tui.model.inert import inert_line
from tui.cli import exits, output
from tui.cli.commands import connect
from tui.cli.commands.asking import ask_server
from tui.cli.output import OutputFormat
from tui.request import Server, Source
from tui.screens.localised import localised
from tui.screens.words import list_of

if TYPE_CHECKING:
    from tui.found import FoundModels

SHOWN_MODELS = 12
MAX_ERROR_CHARACTERS = 600
NO_PROVIDERS = "this server names no providers"
ONLY_DEMO = "only the demo model is there, which speaks from a script; set up another: agent-tui models setup"
ACCEPT = "agent-tui models setup sets them up"
ACCEPT_FIRST = "start agent-tui and press o to use them"  # the home screen offers them beside the demo


def list_models(source: Source, output_format: OutputFormat) -> int:
    """Print one line for each provider; as json ``{"providers": [{id, name, kind, model, models, error}…],
    "found": [{name, label, base_url, key_variable, models}…]}`` with ``error`` "" where it answered, and
    what is on this machine but not set up. Raises ``ConfigError`` where our own backend reads a broken file.
    """
    found: Sequence[FoundModels] = ()
    if not isinstance(source, Server):
        load()
        found = found_here()

    async def ask(client: RoomsClient) -> list[dict[str, object]]:
        providers = await client.backend.providers()
        return await asyncio.gather(*(_ask_provider(client, provider) for provider in providers))

    answers = ask_server(source, connect.rooms_client, ask)
    if output_format == "json":
        output.write_json({"providers": answers, "found": [_fields(models) for models in found]})
    else:
        for answer in answers:
            output.say(_line(answer))
    if not answers:
        output.notice(localised(NO_PROVIDERS))
        return exits.DONE
    is_demo = all(answer["kind"] == DEMO_PROVIDER for answer in answers)
    if found:
        names = list_of(models.text for models in found)
        how = ACCEPT_FIRST if is_demo else ACCEPT
        output.notice(localised(f"found here, not used: {names}; {how}"))
    elif is_demo:
        output.notice(localised(ONLY_DEMO))
    return exits.FAILED if any(answer["error"] for answer in answers) else exits.DONE


def found_here() -> list[FoundModels]:
    """Return the models on this machine that are not set up: servers at usual ports, keys in variables."""
    from tui.found import find  # lazy: a screen has it, too, with its words

    return asyncio.run(find(config_path()))


def found_names(found: Sequence[FoundModels]) -> str:
    """Return what was found on one line; for a key only the name of its variable."""
    return ", ".join(f"{models.preset.label} ({_about(models)})" for models in found)


def _about(found: FoundModels) -> str:
    if found.variable:
        return f"key in {found.variable}"
    return "1 model" if found.models == 1 else f"{found.models} models"


def _fields(found: FoundModels) -> dict[str, object]:
    return {
        "name": found.preset.id,
        "label": found.preset.label,
        "base_url": found.address,
        "key_variable": found.variable,
        "models": found.models,
    }


async def _ask_provider(client: RoomsClient, provider: ProviderInfo) -> dict[str, object]:
    about = {"id": provider.id, "name": provider.name, "kind": provider.kind, "model": provider.model}
    try:
        offered, error = await client.backend.models(provider.id), ""
    except AgentTuiError as failed:
        offered, error = [], inert_line(why_failed(failed), MAX_ERROR_CHARACTERS)
    return {**about, "models": offered, "error": error}


def _line(answer: dict[str, object]) -> str:
    offered, error = answer["models"], answer["error"]
    about = inert_line(f"{answer['id']} ({answer['kind']})")
    if error:
        return f"{about}: {localised(error)}"
    names = [inert_line(str(name)) for name in offered] if isinstance(offered, list) else []
    more = " " + localised(f"and {len(names) - SHOWN_MODELS} more") if len(names) > SHOWN_MODELS else ""
    return f"{about}: {', '.join(names[:SHOWN_MODELS]) or localised('no models')}{more}"


def why_failed(error: AgentTuiError) -> str:
    """Return a provider's error; that it came through our backend as a 502 is left out."""
    return error.detail if isinstance(error, TransportError) and error.detail else str(error)
