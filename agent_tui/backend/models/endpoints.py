"""A provider's address and authentication: plain data, and what may be shown of it."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from agent_tui.config.file import PROVIDER_URLS, ProviderConfig
from agent_tui.config.keys import read_key
from agent_tui.config.presets import LOOPBACK
from agent_tui.model.errors import ModelError

# Seconds without a token, unless the config file says otherwise. A server on this machine may load its
# weights or read a long prompt before its first token.
SILENCE_SECONDS = 120.0
LOCAL_SILENCE_SECONDS = 600.0
ANTHROPIC_VERSION = "2023-06-01"
TRIED: Final = "test"  # the id of an endpoint that is not in the config file
TYPED: Final = "what was typed"  # where its key is from, unless a variable has it
KEYRING: Final = "the keyring"  # likewise
_ENDS = {  # of addresses as in manuals and other programs, the longest first
    "openai": ("/chat/completions",),
    "ollama": ("/chat/completions",),
    "anthropic": ("/messages", "/v1"),
    "google": ("/models", "/v1beta"),
}


@dataclass(frozen=True, slots=True)
class ProviderAddress:
    """A provider's address. ``base_url`` may contain ``user:password@``, which are sent as Basic
    authorisation instead of the key; ``key_name`` says in an error where the key comes from.

    ``in_keyring``: the key still has to be read there, see ``with_key``. ``context_tokens`` and ``num_ctx``
    are the config file's, 0 for none.
    """

    provider_id: str
    base_url: str = field(repr=False)
    key: str = field(default="", repr=False)
    key_name: str = ""
    silence_seconds: float = SILENCE_SECONDS
    kind: str = "openai"
    in_keyring: bool = False
    context_tokens: int = 0
    num_ctx: int = 0

    def secrets(self) -> tuple[str, ...]:
        """Return every form in which secrets may come back from a server."""
        _, login = without_login(self.base_url)
        coded = (base64.b64encode(":".join(login).encode()).decode(),) if login else ()
        return (self.key, *login, *coded)


def endpoint_of(provider: ProviderConfig) -> ProviderAddress:
    """Return a provider's endpoint, with its key unless it is in the keyring.

    Raises ``ModelError`` if a key is required and missing. The order: environment, keyring, file.
    """
    key, variable = provider.key(), provider.api_key_env
    from_environment = bool(variable) and key != provider.api_key
    if variable and not key and not provider.keyring:
        raise ModelError(
            f"the environment variable {variable} is not set",
            f"providers.{provider.name} takes its key from it: set it and start the backend again;"
            " agent-tui backend stop ends it",
        )
    key_name = variable if from_environment else f"providers.{provider.name}.api_key"
    in_keyring = provider.keyring and not from_environment
    return ProviderAddress(
        provider.name,
        provider.base_url,
        key,
        key_name if key or in_keyring else "",
        silence_seconds(provider),
        kind=provider.kind,
        in_keyring=in_keyring,
        context_tokens=provider.context_tokens or 0,
        num_ctx=provider.num_ctx or 0,
    )


def silence_seconds(provider: ProviderConfig) -> float:
    """Return how long a provider may be silent before its turn is given up."""
    usual = LOCAL_SILENCE_SECONDS if _is_local(provider.base_url) else SILENCE_SECONDS
    return provider.timeout or usual


def _is_local(base_url: str) -> bool:
    try:
        return urlsplit(base_url).hostname in LOOPBACK
    except ValueError:
        return False


def key_headers(endpoint: ProviderAddress) -> dict[str, str]:
    """Return the headers with the key, for calls without an SDK."""
    if not endpoint.key:
        return {}
    match endpoint.kind:
        case "anthropic":
            return {"x-api-key": endpoint.key, "anthropic-version": ANTHROPIC_VERSION}
        case "google":
            return {"x-goog-api-key": endpoint.key}
        case _:
            return {"authorization": f"Bearer {endpoint.key}"}


def with_key(endpoint: ProviderAddress) -> ProviderAddress:
    """Return the endpoint with its key from the keyring; may take seconds, so call it in a thread.

    Raises ``ConfigError`` if the system has no keyring, ``ModelError`` if there is no key in it.
    """
    if not endpoint.in_keyring:
        return endpoint
    name = endpoint.provider_id
    key = read_key(name) or endpoint.key
    if not key:
        raise ModelError(
            f"the keyring has no key for providers.{name}",
            "agent-tui models setup stores one, and so does: keyring set agent-tui " + name,
        )
    return replace(endpoint, key=key, key_name=KEYRING, in_keyring=False)


def endpoint_to_try(kind: str, base_url: str, key: str, key_name: str) -> ProviderAddress:
    """Return an endpoint that is not in the config file, for a test."""
    url = base_url or PROVIDER_URLS[kind]
    seconds = LOCAL_SILENCE_SECONDS if _is_local(url) else SILENCE_SECONDS
    return ProviderAddress(TRIED, url, key, key_name, seconds, kind=kind)


def without_login(base_url: str) -> tuple[str, tuple[str, str] | tuple[()]]:
    """Return the URL without ``user:password@``, which logs and errors would repeat, and the two."""
    parts = urlsplit(base_url)
    if parts.username is None and parts.password is None:
        return base_url, ()
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return bare, (unquote(parts.username or ""), unquote(parts.password or ""))


def api_root(kind: str, url: str) -> str:
    """Return the beginning of a provider's API URLs, from any of its addresses ``url``; no slash at the end.

    Each SDK adds its paths to that: chat completions are below ``/v1``, which Ollama's always has; the
    Messages and the Gemini API add their versions themselves.
    """
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    for end in _ENDS[kind]:
        path = path.removesuffix(end)
    if kind == "ollama" and not path.endswith("/v1"):
        path = path.removesuffix("/api") + "/v1"
    return urlunsplit(parts._replace(path=path))


def unusable(endpoint: ProviderAddress) -> ModelError:
    """Return the error for an invalid base_url; it quotes nothing, since it may contain a password."""
    where, detail = f"providers.{endpoint.provider_id}.base_url", "an address looks like http://HOST:PORT/v1"
    if endpoint.provider_id == TRIED:
        return ModelError("this address cannot be used", detail)
    return ModelError(f"{where} is not a usable address", detail)
