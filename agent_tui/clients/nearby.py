"""Model servers on this machine: which ones answer at their usual ports, and how many models they have.

One short GET each, to loopback only: no proxy, no redirect, no key. The answer may be anything: it is read up
to a limit in bytes and in seconds, and anything but a list of models is ignored.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterable
from contextlib import suppress

import httpx

from agent_tui.config.presets import PRESETS, Preset

ASK_SECONDS = 1.5  # for one whole answer
MAX_ANSWER_BYTES = 1024 * 1024
MAX_MODELS = 9_999
_OWNERS = {"vllm": "vllm", "llamacpp": "llamacpp", "library": "ollama"}  # from a model's ``owned_by``


async def servers_at(presets: Iterable[Preset]) -> list[tuple[Preset, str, int]]:
    """Return the servers on this machine that answer: which one, its address, how many models it has.

    A server at another's usual port is recognised by its models. Takes as long as the slowest,
    ``ASK_SECONDS`` at most; never raises because of an answer.
    """
    with_port = [preset for preset in presets if preset.port]
    limits = httpx.Limits(max_keepalive_connections=0)
    no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # httpx would read all authorities, for tens of ms
    async with httpx.AsyncClient(
        verify=no_tls, trust_env=False, timeout=ASK_SECONDS, limits=limits
    ) as client:
        answers = await asyncio.gather(*(_models(client, preset.base_url) for preset in with_port))
    return [
        (_recognised(models, preset), preset.base_url, min(len(models), MAX_MODELS))
        for preset, models in zip(with_port, answers, strict=True)
        if models is not None
    ]


async def _models(client: httpx.AsyncClient, base_url: str) -> dict[str, str] | None:
    """Return the owner of each model by its name; ``None`` from anything but a list of models."""
    with suppress(httpx.HTTPError, TimeoutError, OSError, ValueError, RecursionError):
        async with asyncio.timeout(ASK_SECONDS):
            return _read(await _body(client, f"{base_url}/models"))
    return None


async def _body(client: httpx.AsyncClient, url: str) -> bytes:
    body = bytearray()
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    async with client.stream("GET", url, headers=headers) as response:
        if response.status_code != httpx.codes.OK:
            raise ValueError("not a list")
        async for piece in response.aiter_raw():  # never unpacked
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise ValueError("too long")
    return bytes(body)


def _read(body: bytes) -> dict[str, str] | None:
    answer = json.loads(body)
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        return None
    models = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    return {entry["id"]: str(entry.get("owned_by", ""))[:40] for entry in models}


def _recognised(models: dict[str, str], preset: Preset) -> Preset:
    owners = {_OWNERS[owner] for owner in models.values() if owner in _OWNERS}
    return PRESETS[owners.pop()] if len(owners) == 1 else preset
