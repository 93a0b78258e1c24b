"""The doctor's checks of the backend, the models, MCP servers and other servers."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import agent_tui
from agent_tui.clients.agents.chats import AgentChats
from agent_tui.clients.chat import ChatClient
from agent_tui.clients.http import Net
from agent_tui.clients.records import ToolServer
from agent_tui.clients.rooms import RoomsClient
from agent_tui.config.file import AGENT_PROVIDER, SOCKET, TASKS, BackendConfig, Config, ProviderConfig
from agent_tui.config.tools import McpConfig
from agent_tui.model.errors import (
    AgentBusy,
    AgentTuiError,
    ConnectFailed,
    NotFound,
    NotOffered,
    Refused,
    TransportError,
    Unauthorized,
)
from agent_tui.model.inert import inert_line
from tui import runtime
from tui.cli.commands.models import ACCEPT, ACCEPT_FIRST, found_here, found_names, why_failed
from tui.cli.doctor.checks import Check, Surroundings, error_line
from tui.found import FoundModels
from tui.screens.words import list_of, say_count

ANSWER_SECONDS: Final = 10.0
TOOLS_SECONDS: Final = 20.0  # the backend first starts the MCP servers, which may take 15 s
CONNECT_SECONDS: Final = 3.0
CONFLICT: Final = 409  # the provider's entry in the config file cannot be used
MAX_MODELS_NAMED: Final = 5
MAX_NAME_CHARACTERS: Final = 60
MAX_PROBLEM_CHARACTERS: Final = 300


def checks(here: Surroundings, config: Config | None) -> Iterator[Check]:
    """Yield the checks of servers; without a config only those of our own backend."""
    found, endpoint = backend_check(here.data)
    yield found
    check = partial(Check, "providers", "models")
    if config is None:
        yield check("skipped", "the config file cannot be used")
        return
    if not config.providers:
        yield check("ok", "the demo model alone")
    for provider in config.providers.values():
        yield provider_check(provider, endpoint)
    yield found_check(found_here(), has_providers=bool(config.providers))
    servers = _tool_servers(endpoint) if config.mcp and endpoint is not None else None
    for server in config.mcp.values():
        yield tools_check(here.environ, server, servers)
    for backend in config.backends.values():
        yield server_check(here.environ, backend)


def backend_check(data: Path) -> tuple[Check, runtime.Endpoint | None]:
    """Find the embedded backend, or start it: it ends by itself when it is not used."""
    check = partial(Check, "backend", "backend")
    try:
        running = runtime.find()
        endpoint = runtime.begin().wait()
    except AgentTuiError as error:
        fix = f"see {data / runtime.LOG_FILE}; agent-tui backend stop ends one that hangs"
        return check("failed", str(error), fix), None
    how = "runs" if running is not None and running.pid == endpoint.pid else "starts"
    detail = f"{how}, version {endpoint.version}, process {endpoint.pid}"
    if endpoint.version != agent_tui.__version__:
        return check("failed", detail, "agent-tui backend stop"), endpoint
    return check("ok", detail), endpoint


# --- models ------------------------------------------------------------------------------------------------


def provider_check(provider: ProviderConfig, endpoint: runtime.Endpoint | None) -> Check:
    """Ask the backend for a provider's models; if it cannot list them, check that the provider is there."""
    name = inert_line(provider.name, MAX_NAME_CHARACTERS)
    check = partial(Check, f"providers.{name}", f"provider {name}")
    if provider.api_key_env and not provider.keyring and not provider.key():
        fix = f"export {provider.api_key_env}=KEY, then agent-tui backend stop"
        return check("failed", f"{provider.api_key_env} is not set in this environment", fix)
    if endpoint is None:
        return _connects(provider, check)
    try:
        models = asyncio.run(_models(endpoint, provider.name))
    except AgentTuiError as error:
        return check("failed", error_line(why_failed(error)), _provider_fix(provider, error))
    if provider.model and models and provider.model not in models:
        there = ", ".join(inert_line(model, MAX_NAME_CHARACTERS) for model in models[:MAX_MODELS_NAMED])
        detail = f'it has no model "{inert_line(provider.model, MAX_NAME_CHARACTERS)}"'
        return check("failed", detail, f"name another one in the config file: {there}")
    found = f"{len(models)} {'model' if len(models) == 1 else 'models'}"
    return check("ok", found, told=say_count("doctor.models", len(models)))


def found_check(found: Sequence[FoundModels], *, has_providers: bool) -> Check:
    """Name the models on this machine that are not set up, and say how to accept them."""
    check = partial(Check, "models.found", "models found here")
    if not found:
        return check("ok", "none that are not set up")
    names = list_of(models.text for models in found)
    detail = f"{found_names(found)}: not used until you accept"
    fix = ACCEPT if has_providers else ACCEPT_FIRST
    return check("ok", detail, fix, detail.replace(found_names(found), names))


async def _models(endpoint: runtime.Endpoint, name: str) -> list[str]:
    """Return the provider's models as the backend gets them."""
    async with Net(endpoint.url, token=endpoint.token, timeout=ANSWER_SECONDS) as net:
        return await RoomsClient(net).backend.models(name)


def _connects(provider: ProviderConfig, check: partial[Check]) -> Check:
    try:
        parts = urlsplit(provider.base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if parts.hostname:
            socket.create_connection((parts.hostname, port), CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        fix = f"start it, or correct providers.{provider.name}.base_url"
        return check("failed", f"nobody answers: {why}", fix)
    return check("ok", "somebody answers; its models were not asked for")


def _provider_fix(provider: ProviderConfig, error: AgentTuiError) -> str:
    where = f"providers.{inert_line(provider.name, MAX_NAME_CHARACTERS)}"
    if _refuses_key(error):
        return f"put the right key into {provider.api_key_env or where}, then agent-tui backend stop"
    if isinstance(error, Refused) and error.status == CONFLICT:
        return f"agent-tui models setup, or name a variable that holds the key: {where}.api_key_env"
    return f"start it, or correct {where}.base_url"


def _refuses_key(error: AgentTuiError) -> bool:
    return isinstance(error, Unauthorized) or (isinstance(error, Refused) and error.status in (401, 403))


# --- servers of tools --------------------------------------------------------------------------------------


def tools_check(environ: Mapping[str, str], server: McpConfig, servers: Sequence[ToolServer] | None) -> Check:
    """Check what an MCP server needs, and its state (``servers`` ``None``: the backend does not say)."""
    where = f"mcp.{server.name}"
    check = partial(Check, where, f"tools {server.name}")
    if server.token_env and not environ.get(server.token_env):
        fix = f"export {server.token_env}=TOKEN, then agent-tui backend stop"
        return check("failed", f"{server.token_env} is not set in this environment", fix)
    if server.command and not shutil.which(server.command, path=environ.get("PATH", "")):
        detail = f"there is no command {inert_line(server.command, MAX_NAME_CHARACTERS)}"
        return check("failed", detail, f"install it, or correct {where}.command")
    found = next((candidate for candidate in servers or () if candidate.name == server.name), None)
    if found is None:
        return check("skipped", "the backend does not say how it stands")
    detail, fix = (inert_line(text, MAX_PROBLEM_CHARACTERS) for text in (found.problem, found.fix))
    if found.status != "ready":
        return check("failed", detail or "it is still starting", fix)
    if found.problem:
        return check("warning", detail, fix)
    return check("ok", f"{found.tools} {'tool' if found.tools == 1 else 'tools'}")


def _tool_servers(endpoint: runtime.Endpoint) -> list[ToolServer] | None:
    async def ask() -> list[ToolServer]:
        async with Net(endpoint.url, token=endpoint.token, timeout=TOOLS_SECONDS) as net:
            return (await ChatClient(net).backend.tools())[1]

    try:
        return asyncio.run(ask())
    except AgentTuiError:
        return None


# --- other servers -----------------------------------------------------------------------------------------


def server_check(environ: Mapping[str, str], backend: BackendConfig) -> Check:
    """Ask one of the config file's other servers."""
    name = inert_line(backend.name, MAX_NAME_CHARACTERS)
    check = partial(Check, f"backends.{name}", f"server {name}")
    token = environ.get(backend.token_env, "") or backend.token
    if backend.token_env and not token:
        detail = f"{backend.token_env} is not set in this environment"
        return check("failed", detail, f"export {backend.token_env}=TOKEN")
    try:
        return check("ok", asyncio.run(_ask_server(backend, token)))
    except AgentBusy as error:
        return check("ok", f"it answers; {error_line(error)}")
    except Refused as error:
        if not _refuses_key(error):
            return check("ok", "it answers")
        fix = f"put the right token into {backend.token_env or f'backends.{name}.token'}"
        return check("failed", "the token is refused", fix)
    except TransportError as error:
        return check("failed", error_line(error), f"start it, or correct backends.{name}.url")
    except AgentTuiError as error:
        return check("failed", error_line(error), f"correct backends.{name}.url or .kind")


async def _ask_server(backend: BackendConfig, token: str) -> str:
    """Ask a server for its rooms, or if it has none for any answer; raises what the client raises."""
    if backend.kind in (TASKS, SOCKET):
        return await _connect_to_agent(replace(backend, token=token))
    async with Net(backend.url, token=token, timeout=min(backend.timeout, ANSWER_SECONDS)) as net:
        if backend.kind != "rooms":
            await net.call("GET", "/health")
            return "it answers"
        try:
            rooms = await RoomsClient(net, backend.paths).list_all()
        except (NotFound, NotOffered):
            return "it answers; it has no list of rooms"
        return f"{len(rooms)} {'room' if len(rooms) == 1 else 'rooms'}"


async def _connect_to_agent(backend: BackendConfig) -> str:
    """Connect to an agent; raises what its client raises."""
    client = AgentChats(backend)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await client.open("")
    except TimeoutError as error:
        raise ConnectFailed("nobody answers", f"{ANSWER_SECONDS:g} s passed") from error
    finally:
        await client.aclose()
    ready = "it takes tasks" if backend.kind == TASKS else "its agent is ready"
    return f"{ready}; as an agent of rooms its provider is {AGENT_PROVIDER}{backend.name}"
