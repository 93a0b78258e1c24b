"""The models of a provider: one GET, in the form of its kind.

Imported only by ``remote_calls``, in a thread. Sources: OpenAI and Ollama ``GET /v1/models``, Anthropic ``GET
/v1/models``, Gemini ``GET /v1beta/models``. Names are hostile until they have passed here.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx2

from agent_tui.backend.models.endpoints import ProviderAddress, key_headers
from agent_tui.backend.models.remote_errors import Teller
from agent_tui.model.errors import ModelError
from agent_tui.model.inert import inert_line

LIST_SECONDS = 10.0
HINT_SECONDS = 3.0  # for other models' names in an error
MAX_MODELS = 2000
MAX_NAME_CHARACTERS = 200
_LISTS = {"anthropic": ("/v1/models", "limit=1000"), "google": ("/v1beta/models", "pageSize=1000")}
SPEAKS = "generateContent"  # required of a Gemini model; others only make vectors or pictures


class ModelListing:
    """The models of one provider; ``root`` is the beginning of its API's URLs, as ``endpoints.api_root``
    returns it.
    """

    def __init__(
        self, endpoint: ProviderAddress, root: str, http: httpx2.AsyncClient, teller: Teller
    ) -> None:
        parts = urlsplit(root)
        path, query = _LISTS.get(endpoint.kind, ("/models", ""))
        query = "&".join(part for part in (parts.query, query) if part)
        self._url = parts._replace(path=parts.path + path, query=query, fragment="").geturl()
        self._endpoint = endpoint
        self._http = http
        self._teller = teller

    async def names(self) -> tuple[str, ...]:
        """Return the names of the provider's models, in its order; raises ``ModelError``."""
        try:
            async with asyncio.timeout(LIST_SECONDS):
                return self._names(await self._get())
        except TimeoutError:
            raise self._teller.silent(LIST_SECONDS) from None

    async def hint(self) -> tuple[str, ...]:
        """Return the names if the provider answers soon, else nothing; never raises."""
        try:
            async with asyncio.timeout(HINT_SECONDS):
                return await self.names()
        except (ModelError, TimeoutError):
            return ()

    async def server(self) -> str:
        """Return the server's own name in its list: "llamacpp", "vllm", "library" (Ollama) or another; empty
        without a quick answer. Never raises.
        """
        try:
            async with asyncio.timeout(HINT_SECONDS):
                return str(json.loads(await self._get())["data"][0].get("owned_by", "")).lower()
        except (ModelError, TimeoutError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return ""

    async def _get(self) -> bytes:
        try:
            answer = await self._http.get(self._url, headers=key_headers(self._endpoint))
        except ModelError as error:  # it is too long, or packed
            raise self._teller.no_answer(error.title) from None
        except httpx2.TimeoutException:
            raise self._teller.silent(LIST_SECONDS) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise self._teller.offline(error) from None
        if answer.has_redirect_location:
            raise self._teller.elsewhere(answer.status_code, answer.headers["location"])
        if answer.status_code != HTTPStatus.OK:
            wait = answer.headers.get("retry-after", "")
            raise self._teller.refused_list(answer.status_code, answer.content, wait)
        return answer.content

    def _names(self, body: bytes) -> tuple[str, ...]:
        kind = self._endpoint.kind
        try:
            value = json.loads(body)
            # Together's is a bare list.
            listed = value if isinstance(value, list) else value["models" if kind == "google" else "data"]
            # Ollama without a model sends ``"data": null``.
            found = [_name(kind, entry) for entry in (listed or [])[:MAX_MODELS]]
        except (ValueError, LookupError, TypeError, RecursionError, AttributeError):
            raise self._teller.no_answer("no list of models came", body) from None
        return tuple(dict.fromkeys(name for name in found if name))


def _name(kind: str, entry: Any) -> str:
    if kind != "google":
        return _line(entry["id"])
    if SPEAKS not in entry.get("supportedGenerationMethods", [SPEAKS]):
        return ""
    return _line(entry["name"]).removeprefix("models/")


def _line(name: Any) -> str:
    """Return a safe name; a name that this changes could not be used, so it is left out."""
    return name if isinstance(name, str) and name == inert_line(name, MAX_NAME_CHARACTERS) else ""
