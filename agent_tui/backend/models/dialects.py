"""What each kind of provider does in its own way: its SDK, its settings, its errors, how a stream ends.

Imported only by ``remote_calls``, in a thread. Each SDK costs hundreds of ms, so a kind's own is imported
when the first provider of that kind is used.
"""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from agent_tui.backend.models.endpoints import Endpoint
from agent_tui.backend.models.model import ModelRequest

PLACEHOLDER_KEY = "none"  # the SDKs insist on a key; local servers take any
OPENAI_HOST = "api.openai.com"


class Dialect(Protocol):
    """One kind of provider at one address."""

    failures: tuple[type[Exception], ...]  # what its SDK raises on its own
    end: bytes | None  # what the bytes of a complete stream hold, beside a reason to finish

    def model(self, name: str) -> Model[Any]:
        """Return the model of that name."""
        ...

    def settings(self, model: Model[Any], request: ModelRequest) -> ModelSettings:
        """Return what the call asks for."""
        ...


def dialect(endpoint: Endpoint, url: str, http: httpx2.AsyncClient, timeout: httpx2.Timeout) -> Dialect:
    """Return the dialect of the endpoint's kind, speaking through ``http`` to ``url``."""
    match endpoint.kind:
        case "anthropic":
            return AnthropicDialect(endpoint, url, http, timeout)
        case "google":
            return GoogleDialect(endpoint, url, http)
        case _:  # Ollama speaks OpenAI's
            return OpenAIDialect(endpoint, url, http, timeout)


class OpenAIDialect:
    """Chat completions, as OpenAI and everybody after it speaks them."""

    end: bytes | None = b"[DONE]"

    def __init__(
        self, endpoint: Endpoint, url: str, http: httpx2.AsyncClient, timeout: httpx2.Timeout
    ) -> None:
        from openai import AsyncOpenAI, OpenAIError
        from pydantic_ai.profiles.openai import OpenAIModelProfile
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

        self.failures: tuple[type[Exception], ...] = (OpenAIError,)
        client = AsyncOpenAI(
            base_url=url,
            api_key=endpoint.key or PLACEHOLDER_KEY,
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )
        # OpenAI's newer models refuse ``max_tokens``, most other servers do not know the newer name.
        is_openai = urlsplit(url).hostname == OPENAI_HOST
        profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=is_openai)
        self._provider = OpenAICompatibleProvider(endpoint.provider_id, openai_client=client, profile=profile)

    def model(self, name: str) -> Model[Any]:
        from pydantic_ai.models.openai import OpenAIChatModel

        return OpenAIChatModel(name, provider=self._provider)

    def settings(self, model: Model[Any], request: ModelRequest) -> ModelSettings:
        settings = ModelSettings(max_tokens=request.max_tokens)
        # Models that always reason refuse a temperature; pydantic-ai would drop it with a warning each time.
        profile: Any = model.profile
        can_rest = profile.get("openai_supports_reasoning_effort_none", False)
        reasons = profile.get("openai_supports_reasoning", False)
        if not reasons or (can_rest and not profile.get("thinking_enabled_by_default", False)):
            settings["temperature"] = request.temperature
        return settings


class AnthropicDialect:
    """The Messages API. Its streams end with a reason, which a ``message_delta`` brings."""

    end: bytes | None = None

    def __init__(
        self, endpoint: Endpoint, url: str, http: httpx2.AsyncClient, timeout: httpx2.Timeout
    ) -> None:
        from anthropic import AnthropicError, AsyncAnthropic
        from pydantic_ai.providers.anthropic import AnthropicProvider

        self.failures: tuple[type[Exception], ...] = (AnthropicError,)
        client = AsyncAnthropic(
            base_url=url.rstrip("/").removesuffix("/v1"),
            api_key=endpoint.key or PLACEHOLDER_KEY,
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )
        self._provider = AnthropicProvider(anthropic_client=client)

    def model(self, name: str) -> Model[Any]:
        from pydantic_ai.models.anthropic import AnthropicModel

        return AnthropicModel(name, provider=self._provider)

    def settings(self, model: Model[Any], request: ModelRequest) -> ModelSettings:
        # No temperature: the newer models refuse one, and which do is nothing we could know for long.
        return ModelSettings(max_tokens=request.max_tokens)


class GoogleDialect:
    """The Gemini API. Its streams end with a ``finishReason``."""

    end: bytes | None = None

    def __init__(self, endpoint: Endpoint, url: str, http: httpx2.AsyncClient) -> None:
        from google.genai.errors import APIError, UnknownApiResponseError
        from pydantic_ai.providers.google import GoogleProvider

        self.failures: tuple[type[Exception], ...] = (APIError, UnknownApiResponseError)
        self._provider = GoogleProvider(
            api_key=endpoint.key or PLACEHOLDER_KEY,
            http_client=http,
            base_url=url.rstrip("/").removesuffix("/v1beta"),
        )

    def model(self, name: str) -> Model[Any]:
        from pydantic_ai.models.google import GoogleModel

        return GoogleModel(name.removeprefix("models/"), provider=self._provider)

    def settings(self, model: Model[Any], request: ModelRequest) -> ModelSettings:
        return ModelSettings(max_tokens=request.max_tokens, temperature=request.temperature)
