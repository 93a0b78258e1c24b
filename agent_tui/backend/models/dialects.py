"""The differences between kinds of providers: their SDKs, settings, errors, and the end of a stream.

Imported only by ``remote_calls``, in a thread. Each SDK costs hundreds of ms, so it is imported when the
first provider of that kind is used: completely, when the dialect is made, also in that thread.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Set
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from agent_tui.backend.models.endpoints import ProviderAddress
from agent_tui.backend.models.model import ModelRequest
from agent_tui.tls import tls_context

PLACEHOLDER_KEY = "none"  # the SDKs require a key; local servers take any
OPENAI_HOST = "api.openai.com"
ANTHROPIC_HOST = "api.anthropic.com"
LEAST_THINKING_TOKENS = 1024  # the Messages API refuses a smaller budget
MOST_THINKING_TOKENS = 10_000
MOST_CLAUDE_TEMPERATURE = 1.0
# Fields of a call that servers may refuse, and their signs in errors. OpenAI's newer models, whatever
# Azure or a gateway calls them, take only their own temperature and another limit of tokens.
REFUSED_SIGNS = {
    "temperature": re.compile("temperature"),
    "max_tokens": re.compile("max_completion_tokens"),
    "stream_options": re.compile("stream_options"),
    "thinking": re.compile("thinking|reasoning|chat_template_kwargs"),
}
# The errors of models without tools: Ollama and Groq, LiteLLM, vLLM, OpenRouter, llama.cpp, Gemini.
# Errors about a schema are different.
_NO_TOOLS = re.compile(
    r"not support(?:ed)? (?:tool|function)|not support parameters: \[[^\]]*'tools'"
    r"|tool choice requires|no endpoints found that support tool|tools param requires"
    r"|(?:tool use|(?:tool|function) calling|tools) (?:is|are) not (?:supported|enabled|available)",
    re.IGNORECASE,
)
# Errors of models without vision, and of servers with text messages only.
_NO_IMAGES = re.compile(
    r"image|multi-?modal|vision|mmproj|content.{0,80}(?:string|\bstr\b)", re.IGNORECASE | re.DOTALL
)
_BAD_IMAGE = re.compile(
    r"exceed|too (?:large|big|many|small)|dimension|corrupt|could not process", re.IGNORECASE
)
# The Messages API's error about a limit beyond the model's own.
_TOO_MANY_TOKENS = re.compile(r"max_tokens: \d+ > (\d{1,9})\b")
# Not those before 3.7; other models behind the Messages API are unknown.
_THINKING_CLAUDE = re.compile(r"claude-(?!(?:instant|2|3-(?!7)))")


class ProviderDialect(ABC):
    """One kind of provider at one address, and what its models refused so far, by their names."""

    failures: tuple[type[Exception], ...]  # raised by its SDK
    end: re.Pattern[bytes] | None = None  # in the bytes of a complete stream, besides a finish reason
    any_ids = True  # whether it takes ids of calls from another provider, whatever they contain
    wants_thoughts = False  # whether it refuses calls of a thinking model that come without its thoughts
    signs: Mapping[str, re.Pattern[str]] = {}  # of fields of a call, in errors that refuse them
    model: Callable[[str], Model[Any]]  # returns the model of that name

    def __init__(self) -> None:
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    @abstractmethod
    def settings(self, model: Model[Any], request: ModelRequest) -> ModelSettings:
        """Return the settings of the call."""

    def refused(self, name: str) -> frozenset[str]:
        """Return the fields of a call that this model refused so far."""
        return frozenset(self._refused[name])

    def learn(self, model: Model[Any], refusal: str, request: ModelRequest) -> frozenset[str]:
        """Return what the next call leaves out because ``model``'s call was refused for it. Other calls of
        the model may meanwhile have been refused for more.
        """
        before = _left_out(model)
        refused = {
            field for field, sign in self.signs.items() if sign.search(refusal) and field not in before
        }
        if request.tools and _NO_TOOLS.search(refusal):
            refused.add("tools")
        # A bad image of a person's is reported to them; a tool's image is left out.
        with_images = [message for message in request.messages if message.images]
        is_persons = _BAD_IMAGE.search(refusal) and any(message.role == "user" for message in with_images)
        if with_images and _NO_IMAGES.search(refusal) and not is_persons:
            refused.add("images")
        self._refused[model.model_name] |= refused
        return frozenset(refused)

    def forget(self, name: str, learned: Set[str]) -> None:
        """Take back what was learned: without it the call failed, too."""
        self._refused[name] -= learned


def dialect(
    endpoint: ProviderAddress, url: str, http: httpx2.AsyncClient, timeout: httpx2.Timeout
) -> ProviderDialect:
    """Return the dialect of the endpoint's kind, which uses ``http`` with its root ``url``."""
    match endpoint.kind:
        case "anthropic":
            return AnthropicDialect(endpoint, url, http, timeout)
        case "google":
            return GoogleDialect(endpoint, url, http, timeout)
        case _:  # Ollama speaks OpenAI's dialect
            return OpenAIDialect(endpoint, url, http, timeout)


class OpenAIDialect(ProviderDialect):
    """Chat completions, as spoken by OpenAI and all its imitators."""

    # A line of the stream itself: inside its texts a line break is written as two characters.
    end = re.compile(rb"[\r\n]data: ?\[DONE\]")
    signs = REFUSED_SIGNS

    def __init__(
        self, endpoint: ProviderAddress, url: str, http: httpx2.AsyncClient, timeout: httpx2.Timeout
    ) -> None:
        from openai import AsyncOpenAI, OpenAIError
        from pydantic_ai.profiles.openai import OpenAIModelProfile
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

        from agent_tui.backend.models.openai_model import ChatModel

        super().__init__()
        self.failures = (OpenAIError,)
        client = AsyncOpenAI(
            base_url=url,
            api_key=endpoint.key or PLACEHOLDER_KEY,
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )
        _ = client.chat.completions  # the SDK imports it when it is first used, a fifth of a second
        # OpenAI's newer models refuse ``max_tokens``, most other servers do not know the newer name.
        self._is_openai = is_openai = urlsplit(url).hostname == OPENAI_HOST
        self._is_ollama = endpoint.kind == "ollama"
        profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=is_openai)
        provider = OpenAICompatibleProvider(endpoint.provider_id, openai_client=client, profile=profile)
        self.model = lambda name: ChatModel(name, provider, self.refused(name))

    def settings(self, model: Model[Any], request: ModelRequest) -> ModelSettings:
        settings, refused = _limited(request.max_tokens), _left_out(model)
        # Reasoning models refuse a temperature; pydantic-ai would drop it with a warning each time.
        profile: Any = model.profile
        can_skip_thinking = profile.get("openai_supports_reasoning_effort_none", False)
        is_reasoning = profile.get("openai_supports_reasoning", False)
        thinks_by_default = profile.get("thinking_always_enabled", False) or profile.get(
            "thinking_enabled_by_default", False
        )
        asks_to_think = bool(request.thinking) and not thinks_by_default
        if request.thinking is not None and "thinking" not in refused:
            if profile.get("supports_thinking", False):
                if asks_to_think or not request.thinking:
                    settings["thinking"] = request.thinking
            elif not self._is_openai:
                settings["extra_body"] = self._thinking_fields(is_wanted=request.thinking)
        skips_thinking = not thinks_by_default or request.thinking is False
        takes_temperature = not is_reasoning or (can_skip_thinking and skips_thinking and not asks_to_think)
        if request.temperature is not None and takes_temperature and "temperature" not in refused:
            settings["temperature"] = request.temperature
        return settings

    def _thinking_fields(self, *, is_wanted: bool) -> dict[str, object]:
        """Return the fields for servers of other people's models: Ollama takes OpenAI's own field; llama.cpp,
        vLLM and SGLang use the model's template.
        """
        if self._is_ollama:
            return {"reasoning_effort": "medium" if is_wanted else "none"}
        return {"chat_template_kwargs": {"enable_thinking": is_wanted}}


class AnthropicDialect(ProviderDialect):
    """The Messages API. Its streams end with a reason, in a ``message_delta``."""

    any_ids = False
    wants_thoughts = True

    def __init__(
        self, endpoint: ProviderAddress, url: str, http: httpx2.AsyncClient, timeout: httpx2.Timeout
    ) -> None:
        from anthropic import AnthropicError, AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
        from pydantic_ai.providers.anthropic import AnthropicProvider

        super().__init__()
        self.failures = (AnthropicError,)
        client = AsyncAnthropic(
            base_url=url,
            api_key=endpoint.key or PLACEHOLDER_KEY,
            default_headers=_key_headers(url, endpoint.key),
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )
        self.model = partial(AnthropicModel, provider=AnthropicProvider(anthropic_client=client))
        self._settings = AnthropicModelSettings
        self._most: dict[str, int] = {}  # the most tokens of an answer, by the name of a model, if it said so

    def learn(self, model: Model[Any], refusal: str, request: ModelRequest) -> frozenset[str]:
        name = model.model_name
        if (most := _TOO_MANY_TOKENS.search(refusal)) and self._most.get(name) != int(most[1]):
            self._most[name] = int(most[1])
            return frozenset({"max_tokens"})
        if "temperature" in refusal and "temperature" not in self._refused[name]:
            self._refused[name].add("temperature")
            return frozenset({"temperature"})
        return super().learn(model, refusal, request)

    def settings(self, model: Model[Any], request: ModelRequest) -> ModelSettings:
        # Without our limit pydantic-ai sends the model's own: the API requires one.
        name, profile = model.model_name, cast("Any", model.profile)
        settings = self._settings(**_limited(request.max_tokens))
        if request.thinking and _THINKING_CLAUDE.match(name):
            if profile.get("anthropic_supports_adaptive_thinking", False):
                settings["anthropic_thinking"] = {"type": "adaptive", "display": "summarized"}
            else:  # a budget of tokens, which counts as part of the answer
                most = request.max_tokens or MOST_THINKING_TOKENS
                budget = max(LEAST_THINKING_TOKENS, min(most, MOST_THINKING_TOKENS))
                settings["anthropic_thinking"] = {"type": "enabled", "budget_tokens": budget}
                if request.max_tokens:
                    settings["max_tokens"] = request.max_tokens + budget
        elif request.thinking is False and _can_stop_thinking(profile):
            settings["anthropic_thinking"] = {"type": "disabled"}
        takes_temperature = not profile.get("anthropic_disallows_sampling_settings", False)
        # Thinking requires a temperature of its own.
        takes_temperature = takes_temperature and "anthropic_thinking" not in settings
        if request.temperature is not None and takes_temperature and "temperature" not in self._refused[name]:
            settings["temperature"] = min(request.temperature, MOST_CLAUDE_TEMPERATURE)
        if most_known := self._most.get(name):
            settings["max_tokens"] = min(settings.get("max_tokens", most_known), most_known)
        return settings


class GoogleDialect(ProviderDialect):
    """The Gemini API. Its streams end with a ``finishReason``."""

    def __init__(
        self, endpoint: ProviderAddress, url: str, http: httpx2.AsyncClient, timeout: httpx2.Timeout
    ) -> None:
        from google.genai import Client
        from google.genai.errors import APIError, UnknownApiResponseError
        from google.genai.types import HttpOptions
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        super().__init__()
        self.failures = (APIError, UnknownApiResponseError)
        key = endpoint.key or PLACEHOLDER_KEY
        # For other ways of calling, which we do not use, the SDK would read all authorities, twice.
        tls = tls_context(None, os.environ)
        options = HttpOptions(
            base_url=url,
            timeout=int((timeout.read or 0) * 1000),  # ms; else the SDK sets none
            httpx_async_client=http,
            client_args={"verify": tls},
            async_client_args={"ssl": tls},
        )
        provider = GoogleProvider(client=Client(vertexai=False, api_key=key, http_options=options))
        self.model = lambda name: GoogleModel(name.removeprefix("models/"), provider=provider)

    def settings(self, model: Model[Any], request: ModelRequest) -> ModelSettings:
        settings = _limited(request.max_tokens)
        if request.temperature is not None:
            settings["temperature"] = request.temperature
        profile: Any = model.profile
        can_think = profile.get("supports_thinking", False) and "gemini" in model.model_name
        if request.thinking is not None and can_think:
            settings["thinking"] = request.thinking
        return settings


def _key_headers(url: str, key: str) -> dict[str, str]:
    """Return the header in which other servers with the Messages API want the key, as its documentation
    says; the SDK itself sends the key as a bearer token since 2.14.
    """
    return {"x-api-key": key} if key and urlsplit(url).hostname != ANTHROPIC_HOST else {}


def _left_out(model: Model[Any]) -> Set[str]:
    """Return the fields that calls of ``model`` leave out; a ``ChatModel`` knows them."""
    return getattr(model, "refused", frozenset())


def _can_stop_thinking(profile: Any) -> bool:
    """Return whether a Claude thinks by default, and can be asked not to."""
    by_default = profile.get("thinking_enabled_by_default", False)
    return bool(by_default and not profile.get("thinking_always_enabled", False))


def _limited(max_tokens: int) -> ModelSettings:
    """Return the settings for at most this many tokens; 0: as many as the provider allows."""
    return ModelSettings(max_tokens=max_tokens) if max_tokens else ModelSettings()
