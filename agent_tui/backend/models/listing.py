"""Which models a provider offers: one GET each, in the form of its kind.

Sources: OpenAI and Ollama ``GET /v1/models``, Anthropic ``GET /v1/models``, Gemini ``GET /v1beta/models``.
Names are hostile until they have passed here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_tui.backend.models.endpoints import (
    LOOPBACK_HOSTS,
    Endpoint,
    api_root,
    key_headers,
    unusable,
    with_key,
    without_login,
)
from agent_tui.model.errors import ConfigError, ModelError
from agent_tui.model.inert import inert_line
from agent_tui.redaction import shown_url

if TYPE_CHECKING:
    import httpx

    from agent_tui.backend.models.remote_errors import Teller

LIST_SECONDS = 10.0
HINT_SECONDS = 3.0  # for naming other models in an error
MAX_LIST_BYTES = 4 * 1024 * 1024
MAX_MODELS = 2000
MAX_NAME_CHARACTERS = 200
_LISTS = {"anthropic": ("/v1/models", "limit=1000"), "google": ("/v1beta/models", "pageSize=1000")}
SPEAKS = "generateContent"  # what a Gemini model must offer, or it only makes vectors or pictures

# Its INFO lines hold whole URLs, and what stands in a URL may be a secret.
logging.getLogger("httpx").setLevel(logging.WARNING)


async def list_models(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the names of the provider's models, as it orders them; raises ``ModelError``.

    Raises ``ConfigError`` when its key is in a keyring, or the environment's certificates in a file, that
    cannot be used.
    """
    endpoint = await asyncio.to_thread(with_key, endpoint)
    client, teller = await asyncio.to_thread(_open, endpoint)
    async with client:
        try:
            async with asyncio.timeout(LIST_SECONDS):
                return _names(endpoint, await _get(client, endpoint, teller), teller)
        except TimeoutError:
            raise teller.silent(LIST_SECONDS) from None


async def known_models(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the provider's models if it says so soon, else nothing; never raises."""
    try:
        async with asyncio.timeout(HINT_SECONDS):
            return await list_models(endpoint)
    except (ModelError, ConfigError, TimeoutError):
        return ()


async def server_of(endpoint: Endpoint) -> str:
    """Return what the server calls itself in its list of models: "llamacpp", "vllm", "library" (Ollama) or
    what another one says; empty where it says nothing soon. Never raises.
    """
    try:
        async with asyncio.timeout(HINT_SECONDS):
            endpoint = await asyncio.to_thread(with_key, endpoint)
            client, teller = await asyncio.to_thread(_open, endpoint)
            async with client:
                listed = json.loads(await _get(client, endpoint, teller))["data"]
                return str(listed[0].get("owned_by", "")).lower()
    except (ModelError, ConfigError, TimeoutError, ValueError, LookupError, TypeError, AttributeError):
        return ""


def _open(endpoint: Endpoint) -> tuple[httpx.AsyncClient, Teller]:
    # In a thread and not at the top: certificates and imports take their time (architecture.md §3).
    import httpx

    from agent_tui.backend.models.remote_errors import Teller
    from agent_tui.tls import tls_context

    try:
        url, login = without_login(endpoint.base_url)
        teller = Teller(endpoint, shown_url(url), endpoint.secrets())
        client = httpx.AsyncClient(
            base_url=url,
            auth=httpx.BasicAuth(*login) if login else None,
            headers=key_headers(endpoint),
            timeout=LIST_SECONDS,
            verify=tls_context(None, os.environ),
            trust_env=urlsplit(url).hostname not in LOOPBACK_HOSTS,
        )
    except (ValueError, httpx.InvalidURL):
        raise unusable(endpoint) from None
    return client, teller


def _address(endpoint: Endpoint) -> str:
    url, _ = without_login(endpoint.base_url)
    parts = urlsplit(api_root(endpoint.kind, url))
    path, query = _LISTS.get(endpoint.kind, ("/models", ""))
    query = "&".join(part for part in (parts.query, query) if part)
    return parts._replace(path=parts.path + path, query=query, fragment="").geturl()


async def _get(client: httpx.AsyncClient, endpoint: Endpoint, teller: Teller) -> bytes:
    import httpx

    body = bytearray()
    try:
        async with client.stream("GET", _address(endpoint)) as answer:
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MAX_LIST_BYTES:
                    raise teller.no_answer("the list of models is too long")
    except httpx.TimeoutException:
        raise teller.silent(LIST_SECONDS) from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise teller.offline(error) from None
    if answer.has_redirect_location:
        raise teller.elsewhere(answer.status_code, answer.headers["location"])
    if answer.status_code != HTTPStatus.OK:
        raise teller.refused_list(answer.status_code, bytes(body), answer.headers.get("retry-after", ""))
    return bytes(body)


def _names(endpoint: Endpoint, body: bytes, teller: Teller) -> tuple[str, ...]:
    try:
        value = json.loads(body)
        # Together's is a bare list.
        listed = (
            value if isinstance(value, list) else value["models" if endpoint.kind == "google" else "data"]
        )
        # Ollama without a model says ``"data": null``.
        found = [_name(endpoint.kind, entry) for entry in (listed or [])[:MAX_MODELS]]
    except (ValueError, LookupError, TypeError, RecursionError, AttributeError):
        raise teller.no_answer("no list of models came", body) from None
    return tuple(dict.fromkeys(name for name in found if name))


def _name(kind: str, entry: Any) -> str:
    if kind != "google":
        return _line(entry["id"])
    if SPEAKS not in entry.get("supportedGenerationMethods", [SPEAKS]):
        return ""
    return _line(entry["name"]).removeprefix("models/")


def _line(name: Any) -> str:
    """Return a harmless name; what is changed by that could not be called by it, so it is left out."""
    return name if isinstance(name, str) and name == inert_line(name, MAX_NAME_CHARACTERS) else ""
