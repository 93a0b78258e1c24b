"""``agent-tui models``: each provider with what it offers, or why it offers nothing."""

from __future__ import annotations

import asyncio

from agent_tui.clients.records import ProviderInfo
from agent_tui.clients.rooms import RoomsClient
from agent_tui.config.file import DEMO_PROVIDER, load
from agent_tui.model.errors import AgentTuiError, TransportError
from agent_tui.model.inert import inert_line
from tui.cli import exits, output
from tui.cli.commands import connect
from tui.cli.commands.asking import asked
from tui.cli.output import OutputFormat
from tui.request import Server, Source
from tui.screens.localised import localised

SHOWN_MODELS = 12
MAX_ERROR_CHARACTERS = 600
NO_PROVIDERS = "this server names no providers"
ONLY_DEMO = "only the demo model is there, which speaks from a script; set up another: agent-tui models setup"


def list_models(source: Source, output_format: OutputFormat) -> int:
    """Print one line for each provider; as json ``{"providers": [{id, name, kind, model, models, error}…]}``
    with ``error`` "" where it answered. Raises ``ConfigError`` where our own backend reads a broken file.
    """
    if not isinstance(source, Server):
        load()

    async def ask(client: RoomsClient) -> list[dict[str, object]]:
        return await asyncio.gather(*(_asked(client, one) for one in await client.backend.providers()))

    answers = asked(source, connect.rooms_client, ask)
    if output_format == "json":
        output.write_json({"providers": answers})
    else:
        for answer in answers:
            output.say(_line(answer))
    if not answers:
        output.notice(localised(NO_PROVIDERS))
    elif all(answer["kind"] == DEMO_PROVIDER for answer in answers):
        output.notice(localised(ONLY_DEMO))
    return exits.FAILED if any(answer["error"] for answer in answers) else exits.DONE


async def _asked(client: RoomsClient, provider: ProviderInfo) -> dict[str, object]:
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
    """Return what a provider's failure says; that it came through our backend as a 502 says nothing."""
    return error.detail if isinstance(error, TransportError) and error.detail else str(error)
