"""Which model speaks for an agent: the demo model, or one of the providers of the config file."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from agent_tui.backend.models.demo import DEMO as DEMO
from agent_tui.backend.models.demo import DemoModel
from agent_tui.backend.models.model import Model
from agent_tui.backend.models.openai import Endpoint, OpenAIProvider
from agent_tui.config import ProviderConfig, config_path, load
from agent_tui.errors import ConfigError, ModelError

DEFAULT_MODEL = "gpt-4"  # protocols.md §1: the agent's model, else the provider's, else this
DEFAULT_MAX_TOKENS = 2000  # protocols.md §1: the provider's, or this

_log = logging.getLogger(__name__)

# What tells one version of a file from the next: modification time in ns and size; None: no file.
Stamp = tuple[int, int] | None


class Models:
    """The providers as the config file has them now: it is read again whenever it has changed."""

    def __init__(self, config_path: Path | None, *, demo_rate: float, demo_seed: int) -> None:
        """``config_path`` None is the user's own file; ``demo_rate`` is in tokens/s, 0 without a pause."""
        self._path = config_path
        self._demo = DemoModel(demo_rate, demo_seed)
        self._stamp: Stamp = None
        self._read = False
        self._broken: ConfigError | None = None
        self._configured: Mapping[str, ProviderConfig] = {}
        self._opened: dict[Endpoint, OpenAIProvider] = {}

    def default_provider(self) -> str:
        """Return the name of the first configured provider, else ``DEMO``. Never raises.

        While the file is broken, that of its last good version: rooms made meanwhile say what is wrong
        when they run, instead of quietly getting another model.
        """
        self._refresh()
        return next(iter(self._configured), DEMO)

    def default_model(self, provider_id: str) -> str:
        """Return the provider's model, else ``gpt-4``; "demo" for ``DEMO``. Never raises."""
        if provider_id == DEMO:
            return DEMO
        self._refresh()
        provider = self._configured.get(provider_id)
        return provider.model if provider and provider.model else DEFAULT_MODEL

    def open(self, provider_id: str, model: str) -> tuple[Model, int]:
        """Return (model, max_tokens) of a provider; an empty ``model`` is the provider's default one.

        Raises ``ModelError`` when there is no such provider, its key is missing or the file is broken.
        """
        if provider_id == DEMO:
            return self._demo, DEFAULT_MAX_TOKENS
        self._refresh()
        if self._broken is not None:
            raise ModelError(self._broken.title, self._broken.detail)
        provider = self._configured.get(provider_id)
        if provider is None:
            known = ", ".join((*self._configured, DEMO))
            raise ModelError(f"no provider called {provider_id!r}", f"the config file has: {known}")
        opened = self._at(_endpoint(provider))
        max_tokens = provider.max_tokens or DEFAULT_MAX_TOKENS
        return opened.model(model or provider.model or DEFAULT_MODEL), max_tokens

    async def aclose(self) -> None:
        """Close every provider's HTTP client."""
        for provider in self._opened.values():
            await provider.aclose()

    def _at(self, endpoint: Endpoint) -> OpenAIProvider:
        """Return the endpoint's one client; a changed configuration gets one of its own, and turns under
        way keep theirs until ``aclose``."""
        opened = self._opened.get(endpoint)
        if opened is None:
            opened = self._opened[endpoint] = OpenAIProvider(endpoint)
        return opened

    def _refresh(self) -> None:
        path = self._path or config_path()
        stamp = _stamp(path)
        if self._read and stamp == self._stamp:
            return
        self._read, self._stamp = True, stamp
        try:
            self._configured = load(path).providers
            self._broken = None
        except ConfigError as error:
            self._broken = error
            _log.warning("the config file is broken, providers cannot be used: %s", error.title)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _endpoint(provider: ProviderConfig) -> Endpoint:
    """Return where a provider is, with its key; raises ``ModelError`` when a key is wanted and missing."""
    key, variable = provider.key(), provider.api_key_env
    if variable and not key:
        raise ModelError(
            f"the environment variable {variable} is not set",
            f"providers.{provider.name} takes its key from it: set it and start the backend again",
        )
    key_name = f"the environment's {variable}" if variable else f"providers.{provider.name}.api_key"
    return Endpoint(provider.name, provider.base_url, key, key_name if key else "")
